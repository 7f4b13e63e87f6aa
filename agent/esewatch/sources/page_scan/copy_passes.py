"""The copies of databases: which are due, the progress of the passes over them, and its records."""

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from esefiles.pages.header import Header
from esefiles.scans.job import News, Task
from esefiles.scans.results import Counts, Kind, Place, ScannedBadPage, ScanStep, Verdict
from esefiles.scans.verify.file_scan import signature_of
from esewatch import packing
from esewatch.config.calendar import Opening
from esewatch.fold.databases.integrity import known_bad_pages, last_verifications
from esewatch.fold.identity.identity import database_label
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.state import UNLOCATED, State
from esewatch.model import CopyChecked, HeaderSeen, PageFault, PagesScanned, Record
from esewatch.sources.files.file_search import Seen
from esewatch.sources.logs.eseutil_records import Whose

AT_ANY_TIME = Opening(-math.inf, math.inf)
"""Opening where no window is configured."""
DAY_SECONDS = 86400.0
"""Without a window a pass begins this long after the one before (the engine's default too)."""
SETTLE_SECONDS = 5.0
"""A copy that was written to more recently may still be incomplete."""
GONE_SECONDS = 30 * DAY_SECONDS
"""The retention of the position of a pass over a copy that no longer exists."""


class CopyFileState(msgspec.Struct, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """The state of one path in the journal. Times are epoch seconds, 0: never."""

    stat: tuple[str, int, int] = ("", 0, 0)
    """The file that is read or was read last: device and inode, size, mtime (ns)."""
    place: Place | None = None
    """The position of the pass in progress."""
    began: float = 0.0
    finished: float = 0.0
    """Of the complete pass over the file of `stat`; 0 until there is one."""
    bad: list[int] = []
    """Bad pages of the last complete pass."""
    gone: float = 0.0
    """Since when no file is there."""


class KnownCopy(NamedTuple):
    """The facts that the fold knows of a database."""

    verified: float | None = None
    bad: tuple[int, ...] = ()


def stat_of(seen: Seen) -> tuple[str, int, int]:
    """Identity, size and mtime of a file, as FileState keeps them."""
    return (seen.key, *seen.stat)


def is_new(known: CopyFileState, seen: Seen, *, live: bool) -> bool:
    """True if another snapshot lies where `known` was read. A `live` database is written to all the
    time: only another file is news there."""
    return known.stat[0] != seen.key if live else known.stat != stat_of(seen)


def is_due(
    known: CopyFileState | None, seen: Seen, now: float, opening: Opening, *, live: bool
) -> bool:
    """True if a pass over the file is in progress or may begin, within `opening`. One pass a
    window, without a window one in 24 h, and one for each new snapshot. Times in the future are
    those of a clock that was wrong."""
    if known is None or not known.finished or is_new(known, seen, live=live):
        return True
    if opening == AT_ANY_TIME:
        return not 0 <= now - known.began < DAY_SECONDS
    return not opening.start <= known.finished <= now


def task(seen: Seen, state: CopyFileState, known: KnownCopy, now: float, *, live: bool) -> Task:
    return Task(
        path=seen.path,
        size=seen.stat[0],
        verified=known.verified,
        place=state.place,
        taken=None if live else min(seen.stat[1] / 1e9, now),
        known_bad=tuple(sorted({*known.bad, *state.bad})),
    )


def bytes_left(seen: Seen, state: CopyFileState | None) -> int:
    done = state.place.offset if state is not None and state.place is not None else 0
    return max(0, seen.stat[0] - done)


def known_of(state: State, computer: str, path: str) -> KnownCopy:
    """The facts that `state` has of the database at `path`; `computer` is its label."""
    entry = state.databases.get((computer, database_label(path) or path))
    if entry is None:
        return KnownCopy()
    views = views_in(state, entry)
    bad = {page.page for page in known_bad_pages(entry, views) if page.page != UNLOCATED}
    return KnownCopy(max(last_verifications(entry, views).values(), default=None), tuple(bad))


def heir(states: Mapping[str, CopyFileState], gone: Iterable[str]) -> str | None:
    """Of the copies of one database that are gone, the one whose pass had progressed furthest."""
    places = ((states[path].place, path) for path in gone)
    found = [(place.offset, path) for place, path in places if place is not None]
    return max(found)[1] if found else None


class CopyPasses:
    """The passes of one source, by the path of the copy. Records and places change together."""

    def __init__(self, whose: Whose) -> None:
        self.files: dict[str, CopyFileState] = {}
        self._whose = whose
        self._changed: set[str] = set()

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """Restore the result of `positions`; one that is not understood is dropped."""
        for path, value in positions.items():
            try:
                self.files[path] = packing.unpack(value, CopyFileState)
            except (msgspec.MsgspecError, UnicodeError):
                continue

    def positions(self) -> dict[str, bytes | None]:
        """Positions that have changed since the last call; None drops a path."""
        changed = {
            path: packing.pack(self.files[path]) if path in self.files else None
            for path in sorted(self._changed)
        }
        self._changed.clear()
        return changed

    def meet(self, there: Mapping[str, Seen], now: float) -> None:
        """Compare with the files that are there. A snapshot may come under another name each night:
        a path that is new continues the pass over a copy of the same database that no longer
        exists."""
        for path, state in list(self.files.items()):
            if path in there:
                state.gone = 0.0
            elif not state.gone:
                state.gone = now
                self._changed.add(path)
            elif now - state.gone > GONE_SECONDS:
                self._drop(path)
        for path in sorted(there.keys() - self.files.keys()):
            name = self._whose.name(path)
            gone = [
                old
                for old, state in self.files.items()
                if state.gone and self._whose.name(old) == name
            ]
            if (old := heir(self.files, gone)) is not None:
                self._inherit(path, old)

    def _inherit(self, path: str, old: str) -> None:
        known = self.files[old]
        place = known.place and msgspec.structs.replace(known.place, path=path)
        self.files[path] = CopyFileState(place=place, bad=known.bad)
        self._changed.add(path)
        self._drop(old)

    def _drop(self, path: str) -> None:
        del self.files[path]
        self._changed.add(path)

    def begin(self, seen: Seen) -> CopyFileState:
        """A process is asked to read the file; returns its known state."""
        state = self.files.setdefault(seen.path, CopyFileState())
        state.stat = stat_of(seen)
        state.finished = 0.0
        return state

    def told(self, news: News, task: Task, began: float, now: float) -> list[Record]:
        """The records of a message about `task`, from a process that started at `began`."""
        if news.step is None:
            return []
        step, state = news.step, self.files[news.path]
        database = self._whose.name(news.path)
        taken = began if task.taken is None else task.taken
        place, records = step.place, list[Record]()
        before = state.place if place is None or is_same_pass(state.place, place) else None
        piece = pages_scanned(self._whose.computer, database, before, step, taken=taken, now=now)
        if piece is not None:
            records.append(piece)
        if place is not None:
            state.place = place
            self._changed.add(news.path)
        if step.header is not None:
            size = place.size if place is not None else None
            records.append(header_seen(self._whose.computer, database, step.header, size, taken))
        result = step.result
        if result is None:
            return records
        if result.ended == "temporary":
            state.began = state.finished = now
        elif result.ended == "lost" and result.verdict is not None:
            records.append(copy_lost(self._whose.computer, database, taken, result.verdict))
        elif result.ended == "complete" and place is not None:
            checked = copy_checked(
                self._whose.computer, database, place, result.header, result.verdict
            )
            records.append(checked)
            state.began, state.finished = place.began, now
            state.bad = [page.page_number for page in place.counts.listed]
            state.place = None
        return records


FAULTS: Final[dict[Kind, PageFault]] = {
    "checksum": "uncorrectable",
    "correctable": "corrected",
    "wrong_page": "wrong_page",
    "truncated": "uncorrectable",
    "unreadable": "uncorrectable",
}
_STATES: Final = {"clean": "clean shutdown", "dirty": "dirty shutdown"}


def is_same_pass(before: Place | None, place: Place) -> bool:
    """True if `place` is one of the pass that stood at `before`."""
    return (
        before is not None
        and before.began == place.began
        and before.signature == place.signature
        and before.offset <= place.offset
    )


def pages_scanned(
    computer: str, database: str, before: Place | None, step: ScanStep, *, taken: float, now: float
) -> PagesScanned | None:
    """The increments since `before`, None where there are none. `before` is the place of the same
    pass, None where it had not begun. `now` is when it was read, `taken` what known pages that were
    read again show: their step has no place."""
    old = before.counts if before is not None else Counts()
    new = step.place.counts if step.place is not None else old
    piece = PagesScanned(
        time=step.place.taken if step.place is not None else taken,
        computer=computer,
        database=database,
        read=now,
        pages=new.pages_seen - old.pages_seen,
        bytes=new.bytes - old.bytes,
        bad=new.bad() - old.bad(),
        found=_faults(step.found),
        good=tuple(step.good),
    )
    return piece if piece.pages or piece.bytes or piece.bad or piece.found or piece.good else None


def copy_checked(
    computer: str,
    database: str,
    place: Place,
    header: Header | None,
    verdict: Verdict | None = None,
) -> CopyChecked:
    """The proof of a pass that reached the end of the file. A header that is damaged in both its
    copies is a bad page without a number."""
    counts = place.counts
    lost = header is not None and not (header.header_ok or header.shadow_header_ok)
    bad_pages = _faults(counts.listed)
    return CopyChecked(
        time=place.taken,
        computer=computer,
        database=database,
        by="page_scan",
        complete=True,
        pages_seen=counts.pages_seen,
        bad=counts.bad() + lost,
        uninitialized=counts.uninitialized_pages,
        size_bytes=place.size,
        bad_pages=(*bad_pages, (UNLOCATED, "uncorrectable")) if lost else bad_pages,
        verdict=verdict.outcome if verdict else "",
        verdict_reason=verdict.reasons[0] if verdict else "",
        confirmed=tuple(verdict.confirmed) if verdict else (),
    )


def copy_lost(computer: str, database: str, time: float, verdict: Verdict) -> CopyChecked:
    """The verdict on a file that is called like a database, and is none."""
    return CopyChecked(
        time=time,
        computer=computer,
        database=database,
        by="page_scan",
        complete=False,
        pages_seen=0,
        bad=0,
        verdict=verdict.outcome,
        verdict_reason=verdict.reasons[0],
    )


def header_seen(
    computer: str, database: str, header: Header, size: int | None, time: float
) -> HeaderSeen:
    return HeaderSeen(
        time=time,
        computer=computer,
        database=database,
        page_size=header.page_size,
        size_bytes=size,
        state=_STATES.get(header.state, header.state),
        bad_checksums=header.bad_checksums.count,
        corrected=header.corrected.count,
        correction_failed=header.correction_failed.count,
        signature=signature_of(header) if header.header_ok or header.shadow_header_ok else "",
    )


def _faults(pages: list[ScannedBadPage]) -> tuple[tuple[int, PageFault], ...]:
    return tuple((page.page_number, FAULTS[page.kind]) for page in pages)
