"""Formatting of names, numbers and times for the pages and the interface."""

import math
from collections.abc import Collection
from datetime import UTC, datetime
from functools import lru_cache

from markupsafe import Markup

from esewatch.advice.base.finding import counted, day_and_time, day_text
from esewatch.config.calendar import CALENDAR

MAX_TEXT = 500
"""Longer names are cut: no real path is that long, and a page must stay small."""

FAR = 1e12
"""Seconds from the epoch: beyond any calendar."""


def tidy(text: str) -> str:
    """`text` made fit for any page: encodable, and cut where it is absurdly long."""
    if len(text) > MAX_TEXT:
        text = text[: MAX_TEXT - 1] + "…"
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def iso_time(time: float | None) -> str | None:
    """`2007-06-21T03:14:15.123Z`, with microseconds where there are any. None for None and for
    times outside of the calendar (after year 9999)."""
    if time is None or not abs(time) < FAR:
        return None
    minutes, rest = divmod(round(time * 1_000_000), 60_000_000)
    begun = _minute(minutes)
    if begun is None:
        return None
    seconds, microseconds = divmod(rest, 1_000_000)
    milliseconds, more = divmod(microseconds, 1000)
    if more:
        return f"{begun}{seconds:02}.{microseconds:06}Z"
    return f"{begun}{seconds:02}.{milliseconds:03}Z"


@lru_cache(maxsize=4096)
def _minute(minutes: int) -> str | None:
    """Start of the times of this minute since the epoch, None outside of the calendar."""
    try:
        return f"{datetime.fromtimestamp(60 * minutes, UTC):%Y-%m-%dT%H:%M:}"
    except (ValueError, OverflowError, OSError):
        return None


@lru_cache(maxsize=64)
def _none(absent: str) -> Markup:
    return Markup('<span class="none">{}</span>').format(absent)


def time_tag(time: float | None, absent: str = "–", *, end: int = 16) -> Markup:
    """`2007-06-21 03:14` (UTC) with the exact time behind it; `absent` for None."""
    exact = iso_time(time)
    if time is None or exact is None:
        return _none(absent)
    # Digits and marks of a date alone: nothing in it needs to be escaped.
    return Markup(f'<time datetime="{exact}">{exact[:10]} {exact[11:end]}</time>')


def second_tag(time: float | None, absent: str = "–") -> Markup:
    """The same to the second: a pass may take less than a minute."""
    return time_tag(time, absent, end=19)


def duration(seconds: float | None) -> str:
    """`208 s`, `3 min 28 s`, `34 h 41 min`, `12 d 3 h`; a dash for None."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if round(seconds) < 60:
        return f"{seconds:.3g} s" if seconds < 10 else f"{round(seconds)} s"
    if round(seconds) < 3600:
        return _two_units(round(seconds), 60, "min", "s")
    if round(seconds / 60) < 48 * 60:
        return _two_units(round(seconds / 60), 60, "h", "min")
    return _two_units(round(seconds / 3600), 24, "d", "h")


def days(seconds: float | None) -> str:
    """`12.5 days`, `23 h`; a dash for None."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < 2 * 86400:
        return f"{seconds / 3600:.0f} h" if seconds >= 3600 else duration(seconds)
    return f"{seconds / 86400:,.1f}".removesuffix(".0") + " days"


def ago(seconds: float | None) -> str:
    """`12.5 days ago`, `less than a minute ago`; a dash for None."""
    if seconds is not None and seconds < 60:
        return "less than a minute ago"
    return "–" if days(seconds) == "–" else f"{days(seconds)} ago"


def age_text(time: float, now: float) -> str:
    """The time from then to `now`, if over two days: `2 years 8 months`; empty else and for times
    outside of the calendar."""
    if not (now - time > 2 * 86400 and CALENDAR[0] <= time and now <= CALENDAR[1]):
        return ""
    then, today = (datetime.fromtimestamp(each, UTC) for each in (time, now))
    months = 12 * (today.year - then.year) + today.month - then.month
    months -= (today.day, today.time()) < (then.day, then.time())
    if months < 2:
        return days(now - time) if now - time < 10 * 86400 else f"{(now - time) / 86400:.0f} days"
    years, months = divmod(months, 12)
    parts = ((years, "year"), (months, "month"))
    return " ".join(counted(each, unit) for each, unit in parts if each)


def last_heard(time: float, now: float) -> str:
    """The day or time of a last record, and its age if that is over two days."""
    age = age_text(time, now)
    return f"{day_text(time)}, {age} ago" if age else day_and_time(time)


def as_of(moments: Collection[float], now: float) -> str:
    """The first line of a report: as of when its databases are judged, each as of one of these."""
    known = sorted(each for each in moments if CALENDAR[0] <= each <= CALENDAR[1])
    if not known:
        return ""
    oldest, newest = known[0], known[-1]
    age = age_text(newest, now)
    said = f"{day_text(newest)}, {age} before this report" if age else day_and_time(newest)
    if day_text(oldest) == day_text(newest):
        return f"As of {said}."
    return f"As of {said}. Each computer as of its last record, the oldest of {day_text(oldest)}."


def number(value: float | None) -> str:
    """A figure for a machine, as the JSON has it; empty for None."""
    if value is None or not math.isfinite(value):
        return ""
    return str(int(value)) if value == int(value) else repr(value)


def _two_units(number: int, size_of_large: int, large: str, small: str) -> str:
    whole, rest = divmod(number, size_of_large)
    return f"{whole:,} {large} {rest} {small}" if rest else f"{whole:,} {large}"


def count(number: float | None) -> str:
    """`5,850,768`; a dash for None."""
    return "–" if number is None or not math.isfinite(number) else f"{round(number):,}"
