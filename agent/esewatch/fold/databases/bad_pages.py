"""The latched set of bad pages of a database, and what was read good (semantics.md 3).

The fold keeps here what events and readers say of pages; `integrity` judges which of them stand.
Each list is bounded, and what no longer fits is counted.
"""

import math
from bisect import bisect_right, insort
from collections.abc import Collection, Sequence

from esewatch.fold.databases import page_errors
from esewatch.fold.databases.integrity import (
    ALONE,
    MAX_BAD_PAGES,
    MAX_TIMES,
    is_unreadable,
    named_too_few,
    not_seen_in,
    scans_of,
    stands,
    verifies,
    youngest,
)
from esewatch.fold.identity.identity import family
from esewatch.fold.passes.completions import count_was_read, read_all_pages
from esewatch.fold.passes.passes import derive
from esewatch.fold.state.state import (
    UNLOCATED,
    Age,
    BadKind,
    BadPage,
    Database,
    Instance,
    PageRange,
    Pass,
)

MAX_MORE_PAGES = 4000
"""Bad pages beyond these, of which number and last time are known; the count is a least one."""
MAX_ERROR_SPANS = 96
MAX_SPARED = MAX_ERROR_SPANS // 2 - 1
ERROR_SLACK = 32
"""This many more are admitted before any are merged: one walk through the passes for all of
them."""
MAX_IO_ERRORS = 64
MAX_PROOFS = 8
RANGES_SLACK = 128
"""This many more are admitted before any are dropped: one walk for all of them."""


def note_io_error(of: Database | Instance, time: float) -> None:
    insort(of.io_error_times, time)
    del of.io_error_times[:-MAX_IO_ERRORS]


def latch(database: Database, page: int, kind: BadKind, time: float, age: Age = "") -> None:
    """Add one bad page that an event reports, or renew it."""
    if kind != "corrected":
        note_error(database, time)
    latch_found(database, page, kind, time, age)


def note_error(database: Database, time: float) -> None:
    spans = database.page_error_spans
    if not page_errors.holds(spans, time, time):
        insort(spans, (time, time))
        if len(spans) > MAX_ERROR_SPANS + ERROR_SLACK:
            _join_spans(database)


def _join_spans(database: Database) -> None:
    """Merge the closest spans until 96 are left, none across a gap that decides a pass."""
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
    """Ends of the scans whose result depends on no error lying within them. The youngest of those
    that verify and of those that count bad pages: fewer than the gaps."""
    scans = sorted(scans_of(database, derive(database)), key=lambda done: done.ended or 0.0)
    clean = [done for done in scans if verifies(done, database)]
    unnamed = [done for done in scans if named_too_few(done, database)]
    return [done.ended or 0.0 for done in (*clean[-MAX_SPARED:], *unnamed[-MAX_SPARED:])]


def latch_found(database: Database, page: int, kind: BadKind, time: float, age: Age = "") -> None:
    """Add one bad page, or renew it. For pages found by reading the file: no error that a pass of
    the engine met. Beyond 1,000 only page and time are kept."""
    for known in database.bad_pages:
        if known.page == page and known.kind == kind:
            times = sorted({*known.times, known.first, known.last, time})
            known.first, known.last = times[0], times[-1]
            known.times = times[-MAX_TIMES:] if len(times) > len((known.first, known.last)) else []
            known.age = age if known.age == age else ""
            return
    if len(database.bad_pages) >= MAX_BAD_PAGES and page != UNLOCATED:
        rows = database.more_bad_pages.setdefault(kind, bytearray())
        page_errors.add_page(rows, page, time, most=MAX_MORE_PAGES)
        return
    database.bad_pages.append(BadPage(page=page, kind=kind, first=time, last=time, age=age))
    if len(database.bad_pages) >= MAX_BAD_PAGES:
        # When all are unresolved, one more is only counted, without a walk through them.
        database.bad_pages = [bad for bad in database.bad_pages if stands(bad, database, 0.0)]


def hold_scans(database: Database, scans: Sequence[Pass]) -> None:
    """Keep what ended scans say of pages that are no longer among the kept passes.

    Whether a gap or another copy contradicts a clean one is decided at each look: such records may
    be read later. One that may have counted pages of another copy is no proof any more, as what is
    known of the other copies ends, too.
    """
    for done in scans:
        time = done.ended or 0.0
        if named_too_few(done, database):
            latch_found(
                database, UNLOCATED, "uncorrectable", time, "history" if done.history else ""
            )
    proofs = [
        done
        for done in scans
        if verifies(done, database)
        and (read_all_pages(done) or family(done.completion_event) != "active")
    ]
    hidden = [done for done in scans if is_unreadable(done, database, ALONE)]
    if proofs or hidden:
        found = [*database.old_proofs, *proofs, *hidden]
        kept = sorted(found, key=lambda done: done.ended or 0.0)
        read = [done for done in kept if count_was_read(done)]
        unread = [done for done in kept if not count_was_read(done)]
        database.old_proofs = [*read[-MAX_PROOFS:], *unread[-1:]]


def mark_good(database: Database, first: int, last: int, time: float) -> None:
    """Pages `first` to `last` were repaired or acknowledged at `time`."""
    _mark(database, database.good_ranges, (first, last, time), kept=frozenset())


def mark_checksums_good(database: Database, first: int, last: int, time: float) -> None:
    """Pages `first` to `last` of a file whose content is of `time` have right checksums. Where they
    are not ALL_PAGES, none of them is blank."""
    good = (first, last, time)
    _mark(database, database.checksums_good, good, kept=not_seen_in(good))


def _mark(
    database: Database, ranges: list[PageRange], good: PageRange, *, kept: Collection[BadKind]
) -> None:
    """Add a range to `ranges`, or renew it; it clears no error of a kind in `kept`."""
    first, last_page, time = good
    if len(database.bad_pages) >= MAX_BAD_PAGES:
        database.bad_pages = [
            bad
            for bad in database.bad_pages
            if bad.last > time or not first <= bad.page <= last_page or bad.kind in kept
        ]
    for fault, rows in database.more_bad_pages.items():
        if fault not in kept:
            page_errors.drop_pages(rows, first, last_page, time)
    for index, (low, high, when) in enumerate(ranges):
        if (low, high) == (first, last_page):
            ranges[index] = (first, last_page, max(when, time))
            return
    ranges.append(good)
    if len(ranges) > MAX_BAD_PAGES + RANGES_SLACK:
        _drop_ranges(ranges, {bad.page for bad in database.bad_pages})


def _drop_ranges(ranges: list[PageRange], pages: Collection[int]) -> None:
    """Drop ranges: keep the last that each of the known bad `pages` needs, and the youngest others:
    1,000 in all."""
    needed = {youngest(ranges, page) for page in pages}
    others = [each for each in ranges if each not in needed]
    drop = set(sorted(others, key=lambda each: each[2])[: -MAX_BAD_PAGES + len(needed) or None])
    ranges[:] = [each for each in ranges if each not in drop]
