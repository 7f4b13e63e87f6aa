"""Bytes of one file, gzip or not, read forward from any offset with bounded memory.

Offsets count the bytes behind decompression.
"""

import os
import stat
import sys
import zlib
from io import FileIO

from esefiles.base.shared_file import open_shared

GZIP_MAGIC = b"\x1f\x8b\x08"
_INPUT = 64 << 10
_BLOCK = 1 << 20


class MovedError(Exception):
    """A path leads to another file than a moment ago, or the file was written anew: search again
    before reading on. Not an OSError: nothing is wrong with the file."""


class RawFile:
    """An open file. `position` is the offset of the next byte read."""

    compressed = False
    complete = False
    """The compressed stream has ended as it should; never True for a plain file."""
    damage = ""
    """Reason why a compressed stream cannot be read further, or empty."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self.position = 0
        self.limit = sys.maxsize
        """No byte behind it is read of a plain file: what was written after a look waits for the
        next one, so that no file is read further than a copy of it is known to reach."""

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; empty when there are no more for now. Raises OSError."""
        raise AssertionError("of no kind")

    def seek(self, offset: int) -> bool:
        """Go to `offset`; False when the file does not reach so far. Raises OSError."""
        raise AssertionError("of no kind")

    def next_data(self, offset: int) -> int | None:
        """Offset of the first byte that is not zero at or behind `offset`, None if nowhere. A
        compressed file is not preallocated: what is there is data."""
        return offset

    def stat(self) -> os.stat_result:
        """State of the file behind the handle, also after it was renamed or deleted."""
        return os.fstat(self._file.fileno())

    def backlog(self) -> int:
        """Stored bytes not read yet."""
        return max(0, self.stat().st_size - self.position)

    def close(self) -> None:
        self._file.close()


def open_raw(path: str) -> RawFile:
    """Open a regular file, as gzip if it begins as one. Raises OSError."""
    file = open_regular(path)
    try:
        magic = file.read(len(GZIP_MAGIC))
        file.seek(0)
    except OSError:
        file.close()
        raise
    return GzipRaw(file) if magic == GZIP_MAGIC else PlainRaw(file)


def open_regular(path: str) -> FileIO:
    """Open a regular file for reading. Raises OSError, also where it is none."""
    # A pipe that took the file's place must not block the agent.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    # Opened within FileIO, which closes a folder that it refuses.
    file = FileIO(path, "r", opener=lambda name, _: open_shared(name, flags))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(0, "not a regular file", path)
    return file


def read_at(raw: RawFile, offset: int, size: int) -> bytes:
    """Up to `size` bytes at `offset`, fewer where the file ends. Raises OSError."""
    if not raw.seek(offset):
        return b""
    parts = []
    while size > 0 and (part := raw.read(min(size, _BLOCK))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class PlainRaw(RawFile):
    """A file read as it is."""

    _zero_to = 0
    _data_at = -1

    def read(self, size: int) -> bytes:
        self._file.seek(self.position)
        data = self._file.read(max(0, min(size, self.limit - self.position))) or b""
        self.position += len(data)
        return data

    def seek(self, offset: int) -> bool:
        self.position = offset
        return offset <= self.stat().st_size

    def next_data(self, offset: int) -> int | None:
        """See `RawFile.next_data`. Holes and parts that were read before are not read again."""
        if self._data_at >= offset:
            return self._data_at
        at = max(offset, self._zero_to)
        size = self.stat().st_size
        while at < size:
            at = self._behind_hole(at, size)
            self._file.seek(at)
            block = self._file.read(_BLOCK)
            if not block:
                break
            zeros = len(block) - len(block.lstrip(b"\0"))
            at += zeros
            if zeros < len(block):
                self._data_at = at
                return at
        self._zero_to = at
        return None

    def _behind_hole(self, at: int, size: int) -> int:
        if not hasattr(os, "SEEK_DATA"):
            return at
        try:
            return os.lseek(self._file.fileno(), at, os.SEEK_DATA)
        except OSError:
            return size


class GzipRaw(RawFile):
    """A gzip file: one member or several behind each other."""

    compressed = True

    def __init__(self, file: FileIO) -> None:
        super().__init__(file)
        self._restart()

    def _restart(self) -> None:
        self._file.seek(0)
        self.position = 0
        self.complete = False
        self.damage = ""
        self._input = b""
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._between = False

    def read(self, size: int) -> bytes:
        """See `RawFile.read`. Sets `complete` or `damage` where the stream ends."""
        data = b""
        while not data and not self.complete and not self.damage:
            if not self._input:
                self._input = self._file.read(_INPUT) or b""
            if self._between:
                self._next_member()
            elif self._input:
                data = self._step(size)
            else:
                # zlib may hold back a little output that `size` did not allow before.
                data = self._inflate.decompress(b"", size)
                self.damage = "" if data else "compressed data ends early"
        self.position += len(data)
        return data

    def _next_member(self) -> None:
        if not self._input:
            self.complete = True
            return
        # Zeros may pad a member up to a block of the medium.
        self._input = self._input.lstrip(b"\0")
        if self._input:
            self._between = False
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def _step(self, size: int) -> bytes:
        before = self._inflate.copy()
        try:
            data = self._inflate.decompress(self._input, size)
        except zlib.error as error:
            self.damage = f"compressed data is damaged: {error}"
            return self._salvage(before, size)
        self._input = self._inflate.unconsumed_tail
        if self._inflate.eof:
            self._input = self._inflate.unused_data
            self._between = True
        return data

    def _salvage(self, inflate: "zlib._Decompress", size: int) -> bytes:
        """Bytes before the damage; zlib throws them away with the error."""
        parts: list[bytes] = []
        try:
            for at in range(len(self._input)):
                parts.append(inflate.decompress(self._input[at : at + 1], size))
        except zlib.error:
            pass
        return b"".join(parts)

    def seek(self, offset: int) -> bool:
        """See `RawFile.seek`. Going back decompresses again from the beginning."""
        if offset < self.position:
            self._restart()
        while self.position < offset and self.read(min(_BLOCK, offset - self.position)):
            pass
        return self.position == offset

    def backlog(self) -> int:
        over = self.complete or self.damage
        return 0 if over else max(0, self.stat().st_size - self._file.tell())
