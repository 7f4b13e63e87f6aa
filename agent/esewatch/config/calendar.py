"""Times at which a maintenance window is open: local times to seconds since the epoch.

A window opens at its local time on each of its days and stays open for its duration in elapsed
seconds, whatever the clocks do. A local time that the clocks skip is shifted by as much; of a
time that comes twice the first is meant.
"""

import datetime
import math
import zoneinfo
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from esewatch.config import DAYS, Window

CALENDAR = (86400.0, 2.5e11)
"""Times (epoch seconds) that every calendar and time zone holds."""

_DAY, _DAY_SECONDS = datetime.timedelta(days=1), 86400.0


class Opening(NamedTuple):
    """One time that a window is open: from `start` up to `end` (epoch seconds)."""

    start: float
    end: float


def opening_at(window: Window, now: float) -> Opening | None:
    """The opening that `now` (epoch seconds) lies in, the latest where two overlap, or None."""
    found = [start for start in _starts(window, now) if start <= now < start + window.duration]
    return Opening(found[-1], found[-1] + window.duration) if found else None


def next_opening(window: Window, now: float) -> Opening:
    """The first opening that begins after `now` (epoch seconds)."""
    start = next(each for each in _starts(window, now) if each > now)
    return Opening(start, start + window.duration)


def _starts(window: Window, now: float) -> tuple[float, ...]:
    """Of the openings around `now`, in order."""
    return _starts_around(window.start, tuple(window.days), window.timezone, now // _DAY_SECONDS)


@lru_cache(maxsize=4096)
def _starts_around(
    clock: datetime.time, weekdays: tuple[str, ...], timezone: str, day: float
) -> tuple[float, ...]:
    """Of the openings from two days before the beginning of a day of UTC, where that falls in the
    time zone, to nine days after it.

    An opening of the day before yesterday may last until now. Eight days on is the same weekday
    again, also when today's is already over; and where UTC has a day there may be the next.
    """
    zone = zoneinfo.ZoneInfo(timezone)
    first = datetime.datetime.fromtimestamp(day * _DAY_SECONDS, zone).date()
    days = (first + offset * _DAY for offset in range(-2, 10))
    return tuple(
        datetime.datetime.combine(day, clock, zone).timestamp()
        for day in days
        if DAYS[day.weekday()] in weekdays
    )


_DAY_MINUTES = 1440
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def time_intervals(windows: Mapping[str, Window]) -> list[dict[str, Any]]:
    """The value of Alertmanager's key `time_intervals`. It compares the clock of a `location`, a
    window lasts its duration: in nights in which clocks change an interval ends with the clock."""
    return [{"name": name, "time_intervals": _intervals(each)} for name, each in windows.items()]


def _intervals(window: Window) -> list[dict[str, Any]]:
    """One, or two where the window goes over midnight. Its end is rounded up to a minute."""
    start = window.start.hour * 60 + window.start.minute
    end = start + math.ceil(window.duration / 60)
    days = [DAYS.index(day) for day in window.days]
    parts = [(start, min(end, _DAY_MINUTES)), (0, end - _DAY_MINUTES)]
    return [
        {
            "times": [{"start_time": _clock(first), "end_time": _clock(last)}],
            "weekdays": [_WEEKDAYS[each] for each in sorted((day + later) % 7 for day in days)],
            "location": window.timezone,
        }
        for later, (first, last) in enumerate(parts)
        if first < last
    ]


def _clock(minutes: int) -> str:
    """`24:00` is the end of a day."""
    return f"{minutes // 60:02}:{minutes % 60:02}"
