"""Reading a file and checking its pages at the same time, in the order of the file."""

import contextlib
import mmap
import queue
import sys
import threading
import time
from collections.abc import Iterator
from itertools import cycle
from typing import Final, NamedTuple

from esefiles.base import crash
from esefiles.pages import kernels
from esefiles.pages.layout import number_at
from esefiles.scans.pace import Pace
from esefiles.scans.reading.direct import ALIGNMENT
from esefiles.scans.reading.reading import DatabaseFile

READ_SIZE: Final = 2 << 20
"""Bytes of a read, where nothing else is asked for: the least CPU time a byte of 1, 2 and 4 MiB."""

RATED_READ_SIZE: Final = 4 << 20
"""Bytes of a read at a given rate, at most: it takes as long, and fewer cost less processor."""

THROTTLED_READ_SIZE: Final = 320 << 10
"""Bytes of a read where there is a pause between reads."""

_READERS = 2
_BUFFERS = 2
"""Of each reader: one to fill while the consumer has the other."""

_LOOK_SECONDS = 0.2
"""Seconds between two looks of a waiting consumer whether its read is over."""

_LEAVE_SECONDS = 0.3
"""Seconds that the end waits for readers; one in a read that hangs is left to itself."""


class Piece(NamedTuple):
    """Result of one read."""

    offset: int
    length: int
    """Bytes asked for."""
    data: memoryview
    """Bytes read: shorter at the end of the file, empty with `error`. Valid until the next
    piece is asked for."""
    classes: bytes
    """GOOD, BLANK or SUSPECT (ese.page) of each of its whole pages."""
    error: OSError | None
    seconds: float
    """Duration of the read."""


class _Reader:
    """Reads and checks its pieces into its own buffers; it ends with None in `done`."""

    def __init__(self, job: "_Job", first: int, step: int) -> None:
        self.done: queue.SimpleQueue[tuple[memoryview, Piece] | BaseException | None]
        self.done = queue.SimpleQueue()
        self.free: queue.SimpleQueue[memoryview | None] = queue.SimpleQueue()
        for buffer in _buffers(job.read_size):
            self.free.put(buffer)
        self._job = job
        self._numbers = job.numbers()[first::step]
        self._leaving = False
        self.worker: threading.Thread | None = None

    def start(self) -> None:
        """Begin to read."""
        self.worker = threading.Thread(target=self.run, daemon=True)
        self.worker.start()

    def run(self) -> None:
        """Until the pieces, the file or the time end, or the consumer asks for no more."""
        job = self._job
        try:
            for number in self._numbers:
                buffer = self.free.get()
                offset, length = job.place(number)
                if buffer is None or not job.pace.wait(length) or self._leaving:
                    break
                self.done.put((buffer, job.piece(buffer, offset, length)))
        except Exception as error:
            crash.if_short(error)
            self.done.put(error)
        self.done.put(None)

    def next(self) -> tuple[memoryview, Piece] | None:
        """The next piece with the buffer it is in; None: there are no more. Raises what it met."""
        while True:
            try:
                found = self.done.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                if self._job.pace.over():
                    return None
                continue
            if isinstance(found, BaseException):
                raise found
            return found

    def leave(self) -> None:
        """Begin no read any more."""
        self._leaving = True
        self.free.put(None)


class _Job(NamedTuple):
    """Request to read. Pieces begin at multiples of `read_size`, the first one at `start`."""

    file: DatabaseFile
    start: int
    end: int
    page_size: int
    pace: Pace
    read_size: int

    def numbers(self) -> range:
        if self.start >= self.end:
            return range(0)
        return range(self.start // self.read_size, -(-self.end // self.read_size))

    def place(self, number: int) -> tuple[int, int]:
        """Offset and length of a piece."""
        begin = max(self.start, number * self.read_size)
        return begin, min(self.end, (number + 1) * self.read_size) - begin

    def piece(self, buffer: memoryview, offset: int, length: int) -> Piece:
        """Read and check one."""
        began = time.perf_counter()
        error = None
        try:
            # More than asked for at the end: a direct read has a whole length.
            read = self.file.read_into(buffer[: _aligned(length)], offset)
        except OSError as failure:
            read, error = 0, failure
        seconds = time.perf_counter() - began
        data = buffer[: min(read, length)]
        classes = kernels.classify(data, self.page_size, number_at(offset, self.page_size))
        return Piece(offset, length, data, classes, error, seconds)


def stream(
    file: DatabaseFile, start: int, end: int, *, page_size: int, pace: Pace, read_size: int
) -> Iterator[Piece]:
    """The bytes from `start` up to `end` in pieces of `read_size`, in order.

    `start` and `read_size` are multiples of `page_size` (bytes). It ends early when the pace is
    over or the file ends, which gives one shorter piece before. A read that fails is a piece with
    `error`; the next one follows. Closed early it leaves no reader, but for one that hangs.
    """
    job = _Job(file, start, end, page_size, pace, read_size)
    numbers = job.numbers()
    count = min(len(numbers), 1 if pace.waits else _READERS)
    readers = [_Reader(job, first, count) for first in range(count)]
    try:
        for reader in readers:
            reader.start()
        for reader, _ in zip(cycle(readers), numbers, strict=False):
            found = reader.next()
            if found is None:
                return
            buffer, piece = found
            yield piece
            if len(piece.data) < piece.length and piece.error is None:
                return
            reader.free.put(buffer)
    finally:
        for reader in readers:
            reader.leave()
        leave_until = time.monotonic() + _LEAVE_SECONDS
        for reader in readers:
            if reader.worker is not None:
                reader.worker.join(max(0.0, leave_until - time.monotonic()))


def _aligned(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT


def _buffers(read_size: int) -> list[memoryview]:
    """Memory for direct reads: it begins and ends at multiples of ALIGNMENT."""
    size = _aligned(read_size)
    memory = memoryview(_memory(size * _BUFFERS))
    return [memory[at : at + size] for at in range(0, size * _BUFFERS, size)]


def _memory(size: int) -> mmap.mmap:
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    # Private, in large pages where the system has some: a direct read pins each page of it.
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory
