"""The question of a what-if, and the ranges of its answer."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

SHARES = (0.1, 0.5, 0.9)
"""Low, likely, high: eight of ten values lie between the first and the last."""


class WhatIfChange(msgspec.Struct, frozen=True, kw_only=True):
    """The change to simulate. None, or empty: that stays as it is."""

    window: float | None = None
    """Seconds that the window would be open, from the same hour on the same days."""
    throttle: float | None = None
    """Seconds that the scan would sleep after each read, in addition to the present sleep."""
    parallel: int | None = None
    """Databases of its disks that would be scanned at the same time, itself included."""
    growth: float | None = None
    """Share of its size that would be added; below 0 it is smaller. Above -1."""
    zeroing: Literal["", "first", "on"] = ""
    """Its scan would zero pages too: for the first time, or as it does in later passes."""


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A range, or the reason why there is none: then all three are None. Never NaN, low <= likely
    <= high."""

    low: float | None = None
    likely: float | None = None
    high: float | None = None
    sentence: str
    """The basis of the estimate, without a full stop."""

    @property
    def values(self) -> tuple[float, float, float] | None:
        """Low, likely, high, where they are known."""
        if self.low is None or self.likely is None or self.high is None:
            return None
        return self.low, self.likely, self.high


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """Fit of a need within its limit: by the high, the likely, the low value, or by none."""

    answer: Literal["yes", "likely", "unlikely", "no", "unknown"]
    sentence: str


def ranged(values: Iterable[float], sentence: str, otherwise: str) -> Estimate:
    """The range of three values in any order; without one, `otherwise`, where one is no number."""
    low, likely, high = sorted(values)
    if not all(map(math.isfinite, (low, likely, high))):
        return Estimate(sentence=otherwise)
    return Estimate(low=low, likely=likely, high=high, sentence=sentence)


def middle(values: Sequence[float]) -> tuple[float, float, float]:
    """The values below which a tenth, half and nine tenths of at least one value lie."""
    ordered = sorted(values)
    low, likely, high = (_at(ordered, share * (len(ordered) - 1)) for share in SHARES)
    return low, likely, high


def fit(needed: Estimate, limit: float, sentence: str) -> Fit:
    if needed.values is None or not math.isfinite(limit):
        return Fit(answer="unknown", sentence=needed.sentence)
    low, likely, high = needed.values
    if high <= limit:
        return Fit(answer="yes", sentence=sentence)
    if likely <= limit:
        return Fit(answer="likely", sentence=sentence)
    return Fit(answer="unlikely" if low <= limit else "no", sentence=sentence)


def _at(ordered: Sequence[float], place: float) -> float:
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
