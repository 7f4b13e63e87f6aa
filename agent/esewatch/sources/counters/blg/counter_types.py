"""From the two stored values of a counter to the value that Windows shows, by counter type. The
first value is the counter itself, the second one its clock or its base at the sample."""

import math
from enum import IntEnum
from typing import Final

import msgspec

from esewatch.model import Feed, Kind

Labels = tuple[str, str, str, str, Kind, Feed | None]
"""Computer, object, counter, instance, kind and feed of a reading."""


class Formula(IntEnum):
    """Formula of a value from two samples, or one; dv and dc are the differences."""

    RAW = 0
    """The first value."""
    FRACTION = 1
    """100 v / c"""
    ELAPSED = 2
    """(c - v) / frequency"""
    RATE = 3
    """dv / (dc / frequency)"""
    PERCENT = 4
    """100 dv / dc, of a time"""
    INVERSE = 5
    """100 (1 - dv / dc)"""
    AVERAGE = 6
    """dv / dc, 0 while the base stands still"""
    AVERAGE_TIME = 7
    """dv / frequency / dc, 0 while the base stands still"""
    MEAN = 8
    """dv / dc"""
    DELTA = 9
    """dv"""


FORMULAS: Final[dict[int, Formula]] = {
    0x00000000: Formula.RAW, 0x00000100: Formula.RAW, 0x00010000: Formula.RAW,
    0x00010100: Formula.RAW, 0x00400400: Formula.DELTA, 0x00400500: Formula.DELTA,
    0x00410400: Formula.RATE, 0x10410400: Formula.RATE, 0x10410500: Formula.RATE,
    0x00450400: Formula.MEAN, 0x00450500: Formula.MEAN, 0x00550500: Formula.MEAN,
    0x00650500: Formula.MEAN, 0x20020400: Formula.FRACTION, 0x20020500: Formula.FRACTION,
    0x20C20400: Formula.PERCENT, 0x20410500: Formula.PERCENT, 0x20510500: Formula.PERCENT,
    0x20610500: Formula.PERCENT, 0x20470500: Formula.PERCENT, 0x20570500: Formula.PERCENT,
    0x20670500: Formula.PERCENT, 0x21410500: Formula.INVERSE, 0x21510500: Formula.INVERSE,
    0x30020400: Formula.AVERAGE_TIME, 0x40020500: Formula.AVERAGE, 0x30240500: Formula.ELAPSED,
}  # fmt: skip
"""By counter type, as Microsoft documents them. Texts, histograms, multi-timers have none."""

TOTALS: Final = frozenset({0x00410400, 0x10410400, 0x10410500})
"""Shown as a rate; what is stored is a running total."""
WITH_BASE: Final = frozenset(
    {0x20020400, 0x20020500, 0x20C20400, 0x30020400, 0x40020500, 0x20470500, 0x20570500, 0x20670500}
)
"""In a whole object the definition that follows is their base."""

_LARGE: Final = 0x300
"""Of these bits of a type none is set where the counter has 32 bits."""
_BASE_BITS: Final = 0x00070000
_BASE: Final = 0x00030000
_KIND_BITS: Final = 0x00000C00
_COUNTER: Final = 0x00000400
TIMER_100NS: Final = 0x00100000
"""Their clock counts 100 ns since 1601, UTC."""
OBJECT_TIMER: Final = 0x00200000
"""Their clock is that of the object."""

_RANGE: Final = 2**32
_TENTH: Final = _RANGE // 10


def is_base(counter_type: int) -> bool:
    """Is it the base of another counter, which is not shown on its own?"""
    return counter_type & (_BASE_BITS | _KIND_BITS) == _BASE | _COUNTER or (
        counter_type == 0x42030500
    )


def has_32_bits(counter_type: int) -> bool:
    return not counter_type & _LARGE


class Column(msgspec.Struct, gc=False):
    """One counter of one instance, with what was stored of it in the sample before."""

    labels: Labels
    formula: Formula
    frequency: float
    """Not a number where the log has none: then its totals are all there is."""
    wraps: bool
    known: bool = False
    first: int = 0
    second: int = 0

    def value(self, first: int, second: int) -> float:
        """The value of this sample, not a number where it has none; it is the one before then."""
        earlier, then = self.first, self.second
        known, self.known = self.known, True
        self.first, self.second = first, second
        if known or self.formula <= Formula.ELAPSED:
            return self.between(first, second, earlier, then)
        return math.nan

    def between(self, first: int, second: int, earlier: int, then: int) -> float:
        """The value of a sample behind another one of which `earlier` and `then` were stored."""
        formula = self.formula
        if formula <= Formula.ELAPSED:
            return _of_one_sample(formula, first, second, self.frequency)
        grown, passed = first - earlier, second - then
        if grown < 0:
            if formula == Formula.DELTA or not self.wraps:
                return math.nan
            # A fall is a wrap only from the top tenth of the range to the lowest, else a restart.
            if not (_RANGE > earlier >= _RANGE - _TENTH and first < _TENTH):
                return math.nan
            grown += _RANGE
        if formula == Formula.DELTA:
            return float(grown)
        if passed <= 0:
            still = passed == 0 and formula in (Formula.AVERAGE, Formula.AVERAGE_TIME)
            return 0.0 if still else math.nan
        return _of_two_samples(formula, grown, passed, self.frequency)


def _of_two_samples(formula: Formula, grown: int, passed: int, frequency: float) -> float:
    if formula == Formula.RATE:
        return grown / (passed / frequency)
    if formula == Formula.PERCENT:
        return 100.0 * (grown / passed)
    if formula == Formula.INVERSE:
        return max(0.0, 100.0 * (1.0 - grown / passed))
    if formula == Formula.AVERAGE_TIME:
        return grown / frequency / passed
    return grown / passed


def _of_one_sample(formula: Formula, first: int, second: int, frequency: float) -> float:
    if formula == Formula.RAW:
        return float(first)
    if formula == Formula.FRACTION:
        return 100.0 * (first / second) if second > 0 else math.nan
    return (second - first) / frequency if second >= first else math.nan
