"""The integrity ledger: when was every page of a copy last verified, and by what (semantics.md 3).

Absence is claimed only where nothing can have been missed: not for a database that is known
for less than a deadline, and not over a gap in the events.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal, NamedTuple

import msgspec

from esewatch.advice.copies import Member, comparable, copies_of
from esewatch.advice.findings import (
    Finding,
    Proof,
    never_verified,
    only_other_copies_verified,
    span,
    unknown_since,
    verification_overdue,
)
from esewatch.advice.stagger import MOST_PAGES
from esewatch.advice.windows_passed import one_window
from esewatch.config import Window
from esewatch.fold.identity import Tier
from esewatch.fold.integrity import count_pages
from esewatch.fold.state import BadPage, Pass

DAY = 86400.0
LEAST_DEADLINE = 7 * DAY
KNOWN_FOR = 7 * DAY
"""Seconds that a database is known before "never" is said (semantics.md 7)."""
SLACK = 1.5
"""So many times as long as its scans take may pass before the next verification."""
BACKGROUND_BYTES_PER_SECOND = 1e6
"""Pace of the background scan since Exchange 2013 (semantics.md 5), until its own is seen."""
MOST_PAGE_SIZE = 32768

Gap = tuple[float, float, int]
"""(from, to, records missing), as fold/channels.py claims them."""


class Deadline(NamedTuple):
    """Seconds from one verification to the next, at most, and where the figure comes from."""

    seconds: float
    reason: str
    known: bool = True
    """Else it is a guess that a healthy copy may miss: nothing is claimed by it."""


class Copy(Member, frozen=True, kw_only=True):
    """What the ledger judges of one copy. Times are epoch seconds; None is unknown."""

    tier: Tier
    first_seen: float
    """0 when it is not known."""
    verified: Mapping[str, float] = {}
    """By verifier, the end of the last verification of every page."""
    bad_pages: Sequence[BadPage] = ()
    """Those that stand."""
    scans: Sequence[Pass] = ()
    """Ended checksum passes."""
    size_bytes: float | None = None
    page_size: int | None = None
    window: Window | None = None
    event_gaps: Sequence[Gap] = ()
    """Of the complete channels of its computer."""
    configured_deadline: float | None = None
    """Seconds."""
    engine_threshold: float | None = None
    """Seconds: the completion threshold that the engine itself names in 735."""
    deadline: Deadline | None = None
    """Where it was worked out before: `scans` may be left out then."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the pages of one copy."""

    computer: str
    database: str
    last: Proof | None
    """The latest verification, None when there is none."""
    verified: Mapping[str, float]
    """By verifier."""
    bad_since: int
    """Pages known bad since the latest verification, or ever without one."""
    corrected_since: int
    deadline: Deadline
    due: float | None
    """When the next verification is due; None without a first one, or where that is not known."""
    unknown_since: float | None
    """Begin of the gap that hides what became of it; None: the events are whole."""
    standing: Literal["verified", "unverified", "unknown"]
    """Verified in time, certainly not, or not to be told."""
    findings: tuple[Finding, ...]


def ledgers(copies: Sequence[Copy], now: float) -> list[Ledger]:
    """The ledger of each copy as of `now`, in the order given; what is younger is left out."""
    entries = [_entry(copy, now) for copy in copies]
    for members in _groups(copies):
        if not comparable(copies[index] for index in members):
            continue
        for index in members:
            others = [(copies[each], entries[each]) for each in members if each != index]
            found = _only_others(copies[index], entries[index], others)
            if found is not None:
                findings = (*entries[index].findings, found)
                entries[index] = msgspec.structs.replace(entries[index], findings=findings)
    return entries


def verification_deadline(copy: Copy) -> Deadline:
    """Configured; else the engine's own threshold; else by what its scans take (semantics.md 5).

    Those of a window take the time that they work: a pass that a short window drags out is not
    excused by it. Others take the whole time from start to end.
    """
    if copy.deadline is not None:
        return copy.deadline
    if _is_span(copy.configured_deadline):
        return Deadline(copy.configured_deadline or 0.0, "configured")
    if _is_span(copy.engine_threshold):
        return Deadline(copy.engine_threshold or 0.0, "the engine's own threshold (735)")
    least = LEAST_DEADLINE if copy.window is None else max(LEAST_DEADLINE, one_window(copy.window))
    pace = _pace(copy)
    own = "its own scans"
    if pace is None and copy.model == "background":
        pace, own = BACKGROUND_BYTES_PER_SECOND, "a background scan at 1 MB/s"
    takes = (copy.size_bytes or 0.0) / pace if pace and _is_span(copy.size_bytes) else math.inf
    if not math.isfinite(takes):
        # A healthy background scan of a large database takes weeks.
        known = copy.model != "background"
        return Deadline(least, f"{span(least)}: how long its scans take is not known", known)
    if SLACK * takes <= least:
        return Deadline(least, f"{span(least)}: {own} would take {span(takes)}")
    return Deadline(SLACK * takes, f"1.5 times the {span(takes)} that {own} would take")


def _is_span(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0


def _pace(copy: Copy) -> float | None:
    """Bytes a second of the median scan of its own."""
    if copy.page_size is None or not 0 < copy.page_size <= MOST_PAGE_SIZE:
        return None
    paces = []
    for done in copy.scans:
        elapsed = done.work_seconds if copy.model == "window" else done.wall_seconds
        if elapsed is None and done.started is not None and done.ended is not None:
            elapsed = done.ended - done.started
        if done.outcome == "completed" and done.pages_seen and elapsed and _is_span(elapsed):
            pages = min(done.pages_seen, MOST_PAGES)
            paces.append(pages * copy.page_size / elapsed)
    return median(paces) if paces and median(paces) > 0 else None


def _entry(copy: Copy, now: float) -> Ledger:
    verified = {
        by: time
        for by, time in sorted(copy.verified.items())
        if math.isfinite(time) and time <= now
    }
    last = max((Proof(time, by) for by, time in verified.items()), default=None)
    gap = _hides(copy, last, now)
    deadline = verification_deadline(copy)
    standing, finding = _judge(copy, last, gap, deadline, now)
    after = [bad for bad in copy.bad_pages if bad.last <= now and (not last or bad.last > last[0])]
    corrected = count_pages(bad for bad in after if bad.kind == "corrected")
    return Ledger(
        computer=copy.computer,
        database=copy.database,
        last=last,
        verified=verified,
        bad_since=count_pages(after) - corrected,
        corrected_since=corrected,
        deadline=deadline,
        due=last.time + deadline.seconds if last and deadline.known else None,
        unknown_since=gap[0] if gap else None,
        standing=standing,
        findings=(finding,) if finding and copy.tier == "watched" else (),
    )


def _hides(copy: Copy, last: Proof | None, now: float) -> Gap | None:
    """The gaps of more than one window that no verification is younger than, as one."""
    known = max(copy.first_seen, last.time if last else copy.first_seen)
    longest = one_window(copy.window)
    found = [
        (begin, min(end, now), missing)
        for begin, end, missing in copy.event_gaps
        if end > known and begin < now and min(end, now) - begin > longest
    ]
    if not found:
        return None
    begin = max(min(each[0] for each in found), known)
    return begin, max(each[1] for each in found), sum(each[2] for each in found)


def _judge(
    copy: Copy, last: Proof | None, gap: Gap | None, allowed: Deadline, now: float
) -> tuple[Literal["verified", "unverified", "unknown"], Finding | None]:
    deadline = allowed.seconds if allowed.known else math.inf
    patience = deadline if last else max(deadline, KNOWN_FOR)
    if last is not None and not allowed.known and now - last.time > allowed.seconds:
        return "unknown", unknown_since(gap[0], gap[1], gap[2], last) if gap else None
    if gap is not None:
        lost = unknown_since(gap[0], gap[1], gap[2], last)
        if last is not None and now - last.time <= deadline:
            return "verified", lost
        silent = now - gap[1]
        if silent > patience:
            return "unverified", verification_overdue(last, silent, deadline, gap[1])
        return "unknown", lost
    if last is not None:
        silent = now - last.time
        if silent <= deadline:
            return "verified", None
        return "unverified", verification_overdue(last, silent, deadline, None)
    known = now - copy.first_seen
    if copy.first_seen <= 0 or not patience <= known < math.inf:
        return "unknown", None
    asked_for = copy.copies or _is_span(copy.configured_deadline)
    if copy.model == "application" and not asked_for:
        # Judged by page errors and slow I/O alone: an index of Windows Search is built anew.
        return "unverified", None
    return "unverified", never_verified(known)


def _groups(copies: Sequence[Copy]) -> list[list[int]]:
    """Which of them are copies of one database, as indexes."""
    found: dict[str, list[int]] = {}
    for index, copy_of in enumerate(copies_of(copies)):
        if copy_of is not None:
            found.setdefault(copy_of, []).append(index)
    return list(found.values())


def _only_others(
    copy: Copy, entry: Ledger, others: Iterable[tuple[Copy, Ledger]]
) -> Finding | None:
    """Whether verified copies are all of the other role, this one being certainly none of them."""
    if entry.standing != "unverified" or copy.tier != "watched":
        return None
    proven = [
        (other, told.last) for other, told in others if told.standing == "verified" and told.last
    ]
    if not proven or any(other.role == copy.role for other, _ in proven):
        return None
    return only_other_copies_verified(
        copy.role, sorted((other.computer, proof) for other, proof in proven)
    )
