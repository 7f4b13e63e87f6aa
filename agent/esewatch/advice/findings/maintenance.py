"""Maintenance that is late, stalled or off, or stops before its window ends (semantics.md 5 and 7).

Late passes are judged of watched databases that are known for 14 days: a directory defragments
itself all day and an application when it likes. A stall is reported only for a scan whose progress
was seen in this pass, so that it would have been seen since, and only for time in which its log was
read. Early stops are interruptions (704, 725, 726), by its instance or by a detached database,
night after night: a pass that completed leaves nothing to do, and one that failed has an alert of
its own.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import NamedTuple
from zoneinfo import ZoneInfo

from esewatch.advice.base.finding import EarlyStops, Finding, scan_off, scan_stalled, stopped_early
from esewatch.advice.base.time_at_work import at_work
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.history.copies import REPLICATED, is_worker
from esewatch.advice.history.history import History
from esewatch.advice.history.ledger import DAY, KNOWN_LONG
from esewatch.advice.history.passes import Mark, is_amount
from esewatch.advice.window.past_windows import (
    EARLY,
    SAME_MOMENT,
    TOLERANCE,
    Used,
    backed_up,
    backup_spans,
    openings_used,
    time_given,
)
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import DAY_SECONDS, NOON, day_start
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
    begun = -math.inf if running.started is None else running.started
    for run in history.scan_runs[-1:]:
        begun = max(begun, run.start if run.end is None else run.end)
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


SHOWS_LITTLE = 0.1
"""In this share of a pass its p90 lies far out on every large database."""


class LatePasses(NamedTuple):
    defrag: bool = False
    """Online defragmentation has not completed by its deadline."""
    scan: bool = False
    """The scan under way is past its deadline."""
    scan_at_risk: bool = False
    """The scan will be done after its deadline (p90), or was aborted (745) and did not go on."""


def late_passes(of: History, forecasts: Sequence[Forecast], now: float) -> LatePasses:
    """Of the database as of `now` (epoch seconds). `forecasts` of defrag and checksum, in this
    order."""
    known = of.first_seen > 0 and now - of.first_seen >= KNOWN_LONG
    if of.tier != "watched" or of.model not in REPLICATED or not known:
        return LatePasses()
    defrag, scan = forecasts
    passes = of.checksum_passes
    running = passes[-1] if passes and passes[-1].outcome == "open" else None
    if running is None:
        return LatePasses(_past(defrag, now))
    begun = scan.progress is None or scan.progress >= SHOWS_LITTLE
    aborted = running.interrupted and running.last_event == of.aborted
    return LatePasses(_past(defrag, now), _past(scan, now), (scan.late and begun) or aborted)


def _past(of: Forecast, now: float) -> bool:
    return of.deadline is not None and now > of.deadline


STOPPED = (3, 7)
"""Early stops that make a finding, and the number of openings they are counted in."""
LOOK_BACK = 8 * 7 * 86400.0
"""Seven nights of a window that opens once a week."""


class _Stop(NamedTuple):
    """One run that was stopped: the time, and the seconds before the end of its time."""

    task: str
    start: float
    time: float
    early: float


def found_in_window(history: History, rule: str, now: float) -> tuple[Finding, ...]:
    """The finding from the last nights of a database; `rule` decided the advice for its window."""
    if history.model != "window":
        return ()
    used = openings_used(history, history.defrag_runs, now - LOOK_BACK, now)
    over = [each for each in used if each.end <= now]
    found = []
    stops = _stopped(history, over)
    if stops is not None:
        found.append(stopped_early(stops))
    in_the_way = backed_up(over) if rule == "backup" else None
    if in_the_way is not None and not any(each.finding == "backup_overlaps" for each in found):
        found.append(Finding("backup_overlaps", in_the_way))
    return tuple(found)


def _stopped(history: History, over: Sequence[Used]) -> EarlyStops | None:
    least, of = STOPPED
    last = over[-of:]
    stops = [list(_stops(history, each)) for each in last]
    hit = [each for each in stops if each]
    if len(hit) < least:
        return None
    return EarlyStops(
        tasks=sorted({stop.task for each in hit for stop in each}, reverse=True),
        early=[max(stop.early for stop in each) for each in hit],
        with_backup=sum(any(_backup_ran(history, stop.time) for stop in each) for each in hit),
        openings=len(last),
        last=hit[-1][-1].time,
        schedule=_schedule(history, hit),
    )


def _schedule(history: History, nights: Sequence[Sequence[_Stop]]) -> str:
    """The local hours of these nights, where all of them ended alike."""
    if history.window is None:
        return ""
    zone = ZoneInfo(history.window.timezone)
    spans = [(min(s.start for s in each), max(s.time for s in each)) for each in nights]
    # Seconds since the local noon.
    noons = [[datetime.fromtimestamp(time, zone) for time in each] for each in spans]
    hours = [
        [(at.hour * 3600 + at.minute * 60 + at.second - NOON) % DAY_SECONDS for at in each]
        for each in noons
    ]
    ends = [end for _, end in hours]
    begin, end = (median(each) for each in zip(*hours, strict=True))
    if any(abs(each - end) > TOLERANCE for each in ends):
        return ""
    return f"{_clock(begin)}-{_clock(end)}"


def _clock(seconds: float) -> str:
    minutes = round((seconds + NOON) % DAY_SECONDS / 60) % 1440
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _stops(history: History, opening: Used) -> Iterator[_Stop]:
    defrag = _begun_in(history.defrag_runs, opening)
    scans = _begun_in(history.scan_runs, opening)
    due = time_given(defrag, scans, opening.start, opening.end)
    for task, runs, given, passes in (
        ("online defragmentation", defrag, due, history.defrag_passes),
        ("the database scan", scans, opening.end, history.checksum_passes),
    ):
        stop = runs[-1].end if runs else None
        if stop is None or given - stop <= EARLY:
            continue
        completed = (each.ended for each in passes if each.outcome == "completed")
        ended = [end for end in completed if end is not None]
        if not any(abs(end - stop) <= SAME_MOMENT for end in (*ended, *history.failures)):
            yield _Stop(task, runs[0].start, stop, given - stop)


def _begun_in(runs: Sequence[Run], opening: Used) -> Sequence[Run]:
    first = bisect_left(runs, opening.start - TOLERANCE, key=lambda run: run.start)
    return runs[first : bisect_left(runs, opening.end, key=lambda run: run.start)]


def _backup_ran(history: History, time: float) -> bool:
    return any(
        begin - SAME_MOMENT <= time <= end + SAME_MOMENT for begin, end in backup_spans(history)
    )
