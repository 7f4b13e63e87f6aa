"""Counters into totals: rates are integrated, running totals unwrapped (semantics.md 2).

A rate column is a formatted value over the time since the sample before; a
running total is 32 bit and starts again at 0 with its process.
"""

from math import isfinite
from statistics import median

from esewatch.fold.state import CounterState, Instance
from esewatch.model import Reading

KEPT_INTERVALS = 15
GAP_MEDIANS = 3.0
GAP_SECONDS = 15 * 60.0
"""An interval over max(3 x the column's median, 15 minutes) is not integrated."""

RANGE = 2.0**32
WRAP_BELOW = 0.1
"""A drop is a wrap only from the top tenth of the range to the lowest one, else a restart."""


def fold_reading(instance: Instance, reading: Reading) -> bool:
    """Take one sample in; False when it is not younger than the last one, or no number."""
    if not isfinite(reading.value):
        return False
    key = f"{reading.object}|{reading.counter}".lower()
    known = instance.counters.get(key)
    if known is None:
        instance.counters[key] = CounterState(
            kind=reading.kind, last_time=reading.time, last_value=reading.value
        )
        if reading.kind == "level":
            instance.levels[reading.metric] = reading.value
        else:
            instance.totals.setdefault(reading.metric, 0.0)
            if reading.kind == "total":
                instance.running_totals.add(reading.metric)
        return True
    if reading.time <= known.last_time:
        return False
    if reading.kind == "level":
        instance.levels[reading.metric] = reading.value
    elif reading.kind == "total":
        instance.totals[reading.metric] += grown(known.last_value, reading.value)
    elif reading.metric not in instance.running_totals:
        _integrate(instance, known, reading)
    interval = reading.time - known.last_time
    known.intervals = [*known.intervals[1 - KEPT_INTERVALS :], interval]
    known.last_time, known.last_value = reading.time, reading.value
    return True


def _integrate(instance: Instance, known: CounterState, reading: Reading) -> None:
    interval = reading.time - known.last_time
    usual = median(known.intervals) if known.intervals else 0.0
    if interval > max(GAP_MEDIANS * usual, GAP_SECONDS):
        instance.gap_seconds += interval
    else:
        instance.totals[reading.metric] += max(0.0, reading.value) * interval


def grown(before: float, after: float) -> float:
    """Growth of a 32-bit running total between two samples."""
    if after >= before:
        return after - before
    wrapped = before >= (1 - WRAP_BELOW) * RANGE and before < RANGE and after < WRAP_BELOW * RANGE
    return after + RANGE - before if wrapped else after
