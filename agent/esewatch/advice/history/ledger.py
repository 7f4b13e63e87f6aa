"""The integrity ledger: when every page of a copy was last verified, and by what (semantics.md 3).

Absence is claimed only where nothing can have been missed: not of a database that is known
for less than a deadline, not over a gap in the events, and only of time at work.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple

import msgspec

from esewatch.advice.base.finding import (
    Finding,
    Proof,
    never_verified,
    only_other_copies_verified,
    span,
    unknown_since,
    verification_overdue,
    verification_unreadable,
)
from esewatch.advice.base.time_at_work import Stretch, at_work, one_window
from esewatch.advice.history.copies import REPLICATED, Member, comparable, copies_of
from esewatch.config import Window
from esewatch.fold.channels.clock_guard import AHEAD_SECONDS
from esewatch.fold.databases.integrity import count_pages
from esewatch.fold.identity.identity import Tier
from esewatch.fold.state.state import BadPage, Pass

DAY = 86400.0
LEAST_DEADLINE = 7 * DAY
MOST_DEADLINE = 45 * DAY
KNOWN_FOR = 7 * DAY
"""Seconds that a database is known before it is reported as never verified (semantics.md 7)."""
KNOWN_LONG = 14 * DAY
"""Seconds that it is known before anything else is reported as missing."""
SLACK = 1.5
"""The next verification may take this many times as long as usual."""
NO_VERIFICATION = "no verification is known"
LATEST = 8
BACKGROUND_BYTES_PER_SECOND = 1e6
"""Pace of the background scan since Exchange 2013 (semantics.md 5), until its own is seen."""
NEVER = ((-math.inf, math.inf),)
"""The times off of a database that was moved: its old path is retired, no copy, and nothing is
due."""
Gap = tuple[float, float, int]
"""(from, to, records missing), as fold/channels/deduplication.py claims them."""


class Deadline(NamedTuple):
    """Seconds from one verification to the next, at most, and where the figure comes from."""

    seconds: float
    reason: str


class CopyFacts(Member, frozen=True, kw_only=True):
    """Facts that ledger and history of a copy share. Times are epoch seconds; None is unknown."""

    tier: Tier = "watched"
    first_seen: float = 0.0
    """0 when it is not known."""
    verified: Mapping[str, float] = {}
    """By verifier, the end of the last verification of every page."""
    unreadable_scan: float | None = None
    """End of the last completed scan whose numbers could not be read."""
    bad_pages: Sequence[BadPage] = ()
    size_bytes: float | None = None
    window: Window | None = None
    event_gaps: Sequence[Gap] = ()
    """Of the complete channels of its computer."""
    off: Sequence[Stretch] = ()
    """Times when its instance was not at work, or is not known to have been (time_at_work.py)."""
    engine_threshold: float | None = None
    """Seconds in which its engine wants a scan to complete, as the last 735 reported."""


class Copy(CopyFacts, frozen=True, kw_only=True):
    """The facts of one copy that the ledger judges."""

    scans: Sequence[Pass] = ()
    """Ended checksum passes."""
    under_way: float = 0.0
    """Seconds from the start of the scan under way to the last event of it; 0: none was seen."""
    configured_deadline: float | None = None
    """Seconds."""
    most_deadline: float = MOST_DEADLINE
    """Seconds; an upper bound for deadlines that are not configured."""
    deadline: Deadline | None = None
    """A deadline worked out earlier: `scans` may be left out then."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    computer: str
    database: str
    last: Proof | None
    """The latest verification, None when there is none."""
    verified: Mapping[str, float]
    bad_since: int
    """Pages known bad since the latest verification, or ever without one."""
    corrected_since: int
    deadline: Deadline
    expected: bool
    """False if no verification is expected of it: its deadline limits nothing until the first."""
    due: float | None
    """Time at which the next verification is due; None without a first one."""
    unknown_since: float | None
    """Begin of the gap that hides its later verifications; None: the events are complete."""
    standing: Literal["verified", "unverified", "unknown"]
    findings: tuple[Finding, ...]

    @property
    def limit(self) -> float | None:
        """Seconds after which a verification is too old; None where none is expected."""
        return self.deadline.seconds if self.expected else None


def ledgers(
    copies: Sequence[Copy], now: float, silent_from: Sequence[float | None] = ()
) -> list[Ledger]:
    """The ledger of each copy as of `now`, in the order given; facts are left out that are younger
    by more than clocks differ.

    `silent_from`: since when nothing was heard of it, None where something was (empty: of each).
    What is missing is judged as of then; and it is not the one that is verified.
    """
    silent = silent_from or [None] * len(copies)
    entries = [
        _entry(copy, now, now if since is None else min(now, since))
        for copy, since in zip(copies, silent, strict=True)
    ]
    for members in _groups(copies):
        if not comparable(copies[index] for index in members):
            continue
        for index in members:
            others = [
                (copies[each], entries[each])
                for each in members
                if each != index and silent[each] is None
            ]
            found = _only_others(copies[index], entries[index], others)
            if found is not None:
                findings = (*entries[index].findings, found)
                entries[index] = msgspec.structs.replace(entries[index], findings=findings)
    return entries


def verification_deadline(copy: Copy) -> Deadline:
    """Configured; else the largest of a week, the engine's own and the usual one (semantics.md 5).

    The usual interval is measured from completion to completion: the next pass may wait for weeks
    after one. It is bounded, as slow decay must end somewhere.
    """
    if copy.deadline is not None:
        return copy.deadline
    if _is_span(copy.configured_deadline):
        return Deadline(copy.configured_deadline or 0.0, "configured")
    least = LEAST_DEADLINE if copy.window is None else max(LEAST_DEADLINE, one_window(copy.window))
    found = [_usual(copy), Deadline(least, "the minimum")]
    if _is_span(copy.engine_threshold):
        found.append(Deadline(copy.engine_threshold or 0.0, "the engine's own threshold (735)"))
    unsized = copy.model == "background" and not _is_span(copy.size_bytes)
    if unsized and not copy.verified and copy.under_way:
        # One that goes on for n days takes n days at least; of 2 TB it takes 23 in good health.
        said = f"1.5 times the {span(copy.under_way)} for which its first scan has been running"
        found.append(Deadline(SLACK * copy.under_way, said))
    longest = max((each for each in found if each is not None), key=lambda each: each.seconds)
    if longest.seconds <= copy.most_deadline:
        return longest
    return Deadline(copy.most_deadline, f"the maximum; otherwise {longest.reason}")


def _usual(copy: Copy) -> Deadline | None:
    """The usual interval by its own completions; with fewer than two, a background scan's by its
    size."""
    whole = (done for done in copy.scans if done.outcome == "completed" and not done.partial)
    completed = (done.ended for done in whole)
    ends = sorted(end for end in completed if end is not None and math.isfinite(end))
    between = [two - one for one, two in pairwise(ends[-LATEST:])]
    if between:
        usual = median(between)
        said = f"1.5 times the usual {span(usual)} between completions"
        return Deadline(SLACK * usual, said) if _is_span(usual) else None
    if copy.model != "background" or not _is_span(copy.size_bytes):
        return None
    takes = (copy.size_bytes or 0.0) / BACKGROUND_BYTES_PER_SECOND
    said = f"1.5 times the {span(takes)} that a background scan at 1 MB/s would take"
    return Deadline(SLACK * takes, said)


def _is_span(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0


def _entry(copy: Copy, now: float, held: float) -> Ledger:
    verified = {
        by: time
        for by, time in sorted(copy.verified.items())
        if math.isfinite(time) and time <= now + AHEAD_SECONDS
    }
    last = max((Proof(time, by) for by, time in verified.items()), default=None)
    done = _done(copy, last, now)
    gap = _hides(copy, last, now)
    deadline = verification_deadline(copy)
    after = [bad for bad in copy.bad_pages if bad.last <= now and (not last or bad.last > last[0])]
    corrected = count_pages(bad for bad in after if bad.kind == "corrected")
    due = None
    if done:
        off = now - done.time - at_work(copy.off, done.time, now)
        due = done.time + deadline.seconds + off
    standing, finding = _judge(copy, last, done, gap, deadline.seconds, now=held)
    hidden = verification_unreadable(done.time, last) if done and done is not last else None
    if finding is not None and finding.finding == "verification_overdue":
        finding = finding._replace(since=due)
    return Ledger(
        computer=copy.computer,
        database=copy.database,
        last=last,
        verified=verified,
        bad_since=count_pages(after) - corrected,
        corrected_since=corrected,
        deadline=deadline,
        expected=done is not None or _asked_for(copy),
        due=due,
        unknown_since=gap[0] if gap else None,
        standing=standing,
        findings=tuple(filter(None, (hidden, finding))) if copy.tier == "watched" else (),
    )


def _done(copy: Copy, last: Proof | None, now: float) -> Proof | None:
    """The start of its deadline: the last verification, or a later scan of unknown result."""
    hidden = copy.unreadable_scan
    if hidden is None or not copy.first_seen <= hidden <= now + AHEAD_SECONDS:
        return last
    if last is not None and hidden <= last.time:
        return last
    return Proof(hidden, "online_scan")


def _hides(copy: Copy, last: Proof | None, now: float) -> Gap | None:
    """Gaps of more than one window after the last verification, merged into one. They hide nothing
    where nothing is due."""
    if copy.off == NEVER:
        return None
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
    copy: Copy,
    last: Proof | None,
    done: Proof | None,
    gap: Gap | None,
    deadline: float,
    *,
    now: float,
) -> tuple[Literal["verified", "unverified", "unknown"], Finding | None]:
    """Judge if it is verified in time. Missing verifications are counted in time at work, from
    `done`."""
    known = now - copy.first_seen if copy.first_seen > 0 else math.inf if done else 0.0
    since = max(done.time if done else copy.first_seen, gap[1] if gap else -math.inf)
    silent = at_work(copy.off, since, now)
    lost = unknown_since(gap[0], gap[1], gap[2], last) if gap else None
    if last is not None and at_work(copy.off, last.time, now) <= deadline:
        return "verified", lost
    if done is not None and at_work(copy.off, done.time, now) <= deadline:
        return "unknown", lost
    if done is None and gap is None:
        if not KNOWN_FOR <= known < math.inf or silent <= max(deadline, KNOWN_FOR):
            return "unknown", None
        return "unverified", never_verified(known) if _asked_for(copy) else None
    patience = deadline if done else max(deadline, KNOWN_FOR)
    if known < KNOWN_LONG or silent <= patience:
        return "unknown", lost
    if (last is None or copy.model == "application") and not _asked_for(copy):
        return "unverified", None
    if done is not last:
        silent = at_work(copy.off, last.time if last else copy.first_seen or since, now)
    return "unverified", verification_overdue(last, silent, deadline, gap[1] if gap else None)


def _asked_for(copy: Copy) -> bool:
    """True if a verification is expected of a copy that was never verified.

    An index of Windows Search is rebuilt, and nothing of its own verifies a domain controller: that
    is reported once for all of them (not_judged.py).
    """
    if _is_span(copy.configured_deadline):
        return True
    return copy.model in REPLICATED or (copy.model == "application" and bool(copy.copies))


def _groups(copies: Sequence[Copy]) -> list[list[int]]:
    found: dict[str, list[int]] = {}
    for index, copy_of in enumerate(copies_of(copies)):
        if copy_of is not None and copies[index].off != NEVER:
            found.setdefault(copy_of, []).append(index)
    return list(found.values())


def _only_others(
    copy: Copy, entry: Ledger, others: Iterable[tuple[Copy, Ledger]]
) -> Finding | None:
    """True if all verified copies have the other role, this one being certainly none of them."""
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
