"""The files of the journal: the lock beside it, and damaged ones that were set aside."""

import contextlib
import os
import re
import sys
from pathlib import Path
from typing import IO

from esewatch.model import JournalError


class LockedError(JournalError):
    """Another process writes this journal."""


def move_aside(path: Path) -> Path:
    """Rename a damaged journal and what lies beside it, and return its new name.

    The file then has the time at which that was done. Raises OSError.
    """
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
    """When a journal of this path was set aside last (epoch seconds), if it still lies there.

    None: there is none, or the folder cannot be read.
    """
    name = re.compile(re.escape(path.name) + r"\.damaged-\d+", re.ASCII)
    times: list[float] = []
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    times.append(entry.stat().st_mtime)
    return max(times, default=None)


def identity(path: Path) -> tuple[int, int] | None:
    """Device and number of a file; None when there is none."""
    try:
        state = path.stat()
    except OSError:
        return None
    return (state.st_dev, state.st_ino)


def take_lock(path: Path) -> IO[bytes]:
    """The open lock beside the journal. Raises LockedError, and OSError where it cannot be made."""
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
