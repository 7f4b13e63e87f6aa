"""A background scan that is stalled, without progress for two days, or off (semantics.md 5).

A stall is reported only for a scan whose progress was seen in this pass, so that it would have been
seen since, and only for time in which its log was read. Silent wherever something is not known.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from esewatch.advice.base.finding import Finding, scan_off, scan_stalled
from esewatch.advice.base.maintenance_model import is_worker
from esewatch.advice.base.time_at_work import at_work
from esewatch.advice.history.history import History
from esewatch.advice.history.ledger import DAY, KNOWN_LONG
from esewatch.advice.history.rates import is_amount
from esewatch.advice.history.rest_of_scan import Mark
from esewatch.fold.state.rollups import day_start
from esewatch.fold.state.state import Pass

STANDSTILL = 48 * 3600.0
"""Seconds without progress."""
SILENCE = 24 * 3600.0
"""A log that is read has a record this often, in seconds; else the computer slept, or the log was
cleared."""


def stalled_scan(history: History, now: float) -> Finding | None:
    """The finding of a database as of `now` (epoch seconds), None without one.

    Progress is any report of the running pass (736, 738, 744, 717, 719, 733) except a page that it
    reported before, and pages read by the counters of an instance with one database.
    """
    if not (history.first_seen > 0 and now - history.first_seen >= KNOWN_LONG):
        return None
    passes, signs = history.checksum_passes, history.liveness
    running = passes[-1] if passes and passes[-1].outcome == "open" else None
    if history.model != "background" or history.tier != "watched" or running is None:
        return None
    if running.interrupted or running.partial or running.failures:
        return None
    read = _read(signs.heard, now)
    if read is None:
        return None
    if signs.role and history.role and signs.role != history.role:
        return None
    if signs.role == "active" and history.replaying:
        return None
    begun = _begun(history, running)
    marks = [mark for mark in history.marks if mark.time >= begun]
    since = _last_progress(running, marks)
    until = read.until if marks and signs.told is not None else -math.inf
    counted = _counted(history)
    if counted is not None:
        since = max(since, counted.until)
        if math.isfinite(begun) and counted.day >= begun:
            until = max(until, min(read.until, counted.sampled))
    missing = any(end > since for _, end, _ in history.event_gaps)
    since = max(since, history.started or -math.inf)
    still = until - max(since, read.since)
    if missing or not still >= STANDSTILL:
        return None
    seen = marks[-1].pages if marks and is_amount(marks[-1].pages) else None
    pages = history.pages if is_amount(history.pages) else None
    return scan_stalled(since, still, seen, pages)


class _Read(NamedTuple):
    """The time in which the log of the computer was read, without a silence in it."""

    since: float
    until: float


def _read(heard: Sequence[float], now: float) -> _Read | None:
    """None where no record is known. Records much later than `now` come from a wrong clock."""
    times = [min(time, now) for time in heard if time <= now + SILENCE]
    if not times:
        return None
    since = until = times[-1]
    for time in reversed(times):
        if since - time > SILENCE:
            break
        since = time
    return _Read(since, until)


def _begun(history: History, running: Pass) -> float:
    last = history.scan_runs[-1] if history.scan_runs else None
    began = -math.inf if running.started is None else running.started
    return began if last is None else max(began, last.start if last.end is None else last.end)


def _last_progress(running: Pass, marks: list[Mark]) -> float:
    if not marks or running.last_event > marks[-1].time:
        return running.last_event
    changes = [after.time for before, after in pairwise(marks) if after.pages != before.pages]
    return changes[-1] if changes else marks[0].time


class _Counted(NamedTuple):
    day: float
    """Noon at which the last day with pages read begins."""
    until: float
    """No pages were read later than this: the end of that day, or of a time without samples."""
    sampled: float


def _counted(history: History) -> _Counted | None:
    """None without counters, before any page was read, or where they are of several databases."""
    sampled = history.liveness.sampled
    grown = [each.day for each in history.days if each.scan_pages_read > 0]
    if sampled is None or not grown or history.shares_instance > 1:
        return None
    ends = [min(day_start(grown[-1] + 1), sampled), *(end for _, end in history.unsampled)]
    return _Counted(day_start(grown[-1]), max(ends), sampled)


SILENT = 45 * DAY
"""Seconds at work without any event of a scan; the longest pause of a healthy one is shorter."""


def switched_off(history: History, now: float) -> Finding | None:
    """The finding of a database as of `now` (epoch seconds), None without one.

    Its size does not matter. Pages that counters show as read by a scan are evidence of a scan; the
    time before a gap in the events is unknown.
    """
    scanned = history.model == "background" or is_worker(history.process)
    if not scanned or history.tier != "watched" or not history.first_seen > 0:
        return None
    told = history.scan_told
    read = [day_start(each.day + 1) for each in history.days if each.scan_pages_read > 0]
    gaps = [end for begin, end, _ in history.event_gaps if begin < now]
    since = max([history.first_seen, *gaps, *read[-1:], *([told] if told is not None else [])])
    silent = at_work(history.off, since, now)
    if not SILENT <= silent < math.inf:
        return None
    return scan_off(silent, told)
