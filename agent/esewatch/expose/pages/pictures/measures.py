"""Usage of the window, and the course of the ratio: values, drawn by `draw`."""

import datetime
import math
from statistics import median
from typing import NamedTuple

import msgspec

from esewatch.advice.history.history import History
from esewatch.advice.window.evidence import MOST_PAGES
from esewatch.advice.window.window import WindowAdvice
from esewatch.config.calendar import CALENDAR
from esewatch.expose.pages.pictures.nights import NIGHTS, Kind, openings, spans_of
from esewatch.fold.state.rollups import DAY_SECONDS, Day, day_of, day_start

USED_BY: tuple[Kind, ...] = ("defrag", "scan", "backup")
LOOK_BACK = 8 * 7 * DAY_SECONDS
"""Of a window of one day a week too some openings are seen."""
RATIO_DAYS = 28
SUMMED_DAYS = 7
NOON = datetime.time(12)


class Use(NamedTuple):
    """Usage of a window by `kind`: `seconds`, beginning `after` seconds, in the median opening."""

    kind: Kind
    after: float
    seconds: float


class WindowUse(msgspec.Struct, frozen=True, kw_only=True):
    """A window on a day of 24 hours that begins at the local time `axis`. Lengths in seconds."""

    zone: str
    axis: datetime.time
    start: datetime.time
    after: float
    """From the begin of the axis to the window's start."""
    configured: float
    recommended: float | None = None
    openings: int = 0
    """The openings behind `used`: the last ones that are over and miss no events."""
    used: tuple[Use, ...] = ()


class RatioDay(NamedTuple):
    """Sums of the seven days up to the noon `end` (epoch seconds, UTC)."""

    end: float
    read: float
    freed: float

    @property
    def ratio(self) -> float | None:
        """Pages read for each one freed; infinite when none was freed, None when none was read."""
        if self.read <= 0:
            return None
        return self.read / self.freed if self.freed > 0 else math.inf


def window_use(history: History, advice: WindowAdvice | None, now: float) -> WindowUse | None:
    """The window of one database as of `now`; None where the model has none, or none is known."""
    window = history.window
    if history.model != "window" or window is None:
        return None
    recommended = advice.recommended_seconds if advice is not None else None
    if recommended is not None and not 0 < recommended <= DAY_SECONDS:
        recommended = None
    length = max(window.duration, recommended or 0.0)
    after = (_seconds(window.start) - _seconds(NOON)) % DAY_SECONDS
    beyond = after + length > DAY_SECONDS
    number, used = _used(history, now)
    return WindowUse(
        zone=window.timezone,
        axis=window.start if beyond else NOON,
        start=window.start,
        after=0.0 if beyond else after,
        configured=window.duration,
        recommended=recommended,
        openings=number,
        used=used,
    )


def ratio_days(history: History, now: float) -> list[RatioDay]:
    """The last 28 days, oldest first, since both counters are sampled; none without them."""
    since = history.sampled_since
    if since is None or not CALENDAR[0] <= now <= CALENDAR[1]:
        return []
    known = {each.day: each for each in history.days if _plausible(each)}
    today = day_of(now)
    found = []
    for day in range(today - RATIO_DAYS + 1, today + 1):
        last = [known[each] for each in range(day - SUMMED_DAYS + 1, day + 1) if each in known]
        if day_start(day + 1) > since:
            read = sum(each.pages_read for each in last)
            found.append(RatioDay(day_start(day + 1), read, sum(d.pages_freed for d in last)))
    return found


def _used(history: History, now: float) -> tuple[int, tuple[Use, ...]]:
    if not CALENDAR[0] + LOOK_BACK <= now <= CALENDAR[1]:
        return 0, ()
    since = now - LOOK_BACK
    spans = spans_of(history, since, now, now)
    over = [
        each
        for each in openings(history, since, now)
        if since <= each.start
        and each.end <= now
        and not any(start < each.end and end > each.start for start, end in spans["unknown"])
    ][-NIGHTS:]
    used = []
    for kind in USED_BY:
        taken, after = [], []
        for start, end in over:
            parts = [(max(a, start), min(b, end)) for a, b in spans[kind] if a < end and b > start]
            taken.append(sum(b - a for a, b in parts))
            after += [parts[0][0] - start] if parts else []
        usual = median(taken) if taken else 0.0
        if usual > 0 and history.window is not None:
            usual = min(usual, history.window.duration)
            used.append(Use(kind, min(median(after), history.window.duration - usual), usual))
    return len(over), tuple(used)


def _seconds(clock: datetime.time) -> float:
    return clock.hour * 3600.0 + clock.minute * 60.0


def _plausible(day: Day) -> bool:
    return 0.0 <= day.pages_read <= MOST_PAGES and 0.0 <= day.pages_freed <= MOST_PAGES
