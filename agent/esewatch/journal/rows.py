"""The rows of the journal: made from entities, each with a checksum, and salvaged when damaged."""

import contextlib
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from esefiles.base import names
from esewatch import packing
from esewatch.fold.identity.entities import Entity
from esewatch.fold.state import rollups
from esewatch.fold.state.checkdb_results import SqlDatabase
from esewatch.fold.state.state import (
    Channel,
    Database,
    Device,
    Host,
    Instance,
    Lived,
    SourceState,
    State,
    Stated,
)

Row = tuple[str, str, str, bytes, int]
"""(table, first key, second key, value, checksum)."""
RowKey = tuple[str, ...]
"""Table of the file, and the columns of its key."""
TABLES: Mapping[str, tuple[str, type[msgspec.Struct]]] = {
    "source": ("sources", SourceState),
    "host": ("hosts", Host),
    "channel": ("channels", Channel),
    "instance": ("instances", Instance),
    "device": ("devices", Device),
    "database": ("databases", Database),
    "sql_database": ("sql_databases", SqlDatabase),
    "stated": ("stated", Stated),
    "stated_instance": ("stated_instances", Stated),
}
"""Kind of row -> its table in the state, and what it is. Others are `days`, those of an instance
but the newest, `recent` and `dropped`."""
_KEYS = {"entity": "kind, first, second", "position": "source, file"}


def rows_of(
    state: State, changed: Iterable[Entity]
) -> tuple[list[Row], list[Entity], dict[Entity, Exception]]:
    """Rows to store in the order of their keys, with checksums; keys of rows to delete; entities
    that no row can be made of, with the error."""
    stored: list[Row] = []
    gone: list[Entity] = []
    left: dict[Entity, Exception] = {}
    keys = set(changed)
    keys |= {("days", first, second) for kind, first, second in keys if kind == "instance"}
    for kind, first, second in sorted(keys):
        entity = _entity(state, kind, first, second)
        key = (kind, names.to_text(first), names.to_text(second))
        if entity is None:
            gone.append(key)
        else:
            try:
                value = packing.pack(entity)
            except (ValueError, TypeError, OverflowError) as error:
                left[kind, first, second] = error
            else:
                stored.append((*key, value, checksum((*key, value))))
    return stored, gone, left


def _entity(state: State, kind: str, first: str, second: str) -> object | None:
    if kind == "dropped":
        return (state.databases_dropped, state.dropped)
    if kind == "recent":
        return state.recent.get(first, {}).get(int(second))
    table, _ = TABLES["instance" if kind == "days" else kind]
    entity: object | None = getattr(state, table).get(key_of(kind, first, second))
    if not isinstance(entity, Instance):
        return entity
    if kind == "days":
        return rollups.older(entity.days)
    return msgspec.structs.replace(entity, days=rollups.newest(entity.days))


def key_of(kind: str, first: str, second: str) -> str | tuple[str, str]:
    return first if kind in {"source", "host"} else (first, second)


class _EarlierLife(msgspec.Struct):
    stops: list[float] = []
    starts: list[float] = []
    mounts: list[float] = []


def earlier_life(value: bytes) -> list[Lived]:
    """The life of an instance as a row of an earlier version has it: times of 103 or 104, 102, and
    105 or 302."""
    known = packing.unpack(value, _EarlierLife)
    events = ((103, known.stops), (102, known.starts), (105, known.mounts))
    return sorted((time, 0, event) for event, times in events for time in times)


def checksum(row: Sequence[Any]) -> int:
    *keys, value = row
    return zlib.crc32(value, zlib.crc32("\0".join(keys).encode("utf-8", "surrogatepass")))


def salvage(path: Path) -> dict[str, SourceState]:
    """The readable state of the sources in a damaged journal, by name; never raises for damage.
    Read from both ends, because a bad page ends a reading."""
    found: dict[str, SourceState] = {}
    for order in ("ASC", "DESC"):
        query = (
            "SELECT kind, first, second, value, crc FROM entity "
            f"WHERE kind = 'source' ORDER BY first {order}"
        )
        with (
            contextlib.suppress(
                sqlite3.Error, msgspec.MsgspecError, ValueError, TypeError, AttributeError
            ),
            contextlib.closing(sqlite3.connect(path)) as db,
        ):
            for *row, crc in db.execute(query):
                if checksum(row) == crc:
                    found[names.from_text(row[1])] = packing.unpack(row[3], SourceState)
    return found


def every_row(db: sqlite3.Connection) -> dict[RowKey, bytes]:
    """The values of all rows. Raises sqlite3.Error."""
    return {
        (table, *key): value
        for table, keys in _KEYS.items()
        for *key, value in db.execute(f"SELECT {keys}, value FROM {table}")
    }


def replace(db: sqlite3.Connection, rows: Mapping[RowKey, bytes]) -> None:
    """Store these rows, and no others, in one transaction. Raises sqlite3.Error."""
    db.execute("BEGIN IMMEDIATE")
    try:
        for table, keys in _KEYS.items():
            new = [(*key[1:], value) for key, value in rows.items() if key[0] == table]
            marks = ",".join("?" * (keys.count(",") + 3))
            db.execute(f"DELETE FROM {table}")
            db.executemany(
                f"INSERT INTO {table} ({keys}, value, crc) VALUES ({marks})",
                [(*row, checksum(row)) for row in new],
            )
        db.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
