"""Pages read and freed by online defragmentation, summed only where both were sampled.

What was read while freeing was not sampled is in no sum (semantics.md 6.1), nor the reverse: else a
counter that is missing for two nights makes the ratio higher. Growth waits by the hour until both
counters have passed it, in whatever order their columns and files are read; an hour in which one of
them alone was sampled is dropped.
"""

import math
from collections.abc import Iterable
from itertools import pairwise

from esewatch.fold.state import rollups
from esewatch.fold.state.rollups import HOUR_SECONDS, PAGES_FREED, PAGES_READ, Day
from esewatch.fold.state.state import Instance, Sampled

BOTH = (PAGES_READ, PAGES_FREED)
MAX_HOURS = 32 * 24
"""Hours that wait at most; of more the oldest is dropped, and what is older comes too late."""
SLACK = 900.0
"""The last samples of the two counters may be so far apart."""

ALIKE = 60.0
"""Seconds of an hour that one of them may miss: they are read one after the other."""

Stretch = tuple[float, float]


def note(instance: Instance, key: str, span: Stretch, growth: float, *, gap: bool) -> None:
    """Note a sample of one of both counters: its time, that of the sample before, what it grew in
    between, and whether that is too long to be known."""
    before, time = span
    sampled = instance.ratio.get(key)
    if sampled is None:
        sampled = instance.ratio[key] = Sampled(before, time)
    elif time < sampled.until:  # its clock was ahead
        sampled.gaps = [(begin, min(end, time)) for begin, end in sampled.gaps if begin < time]
    elif gap or before > sampled.until + SLACK:
        sampled.gaps = joined([*sampled.gaps, (sampled.until, time if gap else before)])
    sampled.until = time
    if growth:
        hour = _hour(before + (time - before) / 2 if gap else time)
        if hour > instance.paired_until:
            pair = instance.unpaired.setdefault(hour, [0.0, 0.0])
            pair[BOTH.index(key)] += growth
    if instance.unpaired:
        _settle(instance)


def days(instance: Instance) -> list[Day]:
    """The days of an instance, with the hours that wait and in which both were sampled."""
    rows = instance.days
    if instance.unpaired:
        rows = bytearray(rows)
        for hour, pair in sorted(instance.unpaired.items()):
            _count(instance, rows, hour, pair)
    return rollups.days(rows)


def alone(instance: Instance) -> list[Stretch]:
    """Times in which one of both was sampled, and the other one was not."""
    if not instance.ratio:
        return []
    edges = sorted(
        (time, by)
        for stretches, by in zip(_unsampled(instance), (1, -1), strict=True)
        for begin, end in stretches
        for time, by in ((begin, by), (end, -by))
    )
    found, open_ones = [], 0
    for (begin, by), (end, _) in pairwise(edges):
        open_ones += by
        if open_ones and end - begin > SLACK:
            found.append((begin, end))
    return found


def _unsampled(instance: Instance) -> list[list[Stretch]]:
    """Times in which pages read was not sampled, and those of pages freed."""
    return [_missing(instance.ratio.get(key)) for key in BOTH]


KEPT_GAPS = 128
"""Over four a day in the 28 days of the evidence."""


def joined(gaps: list[Stretch]) -> list[Stretch]:
    """At most `KEPT_GAPS` gaps: of more, without the samples between two of them, which are then
    one.

    Those with the shortest time between them, for how long ago it was: of a long time ago the
    nights between days of gaps are left, of late every sample. No gap is forgotten.
    """
    if len(gaps) <= KEPT_GAPS:
        return gaps
    latest = max(until for _, until in gaps)

    def between(at: int) -> float:
        end, begin = gaps[at][1], gaps[at + 1][0]
        return (begin - end) / (latest - begin)

    at = min(range(len(gaps) - 1), key=between)
    (since, until), (begin, end) = gaps[at : at + 2]
    return [*gaps[:at], (min(since, begin), max(until, end)), *gaps[at + 2 :]]


def _hour(time: float) -> int:
    """The hour that ends at this time, or in which it lies."""
    return math.ceil(time / HOUR_SECONDS) - 1


def _settle(instance: Instance) -> None:
    passed = min(_hour(each.until) for each in instance.ratio.values())
    waiting = instance.unpaired
    if len(instance.ratio) < len(BOTH):
        passed = -1
        if len(waiting) <= MAX_HOURS:
            return
    for hour in sorted(waiting):
        if hour >= passed and len(waiting) <= MAX_HOURS:
            break
        pair = waiting.pop(hour)
        if hour < passed:
            _count(instance, instance.days, hour, pair)
        instance.paired_until = max(instance.paired_until, hour)


def _count(instance: Instance, rows: bytearray, hour: int, pair: list[float]) -> None:
    begin = hour * HOUR_SECONDS
    read, freed = (_seconds(each, begin, begin + HOUR_SECONDS) for each in _unsampled(instance))
    if abs(read - freed) > ALIKE:
        return
    middle = begin + HOUR_SECONDS / 2
    for key, growth in zip(BOTH, pair, strict=True):
        if growth:
            rollups.add(rows, middle, rollups.FIELDS[key], growth)


def _missing(sampled: Sampled | None) -> list[Stretch]:
    if sampled is None:
        return [(-math.inf, math.inf)]
    return [(-math.inf, sampled.since), *sampled.gaps, (sampled.until + SLACK, math.inf)]


def _seconds(stretches: Iterable[Stretch], begin: float, end: float) -> float:
    return sum(max(0.0, min(high, end) - max(low, begin)) for low, high in stretches)
