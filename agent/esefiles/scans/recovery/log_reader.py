"""Reads logs ahead of their verification, two at a time: a disk is quicker so, and never idle."""

import mmap
import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from esefiles.base import crash
from esefiles.scans.reading.reading import DatabaseFile

READ_BYTES: Final = 1 << 20
"""Of a read: most logs are one."""

_LANES = 2
"""Logs that are read at the same time."""
_BUFFERS = 2
"""Of each: one to fill while the other one is verified."""
"""Seconds between two looks whether the thread that reads is still there."""
_LEAVE_SECONDS = 0.3
"""Seconds that the end waits for a read; one that hangs is left to itself."""


class LogPart(NamedTuple):
    """Part of a log that is wanted: whole segments from `begin` up to `end`, in bytes."""

    path: str
    begin: int
    end: int


class _Piece(NamedTuple):
    path: str
    buffer: memoryview
    done: int | OSError
    is_last: bool
    """Of its log."""


class LogReader:
    """The content of `parts`, to be taken in their order, by one thread. To be closed."""

    def __init__(self, parts: Sequence[LogPart], *, buffered: bool) -> None:
        self._lanes = [_Lane(parts[at::_LANES], buffered=buffered) for at in range(_LANES)]
        self._lane_of = {part.path: self._lanes[at % _LANES] for at, part in enumerate(parts)}

    def next_of(self, path: str) -> memoryview | None:
        """The next piece of a log; None: it ends. Logs before it are passed over. A piece is valid
        until the next call. Raises OSError where the log cannot be read."""
        return self._lane_of[path].next_of(path)

    def close(self) -> None:
        """Begin no read any more."""
        for lane in self._lanes:
            lane.leave()
        for lane in self._lanes:
            lane.join()


class _Lane:
    """Reads its parts one behind the other, in a thread."""

    def __init__(self, parts: Sequence[LogPart], *, buffered: bool) -> None:
        self._parts = parts
        self._buffered = buffered
        self._free: queue.SimpleQueue[memoryview | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[_Piece | Exception | None] = queue.SimpleQueue()
        self._held: _Piece | None = None
        self._leaving = False
        memory = memoryview(mmap.mmap(-1, READ_BYTES * _BUFFERS))
        for at in range(0, len(memory), READ_BYTES):
            self._free.put(memory[at : at + READ_BYTES])
        self._worker = threading.Thread(target=self._run, daemon=True)
        self._worker.start()

    def next_of(self, path: str) -> memoryview | None:
        """See `LogReader.next_of`."""
        while True:
            held, self._held = self._held, None
            if held is not None:
                self._free.put(held.buffer)
                if held.path == path and held.is_last:
                    return None
            piece = self._done.get()
            if isinstance(piece, Exception):
                raise piece
            self._held = piece
            if piece is None:
                return None
            if piece.path != path:
                continue
            if isinstance(piece.done, OSError):
                raise piece.done
            return piece.buffer[: piece.done]

    def leave(self) -> None:
        """Begin no read any more."""
        self._leaving = True
        self._free.put(None)

    def join(self) -> None:
        """Wait for a running read, at most _LEAVE_SECONDS."""
        self._worker.join(_LEAVE_SECONDS)

    def _run(self) -> None:
        try:
            for part in self._parts:
                for piece in self._pieces(part):
                    self._done.put(piece)
                if self._leaving:
                    break
        except Exception as error:
            crash.if_short(error)
            self._done.put(error)
        self._done.put(None)

    def _pieces(self, part: LogPart) -> Iterator[_Piece]:
        """A part in pieces of READ_BYTES; from the second on they begin at multiples of it."""
        file: DatabaseFile | OSError
        try:
            file = DatabaseFile(part.path, buffered=self._buffered)
        except OSError as error:
            file = error
        try:
            at, is_last = part.begin, False
            while not is_last:
                buffer = self._free.get()
                if buffer is None or self._leaving:
                    return
                wanted = min(READ_BYTES - at % READ_BYTES, part.end - at)
                done = _read(file, buffer[:wanted], at)
                at += wanted
                is_last = done != wanted or at >= part.end
                yield _Piece(part.path, buffer, done, is_last)
        finally:
            if isinstance(file, DatabaseFile):
                file.close()


def _read(file: DatabaseFile | OSError, buffer: memoryview, at: int) -> int | OSError:
    if isinstance(file, OSError):
        return file
    try:
        return file.read_into(buffer, at)
    except OSError as error:
        return error
