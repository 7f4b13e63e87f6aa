"""Maintenance windows as time intervals of Alertmanager.

Alertmanager compares the clock of a `location`, a window lasts its duration. So they differ in the
nights in which clocks change: there an interval begins or ends with the clock.
"""

import math
from collections.abc import Mapping
from typing import Any

from esewatch.config.settings import DAYS, Window

_DAY_MINUTES = 1440
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def time_intervals(windows: Mapping[str, Window]) -> list[dict[str, Any]]:
    """The value of Alertmanager's key `time_intervals`."""
    return [{"name": name, "time_intervals": _intervals(each)} for name, each in windows.items()]


def _intervals(window: Window) -> list[dict[str, Any]]:
    """One, or two where the window goes over midnight. Its end is rounded up to a minute."""
    start = window.start.hour * 60 + window.start.minute
    end = start + math.ceil(window.duration / 60)
    parts = [(start, min(end, _DAY_MINUTES)), (0, end - _DAY_MINUTES)]
    return [
        {
            "times": [{"start_time": _clock(first), "end_time": _clock(last)}],
            "weekdays": [_WEEKDAYS[day] for day in _days(window, later)],
            "location": window.timezone,
        }
        for later, (first, last) in enumerate(parts)
        if first < last
    ]


def _days(window: Window, later: int) -> list[int]:
    return sorted((DAYS.index(day) + later) % 7 for day in window.days)


def _clock(minutes: int) -> str:
    """`24:00` is the end of a day."""
    return f"{minutes // 60:02}:{minutes % 60:02}"
