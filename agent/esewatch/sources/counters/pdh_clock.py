"""Local times of a perfmon log to UTC, through the ends of daylight saving time."""

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import msgspec

from esewatch.model import SourceError

_TIME = re.compile(
    r"\s*(\d{1,2})/(\d{1,2})/(\d{4}) (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,](\d{1,6}))?\s*"
)
_HOUR = timedelta(hours=1)
_JITTER = timedelta(seconds=1)
_NIGHT = frozenset({21, 22, 23, 0, 1, 2, 3, 4})
"""In one of these hours summer time ends, wherever there is any."""


def log_zone(name: str | None) -> ZoneInfo | None:
    """The configured zone of a log; None where none is. Raises SourceError for one not known."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise SourceError(f"time zone {name!r} is not known here") from None


def contradicted(name: str) -> str:
    """Remark: a log says another offset than its configured zone ever has."""
    return f"are read as their log says: it contradicts the configured timezone {name}"


def shares_offset(zone: tzinfo, offsets: Collection[timedelta | None], year: int) -> bool:
    """True if one of these offsets from UTC is one of the zone in that year."""
    days = (datetime(year, month, day) for month in range(1, 13) for day in (1, 15))
    return any(zone.utcoffset(day) in offsets for day in days)


class ClockState(msgspec.Struct, array_like=True):
    """The state of the clock after the rows so far."""

    last: str = ""
    """Local time of the last row, ISO."""
    interval: float = 0.0
    """Seconds between the two rows before."""
    fold: int = 0
    shift: int = 0
    """Seconds by which the header's offset has grown since it was written."""
    interval_before: float = 0.0
    """Seconds between the two rows before those of `interval`."""


class PdhClock:
    """Turns the first cell of each row, in file order, into epoch seconds.

    A configured zone decides that has the header's offset in the year of the first row, else that
    offset, else UTC. A time that goes back by about an hour less the usual interval is the end of
    daylight saving time: the second run of an ambiguous hour, which UTC does not have. It is so by
    night alone, and not where the time only goes back behind a single row of a clock ahead. The
    beginning of daylight saving time looks like a gap: only a configured zone shows it.
    """

    def __init__(self, zone: tzinfo | None, state: ClockState) -> None:
        self.state = state
        self._zone = zone
        self._configured = zone
        self._is_settled = False
        """True once the zone was compared with the header."""
        self.contradicted = False
        self._west: int | None = None
        self._is_utc = False
        self._last = datetime.fromisoformat(state.last) if state.last else None

    def header(self, west_seconds: int | None, *, is_utc: bool, fresh: bool) -> None:
        """A header line begins; `fresh` unless the reading continues after a restart."""
        self._west, self._is_utc = west_seconds, is_utc
        self._zone, self._is_settled = self._configured, west_seconds is None
        if fresh:
            self.state.shift = self.state.fold = 0
            self.state.interval = self.state.interval_before = 0.0
            self._last = None

    def read(self, cell: str) -> float | None:
        """Epoch seconds of a row's first cell; None if it is no time."""
        found = _TIME.fullmatch(cell)
        if not found:
            return None
        month, day, year, hour, minute, second = map(int, found.groups()[:6])
        micro = int((found[7] or "0").ljust(6, "0"))
        try:
            return self.at(datetime(year, month, day, hour, minute, second, micro))
        except ValueError:
            return None

    def at(self, local: datetime) -> float | None:
        """Epoch seconds of the next local time; None where the zone does not reach so far."""
        try:
            self._settle(local.year if self._last is None else self._last.year)
            seconds = self._utc(local)
        except (ValueError, OverflowError):
            return None
        if self._last is not None and local > self._last:
            self.state.interval_before = self.state.interval
            self.state.interval = (local - self._last).total_seconds()
        self._last = local
        self.state.last = local.isoformat()
        return seconds

    def _settle(self, year: int) -> None:
        if self._is_settled or self._configured is None or self._west is None:
            return
        self._is_settled = True
        if not shares_offset(self._configured, [timedelta(seconds=-self._west)], year):
            self._zone, self.contradicted = None, True

    def _went_back(self, local: datetime) -> bool:
        if self._last is None:
            return False
        usual = timedelta(seconds=self.state.interval)
        jumped = self.state.interval > 2 * self.state.interval_before > 0
        if jumped and local > self._last - usual:
            return False
        return -_HOUR <= local - self._last < min(usual - _HOUR / 2, _JITTER)

    def _utc(self, local: datetime) -> float:
        back = self._went_back(local)
        if self._zone is None:
            if back and not self._is_utc and local.hour in _NIGHT:
                self.state.shift += 3600
            west = (self._west or 0) + self.state.shift if self._west is not None else 0
            return local.replace(tzinfo=UTC).timestamp() + west
        first, second = (local.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1))
        earlier, later = first.utcoffset(), second.utcoffset()
        if earlier is None or later is None or earlier <= later:
            self.state.fold = 0
            return first.timestamp()
        if back or (self._last is None and self._west == -later.total_seconds()):
            self.state.fold = 1
        return (second if self.state.fold else first).timestamp()
