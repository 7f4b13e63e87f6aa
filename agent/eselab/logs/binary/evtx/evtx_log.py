"""The event log as Windows keeps it: a file that fills up, overwrites its oldest part, is cleared.

A chunk is written before the header that leads to it, so that a kill leaves a log that is whole.
"""

import os
import struct
import zlib
from pathlib import Path
from typing import Final

from eselab.logs.binary.evtx.chunk import CHUNK, Chunk
from eselab.logs.binary.evtx.record import Event, Source

SMALLEST: Final = 1 << 20
"""Bytes of a log at least, as Windows has it."""
DEFAULT: Final = 20 << 20
"""Bytes of the Application log of Windows."""

_HEADER: Final = 4096
_MAGIC: Final = b"ElfFile\0"
_HEAD: Final = struct.Struct("<8s3QIHHHH")
"""Magic, oldest and newest chunk, next record, bytes, version (minor, major), block, chunks."""
_FLAGS_AT: Final = 120
_FULL: Final = 2


class EvtxLog:
    """The log at `path`, of `size` bytes at most, buffered: `flush` writes it."""

    def __init__(self, path: Path, source: Source, size: int = DEFAULT) -> None:
        """Raises OSError; ValueError, struct.error where the file is none that this wrote."""
        self._source = source
        self._most = max(SMALLEST, size) // CHUNK
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        self._oldest = self._newest = 0
        self._count = 1
        self._chunk = Chunk(1)
        self._changed = True
        self._held: list[tuple[int, bytes]] = []
        head = os.pread(self._descriptor, _HEAD.size, 0)
        # The first header is written behind the first chunk.
        if head.startswith(_MAGIC) and len(head) == _HEAD.size:
            _, self._oldest, self._newest, _, _, _, _, _, self._count = _HEAD.unpack(head)
            data = os.pread(self._descriptor, CHUNK, self._place(self._newest))
            self._chunk = Chunk.load(data)
            self._changed = False

    @property
    def last_time(self) -> int | None:
        """Microseconds since 1970 of the last event; None where there is none."""
        return self._chunk.last_time

    def append(self, event: Event) -> None:
        """Add an event. Raises OSError, ValueError for one that no chunk has room for."""
        self._changed = True
        if not self._chunk.append(self._source, event):
            self._held.append((self._place(self._newest), self._chunk.sealed()))
            self._begin_chunk()
            self._chunk.append(self._source, event)

    def clear(self) -> None:
        """Take all events out; the numbers of those to come begin with 1. Raises OSError."""
        self._oldest = self._newest = 0
        self._count, self._chunk, self._changed = 1, Chunk(1), True
        self._held.clear()
        os.ftruncate(self._descriptor, 0)
        self.flush()

    def flush(self) -> None:
        """Write what is held back. Raises OSError."""
        if self._changed:
            for place, data in self._held:
                os.pwrite(self._descriptor, data, place)
            self._held.clear()
            os.pwrite(self._descriptor, self._chunk.sealed(), self._place(self._newest))
            os.pwrite(self._descriptor, self._header(), 0)
            self._changed = False

    def close(self) -> None:
        """Write what is held back and let go of the file. Raises OSError."""
        self.flush()
        os.close(self._descriptor)

    def _begin_chunk(self) -> None:
        """Go on in a new chunk; where the log has its size, in the place of the oldest."""
        self._newest = (self._newest + 1) % self._most
        if self._newest < self._count:
            self._oldest = (self._newest + 1) % self._count
        else:
            self._count += 1
        self._chunk = Chunk(self._chunk.last + 1)

    def _header(self) -> bytes:
        header = bytearray(_HEADER)
        _HEAD.pack_into(
            header, 0, _MAGIC, self._oldest, self._newest, self._chunk.last + 1,
            128, 1, 3, _HEADER, self._count,
        )  # fmt: skip
        flags = _FULL if self._count == self._most else 0
        struct.pack_into("<II", header, _FLAGS_AT, flags, zlib.crc32(header[:_FLAGS_AT]))
        return bytes(header)

    def _place(self, chunk: int) -> int:
        return _HEADER + chunk * CHUNK
