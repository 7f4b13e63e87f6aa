"""Storage for the engine's bytes: a folder of real files, or a simulated disk that can crash.

Its log files are those of ESE (see LogFile), and not there before they have a header.
Positions and lengths are in bytes. What was not synced may be lost, wholly or in part.
"""

import os
import random
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from eselab.disk.file import File
from eselab.disk.log_file import BASE, LogFile, generation_in, name_before

SECTOR: Final = 512
"""A write that is cut off ends at an offset in the file that is a multiple of it."""


class Disk(Protocol):
    """A flat folder of files. Names are durable after `sync`."""

    def open(self, name: str, *, create: bool = False) -> File:
        """Open a file for reading and writing. Raises FileNotFoundError unless `create`."""

    def names(self) -> list[str]:
        """Names of all files, sorted."""

    def remove(self, name: str) -> None:
        """Delete a file. Raises FileNotFoundError."""

    def sync(self) -> None:
        """Names that were made or deleted are durable when this returns."""


class RealFile:
    """A file of the system. Without `durable` a `sync` is left out."""

    def __init__(self, path: Path, *, create: bool, durable: bool) -> None:
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(path, flags | (os.O_CREAT if create else 0), 0o644)
        self._durable = durable

    def read(self, offset: int, length: int) -> bytes:
        parts = []
        while length > 0 and (part := os.pread(self._descriptor, length, offset)):
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        return b"".join(parts)

    def write(self, offset: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            done = os.pwrite(self._descriptor, rest, offset)
            offset, rest = offset + done, rest[done:]

    def sync(self) -> None:
        if self._durable:
            os.fsync(self._descriptor)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def close(self) -> None:
        os.close(self._descriptor)


class RealDisk:
    """A folder of the system. Without `durable` a kill of the process loses nothing, but
    a crash of the machine may: for a virtual clock, whose months take seconds.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self._folder = folder
        self._durable = durable

    def open(self, name: str, *, create: bool = False) -> File:
        """See Disk. A new log has another name until its header is durable: no kill leaves half."""
        path = self._folder / name
        generation = generation_in(name)
        if generation is None:
            return self._file(path, create=create)
        before = partial(self._file, self._folder / name_before(name), create=False)
        if path.exists() or not create:
            return LogFile(self._file(path, create=False), generation, before=before)
        making = self._folder / f"{name[:BASE]}tmp.log"
        making.unlink(missing_ok=True)
        file = self._file(making, create=True)
        return LogFile(file, generation, before=before, begun=lambda: making.replace(path))

    def names(self) -> list[str]:
        return sorted(entry.name for entry in self._folder.iterdir() if entry.is_file())

    def remove(self, name: str) -> None:
        (self._folder / name).unlink()

    def _file(self, path: Path, *, create: bool) -> RealFile:
        return RealFile(path, create=create, durable=self._durable)

    def sync(self) -> None:
        if not self._durable:
            return
        descriptor = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Content:
    """A simulated file: its content, the durable part of it, and the writes since."""

    def __init__(self) -> None:
        self.now = bytearray()
        self.durable = bytearray()
        self.since: list[tuple[int, bytes | None]] = []
        """(offset, data) of each write that is not durable; (size, None) of a truncation."""

    def apply(self, offset: int, data: bytes | None) -> None:
        self.since.append((offset, data))
        _apply(self.now, offset, data)

    def sync(self) -> None:
        for offset, data in self.since:
            _apply(self.durable, offset, data)
        self.since.clear()

    def after_crash(self, chance: random.Random) -> bytearray:
        """The content after a crash: of each undurable write all, a part, or nothing survives."""
        left = bytearray(self.durable)
        for offset, data in self.since:
            kept = chance.random()
            if kept < 1 / 3:
                continue
            if kept < 2 / 3 and data:
                data = data[: max(0, _torn_at(offset, len(data), chance) - offset)]
            _apply(left, offset, data)
        return left


def _torn_at(offset: int, length: int, chance: random.Random) -> int:
    """The edge of a sector of the file at which a write of `length` at `offset` ends."""
    return chance.randrange(offset // SECTOR, (offset + length) // SECTOR + 1) * SECTOR


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
    elif data:
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(data)] = data


class SimFile:
    """A file of a simulated disk."""

    def __init__(self, content: _Content) -> None:
        self._content = content

    def read(self, offset: int, length: int) -> bytes:
        return bytes(self._content.now[offset : offset + length])

    def write(self, offset: int, data: bytes) -> None:
        self._content.apply(offset, bytes(data))

    def sync(self) -> None:
        self._content.sync()

    def size(self) -> int:
        return len(self._content.now)

    def truncate(self, size: int) -> None:
        self._content.apply(size, None)

    def close(self) -> None:
        """See File."""


class SimDisk:
    """A disk in memory. `chance` decides which unsynced writes survive a crash."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._files: dict[str, _Content] = {}
        self._durable: dict[str, _Content] = {}

    def open(self, name: str, *, create: bool = False) -> File:
        file = self._file(name, create=create)
        generation = generation_in(name)
        if generation is None:
            return file
        before = partial(self._file, name_before(name), create=False)
        return LogFile(file, generation, before=before)

    def _file(self, name: str, *, create: bool) -> SimFile:
        if name not in self._files:
            if not create:
                raise FileNotFoundError(name)
            self._files[name] = _Content()
        return SimFile(self._files[name])

    def names(self) -> list[str]:
        return sorted(self._files)

    def remove(self, name: str) -> None:
        if self._files.pop(name, None) is None:
            raise FileNotFoundError(name)

    def sync(self) -> None:
        self._durable = dict(self._files)

    def crash(self) -> "SimDisk":
        """The disk after a loss of power at this moment; this one is not to be used any more."""
        after = SimDisk(self._chance)
        for name in sorted(self._files.keys() | self._durable.keys()):
            content = self._files.get(name)
            if content is not self._durable.get(name) and self._chance.random() < 0.5:
                # A name that was made, deleted or made anew since the last sync: as before it.
                content = self._durable.get(name)
            if content is not None:
                kept = after._files[name] = _Content()
                kept.now = content.after_crash(self._chance)
                kept.durable[:] = kept.now
        after.sync()
        return after
