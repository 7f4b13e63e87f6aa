"""Counters into totals and levels (semantics.md 2).

A rate column is a formatted value over the time since the sample before: it is
integrated. A running total starts again with its process, one of 32 bits also when
it is full: its growth is summed. A level is the latest value.
"""

from math import isfinite
from statistics import median

from esewatch.fold.state import CounterState, Level, Metered, series
from esewatch.model import Feed, Reading

KEPT_INTERVALS = 15
GAP_MEDIANS = 3.0
GAP_SECONDS = 15 * 60.0
"""An interval over max(3 x the column's median, 15 minutes) is not integrated."""

RANGE = 2.0**32
WRAP_BELOW = 0.1
"""A drop is a wrap only from the top tenth of the range to the lowest one, else a restart."""


def fold_reading(metered: Metered, reading: Reading, feed: Feed) -> bool:
    """Take one sample in; False when it is not younger than the last one, or no number."""
    if not isfinite(reading.value):
        return False
    key = series(feed.metric, feed.labels)
    if reading.kind == "level":
        return _fold_level(metered, key, reading.time, reading.value * feed.scale)
    column = f"{reading.object}|{reading.counter}|{reading.instance}".lower()
    known = metered.counters.get(column)
    if known is None:
        metered.counters[column] = CounterState(reading.time, reading.value)
        metered.totals.setdefault(key, 0.0)
        if reading.kind == "total":
            metered.running_totals.add(key)
        return True
    if reading.time <= known.last_time:
        return False
    if reading.kind == "total":
        grew = grown(known.last_value, reading.value, wraps=feed.wraps)
        metered.totals[key] += grew * feed.scale
    else:
        interval = reading.time - known.last_time
        if key not in metered.running_totals:
            usual = median(known.intervals) if known.intervals else 0.0
            if interval <= max(GAP_MEDIANS * usual, GAP_SECONDS):
                metered.totals[key] += max(0.0, reading.value) * feed.scale * interval
            elif reading.time > metered.gap_until:
                metered.gap_seconds += reading.time - max(known.last_time, metered.gap_until)
                metered.gap_until = reading.time
        known.intervals = [*known.intervals[1 - KEPT_INTERVALS :], interval]
    known.last_time, known.last_value = reading.time, reading.value
    return True


def fresh_until(level: Level) -> float:
    """Until when a level is shown: a gap in the samples hides it."""
    return level.time + max(GAP_MEDIANS * level.interval, GAP_SECONDS)


def current(level: Level, now: float) -> float | None:
    """The value of a level while it is fresh."""
    return level.value if now <= fresh_until(level) else None


def _fold_level(metered: Metered, key: str, time: float, value: float) -> bool:
    known = metered.levels.get(key)
    if known is None:
        metered.levels[key] = Level(value, time)
        return True
    if time <= known.time:
        return False
    metered.levels[key] = Level(value, time, time - known.time)
    return True


def grown(before: float, after: float, *, wraps: bool = True) -> float:
    """Growth of a running total between two samples; `wraps`: it has 32 bits."""
    if after >= before:
        return after - before
    wrapped = (
        wraps
        and before >= (1 - WRAP_BELOW) * RANGE
        and before < RANGE
        and after < WRAP_BELOW * RANGE
    )
    return after + RANGE - before if wrapped else after
