"""When a maintenance window is open: local times to seconds since the epoch.

A window opens at its local time on each of its days and stays open for its duration, so
many seconds whatever the clocks do. A time that the clocks skip is taken as so much later;
of a time that comes twice the first is meant.
"""

import datetime
import zoneinfo
from typing import NamedTuple

from esewatch.config.settings import DAYS, Window

_DAY = datetime.timedelta(days=1)


class Opening(NamedTuple):
    """One time that a window is open: from `start` up to `end` (epoch seconds)."""

    start: float
    end: float


def opening_at(window: Window, now: float) -> Opening | None:
    """The opening that `now` (epoch seconds) lies in, the latest where two overlap, or None."""
    found = [each for each in _around(window, now, -2, 1) if each.start <= now < each.end]
    return found[-1] if found else None


def next_opening(window: Window, now: float) -> Opening:
    """The first opening that begins after `now` (epoch seconds)."""
    # Eight days on is the same weekday again, also when today's is already over.
    return next(each for each in _around(window, now, -1, 9) if each.start > now)


def _around(window: Window, now: float, first: int, last: int) -> list[Opening]:
    """Openings that begin on the days from `first` to `last` around that of `now`, in order."""
    zone = zoneinfo.ZoneInfo(window.timezone)
    today = datetime.datetime.fromtimestamp(now, zone).date()
    days = (today + offset * _DAY for offset in range(first, last + 1))
    starts = (
        datetime.datetime.combine(day, window.start, zone).timestamp()
        for day in days
        if DAYS[day.weekday()] in window.days
    )
    return [Opening(start, start + window.duration) for start in starts]
