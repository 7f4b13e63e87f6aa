"""Counter readings into totals and levels (semantics.md 2).

A rate column is a formatted value over the time since the sample before: it is integrated. A
running total starts again with its process, a 32-bit one also when it wraps: its growth is summed.
So is that of a position, which says nothing where it falls. A level is the latest value.

A sample that is older than the last one counts nothing: it was read before, or another log has it.
But where the last one was of a clock that was ahead, it is a new baseline.

Pages read and freed by online defragmentation are summed by day only where both were sampled
(semantics.md 6.1): else a counter that is missing for two nights makes the ratio higher. Growth
waits by the hour until both counters have passed it, in whatever order their columns and files are
read; an hour in which one of them alone was sampled is dropped.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from math import inf, isfinite
from statistics import median

from esewatch.fold.state import rollups
from esewatch.fold.state.rollups import HOUR_SECONDS, PAGES_FREED, PAGES_READ, Day
from esewatch.fold.state.state import (
    CounterState,
    Host,
    Instance,
    Level,
    Metered,
    Sampled,
    series,
)
from esewatch.model import Feed, Reading

KEPT_INTERVALS = 15
KEPT_COLUMNS = 4096
"""Columns of an owner: a server of Exchange has a few dozen for each of its store processes."""
GAP_MEDIANS = 3.0
GAP_SECONDS = 15 * 60.0
"""An interval over max(3 x the column's median, 15 minutes) is not integrated."""

COUNT_SECONDS = 2 * 3600.0
"""For so long a running count may be missing beside rates: it may be read each hour. Behind it
rates count again; what lies between is a gap."""
STORED = "|stored"
"""Behind the name of a column whose samples are the totals that a binary log stores."""

RANGE = 2.0**32
MOST = 2.0**64
"""No counter of Windows is larger. None is negative."""
WRAP_BELOW = 0.1
"""A drop is a wrap only from the top tenth of the range to the lowest one, else a restart."""


def fold_reading(metered: Metered, reading: Reading, feed: Feed, until: float = inf) -> bool:
    """Fold one sample; False when it is not younger than the last one, or no number.

    `until` is the latest possible time: a last sample beyond it was of a clock that was ahead.
    The growth of an instance's totals is also counted in its days (`fold.rollups`), so that the
    days sum up to the totals.
    """
    stored = reading.kind == "total" and reading.raw is not None
    value = float(reading.raw) if stored and reading.raw is not None else reading.value
    if not isfinite(value) or (feed.absolute and not value):
        return False
    key = series(feed.metric, feed.labels)
    if reading.kind == "level":
        return _fold_level(metered, key, reading.time, value * feed.scale, until)
    if not 0 <= value <= MOST:
        return False
    column = _column(reading.object, reading.counter, reading.instance)
    if not _is_next(metered, column, key, reading.time, until, stored=stored):
        return False
    column += STORED if stored else ""
    known = metered.counters.get(column)
    if known is None:
        return _begin(metered, column, key, reading, value)
    if known.jump == _left_aside(reading.time):
        return False
    if reading.time > known.last_time:
        if known.is_count and reading.kind == "rate" and _is_counted(metered, key, known, reading):
            return True
        growth = _growth(metered, key, known, reading, value, feed=feed)
    elif known.is_count and reading.kind == "rate" and known.last_time <= until:
        return False
    elif (since := _since_baseline(known, reading, value, until)) is not None:
        growth = since
        known.jump = _left_aside(known.last_time)
        _end_gap(metered, reading.time)
    else:
        return False
    span = (known.last_time, reading.time)
    if growth:
        _add(metered, key, span, growth * feed.scale)
    if key in rollups.RATIO and isinstance(metered, Instance):
        gap = known.jump == span and (reading.kind == "rate" or span[1] - span[0] > COUNT_SECONDS)
        note_pair(metered, key, span, growth * feed.scale, gap=gap)
    known.last_time, known.last_value = reading.time, value
    known.is_count = reading.kind == "total"
    if known.is_count:
        metered.total_times[key] = reading.time
    return True


@lru_cache(8192)
def _column(object_name: str, counter: str, instance: str) -> str:
    return f"{object_name}|{counter}|{instance}".lower()


def _is_counted(metered: Metered, key: str, known: CounterState, reading: Reading) -> bool:
    """True if a rate says what the running count counts that is in the same column. That goes
    before, until it is missing for so long that it is not written any more."""
    if reading.time <= metered.total_times.get(key, known.last_time) + COUNT_SECONDS:
        return True
    known.is_count = False
    metered.running_totals.discard(key)
    return False


def _begin(metered: Metered, column: str, key: str, reading: Reading, value: float) -> bool:
    """Note the first sample of a column: it is the baseline. False beyond the limit of columns."""
    if len(metered.counters) >= KEPT_COLUMNS:
        return False
    metered.counters[column] = CounterState(reading.time, value, is_count=reading.kind == "total")
    metered.totals.setdefault(key, 0.0)
    if reading.kind == "total":
        metered.running_totals.add(key)
        metered.total_times[key] = reading.time
    if isinstance(metered, Instance):
        _sampled(metered, key, reading.time)
        if key in rollups.RATIO and key not in metered.ratio:
            metered.ratio[key] = Sampled(reading.time, reading.time)
    return True


def _add(metered: Metered, key: str, interval: tuple[float, float], growth: float) -> None:
    """Count growth, of an instance also in the day in which the interval ends."""
    metered.totals[key] += growth
    field = rollups.FIELDS.get(key)
    if field is not None and isinstance(metered, Instance):
        if metered.sampled_since is None:
            # A journal of an earlier version: here its days begin.
            _sampled(metered, key, interval[0])
        if key not in rollups.RATIO:
            rollups.add(metered.days, interval[1], field, growth)


def _growth(
    metered: Metered, key: str, known: CounterState, reading: Reading, value: float, *, feed: Feed
) -> float:
    """Growth since the sample before, in units of the counter."""
    interval = reading.time - known.last_time
    is_gap = interval > GAP_SECONDS and interval > GAP_MEDIANS * median(known.intervals or (0.0,))
    if is_gap:
        known.jump = (known.last_time, reading.time)
    if feed.absolute:
        return value - known.last_value if 0.0 < known.last_value < value else 0.0
    if reading.kind == "total":
        if key in metered.running_totals and _holds_count(known):
            return grown(known.last_value, value, wraps=feed.wraps)
        # The rates have counted since its last sample, or the last one was a rate.
        metered.running_totals.add(key)
        return 0.0
    known.intervals = [*known.intervals[1 - KEPT_INTERVALS :], interval]
    if key in metered.running_totals:
        counted = metered.total_times.setdefault(key, known.last_time)
        if known.last_time <= counted + COUNT_SECONDS:
            return 0.0
        metered.running_totals.discard(key)
        _note_gap(metered, counted, known.last_time)
    if not is_gap:
        return max(0.0, reading.value) * interval
    _note_gap(metered, known.last_time, reading.time)
    return 0.0


def _since_baseline(
    known: CounterState, reading: Reading, value: float, until: float
) -> float | None:
    """Growth up to an older sample where the last one was of a clock ahead; None: it was not."""
    is_total = reading.kind == "total"
    # A total that fell is of a restart, or of another log that has these hours.
    jump = None if is_total and value < known.last_value else known.jump
    if not _was_ahead(known.last_time, jump, reading.time, until):
        return None
    return max(0.0, value - known.last_value) if is_total and _holds_count(known) else 0.0


def _holds_count(known: CounterState) -> bool:
    return not known.intervals if known.is_count is None else known.is_count


def _was_ahead(last: float, jump: tuple[float, float] | None, time: float, until: float) -> bool:
    """Was the clock of the last sample ahead, as an older one of `time` shows? A clock that was set
    back goes on about where it jumped ahead, later by what has passed."""
    if last > until:
        return True
    if jump is None:
        return False
    since, ahead = jump
    return since + last - ahead < time < ahead


def _left_aside(time: float) -> tuple[float, float]:
    """In the place of a jump: `time` was the last of a clock ahead, and is not folded again."""
    return (time, time)


def _is_next(
    metered: Metered, column: str, key: str, time: float, until: float, *, stored: bool
) -> bool:
    """Does a sample go on where the other form of its counter ended, if there was one?

    A log in text has the rate of a counter, a binary one the total behind it. What one of them
    counted is not counted again. The stored total goes before, until it is missing for so
    long that it is not written any more.
    """
    formatted, total = metered.counters.get(column), metered.counters.get(column + STORED)
    if stored:
        if formatted is not None and time <= formatted.last_time <= until:
            return False
        metered.counters.pop(column, None)
    elif total is not None:
        if time <= total.last_time + COUNT_SECONDS and total.last_time <= until:
            return False
        del metered.counters[column + STORED]
        metered.running_totals.discard(key)
        if total.last_time <= until:
            _note_gap(metered, total.last_time, time)
    return True


def _sampled(instance: Instance, key: str, time: float) -> None:
    if key in rollups.RATIO and instance.totals.keys() >= rollups.RATIO:
        since = instance.sampled_since
        instance.sampled_since = time if since is None else min(since, time)


def _note_gap(metered: Metered, since: float, until: float) -> None:
    """Count what is left of an interval behind the latest gap, and keep its place."""
    since = max(since, metered.gap_until)
    if since >= until:
        return
    metered.gap_seconds += until - since
    metered.gap_until = until
    gaps = metered.gaps
    if gaps and gaps[-1][1] == since:
        since = gaps.pop()[0]
    metered.gaps = joined_gaps([*gaps, (since, until)])


def _end_gap(metered: Metered, time: float) -> None:
    """A gap up to the time of a clock that was ahead ends with the next sample."""
    gaps = metered.gaps
    if gaps and gaps[-1][0] < time < gaps[-1][1]:
        metered.gaps = [*gaps[:-1], (gaps[-1][0], time)]
    metered.gap_until = min(metered.gap_until, time)


def fresh_until(level: Level) -> float:
    """The time until which a level is shown: a gap in the samples hides it."""
    return level.time + max(GAP_MEDIANS * level.interval, GAP_SECONDS)


def current(level: Level, now: float) -> float | None:
    return level.value if now <= fresh_until(level) else None


def _fold_level(metered: Metered, key: str, time: float, value: float, until: float) -> bool:
    known = metered.levels.get(key)
    if known is None:
        metered.levels[key] = Level(value, time)
    elif known.jump == _left_aside(time):
        return False
    elif time > known.time:
        interval = time - known.time
        jump = known.jump
        if time > fresh_until(known):
            jump = (known.time, time)
            interval = _interval_after_silence(known, interval)
        metered.levels[key] = Level(value, time, interval, jump)
    elif _was_ahead(known.time, known.jump, time, until):
        metered.levels[key] = Level(value, time, jump=_left_aside(known.time))
    else:
        return False
    if key == rollups.LATENCY and isinstance(metered, Host):
        rollups.add_sample(metered.rpc_latency, time, value)
    return True


_LONGEST_USUAL = 3600.0
"""Between two samples, as far as one interval alone can tell."""


def _interval_after_silence(known: Level, silence: float) -> float:
    """One silence says nothing of how often it is sampled; two in a row do."""
    if known.jump is not None and known.jump[1] == known.time:
        return min(silence, known.jump[1] - known.jump[0])
    return known.interval or min(silence, _LONGEST_USUAL)


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
    return after + RANGE - before if wrapped else max(0.0, after)


BOTH = (PAGES_READ, PAGES_FREED)
MAX_HOURS = 32 * 24
"""Hours that wait at most; of more the oldest is dropped, and what is older comes too late."""
SLACK = 900.0
"""The last samples of the two counters may be so far apart."""

ALIKE = 60.0
"""Seconds of an hour that one of them may miss: they are read one after the other."""

Stretch = tuple[float, float]


def note_pair(instance: Instance, key: str, span: Stretch, growth: float, *, gap: bool) -> None:
    """Note a sample of one of both counters: its time, that of the sample before, what it grew in
    between, and whether that is too long to be known."""
    before, time = span
    sampled = instance.ratio.get(key)
    if sampled is None:
        sampled = instance.ratio[key] = Sampled(before, time)
    elif time < sampled.until:  # its clock was ahead
        sampled.gaps = [(begin, min(end, time)) for begin, end in sampled.gaps if begin < time]
    elif gap or before > sampled.until + SLACK:
        sampled.gaps = joined_gaps([*sampled.gaps, (sampled.until, time if gap else before)])
    sampled.until = time
    if growth:
        hour = _hour(before + (time - before) / 2 if gap else time)
        if hour > instance.paired_until:
            pair = instance.unpaired.setdefault(hour, [0.0, 0.0])
            pair[BOTH.index(key)] += growth
    if instance.unpaired:
        _settle(instance)


def paired_days(instance: Instance) -> list[Day]:
    """The days of an instance, with the hours that wait and in which both were sampled."""
    rows = instance.days
    if instance.unpaired:
        rows = bytearray(rows)
        for hour, pair in sorted(instance.unpaired.items()):
            _count(instance, rows, hour, pair)
    return rollups.days(rows)


def sampled_alone(instance: Instance) -> list[Stretch]:
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
    return [_missing(instance.ratio.get(key)) for key in BOTH]


KEPT_GAPS = 128
"""Over four a day in the 28 days of the evidence."""


def joined_gaps(gaps: list[Stretch]) -> list[Stretch]:
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
