"""The run of `scan`: all lanes at once, positions kept, each file reported when it ends."""

import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, NamedTuple

from tqdm import tqdm

from esefiles.base.command import HEALTHY, exit_status
from esefiles.base.names import visible
from esefiles.base.progress import progress_bar
from esefiles.scan.lanes import Waiting, run_lanes
from esefiles.scan.pace import Pace
from esefiles.scan.plan import Lane, ScanTarget
from esefiles.scan.position import Positions
from esefiles.scan.results import FileResult, Place
from esefiles.scan.verify.file_scan import ScanOptions, scan_file

BYTES: Final[dict[str, Any]] = {"unit": "B", "unit_scale": True, "unit_divisor": 1024}


class Progress:
    """Bars on stderr when it is a terminal, else nothing. Used by the threads of all lanes."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._at: dict[tuple[str, ...], int] = {}
        self._bars = {
            lane.locks: progress_bar(
                desc=lane.device or "files",
                total=sum(target.size for target in lane.targets),
                position=at,
                **BYTES,
            )
            for at, lane in enumerate(lanes if sys.stderr.isatty() else ())
        }

    def begin(self, lane: Lane, offset: int) -> None:
        """The lane's next file begins; an earlier scan read what lies before `offset`."""
        with self._lock:
            self._at[lane.locks] = offset
            if bar := self._bars.get(lane.locks):
                # Progress, but not speed.
                bar.initial += offset
                bar.n += offset

    def reached(self, lane: Lane, offset: int) -> None:
        with self._lock:
            if bar := self._bars.get(lane.locks):
                bar.update(offset - self._at[lane.locks])
            self._at[lane.locks] = offset

    def write(self, text: str, *, error: bool = False) -> None:
        """Print whole lines between the bars; after `close` nothing. Raises BrokenPipeError."""
        file = sys.stderr if error else sys.stdout
        with self._lock:
            if text and not self._closed:
                with tqdm.external_write_mode(file=file):
                    file.write(text)
                    file.flush()

    def close(self) -> None:
        """Take the bars away. A thread that hung in a read says nothing any more."""
        with self._lock:
            self._closed = True
            for bar in self._bars.values():
                bar.close()


SAVE_SECONDS = 0.5
"""Seconds between two stored positions of a scan."""

GO_ON = "--resume goes on from here"

_NAMED = 3
"""Files that a line names; more are counted."""


class Reported(NamedTuple):
    """Text that is printed of a file, the exit status that it asks for, and a line on stderr."""

    text: str
    status: int
    error: str = ""


Report = Callable[[FileResult], Reported]


def complain(line: str) -> None:
    print(f"esewatch: {visible(line)}", file=sys.stderr)


def _has_pages(result: FileResult) -> bool:
    counts = result.place.counts if result.place is not None else None
    return counts is not None and bool(counts.pages_seen or counts.bad())


class ScanRun:
    """Scans the files of lanes. `resume`: goes on from the positions that are kept.

    `unreadable`: something that was named cannot be scanned. `report` says what is printed of a
    file that ended. `all_needed`: a file that was not read to its end is wrong. `expected`: see
    FoundDatabases.
    """

    def __init__(
        self,
        options: ScanOptions,
        positions: Positions,
        report: Report,
        *,
        resume: bool,
        unreadable: bool,
        all_needed: bool,
        expected: Collection[str] = (),
    ) -> None:
        self._options = options
        self._positions = positions
        self._report = report
        self._resume = resume
        self._paces: dict[tuple[str, ...], Pace] = {}
        self._progress = Progress(())
        self._stop = threading.Event()
        self._left: set[str] = set()
        self._lock = threading.Lock()
        self._is_kept = True
        self._is_wrong = False
        self._unreadable = unreadable
        self._all_needed = all_needed
        self._expected = expected
        self._any_read = False

    def run(self, lanes: Sequence[Lane], deadline: float | None, stop: threading.Event) -> int:
        """Scan until all is done, `deadline` (time.monotonic()) or `stop`; the exit status.

        Raises BrokenPipeError where nobody reads what is printed.
        """
        self._paces = {lane.locks: self._options.pace(deadline, stop) for lane in lanes}
        self._stop = stop
        self._left = {target.path for lane in lanes for target in lane.targets}
        self._progress = Progress(lanes)
        try:
            run_lanes(lanes, self._work, stop=stop, deadline=deadline, on_wait=self._wait)
        finally:
            self._progress.close()
        self._tell_what_is_left()
        wrong = self._is_wrong or (self._all_needed and bool(self._left))
        return exit_status(any_read=self._any_read, unreadable=self._unreadable, wrong=wrong)

    def _work(self, lane: Lane, target: ScanTarget) -> None:
        path, pace = target.path, self._paces[lane.locks]
        place = self._begun(path)
        self._progress.begin(lane, 0 if place is None else place.offset)
        kept = time.monotonic()
        expected = path in self._expected
        for step in scan_file(path, self._options, pace, place=place, expected=expected):
            if step.place is not None:
                self._progress.reached(lane, step.place.offset)
                now = time.monotonic()
                if step.result is None and now - kept >= SAVE_SECONDS:
                    kept = now
                    self._keep(step.place)
            if step.result is not None:
                step.result.device = lane.device
                try:
                    self._end(step.result)
                except BrokenPipeError:
                    # Nobody reads the results: none of the other files has to be read.
                    self._stop.set()
                    raise

    def _begun(self, path: str) -> Place | None:
        """Place of an earlier scan. Without `resume` its position goes: this one is newer."""
        if self._resume:
            return self._positions.load(path)
        try:
            self._positions.drop(path)
        except OSError as error:
            self._cannot_keep(error)
        return None

    def _keep(self, place: Place) -> None:
        try:
            self._positions.save(place)
        except OSError as error:
            self._cannot_keep(error)

    def _cannot_keep(self, error: OSError) -> None:
        with self._lock:
            said, self._is_kept = not self._is_kept, False
        if not said:
            why = error.strerror or error
            self._progress.write(
                f"esewatch: positions cannot be kept in {self._positions.folder}: {why}:"
                " --resume will start from the beginning; see --position-folder\n",
                error=True,
            )

    def _end(self, result: FileResult) -> None:
        if result.ended == "complete":
            try:
                self._positions.complete(result.path, time.time())
            except OSError as error:
                self._cannot_keep(error)
        elif result.place is not None:
            self._keep(result.place)
        shown, status, said = self._report(result)
        with self._lock:
            self._unreadable = self._unreadable or result.ended == "failed"
            if result.ended != "failed" or _has_pages(result):
                self._any_read = True
                self._is_wrong = self._is_wrong or status != HEALTHY
            if result.ended not in ("time", "stopped"):
                self._left.discard(result.path)
        if result.ended == "failed":
            said = result.reason
        elif result.ended in ("time", "stopped"):
            said = f"{result.path}: {result.reason}"
        if said:
            self._progress.write(f"esewatch: {visible(said)}\n", error=True)
        self._progress.write(shown)

    def _wait(self, waiting: Waiting) -> None:
        self._progress.write(f"esewatch: {visible(str(waiting))}\n", error=True)

    def _tell_what_is_left(self) -> None:
        with self._lock:
            left = sorted(self._left)
        if left:
            names = ", ".join(left[:_NAMED])
            more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
            complain(f"not finished: {names}{more}: {GO_ON}")
