"""The process that scans for the daemon: `python -m esefiles.scans.child`.

It takes a `Job` on its standard input and answers with `News` on its standard output. It ends when
all is scanned, at the deadline, on SIGTERM and when its input ends, which shows that the daemon is
gone. So the daemon's memory stays free of pages and its interpreter of checksums, and a crash in
here ends no daemon.
"""

import contextlib
import math
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import BinaryIO, Final

from esefiles.base import crash, names
from esefiles.base.database_names import AMBIGUOUS
from esefiles.pages.header import Header
from esefiles.scans.devices.topology import Topology
from esefiles.scans.job import Job, News, Task
from esefiles.scans.lanes import run_lanes
from esefiles.scans.pace import Pace, yield_the_disk
from esefiles.scans.plan import Lane, ScanTarget, plan
from esefiles.scans.recovery.copy_verdict import check_copy
from esefiles.scans.recovery.log_folder import LogFolders
from esefiles.scans.recovery.log_verification import LogVerifier
from esefiles.scans.results import MAX_LISTED, FileResult, ScannedBadPage, ScanStep, Verdict
from esefiles.scans.verify.file_scan import scan_file

TELL_SECONDS: Final = 0.9
"""Interval of progress messages for a file."""
BURST_SECONDS: Final = 0.1
"""Findings are sent at once, but not more often than this."""


class ScanJob:
    """One job. `tell` sends each message, from any thread; it may raise OSError."""

    def __init__(self, job: Job, tell: Callable[[News], None], *, stop: threading.Event) -> None:
        self._tell = tell
        self._stop = stop
        self._options = job.options
        self._check = job.check
        self._logs = job.logs
        self._tasks = {task.path: task for task in job.tasks}
        self._deadline = (
            math.inf if job.deadline is None else time.monotonic() + job.deadline - time.time()
        )
        targets = [
            ScanTarget(path=task.path, size=task.size, verified=task.verified) for task in job.tasks
        ]
        self._lanes = plan(targets, Topology(), job.pools)
        end = None if math.isinf(self._deadline) else self._deadline
        self._paces = {lane.locks: self._options.pace(end, stop) for lane in self._lanes}

    def run(self) -> None:
        """Scan until all is done or the time is up. Raises OSError when the reader is gone."""
        run_lanes(
            self._lanes,
            self._work,
            stop=self._stop,
            deadline=self._deadline,
            on_wait=lambda _: None,
        )

    def _work(self, lane: Lane, target: ScanTarget) -> None:
        task = self._tasks[target.path]
        telling = _Telling()
        try:
            self._tell(News(path=task.path))
            for step in self._steps(lane, task):
                if (told := telling.due(step, time.monotonic())) is not None:
                    self._tell(News(path=task.path, step=told))
        except OSError:
            self._stop.set()
            raise

    def _steps(self, lane: Lane, task: Task) -> Iterable[ScanStep]:
        steps = scan_file(
            task.path,
            self._options,
            self._paces[lane.locks],
            place=task.place,
            taken=task.taken,
            known_bad=task.known_bad,
            expected=Path(task.path).suffix.lower() in AMBIGUOUS,
        )
        for step in steps:
            result = step.result
            if self._check != "pages" and result and result.ended in ("lost", "complete"):
                result.verdict = self._verdict(result, task, self._paces[lane.locks])
            yield step

    def _verdict(self, result: FileResult, task: Task, pace: Pace) -> Verdict | None:
        folders = LogFolders([str(Path(task.path).parent), *self._logs])
        for why in folders.unsearched.values():
            return Verdict(outcome="unknown", reasons=[f"{why}."])
        verifier, deep = LogVerifier(folders, read=pace.wait), self._check == "deep"
        return check_copy(result, verifier, pace, deep=deep, wanted=task.known_bad).verdict


class _Telling:
    """Merges the steps of one file until the next message is due."""

    def __init__(self) -> None:
        self._found: list[ScannedBadPage] = []
        self._good: list[int] = []
        self._header: Header | None = None
        self._told = -math.inf
        self._room = MAX_LISTED
        """Bad pages that are still named; a file of foreign bytes has millions."""

    def due(self, step: ScanStep, now: float) -> ScanStep | None:
        """The message due after `step`, None for nothing yet; `now` is time.monotonic()."""
        named = step.found[: self._room]
        self._room -= len(named)
        self._found += named
        self._good += step.good
        self._header = self._header or step.header
        pause = BURST_SECONDS if self._found or self._good else TELL_SECONDS
        if step.result is None and now - self._told < pause:
            return None
        told = ScanStep(
            place=step.place,
            found=self._found,
            good=self._good,
            header=self._header,
            result=step.result,
        )
        self._found, self._good, self._header, self._told = [], [], None, now
        return told


class _Teller:
    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = threading.Lock()

    def __call__(self, news: News) -> None:
        line = names.pack_line(news)
        with self._lock:
            self._out.write(line)
            self._out.flush()


def main() -> int:
    """Scan what the job on standard input asks for; the exit status is 0."""
    yield_the_disk()
    # What libraries print must not come between the lines.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    source = sys.stdin.buffer
    job = names.unpack_line(source.readline(), Job)
    stop = threading.Event()
    _stop_when_asked(stop, source)
    with contextlib.suppress(BrokenPipeError):
        ScanJob(job, _Teller(out), stop=stop).run()
    return 0


def _stop_when_asked(stop: threading.Event, source: BinaryIO) -> None:
    stops: queue.SimpleQueue[None] = queue.SimpleQueue()

    def ask(_signal: int, _frame: FrameType | None) -> None:
        # A handler may not take the lock of an Event that it may have interrupted.
        stops.put(None)

    def listen() -> None:
        try:
            while os.read(source.fileno(), 1 << 16):
                pass
        finally:
            stops.put(None)

    def obey() -> None:
        stops.get()
        stop.set()

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for part in (listen, obey):
        threading.Thread(target=part, daemon=True).start()


if __name__ == "__main__":
    crash.install()
    # Not by way of an orderly end, which waits for threads: one may hang in a read.
    os._exit(main())
