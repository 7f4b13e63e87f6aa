"""Dates in texts: ISO 8601, and the short ones that Windows prints in the locale of a service.

A short date says neither its order, nor its zone, nor its calendar.
"""

import re
from datetime import date, datetime
from functools import lru_cache
from typing import Literal

DateOrder = Literal["mdy", "dmy", "ymd"]
ORDERS: tuple[DateOrder, ...] = ("mdy", "dmy", "ymd")

_PARTS = re.compile(r"\s*(\d{1,4})([./\- ]\s?)(\d{1,2}|[A-Za-z]{3})\2(\d{1,4})(?![\d/\-])")
_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2069"))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# A year outside says that the calendar is not the Gregorian one.
_YEARS = range(1990, 2101)
_LONGEST = 64
_HOUR_24 = re.compile(r"[\dW-]{8,10}.24")


def iso_time(text: str) -> datetime:
    """The time that an ISO 8601 text tells; ValueError if it tells none. The hour 24 is none:
    Python reads it from 3.14 on alone."""
    if _HOUR_24.match(text):
        raise ValueError(f"the hour of {text!r} is not 0 to 23")
    return datetime.fromisoformat(text)


def without_marks(text: str) -> str:
    """`text` without the direction marks that Windows puts into dates."""
    return text.translate(_MARKS)


def _valid(year: int, month: int, day: int) -> date | None:
    if year not in _YEARS:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _read(parts: tuple[str, str, str], order: DateOrder) -> date | None:
    year = parts[0] if order == "ymd" else parts[2]
    if len(year) not in (2, 4) or any(
        len(part) > 2 for part in parts if part is not year and part.isdecimal()
    ):
        return None
    full = int(year) if len(year) == 4 else 2000 + int(year)
    month, day = {"ymd": (1, 2), "mdy": (0, 1), "dmy": (1, 0)}[order]
    name = parts[month].lower()
    if name in _MONTHS:
        number = _MONTHS.index(name) + 1
    elif parts[month].isdecimal() and parts[day].isdecimal():
        number = int(parts[month])
    else:
        return None
    return _valid(full, number, int(parts[day])) if parts[day].isdecimal() else None


def parse_short_date(text: str, order: DateOrder | None = None) -> date | None:
    """The date at the start of `text` (a time may follow), None when it is not certain. Certain is
    a date that only one order of its parts allows, with a year of four digits, or that `order`
    reads. A date that `order` cannot read but that is certain by itself is taken as it is. Years
    from 1990 to 2100."""
    return _parse(text, order) if len(text) <= _LONGEST else None


@lru_cache(maxsize=4096)
def _parse(text: str, order: DateOrder | None) -> date | None:
    match = _PARTS.match(without_marks(text))
    if match is None:
        return None
    parts = (match[1], match[3], match[4])
    if order is not None and (configured := _read(parts, order)) is not None:
        return configured
    if not any(len(part) == 4 and part.isdecimal() for part in parts):
        return None
    readings = {found for way in ORDERS if (found := _read(parts, way)) is not None}
    return readings.pop() if len(readings) == 1 else None
