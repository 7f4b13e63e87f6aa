"""`esewatch engine`: the engine takes the place of the process, and ends as it is asked to."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from esewatch.cli import main
from tests.e2e.harness import wait_for
from tests.eselab.commanding import (
    REAL,
    ROOT,
    VIRTUAL,
    at_work,
    command,
    events,
    finished,
    run,
    started,
)
from tests.support.patience import PATIENCE


@contextmanager
def inherited(number: signal.Signals, action: Any) -> Iterator[None]:
    """What is started meanwhile takes the signal so: by `nohup` or `&` these tests ignore some."""
    before = signal.signal(number, action)
    try:
        yield
    finally:
        signal.signal(number, before)


def states(folder: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """What the headers of all databases in a run's folder say."""
    capsys.readouterr()
    words = [str(path) for path in sorted(folder.glob("*/*.edb"))]
    main(["header", "--format", "json", *words])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(words) > 0
    return {msgspec.json.decode(line)["state"] for line in lines}


def ids(folder: Path) -> list[int]:
    """Of the events, in order."""
    return [event_id for event_id, _ in events(folder)]


@pytest.mark.parametrize(
    ("clock", "number"),
    [
        ("real", signal.SIGHUP),
        ("real", signal.SIGTERM),
        ("virtual", signal.SIGINT),
        pytest.param("real", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("virtual", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("virtual", signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_a_signal_closes_all_in_order_and_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], clock: str, number: signal.Signals
) -> None:
    folder, plan = tmp_path / "run", REAL if clock == "real" else VIRTUAL
    with inherited(number, signal.SIG_DFL):
        process = at_work(folder, "--clock", clock, "--days", 30000, plan=plan)
    wait_for("a pass", lambda: 700 in ids(folder))
    process.send_signal(number)
    done = finished(process, 20.0)
    assert (done.status, done.out) == (0, "")
    assert done.error.endswith(f"closed; the logs and truth.json are in {folder}\n")
    count = len(plan.databases)
    assert ids(folder)[-3 * count :].count(327) == ids(folder).count(103) == count
    assert ids(folder)[-1] == 103
    assert states(folder, capsys) == {"clean"}
    assert command("check", folder).status == 0
    assert (folder / "truth.json").exists()


def test_an_open_pass_is_told_as_interrupted_before_the_database_is_closed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    process = at_work(folder, "--clock", "real", plan=REAL)
    wait_for("a pass", lambda: 700 in ids(folder))
    process.terminate()
    assert finished(process).status == 0
    assert ids(folder)[-3:] == [704, 327, 103]
    assert states(folder, capsys) == {"clean"}
    process = at_work(folder, "--clock", "real", plan=REAL)
    wait_for("the pass goes on", lambda: 702 in ids(folder))
    process.terminate()
    assert finished(process).status == 0
    assert 300 not in ids(folder)


def test_a_run_that_shall_outlive_its_terminal_does(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with inherited(signal.SIGHUP, signal.SIG_IGN):
        process = at_work(folder, "--clock", "real", plan=REAL)
    process.send_signal(signal.SIGHUP)
    wait_for("a pass", lambda: 700 in ids(folder))
    assert process.poll() is None
    process.terminate()
    assert finished(process).status == 0


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_a_run_ends_with_its_standard_input_where_it_shall(tmp_path: Path, clock: str) -> None:
    folder, plan = tmp_path / "run", REAL if clock == "real" else VIRTUAL
    words = ("--clock", clock, "--days", 30000, "--until-eof")
    process = at_work(folder, *words, plan=plan, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"words that nobody reads\n")
    process.stdin.flush()
    wait_for("a pass", lambda: 700 in ids(folder))
    assert process.poll() is None
    process.stdin.close()
    process.stdin = None
    assert finished(process, 20.0).status == 0
    assert ids(folder)[-1] == 103


def test_a_standard_input_that_is_closed_from_the_start_has_ended(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_bytes(msgspec.json.encode(REAL))
    words = ["run", "--dir", str(tmp_path / "run"), "--plan", str(plan), "--clock", "real"]
    words.append("--until-eof")
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "esewatch", "engine", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert ids(tmp_path / "run")[-1] == 103


def test_the_engine_takes_the_place_of_the_process_that_started_it(tmp_path: Path) -> None:
    process = at_work(tmp_path / "run", "--clock", "real", plan=REAL)
    found = psutil.Process(process.pid)
    assert "eselab" in found.cmdline()
    assert found.children() == []
    process.kill()
    assert finished(process).status == -signal.SIGKILL


def shown(*words: object) -> bytes:
    """What a command shows on a terminal."""
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "esewatch", "engine", *map(str, words)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=inner,
        stderr=inner,
    )
    os.close(inner)
    found = b""
    try:
        while data := os.read(terminal, 1 << 16):
            found += data
    except OSError:  # nobody is at the other end any more
        pass
    finally:
        os.close(terminal)
    assert process.wait(PATIENCE) == 0
    return found


def test_a_terminal_sees_the_days_pass_and_a_file_does_not(tmp_path: Path) -> None:
    done = run(tmp_path / "run", "--days", 2)
    assert done.error == (
        f"esewatch engine: 2 databases at work in {tmp_path / 'run'}\n"
        f"esewatch engine: closed; the logs and truth.json are in {tmp_path / 'run'}\n"
    )
    plan = tmp_path / "run.plan.json"
    found = shown("run", "--dir", tmp_path / "run", "--plan", plan, "--days", 3)
    assert b"/3.0 [" in found
    assert b"day" in found


def test_ctrl_c_before_there_is_anything_to_close_is_no_traceback(tmp_path: Path) -> None:
    pipe = tmp_path / "plan.json"
    os.mkfifo(pipe)
    with inherited(signal.SIGINT, signal.SIG_DFL):
        process = started("run", "--dir", tmp_path / "run", "--plan", pipe)
    # It reads the plan now, and nobody writes one.
    with pipe.open("wb"):
        # Between its opening and its reading a signal is noted and waits for the end of the read.
        wait_for("it waits", lambda: psutil.Process(process.pid).status() == "sleeping")
        process.send_signal(signal.SIGINT)
        done = finished(process, 20.0)
    assert (done.status, done.out, done.error) == (130, "", "")
    assert not (tmp_path / "run").exists()
