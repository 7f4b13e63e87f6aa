"""Work of past whole passes, scaled to the present size of their database."""

from bisect import bisect_left
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from esewatch.advice.history.ledger import Gap
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.state import Pass

DAY = 86400.0
LATEST_PASSES = 16
"""Older passes ran on other disks and another database."""
LONGEST = 100 * 365 * DAY
"""Seconds: a longer time of work is damaged data."""
MOST = 2.0**63
_LEAST_DAYS = 7
"""Days that sizes must span before growth is computed."""


class CompletedPass(NamedTuple):
    """One completed pass: its seconds, and the pages it saw (a scan only)."""

    seconds: float
    wall: bool
    """Seconds from start to end (732, 735, 737), not of work (semantics.md 2)."""
    ended: float
    pages: int | None


def whole_passes(
    passes: Sequence[Pass],
    runs: Sequence[Run],
    gaps: Sequence[Gap] = (),
) -> list[CompletedPass]:
    """The latest completed passes whose seconds are known, oldest first, all of one clock.

    Seconds that the engine did not log (701 and 703 before Exchange 2007 SP1) are the sum of the
    `runs`, unless records were missed meanwhile (`gaps`). Where work and wall seconds are mixed,
    the clock of the latest pass decides. Partial passes do not count.
    """
    found: list[CompletedPass] = []
    for each in passes:
        if each.outcome != "completed" or each.partial or each.ended is None:
            continue
        seconds = each.work_seconds if each.wall_seconds is None else each.wall_seconds
        if seconds is None and each.started is not None:
            seconds = _from_runs(each.started, each.ended, runs, gaps)
        if seconds is not None and 0 <= seconds <= LONGEST:
            wall = each.wall_seconds is not None
            # The engine cuts off the fraction of a second.
            found.append(CompletedPass(seconds + 0.5, wall, each.ended, each.pages_seen))
    return [each for each in found if each.wall == found[-1].wall][-LATEST_PASSES:]


def worked(runs: Sequence[Run], since: float, until: float) -> float:
    """Seconds of `runs` between two times; a running one lasts to `until`."""
    return sum(
        max(0.0, min(until if run.end is None else run.end, until) - max(run.start, since))
        for run in runs
    )


def seconds_now(
    wholes: Sequence[CompletedPass], pages: float | None, sizes: Sequence[tuple[int, float]]
) -> list[float]:
    """The seconds each of `wholes` would take at the present size.

    `pages` are those of the database now, `sizes` (day since the epoch, bytes) by day. A scan is
    scaled to `pages` by the pages it saw, other work by the bytes of its day; without them it is
    taken as it was.
    """
    known = [each for each in sizes if is_amount(each[1])]
    return [each.seconds * _grown(each, pages, known) for each in wholes]


def growth(sizes: Sequence[tuple[int, float]]) -> float | None:
    """Bytes a day: the median of the slopes between days half the time apart. None where `sizes`
    (day, bytes; oldest first) span less than a week."""
    sizes = [each for each in sizes if is_amount(each[1])]
    if not sizes or sizes[-1][0] - sizes[0][0] < _LEAST_DAYS:
        return None
    apart = (sizes[-1][0] - sizes[0][0]) / 2
    days = [day for day, _ in sizes]
    slopes = []
    for day, size in sizes:
        later = bisect_left(days, day + apart)
        if later < len(sizes):
            slopes.append((sizes[later][1] - size) / (sizes[later][0] - day))
    return median(slopes)


def _from_runs(
    started: float, ended: float, runs: Sequence[Run], gaps: Sequence[Gap]
) -> float | None:
    if any(first < ended and last > started for first, last, _ in gaps):
        return None
    return worked(runs, started, ended) or None


def _grown(whole: CompletedPass, pages: float | None, sizes: Sequence[tuple[int, float]]) -> float:
    if is_amount(whole.pages) and is_amount(pages):
        return (pages or 0.0) / (whole.pages or 1.0)
    if not sizes:
        return 1.0
    # Without a size of that day the next one: growth before the first is not known.
    place = bisect_left(sizes, whole.ended / DAY - 0.5, key=lambda item: item[0])
    then, today = sizes[min(place, len(sizes) - 1)][1], sizes[-1][1]
    return today / then


def is_amount(value: float | None) -> bool:
    """True if it is a number of pages or bytes that a database can have."""
    return value is not None and 0 < value <= MOST
