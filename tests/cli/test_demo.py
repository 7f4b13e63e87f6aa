"""`esewatch demo` as a command, with a stand-in for the engine; the real one is in tests/e2e."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.demo_run import (
    ROOT,
    Attended,
    children_of,
    demo_command,
    gone,
    listens,
    stand_in,
    wait_until,
)
from tests.support.ports import free_address


class Ended(NamedTuple):
    status: int
    out: str
    err: str


def run_demo(mode: str, *options: str) -> Ended:
    """The demo without a terminal, until it ends."""
    done = subprocess.run(
        demo_command(stand_in(mode), *options),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=600,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def test_without_a_terminal_it_ends_when_all_stories_are_visible(tmp_path: Path) -> None:
    address = free_address()
    folder = tmp_path / "demo"
    ended = run_demo("stories", "--dir", str(folder), "--web.listen-address", address)
    lines = ended.out.splitlines()
    assert (ended.status, ended.err) == (0, "")
    assert lines[0] == f"esewatch demo: its folder is {folder}"
    assert f"status page: http://{address}/" in lines
    told = re.findall(r"^ +\d+ s  ([\w-]+):", ended.out, re.MULTILINE)
    assert sorted(told) == ["bad-page", "healthy", "shared-disk", "too-long", "too-short"]
    assert f"nothing runs any more. All that it made is in {folder}" in ended.out
    assert {path.name for path in tmp_path.iterdir()} == {"demo"}


def test_stories_that_are_missing_are_named_when_the_time_is_over(tmp_path: Path) -> None:
    ended = run_demo("silent", "--dir", str(tmp_path / "demo"), "--seconds", "3")
    assert ended.status == 1
    assert ended.err.startswith("esewatch: not visible after 3 s")
    assert ended.err.count("\n") == 1
    for name in ("healthy", "too-long", "too-short", "shared-disk", "bad-page"):
        assert f"{name} (" in ended.err


def test_a_process_that_ends_stops_the_demo_with_its_last_words(tmp_path: Path) -> None:
    ended = run_demo("dies", "--dir", str(tmp_path / "demo"))
    assert ended.status == 1
    words = "the disk is full | so it cannot go on"
    assert ended.err == f"esewatch: the engine ended with status 3: {words}\n"


def test_an_address_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        folder = tmp_path / "demo"
        ended = run_demo("stories", "--dir", str(folder), "--web.listen-address", address)
    assert ended.status == 2
    assert ended.err == f"esewatch: cannot listen on {address}: Address already in use\n"
    assert not folder.exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    ended = run_demo("stories", "--dir", str(tmp_path), "--web.listen-address", free_address())
    assert ended.status == 2
    assert ended.err == f"esewatch: {tmp_path} is not empty: name a new folder with --dir\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.fixture
def attended(tmp_path: Path) -> Iterator[Callable[..., Attended]]:
    """Starts the demo on a terminal of its own; ended, whatever happens."""
    started: list[Attended] = []

    def start(mode: str = "stories", rows: int = 24, columns: int = 80) -> Attended:
        demo = Attended(stand_in(mode), tmp_path / "demo", rows, columns)
        started.append(demo)
        return demo

    yield start
    for demo in started:
        demo.close()


def test_on_a_terminal_the_screen_fits_and_shows_all_stories(
    attended: Callable[..., Attended],
) -> None:
    demo = attended()
    screen = demo.wait_for("5 of 5 stories visible")
    assert len(screen) <= 24
    assert max(map(len, screen)) <= 80
    assert [line[:3] for line in screen if line.startswith("[")] == ["[x]"] * 5
    assert f"  status page  http://{demo.address}/" in screen
    assert any(line.startswith(f"  folder       {demo.folder.parent}"[:60]) for line in screen)
    assert any("474" in line for line in screen[-3:])
    demo.resize(12, 40)
    small = demo.wait_for("esewatch demo", lambda lines: len(lines) <= 12)
    assert max(map(len, small)) <= 40


@pytest.mark.parametrize(
    "end", ["ctrl-c", signal.SIGINT, signal.SIGTERM, signal.SIGHUP, "terminal"]
)
def test_whatever_ends_it_nothing_goes_on(
    attended: Callable[..., Attended], end: str | signal.Signals, tmp_path: Path
) -> None:
    demo = attended()
    demo.wait_for("healthy")
    children = wait_until("both run", lambda: children_of(demo.process.pid, 2))
    wait_until("the agent answers", lambda: listens(demo.address))
    if end == "ctrl-c":
        demo.type(b"\x03")
    elif end == "terminal":
        demo.hang_up()
    else:
        assert isinstance(end, signal.Signals)
        demo.process.send_signal(end)
    status = demo.process.wait(300)
    assert gone(children)
    assert not listens(demo.address)
    assert {path.name for path in tmp_path.iterdir()} == {"demo"}
    if end != "terminal":
        assert status == 0
        assert f"All that it made is in {demo.folder}" in demo.rest()


def test_a_child_that_does_not_listen_is_killed(attended: Callable[..., Attended]) -> None:
    demo = attended("stubborn")
    demo.wait_for("healthy")
    children = wait_until("both run", lambda: children_of(demo.process.pid, 2))
    demo.type(b"\x03")
    assert demo.process.wait(20) == 0
    assert gone(children)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
def test_kill_9_of_the_demo_ends_its_processes(attended: Callable[..., Attended]) -> None:
    demo = attended("stubborn")
    demo.wait_for("healthy")
    children = wait_until("both run", lambda: children_of(demo.process.pid, 2))
    demo.process.kill()
    demo.process.wait(10)
    assert wait_until("all are gone", lambda: gone(children))


def test_under_nohup_the_end_of_the_terminal_does_not_end_it(tmp_path: Path) -> None:
    command = demo_command(stand_in("silent"), "--dir", str(tmp_path / "demo"), "--seconds", "30")
    shell = f"trap '' HUP; exec {shlex.join(command)}"
    with subprocess.Popen(
        ["sh", "-c", shell], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as demo:
        wait_until("both run", lambda: children_of(demo.pid, 2))
        demo.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert demo.poll() is None
        os.kill(demo.pid, signal.SIGTERM)
        assert demo.wait(300) == 1
