"""The openings of a window in the past, and what online defragmentation did in each."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from esewatch.advice.history import History
from esewatch.config.calendar import next_opening
from esewatch.fold.backups import Backup
from esewatch.fold.runs import Run

TOLERANCE = 600.0
"""Defragmentation may begin or stop so much beside the window's times and still keep to it.

Less than the quarter of an hour by which windows are changed.
"""
SAME_MOMENT = 60.0
CALENDAR = (86400.0, 2.5e11)
"""Times (epoch seconds) that every calendar and time zone holds."""


class Used(NamedTuple):
    """How one opening of the window was used; epoch seconds."""

    start: float
    end: float
    ran: bool
    """Online defragmentation ran within it."""
    off: float | None
    """Seconds after the opening's end that its runs stopped (before: below 0), where that tells
    of another window than the configured one. None: they kept to this one, or nothing tells."""
    scanned: float
    """Seconds of database scan."""
    backup: float
    """Seconds that a backup of the instance took of it."""


def openings_used(history: History, runs: Sequence[Run], since: float, now: float) -> list[Used]:
    """The openings from `since` to `now`, oldest first; none where no window is configured.

    `runs` are those of online defragmentation, sorted.
    """
    window = history.window
    if window is None or not window.days or not CALENDAR[0] <= since <= now <= CALENDAR[1]:
        return []
    found: list[tuple[float, float]] = []
    opening = next_opening(window, since - 1.0)
    while opening.start <= now:
        found.append((opening.start, opening.end))
        opening = next_opening(window, opening.start)
    starts = [run.start for run in runs]
    following = [start for start, _ in found[1:]]
    scans = [run for run in history.scan_runs if run.end is not None]
    ends = sorted(
        done.ended
        for done in history.defrag_passes
        if done.ended is not None and done.outcome == "completed"
    )
    result: list[Used] = []
    for (start, end), after in zip(found, [*following, opening.start], strict=True):
        first = bisect_left(starts, start - TOLERANCE)
        last = bisect_left(starts, after - TOLERANCE)
        mine = runs[first:last]
        backup = _busy(history.backups, start, end)
        off = None if backup > 0 else _off(mine, end, ends)
        ran = any(run.start < end and _stop(run, end) > start for run in mine)
        result.append(Used(start, end, ran, off, _scanned(scans, start, end), backup))
    return result


def restarts(found: Sequence[Used]) -> list[float]:
    """Moments up to which defragmentation kept to another window than the configured.

    Told by two openings in a row in which it went on after the end, or stopped equally long
    before it: one alone is a restart of the server or work by hand.
    """
    return [
        later.end + max(0.0, later.off)
        for earlier, later in pairwise(each for each in found if each.ran or each.off is not None)
        if earlier.off is not None
        and later.off is not None
        and (min(earlier.off, later.off) > 0 or abs(earlier.off - later.off) <= TOLERANCE)
    ]


def _off(runs: Sequence[Run], end: float, completions: Sequence[float]) -> float | None:
    """How far beside the opening's end the last of its runs stopped; None where that is usual.

    A pass that completes leaves nothing to do, so its end tells nothing of the window.
    """
    if not runs or runs[-1].end is None:
        return None
    stop = runs[-1].end
    if abs(stop - end) <= TOLERANCE:
        return None
    if stop < end and _near(completions, stop):
        return None
    return stop - end


def _near(times: Sequence[float], time: float) -> bool:
    at = bisect_left(times, time - SAME_MOMENT)
    return at < len(times) and times[at] <= time + SAME_MOMENT


def _stop(run: Run, otherwise: float) -> float:
    return otherwise if run.end is None else run.end


def _scanned(scans: Iterable[Run], start: float, end: float) -> float:
    return sum(max(0.0, min(end, run.end or start) - max(start, run.start)) for run in scans)


def _busy(backups: Iterable[Backup], start: float, end: float) -> float:
    return sum(max(0.0, min(end, each.ended) - max(start, each.started)) for each in backups)
