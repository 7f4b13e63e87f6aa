"""The journal: state and positions in one SQLite file, committed together.

One transaction holds what a batch changed and how far its source was read, so
that a killed process neither loses a record nor counts one twice. WAL with
`synchronous=NORMAL`: after a power cut both roll back together.
One process writes (a lock beside the file); readers of the file are welcome.
"""

import contextlib
import os
import sqlite3
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from esewatch.fold.folder import Entity
from esewatch.fold.state import (
    Channel,
    Database,
    Device,
    Host,
    Instance,
    SourceState,
    State,
)
from esewatch.model import JournalError

SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entity (
    kind TEXT NOT NULL, first TEXT NOT NULL, second TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (kind, first, second)
) WITHOUT ROWID;
CREATE TABLE position (
    source TEXT NOT NULL, file TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (source, file)
) WITHOUT ROWID;
"""

MIGRATIONS: dict[int, str] = {0: _SCHEMA}
"""Schema version -> the statements that lead to the next one; 0 is an empty file."""

_TYPES: dict[str, type[msgspec.Struct]] = {
    "source": SourceState,
    "host": Host,
    "channel": Channel,
    "instance": Instance,
    "device": Device,
    "database": Database,
}

Positions = dict[str, dict[str, bytes]]
"""Source name -> file key -> position."""


class LockedError(JournalError):
    """Another process writes this journal."""


class Journal:
    """Durable state. Raises JournalError when it cannot be opened, is locked or is too new.

    `set_aside` is the path a damaged journal was moved to, None when it was sound.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set_aside: Path | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = _take_lock(path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise JournalError(f"{path}: cannot open the journal: {reason}") from error
        try:
            self._db = self._open()
        except BaseException:
            self._lock.close()
            raise

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise JournalError(f"{self.path}: cannot open the journal: {error}") from error
            self._move_aside()
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            if db.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("file is damaged: malformed")
            self._migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _migrate(self, db: sqlite3.Connection) -> None:
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA_VERSION:
            raise JournalError(
                f"{self.path}: the journal has schema version {version}, "
                f"this esewatch knows up to {SCHEMA_VERSION}: upgrade esewatch"
            )
        todo = [MIGRATIONS[step] for step in range(version, SCHEMA_VERSION)]
        if todo:
            script = "".join(todo)
            db.executescript(f"BEGIN;{script}PRAGMA user_version={SCHEMA_VERSION};COMMIT;")

    def _move_aside(self) -> None:
        number = 1
        while (target := self.path.with_name(f"{self.path.name}.damaged-{number}")).exists():
            number += 1
        for suffix in ("-wal", "-shm"):
            beside = self.path.with_name(self.path.name + suffix)
            with contextlib.suppress(FileNotFoundError):
                beside.rename(target.with_name(target.name + suffix))
        self.path.rename(target)
        self.set_aside = target

    def load(self) -> tuple[State, Positions]:
        """State and positions of the last commit; empty ones for a new journal.

        Raises JournalError when a row cannot be decoded.
        """
        state = State()
        tables: dict[str, dict[Any, Any]] = {
            "source": state.sources,
            "host": state.hosts,
            "channel": state.channels,
            "instance": state.instances,
            "device": state.devices,
            "database": state.databases,
        }
        try:
            for kind, first, second, value in self._db.execute(
                "SELECT kind, first, second, value FROM entity"
            ):
                if kind == "dropped":
                    state.databases_dropped, state.dropped = msgspec.msgpack.decode(
                        value, type=tuple[int, dict[str, int]]
                    )
                    continue
                entity = msgspec.msgpack.decode(value, type=_TYPES[kind])
                tables[kind][first if kind in {"source", "host"} else (first, second)] = entity
            positions: Positions = {}
            for source, file, value in self._db.execute("SELECT source, file, value FROM position"):
                positions.setdefault(source, {})[file] = value
        except (sqlite3.DatabaseError, msgspec.MsgspecError, KeyError) as error:
            raise JournalError(f"{self.path}: the journal cannot be read: {error}") from error
        return state, positions

    def rebuild(self) -> None:
        """Set a journal aside whose rows cannot be read, and begin a new one."""
        self._db.close()
        self._move_aside()
        self._db = self._connect()

    def commit(
        self,
        state: State,
        changed: Iterable[Entity],
        positions: Mapping[str, Mapping[str, bytes | None]],
    ) -> None:
        """Store the changed entities and the positions (by source) in one transaction.

        Raises JournalError when the disk does not take it; nothing of it is stored then.
        """
        stored, gone = _rows(state, changed)
        flat = [
            (source, file, value)
            for source, files in positions.items()
            for file, value in files.items()
        ]
        moved = [row for row in flat if row[2] is not None]
        dropped = [row[:2] for row in flat if row[2] is None]
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            db.executemany(
                "INSERT OR REPLACE INTO entity (kind, first, second, value) VALUES (?,?,?,?)",
                stored,
            )
            db.executemany("DELETE FROM entity WHERE kind=? AND first=? AND second=?", gone)
            db.executemany(
                "INSERT OR REPLACE INTO position (source, file, value) VALUES (?,?,?)", moved
            )
            db.executemany("DELETE FROM position WHERE source=? AND file=?", dropped)
            db.execute("COMMIT")
        except sqlite3.Error as error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise JournalError(f"{self.path}: cannot write the journal: {error}") from error

    def close(self) -> None:
        """Close the file and give the lock back."""
        self._db.close()
        self._lock.close()


def _rows(
    state: State, changed: Iterable[Entity]
) -> tuple[list[tuple[str, str, str, bytes]], list[Entity]]:
    """Rows to store and keys of rows to delete."""
    encode = msgspec.msgpack.Encoder().encode
    stored: list[tuple[str, str, str, bytes]] = []
    gone: list[Entity] = []
    for kind, first, second in changed:
        entity = _entity(state, kind, first, second)
        if entity is None:
            gone.append((kind, first, second))
        else:
            stored.append((kind, first, second, encode(entity)))
    return stored, gone


def _entity(state: State, kind: str, first: str, second: str) -> object | None:
    if kind == "source":
        return state.sources.get(first)
    if kind == "host":
        return state.hosts.get(first)
    if kind == "channel":
        return state.channels.get((first, second))
    if kind == "instance":
        return state.instances.get((first, second))
    if kind == "device":
        return state.devices.get((first, second))
    if kind == "database":
        return state.databases.get((first, second))
    return (state.databases_dropped, state.dropped)


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    text = str(error).lower()
    return "malformed" in text or "not a database" in text


def _take_lock(path: Path) -> IO[bytes]:
    handle = path.with_name(path.name + ".lock").open("a+b")
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - exists on Windows only

            handle.seek(0)
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - exists on POSIX only

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        handle.close()
        raise LockedError(f"{path}: the journal is in use by another esewatch") from error
    os.set_inheritable(handle.fileno(), False)
    return handle
