"""Values of BinXML (what a record fills a template with) as the text that Windows shows. A value
has a type byte; with its highest bit set it is an array of that type."""

import struct
from codecs import utf_16_le_decode
from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID

from esewatch.ese.dates import iso_time

STRING: Final = 0x01
UINT8: Final = 0x04
UINT16: Final = 0x06
UINT64: Final = 0x0A
FILETIME: Final = 0x11
BINXML: Final = 0x21
STRINGS: Final = 0x81
_ARRAY: Final = 0x80
_BINARY: Final = 0x0E
_SID: Final = 0x13
_1970: Final = 11_644_473_600_000_000
"""Microseconds from 1601, where file times begin, to 1970."""
_10000: Final = 253_402_300_800_000_000
_INTEGERS: Final = {
    **{kind: struct.Struct(f"<{code}") for kind, code in enumerate("bBhHiIqQ", 3)},
    0x14: struct.Struct("<I"),
    0x15: struct.Struct("<Q"),
}
_HEX: Final = frozenset({0x14, 0x15})
_SIZES: Final = {
    **{kind: form.size for kind, form in _INTEGERS.items()}, 0x0B: 4, 0x0C: 8, 0x0D: 4, 0x0F: 16,
    0x11: 8, 0x12: 16,
}  # fmt: skip
"""Bytes of one item, for the types whose items are of one size."""


def text_of(kind: int, raw: bytes) -> str:
    """One value. Raises ValueError for a type that has no text, struct.error for a wrong size."""
    if not raw:
        return ""
    if kind == STRING:
        return utf_16_le_decode(raw, "ignore")[0].partition("\0")[0]
    form = _INTEGERS.get(kind)
    if form is not None:
        (number,) = form.unpack(raw)
        return f"0x{number:x}" if kind in _HEX else str(number)
    if kind not in _TEXTS:
        raise ValueError(f"a value of type 0x{kind:02x} is not known")
    return _TEXTS[kind](raw)


def texts_of(kind: int, raw: bytes) -> list[str]:
    """The items of an array; one value is one item."""
    if kind == STRINGS:
        return strings_of(raw)
    if not kind & _ARRAY or not raw:
        return [text_of(kind, raw)]
    item = kind - _ARRAY
    if item == 0x02:
        return [text_of(item, part) for part in raw.removesuffix(b"\0").split(b"\0")]
    if item == _SID:
        return [text_of(item, part) for part in _sids(raw)]
    if item not in _SIZES:
        raise ValueError(f"an array of type 0x{kind:02x} is not known")
    size = _SIZES[item]
    return [text_of(item, raw[at : at + size]) for at in range(0, len(raw), size)]


def strings_of(raw: bytes) -> list[str]:
    """An array of strings, each with a zero behind it; no string at all is one empty one."""
    return utf_16_le_decode(raw, "ignore")[0].removesuffix("\0").split("\0")


def integer_of(kind: int, raw: bytes) -> int | None:
    """A whole number, None when the value is something else."""
    form = None if kind in _HEX else _INTEGERS.get(kind)
    if form is not None and raw:
        return int(form.unpack(raw)[0])
    text = text_of(kind, raw)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def seconds_of(ticks: int) -> float | None:
    """Epoch seconds of a file time (100 ns since 1601), exact to the microsecond. None beyond the
    year 9999."""
    micros = ticks // 10 - _1970
    return micros / 1_000_000 if micros < _10000 else None


def time_of(kind: int, raw: bytes) -> float | None:
    """Epoch seconds of a value, None when it is no time."""
    if kind == FILETIME:
        return seconds_of(*struct.unpack("<Q", raw))
    return parsed_time(text_of(kind, raw))


def parsed_time(text: str) -> float | None:
    """Epoch seconds of an ISO 8601 time, None when it is none."""
    try:
        return iso_time(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _real32(raw: bytes) -> str:
    """The shortest number that is this one in 32 bits."""
    (value,) = struct.unpack("<f", raw)
    shorter = (float(f"{value:.{digits}g}") for digits in range(6, 9))
    return str(next((number for number in shorter if struct.pack("<f", number) == raw), value))


def _boolean(raw: bytes) -> str:
    number = int.from_bytes(raw, "little")
    return ("false", "true")[number] if number < 2 else str(number)


def _file_time(raw: bytes) -> str:
    (ticks,) = struct.unpack("<Q", raw)
    seconds, micros = divmod(ticks // 10 - _1970, 1_000_000)
    if seconds * 1_000_000 >= _10000:
        raise ValueError("a time beyond the year 9999")
    moment = datetime.fromordinal(719_163 + seconds // 86_400)
    minutes, second = divmod(seconds % 86_400, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{second:02}.{micros:06}Z"
    return f"{moment:%Y-%m-%d}T{clock}"


def _system_time(raw: bytes) -> str:
    year, month, _, day, hour, minute, second, milli = struct.unpack("<8H", raw)
    moment = datetime(year, month, day, hour, minute, second, milli * 1000)
    return moment.isoformat(timespec="microseconds") + "Z"


def _sid(raw: bytes) -> str:
    revision, count = struct.unpack_from("<BB", raw)
    if len(raw) < 8 + 4 * count:
        raise ValueError("a security identifier that is cut short")
    parts = struct.unpack_from(f"<{count}I", raw, 8)
    return "-".join(map(str, ("S", revision, int.from_bytes(raw[2:8], "big"), *parts)))


def _sids(raw: bytes) -> list[bytes]:
    parts, at = [], 0
    while at + 8 <= len(raw):
        end = at + 8 + 4 * raw[at + 1]
        parts.append(raw[at:end])
        at = end
    return parts


_TEXTS: Final[dict[int, Callable[[bytes], str]]] = {
    0x00: lambda raw: "",
    0x02: lambda raw: raw.removesuffix(b"\0").decode("cp1252", "replace"),
    0x0B: _real32,
    0x0C: lambda raw: str(struct.unpack("<d", raw)[0]),
    0x0D: _boolean,
    0x0E: lambda raw: raw.hex().upper(),
    0x0F: lambda raw: str(UUID(bytes_le=raw)).upper(),
    0x10: lambda raw: f"0x{int.from_bytes(raw, 'little'):x}",
    0x11: _file_time,
    0x12: _system_time,
    0x13: _sid,
}
