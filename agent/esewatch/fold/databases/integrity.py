"""Integrity of a database: known bad pages, and verification (semantics.md 3).

The fold latches the facts of events; this module decides which bad pages are unresolved, from the
latched set, the repairs and the derived passes. Order of arrival makes no difference.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

import msgspec

from esewatch.fold.databases import page_errors
from esewatch.fold.identity.identity import family
from esewatch.fold.passes.completions import (
    count_was_read,
    counted_bad,
    is_clean,
    owns_its_pages,
    read_all_pages,
)
from esewatch.fold.passes.passes import TaskView
from esewatch.fold.state import acknowledgements
from esewatch.fold.state.state import (
    BAD_KINDS,
    UNLOCATED,
    BadKind,
    BadPage,
    Damage,
    DamageKind,
    Database,
    EngineError,
    EngineErrorKind,
    Failure,
    Instance,
    Notice,
    PageErrorKind,
    PageRange,
    Pass,
)

MAX_BAD_PAGES = 1000
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
"""Errors besides those of pages: no scan in which one of them falls verifies the copy that logs
it."""

LOGICAL_EVENTS = frozenset({447, 448, 467, 537, 540, 542, 549, 550, 556, 566})
"""Corruption of content, not of a page's checksum: counted, not latched."""

REPAIR_EVENTS = frozenset({905, 911})
IO_ERRORS = frozenset({481, 482, 551})
"""A read, write or flush that failed: no page of it is known bad."""
COUNTED_KINDS: frozenset[BadKind] = frozenset({"uncorrectable", "wrong_page"})
"""Errors that a scan counts as a bad checksum: -1018 and -1118."""
NOT_SEEN_BY_SCANS: frozenset[BadKind] = frozenset({"lost_flush", "no_data"})
"""A stale page and a blank one have right checksums: no scan of a whole file clears them."""
NOT_SEEN_BY_READING: frozenset[BadKind] = frozenset({"lost_flush"})
"""That the page itself is read again, is not blank and has its checksum and number clears none."""
ALL_PAGES = (UNLOCATED, 2**32 - 1)
"""A range of pages: a page number has 32 bits."""
MAX_TIMES = 4


class ScanCircumstances(NamedTuple):
    """Circumstances, beside a database's own events, of the time in which it was scanned."""

    gaps: Sequence[tuple[float, float]] = ()
    """(from, to) in which events of its computer are missing."""
    against: Sequence[float] = ()
    """Times at which another copy found that this one differs (538, 540, 545)."""
    elsewhere: Sequence[float] = ()
    """Times at which another copy was the active one, sorted: its scanned pages count in this
    copy's scans."""
    failed_reads: Sequence[tuple[float, float]] = ()
    """(first, last) of bad pages of unknown files of its instance, sorted, apart."""
    failures: Sequence[Failure] = ()
    """Page errors of its instance that name no database, and can only be its."""
    restores: Sequence[tuple[float, float]] = ()
    """Its restores from a backup, sorted: the end, and the first start of its instance after that:
    what began before may have read the old file."""
    gone: float = 0.0
    """Its facts up to this time are another database's: it is a snapshot of that, or was moved."""
    inherited: Sequence[BadPage] = ()
    """Bad pages that it had at another path."""
    proven: Mapping[str, float] = {}
    """By verifier, when all of its pages were proven good there."""

    def hides(self, start: float, end: float) -> bool:
        """True if something from `start` to `end` contradicts that the copy is good, or may."""
        return any(begin < end and until > start for begin, until in self.gaps) or self.contradicts(
            start, end
        )

    def contradicts(self, start: float, end: float) -> bool:
        told = (*self.against, *(each.time for each in self.failures))
        return any(start <= time <= end for time in told) or page_errors.holds(
            self.failed_reads, start, end
        )

    @property
    def restored(self) -> float:
        """End of its last restore, 0 for never."""
        return self.restores[-1][0] if self.restores else 0.0

    @property
    def mended(self) -> float:
        """Damage up to this time is none of its any more."""
        return max(self.restored, self.gone)

    def was_elsewhere(self, start: float, end: float) -> bool:
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
    failures: Sequence[Failure] = ()
    """Page errors of its instance that may be of any of several databases."""


def io_errors(database: Database, instance: Instance | None) -> list[float]:
    """Times of failed reads and writes of its files and of the logs of its instance, sorted.
    Acknowledged ones are left out."""
    of_logs = instance.io_error_times if instance is not None else []
    acknowledged = acknowledgements.up_to(database, acknowledgements.IO_ERROR)
    return sorted(time for time in (*database.io_error_times, *of_logs) if time > acknowledged)


def youngest(ranges: Sequence[PageRange], page: int) -> PageRange | None:
    """The youngest range that holds the page, None where it was never reported good."""
    holding = (each for each in ranges if each[0] <= page <= each[1])
    return max(holding, key=lambda each: each[2], default=None)


def not_seen_in(good: PageRange) -> frozenset[BadKind]:
    return NOT_SEEN_BY_SCANS if good[:2] == ALL_PAGES else NOT_SEEN_BY_READING


def stands(bad: BadPage, database: Database, clean: float) -> bool:
    """True if the bad page is unresolved. `clean` is the start of the last scan that found every
    page good: 0 without one."""
    open_since = _open_since(bad.kind, database, clean)
    return bad.last > _dealt_with(database, bad.page, bad.kind) and bad.last >= open_since


def _as_it_stands(bad: BadPage, database: Database, clean: float, healed: float) -> BadPage:
    """The bad page without its reports of before it was dealt with, as far as their times are
    kept."""
    past = max(healed, _dealt_with(database, bad.page, bad.kind))
    since = _open_since(bad.kind, database, clean)
    if bad.first > past and bad.first >= since:
        return bad
    times = [time for time in (*bad.times, bad.last) if time > past and time >= since]
    return msgspec.structs.replace(bad, first=min(times))


def _open_since(kind: BadKind, database: Database, clean: float) -> float:
    """Errors of that kind before it ended with their file, or by a scan that sees them."""
    return database.created if kind in NOT_SEEN_BY_SCANS else max(database.created, clean)


def _dealt_with(database: Database, page: int, kind: BadKind) -> float:
    """The time up to which errors of that kind of the page (UNLOCATED: of none that is named) are
    repaired, were read good since or are acknowledged."""
    seen = [each for each in database.checksums_good if kind not in not_seen_in(each)]
    known = (youngest(ranges, page) for ranges in (database.good_ranges, seen))
    times = [each[2] for each in known if each is not None]
    if kind not in NOT_SEEN_BY_SCANS:
        times.append(database.all_good)
    if page == UNLOCATED:
        thing = acknowledgements.unplaced(kind)
        times.append(database.acknowledged_things.get(thing, 0.0))
    return max(times, default=0.0)


def verifies(done: Pass, database: Database, around: ScanCircumstances = ALONE) -> bool:
    """True if a completed scan proves every page of this copy good (semantics.md 2).

    It counted no bad page, all of its pages were read here, something bounds its start, and from
    there to its end no page error of this copy is known and no event is missing.
    """
    if done.outcome != "completed" or done.partial or done.task == "defrag":
        return False
    if done.earliest is None or done.ended is None or done.earliest < database.created:
        return False
    span = (done.earliest, done.ended)
    moved = family(done.completion_event) == "active" and around.was_elsewhere(*span)
    if not owns_its_pages(done) or (moved and not read_all_pages(done)):
        return False
    return is_clean(done) and not _errors_within(database, *span) and not around.hides(*span)


def unreadable_scan(
    database: Database, views: Mapping[str, TaskView], around: ScanCircumstances = ALONE
) -> float | None:
    """End of the last completed scan whose numbers could not be read, and which nothing else keeps
    from verifying the copy; None without one."""
    scans = scans_of(database, views)
    return max(
        (done.ended or 0.0 for done in scans if is_unreadable(done, database, around)),
        default=None,
    )


def is_unreadable(done: Pass, database: Database, around: ScanCircumstances) -> bool:
    if done.outcome != "completed" or done.partial or done.ended is None or count_was_read(done):
        return False
    span = (done.ended if done.earliest is None else done.earliest, done.ended)
    return not _errors_within(database, *span) and not around.hides(*span)


def _errors_within(database: Database, start: float, end: float) -> bool:
    return page_errors.holds(database.page_error_spans, start, end)


def clean_scan_start(
    passes: Iterable[Pass], database: Database, around: ScanCircumstances = ALONE
) -> float:
    """Start of the youngest scan that found every page good; errors before it are healed."""
    starts = [done.earliest or 0.0 for done in passes if verifies(done, database, around)]
    return max(starts, default=0.0)


def known_bad_pages(
    database: Database, views: Mapping[str, TaskView], around: ScanCircumstances = ALONE
) -> list[BadPage]:
    """The unresolved bad pages, with one unlocated entry for scans that did not name theirs. Those
    of before a restore are none (`restored_bad_pages`)."""
    standing = _standing(database, scans_of(database, views), around)
    return [bad for bad in standing if bad.last > around.mended]


def restored_bad_pages(
    database: Database, views: Mapping[str, TaskView], around: ScanCircumstances = ALONE
) -> list[BadPage]:
    """The bad pages that a restore may have ended, until what began after it verified all pages."""
    if not around.restores:
        return []
    used = [mounted for _, mounted in around.restores]
    scans = scans_of(database, views)
    # A scan of the old file that ended later proves nothing of it any more.
    of_old = [
        done
        for done in scans
        if (done.earliest or 0.0) > used[-1] or (done.ended or 0.0) <= used[-1]
    ]
    proofs = [(time, time) for time in database.verified.values()]
    proofs += [
        (done.earliest or 0.0, done.ended or 0.0)
        for done in scans
        if verifies(done, database, around)
    ]
    # An acknowledgement of what an earlier restore left is one of the entries, and so is a proof.
    seen = acknowledgements.up_to(database, acknowledgements.RESTORE)
    for (ended, begin), until in zip(around.restores, [*used[1:], inf], strict=True):
        if any(first > begin and last <= until for first, last in proofs):
            seen = max(seen, ended)
    standing = _standing(database, of_old, around)
    return [bad for bad in standing if max(around.gone, seen) < bad.last <= around.restored]


def _standing(database: Database, told: Iterable[Pass], around: ScanCircumstances) -> list[BadPage]:
    scans = [done for done in told if done.outcome == "completed"]
    clean = clean_scan_start(scans, database, around)
    healed = _healed(scans, database, clean, around.inherited)
    standing = [
        _as_it_stands(bad, database, clean, healed.get((bad.page, bad.kind), 0.0))
        for bad in database.bad_pages
        if bad.last > healed.get((bad.page, bad.kind), 0.0) and stands(bad, database, clean)
    ]
    known = {(bad.page, bad.kind) for bad in standing}
    standing += [
        bad
        for bad in around.inherited
        if (bad.page, bad.kind) not in known
        and bad.last > healed.get((bad.page, bad.kind), 0.0)
        and stands(bad, database, clean)
    ]
    for unlocated in (
        _unlocated(scans, database, clean),
        *_unnamed(database, around, clean),
    ):
        if unlocated is not None:
            standing = _with_unlocated(standing, unlocated)
    return [*standing, *_beyond_limit(database, clean)]


def _unnamed(database: Database, around: ScanCircumstances, clean: float) -> Iterator[BadPage]:
    """Bad pages that errors of other events prove, and that no event names: one of each kind."""
    told = (*database.failures, *around.failures)
    for kind, failures in page_errors.unnamed(told, database.named_pages).items():
        dealt_with = _dealt_with(database, UNLOCATED, kind)
        open_since = _open_since(kind, database, clean)
        left = [each for each in failures if each.time > dealt_with and each.time >= open_since]
        if left:
            times = [each.time for each in left]
            old = all(each.history for each in left)
            yield BadPage(UNLOCATED, kind, min(times), max(times), "history" if old else "")


def _beyond_limit(database: Database, clean: float) -> Iterator[BadPage]:
    for kind in BAD_KINDS:
        dealt_with = _dealt_with(database, UNLOCATED, kind)
        open_since = _open_since(kind, database, clean)
        listed = {bad.page for bad in database.bad_pages if bad.kind == kind}
        rows = page_errors.read_pages(database.more_bad_pages.get(kind, b""))
        times = [time for page, time in rows if page not in listed]
        found = [time for time in times if time > dealt_with and time >= open_since]
        count, last = database.bad_pages_overflow.get(kind, (0, 0.0))
        if last > dealt_with and last >= open_since:
            found += [last] * count
        if found:
            last = max(found)
            yield BadPage(page=UNLOCATED, kind=kind, first=last, last=last, pages=len(found))


def _with_unlocated(standing: Sequence[BadPage], counted: BadPage) -> list[BadPage]:
    """The unresolved bad pages and one that has no place, which is one with a latched one."""
    same = [bad for bad in standing if (bad.page, bad.kind) == (counted.page, counted.kind)]
    others = [bad for bad in standing if bad not in same]
    told = [*same, counted]
    one = BadPage(
        page=counted.page,
        kind=counted.kind,
        first=min(bad.first for bad in told),
        last=max(bad.last for bad in told),
        age=told[0].age if len({bad.age for bad in told}) == 1 else "",
    )
    return [*others, one]


def scans_of(database: Database, views: Mapping[str, TaskView]) -> list[Pass]:
    kept = [done for task in ("checksum", "zeroing") for done in views[task].passes]
    return [*database.old_proofs, *kept]


def count_pages(standing: Iterable[BadPage]) -> int:
    return sum(bad.pages for bad in standing)


def _met_in(
    done: Pass, database: Database, inherited: Sequence[BadPage] = ()
) -> list[tuple[float, int, BadPage]]:
    """(time, page number, bad page) of the kinds that a scan counts, reported while it ran, oldest
    first; also of those that the database had at another path."""
    start, end = done.earliest, done.ended
    if start is None or end is None:
        return []
    met = []
    told = _errors_within(database, start, end)
    for bad in (*database.bad_pages, *inherited):
        time = _time_within(bad, start, end, told=told)
        if time is not None and bad.kind in COUNTED_KINDS:
            met.append((time, bad.page, bad))
    return sorted(met, key=lambda each: each[:2])


def _time_within(bad: BadPage, start: float, end: float, *, told: bool) -> float | None:
    """Last time at which it was reported from `start` to `end`, None if it was not. Where the times
    are not kept, the errors that are `told` of it are taken for its own."""
    within = [time for time in (*bad.times, bad.first, bad.last) if start <= time <= end]
    if within:
        return max(within)
    forgotten = len(bad.times) == MAX_TIMES and bad.first < start and end < bad.times[0]
    return start if told and forgotten else None


def _healed(
    scans: Iterable[Pass], database: Database, clean: float, inherited: Sequence[BadPage]
) -> dict[tuple[int, BadKind], float]:
    """Page and kind -> up to when it is past, as a scan met it, found it good later and so counted
    fewer: never the last ones of those that stood when the scan ended. A scan counts a page once,
    of however many kinds its errors are."""
    healed: dict[tuple[int, BadKind], float] = {}
    for done in sorted(scans, key=lambda each: each.ended or 0.0):
        counted, end = done.bad_checksums or 0, done.ended or 0.0
        if counted <= 0 or done.partial:
            continue

        def stood(time: float, bad: BadPage, end: float = end) -> bool:
            past = _dealt_with(database, bad.page, bad.kind)
            # Who acknowledged the page took its last report for the last one, whenever that was.
            is_repaired = time < past <= end or time == past == database.patched_last
            is_dealt_with = is_repaired or time < clean <= end
            return time > healed.get((bad.page, bad.kind), 0.0) and not is_dealt_with

        met = [bad for time, _, bad in _met_in(done, database, inherited) if stood(time, bad)]
        good = {*list(dict.fromkeys(bad.page for bad in reversed(met)))[counted:]}
        healed.update(((bad.page, bad.kind), end) for bad in met if bad.page in good)
    return healed


def _unlocated(scans: Iterable[Pass], database: Database, clean: float) -> BadPage | None:
    dealt_with = _dealt_with(database, UNLOCATED, "uncorrectable")
    found = [
        done
        for done in scans
        if named_too_few(done, database)
        and (done.ended or 0.0) > dealt_with
        and (done.ended or 0.0) >= _open_since("uncorrectable", database, clean)
    ]
    if not found:
        return None
    times = [done.ended or 0.0 for done in found]
    return BadPage(
        page=UNLOCATED,
        kind="uncorrectable",
        first=min(times),
        last=max(times),
        age="history" if all(done.history for done in found) else "",
    )


def named_too_few(done: Pass, database: Database) -> bool:
    """True if a completed scan counted more bad pages than events named while it ran. A page of two
    errors is one page."""
    if done.outcome != "completed":
        return False
    counted = counted_bad(done)
    return counted > 0 and counted > len({page for _, page, _ in _met_in(done, database)})


def last_verifications(
    database: Database, views: Mapping[str, TaskView], around: ScanCircumstances = ALONE
) -> dict[str, float]:
    """By verifier, the time when every page was last proven good; a verifier that never did is
    absent."""
    told = (*database.verified.items(), *around.proven.items())
    verified = {by: time for by, time in sorted(told) if time >= database.created}
    for done in scans_of(database, views):
        if verifies(done, database, around) and done.ended is not None:
            verified["online_scan"] = max(verified.get("online_scan", 0.0), done.ended)
    return {by: time for by, time in verified.items() if time > around.gone}


def last_streamed(
    database: Database,
    backups: Iterable[tuple[float, float]],
    around: ScanCircumstances = ALONE,
) -> float | None:
    """The end of the last streaming backup, (start, end) each, that read every page and in whose
    time no page error of this copy is known; None without one."""
    proofs = (
        end
        for start, end in backups
        if start >= database.created
        and end > around.gone
        and not _errors_within(database, start, end)
        and not around.contradicts(start, end)
    )
    return max(proofs, default=None)
