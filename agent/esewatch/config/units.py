"""Values as people write them: durations, times of day, time zones, numbers.

Each is a `Scalar`: the words for what is allowed, how to read it, how to write it.
The error messages, `config show` and the tables of docs/configuration.md all use these.
"""

import datetime
import math
import re
import zoneinfo
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TypeVar

from esefiles.base.units import parse_duration, parse_size, show_duration, show_size
from esewatch.ese.counters.counter_feeds import is_read

Number = TypeVar("Number", int, float)

_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_NUMBER = re.compile(r"[-+]?\d{1,18}(?:\.\d{1,18})?(?:[eE][-+]?\d{1,2})?", re.ASCII)


class Scalar(NamedTuple):
    """The notation of one kind of value. `parse` raises ValueError for values that are not
    allowed."""

    allowed: str
    parse: Callable[[str], Any]
    show: Callable[[Any], Any]
    secret: bool = False
    """No message may quote the value."""


def parse_clock(text: str) -> datetime.time:
    """The time of day `01:00`, 24 hours."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return datetime.time(int(match[1]), int(match[2]))


def show_clock(time: datetime.time) -> str:
    """`01:00`."""
    return time.strftime("%H:%M")


def parse_zone(text: str) -> str:
    """The name of a time zone that this system knows, unchanged."""
    try:
        zoneinfo.ZoneInfo(text)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(text) from error
    return text


def parse_code_page(text: str) -> str:
    """The name of an encoding that has ASCII in it and that Python knows, unchanged."""
    try:
        known = bytes(range(32, 127)).decode(text) == bytes(range(32, 127)).decode("ascii")
        bytes(range(128, 256)).decode(text, "replace")
    except (LookupError, ValueError) as error:
        raise ValueError(text) from error
    if not known:
        raise ValueError(text)
    return text


def text_that(fits: Callable[[str], bool]) -> Callable[[str], str]:
    """Takes a text unchanged where it `fits`."""

    def parse(text: str) -> str:
        if not fits(text):
            raise ValueError(text)
        return text

    return parse


parse_text = text_that(lambda text: bool(text.strip()) and len(text) <= 4096 and text.isprintable())


def _parse_number(text: str) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(text)
    return float(text)


def _within(
    parse: Callable[[str], Number], least: float, most: float = math.inf
) -> Callable[[str], Number]:
    def parse_within(text: str) -> Number:
        number = parse(text)
        if not least <= number <= most:
            raise ValueError(text)
        return number

    return parse_within


def _count(text: str) -> int:
    if re.fullmatch(r"\d{1,12}", text, re.ASCII) is None:
        raise ValueError(text)
    return int(text)


def _true_false(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _read_size(text: str) -> int:
    size = parse_size(text)
    if not 1 << 16 <= size <= 1 << 26 or size % (1 << 15):
        raise ValueError(text)
    return size


Text = Annotated[str, Scalar("text", parse_text, str)]
CounterPath = Annotated[
    str,
    Scalar(
        r"a counter that is read, as `object\counter` of docs/inputs.md",
        text_that(lambda text: is_read(parse_text(text))),
        str,
    ),
]
TrueFalse = Annotated[bool, Scalar("true or false", _true_false, bool)]
Zone = Annotated[str, Scalar("a time zone such as Europe/Berlin", parse_zone, str)]
CodePage = Annotated[str, Scalar("a code page such as cp1252", parse_code_page, str)]
Clock = Annotated[datetime.time, Scalar("a time such as 01:00", parse_clock, show_clock)]
Duration = Annotated[
    float, Scalar("a duration such as 14d, 4h or 1h30m", parse_duration, show_duration)
]
PositiveDuration = Annotated[
    float,
    Scalar("a duration of 1s or more, such as 14d", _within(parse_duration, 1.0), show_duration),
]
Patience = Annotated[
    float,
    Scalar(
        "a duration such as 14d, 4h or 1h30m, or never",
        lambda text: math.inf if text == "never" else parse_duration(text),
        lambda seconds: "never" if math.isinf(seconds) else show_duration(seconds),
    ),
]
"""Infinite: `never`."""
WindowLength = Annotated[
    float,
    Scalar("a duration from 15m to 24h", _within(parse_duration, 900.0, 86400.0), show_duration),
]
Interval = Annotated[
    float, Scalar("a duration from 1s to 1h", _within(parse_duration, 1.0, 3600.0), show_duration)
]
Positive = Annotated[
    float,
    Scalar(
        "a number above 0",
        _within(_parse_number, math.ulp(0.0)),
        lambda number: int(number) if number.is_integer() and abs(number) < 1e15 else number,
    ),
]
Count = Annotated[int, Scalar("a whole number from 0", _count, int)]
PositiveCount = Annotated[int, Scalar("a whole number from 1", _within(_count, 1), int)]
Size = Annotated[
    int, Scalar("a size such as 64M (bytes, K, M or G)", _within(parse_size, 1), show_size)
]
ReadSize = Annotated[int, Scalar("a size from 64K to 64M in steps of 32K", _read_size, show_size)]
Milliseconds = Annotated[
    int, Scalar("a whole number from 0 to 60000", _within(_count, 0, 60_000), int)
]
