"""The hearing of a log: its last record, and the pauses before it (semantics.md 5a).

Hours with a record are rows of a day number (from 1970 on, UTC) and a bit for each hour. The last
96 days that have one are kept, in 768 bytes: they show later when a computer was off. Of the
records only stretches are kept, within which none is more than 16 hours behind the one before:
three times a shorter pause is less than the 48 hours that any log may be silent for.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from struct import Struct

from esewatch.fold.state.rollups import DAY_SECONDS, FURTHEST, HOUR_SECONDS
from esewatch.fold.state.state import Channel

MAX_DAYS = 96
MAX_HEARD = 128
MOST_ENDS = 128
_ROW = Struct("<iI")
_HOURS = 24


def note_hour(rows: bytearray, time: float) -> bool:
    """Note a record of this time (epoch seconds); False where it changes nothing. A damaged time is
    ignored."""
    if not abs(time) < FURTHEST:
        return False
    day, hour = divmod(int(time // HOUR_SECONDS), _HOURS)
    if rows:
        last, hours = _ROW.unpack_from(rows, len(rows) - _ROW.size)
        if last == day:  # as most records are
            if hours >> hour & 1:
                return False
            _ROW.pack_into(rows, len(rows) - _ROW.size, day, hours | 1 << hour)
            return True
    before = bytes(rows)
    _set(rows, day, 1 << hour)
    return rows != before


def note_hours(rows: bytearray, first: float, last: float) -> None:
    if not (abs(first) < FURTHEST and abs(last) < FURTHEST):
        return
    begin, end = int(first // HOUR_SECONDS), int(last // HOUR_SECONDS)
    begin = max(begin, end - MAX_DAYS * _HOURS)
    for day in range(begin // _HOURS, end // _HOURS + 1):
        low = max(0, begin - day * _HOURS)
        high = min(_HOURS - 1, end - day * _HOURS)
        _set(rows, day, (1 << high + 1) - (1 << low))


def note_last(heard: list[float], time: float) -> None:
    """Note a record in the sorted times of the last one of each hour; a damaged time is ignored."""
    if not abs(time) < FURTHEST:
        return
    hour = time // HOUR_SECONDS
    if heard and heard[-1] // HOUR_SECONDS == hour:  # as most records are
        if time > heard[-1]:
            heard[-1] = time
        return
    at = bisect_left(heard, (hour + 1) * HOUR_SECONDS)
    if at > 0 and heard[at - 1] >= hour * HOUR_SECONDS:
        heard[at - 1] = max(heard[at - 1], time)
    elif at > 0 or len(heard) < MAX_HEARD:
        heard.insert(at, time)
        del heard[:-MAX_HEARD]


def last_before(rows: bytearray, time: float) -> float | None:
    """The end of the last such hour before the one that `time` lies in; None without one."""
    if not abs(time) < FURTHEST:
        return None
    number = int(time // HOUR_SECONDS)
    for day, hours in reversed([*_ROW.iter_unpack(rows)]):
        before = number - day * _HOURS
        if before < _HOURS:
            hours &= (1 << max(before, 0)) - 1
        if hours:
            return float(day * DAY_SECONDS + hours.bit_length() * HOUR_SECONDS)
    return None


def count_hours(rows: bytearray, since: float) -> int:
    """The hours with a record, from the one of `since` on."""
    first = int(since // HOUR_SECONDS)
    hours = 0
    for day, bits in _ROW.iter_unpack(rows):
        hours += (bits >> min(max(first - day * _HOURS, 0), _HOURS)).bit_count()
    return hours


def hour_ends(rows: bytearray) -> list[float]:
    """The ends of the hours, oldest first; at most the last 128."""
    found = [
        day * DAY_SECONDS + (hour + 1) * HOUR_SECONDS
        for day, hours in _ROW.iter_unpack(rows)
        for hour in range(_HOURS)
        if hours >> hour & 1
    ]
    return found[-MOST_ENDS:]


def first_after(rows: bytearray, time: float) -> float:
    """The end of the first such hour after the one that `time` lies in; infinite without one."""
    if not abs(time) < FURTHEST:
        return math.inf
    number = int(time // HOUR_SECONDS)
    for day, hours in _ROW.iter_unpack(rows):
        hours >>= (over := max(0, number + 1 - day * _HOURS))
        if hours:
            first = (hours & -hours).bit_length() + over
            return float(day * DAY_SECONDS + first * HOUR_SECONDS)
    return math.inf


def _set(rows: bytearray, day: int, hours: int) -> None:
    days = range(len(rows) // _ROW.size)
    at = len(days)
    if days and (last := _row(rows, days[-1])[0]) >= day:
        # Most records are of the last day.
        at = days[-1]
        if last > day:
            at = bisect_left(days, day, key=lambda row: _row(rows, row)[0])
        known, before = _row(rows, at)
        if known == day:
            if before | hours != before:
                _ROW.pack_into(rows, at * _ROW.size, day, before | hours)
            return
    if at > 0 or len(days) < MAX_DAYS:
        rows[at * _ROW.size : at * _ROW.size] = _ROW.pack(day, hours)
        del rows[: -MAX_DAYS * _ROW.size]


def _row(rows: bytearray, at: int) -> tuple[int, int]:
    day, hours = _ROW.unpack_from(rows, at * _ROW.size)
    return day, hours


Stretch = tuple[float, float]
"""First and last record, epoch seconds."""

PAUSE_SECONDS = 16 * 3600.0
LOOKED_AT_SECONDS = 28 * 86400.0
"""The pauses of so many seconds before the last record count."""
MAX_STRETCHES = 64
"""There are no more in this time: 28 days have room for 42 pauses."""


def note(channel: Channel, time: float) -> None:
    """Note a record of any provider; a damaged time is ignored."""
    if not abs(time) < FURTHEST:
        return
    known = channel.stretches
    if known and known[-1][0] <= time <= known[-1][1] + PAUSE_SECONDS:  # as most records are
        if time > known[-1][1]:
            known[-1] = known[-1][0], time
        return
    at = bisect_right(known, time, key=lambda each: each[0])
    first = last = time
    if at < len(known) and known[at][0] - time <= PAUSE_SECONDS:
        last = known.pop(at)[1]
    if at and time - known[at - 1][1] <= PAUSE_SECONDS:
        at -= 1
        before = known.pop(at)
        first, last = before[0], max(last, before[1])
    known.insert(at, (first, last))
    del known[:-MAX_STRETCHES]


def note_companion(channel: Channel, time: float) -> None:
    """Note a record of another provider that is folded: one with a number was noted with it."""
    note(channel, time)
    channel.others = max(channel.others, time)


def note_other(channel: Channel, time: float) -> None:
    """Note a record of another provider, which comes without a number."""
    note_companion(channel, time)
    note_hour(channel.hours, time)
    note_last(channel.heard, time)


def joined(channels: Iterable[Channel]) -> list[Stretch]:
    found: list[Stretch] = []
    for first, last in sorted(each for channel in channels for each in channel.stretches):
        if found and first - found[-1][1] <= PAUSE_SECONDS:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found
