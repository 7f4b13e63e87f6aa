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
from tests.support.patience import PATIENCE
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


def test_stories_that_are_missing_are_named_when_the_time_is_over(tmp_path: Path) -> None:
    address = free_address()
    folder = tmp_path / "demo"
    options = ("--dir", str(folder), "--web.listen-address", address, "--seconds", "3")
    ended = run_demo("quick", *options)
    lines = ended.out.splitlines()
    assert ended.status == 1
    assert re.fullmatch(r"esewatch: not seen in the \d+ s after the first page: .*\n", ended.err)
    assert ended.err.endswith("; a pass ends as it was forecast\n")
    for title in ("the window can shrink", "a backup in the window", "a page is lost"):
        assert f"{title}; " in ended.err
    assert lines[0] == f"esewatch demo: its folder is {folder}"
    assert f"status page: http://{address}/" in lines
    told = [
        line
        for line in lines
        if "a domain controller: NTDSA on DC01: No verification is known" in line
    ]
    assert len(told) == 1
    assert f"nothing runs any more. Its files are in {folder}" in ended.out
    assert {path.name for path in tmp_path.iterdir()} == {"demo"}


def test_a_process_that_ends_stops_the_demo_with_its_last_words(tmp_path: Path) -> None:
    ended = run_demo("dies", "--dir", str(tmp_path / "demo"))
    assert ended.status == 1
    words = "the disk is full | so it cannot go on"
    assert re.fullmatch(
        rf"esewatch: the engine of [A-Z0-9]+ ended with status 3: {re.escape(words)}\n", ended.err
    )


def test_an_address_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        folder = tmp_path / "demo"
        ended = run_demo("quick", "--dir", str(folder), "--web.listen-address", address)
    assert ended.status == 2
    assert ended.err == f"esewatch: cannot listen on {address}: Address already in use\n"
    assert not folder.exists()


@pytest.mark.parametrize(
    ("words", "status", "out", "error"),
    [
        ("--help", 0, "example: esewatch demo\n", ""),
        ("--seed", 2, "", "esewatch demo: argument --seed: expected one argument (see"),
        ("--dir / --web.listen-address :0", 2, "", "esewatch: / is not empty: name a new folder"),
        ("--dir {folder} >&-", 2, "", "esewatch: standard output: Bad file descriptor\n"),
        ("--dir {folder} | head -n 1", 0, "esewatch demo: its folder is {folder}\n", ""),
    ],
)
def test_esewatch_becomes_the_demo(
    words: str, status: int, out: str, error: str, tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    command = f"{shlex.quote(sys.executable)} -m esewatch demo {words.format(folder=folder)}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == status
    assert out.format(folder=folder) in done.stdout
    assert error in done.stderr
    assert bool(done.stderr) is bool(error)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    ended = run_demo("quick", "--dir", str(tmp_path), "--web.listen-address", free_address())
    assert ended.status == 2
    assert ended.err == f"esewatch: {tmp_path} is not empty: name a new folder with --dir\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.fixture
def attended(tmp_path: Path) -> Iterator[Callable[..., Attended]]:
    """Starts the demo on a terminal of its own; ended, whatever happens."""
    started: list[Attended] = []

    def start(mode: str, rows: int = 24, columns: int = 80) -> Attended:
        demo = Attended(stand_in(mode), tmp_path / "demo", rows, columns)
        started.append(demo)
        return demo

    yield start
    for demo in started:
        demo.close()


def test_on_a_terminal_the_screen_fits_and_keys_do_what_they_say(
    attended: Callable[..., Attended],
) -> None:
    demo = attended("quick", 40, 100)
    screen = demo.wait_for("[x] NTDSA on DC01: a domain controller")
    assert len(screen) <= 40
    assert max(map(len, screen)) <= 100
    assert f"  status page  http://{demo.address}/" in screen
    demo.type(b"x?f")
    demo.wait_for("a bit of a page of bad-page was flipped")
    demo.wait_for("[x] bad-page on MAIL02: a bit flips")
    demo.type(b"D")
    demo.wait_for("[x] bad-page on MAIL02: a page is lost")
    demo.type(b"s")
    demo.wait_for("507")
    demo.type(b"n")
    demo.wait_for("725")
    demo.type(b"a")
    demo.wait_for("the agent was stopped")
    wait_until("nobody listens", lambda: not listens(demo.address))
    demo.type(b"a")
    demo.wait_for("the agent was started")
    wait_until("the agent listens", lambda: listens(demo.address))
    demo.resize(12, 40)
    small = demo.wait_for("esewatch demo", lambda lines: len(lines) <= 12)
    assert max(map(len, small)) <= 40
    demo.type(b"q")
    assert demo.process.wait(PATIENCE) == 0


@pytest.mark.slow
def test_a_terminal_of_80x24_shows_the_stories_and_the_sentence_of_the_one_under_work(
    attended: Callable[..., Attended],
) -> None:
    demo = attended("quick", 24, 80)

    def is_told(lines: list[str]) -> bool:
        story = next((at for at, line in enumerate(lines) if line.startswith("[ ] ")), None)
        return story is not None and lines[story + 1].startswith("    ")

    demo.wait_for("[x] NTDSA on DC01: a domain controller", is_told)
    demo.type(b"d")
    screen = demo.wait_for("[x] bad-page on MAIL02: a page is lost", is_told)
    assert len(screen) <= 24
    assert max(map(len, screen)) <= 80
    assert len([line for line in screen if line.startswith("[")]) == 11
    demo.type(b"q")
    assert demo.process.wait(PATIENCE) == 0


def test_while_the_past_is_lived_through_keys_wait_and_the_bar_grows(
    attended: Callable[..., Attended],
) -> None:
    demo = attended("waits")
    demo.type(b"f")
    bar = "#" * 13 + "." * 27
    demo.wait_for(f"30 nights first: [{bar}] 33%")
    assert not (demo.folder / "MAIL02" / "events.jsonl").exists()


@pytest.mark.parametrize(
    "end",
    [
        "ctrl-c",
        "terminal",
        signal.SIGTERM,
        # What both of the first come to.
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_whatever_ends_it_nothing_goes_on(
    attended: Callable[..., Attended], end: str | signal.Signals, tmp_path: Path
) -> None:
    demo = attended("quick")
    demo.wait_for("[x] NTDSA")
    children = wait_until("all run", lambda: children_of(demo.process.pid, 5))
    wait_until("the agent answers", lambda: listens(demo.address))
    if end == "ctrl-c":
        demo.type(b"\x03")
    elif end == "terminal":
        demo.hang_up()
    else:
        assert isinstance(end, signal.Signals)
        demo.process.send_signal(end)
    status = demo.process.wait(PATIENCE)
    assert gone(children)
    assert not listens(demo.address)
    assert {path.name for path in tmp_path.iterdir()} == {"demo"}
    if end != "terminal":
        assert status == 0
        assert f"Its files are in {demo.folder}" in demo.rest()


def test_a_child_that_does_not_listen_is_killed(attended: Callable[..., Attended]) -> None:
    demo = attended("stubborn")
    demo.wait_for("33%")
    children = wait_until("all run", lambda: children_of(demo.process.pid, 4))
    demo.type(b"\x03")
    assert demo.process.wait(PATIENCE) == 0
    assert gone(children)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
def test_kill_9_of_the_demo_ends_its_processes(attended: Callable[..., Attended]) -> None:
    demo = attended("stubborn")
    demo.wait_for("33%")
    children = wait_until("all run", lambda: children_of(demo.process.pid, 4))
    demo.process.kill()
    demo.process.wait(PATIENCE)
    assert wait_until("all are gone", lambda: gone(children))


def test_under_nohup_the_end_of_the_terminal_does_not_end_it(tmp_path: Path) -> None:
    command = demo_command(stand_in("silent"), "--dir", str(tmp_path / "demo"), "--seconds", "30")
    shell = f"trap '' HUP; exec {shlex.join(command)}"
    with subprocess.Popen(
        ["sh", "-c", shell], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as demo:
        wait_until("all run", lambda: children_of(demo.pid, 4))
        demo.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert demo.poll() is None
        os.kill(demo.pid, signal.SIGTERM)
        assert demo.wait(PATIENCE) == 1
