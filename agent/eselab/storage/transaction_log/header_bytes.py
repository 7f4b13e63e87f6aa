"""Times, places in the log and signatures as the headers of all files have them.

LOGTIME, LE_LGPOS and SIGNATURE in daedef.hxx of the published engine; `ese` reads them.
"""

import struct
from datetime import UTC, datetime

from eselab.disk.log_file import CONTENT_BYTES, GENERATION_BYTES, HEADER_BYTES, SEGMENT_HEADER_BYTES

_POSITION = struct.Struct("<HHI")
"""Byte, segment, generation."""


def log_time(time: float) -> bytes:
    """The 8 bytes of a time (epoch seconds, 0: never), to the millisecond."""
    if not time:
        return bytes(8)
    when = datetime.fromtimestamp(time, UTC)
    ms = when.microsecond // 1000
    date = (when.second, when.minute, when.hour, when.day, when.month, when.year - 1900)
    return bytes([*date, 1 | (ms & 0x7F) << 1, (ms >> 7) << 1])


def epoch(time: datetime | None) -> float:
    """The time that was read, in epoch seconds."""
    return time.timestamp() if time is not None else 0.0


def log_position(position: int) -> bytes:
    """The 8 bytes of a position of the log: where in which segment it is. 0: none."""
    if not position:
        return bytes(8)
    generation, offset = divmod(position, GENERATION_BYTES)
    segment, byte = divmod(offset - HEADER_BYTES, CONTENT_BYTES)
    return _POSITION.pack(SEGMENT_HEADER_BYTES + byte, segment + 1, generation)


def position_in(page: bytes, at: int) -> int:
    """The position in these 8 bytes."""
    byte, segment, generation = _POSITION.unpack_from(page, at)
    if not segment:
        return 0
    offset = HEADER_BYTES + (segment - 1) * CONTENT_BYTES + byte - SEGMENT_HEADER_BYTES
    return int(generation) * GENERATION_BYTES + int(offset)


def signature_bytes(number: int, created: float) -> bytes:
    """The 28 bytes of a signature without the name of a computer, as current engines make it."""
    return struct.pack("<I", number) + log_time(created) + bytes(16)
