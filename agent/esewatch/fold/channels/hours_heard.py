"""The hours in which a log has a record, by day: they show later when a computer was off.

Rows of a day number (from 1970 on, UTC) and a bit for each of its hours. The last 96 days that
have a record are kept, in 768 bytes.
"""

import math
from bisect import bisect_left
from struct import Struct

from esewatch.fold.state.rollups import DAY_SECONDS, FURTHEST, HOUR_SECONDS

MAX_DAYS = 96
MAX_HEARD = 128
MOST_ENDS = 128
_ROW = Struct("<iI")
_HOURS = 24


def note(rows: bytearray, time: float) -> bool:
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


def note_all(rows: bytearray, first: float, last: float) -> None:
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
    at = bisect_left(range(_count(rows)), number // _HOURS, key=lambda row: _row(rows, row)[0])
    for row in range(min(at, _count(rows) - 1), -1, -1):
        day, hours = _row(rows, row)
        before = number - day * _HOURS
        if before < _HOURS:
            hours &= (1 << max(before, 0)) - 1
        if hours:
            return day * DAY_SECONDS + hours.bit_length() * HOUR_SECONDS
    return None


def count(rows: bytearray, since: float) -> int:
    """The hours with a record, from the one of `since` on."""
    first = int(since // HOUR_SECONDS)
    hours = 0
    for day, bits in _ROW.iter_unpack(rows):
        hours += (bits >> min(max(first - day * _HOURS, 0), _HOURS)).bit_count()
    return hours


def ends(rows: bytearray) -> list[float]:
    """The ends of the hours, oldest first; at most the last 128."""
    found = [
        day * DAY_SECONDS + (hour + 1) * HOUR_SECONDS
        for day, hours in (_row(rows, at) for at in range(_count(rows)))
        for hour in range(_HOURS)
        if hours >> hour & 1
    ]
    return found[-MOST_ENDS:]


def first_after(rows: bytearray, time: float) -> float:
    """The end of the first such hour after the one that `time` lies in; infinite without one."""
    if not abs(time) < FURTHEST:
        return math.inf
    number = int(time // HOUR_SECONDS)
    at = bisect_left(range(_count(rows)), number // _HOURS, key=lambda row: _row(rows, row)[0])
    for row in range(at, _count(rows)):
        day, hours = _row(rows, row)
        hours >>= (over := max(0, number + 1 - day * _HOURS))
        if hours:
            first = (hours & -hours).bit_length() + over
            return day * DAY_SECONDS + first * HOUR_SECONDS
    return math.inf


def _set(rows: bytearray, day: int, hours: int) -> None:
    days = range(_count(rows))
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


def _count(rows: bytearray) -> int:
    return len(rows) // _ROW.size


def _row(rows: bytearray, at: int) -> tuple[int, int]:
    day, hours = _ROW.unpack_from(rows, at * _ROW.size)
    return day, hours
