"""The question of a what-if, the ranges of its answer, and how much longer a scan would take."""

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final, Literal, NamedTuple

import msgspec

from esewatch.advice.base.finding import span
from esewatch.advice.findings.scan_collisions import Loss
from esewatch.advice.history.history import History
from esewatch.advice.history.passes import is_amount

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


READ_BYTES: Final = 327_680
"""Bytes of one read of the scan; it sleeps after each (published facts P1)."""
PAGE_BYTES: Final = 8192
"""Page size of Exchange 2007, where no record has it."""

MB_ALONE, MB_TWO = 250.0, 67.0
"""MB a second that a scan reads alone on its disks, and with two at once (published facts P1).
The table does not say whether the second is of each or the sum of both."""
MB_ZEROING = 68.0
"""The same alone with zeroing."""
SECONDS_CHECKED, SECONDS_ZEROED = 208.0, 369.0
"""A pass over the same 5,850,768 pages without zeroing (721), and a later one with it (722)."""
ZEROED = 722


class ScanPace(NamedTuple):
    """A pass takes `low` to `high` times as long, and then `more` seconds."""

    low: float = 1.0
    likely: float = 1.0
    high: float = 1.0
    more: float = 0.0
    said: tuple[str, ...] = ()

    def times(self, factors: Sequence[float], said: str) -> "ScanPace":
        """With the lowest, middle and highest of three further factors."""
        low, likely, high = sorted(factors)
        return ScanPace(
            self.low * low, self.likely * likely, self.high * high, self.more, (*self.said, said)
        )


def scan_pace(
    history: History, change: WhatIfChange, seconds: Sequence[float], loss: Loss | None
) -> ScanPace | str:
    """The effect of the change on a scan whose passes take `seconds` (at least one) at its size.

    `loss` is the cost of scanning beside others, None where that was not measured. A str says why
    it is unknown.
    """
    pace = ScanPace()
    if change.parallel is not None:
        pace = _parallel(pace, change.parallel, history.pages, seconds, loss)
    if change.zeroing:
        pace = _zeroing(pace, history, first=change.zeroing == "first")
    if change.throttle is not None:
        return _throttled(pace, history, change.throttle)
    return pace


def zeroes_already(history: History) -> bool:
    return any(done.completion_event == ZEROED for done in history.checksum_passes)


def _parallel(
    pace: ScanPace, count: int, pages: float | None, seconds: Sequence[float], loss: Loss | None
) -> ScanPace:
    usual = median(seconds)
    alone = loss.alone if loss is not None else None
    together = loss.together if loss is not None else None
    # How long a pass at the measured rate takes, against those that it was derived from.
    base = pages / alone / usual if pages and alone and is_amount(pages) and usual > 0 else None
    if base is None and together and loss is not None and loss.share:
        return _crowded(pace, together, loss.share, count)
    if base is None:
        if count == 1:
            return pace._replace(
                said=(
                    *pace.said,
                    "it was never scanned alone on its disks, so no other pace is known",
                )
            )
        return _published(pace, 1.0, count)
    if count == 1:
        return pace.times([base] * 3, f"it reads {alone:,.0f} pages a second alone")
    if not together or loss is None or not loss.share:
        return _published(pace, base, count)
    slower = max(1.0, (alone or 0.0) / together)
    # Only `share` of its time was beside others; all of it would be.
    whole = max(slower, (slower - (1.0 - loss.share)) / loss.share)
    said = f"measured here: {alone:,.0f} pages a second alone, {together:,.0f} beside others"
    return pace.times([base * slower, base * whole, base * whole * count / 2], said + _more(count))


def _crowded(pace: ScanPace, together: float, share: float, count: int) -> ScanPace:
    """Of passes that were all beside others for a `share` of their time."""
    seen = f"measured here: {together:,.0f} pages a second beside others"
    if count == 1:
        most = 2 * MB_ALONE / MB_TWO
        said = f"{seen}; published: up to {most:.1f} times as fast alone"
        return pace.times((1 / most, math.sqrt(1 / most), 1.0), said)
    whole = max(1.0, 1.0 / share)
    return pace.times((1.0, math.sqrt(whole), whole * count / 2), seen + _more(count))


def _published(pace: ScanPace, base: float, count: int) -> ScanPace:
    """Both readings of the published table."""
    each, both = MB_ALONE / MB_TWO, 2 * MB_ALONE / MB_TWO
    said = (
        f"published, not measured here: two at once read {MB_TWO:g} instead of {MB_ALONE:g} MB/s,"
        f" which takes {each:.1f} to {both:.1f} times as long"
    )
    factors = (base * each, base * math.sqrt(each * both), base * both * count / 2)
    return pace.times(factors, said + _more(count))


def _more(count: int) -> str:
    return "" if count == 2 else f"; {count} at once are assumed to share the throughput of two"


def _zeroing(pace: ScanPace, history: History, *, first: bool) -> ScanPace:
    if zeroes_already(history):
        return pace._replace(said=(*pace.said, "its scan zeroes pages already (722)"))
    later, at_first = SECONDS_ZEROED / SECONDS_CHECKED, MB_ALONE / MB_ZEROING
    low, high = (later, at_first) if first else (1.0, later)
    said = f"published, not measured here: zeroing takes {low:.1f} to {high:.1f} times as long"
    return pace.times((low, math.sqrt(low * high), high), said)


def _throttled(pace: ScanPace, history: History, pause: float) -> ScanPace | str:
    pages = history.pages
    if pages is None or not is_amount(pages):
        return "its size is not known, so the number of reads is not known"
    size = history.page_size
    reads = math.ceil(pages * (size or PAGE_BYTES) / READ_BYTES)
    taken = "" if size else " (assuming pages of 8 KB)"
    said = f"{reads:,} reads of 320 KB{taken}, {pause * 1000:g} ms more after each:"
    return pace._replace(
        more=reads * pause, said=(*pace.said, f"{said} {span(reads * pause) or '0 s'} a pass")
    )
