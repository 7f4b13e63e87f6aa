"""The first event of a binary performance log: how it was logged, and in which time zone."""

import struct
from datetime import datetime, timedelta, tzinfo
from typing import Final, NamedTuple

CIRCULAR: Final = 0x2
COMPRESSED: Final = 0x04000000

_MODE_AT: Final = 32
_POINTER_AT: Final = 44
_POINTERS_AT: Final = 56
_ZONE_BYTES: Final = 172
_SYSTEM_TIME: Final = struct.Struct("<8H")
_WEEK: Final = 7


class Change(NamedTuple):
    """Change of the clock: on the n-th weekday of a month (5: the last), or on a date."""

    year: int
    month: int
    weekday: int
    """0 is Sunday."""
    day: int
    hour: int
    minute: int

    def in_year(self, year: int) -> datetime:
        """The local time of the change. Raises ValueError where it names no day."""
        if self.year:
            return datetime(self.year, self.month, self.day, self.hour, self.minute)
        first = datetime(year, self.month, 1, self.hour, self.minute)
        ahead = (self.weekday - first.isoweekday()) % _WEEK
        found = first + timedelta(days=ahead + _WEEK * (self.day - 1))
        while found.month != self.month:
            found -= timedelta(days=_WEEK)
        return found


class LoggedZone(tzinfo):
    """The time zone that is stored in a log."""

    def __init__(self, west: int, standard: int, daylight: int, changes: tuple[Change, Change]):
        """Minutes west of UTC, minutes more in each time, changes to standard and daylight."""
        self._standard = timedelta(minutes=-(west + standard))
        self._daylight = timedelta(minutes=-(west + daylight))
        self._changes = changes
        self.offsets = (self._standard, self._daylight)
        changing = all(change.month for change in changes)
        self.west = None if changing else 60 * (west + standard)
        """Seconds west of UTC, None where the clock changes in summer."""

    def utcoffset(self, dt: datetime | None) -> timedelta:
        """See `tzinfo`; `fold` is 1 in the second run of a repeated hour."""
        return self._daylight if dt is not None and self._is_daylight(dt) else self._standard

    def dst(self, dt: datetime | None) -> timedelta:
        return self.utcoffset(dt) - self._standard

    def tzname(self, dt: datetime | None) -> str | None:
        """It has none: the stored names are numbers of texts that are elsewhere."""
        return None

    def _is_daylight(self, dt: datetime) -> bool:
        if self.west is not None:
            return False
        to_standard, to_daylight = self._changes
        local = dt.replace(tzinfo=None, fold=0)
        try:
            begin = to_daylight.in_year(local.year)
            end = to_standard.in_year(local.year)
        except (ValueError, OverflowError):
            return False
        if dt.fold and end - (self._daylight - self._standard) <= local < end:
            return False
        return begin <= local < end if begin < end else not end <= local < begin


class TraceHeader(NamedTuple):
    """Fields of the first event."""

    mode: int
    zone: LoggedZone | None
    zone_name: str
    """Of its standard time; empty where it is no name."""


def read_trace_header(body: bytes) -> TraceHeader | None:
    """The header behind the 32 bytes of its event; None where it is cut short."""
    if len(body) < _POINTERS_AT:
        return None
    (mode,) = struct.unpack_from("<I", body, _MODE_AT)
    (pointer,) = struct.unpack_from("<I", body, _POINTER_AT)
    at = _POINTERS_AT + 2 * (8 if pointer == 8 else 4)
    zone = body[at : at + _ZONE_BYTES]
    if len(zone) < _ZONE_BYTES:
        return TraceHeader(mode, None, "")
    west, standard, daylight = (struct.unpack_from("<i", zone, place)[0] for place in (0, 84, 168))
    if not all(abs(minutes) <= 24 * 60 for minutes in (west, west + standard, west + daylight)):
        return TraceHeader(mode, None, "")
    changes = _change(zone, 68), _change(zone, 152)
    name = zone[4:68].decode("utf-16-le", "replace").split("\0", 1)[0]
    printable = name.isprintable() and not name.startswith("@")
    return TraceHeader(
        mode, LoggedZone(west, standard, daylight, changes), name if printable else ""
    )


def _change(zone: bytes, at: int) -> Change:
    year, month, weekday, day, hour, minute, _, _ = _SYSTEM_TIME.unpack_from(zone, at)
    fits = month <= 12 and weekday < _WEEK and 1 <= day <= 31 and hour < 24 and minute < 60
    return Change(year, month if fits else 0, weekday, day, hour, minute)
