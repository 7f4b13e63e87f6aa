"""The journal: state and positions in one SQLite file, committed together.

One transaction holds the changes of a batch and the position up to which its source was read, so
that a killed process neither loses a record nor counts one twice. WAL with `synchronous=NORMAL`:
after a power cut both roll back together. Each row carries a checksum, so that damage which leaves
the file's structure whole is found too. One process writes (a lock beside the file); any process
may read the file.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from esefiles.base import crash, names
from esewatch import packing
from esewatch.fold.identity.entities import Entity
from esewatch.fold.state.state import Instance, SourceState, State
from esewatch.journal.files import (
    LockedError,
    identity,
    last_set_aside,
    make_private,
    move_aside,
    refuse_foreign_tables,
    take_itself,
    take_lock,
)
from esewatch.journal.rows import (
    TABLES,
    Row,
    RowKey,
    checksum,
    earlier_life,
    every_row,
    key_of,
    replace,
    rows_of,
    salvage,
)
from esewatch.model import JournalError

__all__ = ["SCHEMA_VERSION", "Journal", "LockedError", "Positions", "RowKey", "salvage"]

SCHEMA_VERSION = 5
OLDEST = 4
"""Since 5 there are the rows of `State.recent` and `State.stated`."""
BUSY_SECONDS = 1.0
"""The wait of a commit for another process that has locked the file."""

SMALLEST = 512
"""Bytes of the smallest page of SQLite (its file format, 1.3.2)."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entity (
    kind TEXT NOT NULL, first TEXT NOT NULL, second TEXT NOT NULL, value BLOB NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (kind, first, second)
) WITHOUT ROWID;
CREATE TABLE position (
    source TEXT NOT NULL, file TEXT NOT NULL, value BLOB NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (source, file)
) WITHOUT ROWID;
"""

_DAMAGE = ("malformed", "not a database", "unsupported file format")
"""An error of SQLite that is of a damaged file has one of these."""
_DROPPED: Any = tuple[int, dict[str, int]]

Positions = dict[str, dict[str, bytes]]
"""Source name -> file key -> position."""


class Journal:
    """Durable state. Raises JournalError when it cannot be opened, is locked or of another version.

    `set_aside` is the path a damaged journal was moved to, None when it was sound. `salvaged` is
    the readable rest of its sources, by name. Only a caller that reads the sources again may `mend`
    a damaged journal so; for others it is an error.
    """

    def __init__(self, path: Path, *, mend: bool = True) -> None:
        # One lock, by whatever links it is reached. Of a loop of links it is the name of one.
        path = self.path = Path(os.path.realpath(path))
        self._itself: IO[bytes] | None = None
        self._mend = mend
        self.set_aside: Path | None = None
        self.salvaged: dict[str, SourceState] = {}
        self.written: dict[RowKey, bytes | None] | None = None
        """Rows that commits have written, where somebody keeps a copy, who empties it."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and not (path.is_file() or path.is_dir()):
                # Who opens a pipe waits for its writer.
                raise JournalError(f"{path}: cannot open the journal: it is not a regular file")
            self._lock = take_lock(path)
        except FileExistsError as error:
            raise JournalError(
                f"{path}: cannot open the journal: {path.parent} is not a folder"
            ) from error
        except OSError as error:
            raise JournalError(
                f"{path}: cannot open the journal: {names.reason_of(error)}"
            ) from error
        try:
            self._db = self._open()
            self._file = self._identity()
        except BaseException:
            self._let_go()
            raise

    @property
    def lock(self) -> IO[bytes]:
        return self._lock

    @property
    def number(self) -> tuple[int, int] | None:
        """Device and number of the open file, which are its own under every path to it."""
        return self._file

    def _identity(self) -> tuple[int, int] | None:
        try:
            return identity(self.path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise JournalError(f"{self.path}: cannot look at the journal: {reason}") from error

    def _let_go(self) -> None:
        for lock in (self._itself, self._lock):
            if lock is not None:
                lock.close()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            said = str(error).lower()
            if not any(each in said for each in _DAMAGE):
                raise JournalError(f"{self.path}: cannot open the journal: {error}") from error
            if not self._mend:
                raise JournalError(
                    f"{self.path}: the journal is damaged: start esewatch run, which rebuilds it"
                ) from error
        return self._begin_anew()

    def _begin_anew(self) -> sqlite3.Connection:
        try:
            self.set_aside = move_aside(self.path)
            self.salvaged = salvage(self.set_aside)
            return self._connect()
        except (OSError, sqlite3.Error) as error:
            reason = names.reason_of(error)
            raise JournalError(
                f"{self.path}: the journal is damaged and cannot be set aside: {reason}"
            ) from error

    def _connect(self) -> sqlite3.Connection:
        try:
            if self.path.exists() and self.path.stat().st_size < SMALLEST:
                # SQLite would take the rest of a journal that was cut for a new one.
                raise sqlite3.DatabaseError("the header is malformed: it was cut")
            make_private(self.path)
            if self._itself is not None:
                self._itself.close()
            self._itself = take_itself(self.path)
            with self.path.open("rb") as file:  # before SQLite's locks, which closing it would end
                write_version = file.read(19)[18:]
        except OSError as error:
            reason = error.strerror or str(error)
            raise JournalError(f"{self.path}: cannot open the journal: {reason}") from error
        if write_version > b"\2":  # SQLite would open it for reading only
            raise sqlite3.DatabaseError("the header is malformed")
        db = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            refuse_foreign_tables(self.path, db)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            if db.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("file is damaged: malformed")
            self._check_version(db)
        except UnicodeDecodeError as error:  # a name in the schema, or SQLite's message of it
            db.close()
            raise sqlite3.DatabaseError("the schema is malformed") from error
        except BaseException:
            db.close()
            raise
        return db

    def _check_version(self, db: sqlite3.Connection) -> None:
        """Begin an empty file; raise JournalError for the journal of another version. Since version
        4 it is in the table `meta`, too: a damaged header differs from that."""
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        new = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is None
        query = "SELECT value FROM meta WHERE key = 'schema_version'"
        try:
            noted = None if new else db.execute(query).fetchone()
        except sqlite3.OperationalError as error:
            if version <= SCHEMA_VERSION and "no such " in str(error):  # column or table
                raise sqlite3.DatabaseError("the schema is malformed") from error
            raise
        told = f"{self.path}: the journal has schema version {version}, this esewatch knows"
        if version > SCHEMA_VERSION and noted == (str(version),):
            raise JournalError(f"{told} up to {SCHEMA_VERSION}: upgrade esewatch")
        if 0 < version < OLDEST and not new and noted is None:
            raise JournalError(
                f"{told} {OLDEST} and {SCHEMA_VERSION}: move it away, and the sources are read"
                " again"
            )
        if new != (version == 0) or not 0 <= version <= SCHEMA_VERSION:
            raise sqlite3.DatabaseError("the schema version is malformed")
        if noted != (str(SCHEMA_VERSION),):
            script = _SCHEMA if new else ""
            note = f"INSERT OR REPLACE INTO meta VALUES ('schema_version', '{SCHEMA_VERSION}');"
            done = f"PRAGMA user_version={SCHEMA_VERSION};COMMIT;"
            db.executescript(f"BEGIN;{script}{note}{done}")

    def load(self) -> tuple[State, Positions]:
        """State and positions of the last commit; empty ones for a new journal. Raises JournalError
        when a row cannot be decoded."""
        state = State()
        days: dict[tuple[str, str], bytes] = {}
        try:
            for kind, first, second, value in self._rows_of("entity", "kind, first, second"):
                if kind == "dropped":
                    state.databases_dropped, state.dropped = packing.unpack(value, _DROPPED)
                elif kind == "recent":
                    rows = packing.unpack(value, bytearray)
                    state.recent.setdefault(first, {})[int(second)] = rows
                elif kind == "days":
                    days[first, second] = packing.unpack(value, bytes)
                else:
                    table, its_type = TABLES[kind]
                    entity = packing.unpack(value, its_type)
                    if isinstance(entity, Instance) and not entity.life:
                        entity.life = earlier_life(value)
                    getattr(state, table)[key_of(kind, first, second)] = entity
            for key, older in days.items():
                state.instances[key].days[:0] = older
        except (sqlite3.Error, msgspec.MsgspecError, KeyError, ValueError, TypeError) as error:
            raise JournalError(f"{self.path}: the journal cannot be read: {error}") from error
        return state, self.positions()

    def positions(self) -> Positions:
        """The committed positions. Raises JournalError when a row is damaged."""
        found: Positions = {}
        try:
            for source, file, value in self._rows_of("position", "source, file"):
                found.setdefault(source, {})[file] = value
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise JournalError(f"{self.path}: the journal cannot be read: {error}") from error
        return found

    def _rows_of(self, table: str, keys: str) -> Iterator[tuple[Any, ...]]:
        """Rows of a table without their checksum. Raises ValueError where it is wrong."""
        for *row, crc in self._db.execute(f"SELECT {keys}, value, crc FROM {table}"):
            if not isinstance(row[-1], bytes) or checksum(row) != crc:
                raise ValueError(f"the checksum of a row is wrong: {table} {row[:-1]}")
            *names_of_it, value = row
            yield (*map(names.from_text, names_of_it), value)

    def rebuild(self) -> None:
        """Set a journal aside whose rows cannot be read, and start a new one. Raises JournalError
        when that cannot be done."""
        self._db.close()
        self._db = self._begin_anew()
        self._file = self._identity()

    def commit(
        self,
        state: State,
        changed: Iterable[Entity],
        positions: Mapping[str, Mapping[str, bytes | None]],
    ) -> dict[Entity, Exception]:
        """Store the changed entities and the positions (by source) in one transaction.

        Entities that cannot be stored, because of a defect, keep their old rows and are returned.
        Raises JournalError when the disk refuses it; nothing of it is stored then.
        """
        try:
            self._end_without_file()
            stored, gone, left = rows_of(state, changed)
            self._store(stored, gone, positions)
            return left
        except JournalError:
            raise
        except Exception as error:  # a defect: what is not stored is kept
            crash.if_short(error)
            why = f"{type(error).__name__}: {error}"
            raise JournalError(f"{self.path}: cannot write the journal: {why}") from error

    def _store(
        self,
        stored: list[Row],
        gone: list[Entity],
        positions: Mapping[str, Mapping[str, bytes | None]],
    ) -> None:
        flat = [
            (names.to_text(source), names.to_text(file), value)
            for source, files in positions.items()
            for file, value in files.items()
        ]
        moved = [(*row, checksum(row)) for row in flat if row[2] is not None]
        dropped = [row[:2] for row in flat if row[2] is None]
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            db.executemany(
                "INSERT INTO entity (kind, first, second, value, crc) VALUES (?,?,?,?,?)"
                " ON CONFLICT (kind, first, second) DO UPDATE"
                " SET value = excluded.value, crc = excluded.crc"
                " WHERE value <> excluded.value",  # what did not change is not written again
                stored,
            )
            db.executemany("DELETE FROM entity WHERE kind=? AND first=? AND second=?", gone)
            db.executemany(
                "INSERT OR REPLACE INTO position (source, file, value, crc) VALUES (?,?,?,?)", moved
            )
            db.executemany("DELETE FROM position WHERE source=? AND file=?", dropped)
            db.execute("COMMIT")
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
            if not isinstance(error, sqlite3.Error):
                raise
            raise JournalError(f"{self.path}: cannot write the journal: {error}") from error
        if self.written is not None:
            self.written |= {("entity", *row[:3]): row[3] for row in stored}
            self.written |= {("entity", *key): None for key in gone}
            self.written |= {("position", *row[:2]): row[2] for row in flat}

    def every_row(self) -> dict[RowKey, bytes]:
        """All rows as they are stored. Raises JournalError."""
        try:
            return every_row(self._db)
        except sqlite3.Error as error:
            raise JournalError(f"{self.path}: the journal cannot be read: {error}") from error

    def replace(self, rows: Mapping[RowKey, bytes]) -> None:
        """Store these rows, and no others. Raises JournalError."""
        try:
            self._end_without_file()
            replace(self._db, rows)
        except sqlite3.Error as error:
            raise JournalError(f"{self.path}: cannot write the journal: {error}") from error

    def _end_without_file(self) -> None:
        """End the process where the file was removed or replaced: the next start rebuilds it."""
        if self._identity() != self._file:
            crash.end(
                f"esewatch: {self.path}: the journal was removed or replaced, so the process ends "
                "(exit status 70): start it again, and it reads all sources anew"
            )

    def last_set_aside(self) -> float | None:
        """Last time a damaged journal was set aside (epoch seconds); None: none lies beside it."""
        return last_set_aside(self.path)

    def close(self) -> None:
        self._db.close()
        self._let_go()
