"""The run of `scan` and `check`: results are printed as they come, and make the exit status."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, Final, NamedTuple

from tqdm import tqdm

from esefiles import FileResult, Watcher
from esefiles.base.command import exit_status
from esefiles.base.names import visible
from esefiles.base.progress import progress_bar
from esefiles.scans.pace import yield_the_disk
from esefiles.scans.plan import Lane

BYTES: Final[dict[str, Any]] = {"unit": "B", "unit_scale": True, "unit_divisor": 1024}

GO_ON = "--resume goes on from here"

NAMED = 3
"""Files that a line names; more are counted."""


def complain(line: str) -> None:
    print(f"esewatch: {visible(line)}", file=sys.stderr)


class Terminal(Watcher):
    """Bars on stderr when it is a terminal, and whole lines between them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._at: dict[tuple[str, ...], int] = {}
        self._bars: dict[tuple[str, ...], tqdm[Any]] = {}
        self._works: dict[str, tqdm[Any]] = {}

    def plans(self, lanes: Sequence[Lane]) -> None:
        """A bar for each lane."""
        for at, lane in enumerate(lanes if sys.stderr.isatty() else ()):
            total = sum(target.size for target in lane.targets)
            name = lane.device or "files"
            self._bars[lane.locks] = progress_bar(desc=name, total=total, position=at, **BYTES)

    def begins(self, lane: Lane, offset: int) -> None:
        """Bytes that an earlier scan read are progress, but not speed."""
        with self._lock:
            self._at[lane.locks] = offset
            if bar := self._bars.get(lane.locks):
                bar.initial += offset
                bar.n += offset

    def reaches(self, lane: Lane, offset: int) -> None:
        """Move the bar of the lane."""
        with self._lock:
            if bar := self._bars.get(lane.locks):
                bar.update(offset - self._at[lane.locks])
            self._at[lane.locks] = offset

    def works(self, what: str, done: int, total: int) -> None:
        """Move a bar that goes when all is done."""
        with self._lock:
            if self._closed:
                return
            if what not in self._works:
                self._works[what] = progress_bar(desc=visible(what), total=total, **BYTES)
            bar = self._works[what]
            bar.total = total
            bar.update(done - bar.n)
            if done >= total:
                self._works.pop(what).close()

    def remarks(self, sentence: str) -> None:
        """A line on stderr."""
        self.write(f"esewatch: {visible(sentence)}\n", error=True)

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
            for bar in (*self._bars.values(), *self._works.values()):
                bar.close()


class Shown(NamedTuple):
    """A result, and what is printed of it."""

    file: FileResult
    text: str
    wrong: bool
    is_told: bool
    """The text says, or will say, why it has no pages."""

    def complaint(self) -> str:
        """A sentence for stderr, if there is one to be said."""
        file = self.file
        if file.ended in ("time", "stopped"):
            return f"{file.path}: {file.reason}" if file.reason else ""
        return "" if self.is_told and file.ended != "failed" else file.reason


class Tally:
    """Counts results for the exit status. `all_needed`: a file that was not read to its end is
    wrong."""

    def __init__(self, *, all_needed: bool) -> None:
        self._all_needed = all_needed
        self._left: list[str] = []
        self._unreadable = False
        self._any_read = False
        self._wrong = False

    def add(self, result: FileResult, *, wrong: bool) -> None:
        counts = result.place.counts if result.place is not None else None
        if result.ended in ("time", "stopped"):
            self._left.append(result.path)
            is_read = result.header is not None
        elif result.ended == "failed":
            self._unreadable = True
            is_read = counts is not None and bool(counts.pages_seen or counts.bad())
        else:
            is_read = result.ended != "foreign"
        self._any_read = self._any_read or is_read
        self._wrong = self._wrong or (wrong and is_read)

    def left(self) -> str:
        """A line on the files that were not read to their end, if there are any."""
        if not self._left:
            return ""
        names = ", ".join(sorted(self._left)[:NAMED])
        more = f" and {len(self._left) - NAMED} more" if len(self._left) > NAMED else ""
        return f"not finished: {names}{more}: {GO_ON}"

    def status(self) -> int:
        wrong = self._wrong or (self._all_needed and bool(self._left))
        return exit_status(any_read=self._any_read, unreadable=self._unreadable, wrong=wrong)


def print_results(
    results: Callable[[threading.Event, Terminal], Iterable[Shown]], *, all_needed: bool = False
) -> int:
    """Print what comes, until all is done or a signal ends it; the exit status. `results` is given
    what ends the run, and what shows it. Raises BrokenPipeError."""
    terminal, tally = Terminal(), Tally(all_needed=all_needed)
    yield_the_disk()
    try:
        with _signals() as interrupt:
            for shown in results(interrupt.stop, terminal):
                tally.add(shown.file, wrong=shown.wrong)
                if complaint := shown.complaint():
                    terminal.remarks(complaint)
                terminal.write(shown.text)
    finally:
        terminal.close()
    if left := tally.left():
        complain(left)
    if interrupt.signal:
        complain(f"ended by {signal.Signals(interrupt.signal).name}")
        return 128 + interrupt.signal
    return tally.status()


class _Interrupt:
    """Signal that ended the run; `stop` is set then."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.signal = 0

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if not self.signal:
            self.signal = number
            self.stop.set()
        else:
            # Asked twice: whatever hangs, this ends it.
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


@contextlib.contextmanager
def _signals() -> Iterator[_Interrupt]:
    """SIGINT and SIGTERM set `stop` meanwhile."""
    interrupt = _Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
