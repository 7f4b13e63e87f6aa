"""`scan`: every page of the databases behind paths is read and verified."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, TypeVar, Unpack

from esefiles.paths import FoundDatabases, find_databases
from esefiles.scans.devices.topology import Topology
from esefiles.scans.lanes import run_lanes
from esefiles.scans.pace import Pace
from esefiles.scans.plan import Lane, ScanTarget, plan
from esefiles.scans.position import Positions
from esefiles.scans.results import Ended, FileResult
from esefiles.scans.verify.file_scan import ScanOptions, scan_file

SAVE_SECONDS = 0.5
"""Seconds between two stored positions of a file."""
POLL_SECONDS = 0.1
"""Interval in which a signal is noticed."""

Pools = Mapping[str, Sequence[str]]
"""Name of a pool of spindles -> its devices; see `plan`."""

R = TypeVar("R")


class Watcher:
    """Progress, for a caller who wants to see it. Called by several threads at once."""

    def plans(self, lanes: Sequence[Lane]) -> None:
        """These files will be read: those of a lane one after another, lanes at the same time."""

    def begins(self, lane: Lane, offset: int) -> None:
        """The lane's next file begins; an earlier scan has read the bytes before `offset`."""

    def reaches(self, lane: Lane, offset: int) -> None:
        """The lane's file is read up to this byte."""

    def works(self, what: str, done: int, total: int) -> None:
        """Of `what` else is read (logs, the structure of a database), so many bytes are done."""

    def remarks(self, sentence: str) -> None:
        """A device is used by another scan, or a position cannot be read or kept."""


class RunOptions(TypedDict, total=False):
    """Arguments of a run; each may be left out."""

    options: ScanOptions
    """Sizes and pauses of reads. Default: 2 MiB, no pause."""
    max_time: float
    """Seconds after which the run ends with what it has."""
    resume: bool
    """Go on where an unfinished scan stopped."""
    position_folder: Path
    """For positions of unfinished scans and times of finished ones, which `resume` needs, and by
    which the file is read first that was verified least recently. Default: nothing is kept."""
    pools: Pools
    """Devices that share spindles."""
    stop: threading.Event
    """Set it to end the run within a second."""
    watcher: Watcher


def scan(paths: Sequence[str], **how: Unpack[RunOptions]) -> Iterator[FileResult]:
    """Verify every page of the databases behind `paths`: files, folders with all below them, globs.

    Yields the result of each file when it ends; first those of paths that cannot be used, last
    those of files that were not begun. Files on different devices are read at the same time, one a
    device, past the page cache; nothing is written but positions. Raises nothing for a file:
    `ended` and `reason` of its result say it. Closing the iterator ends the run.
    """
    run = FileRun(**how)
    found = find_databases(paths)
    yield from found.others
    yield from run.results(found, lambda result: result)


class FileRun:
    """One run over files, which begins now."""

    def __init__(self, **how: Unpack[RunOptions]) -> None:
        self.options = how.get("options") or ScanOptions()
        self.stop = how.get("stop") or threading.Event()
        self.watcher = how.get("watcher") or Watcher()
        seconds = how.get("max_time")
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._resume = how.get("resume", False)
        self._pools = how.get("pools", {})
        self._positions = Positions(how.get("position_folder"), self.watcher.remarks)

    def pace(self) -> Pace:
        """For one reader. Raises nothing; it ends at the deadline and when stopped."""
        return self.options.pace(self._deadline, self.stop)

    def is_over(self) -> bool:
        """True if nothing more is to be read."""
        late = self._deadline is not None and time.monotonic() >= self._deadline
        return late or self.stop.is_set()

    def results(self, found: FoundDatabases, finish: Callable[[FileResult], R]) -> Iterator[R]:
        """Scan what was found. `finish` makes of each result what is yielded, in the thread that
        has read the file, while no other file of its device is read."""
        lanes = plan([self._target(path) for path in found.files], Topology(), self._pools)
        left = dict.fromkeys(target.path for lane in lanes for target in lane.targets)
        paces = {lane.locks: self.pace() for lane in lanes}
        self.watcher.plans(lanes)
        ended: queue.SimpleQueue[tuple[str, R] | None] = queue.SimpleQueue()
        errors: list[Exception] = []

        def work(lane: Lane, target: ScanTarget) -> None:
            is_expected = target.path in found.expected
            result = self._scanned(lane, target.path, paces[lane.locks], is_expected)
            ended.put((target.path, finish(result)))

        def run() -> None:
            try:
                run_lanes(
                    lanes,
                    work,
                    stop=self.stop,
                    deadline=self._deadline,
                    on_wait=lambda waiting: self.watcher.remarks(str(waiting)),
                )
            except Exception as error:
                errors.append(error)
            finally:
                ended.put(None)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            while (one := _next(ended)) is not None:
                left.pop(one[0], None)
                yield one[1]
        except BaseException:
            # No lane may go on behind the caller's back.
            self.stop.set()
            raise
        finally:
            thread.join()
        for error in errors:
            raise error
        for path in left:
            how: Ended = "stopped" if self.stop.is_set() else "time"
            yield finish(FileResult(path=path, ended=how))

    def _target(self, path: str) -> ScanTarget:
        try:
            size = Path(path).stat().st_size
        except (OSError, ValueError):
            size = 0
        return ScanTarget(path=path, size=size, verified=self._positions.completed(path))

    def _scanned(self, lane: Lane, path: str, pace: Pace, is_expected: bool) -> FileResult:
        place = self._positions.load(path) if self._resume else None
        if not self._resume:
            self._positions.drop(path)  # this scan is newer
        self.watcher.begins(lane, 0 if place is None else place.offset)
        saved = time.monotonic()
        for step in scan_file(path, self.options, pace, place=place, expected=is_expected):
            if step.place is not None:
                self.watcher.reaches(lane, step.place.offset)
            if step.result is not None:
                break
            if step.place is not None and time.monotonic() - saved >= SAVE_SECONDS:
                saved = time.monotonic()
                self._positions.save(step.place)
        result = step.result
        assert result is not None
        result.device = lane.device
        if result.ended == "complete":
            self._positions.complete(path, time.time())
        elif result.place is not None:
            self._positions.save(result.place)
        return result


def _next(ended: "queue.SimpleQueue[R]") -> R:
    while True:
        try:
            return ended.get(timeout=POLL_SECONDS)
        except queue.Empty:
            continue
