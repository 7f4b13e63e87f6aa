"""What the page cache holds of a file, as the kernel says it."""

import ctypes
import mmap
import os
from collections.abc import Callable, Iterable
from pathlib import Path

PAGE = mmap.PAGESIZE
TRIES = 3


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


def check_cache_after(
    path: Path, pages: Iterable[int], use: Callable[[], object], after: list[bool] | None = None
) -> None:
    """`use` leaves the cache `after`; None: as it was, with these `pages` of the file in it.

    The kernel may take a page back at any moment. So where pages are missing, and none is there
    that should not be, it is tried again: what `use` gave up would be missing each time.
    """
    for left in reversed(range(TRIES)):
        hold_only(path, pages)
        expected = after or held(path)
        use()
        found = held(path)
        if found == expected:
            return
        assert left, "pages are missing each time"
        assert all(was for was, is_held in zip(expected, found, strict=True) if is_held)
