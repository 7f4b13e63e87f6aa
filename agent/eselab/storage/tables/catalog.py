"""The catalog: tables, their columns and their indexes as records of MSysObjects.

A record is found by the object id of its table, its kind, and its own number. MSysObjectsShadow
has them all again. Two more indexes find a record by its name, and a table by its own: their
entries are an index key each, and the key of the record. Pages, object ids, columns, flags and
keys are those of cat.hxx, _cat.cxx, cat.cxx and fldnorm.cxx of the published engine.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from eselab.storage.tables.record import (
    BINARY,
    BIT,
    LONG,
    LONG_BINARY,
    PRESENT,
    SHORT,
    TEXT,
    UNSIGNED_SHORT,
    Column,
    Layout,
    Value,
)
from eselab.storage.tables.system_tables import KEPT, OBJECT_IDS, Kept

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
SHADOW_PAGES: Final = range(24, 29)
CATALOG_ROOT: Final = CATALOG_PAGES.start

LONGEST_NAME: Final = 64
CODE_PAGE: Final = 1252

_TABLE: Final = 1
_COLUMN: Final = 2
_INDEX: Final = 3

_OF_SYSTEM: Final = -0x80000000
_OF_CATALOG: Final = -0x40000000
"""Of the system, and its columns never change."""
_NOT_NULL: Final = 1
_DENSITY: Final = 80
_PRIMARY: Final = 0x10031
"""Unique, no part is null, primary; parts of the key are of four bytes."""
_ROOT_FLAG: Final = 0xFF
_PART: Final = struct.Struct("<HH")
_MAPPING: Final = 0x30401
"""Of an index, with the locale: how the engine compares text that is not ASCII."""
_LOCALE: Final = "en-US".encode("utf-16-le")

_PLACES: Final = {column.name: at for at, column in enumerate(CATALOG.columns)}
_NAME_AT: Final = _PLACES["Name"]
_NUMBERS: Final = dict(zip(_PLACES, CATALOG.identifiers(), strict=True))


class Entry(NamedTuple):
    """Entry of a table in the catalog."""

    object_id: int
    root: int


class Index(NamedTuple):
    """A secondary index of the catalog, its entries each of one record."""

    name: str
    entry: Entry
    flags: int
    columns: tuple[str, ...]

    @property
    def pages(self) -> range:
        """Those that it begins with: the root and both trees of its space."""
        return range(self.entry.root, self.entry.root + 3)


NAMES: Final = Index("Name", Entry(4, 7), 0x10011, ("ObjidTable", "Type", "Name"))
"""Unique, no part is null."""
ROOT_OBJECTS: Final = Index("RootObjects", Entry(5, 10), 0x10009, ("RootFlag", "Name"))
"""Unique, without an entry where the first part is null: tables alone."""
INDEXES: Final = (NAMES, ROOT_OBJECTS)
LAST_OWN_ID: Final = ROOT_OBJECTS.entry.object_id


class CatalogError(Exception):
    """A record of the catalog that cannot be right: says which and why."""


def key_of(object_id: int) -> bytes:
    """The key of the record of a table; those of its columns and indexes are behind it."""
    return CATALOG.key(object_id, _TABLE, object_id)


def rows_of(layout: Layout, entry: Entry, pages: int, page_size: int) -> list[tuple[bytes, bytes]]:
    """Keys and records of a new table, its columns and its indexes.

    `pages`: how many it began with. ValueError for a name that no table can have.
    """
    name = name_of(layout.name)
    object_id, root = entry
    kept = KEPT.get(layout.name) or _kept(layout)
    rows = [
        _row(page_size, object_id, _TABLE, object_id, root, kept.density, kept.flags, pages,
             _ROOT_FLAG, name=name)
    ]  # fmt: skip
    numbers = layout.identifiers()
    for at, (number, column) in enumerate(zip(numbers, layout.columns, strict=True)):
        page = CODE_PAGE if column.type is TEXT else 0
        rows.append(
            _row(page_size, object_id, _COLUMN, number, column.type.number, column.size,
                 kept.column_flags[at], page, None, layout.offset_of(at),
                 name=name_of(column.name), default=kept.defaults[at])
        )  # fmt: skip
    if layout.key_columns:
        of_key = [numbers[layout.columns.index(column)] for column in layout.key_columns]
        primary = Index(kept.primary, entry, kept.index_flags, ())
        rows.append(_index_row(page_size, object_id, primary, of_key, kept.density))
    if layout is CATALOG:
        for index in INDEXES:
            of_index = [_NUMBERS[column] for column in index.columns]
            rows.append(_index_row(page_size, object_id, index, of_index))
    return rows


def _kept(layout: Layout) -> Kept:
    """Of a table that has nothing of its own in `KEPT`."""
    is_catalog = layout.columns is CATALOG.columns
    of_system = _OF_CATALOG if is_catalog else _OF_SYSTEM
    return Kept(
        of_system if layout.name.startswith("MSys") else 0,
        _DENSITY,
        "Id" if is_catalog else "primary",
        _PRIMARY,
        tuple(_NOT_NULL * (column in layout.key_columns) for column in layout.columns),
        (None,) * len(layout.columns),
    )


def object_of(record: bytes, page_size: int) -> tuple[bytes, bytes] | None:
    """Key and record in MSysObjids of what a record of the catalog is of; None of a column.

    A primary index is the same object as its table.
    """
    table, kind, number = (_number(value, b"") for value in CATALOG.values(record)[:3])
    if kind == _COLUMN or (kind == _INDEX and table == number):
        return None
    return OBJECT_IDS.key(number), OBJECT_IDS.record(page_size, number, table, kind)


def entries_of(record: bytes) -> Iterator[tuple[Index, bytes]]:
    """The keys of a record of the catalog in those of its indexes that have an entry of it."""
    values = CATALOG.values(record)
    name = values[_NAME_AT]
    assert isinstance(name, bytes)
    object_id, kind = (_number(value, b"") for value in values[:2])
    behind = 1 + CATALOG.columns[2].size
    yield NAMES, CATALOG.key(object_id, kind, 0)[:-behind] + _text(name)
    if values[_PLACES["RootFlag"]] is not None:
        yield ROOT_OBJECTS, key_of_table(name)


def key_of_table(name: bytes) -> bytes:
    """The key of a table in the index of root objects."""
    return bytes([PRESENT, _ROOT_FLAG]) + _text(name)


def _text(name: bytes) -> bytes:
    """Text of a code page as part of a key: without regard to the case of ASCII letters."""
    return bytes([PRESENT]) + name.upper() + b"\0"


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


def _index_row(
    page_size: int, table: int, index: Index, numbers: list[int], density: int = _DENSITY
) -> tuple[bytes, bytes]:
    """Of an index over the columns with these numbers."""
    object_id, root = index.entry
    parts = b"".join(_PART.pack(0, number) for number in numbers)
    return _row(
        page_size, table, _INDEX, object_id, root, density, index.flags, 0, None, None, _MAPPING,
        name=name_of(index.name), parts=parts, locale=_LOCALE,
    )  # fmt: skip


def _row(
    page_size: int,
    *fixed: int | None,
    name: bytes,
    parts: bytes | None = None,
    locale: bytes | None = None,
    default: bytes | None = None,
) -> tuple[bytes, bytes]:
    values: list[Value] = [*fixed, *[None] * (len(CATALOG.columns) - len(fixed))]
    values[_NAME_AT] = name
    values[_PLACES["DefaultValue"]] = default
    values[_PLACES["KeyFldIDs"]] = parts
    values[_PLACES["LocaleName"]] = locale
    object_id, kind, number = (_number(value, b"") for value in fixed[:3])
    return CATALOG.key(object_id, kind, number), CATALOG.record(page_size, *values)
