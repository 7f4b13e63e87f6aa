"""Real files: several ways to write them, and how much of them stays in the page cache."""

import contextlib
import ctypes
import errno
import mmap
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

BLOCK: Final = 1 << 20
"""Bytes of one request of a copy; a multiple of what O_DIRECT asks for."""

_O_DIRECT: Final = getattr(os, "O_DIRECT", 0)
_REFUSED: Final = frozenset({errno.EINVAL, errno.EOPNOTSUPP})
"""Errors of a file system that cannot do O_DIRECT."""
_O_DSYNC: Final = getattr(os, "O_DSYNC", 0)


class UnableError(Exception):
    """This system or file system cannot do it: says what."""


def file_system(folder: Path) -> str:
    """Its kind, such as ext4; `unknown`."""
    real = os.path.realpath(folder)
    best = max(
        (part for part in psutil.disk_partitions(all=True) if _lies_in(real, part.mountpoint)),
        key=lambda part: len(part.mountpoint),
        default=None,
    )
    return (best.fstype if best is not None else "") or "unknown"


def make(path: Path, size: int) -> None:
    """A file of so many bytes, on the disk. Raises OSError."""
    with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
        block = _block()
        for at in range(0, size, BLOCK):
            _write(descriptor, block[: min(BLOCK, size - at)])
        os.fsync(descriptor)


def copy(source: Path, target: Path, *, direct: bool) -> float:
    """Copy, until the bytes are on the disk; seconds. The size is a multiple of 4096.

    `direct`: past the page cache. Raises UnableError, OSError.
    """
    extra = _direct() if direct else 0
    begin = time.perf_counter()
    try:
        with (
            _opened(source, os.O_RDONLY | extra) as reader,
            _opened(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | extra) as writer,
        ):
            block = _block()
            while done := os.readv(reader, [block]):
                _write(writer, block[:done])
            os.fsync(writer)
    except OSError as error:
        if direct and error.errno in _REFUSED:
            raise UnableError(f"O_DIRECT is refused: {error.strerror or error}") from error
        raise
    return time.perf_counter() - begin


def write(path: Path, size: int, request: int, *, through: bool, limit: float) -> tuple[int, float]:
    """Write a file request by request, for at most `limit` seconds; (bytes, seconds).

    `through`: each is on the disk before the next (O_DSYNC). Raises UnableError, OSError.
    """
    if through and not _O_DSYNC:
        raise UnableError("there is no O_DSYNC here")
    extra = _O_DSYNC if through else 0
    done, begin = 0, time.perf_counter()
    with _opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | extra) as descriptor:
        block = _block()[:request]
        while done < size and time.perf_counter() - begin < limit:
            _write(descriptor, block)
            done += request
    return done, time.perf_counter() - begin


def cached(path: Path) -> float | None:
    """The share of a file that is in the page cache, None: that is not known. Raises OSError."""
    with _opened(path, os.O_RDONLY) as descriptor:
        size = os.fstat(descriptor).st_size
        mincore = _mincore()
        if mincore is None or not size:
            return None
        pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
        with mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY) as mapping:
            first = ctypes.c_char.from_buffer(mapping)
            failed = mincore(ctypes.addressof(first), size, pages)
            del first
    return None if failed else sum(page & 1 for page in pages.raw) / len(pages)


def read_in(path: Path) -> None:
    """Read a file through the cache. Raises OSError."""
    with _opened(path, os.O_RDONLY) as descriptor:
        while os.read(descriptor, BLOCK):
            pass


def drop(path: Path) -> None:
    """Have the cache give up a file that is on the disk. Raises OSError."""
    with _opened(path, os.O_RDONLY) as descriptor:
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def _mincore() -> "ctypes._FuncPointer | None":
    """mincore(2), which says what the cache of Linux holds of a mapping; None: there is none."""
    function = getattr(ctypes.CDLL(None), "mincore", None) if sys.platform == "linux" else None
    if function is not None:
        function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
        function.restype = ctypes.c_int
    return function


def _lies_in(path: str, point: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")


def _direct() -> int:
    if not _O_DIRECT:
        raise UnableError("there is no O_DIRECT here")
    return int(_O_DIRECT)


def _block() -> memoryview:
    """Memory that begins at a page, as O_DIRECT asks for, with bytes that do not compress away."""
    block = memoryview(mmap.mmap(-1, BLOCK))
    block[:] = (bytes(range(1, 256)) * (BLOCK // 255 + 1))[:BLOCK]
    return block


def _write(descriptor: int, block: memoryview) -> None:
    done = 0
    while done < len(block):
        done += os.write(descriptor, block[done:])


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
