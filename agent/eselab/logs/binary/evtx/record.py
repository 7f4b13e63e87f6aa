"""A record of a Windows event log: binary XML, by one template that its chunk has once.

Sources: MS-EVEN6 2.2.12 (tokens, types of values), the format description of libevtx (records).
"""

import struct
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

NAMESPACE: Final = "http://schemas.microsoft.com/win/2004/08/events/event"

_MAGIC: Final = b"\x2a\x2a\0\0"
_FRAGMENT: Final = b"\x0f\x01\x01\x00"
_END: Final = b"\x00"
_CLOSE_START, _CLOSE_EMPTY, _CLOSE = b"\x02", b"\x03", b"\x04"
_ELEMENT, _WITH_ATTRIBUTES = 0x01, 0x41
_ATTRIBUTE, _MORE_ATTRIBUTES = 0x06, 0x46
_U8, _U16, _U64, _TIME, _TEXTS, _HEX64 = 0x04, 0x06, 0x0A, 0x11, 0x81, 0x15
_CLASSIC: Final = 0x80000000000000
"""The keyword of events of programs that log as in Windows before Vista."""

_LONGEST: Final = 0xF000
"""Bytes of the strings: a chunk has room for them, with the template, in one record."""

_HEAD: Final = struct.Struct("<4sIQQ")
_SIZE: Final = struct.Struct("<I")
_EPOCH: Final = 11_644_473_600
"""Seconds from 1601 to 1970."""


class Source(NamedTuple):
    """Fields that all events of a log have in common."""

    provider: str
    channel: str
    computer: str


class Event(NamedTuple):
    """One event; `time` is in microseconds since 1970."""

    event_id: int
    time: int
    level: int
    category: int
    strings: Sequence[str]


class _Part(NamedTuple):
    """An element of the template: its attributes, and what is in it."""

    name: str
    attributes: tuple[tuple[str, "str | _Slot"], ...] = ()
    content: "tuple[_Part | _Slot | str, ...]" = ()


class _Slot(NamedTuple):
    """A place that a value of each record fills."""

    number: int
    kind: int


class Names:
    """Places of the names and template in a chunk that has them already; new ones are added."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.templates: dict[int, int] = {}

    def copy(self) -> "Names":
        """For a record that may not fit."""
        other = Names()
        other.names, other.templates = dict(self.names), dict(self.templates)
        return other


def ticks(time: int) -> int:
    """Of 100 ns since 1601, of microseconds since 1970."""
    return time * 10 + _EPOCH * 10_000_000


def microseconds(filetime: int) -> int:
    """Since 1970, of ticks of 100 ns since 1601."""
    return (filetime - _EPOCH * 10_000_000) // 10


def hash_of(name: str) -> int:
    """By which a chunk finds a name."""
    value = 0
    for character in name:
        value = (value * 65599 + ord(character)) & 0xFFFFFFFF
    return value & 0xFFFF


def encoded(source: Source, number: int, event: Event, at: int, names: Names) -> bytes:
    """The record of an event at that place of a chunk. ValueError where no chunk has room."""
    head = _HEAD.pack(_MAGIC, 0, number, ticks(event.time))
    out = bytearray(head + _FRAGMENT)
    key = zlib.crc32("\0".join(source).encode())
    out += struct.pack("<BBI", 0x0C, 1, key)
    if key in names.templates:
        out += _SIZE.pack(names.templates[key])
    else:
        place = names.templates[key] = at + len(out) + _SIZE.size
        out += struct.pack("<II16sI", place, 0, struct.pack("<IQI", key, 0, key), 0)
        begin = len(out)
        out += _FRAGMENT
        _put(out, _template(source), at, names)
        out += _END
        _SIZE.pack_into(out, begin - _SIZE.size, len(out) - begin)
    _put_values(out, number, event)
    out += _END
    out += bytes(-(len(out) + _SIZE.size) % 8)
    size = len(out) + _SIZE.size
    _SIZE.pack_into(out, 4, size)
    return bytes(out + _SIZE.pack(size))


def _template(source: Source) -> _Part:
    system = (
        _Part("Provider", (("Name", source.provider),)),
        _Part("EventID", (("Qualifiers", _Slot(4, _U16)),), (_Slot(3, _U16),)),
        _Part("Level", (), (_Slot(0, _U8),)),
        _Part("Task", (), (_Slot(2, _U16),)),
        _Part("Keywords", (), (_Slot(5, _HEX64),)),
        _Part("TimeCreated", (("SystemTime", _Slot(6, _TIME)),)),
        _Part("EventRecordID", (), (_Slot(1, _U64),)),
        _Part("Channel", (), (source.channel,)),
        _Part("Computer", (), (source.computer,)),
        _Part("Security"),
    )
    data = _Part("EventData", (), (_Part("Data", (), (_Slot(7, _TEXTS),)),))
    return _Part("Event", (("xmlns", NAMESPACE),), (_Part("System", (), system), data))


def _put_values(out: bytearray, number: int, event: Event) -> None:
    texts = b"".join(_text(text) + b"\0\0" for text in event.strings)
    if len(texts) > _LONGEST:
        raise ValueError(f"an event with strings of {len(texts)} bytes")
    values = (
        (_U8, bytes([event.level])),
        (_U64, struct.pack("<Q", number)),
        (_U16, struct.pack("<H", event.category)),
        (_U16, struct.pack("<H", event.event_id)),
        (_U16, bytes(2)),
        (_HEX64, struct.pack("<Q", _CLASSIC)),
        (_TIME, struct.pack("<Q", ticks(event.time))),
        (_TEXTS, texts),
    )
    out += _SIZE.pack(len(values))
    for kind, value in values:
        out += struct.pack("<HBB", len(value), kind, 0)
    out += b"".join(value for _, value in values)


def _put(out: bytearray, part: "_Part | _Slot | str", at: int, names: Names) -> None:
    if isinstance(part, str):
        out += struct.pack("<BBH", 0x05, 1, len(_text(part)) // 2) + _text(part)
        return
    if isinstance(part, _Slot):
        out += struct.pack("<BHB", 0x0E, part.number, part.kind)
        return
    # An element whose value is absent is left out where it depends on it: none is here.
    out += struct.pack("<BHI", _WITH_ATTRIBUTES if part.attributes else _ELEMENT, 0xFFFF, 0)
    begin = len(out)
    _put_name(out, part.name, at, names)
    if part.attributes:
        out += bytes(_SIZE.size)
        first = len(out)
        for index, (name, value) in enumerate(part.attributes, 1):
            out.append(_ATTRIBUTE if index == len(part.attributes) else _MORE_ATTRIBUTES)
            _put_name(out, name, at, names)
            _put(out, value, at, names)
        _SIZE.pack_into(out, first - _SIZE.size, len(out) - first)
    if part.content:
        out += _CLOSE_START
        for inner in part.content:
            _put(out, inner, at, names)
        out += _CLOSE
    else:
        out += _CLOSE_EMPTY
    _SIZE.pack_into(out, begin - _SIZE.size, len(out) - begin)


def _put_name(out: bytearray, name: str, at: int, names: Names) -> None:
    if name in names.names:
        out += _SIZE.pack(names.names[name])
        return
    place = names.names[name] = at + len(out) + _SIZE.size
    out += struct.pack("<IIHH", place, 0, hash_of(name), len(name)) + _text(name) + b"\0\0"


def _text(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
