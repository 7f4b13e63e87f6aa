"""BinXML, the form of a record's content: elements, instances of templates, and values.

A template is written out where it is first used in a chunk (its definition), as is
each name of an element or attribute; elsewhere stands their offset in the chunk. An
instance is a reference to a definition and the values that go into its slots. A value has a
type byte; with its highest bit set it is an array of that type.

Tokens (0x40 is a flag): 00 end, 01 element, 02 end of its start tag, 03 the same of an
empty one, 04 end tag, 05 text, 06 attribute, 07 CDATA, 08 character, 09 entity, 0A and
0B processing instruction, 0C template instance, 0D and 0E slot, 0F fragment header.
"""

import struct
from codecs import utf_16_le_decode
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple
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


INSTANCE_HEADER_BYTES: Final = 10
"""Of an instance: its token, one byte, id of the template, offset of the definition."""
DEFINITION_HEADER_BYTES: Final = 24
"""Of a definition: offset of another one, GUID, size of what follows."""
_LONGEST_NAME: Final = 1024
_DEEPEST: Final = 64
_MORE: Final = 0x40
_U16: Final = struct.Struct("<H")
_U32: Final = struct.Struct("<I")
_NAME: Final = struct.Struct("<4xHH")
_DESCRIPTORS: Final = struct.Struct("<HBx")
_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class TemplateSlot(NamedTuple):
    number: int


class Element(NamedTuple):
    name: str
    attributes: "tuple[tuple[str, Content], ...]"
    content: "Content"


Content = tuple[str | TemplateSlot | Element, ...]


class TemplateValue(NamedTuple):
    """A value of an instance: its type, and where it stands, which may be beyond the chunk."""

    kind: int
    start: int
    end: int


class TemplateInstance(NamedTuple):
    definition: int
    values: list[TemplateValue]


class NameReference(NamedTuple):
    """A reference to a name: where it stands, and whether the name stands right behind it."""

    place: int
    inline: bool


class Names(dict[int, str]):
    """The names in a chunk by their offset; ValueError or struct.error where none can be."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __missing__(self, offset: int) -> str:
        _, length = _NAME.unpack_from(self._data, offset)
        end = offset + _NAME.size + 2 * length
        if length > _LONGEST_NAME or end > len(self._data):
            raise ValueError(f"a name of {length} characters")
        name = self[offset] = self._data[offset + _NAME.size : end].decode("utf-16-le", "ignore")
        return name


class BinXmlParser:
    """Reads BinXML from `at` on. Raises ValueError or struct.error where it is none. Every step
    goes forward, so the work is in proportion to the bytes. Elements of a template say on which
    slot they depend, which takes two bytes; those of a record do not."""

    def __init__(self, data: bytes, names: Names, at: int, *, in_template: bool = False) -> None:
        self.at = at
        self.references: list[NameReference] = []
        self._data = data
        self._names = names
        self._in_template = in_template

    def fragment(self) -> Element | TemplateInstance | None:
        while True:
            token = self._data[self.at]
            if token == 0x0F:
                self.at += 4
            elif token == 0x0A:
                self._instruction()
            elif token == 0x0C:
                return self.instance()
            elif token & ~_MORE == 0x01:
                return self._element(0)
            elif token == 0x00:
                return None
            else:
                raise ValueError(f"token 0x{token:02x} at offset {self.at}")

    def instance(self) -> TemplateInstance:
        definition = self._number(_U32, self.at + 6)
        self.at += INSTANCE_HEADER_BYTES
        if definition == self.at:
            self.at += DEFINITION_HEADER_BYTES + self._number(_U32, self.at + 20)
        count = self._number(_U32, self.at)
        start = self.at + 4 + 4 * count
        if start > len(self._data):
            raise ValueError(f"{count} values")
        values = []
        for size, kind in _DESCRIPTORS.iter_unpack(self._data[self.at + 4 : start]):
            values.append(TemplateValue(kind, start, start + size))
            start += size
        self.at = start
        return TemplateInstance(definition, values)

    def _number(self, form: struct.Struct, at: int) -> int:
        return int(form.unpack_from(self._data, at)[0])

    def _name(self) -> str:
        place, offset = self.at, self._number(_U32, self.at)
        self.at += 4
        name = self._names[offset]
        inline = offset == self.at
        if inline:
            _, length = _NAME.unpack_from(self._data, offset)
            self.at += _NAME.size + 2 * length + 2
        self.references.append(NameReference(place, inline))
        return name

    def _text(self) -> str:
        start = self.at + 2
        self.at = start + 2 * self._number(_U16, self.at)
        if self.at > len(self._data):
            raise ValueError("a text that reaches beyond the chunk")
        return self._data[start : self.at].decode("utf-16-le", "ignore")

    def _element(self, depth: int) -> Element:
        token = self._data[self.at]
        if depth == _DEEPEST:
            raise ValueError(f"elements within each other deeper than {_DEEPEST}")
        self.at += 7 if self._in_template else 5
        name = self._name()
        attributes = self._attributes() if token & _MORE else ()
        token = self._data[self.at]
        self.at += 1
        if token == 0x03:
            return Element(name, attributes, ())
        if token != 0x02:
            raise ValueError(f"token 0x{token:02x} in a start tag")
        content: list[str | TemplateSlot | Element] = []
        while self._data[self.at] != 0x04:
            if self._data[self.at] & ~_MORE == 0x01:
                content.append(self._element(depth + 1))
            elif self._data[self.at] == 0x0A:
                self._instruction()
            else:
                content.append(self._part())
        self.at += 1
        return Element(name, attributes, tuple(content))

    def _attributes(self) -> tuple[tuple[str, Content], ...]:
        self.at += 4
        attributes = []
        while self._data[self.at] & ~_MORE == 0x06:
            self.at += 1
            name = self._name()
            parts: list[str | TemplateSlot | Element] = []
            while self._data[self.at] & ~_MORE in (0x05, 0x08, 0x09, 0x0D, 0x0E):
                parts.append(self._part())
            attributes.append((name, tuple(parts)))
        return tuple(attributes)

    def _part(self) -> str | TemplateSlot:
        token = self._data[self.at] & ~_MORE
        self.at += 1
        if token in (0x0D, 0x0E):
            index = self._number(_U16, self.at)
            self.at += 3
            return TemplateSlot(index)
        if token == 0x05:
            if self._data[self.at] != 0x01:
                raise ValueError(f"a literal of type 0x{self._data[self.at]:02x}")
            self.at += 1
            return self._text()
        if token == 0x07:
            return self._text()
        if token == 0x08:
            self.at += 2
            number = self._number(_U16, self.at - 2)
            return "" if 0xD800 <= number < 0xE000 else chr(number)
        if token == 0x09:
            return _ENTITIES.get(self._name(), "")
        raise ValueError(f"token 0x{token:02x} in an element")

    def _instruction(self) -> None:
        self.at += 1
        self._name()
        if self._data[self.at] == 0x0B:
            self.at += 1
            self._text()
