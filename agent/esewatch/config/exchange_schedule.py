"""The maintenance schedule of an Exchange database as windows of one day.

Source of the format: Set-MailboxDatabase, parameter MaintenanceSchedule (Exchange 2010):
`StartDay.Hour:Minute [AM/PM]-EndDay.Hour:Minute [AM/PM]`, days by name, by their first letters
or 0 to 6 from Sunday. Local objects have StartDay, StartHour, StartMinute and the same of End.
"""

import datetime
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from esewatch.config.settings import DAYS, Day
from esewatch.config.units import show_duration

_DAY = 24 * 60
_WEEK = 7 * _DAY
_SHORTEST = 15
_FROM_SUNDAY: tuple[Day, ...] = (DAYS[6], *DAYS[:6])
_TIME = r"([A-Za-z]{3,9}|[0-6])\.(\d{1,2}):(\d{2})(?::00)?(?: ?(AM|PM))?"
_INTERVAL = re.compile(rf"(?<![\w.]){_TIME} ?- ?{_TIME}(?!\w)", re.IGNORECASE | re.ASCII)
_SEPARATORS = " \t\r\n,;{}"
_TYPE_NAME = re.compile(r"(?:System|Microsoft)\.[\w.`\[\]]+")
_MAX_INTERVALS = 672
"""Quarters of an hour in a week."""

_Span = tuple[int, int]
"""Start in minutes from Sunday 00:00, and end, which may be in the next week."""


class ScheduleError(ValueError):
    """The schedule cannot be read; the text says why."""


class ScheduleSlot(NamedTuple):
    """A window that opens at `start` (minutes from midnight) for `minutes` on `days`."""

    start: int
    minutes: int
    days: tuple[Day, ...]

    @property
    def name(self) -> str:
        """`nightly-0100-4h`, with the days where it is not all of them."""
        clock = f"{self.start // 60:02}{self.start % 60:02}"
        days = () if len(self.days) == 7 else self.days
        return "-".join(("nightly", clock, show_duration(self.minutes * 60), *days))

    @property
    def clock(self) -> datetime.time:
        """The time of day at which it opens."""
        return datetime.time(*divmod(self.start, 60))


def openings(schedule: object) -> list[ScheduleSlot]:
    """The windows of a schedule as ConvertTo-Json shows it, the one open longest a week first.

    Empty for "Never". Intervals that touch are one; one longer than a day is cut into days.
    Raises ScheduleError.
    """
    days: dict[tuple[int, int], set[Day]] = {}
    for start, end in _merged(_spans(schedule)):
        for piece in range(start, end, _DAY):
            minutes = min(_DAY, end - piece)
            key = (piece % _DAY, minutes)
            days.setdefault(key, set()).add(_FROM_SUNDAY[piece // _DAY % 7])
    found = [
        ScheduleSlot(start, minutes, tuple(day for day in DAYS if day in on))
        for (start, minutes), on in days.items()
        if minutes >= _SHORTEST
    ]
    return sorted(found, key=lambda one: (-one.minutes * len(one.days), -one.minutes, one.start))


def _spans(schedule: object) -> list[_Span]:
    match schedule:
        case None | "":
            return []
        case str():
            return list(_from_text(schedule))
        case list():
            if len(schedule) > _MAX_INTERVALS:
                raise ScheduleError(f"more than {_MAX_INTERVALS} intervals")
            return [span for item in schedule for span in _from_item(item)]
        case dict() if "StartDay" in schedule:
            return [_from_object(schedule)]
        case dict():
            for name in ("value", "Intervals"):
                if isinstance(inner := schedule.get(name), list | str):
                    return _spans(inner)
    raise ScheduleError("no intervals in it")


def _from_item(item: object) -> Iterator[_Span]:
    if isinstance(item, str):
        yield from _from_text(item)
    elif isinstance(item, dict):
        yield _from_object(item)
    else:
        raise ScheduleError("an interval that is neither text nor an object")


def _from_text(text: str) -> Iterator[_Span]:
    plain = text.strip(_SEPARATORS)
    if plain.lower() == "always":
        yield 0, _WEEK
        return
    if plain.lower() in ("never", ""):
        return
    if _TYPE_NAME.fullmatch(plain):
        raise ScheduleError(f"only the type {plain[:60]}: repeat with ConvertTo-Json -Depth 4")
    at = 0
    for found in _INTERVAL.finditer(text):
        _refuse(text[at : found.start()])
        at = found.end()
        yield _span(_moment(*found.groups()[:4]), _moment(*found.groups()[4:]))
    _refuse(text[at:])


def _refuse(rest: str) -> None:
    if rest := rest.strip(_SEPARATORS):
        raise ScheduleError(f"{rest[:40]!a} is not an interval like Sun.1:00 AM-Sun.5:00 AM")


def _moment(day: str, hour: str, minute: str, half: str | None) -> int:
    number = int(hour)
    if half:
        if not 1 <= number <= 12:
            raise ScheduleError(f"no time: {hour}:{minute} {half}")
        number = number % 12 + 12 * (half.lower() == "pm")
    return _minute_of_week(day, number, int(minute))


def _from_object(item: Mapping[str, object]) -> _Span:
    ends = [
        [item.get(f"{end}{part}") for part in ("Day", "Hour", "Minute")] for end in ("Start", "End")
    ]
    start, end = (_minute_of_week(*parts) for parts in ends)
    return _span(start, end)


def _minute_of_week(day: object, hour: object, minute: object) -> int:
    """The day may be a number from Sunday, as an enumeration is in JSON, or its name."""
    name = str(day).lower()
    index = next((i for i, known in enumerate(_FROM_SUNDAY) if name.startswith(known)), None)
    if name.isascii() and name.isdigit() and len(name) == 1 and int(name) < 7:
        index = int(name)
    if index is None or not isinstance(hour, int) or not isinstance(minute, int):
        raise ScheduleError(f"no day and time: {ascii(f'{day} {hour}:{minute}')[:60]}")
    if not (0 <= hour < 24 and 0 <= minute < 60):
        raise ScheduleError(f"no time: {ascii(f'{hour}:{minute}')[:60]}")
    return index * _DAY + hour * 60 + minute


def _span(start: int, end: int) -> _Span:
    """One that ends where it starts is the whole week."""
    return start, end if end > start else end + _WEEK


def _merged(spans: list[_Span]) -> list[_Span]:
    """The spans without overlap, in order; none is longer than the week."""
    joined: list[_Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    while len(joined) > 1 and joined[-1][1] >= joined[0][0] + _WEEK:
        _, end = joined.pop(0)
        joined[-1] = (joined[-1][0], max(joined[-1][1], end + _WEEK))
    return [(start, min(end, start + _WEEK)) for start, end in joined]
