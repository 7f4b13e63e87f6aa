"""Failing points inside: makes the n-th call of a kind fail, in this process.

    python -m tests.support.failing SEED SECONDS run --config.file ...

runs esewatch so that calls of all kinds fail at random for SECONDS after it began to serve.
"""

import contextlib
import errno
import os
import random
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from esewatch import journal, packing
from esewatch.advice.advise import together
from esewatch.daemon import shown_groups
from esewatch.expose.metrics.families import add_computers
from esewatch.fold.folder import Folder
from esewatch.journal.rows import rows_of
from esewatch.sources.evtx.evtx_source import EvtxSource
from esewatch.sources.files.file_set import FileSet
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.files.raw_file import PlainRaw
from esewatch.sources.files.text_file import TextFile

REAL_THREAD = threading.Thread.start


def _system(number: int) -> Callable[[], Exception]:
    return lambda: OSError(number, os.strerror(number))


KINDS: dict[str, Callable[[], Exception]] = {
    "thread start": lambda: RuntimeError("can't start new thread"),
    "open": _system(errno.EMFILE),
    "stat": _system(errno.EIO),
    "listdir": _system(errno.EMFILE),
    "read": _system(errno.EIO),
    "execute": lambda: sqlite3.OperationalError("disk I/O error"),
    "commit": lambda: sqlite3.OperationalError("database or disk is full"),
    "encode": MemoryError,
    "memory for a record": MemoryError,
    "memory for a block": MemoryError,
    "memory for a file": MemoryError,
    "memory for figures": MemoryError,
    "memory for advice": MemoryError,
    "memory for rows": MemoryError,
    "accept": _system(errno.EMFILE),
}


class Failing:
    """Which call fails: the `at`-th from now of `kind`, once. `calls` counts all, by kind."""

    def __init__(self) -> None:
        self.calls = dict.fromkeys(KINDS, 0)
        self.failed = dict.fromkeys(KINDS, 0)
        self._at: dict[str, int] = {}

    def arm(self, kind: str, at: int) -> None:
        """Let the `at`-th call of the kind fail, counted from 1 from now on."""
        self._at[kind] = self.calls[kind] + at

    def disarm(self) -> None:
        """No more fails."""
        self._at.clear()

    def note(self, kind: str) -> None:
        """A call of the kind. Raises where it is to fail."""
        self.calls[kind] += 1
        if self.calls[kind] == self._at.get(kind):
            del self._at[kind]
            self.failed[kind] += 1
            raise KINDS[kind]()

    def wrapped(self, kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, which may fail before it has done anything."""

        def wrapper(*args: Any, **words: Any) -> Any:
            self.note(kind)
            return call(*args, **words)

        return wrapper


@contextlib.contextmanager
def failing() -> Iterator[Failing]:
    """Put the failing points in, for the block."""
    found = Failing()

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *args: Any) -> Any:
            found.note("commit" if sql == "COMMIT" else "execute")
            return super().execute(sql, *args)

        def executemany(self, *args: Any) -> Any:
            found.note("execute")
            return super().executemany(*args)

    real = sqlite3.connect

    def connect(*args: Any, **words: Any) -> Any:
        return real(*args, **{"factory": Connection, **words})

    points: list[tuple[Any, str, Any]] = [
        (sqlite3, "connect", connect),
        (threading.Thread, "start", found.wrapped("thread start", threading.Thread.start)),
        (os, "open", found.wrapped("open", os.open)),
        (os, "stat", found.wrapped("stat", os.stat)),
        (os, "scandir", found.wrapped("listdir", os.scandir)),
        (PlainRaw, "read", found.wrapped("read", PlainRaw.read)),
        (packing, "pack", found.wrapped("encode", packing.pack)),
        (Folder, "_record", found.wrapped("memory for a record", Folder._record)),
        (FollowedFiles, "_feed", found.wrapped("memory for a block", FollowedFiles._feed)),
        (TextFile, "take", found.wrapped("memory for a block", TextFile.take)),
        (FileSet, "_place", found.wrapped("memory for a file", FileSet._place)),
        (FileSet, "_revisit", found.wrapped("memory for a file", FileSet._revisit)),
        (EvtxSource, "_plan", found.wrapped("memory for a file", EvtxSource._plan)),
        (shown_groups, "add_computers", found.wrapped("memory for figures", add_computers)),
        (shown_groups, "together", found.wrapped("memory for advice", together)),
        (journal, "rows_of", found.wrapped("memory for rows", rows_of)),
        (socket.socket, "accept", found.wrapped("accept", socket.socket.accept)),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in points]
    for owner, name, call in points:
        setattr(owner, name, call)
    try:
        yield found
    finally:
        for owner, name, call in before:
            setattr(owner, name, call)


def _at_random(found: Failing, seed: int, seconds: float, told: Path) -> None:
    rng = random.Random(seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(rng.uniform(0.005, 0.1))
        found.arm(rng.choice(list(KINDS)), rng.randint(1, 30))
    found.disarm()
    told.write_text(", ".join(f"{count} {kind}" for kind, count in found.failed.items() if count))


def main(words: list[str]) -> int:
    """Run esewatch with failing points; the exit status is its own."""
    from esewatch.cli import main as esewatch  # noqa: PLC0415 - it takes signals over

    seed, seconds, told, *rest = words
    with failing() as found:
        worker = threading.Thread(
            target=_at_random, args=(found, int(seed), float(seconds), Path(told)), daemon=True
        )
        REAL_THREAD(worker)
        sys.argv[1:] = rest
        return esewatch()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
