"""Records of a table as bytes: fixed, variable and tagged columns, and normalised keys.

A record is: the last fixed and the last variable column that it has (u8 each), where its fixed
data ends (u16); fixed data, a bit for each fixed column that is null; ends of the variable values
(u16, from their begin), the values; tagged columns (column u16, offset u16) and their values. A
long value begins with a byte of flags, in a large page every tagged value. The parts of a key
compare as bytes: each begins with 0x7F, numbers are big-endian, and variable bytes are in chunks
of eight. Sources: rec.hxx, tagfld.hxx and fldnorm.cxx of the published engine.
"""

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from esefiles.pages.layout import LARGEST_SMALL

Value = int | float | bytes | None

FIRST_VARIABLE: Final = 128
FIRST_TAGGED: Final = 256

_HEAD: Final = struct.Struct("<BBH")
_TAGGED: Final = struct.Struct("<HH")
_U16: Final = struct.Struct("<H")
PRESENT: Final = 0x7F
"""Before each part of a key that is not null."""
_CHUNK: Final = 8
_NULL: Final = 0x8000
_EXTENDED: Final = 0x4000
"""In the offset of a tagged column of a small page: its value begins with a byte of flags."""
_LONG_VALUE: Final = b"\x01"
_PLAIN: Final = b"\0"
"""Before a tagged value of a fixed size in a large page."""


class Type(NamedTuple):
    """A type of columns: its number, and how it is packed where its size is fixed."""

    number: int
    code: str = ""
    signed: bool = False
    is_long: bool = False


BIT: Final = Type(1, "B")
UNSIGNED_BYTE: Final = Type(2, "B")
SHORT: Final = Type(3, "h", signed=True)
LONG: Final = Type(4, "i", signed=True)
DOUBLE: Final = Type(7, "d", signed=True)
BINARY: Final = Type(9)
TEXT: Final = Type(10)
LONG_BINARY: Final = Type(11, is_long=True)
UNSIGNED_LONG: Final = Type(14, "I")
UNSIGNED_SHORT: Final = Type(17, "H")


class Column(NamedTuple):
    name: str
    type: Type
    tagged: bool = False
    """True if a column of a fixed size is nevertheless a tagged one."""

    @property
    def is_fixed(self) -> bool:
        """True if its values have a place of their own in each record."""
        return bool(self.type.code) and not self.tagged

    @property
    def is_variable(self) -> bool:
        """True if its values are behind the fixed ones."""
        return not (self.type.code or self.type.is_long)

    @property
    def size(self) -> int:
        """The greatest length of a value; 0: that of a page."""
        if self.type.code:
            return struct.calcsize(f"<{self.type.code}")
        return 0 if self.type.is_long else 255


class Layout:
    """The columns of a table: fixed ones first, then variable, then tagged.

    `key`: how many are in it, from `key_at` on.
    """

    def __init__(self, name: str, columns: Sequence[Column], *, key: int, key_at: int = 0) -> None:
        self.name = name
        self.columns = tuple(columns)
        self.key_columns = self.columns[key_at : key_at + key]
        fixed = [column for column in columns if column.is_fixed]
        self._fixed, self._count = len(fixed), len(columns)
        self._variable = sum(column.is_variable for column in columns)
        self._tagged_columns = self.columns[self._fixed + self._variable :]
        codes = [column.type.code for column in fixed]
        self._packed = [
            struct.Struct(f"<{''.join(codes[:last])}") for last in range(len(fixed) + 1)
        ]
        self._signs = [
            1 << (8 * column.size - 1) if column.type.signed else 0 for column in self.key_columns
        ]
        unsigned = "".join(f"B{column.type.code.upper()}" for column in self.key_columns)
        sized = all(column.type.code for column in self.key_columns)
        self._key = struct.Struct(f">{unsigned}") if sized else None

    def identifiers(self) -> list[int]:
        """The number of each column."""
        firsts = (1, FIRST_VARIABLE, FIRST_TAGGED)
        counts = (self._fixed, self._variable, len(self._tagged_columns))
        return [
            first + at for first, count in zip(firsts, counts, strict=True) for at in range(count)
        ]

    def offset_of(self, at: int) -> int | None:
        """Offset of a fixed column in a record; None of another one."""
        return _HEAD.size + self._packed[at].size if at < self._fixed else None

    def key(self, *values: int | bytes) -> bytes:
        """The normalised key of these values of its columns."""
        if self._key is None:
            (value,) = values
            assert isinstance(value, bytes)
            return normalised(value)
        parts: list[int] = []
        for value, sign in zip(values, self._signs, strict=True):
            assert isinstance(value, int)
            parts += (PRESENT, value + sign)
        return self._key.pack(*parts)

    def record(self, page_size: int, *values: Value) -> bytes:
        """The record of these values, one a column."""
        last = self._fixed
        while last and values[last - 1] is None:
            last -= 1
        packed, nulls = self._packed[last], 0
        whole = values[:last]
        if None in whole:
            nulls = sum(1 << at for at, value in enumerate(whole) if value is None)
            whole = tuple(0 if value is None else value for value in whole)
        bitmap = (last + 7) // 8
        nulls |= (1 << 8 * bitmap) - (1 << last)
        ends, data = self._variables(values[self._fixed : self._fixed + self._variable])
        end_of_fixed = _HEAD.size + packed.size + bitmap
        head = _HEAD.pack(last, FIRST_VARIABLE - 1 + len(ends) // _U16.size, end_of_fixed)
        begin = head + packed.pack(*whole) + nulls.to_bytes(bitmap, "little") + ends + data
        return begin + self._tagged_values(values[self._fixed + self._variable :], page_size)

    def values(self, record: bytes) -> list[Value]:
        """The values in a record, one a column. ValueError, struct.error where it is none."""
        fixed, variable, end = _HEAD.unpack_from(record)
        if fixed > self._fixed or not FIRST_VARIABLE - 1 <= variable < FIRST_VARIABLE + max(
            1, self._variable
        ):
            raise ValueError(f"a record with columns to {fixed} and {variable} in {self.name}")
        packed, bitmap = self._packed[fixed], (fixed + 7) // 8
        if end != _HEAD.size + packed.size + bitmap or end > len(record):
            raise ValueError(f"a record of {self.name} whose fixed columns end at {end}")
        found: list[Value] = list(packed.unpack_from(record, _HEAD.size))
        nulls = int.from_bytes(record[end - bitmap : end], "little")
        for at in range(fixed):
            if nulls >> at & 1:
                found[at] = None
        found += [None] * (self._fixed - fixed)
        there = variable - FIRST_VARIABLE + 1
        ends = struct.unpack_from(f"<{there}H", record, end)
        begin = end + there * _U16.size
        starts = [0, *(at & ~_NULL for at in ends)]
        found += [
            None if at & _NULL else record[begin + start : begin + at]
            for start, at in zip(starts, ends, strict=False)
        ]
        found += [None] * (self._variable - there)
        return found + self._tagged(record[begin + starts[-1] :])

    def _variables(self, values: Sequence[Value]) -> tuple[bytes, bytes]:
        """Ends of the variable values, to the last that is not null, and the values."""
        there = len(values)
        while there and values[there - 1] is None:
            there -= 1
        ends, data = b"", b""
        for value in values[:there]:
            assert value is None or isinstance(value, bytes)
            data += value or b""
            ends += _U16.pack(len(data) | (_NULL if value is None else 0))
        return ends, data

    def _tagged_values(self, values: Sequence[Value], page_size: int) -> bytes:
        """The tagged columns that are not null, and their values."""
        is_small = page_size <= LARGEST_SMALL
        packed: list[tuple[int, bytes, int]] = []
        for at, (column, value) in enumerate(zip(self._tagged_columns, values, strict=True)):
            if isinstance(value, bytes):
                packed.append((at, _LONG_VALUE + value, _EXTENDED if is_small else 0))
            elif value is not None:
                data = struct.pack(f"<{column.type.code}", value)
                packed.append((at, data if is_small else _PLAIN + data, 0))
        tags, behind = b"", b""
        for at, data, flag in packed:
            offset = _TAGGED.size * len(packed) + len(behind)
            tags += _TAGGED.pack(FIRST_TAGGED + at, offset | flag)
            behind += data
        return tags + behind

    def _tagged(self, data: bytes) -> list[Value]:
        found: list[Value] = [None] * len(self._tagged_columns)
        if not data:
            return found
        first = _TAGGED.unpack_from(data)[1] & ~_EXTENDED
        tags = list(_TAGGED.iter_unpack(data[:first]))
        places = [*(offset & ~_EXTENDED for _, offset in tags), len(data)]
        for (column, _), (begin, end) in zip(tags, pairwise(places), strict=True):
            if not 0 <= column - FIRST_TAGGED < len(found) or begin >= end:
                raise ValueError(f"a record of {self.name} with the tagged column {column}")
            of = self._tagged_columns[column - FIRST_TAGGED]
            found[column - FIRST_TAGGED] = (
                data[begin + 1 : end]
                if of.type.is_long
                else struct.unpack(f"<{of.type.code}", data[end - of.size : end])[0]
            )
        return found


def normalised(value: bytes) -> bytes:
    """Bytes of any length as part of a key: eight together, then 9, or how many those were."""
    key = bytearray([PRESENT])
    for begin in range(0, len(value), _CHUNK):
        chunk = value[begin : begin + _CHUNK]
        more = begin + _CHUNK < len(value)
        key += chunk.ljust(_CHUNK, b"\0")
        key.append(_CHUNK + 1 if more else len(chunk))
    return bytes(key)
