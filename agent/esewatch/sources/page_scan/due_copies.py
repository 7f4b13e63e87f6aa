"""The work of a page scan: copies that are due, their start positions, and their known facts."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from esefiles.scan.job import Task
from esefiles.scan.results import Place
from esewatch.config.calendar import Opening
from esewatch.fold.databases.integrity import (
    known_bad_pages,
    last_verifications,
)
from esewatch.fold.identity.identity import database_label
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.state import UNLOCATED, State
from esewatch.sources.files.file_search import Seen

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
    """True if a pass over the file is in progress or may begin, within `opening`.

    One pass a window, without a window one in 24 h, and one for each new snapshot. Times in the
    future are those of a clock that was wrong.
    """
    if known is None or not known.finished or is_new(known, seen, live=live):
        return True
    if opening == AT_ANY_TIME:
        return not 0 <= now - known.began < DAY_SECONDS
    return not opening.start <= known.finished <= now


def is_settled(seen: Seen, now: float) -> bool:
    """True if a copy is complete, as far as its last write shows."""
    return not 0 <= now - seen.stat[1] / 1e9 < SETTLE_SECONDS


def taken(seen: Seen, now: float, *, live: bool) -> float | None:
    """Time at which the content of a copy was true; None for a live database."""
    return None if live else min(seen.stat[1] / 1e9, now)


def task(seen: Seen, state: CopyFileState, known: KnownCopy, now: float, *, live: bool) -> Task:
    """The task of the scanning process for one file."""
    return Task(
        path=seen.path,
        size=seen.stat[0],
        verified=known.verified,
        place=state.place,
        taken=taken(seen, now, live=live),
        known_bad=tuple(sorted({*known.bad, *state.bad})),
    )


def age(wanted: Task) -> float:
    """Sort key of tasks: the database verified longest ago first, a database never verified before
    all."""
    return -math.inf if wanted.verified is None else wanted.verified


def bytes_left(seen: Seen, state: CopyFileState | None) -> int:
    """The bytes that are still to be read of a file."""
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
