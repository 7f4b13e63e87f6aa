"""The files of the journal: the lock file, and damaged journals that were set aside."""

import contextlib
import os
import re
import sqlite3
import stat
import sys
from pathlib import Path
from typing import IO

from esewatch.model import JournalError

_OWNER_ONLY = 0o600
_OTHERS = stat.S_IRWXO
_MAGIC = b"SQLite format 3\0"


class LockedError(JournalError):
    """Another process writes this journal."""


def move_aside(path: Path) -> Path:
    """Rename a damaged journal and the files that belong to it, and return its new name. The file
    then has the time at which that was done. Raises OSError."""
    number = 1
    while (target := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    for suffix in ("-wal", "-shm"):
        beside = path.with_name(path.name + suffix)
        with contextlib.suppress(FileNotFoundError):
            beside.rename(target.with_name(target.name + suffix))
    path.rename(target)
    os.utime(target)
    return target


def last_set_aside(path: Path) -> float | None:
    """Last time a journal of this path was set aside (epoch seconds), if it still lies there. None:
    there is none, or the folder cannot be read."""
    name = re.compile(re.escape(path.name) + r"\.damaged-\d+", re.ASCII)
    times: list[float] = []
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    times.append(entry.stat().st_mtime)
    return max(times, default=None)


def identity(path: Path) -> tuple[int, int] | None:
    """Device and number of a file; None when there is none. Raises OSError where they are
    unknown."""
    try:
        state = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (state.st_dev, state.st_ino)


def make_private(path: Path) -> None:
    """Make the file, readable by its owner only, or remove the permissions of others.

    Raises OSError where it cannot be made, JournalError where it has another name besides: a
    process that opened it by that name would not see the files beside this one.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, _OWNER_ONLY))
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        beside = path.with_name(name)
        with contextlib.suppress(OSError):
            if (mode := beside.stat().st_mode) & _OTHERS:
                beside.chmod(stat.S_IMODE(mode) & ~_OTHERS)
    if (links := path.stat().st_nlink) > 1:
        raise JournalError(
            f"{path}: the journal has {links} names (hard links): remove all but one"
        )


def take_lock(path: Path) -> IO[bytes]:
    """The open lock beside the journal.

    Raises LockedError, JournalError where the database of another program lies there, which is left
    as it is, and OSError where the lock cannot be made.
    """
    lock = path.with_name(f"{path.name}.lock")
    was_there = lock.exists()
    if not was_there:
        _refuse_foreign_database(path)
    handle = _locked(path, lock)
    try:
        if was_there:  # not before: closing a file ends the locks of SQLite that this process has
            _refuse_foreign_database(path)
    except BaseException:
        handle.close()
        raise
    return handle


def _refuse_foreign_database(path: Path) -> None:
    if not path.exists():
        return
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return  # a damaged journal
    alone = not path.with_name(f"{path.name}-wal").exists()
    how = "mode=ro&immutable=1" if alone else "mode=ro"  # the first makes no files beside it
    uri = f"{path.as_uri()}?{how}"
    with (
        contextlib.suppress(sqlite3.Error, UnicodeDecodeError),  # damage, which is found later
        contextlib.closing(sqlite3.connect(uri, uri=True, timeout=0.0)) as db,
    ):
        refuse_foreign_tables(path, db)


def refuse_foreign_tables(path: Path, db: sqlite3.Connection) -> None:
    """Raise JournalError for a database of another program. Raises sqlite3.Error, too."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if tables and tables.isdisjoint(("meta", "entity", "position")):
        raise JournalError(f"{path}: cannot open the journal: it is another database")


def take_itself(path: Path) -> IO[bytes] | None:
    """The journal, open and locked under any of its names; None where that is not supported.
    Elsewhere than on Linux this lock would block SQLite's own. Raises LockedError and OSError."""
    return _locked(path, path) if sys.platform == "linux" else None


def _locked(path: Path, file: Path) -> IO[bytes]:
    handle = os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT, _OWNER_ONLY), "r+b", buffering=0)
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
