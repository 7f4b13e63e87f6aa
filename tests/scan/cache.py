"""What the page cache holds of a file, as the kernel says it."""

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

PAGE = mmap.PAGESIZE


def held(path: Path) -> list[bool]:
    """Whether each page of the file is in the cache (mincore)."""
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) as map_:
        first = ctypes.c_char.from_buffer(map_)
        pages = ctypes.create_string_buffer(-(-size // PAGE))
        failed = ctypes.CDLL(None).mincore(
            ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), pages
        )
        del first
    assert not failed
    return [bool(page & 1) for page in pages.raw]


def hold_only(path: Path, pages: Iterable[int]) -> None:
    """Have the cache drop the file and read these pages alone again."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        for page in pages:
            os.pread(descriptor, PAGE, page * PAGE)
    finally:
        os.close(descriptor)
