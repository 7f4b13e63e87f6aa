"""The engine's form of a time: 8 bytes, in headers and logs.

Seconds, minutes, hours, day, month (1 to 12), year - 1900; then a bit that says UTC and
ten bits of milliseconds. Source: LOGTIME in daedef.hxx of the published engine.
"""

from datetime import UTC, datetime
from typing import Final

SIZE: Final = 8


def parse_log_time(raw: bytes) -> datetime | None:
    """The time in these 8 bytes: aware where it is UTC, naive where it is local to its server.

    None: not set, or damaged (a month 13).
    """
    second, minute, hour, day, month, year, low, high = raw
    milliseconds = low >> 1 | (high >> 1 & 0x7) << 7
    zone = UTC if low & 1 else None
    try:
        return datetime(
            1900 + year, month, day, hour, minute, second, milliseconds * 1000, tzinfo=zone
        )
    except ValueError:
        return None
