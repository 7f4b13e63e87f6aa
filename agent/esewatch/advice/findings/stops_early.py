"""Maintenance that stops well before its window ends, night after night, with work left.

Stops are interruptions (704, 725, 726), by its instance or by a detached database: a pass that
completed leaves nothing to do, and one that failed has an alert of its own.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime
from statistics import median
from typing import NamedTuple
from zoneinfo import ZoneInfo

from esewatch.advice.base.finding import EarlyStops, Finding, stopped_early
from esewatch.advice.history.history import History
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
from esewatch.fold.state.rollups import DAY_SECONDS, NOON

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
    hours = [[_of_day(time, zone) for time in each] for each in spans]
    ends = [end for _, end in hours]
    begin, end = (median(each) for each in zip(*hours, strict=True))
    if any(abs(each - end) > TOLERANCE for each in ends):
        return ""
    return f"{_clock(begin)}-{_clock(end)}"


def _of_day(time: float, zone: ZoneInfo) -> float:
    """Seconds since the local noon."""
    local = datetime.fromtimestamp(time, zone)
    return (local.hour * 3600 + local.minute * 60 + local.second - NOON) % DAY_SECONDS


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
