"""Times of samples, which are local, to UTC.

Best is a clock in UTC that is stored beside the sample; its difference to the local time,
rounded to a quarter of an hour, is the offset, whatever the clocks of other machines are off.
Else a configured time zone, else the one that is stored in the log.
"""

from datetime import datetime, timedelta, tzinfo
from typing import Final

from esewatch.sources.counters.blg.trace_header import LoggedZone
from esewatch.sources.counters.pdh_clock import ClockState, PdhClock

_TICKS: Final = 10_000_000
_QUARTER: Final = 900 * _TICKS
_FARTHEST: Final = 15 * 4
"""Quarters of an hour; no time zone is farther from UTC."""
_EPOCH: Final = 11_644_473_600 * _TICKS
_START: Final = datetime(1970, 1, 1)
_LAST: Final = 25 * 10**17
"""In the year 9523."""


class BlgClock:
    """The clock of one log, in the order of its samples."""

    def __init__(self, zone: tzinfo | None, state: ClockState, proved: int | None) -> None:
        self._local = PdhClock(zone, state)
        self._fixed = zone.west if isinstance(zone, LoggedZone) else None
        self.proved = proved
        """Seconds west of UTC, as the last clock in UTC proved them."""
        self.west: int | None = None
        """Those of the last sample."""

    def utc(self, local: int, clocks: list[int]) -> float | None:
        """Epoch seconds of a local time (100 ns since 1601); None where it is no time.

        `clocks`: the time of the sample in UTC, as far as it is stored.
        """
        if not _EPOCH <= local < _LAST:
            return None
        quarters = [
            round((clock - local) / _QUARTER)
            for clock in clocks
            if abs(clock - local) <= _FARTHEST * _QUARTER
        ]
        if quarters:
            self.proved = max(quarters, key=quarters.count) * 900
        seconds = (local - _EPOCH) / _TICKS
        if self.proved is not None:
            self.west = self.proved
            return seconds + self.proved
        if self._fixed is not None:
            self.west = self._fixed
            return seconds + self._fixed
        found = self._local.at(_START + timedelta(microseconds=(local - _EPOCH) // 10))
        if found is not None:
            self.west = round(found - seconds)
        return found
