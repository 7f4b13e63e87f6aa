"""The process that scans for the daemon, as a process."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest

from esefiles.scans import child
from esefiles.scans.child import ScanJob
from esefiles.scans.job import Job, News, Task
from esefiles.scans.results import FileResult
from esefiles.scans.verify.file_scan import ScanOptions
from tests.support.edb import write_edb
from tests.support.patience import PATIENCE

QUICK = ScanOptions()
SLOW = ScanOptions(throttle=0.02, read_size=64 << 10)
"""About 3 MB/s."""
HELD = ScanOptions(throttle=600.0, read_size=64 << 10)
"""One read, then a pause that no test waits for: who ends was asked to."""


class Process:
    """The process, given a job."""

    def __init__(self, job: Job) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "esefiles.scans.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.input, self.output = _pipe(self.process.stdin), _pipe(self.process.stdout)
        self.input.write(msgspec.json.encode(job) + b"\n")
        self.input.flush()

    def next(self) -> News:
        """The next line."""
        return msgspec.json.decode(self.output.readline(), type=News)

    def rest(self) -> list[News]:
        """All lines up to the end."""
        return [msgspec.json.decode(line, type=News) for line in self.output]

    def ended(self) -> int:
        """Exit status; at the latest long before a scan with HELD or SLOW is done."""
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        for pipe in (self.input, self.output, _pipe(self.process.stderr)):
            pipe.close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


@pytest.fixture
def started() -> Iterator[Any]:
    made: list[Process] = []

    def start(job: Job) -> Process:
        made.append(Process(job))
        return made[-1]

    yield start
    for each in made:
        each.close()


def job(*paths: Path, options: ScanOptions = QUICK, **more: Any) -> Job:
    tasks = tuple(Task(path=str(path), size=path.stat().st_size) for path in paths)
    return Job(tasks=tasks, options=options, **more)


def result(news: list[News]) -> FileResult:
    (found,) = (each.step.result for each in news if each.step and each.step.result)
    return found


def test_it_tells_the_beginning_then_steps_then_the_result_and_ends(
    started: Any, tmp_path: Path
) -> None:
    made = write_edb(tmp_path / "a.edb", pages=200)
    made.flip(17, 8000)

    process = started(job(made.path))
    news = process.rest()

    assert process.ended() == 0
    assert news[0] == News(path=str(made.path))
    assert {each.path for each in news} == {str(made.path)}
    place = result(news).place
    assert place is not None
    assert (place.counts.pages_seen, place.counts.bad()) == (200, 1)
    found = [bad.page_number for each in news if each.step for bad in each.step.found]
    assert found == [17]


def test_it_ends_at_its_deadline_in_the_middle_of_a_pause(started: Any, tmp_path: Path) -> None:
    made = write_edb(tmp_path / "a.edb", pages=5000)

    for seconds in (2, 8, 32, 128):
        deadline = time.time() + seconds
        process = started(job(made.path, options=HELD, deadline=deadline))
        assert process.ended() == 0
        assert time.time() > deadline - 0.1
        # Nothing was begun where its start alone took longer.
        if news := process.rest():
            break

    assert result(news).ended == "time"


def test_a_deadline_that_is_over_begins_nothing(started: Any, tmp_path: Path) -> None:
    made = write_edb(tmp_path / "a.edb")
    process = started(job(made.path, deadline=time.time() - 1))
    assert process.rest() == []
    assert process.ended() == 0


@pytest.mark.parametrize("how", ["signal", "input", "output"])
def test_it_ends_when_asked_and_when_nobody_is_there_any_more(
    how: str, started: Any, tmp_path: Path
) -> None:
    made = write_edb(tmp_path / "a.edb", pages=20000)
    # Without a reader it hears of that when it tells something.
    process = started(job(made.path, options=SLOW if how == "output" else HELD))
    while process.next().step is None:
        pass

    if how == "signal":
        os.kill(process.process.pid, signal.SIGTERM)
    elif how == "input":
        process.input.close()
    else:
        process.output.close()

    assert process.ended() == 0
    if how != "output":
        assert result(process.rest()).ended == "stopped"


def test_progress_is_told_every_second(started: Any, tmp_path: Path) -> None:
    made = write_edb(tmp_path / "a.edb", pages=20000)
    process = started(job(made.path, options=SLOW))
    process.next()
    offsets = []
    for _ in range(4):
        step = process.next().step
        assert step is not None and step.place is not None
        offsets.append(step.place.offset)

    assert offsets == sorted(set(offsets))
    # By its own pauses, one before each read: how late this process hears of it is no matter.
    second = (SLOW.read_size or 0) / SLOW.throttle
    assert all(later - earlier < 1.3 * second for earlier, later in itertools.pairwise(offsets))


def test_an_input_that_is_no_job_is_an_error_and_no_hang(started: Any) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "esefiles.scans.child"],
        input=b"{}\n",
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert process.returncode == 70
    assert process.stdout == b""


def test_what_is_found_in_a_burst_is_told_together_and_named_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "MAX_LISTED", 50)
    made = write_edb(tmp_path / "a.edb", pages=2000)
    for number in range(1, 2001):
        made.write(number, b"\xa5" * 4096)
    told: list[News] = []
    ScanJob(
        job(made.path, options=ScanOptions(read_size=64 << 10)), told.append, stop=threading.Event()
    ).run()

    assert sum(len(each.step.found) for each in told if each.step) == 50
    place = result(told).place
    assert place is not None
    assert place.counts.bad() == 2000
    steps = 2000 * 4096 // (64 << 10)
    assert len(told) < steps


def test_nobody_who_listens_ends_the_scan(tmp_path: Path) -> None:
    made = write_edb(tmp_path / "a.edb", pages=2000)
    stop = threading.Event()

    def refuse(news: News) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        ScanJob(job(made.path), refuse, stop=stop).run()
    assert stop.is_set()
