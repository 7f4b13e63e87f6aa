"""Deduplication by record id and time (semantics.md 2).

A record is known where its id and its time fit a known one. The record ids of one (computer,
channel) are kept by epochs, in each of which ids and times rise together: a cleared log starts
again at low ids with later times. A record that fits no epoch opens one, so that the order of
arrival makes no difference. An epoch need not be one life of the log: ids that a later life did not
reach yet may stand behind those of an earlier one.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop
from itertools import pairwise

from esewatch.fold.channels import hearing, set_back
from esewatch.fold.state.record_ranges import (
    MOST_RECORDS,
    MOST_SECONDS,
    Range,
    find,
    insert,
    join,
    overlapped,
    pause,
    unbroken,
    union,
)
from esewatch.fold.state.rollups import FURTHEST, HOUR_SECONDS
from esewatch.fold.state.state import Channel, Epoch, SourceState
from esewatch.model import Coverage

MAX_INTERVALS = 1024
MAX_EPOCHS = 16
MAX_GAPS = 64
EXACT_INTERVALS = 128
"""Beyond this number, neighbouring ranges that were read whole are merged."""
STEP = 32
"""The number of intervals that are merged or forgotten at a time."""
SAME_SECONDS = 1.0
"""Two readings of one record may differ in time by this: some formats have whole seconds."""
JITTER_SECONDS = 600.0
"""Records of a range may be this much earlier or later than its ends."""
DENSE_SECONDS = 60.0
"""A log with a record a minute on average is not silent for long."""
MOST = (1 << 63) - 1
"""A larger record id is damage, and is not kept; nor are more missing records counted."""

Intervals = list[tuple[int, int]]


class Neighbours:
    """The places of ranges behind which no number is missing, in the one epoch of a channel. Right
    as long as ranges are added behind the last one only; `forget` after any other change."""

    __slots__ = ("_count", "_places", "hour")

    def __init__(self) -> None:
        self.hour = math.nan
        """The hour of the last record, which is noted: most records are of the same."""
        self._count = 0
        self._places: list[int] = []

    def forget(self) -> None:
        """Start again, because the ranges were changed."""
        self._count, self._places = 0, []

    def of(self, ranges: Sequence[Range]) -> list[int]:
        """The places, sorted; only those behind the known ones are looked for."""
        self._places += _adjacent(ranges, max(self._count - 1, 0))
        self._count = len(ranges)
        return self._places

    def joined(self, chosen: Collection[int], dropped: int) -> None:
        """The ranges at `chosen` were joined with the next ones, then the first ones dropped."""
        gone = sorted(chosen)
        left = (each - bisect_left(gone, each) for each in self._places if each not in chosen)
        self._places = [each - dropped for each in left if each >= dropped]
        self._count -= len(chosen) + dropped


def contains(intervals: Intervals, number: int) -> bool:
    """True if `number` lies in one of the sorted disjoint closed intervals."""
    at = bisect_right(intervals, number, key=lambda item: item[0])
    return at > 0 and intervals[at - 1][1] >= number


def add(intervals: Intervals, first: int, last: int) -> None:
    low = bisect_right(intervals, first, key=lambda item: item[0])
    if low > 0 and intervals[low - 1][1] >= first - 1:
        low -= 1
    high = low
    while high < len(intervals) and intervals[high][0] <= last + 1:
        first = min(first, intervals[high][0])
        last = max(last, intervals[high][1])
        high += 1
    intervals[low:high] = [(first, last)]


def admit(
    channel: Channel, record_id: int, time: float | None, neighbours: Neighbours | None = None
) -> bool:
    """Note one record; False when it was seen before. `neighbours` is what is remembered of the
    channel from one record to the next."""
    neighbours = neighbours or Neighbours()
    if not 0 <= record_id <= MOST:
        return True
    if time is None or not abs(time) < FURTHEST:
        return _admit_without_time(channel, record_id)
    epoch = _continued(channel.epochs, record_id, time)
    if epoch is not None:
        epoch.seen.append(Range(record_id, record_id, time, time))
    elif _is_known(channel.epochs, record_id, time):
        return False
    else:
        neighbours.forget()
        new = Range(record_id, record_id, time, time)
        epoch = _home(channel, new, read_whole=False)
        if epoch is not None:
            insert(epoch.seen, new)
            set_back.note(epoch, new)
    if epoch is not None:
        if time < epoch.start:
            epoch.start = time
        if time > epoch.max_time:
            epoch.max_time = time
        number = len(epoch.seen)
        if number % STEP == 0 or number > MAX_INTERVALS or len(epoch.covered) > EXACT_INTERVALS:
            _bound(channel, epoch, neighbours)
    hearing.note_last(channel.heard, time)
    hearing.note(channel, time)
    hour = time // HOUR_SECONDS
    if hour != neighbours.hour:
        hearing.note_hour(channel.hours, time)
        neighbours.hour = hour
    return True


def _continued(epochs: Sequence[Epoch], record_id: int, time: float) -> Epoch | None:
    """The one epoch, where the record comes behind all that it has: nothing else is to decide."""
    if len(epochs) != 1 or not (seen := epochs[0].seen):
        return None
    last, covered = seen[-1], epochs[0].covered
    if record_id <= last.last or last.late - time >= set_back.LEAST_SECONDS:
        return None
    if covered and (record_id <= covered[-1].last or time < covered[-1].late - MOST_SECONDS):
        return None
    return epochs[0]


def cover(channel: Channel, coverage: Coverage) -> None:
    """Note a range that was read whole; a range with damaged times is ignored."""
    _hear_range(channel, coverage)
    times = [time for time in (coverage.first_time, coverage.last_time) if abs(time) < FURTHEST]
    if not times or not 0 <= coverage.first <= coverage.last <= MOST:
        return
    new = Range(coverage.first, coverage.last, min(times), max(times))
    epoch = _home(channel, new, read_whole=True)
    if epoch is not None:
        insert(epoch.covered, new)
        _lengthen(epoch, new)
        _bound(channel, epoch, Neighbours())


def claim_gaps(channel: Channel) -> int:
    """Count the records missing between ranges that were read; each is counted once. Called when
    the source has caught up: until then a file not read yet may still fill a gap."""
    read = (each for epoch in channel.epochs for each in epoch.covered)
    runs = unbroken(read, MOST_SECONDS, JITTER_SECONDS)
    missing = 0
    before = None
    for after in runs:
        if before is not None and (
            # Numbers so far apart are of two lives: the log was cleared in that second.
            after.first - before.last > MOST_RECORDS and before.early == after.early == after.late
        ):
            continue
        hole = _hole(before, after) if before is not None else None
        if before is None or not (
            before.first <= after.first and after.last <= before.last and not pause(after, before)
        ):
            before = after
        if hole is None or _is_filled(hole, runs):
            continue
        new = hole.last - hole.first + 1 - _claimed(channel, hole)
        if new > 0:
            missing += new
            channel.claimed.append(hole)
            if len(channel.claimed) > MAX_INTERVALS:
                channel.claimed[:2] = [union(channel.claimed[:2])]
            channel.gaps.append((hole.early, hole.late, new))
            if len(channel.gaps) > MAX_GAPS:  # short ones hide nothing
                channel.gaps.remove(min(channel.gaps, key=lambda gap: gap[1] - gap[0]))
    return missing


def claim_gaps_of(
    source: SourceState,
    known: Mapping[tuple[str, str], Channel],
    settled: Collection[tuple[str, str]],
) -> set[tuple[str, str]]:
    """Count the missing records in the channels of a source; return the keys of changed channels.
    `settled`: channels of which no range was read since the last call."""
    changed = set()
    for key in source.channels:
        channel = known.get(key) if key not in settled else None
        if channel is not None and (missing := claim_gaps(channel)):
            source.missed = min(source.missed + missing, MOST)
            changed.add(key)
    return changed


def _hole(before: Range, after: Range) -> Range | None:
    """The gap between two ranges; None where a lower number begins another life of the log."""
    if after.first <= before.last + 1:
        return None
    # The clock may have been set back between them.
    begin, end = sorted((before.late, after.early))
    return Range(before.last + 1, after.first - 1, begin, end)


def _is_filled(hole: Range, runs: Sequence[Range]) -> bool:
    """True if other ranges fill the gap exactly: the server's clock was set back. Ranges of another
    life of the log would not."""
    filled = sum(
        run.last - run.first + 1
        for run in runs
        if hole.first <= run.first and run.last <= hole.last
    )
    return filled == hole.last - hole.first + 1


def _claimed(channel: Channel, hole: Range) -> int:
    return sum(
        max(0, min(hole.last, each.last) - max(hole.first, each.first) + 1)
        for each in channel.claimed
        if not pause(each, hole)
    )


def _admit_without_time(channel: Channel, record_id: int) -> bool:
    newest = channel.epochs[-1].seen if channel.epochs else []
    if contains(channel.timeless, record_id) or find(newest, record_id) is not None:
        return False
    add(channel.timeless, record_id, record_id)
    while len(channel.timeless) > MAX_INTERVALS:
        del channel.timeless[0]
        channel.forgotten += 1
    return True


def _is_known(epochs: Sequence[Epoch], record_id: int, time: float) -> bool:
    found = []
    for epoch in epochs:
        if (seen := find(epoch.seen, record_id)) is not None:
            if seen.early - SAME_SECONDS <= time <= seen.late + SAME_SECONDS:
                return True
            found.append(seen)
    for epoch in epochs:
        read = find(epoch.covered, record_id)
        # The record of that number in what was read whole may be known, and be another one.
        if (
            read is not None
            and read.early <= time <= read.late
            and all(pause(seen, read) > JITTER_SECONDS for seen in found)
        ):
            return True
    return False


def _home(channel: Channel, new: Range, *, read_whole: bool) -> Epoch | None:
    """The epoch that a record or range fits in, opened where there is none. None for records older
    than the oldest epoch when the limit of epochs is reached."""
    epochs = channel.epochs
    if (found := _nearest(epochs, new, read_whole=read_whole)) is not None:
        return found
    if len(epochs) >= MAX_EPOCHS:
        epochs[:] = _arranged(epochs)
        if (found := _nearest(epochs, new, read_whole=read_whole)) is not None:
            return found
        if len(epochs) >= MAX_EPOCHS:
            if new.early < epochs[0].start:
                return None
            del epochs[0]
    return _opened(epochs, new)


def _opened(epochs: list[Epoch], new: Range) -> Epoch:
    epoch = Epoch(start=new.early, max_time=new.late)
    epochs.append(epoch)
    epochs.sort(key=lambda each: each.start)
    return epoch


def _nearest(epochs: Sequence[Epoch], new: Range, *, read_whole: bool) -> Epoch | None:
    """Of the epochs that it fits in, the one whose record is nearest in time."""
    best: Epoch | None = None
    least = math.inf
    for epoch in reversed(epochs):
        distance = _distance(epoch, new, read_whole=read_whole)
        if distance is not None and (best is None or distance < least):
            best, least = epoch, distance
    return best


def _distance(epoch: Epoch, new: Range, *, read_whole: bool) -> float | None:
    """Seconds to the neighbours of a record or range in an epoch, None where it does not fit."""
    least = math.inf
    for ranges in (epoch.seen, epoch.covered):
        same_kind = (ranges is epoch.covered) is read_whole
        where = overlapped(ranges, new)
        for each in ranges[where]:
            # The id of another record, or a range with other records of these ids.
            if pause(each, new) > (0.0 if same_kind else JITTER_SECONDS) or (
                same_kind and not read_whole
            ):
                return None
            least = 0.0
        if where.start > 0:
            before = ranges[where.start - 1]
            if new.early < before.late - MOST_SECONDS:
                return None
            least = min(least, pause(before, new))
        if where.stop < len(ranges):
            after = ranges[where.stop]
            if new.late > after.early + MOST_SECONDS:
                return None
            least = min(least, pause(new, after))
    return least


def _arranged(epochs: list[Epoch]) -> list[Epoch]:
    """The same ranges in as few epochs as possible: one life after the other fills them."""
    ranges = [(each, False) for epoch in epochs for each in epoch.seen]
    ranges += [(each, True) for epoch in epochs for each in epoch.covered]
    ranges.sort(key=lambda item: (item[0].early, item[0].first))
    found: list[Epoch] = []
    for each, whole in ranges:
        epoch = _nearest(found, each, read_whole=whole) or _opened(found, each)
        insert(epoch.covered if whole else epoch.seen, each)
        _lengthen(epoch, each)
    return found


def _lengthen(epoch: Epoch, new: Range) -> None:
    epoch.start = min(epoch.start, new.early)
    epoch.max_time = max(epoch.max_time, new.late)


def _bound(channel: Channel, epoch: Epoch, neighbours: Neighbours) -> None:
    """Merge neighbours with nothing unknown between them; if too many remain, forget the first.

    A record of a forgotten range may be counted again when it is read again: otherwise one that was
    never read would be taken for known, and a bad page be lost.
    """
    seen, covered = epoch.seen, epoch.covered
    if len(seen) > EXACT_INTERVALS and len(seen) % STEP == 0 and covered:
        _join_tightest(seen, _read_whole(seen, covered))
        neighbours.forget()
    if len(covered) > EXACT_INTERVALS and len(covered) % STEP == 0:
        places = [
            at for at in _adjacent(covered) if pause(covered[at], covered[at + 1]) <= JITTER_SECONDS
        ]
        _join_tightest(covered, places)
    if len(seen) > MAX_INTERVALS:
        channel.forgotten += _free(seen, neighbours)
    if len(covered) > MAX_INTERVALS:
        channel.forgotten += _free(covered, Neighbours())


def _free(ranges: list[Range], neighbours: Neighbours) -> int:
    """Make room for a whole step of ranges, else every record that comes behind looks through them
    again; returns how many are forgotten."""
    chosen = _join_tightest(ranges, neighbours.of(ranges))
    rest = STEP - len(chosen)
    del ranges[:rest]
    neighbours.joined(chosen, rest)
    return rest


def _adjacent(ranges: Sequence[Range], begin: int = 0) -> list[int]:
    """The places, from `begin` on, of ranges behind which no number is missing."""
    found = []
    next_id = -1  # of no record
    for place, each in enumerate(ranges[begin:], begin - 1):
        if each.first <= next_id:
            found.append(place)
        next_id = each.last + 1
    return found


def _read_whole(seen: Sequence[Range], covered: Sequence[Range]) -> list[int]:
    """The places of ranges that were read whole together with the next one."""
    found = []
    for place, (before, after) in enumerate(pairwise(seen)):
        read = find(covered, before.last)
        if (
            read is not None
            and read.last >= after.first
            and not pause(read, before)
            and not pause(read, after)
        ):
            found.append(place)
    return found


def _join_tightest(ranges: list[Range], places: Sequence[int]) -> set[int]:
    """Merge the pairs at these `places` with the shortest time between them; returns their places
    as they were."""
    pairs = []
    for place in places:
        before, after = ranges[place], ranges[place + 1]
        late = before.late if before.late > after.late else after.late
        early = before.early if before.early < after.early else after.early
        pairs.append((late - early, place))
    heapify(pairs)
    chosen: set[int] = set()
    while pairs and len(chosen) < STEP:
        place = heappop(pairs)[1]
        if place - 1 not in chosen and place + 1 not in chosen:
            chosen.add(place)
    join(ranges, chosen)
    return chosen


def _hear_range(channel: Channel, coverage: Coverage) -> None:
    """Mark the ends of the range as heard, and all of it where records are dense: else the log may
    have been silent in between."""
    heard, hours = channel.heard, channel.hours
    last, length = coverage.last_time, coverage.last_time - coverage.first_time
    for time in (coverage.first_time, last):
        hearing.note_hour(hours, time)
        hearing.note(channel, time)
    hearing.note_last(heard, coverage.first_time)
    hearing.note_last(heard, last)
    if 0 < length <= DENSE_SECONDS * (coverage.last - coverage.first):
        hearing.note_hours(hours, coverage.first_time, last)
        for back in range(1, int(min(length / HOUR_SECONDS, hearing.MAX_HEARD)) + 1):
            hearing.note_last(heard, last - back * HOUR_SECONDS)
