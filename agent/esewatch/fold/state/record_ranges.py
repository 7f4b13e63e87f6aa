"""Ranges of record ids with the times of their records: the place of a record in its log.

Numbers and times of one life of a log rise together, so that a range is a small box on a
rising line: the ids of another life lie in other boxes. Lists of ranges are sorted, no two of
one list share an id.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

import msgspec

MOST_SECONDS = 2 * 3600.0
"""A later record may be earlier by this much: a clock that was set back begins no other epoch."""
MOST_RECORDS = 1024
"""Numbers further apart, of about one time, are of two lives of the log: it was cleared."""


class Range(msgspec.Struct, array_like=True, gc=False):
    """Record ids `first`..`last`, all known, and the earliest and latest of their known times."""

    first: int
    last: int
    early: float
    late: float


def find(ranges: Sequence[Range], number: int) -> Range | None:
    if not ranges or number > ranges[-1].last:
        return None
    at = bisect_right(ranges, number, key=attrgetter("first"))
    return ranges[at - 1] if at and ranges[at - 1].last >= number else None


def overlapped(ranges: Sequence[Range], new: Range) -> slice:
    if not ranges or new.first > ranges[-1].last:
        return slice(len(ranges), len(ranges))
    begin = bisect_left(ranges, new.first, key=attrgetter("last"))
    return slice(begin, bisect_right(ranges, new.last, begin, key=attrgetter("first")))


def insert(ranges: list[Range], new: Range) -> None:
    where = overlapped(ranges, new)
    ranges[where] = [union([new, *ranges[where]])]


def union(ranges: Sequence[Range]) -> Range:
    return Range(
        min(each.first for each in ranges),
        max(each.last for each in ranges),
        min(each.early for each in ranges),
        max(each.late for each in ranges),
    )


def pause(before: Range, after: Range) -> float:
    """Seconds between the records of two ranges, 0 where their times overlap."""
    return max(0.0, after.early - before.late, before.early - after.late)


def join(ranges: list[Range], places: Collection[int]) -> None:
    for place in sorted(places, reverse=True):
        before, after = ranges[place], ranges[place + 1]
        ranges[place] = Range(
            before.first,
            before.last if before.last > after.last else after.last,
            before.early if before.early < after.early else after.early,
            before.late if before.late > after.late else after.late,
        )
        del ranges[place + 1]


def unbroken(ranges: Iterable[Range], set_back: float, jitter: float) -> list[Range]:
    """Merge ranges with those that continue where they end, sorted by time.

    The next one may begin `set_back` seconds before the end of the one before; one that shares ids
    with it lies within `jitter` seconds. Where several lives of a log have a number, the one
    nearest in time continues it.
    """

    def goes_on(run: Range, after: Range) -> bool:
        if run.last < after.first:
            return after.early >= run.late - set_back
        return pause(run, after) <= jitter

    runs: list[Range] = []
    reached: list[Range] = []
    for each in sorted(ranges, key=lambda each: (each.first, each.early)):
        reached = [run for run in reached if run.last >= each.first - 1]
        before = [run for run in reached if goes_on(run, each)]
        run = min(before, key=lambda run: pause(run, each), default=None)
        if run is None:
            run = msgspec.structs.replace(each)
            runs.append(run)
            reached.append(run)
        else:
            run.last = max(run.last, each.last)
            run.early, run.late = min(run.early, each.early), max(run.late, each.late)
    return sorted(runs, key=lambda run: (run.early, run.first))
