"""Past nights of a window, and the work of online defragmentation in each."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from esewatch.advice.base.finding import span
from esewatch.advice.history.history import History
from esewatch.config.calendar import CALENDAR, next_opening
from esewatch.fold.instances.backups import LONGEST, Stretch
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.state import Pass

TOLERANCE = 600.0
"""Defragmentation may begin or stop this much beside the window's times and still keep to it. Less
than the quarter of an hour by which windows are changed."""
EARLY = 1800.0
"""Seconds before its time; more is an early stop (semantics.md 7)."""
MOVED = 0.5
"""Share of its length by which an opening may lie beside its hours: a clock was changed."""
SAME_MOMENT = 60.0
BACKED_UP = (3, 7)
"""Backups in this many of this many openings are in the way."""
IN_THE_WAY = 900.0
"""Seconds for which online defragmentation waits for a backup before it counts."""


class Used(NamedTuple):
    """The usage of one opening of the window; epoch seconds."""

    start: float
    end: float
    ran: bool
    off: float | None
    """Seconds by which its runs stopped after the time that the configured window gives them
    (before: below 0). 0: they kept to that time. None: unknown."""
    scanned: float
    """Seconds of database scan."""
    backup: float
    """Seconds of it during which a backup of the instance ran."""
    hindered: bool = False
    """A backup stopped its maintenance, or kept online defragmentation waiting."""
    share: float = 1.0
    """The share of the defragmentation's time that was used: a pass that ends leaves the rest of
    the night."""


def openings_used(history: History, runs: Sequence[Run], since: float, now: float) -> list[Used]:
    """The openings from `since` to `now`, oldest first; none where no window is configured.

    `runs` are those of online defragmentation, sorted. A window is a start and a duration: an
    opening in which they began beside the start and lasted as long is moved to where it was.
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
    afters = [*(start for start, _ in found[1:]), opening.start]
    scans = [run for run in history.scan_runs if run.end is not None]
    scanned = [run.start for run in scans]
    completed = _completions(history.defrag_passes)
    stops = (stopped for stopped, _ in history.off)
    ends = sorted([*completed, *history.failures, *stops])
    scan_ends = _completions(history.checksum_passes)
    backups = backup_spans(history)
    result: list[Used] = []
    for (start, end), after in zip(found, afters, strict=True):
        early = max(TOLERANCE, MOVED * min(end - start, after - end))
        first, last = (bisect_left(starts, each - early) for each in (start, after))
        mine = runs[first:last]
        until = max([after, *(_stop(run, end) for run in mine)]) + SAME_MOMENT
        beside = scans[max(0, bisect_left(scanned, start) - 1) : bisect_left(scanned, until)]
        moved = _moved(mine, beside, (start, end), ends)
        start, end = start + moved, end + moved
        low, high = (bisect_left(backups, (each,)) for each in (start - LONGEST, end + 1.0))
        near = backups[low:high]
        backup = _busy(near, start, end)
        due = time_given(mine, beside, start, end)
        off = None if backup > 0 else _off(mine, due, _tolerance(due, start, end), ends)
        defrag, scan = _Work(mine, due, completed), _Work(beside, end, scan_ends)
        stopped = backup > 0 and any(_stopped(start, each, near) for each in (defrag, scan))
        hindered = stopped or (backup > 0 and _waited(start, defrag, near) >= IN_THE_WAY)
        ran = any(run.start < end and _stop(run, end) >= start for run in mine)
        worked = sum(max(0.0, min(due, _stop(run, end)) - max(start, run.start)) for run in mine)
        share = min(1.0, worked / (due - start))
        seconds = sum(
            max(0.0, min(end, _stop(run, start)) - max(start, run.start)) for run in beside
        )
        result.append(Used(start, end, ran, off, seconds, backup, hindered, share))
    return result


def backup_spans(history: History) -> list[Stretch]:
    """Times of the backups of its instance, whether they completed or not; sorted."""
    completed = ((each.started, each.ended) for each in history.backups)
    return sorted({*completed, *history.backup_spans})


def backed_up(found: Sequence[Used]) -> str | None:
    """The sentence about backups in the last of these windows; None where few were."""
    least, of = BACKED_UP
    last = found[-of:]
    hit = [each.backup for each in last if each.hindered]
    if len(hit) < least:
        return None
    return (
        f"backups stopped or delayed online maintenance in {len(hit)} of the last {len(last)}"
        f" windows, in each of which they ran for {span(median(hit))} (median)"
    )


def restarts(found: Sequence[Used]) -> dict[float, float]:
    """Moments up to which defragmentation kept to another window than the configured one.

    With the seconds by which it stopped after its time, or before (below 0). Shown by two
    conclusive openings in a row in which it went on after its time, or by two in which it stopped
    equally long before it, three behind one that kept to it: fewer are restarts of the server or
    work by hand. A longer window before this one shows only where a pass did not end in between, a
    shorter one once two later nights kept to their time: until then, and by less than half an
    hour, they are those of this window (`stops_early` tells of them).
    """
    told = [each for each in found if each.off is not None]
    later = [b for a, b in pairwise(told) if min(a.off or 0.0, b.off or 0.0) > 0]
    for nights in _equally_early([each for each in found if each.ran or each.off is not None]):
        at = told.index(nights[0])
        least = 3 if at and told[at - 1].off == 0.0 else 2
        is_over = sum(each.off == 0.0 for each in told[told.index(nights[-1]) :]) >= 2
        is_short = min(each.off or 0.0 for each in nights) < -EARLY
        if len(nights) >= least and is_over and is_short:
            later += nights[1:]
    return {each.end + max(0.0, each.off or 0.0): each.off or 0.0 for each in later}


def _equally_early(ran: Sequence[Used]) -> list[list[Used]]:
    """Openings in a row, of those in which it ran, that stopped equally long before their time."""
    found: list[list[Used]] = []
    before: float | None = None
    for each in ran:
        early = each.off if each.off is not None and each.off < 0.0 else None
        if early is not None and before is not None and abs(before - early) <= TOLERANCE:
            found[-1].append(each)
        elif early is not None:
            found.append([each])
        before = early
    return found


def time_given(runs: Sequence[Run], scans: Iterable[Run], start: float, end: float) -> float:
    """End of defragmentation by the window: in its middle where a scan follows (P1), else its end.
    Whether one follows is observed and not configured."""
    if not runs:
        return end
    stop = _stop(runs[-1], end)
    latest = max(end, stop + SAME_MOMENT)
    follows = any(stop - SAME_MOMENT <= scan.start < latest for scan in scans)
    return (start + end) / 2 if follows else end


def _off(
    runs: Sequence[Run], due: float, tolerance: float, endings: Sequence[float]
) -> float | None:
    """The time by which the last of the runs missed its end; 0: by little, None where unknown.

    `endings` are the times at which passes completed or failed, or the instance stopped: a run that
    such an ending stopped before its time shows nothing of the window.
    """
    if not runs or runs[-1].end is None:
        return None
    stop = runs[-1].end
    if stop <= due + tolerance and _near(endings, stop):
        return None
    return 0.0 if abs(stop - due) <= tolerance else stop - due


def _tolerance(due: float, start: float, end: float) -> float:
    return TOLERANCE * (due - start) / (end - start)


def _moved(
    runs: Sequence[Run], scans: Sequence[Run], opening: Stretch, endings: Sequence[float]
) -> float:
    """The shift of the opening beside its hours; 0 where nothing shows one."""
    start, end = opening
    if not runs or runs[-1].end is None:
        return 0.0
    moved, stop = runs[0].start - start, runs[-1].end
    if not TOLERANCE < abs(moved) <= MOVED * (end - start):
        return 0.0
    due = time_given(runs, scans, start, end)
    off = _off(runs, due, _tolerance(due, start, end), endings)
    if off is None:
        # The pass completed or failed, or was stopped: only its begin shows the window.
        return min(0.0, moved)
    due = time_given(runs, scans, start + moved, end + moved)
    tolerance = _tolerance(due, start + moved, end + moved)
    return moved if off and abs(stop - due) <= tolerance else 0.0


class _Work(NamedTuple):
    """The work of a task in an opening: its runs, the end of its time, and the ends of its
    passes."""

    runs: Sequence[Run]
    due: float
    completions: Sequence[float]


def _stopped(start: float, work: _Work, backups: Sequence[Stretch]) -> bool:
    return any(
        run.end is not None
        and start - SAME_MOMENT <= run.end < work.due - TOLERANCE
        and any(low - SAME_MOMENT <= run.end <= high + SAME_MOMENT for low, high in backups)
        and not _near(work.completions, run.end)
        for run in work.runs
    )


def _waited(start: float, work: _Work, backups: Sequence[Stretch]) -> float:
    """Seconds of its time in which a backup ran and it did not, with a pass to be gone on with."""
    waited = 0.0
    for begin, over in backups:
        low, high = max(begin, start), min(over, work.due)
        if low < high and not any(start <= each <= high for each in work.completions):
            worked = (min(high, _stop(run, high)) - max(low, run.start) for run in work.runs)
            waited += high - low - sum(max(0.0, each) for each in worked)
    return waited


def _completions(passes: Iterable[Pass]) -> list[float]:
    return sorted(
        done.ended for done in passes if done.ended is not None and done.outcome == "completed"
    )


def _near(times: Sequence[float], time: float) -> bool:
    at = bisect_left(times, time - SAME_MOMENT)
    return at < len(times) and times[at] <= time + SAME_MOMENT


def _stop(run: Run, otherwise: float) -> float:
    return otherwise if run.end is None else run.end


def _busy(backups: Iterable[Stretch], start: float, end: float) -> float:
    """Seconds of `backups`, which are sorted; those that ran side by side count once."""
    seconds, reached = 0.0, start
    for begin, over in backups:
        low, high = max(begin, reached), min(over, end)
        if low < high:
            seconds += high - low
            reached = high
    return seconds
