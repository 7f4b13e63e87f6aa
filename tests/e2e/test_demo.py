"""The demo with its own engines: a month behind it, all stories seen, nothing left behind."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.expose.html import Page
from tests.support.demo_run import (
    Attended,
    children_of,
    gone,
    listens,
    wait_until,
)
from tests.support.demo_runs import in_lines, on_terminal
from tests.support.patience import PATIENCE


@pytest.fixture
def attended(tmp_path: Path) -> Iterator[Callable[[], Attended]]:
    """Starts the demo on a terminal; ended, whatever happens."""
    started: list[Attended] = []

    def start() -> Attended:
        started.append(Attended((), tmp_path / "demo", 40, 100))
        return started[-1]

    yield start
    for demo in started:
        demo.close()


@pytest.mark.minutes
def test_all_stories_are_seen_and_what_is_left_can_be_reported_and_scanned(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    run = in_lines(folder, fast=True)
    assert (run.status, run.wrong) == (0, [])

    scan = subprocess.run(
        [sys.executable, "-m", "esewatch", "scan", str(folder / "MAIL02/bad-page/bad-page.edb")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert scan.returncode == 1
    assert re.search(r"\b[12] bad \(1 checksum", scan.stdout)
    page = tmp_path / "report.html"
    logs = sorted([*folder.rglob("events.jsonl"), *folder.rglob("counters.csv")])
    assert len(logs) == 10
    config = ["--config.file", str(folder / "esewatch.yml")]
    report = subprocess.run(
        [sys.executable, "-m", "esewatch", "report", *map(str, logs), *config, "-o", str(page)],
        check=False,
    )
    assert report.returncode == 1
    said = Page(page.read_text()).text
    assert "1 of 11 databases has bad pages: bad-page on mail02." in said
    assert re.search(r"✖ Page \d+ of bad-page.edb is bad \(checksum, not correctable\)", said)

    binary = folder / "DC01/counters.blg"
    converted = subprocess.run(
        [sys.executable, "-m", "esewatch", "counters", "--format", "csv", str(binary)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (converted.returncode, converted.stderr) == (0, "")
    rows = (folder / "DC01/counters.csv").read_text().splitlines()
    assert len(converted.stdout.splitlines()) == len(rows)


@pytest.mark.slow
def test_two_at_once_on_terminals_each_say_all_sentences(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as both:
        runs = list(both.map(on_terminal, [tmp_path / "one", tmp_path / "two"]))
    assert [(run.status, run.wrong) for run in runs] == [(0, [])] * 2


@pytest.mark.slow
def test_ctrl_c_in_the_past_leaves_one_folder_and_no_process(
    attended: Callable[[], Attended], tmp_path: Path
) -> None:
    demo = attended()
    demo.wait_for("30 nights first")
    children = wait_until("all run", lambda: children_of(demo.process.pid, 4))
    # The smallest server lives through its nights then, the others still fill their databases.
    wait_until("a night", lambda: " of 30" in (demo.folder / "DC01.log").read_text())
    assert len(children) == 4
    demo.type(b"\x03")
    assert demo.process.wait(PATIENCE) == 0
    assert gone(children)
    assert not listens(demo.address)
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]
    assert f"Its files are in {demo.folder}" in demo.rest()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
def test_kill_9_of_the_demo_ends_the_engines(attended: Callable[[], Attended]) -> None:
    demo = attended()
    demo.wait_for("30 nights first")
    children = wait_until("all run", lambda: children_of(demo.process.pid, 4))
    demo.process.kill()
    demo.process.wait(PATIENCE)
    wait_until("all are gone", lambda: gone(children))
    assert not listens(demo.address)
