"""A child process: its output, its bounds, its end."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from esewatch.model import SourceError
from esewatch.sources import process
from esewatch.sources.process import Child, pause
from tests.support.patience import PATIENCE

PYTHON = [sys.executable, "-S", "-c"]
_made: list[Child] = []


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def child(script: str) -> Child:
    _made.append(Child(PYTHON, [script]))
    return _made[-1]


def took(running: Child, got: list[bytes]) -> list[bytes]:
    """All that was read so far, in pieces."""
    if block := running.read():
        got.append(block)
    return got


def wait_for(done: Callable[[], object], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_output_is_handed_out_while_the_program_runs() -> None:
    running = child("import time; print('one', flush=True); time.sleep(600)")
    got: list[bytes] = []
    wait_for(lambda: took(running, got))
    assert b"".join(got).split() == [b"one"]
    assert running.status is None
    assert not running.ended


def test_a_program_has_ended_when_all_it_wrote_is_read() -> None:
    done = child("print('x' * 300000); raise SystemExit(7)")
    got: list[bytes] = []
    wait_for(lambda: took(done, got) and done.ended)
    assert len(b"".join(got).split()[0]) == 300000
    assert done.status == 7


def test_what_nobody_reads_holds_the_program_up_instead_of_filling_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "_BUFFER_BYTES", 100_000)
    flood = child("import os\nwhile True: os.write(1, b'x' * 50000)")
    wait_for(lambda: len(flood._buffer) >= 100_000)
    for _ in range(20):
        size = len(flood.read())
        assert size <= 100_000 + (1 << 16)
        wait_for(lambda: len(flood._buffer) >= 100_000)
    assert flood.status is None


def test_the_error_output_is_one_line_of_at_most_4_kib() -> None:
    done = child("import sys; sys.stderr.write('no\\r\\n\\r\\n good\\n' + 'x' * 1000000)")
    wait_for(lambda: done.ended)
    assert done.complaint.startswith("no good xxx")
    assert len(done.complaint) < 4096


def test_a_program_that_is_done_has_not_ended_while_output_waits() -> None:
    done = child("print('last words')")
    wait_for(lambda: done._buffer and not any(reader.is_alive() for reader in done._readers))
    wait_for(lambda: done.status is not None)
    assert not done.ended
    assert done.read().split() == [b"last", b"words"]
    assert done.ended


def test_closing_ends_a_program_that_runs() -> None:
    running = child("import time; time.sleep(600)")
    running.close()
    assert running.status is not None
    assert not any(reader.is_alive() for reader in running._readers)


def test_closing_ends_a_program_that_is_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_BUFFER_BYTES", 1000)
    flood = child("import os\nwhile True: os.write(1, b'x' * 9999)")
    wait_for(lambda: len(flood._buffer) >= 1000)
    flood.close()
    assert flood.status is not None
    assert not any(reader.is_alive() for reader in flood._readers)


def test_a_program_that_is_not_there_is_named_with_the_reason() -> None:
    with pytest.raises(
        SourceError, match="no-such-program: no such program: it is a part of Windows"
    ):
        Child(["no-such-program"], [])
    with pytest.raises(SourceError, match=r"^/no/program: no program that this account may run"):
        Child(["/no/program"], [])


def test_an_argument_that_no_program_can_take_is_an_error_of_the_source() -> None:
    with pytest.raises(SourceError, match="cannot be started"):
        Child(PYTHON, ["print()", "a\0b"])


def test_pauses_grow_to_five_minutes_and_never_below_the_interval() -> None:
    assert [pause(15.0, failures) for failures in (1, 2, 3, 9)] == [30.0, 60.0, 120.0, 300.0]
    assert pause(3600.0, 1) == 3600.0
    assert pause(15.0, 10**9) == 300.0


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a signal of POSIX")
def test_a_program_that_writes_ends_when_its_reader_was_killed(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    writer = f"import os,pathlib,time\npathlib.Path({str(pid)!r}).write_text(str(os.getpid()))\n"
    writer += "while True: os.write(1, b'x'); time.sleep(0.01)"
    script = "import sys, time; from esewatch.sources.process import Child\n"
    script += f"child = Child([sys.executable, '-S', '-c'], [{writer!r}])\ntime.sleep(600)"
    reader = subprocess.Popen([sys.executable, "-c", script])
    try:
        wait_for(lambda: pid.exists() and pid.read_text())
    finally:
        reader.send_signal(signal.SIGKILL)
        reader.wait()
    written = int(pid.read_text())
    wait_for(lambda: not alive(written))
    assert not alive(written)


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # Not collected yet by the first process of a container: dead all the same.
    return "Z" not in stat.rpartition(")")[2][:3]


def given(script: str, content: bytes) -> Child:
    _made.append(Child(PYTHON, [script], content))
    return _made[-1]


def test_what_is_given_arrives_whole_and_the_input_stays_open() -> None:
    content = b"x" * 3_000_000 + b"\n"
    running = given(
        "import sys; print(len(sys.stdin.buffer.readline()), flush=True); sys.stdin.read()", content
    )
    got: list[bytes] = []
    wait_for(lambda: took(running, got))
    assert b"".join(got).split() == [b"3000001"]
    assert running.status is None
    running.close()
    assert running.status is not None


def test_a_program_that_reads_nothing_ends_all_the_same() -> None:
    done = given("raise SystemExit(3)", b"x" * 3_000_000)
    wait_for(lambda: done.ended)
    assert done.status == 3
