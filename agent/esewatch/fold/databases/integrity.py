"""Integrity of a database: known bad pages, and verification (semantics.md 3).

The fold latches the facts of events; this module decides which bad pages are unresolved, from
the latched set, the repairs and the derived passes. Order of arrival makes no
difference.
"""

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from esewatch.fold.identity.roles import family
from esewatch.fold.passes.completions import (
    count_was_read,
    counted_bad,
    owns_its_pages,
    read_all_pages,
)
from esewatch.fold.passes.passes import TaskView, derive
from esewatch.fold.state.state import (
    UNLOCATED,
    BadKind,
    BadPage,
    Damage,
    DamageKind,
    Database,
    EngineError,
    EngineErrorKind,
    Instance,
    Notice,
    PageErrorKind,
    PageRange,
    Pass,
)

MAX_BAD_PAGES = 1000
MAX_ERROR_SPANS = 96
MAX_SPARED = MAX_ERROR_SPANS // 2 - 1
ERROR_SLACK = 32
"""This many more are admitted before any are merged: one walk through the passes for all
of them.
"""
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

READ_ERRORS = frozenset({481, 516, 539, 540, 541, 557, 559, 560})
"""Errors besides those of pages: no scan in which one of them falls verifies the copy
that logs it.
"""

LOGICAL_EVENTS = frozenset({447, 448, 467, 537, 540, 542, 549, 550, 556, 566})
"""Corruption of content, not of a page's checksum: counted, not latched."""

REPAIR_EVENTS = frozenset({905, 911})
IO_ERRORS = frozenset({481, 482, 551})
"""A read, write or flush that failed: no page of it is known bad."""
COUNTED_KINDS: frozenset[BadKind] = frozenset({"uncorrectable", "wrong_page"})
"""Errors that a scan counts as a bad checksum: -1018 and -1118."""
NOT_SEEN_BY_CHECKSUMS: frozenset[BadKind] = frozenset({"lost_flush", "no_data"})
"""The checksum of such a page is right: that its file was read and verified clears none."""
ALL_PAGES = (UNLOCATED, 2**32 - 1)
"""A range of pages: a page number has 32 bits."""
MAX_IO_ERRORS = 64
MAX_TIMES = 4
MAX_PROOFS = 8
RANGES_SLACK = 128
"""This many more are admitted before any are dropped: one walk for all of them."""


class ScanCircumstances(NamedTuple):
    """Circumstances, beside a database's own events, of the time in which it was scanned."""

    gaps: Sequence[tuple[float, float]] = ()
    """(from, to) in which events of its computer are missing."""
    against: Sequence[float] = ()
    """Times at which another copy found that this one differs (538, 540, 545)."""
    elsewhere: Sequence[float] = ()
    """Times at which another copy was the active one, sorted: its scanned pages count in this
    copy's scans.
    """

    def hides(self, start: float, end: float) -> bool:
        """True if something from `start` to `end` contradicts that the copy is good, or may."""
        return any(begin < end and until > start for begin, until in self.gaps) or any(
            start <= time <= end for time in self.against
        )

    def was_elsewhere(self, start: float, end: float) -> bool:
        """True if another copy was the active one from `start` to `end`."""
        place = bisect_left(self.elsewhere, start)
        return place < len(self.elsewhere) and self.elsewhere[place] <= end


ALONE = ScanCircumstances()


class OutsideFacts(NamedTuple):
    """Facts about a database from records other than its own (`advice.surroundings`)."""

    around: ScanCircumstances = ALONE
    damage: Mapping[DamageKind, Damage] = {}
    """By kind, damage that other copies found in it."""
    errors: Mapping[int, EngineError] = {}
    """By event id: unexplained errors of it, its instance or its computer."""
    notices: Sequence[Notice] = ()
    """Notices of other programs about it, the latest last."""
    reported: Mapping[EngineErrorKind, tuple[int, float]] = {}
    """By kind, the number of open failures that the engine reported, and the time of the last."""


def note_io_error(of: Database | Instance, time: float) -> None:
    """Keep the time of a failed read, write or flush of its files."""
    insort(of.io_error_times, time)
    del of.io_error_times[:-MAX_IO_ERRORS]


def io_errors(database: Database, instance: Instance | None) -> list[float]:
    """Times of failed reads and writes of its files and of the logs of its instance, sorted.

    Acknowledged ones are left out.
    """
    of_logs = instance.io_error_times if instance is not None else []
    times = (*database.io_error_times, *of_logs)
    return sorted(time for time in times if time > database.acknowledged)


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
    """Keep the time of a page error that nothing corrected."""
    spans = database.page_error_spans
    place = bisect_right(spans, (time, math.inf))
    if place == 0 or spans[place - 1][1] < time:
        spans.insert(place, (time, time))
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
    """Ends of the scans whose result depends on no error lying within them.

    The youngest of those that verify and of those that count bad pages: fewer than the gaps.
    """
    scans = sorted(_scans(database, derive(database)), key=lambda done: done.ended or 0.0)
    clean = [done for done in scans if verifies(done, database)]
    unnamed = [done for done in scans if _named_too_few(done, database)]
    return [done.ended or 0.0 for done in (*clean[-MAX_SPARED:], *unnamed[-MAX_SPARED:])]


def latch_found(
    database: Database, page: int, kind: BadKind, time: float, *, history: bool
) -> bool:
    """Add one bad page, or renew it; False when there are 1,000 others.

    For pages found by reading the file: no error that a pass of the engine met.
    """
    for known in database.bad_pages:
        if known.page == page and known.kind == kind:
            times = sorted({*known.times, known.first, known.last, time})
            known.first, known.last = times[0], times[-1]
            known.times = times[-MAX_TIMES:] if len(times) > len((known.first, known.last)) else []
            known.history = known.history and history
            return True
    if len(database.bad_pages) >= MAX_BAD_PAGES:
        return False
    database.bad_pages.append(BadPage(page=page, kind=kind, first=time, last=time, history=history))
    _make_room(database)
    return True


def _make_room(database: Database) -> None:
    """Make room when the limit is reached: drop entries that are resolved.

    When all are unresolved, one more is only counted, without a walk through them.
    """
    if len(database.bad_pages) >= MAX_BAD_PAGES:
        database.bad_pages = [bad for bad in database.bad_pages if _stands(bad, database, 0.0)]


def hold_unfit(database: Database, kind: BadKind, count: int, time: float) -> None:
    """Note `count` pages found at once for which there was no room.

    The same finding read again changes nothing, so the larger number holds.
    """
    known, last = database.bad_pages_overflow.get(kind, (0, 0.0))
    database.bad_pages_overflow[kind] = (max(known, count), max(last, time))


def acknowledge(entry: Database, pages: Mapping[int, float], others: float) -> None:
    """Acknowledge bad pages, each up to its time, and all damage and errors up to `others`.

    An error of another page that was logged before and is read later was not acknowledged.
    """
    for page, time in pages.items():
        mark_good(entry, page, page, time)
    entry.damage_mended = max(entry.damage_mended, others)
    entry.acknowledged = max(entry.acknowledged, others)


def hold_scans(database: Database, scans: Sequence[Pass]) -> None:
    """Keep what ended scans say of pages that are no longer among the kept passes.

    Whether a gap or another copy contradicts a clean one is decided at each look: such records may
    be read later. One that may have counted pages of another copy is no proof any more, as what is
    known of the other copies ends, too.
    """
    for done in scans:
        time = done.ended or 0.0
        if _named_too_few(done, database) and not latch_found(
            database, UNLOCATED, "uncorrectable", time, history=done.history
        ):
            hold_unfit(database, "uncorrectable", 1, time)
    proofs = [
        done
        for done in scans
        if verifies(done, database)
        and (read_all_pages(done) or family(done.completion_event) != "active")
    ]
    if proofs:
        kept = sorted([*database.old_proofs, *proofs], key=lambda done: done.ended or 0.0)
        database.old_proofs = kept[-MAX_PROOFS:]


def mark_good(database: Database, first: int, last: int, time: float) -> None:
    """Pages `first` to `last` were repaired or acknowledged at `time`."""
    _mark(database, database.good_ranges, (first, last, time), kept=frozenset())


def mark_checksums_good(database: Database, first: int, last: int, time: float) -> None:
    """Pages `first` to `last` of a file whose content is of `time` have right checksums."""
    good = (first, last, time)
    _mark(database, database.checksums_good, good, kept=NOT_SEEN_BY_CHECKSUMS)


def _mark(
    database: Database, ranges: list[PageRange], good: PageRange, *, kept: Collection[BadKind]
) -> None:
    """Add a range to `ranges`, or renew it; it clears no error of a kind in `kept`."""
    first, last, time = good
    if len(database.bad_pages) >= MAX_BAD_PAGES:
        database.bad_pages = [
            bad
            for bad in database.bad_pages
            if bad.last > time or not first <= bad.page <= last or bad.kind in kept
        ]
    for index, (low, high, when) in enumerate(ranges):
        if (low, high) == (first, last):
            ranges[index] = (first, last, max(when, time))
            return
    ranges.append(good)
    if len(ranges) > MAX_BAD_PAGES + RANGES_SLACK:
        _drop_ranges(ranges, {bad.page for bad in database.bad_pages})


def _drop_ranges(ranges: list[PageRange], pages: Collection[int]) -> None:
    """Drop ranges: keep the last that each of the known bad `pages` needs, and the youngest others:
    1,000 in all.
    """
    needed = {_youngest(ranges, page) for page in pages}
    others = [each for each in ranges if each not in needed]
    drop = set(sorted(others, key=lambda each: each[2])[: -MAX_BAD_PAGES + len(needed) or None])
    ranges[:] = [each for each in ranges if each not in drop]


def _youngest(ranges: Sequence[PageRange], page: int) -> PageRange | None:
    """The youngest range that holds the page, None where it was never reported good."""
    holding = (each for each in ranges if each[0] <= page <= each[1])
    return max(holding, key=lambda each: each[2], default=None)


def _stands(bad: BadPage, database: Database, clean: float) -> bool:
    """True if the bad page is unresolved. `clean` is the start of the last scan that found every
    page good: 0 without one.
    """
    return bad.last > _dealt_with(database, bad.page, bad.kind) and bad.last >= clean


def _dealt_with(database: Database, page: int, kind: BadKind) -> float:
    """The time up to which errors of that kind of the page (UNLOCATED: of none that is named) are
    repaired, were read good since or are acknowledged.
    """
    good = _youngest(database.good_ranges, page)
    checksum_good = _youngest(database.checksums_good, page)
    if kind in NOT_SEEN_BY_CHECKSUMS:
        checksum_good = None
    known = (each[2] for each in (good, checksum_good) if each is not None)
    return max(database.all_good, *known, 0.0)


def verifies(done: Pass, database: Database, around: ScanCircumstances = ALONE) -> bool:
    """True if a completed scan proves every page of this copy good (semantics.md 2).

    It counted no bad page, all of its pages were read here, something bounds its start, and from
    there to its end no page error of this copy is known and no event is missing.
    """
    if done.outcome != "completed" or done.partial or done.task == "defrag":
        return False
    if done.earliest is None or done.ended is None:
        return False
    span = (done.earliest, done.ended)
    moved = family(done.completion_event) == "active" and around.was_elsewhere(*span)
    if not owns_its_pages(done) or (moved and not read_all_pages(done)):
        return False
    if counted_bad(done) or not count_was_read(done):
        return False
    return not _errors_within(database, *span) and not around.hides(*span)


def _errors_within(database: Database, start: float, end: float) -> bool:
    spans = database.page_error_spans
    place = bisect_right(spans, (end, math.inf))
    return place > 0 and spans[place - 1][1] >= start


def clean_scan_start(
    passes: Iterable[Pass], database: Database, around: ScanCircumstances = ALONE
) -> float:
    """Start of the youngest scan that found every page good; errors before it are healed."""
    starts = [done.earliest or 0.0 for done in passes if verifies(done, database, around)]
    return max(starts, default=0.0)


def known_bad_pages(
    database: Database, views: Mapping[str, TaskView], around: ScanCircumstances = ALONE
) -> list[BadPage]:
    """The unresolved bad pages, with one unlocated entry for scans that did not name theirs."""
    scans = [done for done in _scans(database, views) if done.outcome == "completed"]
    clean = clean_scan_start(scans, database, around)
    healed = {id(bad) for done in scans for bad in _healed_by(done, database)}
    standing = [
        bad for bad in database.bad_pages if id(bad) not in healed and _stands(bad, database, clean)
    ]
    unlocated = _unlocated(scans, database, clean)
    if unlocated is not None:
        standing = _with_unlocated(standing, unlocated)
    for kind, (count, last) in database.bad_pages_overflow.items():
        if last >= clean and last > _dealt_with(database, UNLOCATED, kind):
            standing.append(BadPage(page=UNLOCATED, kind=kind, first=last, last=last, pages=count))
    return standing


def _with_unlocated(standing: Sequence[BadPage], counted: BadPage) -> list[BadPage]:
    """The unresolved bad pages and the one that scans counted, which is one with a latched one."""
    same = [bad for bad in standing if (bad.page, bad.kind) == (counted.page, counted.kind)]
    others = [bad for bad in standing if bad not in same]
    told = [*same, counted]
    one = BadPage(
        page=counted.page,
        kind=counted.kind,
        first=min(bad.first for bad in told),
        last=max(bad.last for bad in told),
        history=all(bad.history for bad in told),
    )
    return [*others, one]


def _scans(database: Database, views: Mapping[str, TaskView]) -> list[Pass]:
    kept = [done for task in ("checksum", "zeroing") for done in views[task].passes]
    return [*database.old_proofs, *kept]


def count_pages(standing: Iterable[BadPage]) -> int:
    """The number of pages that these entries stand for."""
    return sum(bad.pages for bad in standing)


def _met_in(done: Pass, database: Database) -> list[BadPage]:
    """The bad pages of the kinds that a scan counts, reported while it ran, oldest first."""
    start, end = done.earliest, done.ended
    if start is None or end is None:
        return []
    met = []
    told = _errors_within(database, start, end)
    for bad in database.bad_pages:
        time = _time_within(bad, start, end, told=told)
        if time is not None and bad.kind in COUNTED_KINDS:
            met.append((time, bad.page, bad))
    return [bad for _, _, bad in sorted(met, key=lambda each: each[:2])]


def _time_within(bad: BadPage, start: float, end: float, *, told: bool) -> float | None:
    """Last time at which it was reported from `start` to `end`, None if it was not.

    Where the times are not kept, the errors that are `told` of it are taken for its own.
    """
    within = [time for time in (*bad.times, bad.first, bad.last) if start <= time <= end]
    if within:
        return max(within)
    forgotten = len(bad.times) == MAX_TIMES and bad.first < start and end < bad.times[0]
    return start if told and forgotten else None


def _healed_by(done: Pass, database: Database) -> list[BadPage]:
    """The bad pages that a scan met and found good, as it counted fewer: never the last ones.

    A scan counts a page once, of however many kinds its errors are.
    """
    counted = done.bad_checksums
    if not counted or counted < 0 or done.partial:
        return []
    met = _met_in(done, database)
    healed = {*list(dict.fromkeys(bad.page for bad in reversed(met)))[counted:]}
    return [bad for bad in met if bad.page in healed and bad.last <= (done.ended or 0.0)]


def _unlocated(scans: Iterable[Pass], database: Database, clean: float) -> BadPage | None:
    dealt_with = _dealt_with(database, UNLOCATED, "uncorrectable")
    found = [
        done
        for done in scans
        if _named_too_few(done, database)
        and (done.ended or 0.0) > dealt_with
        and (done.ended or 0.0) >= clean
    ]
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


def _named_too_few(done: Pass, database: Database) -> bool:
    """True if a completed scan counted more bad pages than events named while it ran.

    A page of two errors is one page.
    """
    if done.outcome != "completed":
        return False
    counted = counted_bad(done)
    return counted > 0 and counted > len({bad.page for bad in _met_in(done, database)})


def last_verifications(
    database: Database, views: Mapping[str, TaskView], around: ScanCircumstances = ALONE
) -> dict[str, float]:
    """By verifier, the time when every page was last proven good; a verifier that never did is
    absent.
    """
    verified = dict(database.verified)
    for done in _scans(database, views):
        if verifies(done, database, around) and done.ended is not None:
            verified["online_scan"] = max(verified.get("online_scan", 0.0), done.ended)
    return verified
