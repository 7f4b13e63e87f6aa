"""Verification of the pages of database files and snapshots, inside configured windows.

The pages are read by a process of its own (`scan.child`). Its results are handed out together with
the position up to which they hold, so whichever of the two processes is killed, no page is counted
twice and none is left out.
"""

import glob
import math
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec

from esefiles.base import names
from esefiles.base.globs import matches
from esefiles.scans.job import Job, News, Task
from esefiles.scans.results import FileResult
from esefiles.scans.verify.file_scan import ScanOptions
from esewatch.config import PageScan, Settings
from esewatch.config.calendar import Opening, opening_at
from esewatch.fold.identity.entities import label_of
from esewatch.fold.identity.identity import database_label
from esewatch.fold.state.state import State
from esewatch.model import Batch, SourceError, Unreadable
from esewatch.sources.files.file_search import Seen, look
from esewatch.sources.kind import RecordSelection
from esewatch.sources.logs.eseutil_records import Whose
from esewatch.sources.page_scan import copy_passes
from esewatch.sources.page_scan.copy_passes import CopyPasses
from esewatch.sources.process import Child, pause

PROGRAM: Final = (sys.executable, "-P", "-m", "esefiles.scans.child")
"""-P: nothing in the working directory is taken for esewatch."""
LATE_SECONDS: Final = 0.5
"""A process that has not ended this long after its deadline is killed."""
MAX_CRASHES: Final = 3
"""A file at which it crashed this many times in a row is left out for a while."""
PROGRESS_PLACES: Final = 3
"""A crash loses the reading since the last reported place, less than two of them."""


class ScanProcess:
    """One process that works on `job` since `began` (epoch seconds). Raises SourceError when it
    cannot be started."""

    def __init__(self, job: Job, *, program: Sequence[str], began: float) -> None:
        self.tasks = {task.path: task for task in job.tasks}
        self.began = began
        self._begun: list[str] = []
        self._done: set[str] = set()
        self._places: Counter[str] = Counter()
        self._rest = b""
        self._child = Child(program, (), names.pack_line(job))

    def news(self) -> Iterator[News]:
        """The messages since the last call; never waits. A line without its end is left. Raises
        SourceError when the process writes anything else."""
        *lines, self._rest = (self._rest + self._child.read()).split(b"\n")
        for line in lines:
            try:
                news = names.unpack_line(line, News)
            except (msgspec.MsgspecError, UnicodeError) as error:
                self.close()
                raise SourceError(
                    f"the process that scans is of another version, restart esewatch: {error}"
                ) from None
            if news.step is None:
                self._begun.append(news.path)
            else:
                self._places[news.path] += news.step.place is not None
                if news.step.result is not None:
                    self._done.add(news.path)
            yield news

    @property
    def ended(self) -> bool:
        return self._child.ended

    @property
    def crashed(self) -> bool:
        return bool(self._child.status)

    @property
    def to_do(self) -> set[str]:
        """Files whose scan is not over."""
        return self.tasks.keys() - self._done

    @property
    def in_work(self) -> list[str]:
        return [path for path in self._begun if path not in self._done]

    def progressed(self, path: str) -> bool:
        return self._places[path] >= PROGRESS_PLACES

    def how_it_ended(self) -> str:
        """The end of the process for a person: the signal or exit status, and its message."""
        status = self._child.status or 0
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        said = self._child.complaint[-200:]
        return f"{how}: {said}" if said else how

    def close(self) -> None:
        self._child.close()


class Crashes:
    """Files that may be the reason why a process crashed: each is then tried alone."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self.in_a_row = 0

    def crashed(self, run: ScanProcess) -> list[str]:
        self.in_a_row += 1
        for path in run.in_work:
            before = 0 if run.progressed(path) else self._counts.get(path, 0)
            self._counts[path] = before + 1
        guilty = [path for path in run.in_work if self._counts[path] >= MAX_CRASHES]
        for path in guilty:
            del self._counts[path]
        return guilty

    def ended_well(self, run: ScanProcess) -> None:
        """Note that `run` ended normally: none of its files is to blame."""
        self.in_a_row = 0
        for path in run.tasks:
            self._counts.pop(path, None)

    def suspect(self, due: Iterable[str]) -> str | None:
        """A file among `due` that is to be tried alone, None when there is none."""
        return min((path for path in due if path in self._counts), default=None)


LOOK_SECONDS: Final = 10.0
"""Interval of the searches for files."""
SOON_SECONDS: Final = 1.0
"""The same while a copy is being written."""
RESTART_SECONDS: Final = 60.0
"""A process that has worked this long gives way to one that knows of new files too."""
RETRY_SECONDS: Final = 600.0
"""A file that could not be scanned is retried, unchanged, after this time."""
TRIAL_SECONDS: Final = 30.0
"""The time for which a file that may have crashed the process is read alone."""
NAMED: Final = 3
"""Files that a line names."""
MAX_TASKS: Final = 1000
"""Files in the job of one process."""
BATCH_RECORDS: Final = 1000


def open(entry: PageScan, settings: Settings, _wanted: RecordSelection) -> "PageScanSource":
    return PageScanSource(entry, settings)


def beside(entry: PageScan, settings: Settings) -> object:
    window = settings.windows.get(entry.window or "")
    return (window, settings.pools, settings.computers, settings.computer_label)


class PageScanSource:
    """A source over the pages of the files that `entry` names. `clock` gives epoch seconds.
    `program` does the scanning. Implements `model.Source` and has `look_at`."""

    def __init__(
        self,
        entry: PageScan,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        self.name = entry.name
        self._paths = entry.paths
        self._window = settings.windows[entry.window] if entry.window else None
        self._pools = settings.pools
        self._check = entry.check
        self._logs = entry.logs
        self._options = ScanOptions(
            read_size=entry.read_size, throttle=entry.throttle_ms / 1000, rate=entry.rate
        )
        self._whose = Whose(entry.computer or socket.gethostname(), entry.database or "")
        self._settings = settings
        default = "mtime" if entry.database else "scan"
        self._live = (entry.snapshot_taken or default) == "scan"
        self._clock = clock
        self._monotonic = monotonic
        self._program = program
        self._state, self._lock = State(), Lock()
        self._passes = CopyPasses(self._whose)
        self._due: dict[str, Seen] = {}
        """Path -> the file to be read in this window, in it or not yet."""
        self._run: ScanProcess | None = None
        self._until = math.inf
        self._begun = False
        self._next_look = -math.inf
        self._crashes = Crashes()
        self._broken = ""
        """Reason why no process does its work."""
        self._missing = ""
        """Files that are missing or inaccessible, where nothing is to be read."""
        self._complaints: dict[str, str] = {}
        self._left_out: dict[str, tuple[copy_passes.CopyFileState, float]] = {}
        """Path -> the file that could not be scanned, and until when it is left out."""
        self._batch = Batch()

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """See `model.Source.restore`. A position that is not understood is dropped."""
        self._passes.restore(positions)

    def look_at(self, state: State, lock: Lock) -> None:
        """Read the fold's state: the known bad pages and the verified databases."""
        self._state, self._lock = state, lock

    def close(self) -> None:
        if self._run is not None:
            self._run.close()
            self._run = None

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        """The results since the last poll; never waits. The first one hands out nothing, so that no
        bad page found from now on is history. Raises SourceError behind the last batch when no file
        is there, or no process works."""
        if not self._begun:
            self._begun = True
            yield Batch(caught_up=True)
            return
        now = self._clock()
        opening = self._opening(now)
        yield from self._news(now)
        if self._run is not None and self._run.ended:
            self._after(self._run, now, opening)
        elif self._run is not None and now >= self._until + LATE_SECONDS:
            yield from self._end_run(now)
        if opening is None:
            self._due, self._missing, self._broken = {}, "", ""
        elif self._monotonic() >= self._next_look:
            self._look(now, opening)
            if self._due and self._is_wanted(self._run):
                yield from self._end_run(now)
                self._start(now, opening)
        yield self._take()
        if trouble := self._broken or self._missing:
            raise SourceError(trouble)

    def _opening(self, now: float) -> Opening | None:
        return copy_passes.AT_ANY_TIME if self._window is None else opening_at(self._window, now)

    def _take(self) -> Batch:
        batch, self._batch = self._batch, Batch()
        batch.positions = self._passes.positions()
        batch.backlog_bytes = sum(
            copy_passes.bytes_left(seen, self._passes.files.get(path))
            for path, seen in self._due.items()
        )
        # A scan takes hours: no alert of its computer waits for that.
        batch.caught_up = True
        return batch

    def _tell(self, path: str, reason: str, place: str = "") -> None:
        """Report a file that cannot be read, once for each reason."""
        if self._complaints.get(path) != reason:
            self._complaints[path] = reason
            self._batch.unreadable.append(Unreadable(path=path, place=place, reason=reason))

    def _news(self, now: float) -> Iterator[Batch]:
        if self._run is None:
            return
        for news in self._run.news():
            self._broken = ""
            if news.path not in self._passes.files:
                continue  # another copy has taken over its pass, from the last place on
            task = self._run.tasks[news.path]
            self._batch.records += self._passes.told(news, task, self._run.began, now)
            if news.step is not None and news.step.result is not None:
                self._over(news.step.result, now)
            if len(self._batch.records) >= BATCH_RECORDS:
                yield self._take()

    def _over(self, result: FileResult, now: float) -> None:
        header = result.header
        if result.ended in {"failed", "lost"}:
            self._leave_out(result.path, now + RETRY_SECONDS)
            self._tell(result.path, result.reason.removeprefix(f"{result.path}: "))
        elif header is not None and not (header.header_ok and header.shadow_header_ok):
            self._tell(result.path, header.remark, "header")
        elif result.ended == "complete":
            self._complaints.pop(result.path, None)
        if result.ended not in {"time", "stopped"}:
            self._due.pop(result.path, None)

    def _leave_out(self, path: str, until: float) -> None:
        if (known := self._passes.files.get(path)) is not None:
            self._left_out[path] = (copy_passes.CopyFileState(stat=known.stat), until)

    def _end_run(self, now: float) -> Iterator[Batch]:
        if self._run is not None:
            self._run.close()
            yield from self._news(now)
            self._run = None

    def _after(self, run: ScanProcess, now: float, opening: Opening | None) -> None:
        self.close()
        if not run.crashed:
            self._crashes.ended_well(run)
            self._broken = ""
            cut_short = opening is not None and self._until < opening.end
            if cut_short or self._due.keys() - run.tasks.keys():
                self._next_look = -math.inf
            return
        how, files = run.how_it_ended(), run.in_work
        guilty = self._crashes.crashed(run)
        self._next_look = self._monotonic() + pause(SOON_SECONDS, self._crashes.in_a_row)
        for path in guilty:
            until = (
                now + copy_passes.DAY_SECONDS
                if opening in {None, copy_passes.AT_ANY_TIME}
                else opening.end
            )
            self._leave_out(path, until)
            self._due.pop(path, None)
        if not files:
            self._broken = f"the process that scans {how}"
        elif guilty:
            reason = "left out until the next window: the process that scans it"
            self._tell(", ".join(guilty), f"{reason} {how}, again and again")
        else:
            self._tell(", ".join(files[:NAMED]), f"begun again: the process that scans it {how}")

    def _look(self, now: float, opening: Opening) -> None:
        self._next_look = self._monotonic() + LOOK_SECONDS
        found = look(self._paths, lambda key: None, None)
        there = {seen.path: seen for seen in found.seen.values()}
        troubles = dict(found.troubles)
        if there or troubles:
            for path in found.missing:
                is_there = Path(path).exists()
                troubles[path] = "not a regular file" if is_there else "no such file"
        self._missing = ""
        if not there and troubles:
            path, reason = next(iter(troubles.items()))
            self._missing = f"{path}: {reason}"
        elif not there and found.missing:
            self._missing = f"{found.missing[0]}: no such file; name an existing file or a pattern"
        for path, reason in troubles.items():
            self._tell(path, reason)
        gone = self._complaints.keys() - there.keys() - troubles.keys()
        for path in gone:
            del self._complaints[path]
        self._passes.meet(there, now)
        self._due = {
            path: seen for path, seen in there.items() if self._is_due(path, seen, now, opening)
        }
        if not self._due:
            self._broken = ""

    def _is_due(self, path: str, seen: Seen, now: float, opening: Opening) -> bool:
        failed, until = self._left_out.get(path, (None, 0.0))
        if (
            failed is not None
            and now < until
            and not copy_passes.is_new(failed, seen, live=self._live)
        ):
            return False
        known = self._passes.files.get(path)
        if not copy_passes.is_due(known, seen, now, opening, live=self._live):
            return False
        if not self._live and 0 <= now - seen.stat[1] / 1e9 < copy_passes.SETTLE_SECONDS:
            self._next_look = self._monotonic() + SOON_SECONDS
            return False
        return True

    def _is_wanted(self, run: ScanProcess | None) -> bool:
        """True if a process is to be started, in the place of the running one (if there is one).
        One that has worked for a while gives way when there are files that it does not know of, or
        other ones at the same paths; at once where another copy has taken over a pass of it."""
        if run is None or not run.to_do <= self._passes.files.keys():
            return True
        if self._clock() - run.began < RESTART_SECONDS:
            return False
        to_do = run.to_do
        return any(
            path not in to_do or seen.key != self._passes.files[path].stat[0]
            for path, seen in self._due.items()
        )

    def _start(self, now: float, opening: Opening) -> None:
        end, paths = opening.end, sorted(self._due)
        if (suspect := self._crashes.suspect(paths)) is not None:
            paths, end = [suspect], min(end, now + TRIAL_SECONDS)
        # The database verified longest ago first, one never verified before all.
        tasks = [self._task(self._due[path], now) for path in paths]
        tasks.sort(key=lambda task: -math.inf if task.verified is None else task.verified)
        job = Job(
            tasks=tuple(tasks[:MAX_TASKS]),
            options=self._options,
            check=self._check,
            logs=tuple(chain.from_iterable(map(_folders, self._logs))),
            pools=self._pools,
            deadline=None if math.isinf(end) else time.time() + end - now,
        )
        self._until = end
        try:
            self._run = ScanProcess(job, program=self._program, began=now)
        except SourceError as error:
            self._broken = str(error)

    def _task(self, seen: Seen, now: float) -> Task:
        database = self._whose.name(seen.path)
        if database_label(database) is None:
            self._tell(
                seen.path,
                f"{database} is the snapshot of an unknown database: "
                "name that with `as` in the configuration",
            )
        with self._lock:
            label = label_of(self._whose.computer, self._state.hosts, self._settings)
            known = copy_passes.known_of(self._state, label, database)
        return copy_passes.task(seen, self._passes.begin(seen), known, now, live=self._live)


def _folders(pattern: str) -> list[str]:
    """The folders that fit a glob. A name is kept: the verdict says that its folder is missing."""
    if not glob.has_magic(pattern) or Path(pattern).is_dir():
        return [pattern]
    return [path for path in matches(pattern) if Path(path).is_dir()]
