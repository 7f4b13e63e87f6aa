"""The time for which a value holds that was computed from the present: measured, not declared.

Views and judgements are pure functions of (state, settings, now). `Now` stands in the place of
`now`, a float, and notes what it is used for: each comparison tells when it will come out
otherwise, and whatever else is made of it holds at this very moment only. So nobody has to know,
or to keep up, by which deadlines, windows and retentions a value changes.
"""

import math
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

MARGIN = 0.001
"""Seconds: a value is computed anew this long before it may change, as numbers are rounded."""

_DIGITS = re.compile(r"\.(\d)f$")

T = TypeVar("T")


def held(compute: Callable[[float], T], now: float, moving: float) -> tuple[T, float]:
    """The value as of `now` (epoch seconds), and until when it holds. Where it moves with time
    itself, as a forecast does, it holds for `moving` seconds at most."""
    clock = _Clock(now)
    try:
        value = compute(cast(float, Now(now, 1.0, clock)))
        plain = not clock.moves and not _contains_now(value)
    except (AttributeError, TypeError):  # a library took it for a float
        plain = False
    if plain:
        return value, clock.until
    return compute(now), min(clock.until, now + moving)


def holds(since: float, until: float, now: float) -> bool:
    """True if a value that was computed as of `since` holds. As of that it always does."""
    return since <= now < until or now == since


class _FoundError(Exception): ...


def _found(value: object) -> object:
    if isinstance(value, Now):
        raise _FoundError
    return None


_SEARCH = msgspec.msgpack.Encoder(enc_hook=_found)


def _contains_now(value: object) -> bool:
    try:
        _SEARCH.encode(value)
    except _FoundError:
        return True
    except (OverflowError, UnicodeEncodeError):  # a number or a name out of a damaged record
        return True
    return False


class _Clock:
    def __init__(self, now: float) -> None:
        self.now = now
        self.until = math.inf
        self.moves = False

    def note(self, seconds: float) -> None:
        """Something changes in so many seconds; what is over changes no more."""
        if seconds >= -MARGIN:
            self.until = min(self.until, self.now + max(0.0, seconds - MARGIN))


class Now:
    """A number that grows with time, `slope` a second; `value` is what it is now."""

    __slots__ = ("_clock", "_slope", "_value")

    def __init__(self, value: float, slope: float, clock: _Clock) -> None:
        self._value, self._slope, self._clock = value, slope, clock

    def _plain(self) -> float:
        """The number as it is at this moment only."""
        self._clock.moves = True
        return self._value

    def _crosses(self, least: float) -> None:
        """Note when it comes to `least`."""
        seconds = (least - self._value) / self._slope
        if not math.isnan(seconds):
            self._clock.note(seconds)

    def _stays(self, least: float, most: float) -> None:
        """Note when it leaves these."""
        self._crosses(least)
        self._crosses(most)

    def _linear(self, value: float, slope: float) -> Any:
        return Now(value, slope, self._clock) if slope else value

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Now):
            return self._linear(self._value + other._value, self._slope + other._slope)
        return Now(self._value + other, self._slope, self._clock)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Now):
            return self._linear(self._value - other._value, self._slope - other._slope)
        return Now(self._value - other, self._slope, self._clock)

    def __rsub__(self, other: Any) -> Any:
        return Now(other - self._value, -self._slope, self._clock)

    def __neg__(self) -> Any:
        return Now(-self._value, -self._slope, self._clock)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Now):
            return self._plain() * other._plain()
        return self._linear(self._value * other, self._slope * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Now):
            return self._plain() / other._plain()
        return Now(self._value / other, self._slope / other, self._clock)

    def __rtruediv__(self, other: Any) -> Any:
        return other / self._plain()

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, Now):
            return self._plain() // other._plain()
        found = self._value // other
        self._stays(found * other, (found + 1) * other)
        return found

    def __mod__(self, other: Any) -> Any:
        return self._plain() % other

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def _compared(self, other: Any) -> Any:
        """The number that it is compared with, as of now."""
        if not isinstance(other, Now):
            self._crosses(other)
            return other
        apart = self._linear(self._value - other._value, self._slope - other._slope)
        if isinstance(apart, Now):
            apart._crosses(0.0)
        return other._value

    def __lt__(self, other: Any) -> bool:
        return bool(self._value < self._compared(other))

    def __le__(self, other: Any) -> bool:
        return bool(self._value <= self._compared(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self._value > self._compared(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self._value >= self._compared(other))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | float | Now):
            return NotImplemented
        return bool(self._value == self._compared(other))

    def __bool__(self) -> bool:
        return self != 0

    def __hash__(self) -> int:
        return hash((self._value, self._slope))

    def __float__(self) -> float:
        return self._plain()

    def __int__(self) -> int:
        return int(self._plain())

    def __ceil__(self) -> int:
        found = math.ceil(self._value)
        self._stays(found - 1, found)
        return found

    def __round__(self) -> int:
        found = round(self._value)
        self._stays(found - 0.5, found + 0.5)
        return found

    def __format__(self, form: str) -> str:
        found = format(self._value, form)
        if (digits := _DIGITS.search(form)) is None:
            return format(self._plain(), form)
        shown, half = float(found.replace(",", "")), 0.5 / 10 ** int(digits[1])
        self._stays(shown - half, shown + half)
        return found
