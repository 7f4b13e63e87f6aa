"""Deduplication by record id, and gaps (semantics.md 2).

Record ids of one (computer, channel) are kept as interval sets, one for each
life of the log: a cleared log starts again at low ids with later times.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import pairwise

from esewatch.fold import hours_heard
from esewatch.fold.rollups import FURTHEST, HOUR_SECONDS
from esewatch.fold.state import Channel, Epoch, SourceState
from esewatch.model import Coverage

MAX_INTERVALS = 1024
MAX_EPOCHS = 16
MAX_GAPS = 64
MAX_HEARD = 128
DENSE_SECONDS = 60.0
"""A log with a record a minute on average is not silent for long."""
JITTER_SECONDS = 1.0
"""Neighbouring records may carry times in the other order by less than this."""

Intervals = list[tuple[int, int]]


def contains(intervals: Intervals, number: int) -> bool:
    """Whether `number` lies in one of the sorted disjoint closed intervals."""
    at = bisect_right(intervals, number, key=lambda item: item[0])
    return at > 0 and intervals[at - 1][1] >= number


def add(intervals: Intervals, first: int, last: int) -> None:
    """Add the closed range `first`..`last`, joining what touches it."""
    low = bisect_right(intervals, first, key=lambda item: item[0])
    if low > 0 and intervals[low - 1][1] >= first - 1:
        low -= 1
    high = low
    while high < len(intervals) and intervals[high][0] <= last + 1:
        first = min(first, intervals[high][0])
        last = max(last, intervals[high][1])
        high += 1
    intervals[low:high] = [(first, last)]


def admit(channel: Channel, record_id: int, time: float | None) -> bool:
    """Take note of one record; False when it was seen before."""
    epoch = _epoch_of(channel, record_id, time)
    if contains(epoch.seen, record_id):
        return False
    add(epoch.seen, record_id, record_id)
    _bound(channel, epoch.seen)
    if time is not None:
        epoch.max_time = max(epoch.max_time, time)
        _hear(channel.heard, time)
        hours_heard.note(channel.hours, time)
    return True


def cover(channel: Channel, coverage: Coverage) -> None:
    """Take note of a range that was read whole."""
    epoch = _epoch_of(channel, coverage.last, coverage.last_time, ours=coverage.first_time)
    add(epoch.seen, coverage.first, coverage.last)
    add(epoch.covered, coverage.first, coverage.last)
    _bound(channel, epoch.seen)
    _bound(channel, epoch.covered)
    epoch.start = min(epoch.start, coverage.first_time)
    epoch.max_time = max(epoch.max_time, coverage.last_time)
    channel.times.append((coverage.first_time, coverage.first, coverage.last_time, coverage.last))
    del channel.times[:-MAX_GAPS]
    _hear_range(channel, coverage)


def claim_gaps(channel: Channel) -> int:
    """Count the records missing between ranges that were read; each is claimed once.

    Called when the source has caught up: until then a file not read yet may
    still fill a hole.
    """
    missing = 0
    for epoch in channel.epochs:
        for (_, before), (after, _) in pairwise(epoch.covered):
            hole = (before + 1, after - 1)
            if _read_elsewhere(channel, epoch, *hole):
                continue
            new = _unclaimed(epoch.claimed, *hole)
            if new:
                missing += new
                add(epoch.claimed, *hole)
                _bound(channel, epoch.claimed)
                channel.gaps.append((*_hole_times(channel, epoch, before, after), new))
                del channel.gaps[:-MAX_GAPS]
    return missing


def claim_gaps_of(
    source: SourceState, known: Mapping[tuple[str, str], Channel]
) -> set[tuple[str, str]]:
    """Count what is missing in the channels of a source; the keys of those that changed."""
    changed = set()
    for key in source.channels:
        channel = known.get(key)
        if channel is not None and (missing := claim_gaps(channel)):
            source.missed += missing
            changed.add(key)
    return changed


def _read_elsewhere(channel: Channel, epoch: Epoch, first: int, last: int) -> bool:
    """Whether the hole is filled by records of other times: the server's clock was set back.

    They fill it exactly; ranges of another life of the log would not.
    """
    filled = 0
    for other in channel.epochs:
        if other is not epoch:
            filled += sum(
                high - low + 1 for low, high in other.covered if first <= low <= high <= last
            )
    return filled == last - first + 1


def _unclaimed(claimed: Intervals, first: int, last: int) -> int:
    taken = sum(
        max(0, min(last, high) - max(first, low) + 1) for low, high in claimed if low <= last
    )
    return last - first + 1 - taken


def _hole_times(channel: Channel, epoch: Epoch, before: int, after: int) -> tuple[float, float]:
    ends = [last_time for _, _, last_time, last in channel.times if last == before]
    begins = [first_time for first_time, first, _, _ in channel.times if first == after]
    return (ends[-1] if ends else epoch.start, begins[-1] if begins else epoch.max_time)


def _epoch_of(
    channel: Channel, record_id: int, time: float | None, ours: float | None = None
) -> Epoch:
    """The life of the log that a record belongs to; opens a new one when the log was cleared."""
    if not channel.epochs:
        begin = ours if ours is not None else time or 0.0
        channel.epochs.append(Epoch(start=begin, max_time=time or 0.0))
        return channel.epochs[0]
    newest = channel.epochs[-1]
    if time is None:
        return newest
    highest = newest.seen[-1][1] if newest.seen else 0
    if record_id <= highest and time > newest.max_time + JITTER_SECONDS:
        begin = ours if ours is not None else time
        channel.epochs.append(Epoch(start=max(begin, newest.max_time), max_time=time))
        del channel.epochs[:-MAX_EPOCHS]
        return channel.epochs[-1]
    for epoch in reversed(channel.epochs):
        if time >= epoch.start - JITTER_SECONDS:
            return epoch
    return _older(channel, record_id, time, ours if ours is not None else time)


def _older(channel: Channel, record_id: int, time: float, begin: float) -> Epoch:
    """Earlier than all that is known: lower ids are the same life, others an older one."""
    oldest = channel.epochs[0]
    if oldest.seen and record_id < oldest.seen[0][0]:
        oldest.start = min(begin, time)
        return oldest
    epoch = Epoch(start=begin, max_time=time)
    channel.epochs.insert(0, epoch)
    del channel.epochs[:-MAX_EPOCHS]
    return epoch


def _hear_range(channel: Channel, coverage: Coverage) -> None:
    """Its ends, and all of it where records are dense: else the log may have been silent."""
    heard, hours = channel.heard, channel.hours
    last, length = coverage.last_time, coverage.last_time - coverage.first_time
    hours_heard.note(hours, coverage.first_time)
    hours_heard.note(hours, last)
    _hear(heard, coverage.first_time)
    _hear(heard, last)
    if 0 < length <= DENSE_SECONDS * (coverage.last - coverage.first):
        hours_heard.note_all(hours, coverage.first_time, last)
        for back in range(1, int(min(length / HOUR_SECONDS, MAX_HEARD)) + 1):
            _hear(heard, last - back * HOUR_SECONDS)


def _hear(heard: list[float], time: float) -> None:
    """Take note that there is a record of this time; a damaged time is none."""
    if not abs(time) < FURTHEST:
        return
    hour = time // HOUR_SECONDS
    at = bisect_left(heard, (hour + 1) * HOUR_SECONDS)
    if at > 0 and heard[at - 1] >= hour * HOUR_SECONDS:
        heard[at - 1] = max(heard[at - 1], time)
    elif at > 0 or len(heard) < MAX_HEARD:
        heard.insert(at, time)
        del heard[:-MAX_HEARD]


def _bound(channel: Channel, intervals: Intervals) -> None:
    """Join the two oldest intervals when there are too many; what lay between counts as seen."""
    while len(intervals) > MAX_INTERVALS:
        intervals[0:2] = [(intervals[0][0], intervals[1][1])]
        channel.merges += 1
