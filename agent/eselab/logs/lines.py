"""Files that grow by whole lines and are whole lines after a kill at any moment."""

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

FULL: Final = 1 << 20
"""Bytes that are held back at most."""


def whole_length(path: Path) -> int:
    """Bytes of the whole lines of a file, 0 where there is none. Raises OSError."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return 0
    if not size:
        return 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.rfind(b"\n") + 1


def last_line(path: Path, wanted: Callable[[bytes], bool] = bool) -> bytes:
    """The last whole line that is `wanted`, its end included; empty if there is none.

    Raises OSError.
    """
    end = whole_length(path)
    if not end:
        return b""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        while end:
            start = data.rfind(b"\n", 0, end - 1) + 1
            line = data[start:end]
            if wanted(line):
                return line
            end = start
    return b""


class Lines:
    """Appends to the file at `path`, where a torn last line is cut off first.

    Each line is one write, or with `buffered` held back until `flush`. What of `before`
    is held back is written first.
    """

    def __init__(self, path: Path, *, buffered: bool, before: "Lines | None" = None) -> None:
        """Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o644)
        self._buffered = buffered
        self._before = before
        self._held = bytearray()
        self.size = whole_length(path)
        """Bytes of all lines, those held back included."""
        os.truncate(path, self.size)

    def append(self, line: bytes) -> None:
        """Add a line, or several at once, with their ends. Raises OSError."""
        self.size += len(line)
        self._held += line
        if not self._buffered or len(self._held) > FULL:
            self.flush()

    def flush(self) -> None:
        """Write the buffered lines. Raises OSError; unwritten lines then stay buffered."""
        if self._before is not None:
            self._before.flush()
        while self._held:
            del self._held[: os.write(self._descriptor, self._held)]

    def close(self) -> None:
        """Write the buffered lines and close the file. Raises OSError."""
        self.flush()
        os.close(self._descriptor)
