"""The demo with its own engine: five stories, and nothing left behind."""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.expose.html import Page
from tests.support.demo_run import (
    ROOT,
    Attended,
    children_of,
    demo_command,
    gone,
    listens,
    wait_until,
)

STORIES_SECONDS = 150.0


@pytest.fixture
def attended(tmp_path: Path) -> Iterator[Callable[[], Attended]]:
    """Starts the demo on a terminal of its own; ended, whatever happens."""
    started: list[Attended] = []

    def start() -> Attended:
        started.append(Attended((), tmp_path / "demo", 24, 80))
        return started[-1]

    yield start
    for demo in started:
        demo.close()


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


def check_that_nothing_is_left(demo: Attended, folder: Path) -> None:
    """Ends it with Ctrl-C: no process, no listener, one folder."""
    children = children_of(demo.process.pid, 2)
    assert len(children) == 2
    demo.type(b"\x03")
    assert demo.process.wait(20) == 0
    assert gone(children)
    assert not listens(demo.address)
    assert [path.name for path in folder.iterdir()] == ["demo"]
    assert f"All that it made is in {demo.folder}" in demo.rest()


@pytest.mark.slow
def test_all_five_stories_are_on_the_screen_and_on_the_page_within_150_seconds(
    attended: Callable[[], Attended], tmp_path: Path
) -> None:
    demo = attended()
    demo.wait_for("5 of 5 stories visible", seconds=STORIES_SECONDS)
    rows = {
        row["name"]: row
        for row in json.loads(get(f"http://{demo.address}/api/v1/databases"))["databases"]
    }
    page = Page(get(f"http://{demo.address}/")).text
    check_that_nothing_is_left(demo, tmp_path)

    verdicts = {name: row["ratio"]["verdict"] for name, row in rows.items()}
    assert verdicts["healthy"] == "within"
    assert verdicts["too-long"] == "above"
    assert verdicts["too-short"] == "below"
    assert rows["too-short"]["interrupted"]["defrag"] >= 2
    assert rows["bad-page"]["known_bad_pages"]["uncorrectable"] >= 1
    for words in (
        "within the band 50 to 100",
        "little is left to free",
        "below the band 50 to 100: much is left to free",
        "times so far",
        "never seen verified",
        "scanned at the same time as bad-page, on the same disks",
        "known bad page",
    ):
        assert words in page


@pytest.mark.slow
def test_what_is_left_can_be_reported_and_scanned(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    done = subprocess.run(
        demo_command((), "--dir", str(folder), "--web.listen-address", "127.0.0.1:0"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    database = folder / "server" / "bad-page" / "bad-page.edb"
    scan = subprocess.run(
        [sys.executable, "-m", "esewatch", "scan", str(database)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert scan.returncode == 1
    assert re.search(r"\b[12] bad \(1 checksum", scan.stdout)
    page = tmp_path / "report.html"
    logs = [str(folder / "server" / name) for name in ("events.jsonl", "counters.csv")]
    config = ["--config.file", str(folder / "esewatch.yml")]
    report = subprocess.run(
        [sys.executable, "-m", "esewatch", "report", *logs, *config, "-o", str(page)], check=False
    )
    assert report.returncode == 1
    assert "bad-page" in Page(page.read_text()).text


def test_the_first_story_is_visible_soon_and_ctrl_c_leaves_one_folder(
    attended: Callable[[], Attended], tmp_path: Path
) -> None:
    demo = attended()
    demo.wait_for("[x]", seconds=60)
    check_that_nothing_is_left(demo, tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
def test_kill_9_of_the_demo_ends_engine_and_agent(attended: Callable[[], Attended]) -> None:
    demo = attended()
    demo.wait_for("defrag started")
    children = children_of(demo.process.pid, 2)
    assert len(children) == 2
    demo.process.kill()
    demo.process.wait(10)
    wait_until("both are gone", lambda: gone(children))
    assert not listens(demo.address)
