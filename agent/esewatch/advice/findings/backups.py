"""Missing backups and copies that would mount, as a restore needs one of them; and slowing backups.

A backup of one copy is a backup of all. Each is judged with the copies that this agent knows;
where other agents have some, an alert asks for what each of them states (semantics.md 7).
"""

import math
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from esewatch.advice.base.finding import Detail, Finding, backup_slows, moment, span
from esewatch.advice.base.time_at_work import Stretch, at_work
from esewatch.advice.history.copies import REPLICATED, copies_of
from esewatch.advice.history.history import History
from esewatch.advice.history.ledger import DAY, KNOWN_LONG, NEVER, Copy
from esewatch.config import Policy
from esewatch.fold.instances.backups import (
    SLOW,
    latest_jobs,
    slow_jobs,
)
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import BackupSet, State


class Kept(NamedTuple):
    """The facts of one copy. Times are epoch seconds."""

    copy: Copy
    history: History
    policy: Policy
    held: float
    """While its computer is silent, or not read to its end, its absences are judged as of then."""


class Unsaved(NamedTuple):
    last: float
    """The end of its last backup, 0 where none is known. Epoch seconds."""
    silent: float
    """Seconds since then, or since it is known."""
    at_work: float
    """So many of them it was at work."""
    allowed: float
    """Seconds."""


def missing_backups(known: Mapping[DatabaseKey, Kept], now: float) -> dict[DatabaseKey, Detail]:
    shared = _shared(known, now)
    found = {}
    for key, own in known.items():
        allowed = own.policy.backup_within
        if own.copy.tier == "watched" and allowed < math.inf and own.copy.off != NEVER:
            missing = _unsaved(own, shared.get(key, [own]), allowed, now)
            if missing is not None:
                found[key] = _backup_missing(missing, replicated=key in shared)
    return found


def missing_restorable_copy(of: History, policy: Policy, now: float) -> Detail | None:
    """The detail of a database whose copies are judged (page_scan with check: recovery)."""
    known = 0 < of.first_seen <= now - KNOWN_LONG
    if of.copy_verdict is None or of.tier != "watched" or of.off == NEVER or not known:
        return None
    silent, allowed = now - (of.restorable or of.first_seen), policy.restorable_within
    if silent <= allowed:
        return None
    last = f"the last one is of {moment(of.restorable)}" if of.restorable else "none is known"
    return Detail(
        "no_restorable_copy",
        "warning",
        f"no copy of it that would mount was found for {span(silent)} ({last}); the limit is"
        f" {span(allowed)}",
    )


def _unsaved(own: Kept, copies: Sequence[Kept], allowed: float, now: float) -> Unsaved | None:
    """None where a backup completed in time, or may have without anybody knowing.

    A computer that is silent may have had one, for as long as one whose agent is gone. What is off
    or silent for longer misses one by the calendar alone, so that it holds up no other copy.
    """
    at = min([own.held, *(each.held for each in copies if now - each.held < KNOWN_LONG)])
    last = max(each.history.backed_up.last for each in copies)
    since = _asked_since(copies, at, [each.copy.off for each in copies])
    worked = max(at_work(each.copy.off, since, at) for each in copies)
    if worked > allowed:
        return Unsaved(last, at - since, worked, allowed)
    off = any(begin <= now - KNOWN_LONG and now < end for begin, end in own.copy.off)
    gone = off or now - own.held >= KNOWN_LONG
    since = _asked_since(copies, now, [()]) if gone else math.inf
    return Unsaved(last, now - since, worked, allowed) if now - since > allowed else None


def _asked_since(copies: Sequence[Kept], at: float, off: Sequence[Sequence[Stretch]]) -> float:
    """From when on a backup was due as of `at`; infinite where none was: of a database that is new,
    or was never backed up and is none of Exchange, or may be in a snapshot, which names none.
    `off`: times that do not count."""
    first = min((each.copy.first_seen for each in copies if each.copy.first_seen > 0), default=at)
    last = max(each.history.backed_up.last for each in copies)
    snapshot = max(each.history.backed_up.snapshot for each in copies)
    stores = (each.history for each in copies if each.copy.model in REPLICATED)
    without = max(at_work(each, snapshot, at) for each in off)
    usual = without > KNOWN_LONG and any(each.ese_instance for each in stores)
    if at - first < KNOWN_LONG or not (last or usual):
        return math.inf
    gaps = (end for each in copies for begin, end, _ in each.copy.event_gaps if begin < at)
    return max(last or first, *gaps, 0.0)


def _shared(known: Mapping[DatabaseKey, Kept], now: float) -> dict[DatabaseKey, list[Kept]]:
    """By copy, all of its database, itself included; as rules tell them apart."""
    groups: dict[str, list[Kept]] = {}
    keys = copies_of([each.copy for each in known.values()])
    for each, copy_of in zip(known.values(), keys, strict=True):
        if copy_of is not None and each.copy.role and each.copy.off != NEVER:
            groups.setdefault(copy_of, []).append(each)
    return {
        (each.copy.computer, each.copy.database): group
        for group in groups.values()
        if _is_one(group, now)
        for each in group
    }


def _is_one(group: Sequence[Kept], now: float) -> bool:
    """True if they may be copies of one database: it is active once, and once on a computer. Within
    a day of a failover the old active copy may not have said yet that it is passive."""
    active = [
        each
        for each in group
        if each.copy.role == "active"
        and not any(now - DAY < time for time in each.history.role_changes)
    ]
    return len(active) <= 1 and len({each.copy.computer for each in group}) == len(group)


def _backup_missing(found: Unsaved, *, replicated: bool) -> Detail:
    """Information of what is off and was not at work for longer than is allowed: it missed nothing.
    `replicated`: it may have copies, of which other agents read some."""
    subject = "it, or of a copy of it that is read here," if replicated else "it"
    last = f"last at {moment(found.last)}" if found.last else "none is known"
    missed = found.at_work > found.allowed
    off = "" if missed else f", of which its computer was on for {span(found.at_work)}"
    return Detail(
        "backup_missing",
        "warning" if missed else "info",
        f"no backup of {subject} has completed for {span(found.silent)} ({last}){off}; the limit is"
        f" {span(found.allowed)}; check its job and run one, or set backup_within: never where"
        " copies stand for it",
    )


MANY = 3
"""Slow jobs among the last 5 that make a finding; all of them where fewer are known."""
RECENT_JOB = 14 * 86400.0
"""Jobs are ignored when the latest ended longer ago, in seconds."""


class SlowJobs(NamedTuple):
    finding: Finding
    instances: frozenset[str]
    """In lower case."""


def slow_jobs_of(
    state: State, streamed: Mapping[str, Set[BackupSet]], now: float
) -> dict[str, SlowJobs]:
    """The slow jobs by computer, as of `now`. `streamed`: by computer, backup sets from events."""
    found = {}
    for computer, host in state.hosts.items():
        jobs = latest_jobs(host.backup_sets, streamed.get(computer, ()))
        slow = slow_jobs(jobs)
        if not jobs or slow < min(MANY, len(jobs)) or now - jobs[-1].ended > RECENT_JOB:
            continue
        latest = [job for job in jobs if job.ratio < SLOW][-1]
        finding = backup_slows(slow, len(jobs), latest.rates, latest.ended)
        found[computer] = SlowJobs(finding, latest.instances)
    return found


def slowing_backups(
    state: State, known: Mapping[tuple[str, str], History], now: float
) -> dict[tuple[str, str], Finding]:
    by_events: dict[str, set[BackupSet]] = {}
    for each in known.values():
        by_events.setdefault(each.computer, set()).update(each.streamed)
    jobs = slow_jobs_of(state, by_events, now)
    return {
        key: told.finding
        for key, each in known.items()
        if (told := jobs.get(each.computer)) is not None
        and each.ese_instance.lower() in told.instances
    }
