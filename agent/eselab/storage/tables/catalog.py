"""The catalog: tables, their columns and their primary indexes as records of MSysObjects.

A record is found by the object id of its table, its kind, and its own number. MSysObjectsShadow
has them all again. Pages, object ids, columns and flags are those of cat.hxx and cat.cxx of
the published engine.
"""

import struct
from typing import Final, NamedTuple

from eselab.storage.tables.record import (
    BINARY,
    BIT,
    LONG,
    LONG_BINARY,
    SHORT,
    TEXT,
    UNSIGNED_SHORT,
    Column,
    Layout,
    Value,
)

CATALOG: Final = Layout(
    "MSysObjects",
    [
        Column("ObjidTable", LONG),
        Column("Type", SHORT),
        Column("Id", LONG),
        Column("ColtypOrPgnoFDP", LONG),
        Column("SpaceUsage", LONG),
        Column("Flags", LONG),
        Column("PagesOrLocale", LONG),
        Column("RootFlag", BIT),
        Column("RecordOffset", SHORT),
        Column("LCMapFlags", LONG),
        Column("KeyMost", UNSIGNED_SHORT),
        Column("LVChunkMax", LONG),
        Column("Name", TEXT),
        Column("Stats", BINARY),
        Column("TemplateTable", TEXT),
        Column("DefaultValue", BINARY),
        Column("KeyFldIDs", BINARY),
        Column("VarSegMac", BINARY),
        Column("ConditionalColumns", BINARY),
        Column("TupleLimits", BINARY),
        Column("Version", BINARY),
        Column("SortID", BINARY),
        Column("CallbackData", LONG_BINARY),
        Column("CallbackDependencies", LONG_BINARY),
        Column("SeparateLV", LONG_BINARY),
        Column("SpaceHints", LONG_BINARY),
        Column("SpaceDeferredLVHints", LONG_BINARY),
        Column("LocaleName", LONG_BINARY),
    ],
    key=3,
)
SHADOW: Final = Layout("MSysObjectsShadow", CATALOG.columns, key=3)

CATALOG_ID: Final = 2
SHADOW_ID: Final = 3
CATALOG_PAGES: Final = range(4, 24)
SHADOW_PAGES: Final = range(24, 33)
CATALOG_ROOT: Final = CATALOG_PAGES.start
LAST_OWN_ID: Final = 5
"""The published engine has two more indexes of its catalog, with object ids 4 and 5."""

LONGEST_NAME: Final = 64
CODE_PAGE: Final = 1252

_TABLE: Final = 1
_COLUMN: Final = 2
_INDEX: Final = 3

_OF_SYSTEM: Final = -0x80000000
_NOT_NULL: Final = 1
_DENSITY: Final = 80
_PRIMARY: Final = 0x10031
"""Unique, no part is null, primary; parts of the key are of four bytes."""
_ROOT_FLAG: Final = 0xFF
_PART: Final = struct.Struct("<HH")

_NAME_AT: Final = [column.name for column in CATALOG.columns].index("Name")


class Entry(NamedTuple):
    """What the catalog says of a table."""

    object_id: int
    root: int
    """Page number."""


class CatalogError(Exception):
    """A record of the catalog that cannot be right: says which and why."""


def key_of(object_id: int) -> bytes:
    """The key of the record of a table; those of its columns and indexes are behind it."""
    return CATALOG.key(object_id, _TABLE, object_id)


def rows_of(layout: Layout, entry: Entry, pages: int, page_size: int) -> list[tuple[bytes, bytes]]:
    """Keys and records of a new table, its columns and its index.

    `pages`: how many it began with. ValueError for a name that no table can have.
    """
    name = name_of(layout.name)
    object_id, root = entry
    flags = _OF_SYSTEM if layout.name.startswith("MSys") else 0
    rows = [
        _row(page_size, object_id, _TABLE, object_id, root, _DENSITY, flags, pages, _ROOT_FLAG,
             name=name)
    ]  # fmt: skip
    numbers = layout.identifiers()
    for at, (number, column) in enumerate(zip(numbers, layout.columns, strict=True)):
        page = CODE_PAGE if column.type is TEXT else 0
        not_null = _NOT_NULL if column in layout.key_columns else 0
        rows.append(
            _row(page_size, object_id, _COLUMN, number, column.type.number, column.size, not_null,
                 page, None, layout.offset_of(at), name=name_of(column.name))
        )  # fmt: skip
    if parts := b"".join(_PART.pack(0, number) for number in numbers[: len(layout.key_columns)]):
        rows.append(
            _row(page_size, object_id, _INDEX, object_id, root, _DENSITY, _PRIMARY, 0,
                 name=b"primary", parts=parts)
        )  # fmt: skip
    return rows


def name_of(name: str) -> bytes:
    """A name as the catalog has it. ValueError for one that no table can have."""
    try:
        encoded = name.encode("cp1252")
    except UnicodeEncodeError as error:
        raise ValueError(f"the name {name!r} is not of code page {CODE_PAGE}") from error
    if not 1 <= len(encoded) <= LONGEST_NAME:
        raise ValueError(f"a name of {len(encoded)} bytes")
    return encoded


def table_of(key: bytes, record: bytes) -> tuple[str, Entry] | None:
    """A table's name and place, of a record of the catalog; None of a column or an index.

    Raises CatalogError.
    """
    try:
        values = CATALOG.values(record)
    except (ValueError, struct.error, IndexError) as error:
        raise CatalogError(f"record {key.hex()}: {error}") from error
    object_id, kind, number, root = values[:4]
    if CATALOG.key(*(_number(value, key) for value in (object_id, kind, number))) != key:
        raise CatalogError(f"record {key.hex()} has another key")
    if kind != _TABLE:
        return None
    name = values[_NAME_AT]
    if not isinstance(name, bytes) or not name:
        raise CatalogError(f"record {key.hex()} has no name")
    return name.decode("cp1252", "replace"), Entry(_number(object_id, key), _number(root, key))


def _number(value: Value, key: bytes) -> int:
    if not isinstance(value, int):
        raise CatalogError(f"record {key.hex()} has no number where one belongs")
    return value


def _row(
    page_size: int, *fixed: int | None, name: bytes, parts: bytes | None = None
) -> tuple[bytes, bytes]:
    values: list[Value] = [*fixed, *[None] * (len(CATALOG.columns) - len(fixed))]
    values[_NAME_AT] = name
    values[_NAME_AT + 4] = parts
    object_id, kind, number = (_number(value, b"") for value in fixed[:3])
    return CATALOG.key(object_id, kind, number), CATALOG.record(page_size, *values)
