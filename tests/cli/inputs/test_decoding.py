"""Inputs decoded in a process beside the one that folds: what comes out, and how it ends."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from esewatch.cli import main
from esewatch.cli.inputs import decoding
from tests.support.ese_text import render
from tests.support.made_once import made_once
from tests.support.samples import sample

HEAD = ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"]
NOW = 1.8e9


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the engine logs in a day, in each form that it has, and a damaged log and an archive."""
    return made_once(tmp_path_factory, "decoding", make_lab)


def make_lab(folder: Path) -> None:
    words = ["--days", "1", "--profile", "quiet", "--binary-log", "--event-log", "1"]
    # A process of its own: it takes the signals.
    engine = [sys.executable, "-m", "esewatch", "engine", "run", "--dir", str(folder), *words]
    subprocess.run(engine, check=True, capture_output=True)
    (folder / "a.zip").write_bytes(b"PK\x03\x04")
    damaged = bytearray((folder / "Application.evtx").read_bytes())
    damaged[5000:9000] = bytes(4000)
    (folder / "damaged.evtx").write_bytes(damaged)


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Inputs of any size are decoded in a process of their own; the processes so far."""
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(decoding, "LEAST_BYTES", 0)
    monkeypatch.setattr(decoding, "processors", lambda: 2)
    monkeypatch.setattr(subprocess, "Popen", Noted)
    return started


@pytest.fixture
def told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[object, ...]]:
    """Runs a command with `-o`: its status, what it printed and what it wrote."""
    monkeypatch.setattr(time, "time", lambda: NOW)

    def run(*words: str) -> tuple[object, ...]:
        folder = tmp_path / "out"
        folder.mkdir()
        output = [] if words[0] == "advise" else ["-o", str(folder / "made.om")]
        output += ["--step", "1d"] if words[0] == "replay" else []
        status = main([*words, *output])
        out, err = capsys.readouterr()
        written = {each.name: each.read_bytes() for each in sorted(folder.iterdir())}
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()
        # The free space of the disk changes.
        return status, out, re.sub(r"; .* free", "", err), written

    return run


def check_equal(
    told: Callable[..., tuple[object, ...]],
    monkeypatch: pytest.MonkeyPatch,
    child: list[subprocess.Popen[bytes]],
    *words: str,
) -> None:
    two = told(*words)
    assert [each.returncode is not None for each in child] == [True]
    with monkeypatch.context() as patched:
        patched.setattr(decoding, "processors", lambda: 1)
        assert told(*words) == two
    assert len(child) == 1


@pytest.mark.parametrize("command", ["report", "advise", "replay"])
def test_one_and_two_processes_say_the_same_of_the_engine_s_logs(
    command: str,
    lab: Path,
    child: list[subprocess.Popen[bytes]],
    told: Callable[..., tuple[object, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_equal(told, monkeypatch, child, command, str(lab), str(lab / "absent.evtx"))


KINDS = ("blg", "csv", "evtx", "json", "other", "perf", "text")


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        # Samples of all kinds.
        ("report", ""),
        ("replay", ""),
        *(
            pytest.param(command, kind, marks=pytest.mark.slow)
            for command in ("report", "replay")
            for kind in KINDS
        ),
    ],
)
def test_one_and_two_processes_say_the_same_of_the_samples(
    command: str,
    kind: str,
    child: list[subprocess.Popen[bytes]],
    told: Callable[..., tuple[object, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_equal(told, monkeypatch, child, command, str(sample(kind)))


def test_a_little_is_decoded_in_one_process(
    lab: Path, child: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(decoding, "LEAST_BYTES", 1 << 30)
    assert main(["report", str(lab), "-o", str(tmp_path / "report.html")]) == 1
    assert child == []


def test_where_no_process_can_be_started_one_has_to_do(
    lab: Path, child: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(decoding, "PROGRAM", (str(tmp_path / "absent"),))
    assert main(["report", str(lab), "-o", str(tmp_path / "report.html")]) == 1
    assert child == []
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "by signal 9"),
        ("import sys; sys.stdin.buffer.read(); sys.exit(3)", "with status 3"),
        (
            "import sys; from esewatch.cli.inputs import decoding as d\n"
            "whole = d._polled\n"
            "def cut(source):\n"
            "    yield from whole(source)\n"
            "    sys.exit(4)\n"
            "d._polled = cut\n"
            "d.main()",
            "with status 4",
        ),
    ],
)
def test_a_process_that_dies_is_an_error_of_one_line_and_nothing_is_written(
    *,
    code: str,
    how: str,
    lab: Path,
    child: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(decoding, "PROGRAM", (sys.executable, "-c", code))
    page = tmp_path / "report.html"
    assert main(["report", str(lab / "events.jsonl"), "-o", str(page)]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        f"esewatch: the process that decodes the inputs ended {how}: start the command again\n",
    )
    assert not page.exists()
    assert len(child) == 1


def test_what_the_other_process_cannot_do_is_said_as_in_one(
    lab: Path,
    child: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = (
        "from esewatch.cli.inputs import decoding as d\n"
        "def full(source):\n"
        "    raise MemoryError\n"
        "    yield\n"
        "d._polled = full\n"
        "d.main()\n"
    )
    monkeypatch.setattr(decoding, "PROGRAM", (sys.executable, "-c", code))
    assert main(["report", str(lab / "events.jsonl"), "-o", str(tmp_path / "x.html")]) == 2
    assert capsys.readouterr().err == "esewatch: there is too little memory\n"
    assert len(child) == 1


def large(path: Path, size: int) -> Path:
    """A log of text, a little smaller than `size`."""
    line = f"2007-06-21T03:14:15.123Z EX01 Information ESE 704 {render(704, HEAD)}\n"
    path.write_text(line * (size // len(line)))
    return path


def run(folder: Path, log: Path, stderr: int) -> "subprocess.Popen[bytes]":
    code = (
        # A shell makes what it starts in the background deaf to Ctrl-C.
        "import signal as s; s.signal(s.SIGINT, s.default_int_handler);"
        "import sys; from esewatch.cli import main; from esewatch.cli.inputs import decoding as d;"
        "d.LEAST_BYTES = 0; d.processors = lambda: 2; sys.exit(main(sys.argv[1:]))"
    )
    words = ["report", str(log), "-o", str(folder / "report.html")]
    program = [sys.executable, "-c", code, *words]
    return subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=stderr)


def test_ctrl_c_ends_both_and_neither_complains(tmp_path: Path) -> None:
    log = large(tmp_path / "log.txt", 60_000_000)
    process = run(tmp_path, log, subprocess.PIPE)
    while not (found := psutil.Process(process.pid).children()):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)

    assert (process.returncode, err) == (130, b"")
    assert psutil.wait_procs(found, timeout=60)[1] == []
    assert not (tmp_path / "report.html").exists()


def test_a_terminal_shows_bytes_of_all_bytes_and_the_time_left(tmp_path: Path) -> None:
    log = large(tmp_path / "log.txt", 6_000_000)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 200, 0, 0))
    process = run(tmp_path, log, theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal by one
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)

    assert process.wait(600) == 0
    bars = re.findall(r"(\d+)%\|.*?\| ([\d.]+)M/6.00M \[\d\d:\d\d<(\S+),", shown.decode())
    percents = [int(percent) for percent, _, _ in bars]
    assert percents == sorted(percents)
    assert any(0 < percent < 100 for percent in percents)
    assert any(re.fullmatch(r"\d\d:\d\d", left) for _, _, left in bars)
