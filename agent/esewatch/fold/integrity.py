"""Bad pages and verification: what a database is known to hold (semantics.md 3).

The fold latches what events say; this module answers what still stands, from
the latched set, the repairs and the derived passes. Order of arrival makes no
difference.
"""

import math
from bisect import bisect_right, insort
from collections.abc import Collection, Iterable, Mapping

from esewatch.fold.passes import WALL_CLOCK, TaskView, derive
from esewatch.fold.state import UNLOCATED, BadKind, BadPage, Database, PageErrorKind, Pass

MAX_BAD_PAGES = 1000
MAX_ERROR_SPANS = 96
MAX_SPARED = MAX_ERROR_SPANS // 2 - 1
ERROR_SLACK = 32
"""So many more are let in before any are joined: one walk through the passes for all of them."""
HISTORY_SECONDS = 7 * 86400.0
"""A bad page that the first reading finds older than this is history: a warning, not a page."""

PAGE_EVENTS: dict[int, tuple[PageErrorKind, BadKind]] = {
    398: ("checksum", "uncorrectable"),
    399: ("corrected", "corrected"),
    474: ("checksum", "uncorrectable"),
    475: ("wrong_page", "wrong_page"),
    476: ("no_data", "no_data"),
    530: ("lost_flush", "lost_flush"),
    544: ("lost_flush", "lost_flush"),
    727: ("checksum", "uncorrectable"),
}
"""Event id -> the kind it counts under and the kind it latches."""

LOGICAL_EVENTS = frozenset({447, 448, 467, 537, 540, 542, 549, 550, 556, 566})
"""Corruption of content, not of a page's checksum: counted, not latched."""

REPAIR_EVENTS = frozenset({905, 911})
IO_ERRORS = frozenset({481, 482, 551})
"""A read, write or flush that failed: no page of it is known bad."""
MAX_IO_ERRORS = 64


def note_io_error(database: Database, time: float) -> None:
    """Keep when a read, write or flush failed."""
    insort(database.io_error_times, time)
    del database.io_error_times[:-MAX_IO_ERRORS]


def latch(database: Database, page: int, kind: BadKind, time: float, *, history: bool) -> None:
    """Add one bad page that an event reports, or renew it.

    Beyond 1,000 pages only the number is kept.
    """
    if kind != "corrected":
        note_error(database, time)
    if not latch_found(database, page, kind, time, history=history):
        count, last = database.bad_pages_overflow.get(kind, (0, 0.0))
        database.bad_pages_overflow[kind] = (count + 1, max(last, time))


def note_error(database: Database, time: float) -> None:
    """Keep when a page error was met that nothing corrected."""
    spans = database.page_error_spans
    place = bisect_right(spans, (time, math.inf))
    if place == 0 or spans[place - 1][1] < time:
        spans.insert(place, (time, time))
        if len(spans) > MAX_ERROR_SPANS + ERROR_SLACK:
            _join_spans(database)


def _join_spans(database: Database) -> None:
    """Join the spans that are closest until 96 are left, none across a gap that decides a pass."""
    spans = database.page_error_spans
    kept = {bisect_right(spans, (end, math.inf)) for end in _ends_of_spared(database)}
    gaps = [(spans[at][0] - spans[at - 1][1], at) for at in range(1, len(spans)) if at not in kept]
    joined = {at for _, at in sorted(gaps)[: len(spans) - MAX_ERROR_SPANS]}
    left: list[tuple[float, float]] = []
    for at, (first, last) in enumerate(spans):
        if at in joined:
            left[-1] = (left[-1][0], last)
        else:
            left.append((first, last))
    database.page_error_spans = left


def _ends_of_spared(database: Database) -> list[float]:
    """Ends of the scans that are what they are because no error fell within them.

    The youngest of those that verify and of those that count bad pages: fewer than the gaps.
    """
    scans = sorted(_scans(derive(database)), key=lambda done: done.ended or 0.0)
    clean = [
        done for done in scans if done.completion_event in WALL_CLOCK and verifies(done, database)
    ]
    unnamed = [done for done in scans if _named_none(done, database)]
    return [done.ended or 0.0 for done in (*clean[-MAX_SPARED:], *unnamed[-MAX_SPARED:])]


def latch_found(
    database: Database, page: int, kind: BadKind, time: float, *, history: bool
) -> bool:
    """Add one bad page, or renew it; False when there are 1,000 others.

    For pages that reading the file found: no error that a pass of the engine met.
    """
    for known in database.bad_pages:
        if known.page == page and known.kind == kind:
            known.first = min(known.first, time)
            known.last = max(known.last, time)
            known.history = known.history and history
            return True
    if len(database.bad_pages) >= MAX_BAD_PAGES:
        database.bad_pages = [bad for bad in database.bad_pages if _stands(bad, database, 0.0)]
    if len(database.bad_pages) >= MAX_BAD_PAGES:
        return False
    database.bad_pages.append(BadPage(page=page, kind=kind, first=time, last=time, history=history))
    return True


def hold_unfit(database: Database, kind: BadKind, count: int, time: float) -> None:
    """Note `count` pages found at once for which there was no room.

    The same finding read again changes nothing, so the larger number holds.
    """
    known, last = database.bad_pages_overflow.get(kind, (0, 0.0))
    database.bad_pages_overflow[kind] = (max(known, count), max(last, time))


def acknowledge(entry: Database, pages: Collection[int], now: float) -> None:
    """Take known bad pages as dealt with up to `now`, all when none is named."""
    for page in pages:
        mark_good(entry, page, page, now)
    if not pages:
        entry.all_good = max(entry.all_good, now)


def mark_good(database: Database, first: int, last: int, time: float) -> None:
    """Pages `first` to `last` were repaired, read good or acknowledged at `time`."""
    ranges = database.good_ranges
    for index, (low, high, when) in enumerate(ranges):
        if (low, high) == (first, last):
            ranges[index] = (first, last, max(when, time))
            return
    ranges.append((first, last, time))
    del ranges[:-MAX_BAD_PAGES]


def _stands(bad: BadPage, database: Database, clean: float) -> bool:
    if bad.last <= max(database.all_good, clean):
        return False
    return not any(
        first <= bad.page <= last and bad.last <= time for first, last, time in database.good_ranges
    )


def earliest_start(done: Pass) -> float | None:
    """A time at which the pass had certainly not begun yet, None when nothing tells.

    `days` counts whole elapsed days with a minimum of 1, so one more is a bound.
    """
    if done.started is not None:
        return done.started
    if done.ended is not None and done.days is not None:
        return done.ended - (done.days + 1) * 86400.0
    return None


def verifies(done: Pass, database: Database) -> bool:
    """Whether a completed scan proves every page good.

    721/722 count bad pages of the whole pass. 732/735/737 count the last run
    only, so no page error may fall within the pass.
    """
    if done.outcome != "completed" or done.partial or done.task == "defrag":
        return False
    if done.completion_event in WALL_CLOCK:
        start = earliest_start(done)
        return (
            not done.bad_checksums
            and start is not None
            and not _errors_within(database, start, done.ended or 0.0)
        )
    return done.bad_checksums == 0


def _errors_within(database: Database, start: float, end: float) -> bool:
    spans = database.page_error_spans
    place = bisect_right(spans, (end, math.inf))
    return place > 0 and spans[place - 1][1] >= start


def clean_scan_start(passes: Iterable[Pass], database: Database) -> float:
    """Start of the youngest scan that found every page good; errors before it are healed."""
    starts = [earliest_start(done) or 0.0 for done in passes if verifies(done, database)]
    return max(starts, default=0.0)


def known_bad_pages(database: Database, views: Mapping[str, TaskView]) -> list[BadPage]:
    """The bad pages that stand, with one unlocated entry for scans that did not name theirs."""
    scans = _scans(views)
    clean = clean_scan_start(scans, database)
    standing = [bad for bad in database.bad_pages if _stands(bad, database, clean)]
    unlocated = _unlocated(scans, database, clean)
    if unlocated is not None:
        standing.append(unlocated)
    for kind, (count, last) in database.bad_pages_overflow.items():
        if last > max(clean, database.all_good):
            standing.append(BadPage(page=UNLOCATED, kind=kind, first=last, last=last, pages=count))
    return standing


def _scans(views: Mapping[str, TaskView]) -> list[Pass]:
    return [done for task in ("checksum", "zeroing") for done in views[task].passes]


def count_pages(standing: Iterable[BadPage]) -> int:
    """How many pages these entries stand for."""
    return sum(bad.pages for bad in standing)


def _unlocated(scans: Iterable[Pass], database: Database, clean: float) -> BadPage | None:
    past = max(clean, database.all_good)
    found = [done for done in scans if _named_none(done, database) and (done.ended or 0.0) > past]
    if not found:
        return None
    times = [done.ended or 0.0 for done in found]
    return BadPage(
        page=UNLOCATED,
        kind="uncorrectable",
        first=min(times),
        last=max(times),
        history=all(done.history for done in found),
    )


def _named_none(done: Pass, database: Database) -> bool:
    """Whether a completed scan counted bad pages of which no event named one."""
    if done.outcome != "completed" or not done.bad_checksums or done.ended is None:
        return False
    return not _errors_within(database, earliest_start(done) or 0.0, done.ended)


def last_verifications(database: Database, views: Mapping[str, TaskView]) -> dict[str, float]:
    """By verifier, when every page was last proven good. A verifier that never did is absent."""
    verified = dict(database.verified)
    for done in _scans(views):
        if verifies(done, database) and done.ended is not None:
            verified["online_scan"] = max(verified.get("online_scan", 0.0), done.ended)
    return verified
