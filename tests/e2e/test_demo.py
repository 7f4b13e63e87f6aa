"""The demo with its own engines: a month behind it, all stories seen, nothing left behind."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from esewatch.cli.demo.stories import FORECAST, STORIES
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

TITLES = [*(story.title for story in STORIES), FORECAST]


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


def test_all_stories_are_seen_and_what_is_left_can_be_reported_and_scanned(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    options = ("--dir", str(folder), "--web.listen-address", "127.0.0.1:0", "--seconds", "1200")
    done = subprocess.run(
        demo_command((), *options), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = dict(re.findall(r"^ *\d+ s  ([^:]+): (.*)$", done.stdout, re.MULTILINE))
    assert set(told) - {"30 nights"} == set(TITLES)
    for title, words in {
        "the window can shrink": r"window 4 h, advice shrink to .*, above 100: little is left",
        "the window fits": r"window 1 h, advice keep, because .* between 50 and 100",
        "the window must grow": r"window 1 h, advice grow to .*, below 50: much is left to free",
        "done every night": r"advice shrink to 2 h, because it completed \d+ passes, one every",
        "two scans on one disk": r"meets another one on the same disks: scan it from \d\d:\d\d to",
        "a backup in the window": r"advice move, because backups stopped online maintenance",
        "a bit flips": r"1 corrected page; last verified without a bad page \d+ \w+ by online scan",
        "a page is lost": r"1 known bad page; .*last verified without a bad page",
        "a domain controller": r"no window: its garbage collection defragments it every 12 hours",
        "a current Exchange pair": r"no window: its engine scans in the background, day and night",
        FORECAST: r"was done at \d\d:\d\d:\d\d, forecast by \d\d:\d\d:\d\d UTC",
    }.items():  # fmt: skip
        assert re.search(words, told[title]), (title, told[title])

    scan = subprocess.run(
        [sys.executable, "-m", "esewatch", "scan", str(folder / "MAIL02/bad-page/bad-page.edb")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert scan.returncode == 1
    assert re.search(r"\b[12] bad \(1 checksum", scan.stdout)
    page = tmp_path / "report.html"
    logs = sorted([*folder.glob("*/events.jsonl"), *folder.glob("*/counters.csv")])
    assert len(logs) == 8
    config = ["--config.file", str(folder / "esewatch.yml")]
    report = subprocess.run(
        [sys.executable, "-m", "esewatch", "report", *map(str, logs), *config, "-o", str(page)],
        check=False,
    )
    assert report.returncode == 1
    assert "1 known bad page" in Page(page.read_text()).text


def test_ctrl_c_in_the_past_leaves_one_folder_and_no_process(
    attended: Callable[[], Attended], tmp_path: Path
) -> None:
    demo = attended()
    demo.wait_for("30 nights first: [#")
    children = children_of(demo.process.pid, 4)
    assert len(children) == 4
    demo.type(b"\x03")
    assert demo.process.wait(300) == 0
    assert gone(children)
    assert not listens(demo.address)
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]
    assert f"All that it made is in {demo.folder}" in demo.rest()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
def test_kill_9_of_the_demo_ends_the_engines(attended: Callable[[], Attended]) -> None:
    demo = attended()
    demo.wait_for("30 nights first")
    children = wait_until("all run", lambda: children_of(demo.process.pid, 4))
    demo.process.kill()
    demo.process.wait(10)
    wait_until("all are gone", lambda: gone(children))
    assert not listens(demo.address)
