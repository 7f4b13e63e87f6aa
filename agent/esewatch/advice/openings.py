"""The openings of a window in the past, and what online defragmentation did in each."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from esewatch.advice.findings import span
from esewatch.advice.history import History
from esewatch.config.calendar import CALENDAR, next_opening
from esewatch.fold.backups import Backup
from esewatch.fold.runs import Run

TOLERANCE = 600.0
"""Defragmentation may begin or stop so much beside the window's times and still keep to it.

Less than the quarter of an hour by which windows are changed.
"""
SAME_MOMENT = 60.0
BACKED_UP = (3, 7)
"""A backup in so many of so many openings is in the way."""
IN_THE_WAY = 900.0
"""Seconds of an opening that a backup takes before it counts: a shadow copy takes less."""


class Used(NamedTuple):
    """How one opening of the window was used; epoch seconds."""

    start: float
    end: float
    ran: bool
    """Online defragmentation ran within it."""
    off: float | None
    """Seconds after the time that the configured window gives them that its runs stopped (before:
    below 0). 0: they kept to that time. None: nothing tells."""
    scanned: float
    """Seconds of database scan."""
    backup: float
    """Seconds that a backup of the instance took of it."""
    share: float = 1.0
    """Of the time that it gives defragmentation, the part that was used: a pass that ends leaves
    the rest of the night."""


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
    scanned = [run.start for run in scans]
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
        until = max([after, *(_stop(run, end) for run in mine)]) + SAME_MOMENT
        beside = scans[max(0, bisect_left(scanned, start) - 1) : bisect_left(scanned, until)]
        backup = _busy(history.backups, start, end)
        due = time_given(mine, beside, start, end)
        off = (
            None if backup > 0 else _off(mine, due, TOLERANCE * (due - start) / (end - start), ends)
        )
        ran = any(run.start < end and _stop(run, end) >= start for run in mine)
        worked = sum(max(0.0, min(due, _stop(run, end)) - max(start, run.start)) for run in mine)
        share = min(1.0, worked / (due - start))
        result.append(Used(start, end, ran, off, _scanned(beside, start, end), backup, share))
    return result


def backed_up(found: Sequence[Used]) -> str | None:
    """What to say of backups in the last of these openings; None where few were."""
    least, of = BACKED_UP
    last = found[-of:]
    hit = [each.backup for each in last if each.backup >= IN_THE_WAY]
    if len(hit) < least:
        return None
    return (
        f"backups ran in {len(hit)} of the last {len(last)} openings of the window,"
        f" for {span(median(hit))} in the middle one of them"
    )


def restarts(found: Sequence[Used]) -> list[float]:
    """Moments up to which defragmentation kept to another window than the configured.

    Told by two openings in a row in which it stopped equally long before its time, or by two
    that tell anything in which it went on after it: one alone is a restart of the server or work
    by hand. A longer window before this one shows only where a pass did not end in between.
    """
    told = [each for each in found if each.off is not None]
    ran = [each for each in found if each.ran or each.off is not None]
    beyond = [(a, b) for a, b in pairwise(told) if min(a.off or 0.0, b.off or 0.0) > 0]
    before = [
        (a, b) for a, b in pairwise(ran) if a.off and b.off and abs(a.off - b.off) <= TOLERANCE
    ]
    moments = {later.end + max(0.0, later.off or 0.0) for _, later in (*beyond, *before)}
    return sorted(moments)


def time_given(runs: Sequence[Run], scans: Iterable[Run], start: float, end: float) -> float:
    """When the window stops defragmentation: in its middle where a scan follows (P1), else its end.

    Whether one follows is seen and not configured.
    """
    if not runs:
        return end
    stop = _stop(runs[-1], end)
    latest = max(end, stop + SAME_MOMENT)
    follows = any(stop - SAME_MOMENT <= scan.start < latest for scan in scans)
    return (start + end) / 2 if follows else end


def _off(
    runs: Sequence[Run], due: float, tolerance: float, completions: Sequence[float]
) -> float | None:
    """How far from its time the last of the runs stopped; 0: by little, None where nothing tells.

    A pass that completes before it leaves nothing to do, so its end tells nothing of the window.
    """
    if not runs or runs[-1].end is None:
        return None
    stop = runs[-1].end
    if stop <= due + tolerance and _near(completions, stop):
        return None
    return 0.0 if abs(stop - due) <= tolerance else stop - due


def _near(times: Sequence[float], time: float) -> bool:
    at = bisect_left(times, time - SAME_MOMENT)
    return at < len(times) and times[at] <= time + SAME_MOMENT


def _stop(run: Run, otherwise: float) -> float:
    return otherwise if run.end is None else run.end


def _scanned(scans: Iterable[Run], start: float, end: float) -> float:
    return sum(max(0.0, min(end, run.end or start) - max(start, run.start)) for run in scans)


def _busy(backups: Sequence[Backup], start: float, end: float) -> float:
    """Seconds of `backups`, which are sorted: an instance has one at a time."""
    first = bisect_right(backups, start, key=lambda each: each.ended)
    last = bisect_left(backups, end, key=lambda each: each.started)
    beside = backups[first:last]
    return sum(max(0.0, min(end, each.ended) - max(start, each.started)) for each in beside)
