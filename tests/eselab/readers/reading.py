"""What independent readers of ESE databases read from a file: helpers of the tests."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyesedb
from dissect.esedb import EseDB

from eselab.check.check import records
from eselab.disk.disk import Disk
from eselab.machine.mail import LAYOUTS
from eselab.storage.database import STATES
from eselab.storage.tables.catalog import CATALOG, SHADOW
from eselab.storage.tables.record import BIT, Layout
from eselab.storage.tables.system_tables import LOCALES, OBJECT_IDS

Rows = dict[str, list[list[Any]]]
"""Of each table, by name: its records in their order, with the values of all columns."""

KNOWN: dict[str, Layout] = {
    one.name: one for one in (CATALOG, SHADOW, OBJECT_IDS, LOCALES, STATES, *LAYOUTS)
}


def written(disk: Disk, name: str) -> Rows:
    """What the engine itself has, of its trees: the log redone where it was not shut down."""
    found: Rows = {}
    for table, _, record in records(disk, name):
        found.setdefault(table, []).append(list(KNOWN[table].values(record)))
    # The engine's own check holds that both are the same.
    found[CATALOG.name] = found[SHADOW.name]
    return found


def by_dissect(data: bytes) -> Rows:
    """What dissect.esedb reads of a file."""
    found: Rows = {}
    database = EseDB(io.BytesIO(data))
    for table in database.tables():
        names = [column.name for column in table.columns]
        for record in table.records():
            values = [record.get(column, raw=False) for column in names]
            found.setdefault(table.name, []).append([plain(value) for value in values])
    return found


def by_libesedb(path: Path) -> Rows:
    """What libesedb reads of a file."""
    found: Rows = {}
    file = pyesedb.file()
    file.open(str(path))
    try:
        for table in file.tables:
            for at in range(table.get_number_of_records()):
                record = table.get_record(at)
                found.setdefault(table.name, []).append(
                    [_value(record, column) for column in range(record.get_number_of_values())]
                )
    finally:
        file.close()
    return found


def without_nulls(rows: Rows) -> Rows:
    """As libesedb tells them: a null before another fixed column is 0 to it, but for a bit."""
    found: Rows = {}
    for table, kept in rows.items():
        fixed = [column.type for column in KNOWN[table].columns if column.is_fixed]
        for record in kept:
            there = [at for at in range(len(fixed)) if record[at] is not None]
            last = max(there, default=0)
            told = [
                0 if value is None and at < last and fixed[at] is not BIT else value
                for at, value in enumerate(record)
            ]
            found.setdefault(table, []).append(told)
    return found


def tables_by_libesedb(path: Path) -> dict[str, list[str]]:
    """The columns of each table."""
    file = pyesedb.file()
    file.open(str(path))
    try:
        return {table.name: [column.name for column in table.columns] for table in file.tables}
    finally:
        file.close()


def _value(record: Any, column: int) -> Any:
    kind, data = record.get_column_type(column), record.get_value_data(column)
    if data is None:
        return None
    if kind == pyesedb.column_types.DOUBLE_64BIT:
        return record.get_value_data_as_floating_point(column)
    if kind in (
        pyesedb.column_types.BINARY_DATA,
        pyesedb.column_types.LARGE_BINARY_DATA,
        pyesedb.column_types.TEXT,
    ):
        return data
    if kind == pyesedb.column_types.BOOLEAN:
        # Of a bit it does not tell null: in a database of Windows it hands out the filler, too.
        return data[0] if data == b"\xff" else None
    return record.get_value_data_as_integer(column)


def plain(value: Any) -> Any:
    """As the engine has it: bytes of a text, the number of a bit."""
    if isinstance(value, str):
        return value.encode("cp1252")
    if isinstance(value, bool):
        return 0xFF if value else 0
    return bytes(value) if isinstance(value, memoryview) else value


def indexes_by_dissect(data: bytes) -> dict[str, list[int]]:
    """The object ids of the tables that have an index of each name."""
    found: dict[str, list[int]] = {}
    for table in EseDB(io.BytesIO(data)).tables():
        for index in table.indexes:
            found.setdefault(index.name, []).append(index.record.get("ObjidTable"))
    return {name: sorted(ids) for name, ids in found.items()}


def leaves_of(database: EseDB, root: int) -> Iterator[Any]:
    """The nodes of the leaves of a tree, in their order."""
    page = database.page(root)
    while not page.is_leaf:
        page = database.page(int.from_bytes(bytes(page.node(0).data), "little"))
    while True:
        yield from page.nodes()
        if not page.next_page:
            return
        page = database.page(page.next_page)
