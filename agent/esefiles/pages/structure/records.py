"""Content of a record: rows of the catalogue, and the long values that a record refers to.

A record: the last fixed and the last variable column, where the fixed ones end, the fixed
columns, the ends of the variable ones, these, then tagged columns with an offset each. Sources:
REC in rec.hxx, TAGFLD and TAGFLD_HEADER in tagfld.hxx, MultiValues in tagfld.cxx, the columns of
MSysObjects in _cat.cxx and cat.hxx, _LID64 in lv.hxx of the published engine. Any record: bytes
that are no record give PageDamageError, never another error.
"""

import struct
from typing import Final, NamedTuple

from esefiles.pages.structure.nodes import PageDamageError

TABLE: Final = 1
COLUMN: Final = 2
SECONDARY_INDEX: Final = 3
LONG_VALUES: Final = 4

_START: Final = struct.Struct("<BBH")
_ROW: Final = struct.Struct("<IHII")
_U16: Final = struct.Struct("<H")
_FIRST_VARIABLE: Final = 128
_LONGEST_NAME: Final = 64
_NULL: Final = 0x8000
_SMALL_EXTENDED: Final = 0x4000
_SMALL_NULL: Final = 0x2000
_SMALL_OFFSET: Final = 0x1FFF
_LARGE_OFFSET: Final = 0x7FFF
_SEPARATED: Final = 0x4
_MANY: Final = 0x8
_TWO: Final = 0x10
_SEPARATED_VALUE: Final = 0x8000


class CatalogueRow(NamedTuple):
    """A row of MSysObjects or of its shadow."""

    table: int
    """Object id of the table that it is of."""
    kind: int
    """TABLE, COLUMN, SECONDARY_INDEX (an index of any kind), LONG_VALUES, or another."""
    object_id: int
    """Object id; of a column its number."""
    root: int
    """Root page; of a column its type."""
    name: str


def catalogue_row(data: bytes) -> CatalogueRow:
    """The columns of a row that lead to trees. Raises PageDamageError."""
    try:
        last_fixed, last_variable, variable = _START.unpack_from(data)
        table, kind, object_id, root = _ROW.unpack_from(data, _START.size)
        if last_fixed < 4:
            raise PageDamageError(
                "catalogue", f"a row of the catalogue has {last_fixed} fixed columns"
            )
        ends = max(0, last_variable - _FIRST_VARIABLE + 1)
        begin = variable + _U16.size * ends
        end = _U16.unpack_from(data, variable)[0] & ~_NULL if ends else 0
    except struct.error:
        raise PageDamageError("catalogue", "a row of the catalogue is cut") from None
    text = data[begin : begin + min(end, _LONGEST_NAME)].decode("latin-1")
    name = "".join(letter if letter.isprintable() else "?" for letter in text)
    return CatalogueRow(table, kind, object_id, root, name)


def references(found: list[bytes], *, small: bool) -> list[bytes]:
    """Ids of the long values that records refer to, as keys of the tree of long values. `small`:
    the page has at most 8 KiB. Raises PageDamageError."""
    values: list[bytes] = []
    try:
        for data in found:
            last = data[1]
            tagged = data[2] | data[3] << 8
            if last >= _FIRST_VARIABLE:
                tagged += 2 * (last - _FIRST_VARIABLE + 1)
                tagged += (data[tagged - 2] | data[tagged - 1] << 8) & ~_NULL
            if tagged != len(data):
                values += _references(data[tagged:], small=small)
    except (struct.error, IndexError):
        raise PageDamageError("node", "a record is cut") from None
    return values


def _references(tagged: bytes, *, small: bool) -> list[bytes]:
    """Of the tagged columns of a record."""
    mask = _SMALL_OFFSET if small else _LARGE_OFFSET
    first = _U16.unpack_from(tagged, 2)[0] & mask
    if first > len(tagged) or first % 4 or not first:
        raise PageDamageError("node", f"the tagged columns of a record begin at {first}")
    offsets = struct.unpack_from(f"<{first // 2}H", tagged)[1::2]
    ends = [offset & mask for offset in offsets[1:]] + [len(tagged)]
    found: list[bytes] = []
    for offset, end in zip(offsets, ends, strict=True):
        begin = offset & mask
        if not begin <= end <= len(tagged):
            raise PageDamageError("node", "the tagged columns of a record are not in order")
        if small and (offset & _SMALL_NULL or not offset & _SMALL_EXTENDED):
            continue
        value = tagged[begin:end]
        if value and value[0] & (_SEPARATED | _MANY):
            found += _ids(value)
    return found


def _ids(value: bytes) -> list[bytes]:
    """The long values of one tagged column, which begins with its flags."""
    flags, value = value[0], value[1:]
    if flags & _TWO:
        return []
    if not flags & _MANY:
        return [_key(value)]
    count = (_U16.unpack_from(value)[0] & ~_SEPARATED_VALUE) // 2
    offsets = struct.unpack_from(f"<{count}H", value)
    ends = [offset & ~_SEPARATED_VALUE for offset in offsets[1:]] + [len(value)]
    return [
        _key(value[offset & ~_SEPARATED_VALUE : end])
        for offset, end in zip(offsets, ends, strict=True)
        if offset & _SEPARATED_VALUE
    ]


def _key(value: bytes) -> bytes:
    """A record has the id with its lowest byte first, the tree of long values the other way."""
    if len(value) not in (4, 8):
        raise PageDamageError("node", f"a record refers to a long value by {len(value)} bytes")
    return value[::-1]


def long_value_of(key: bytes) -> tuple[bytes, int | None]:
    """The id in a key of the tree of long values, and the offset of its piece; None: it is a root.

    An id has 8 bytes where its highest bit is set, else 4; a piece has its offset behind it.
    Raises PageDamageError.
    """
    size = 8 if key and key[0] & 0x80 else 4
    if len(key) not in (size, size + 4):
        raise PageDamageError("long_value", f"a key of {len(key)} bytes in a tree of long values")
    return key[:size], int.from_bytes(key[size:]) if len(key) > size else None
