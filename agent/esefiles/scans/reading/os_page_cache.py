"""The page cache of Linux: the pages it holds of a file, and release of those it did not before.

mincore(2) of a private mapping reports the cached pages; it reports "all" where the process
neither owns the file nor may write it. Where it does so or is missing, nothing is ever released:
better that the cache keeps what was read than that it loses what others need. On other systems
this module does nothing.
"""

import contextlib
import ctypes
import mmap
import os
import sys
from itertools import groupby

Held = bytes
"""A byte for each page of the cache from the one with the first byte on; its bit 0: held."""

_BIT_0 = bytes(value & 1 for value in range(256))


def _find_mincore() -> "ctypes._FuncPointer | None":
    try:
        function = ctypes.CDLL(None, use_errno=True).mincore
    except (AttributeError, OSError, TypeError):
        return None
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
    function.restype = ctypes.c_int
    return function


_mincore = _find_mincore() if sys.platform == "linux" else None


def held(descriptor: int, offset: int, length: int) -> Held | None:
    """Pages of these bytes that are in the cache; None: not known. Never raises OSError."""
    if _mincore is None:
        return None
    begin = offset - offset % mmap.PAGESIZE
    try:
        size = min(offset + length, os.fstat(descriptor).st_size) - begin
        if size <= 0:
            return b""
        with mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY, offset=begin) as mapping:
            first = ctypes.c_char.from_buffer(mapping)
            pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
            failed = _mincore(ctypes.addressof(first), size, pages)
            del first
    except (OSError, ValueError):
        # ValueError: the file became shorter between the two calls.
        return None
    return None if failed else pages.raw


def give_up(descriptor: int, offset: int, length: int) -> None:
    """Have the cache drop the pages of these bytes, as far as nothing else holds on to them."""
    if sys.platform == "linux":
        begin = offset - offset % mmap.PAGESIZE
        end = -(-(offset + length) // mmap.PAGESIZE) * mmap.PAGESIZE
        with contextlib.suppress(OSError):
            os.posix_fadvise(descriptor, begin, end - begin, os.POSIX_FADV_DONTNEED)


def ask_for(descriptor: int, offset: int, length: int) -> None:
    """Have the cache read these bytes anew from the disk; does not wait for them."""
    give_up(descriptor, offset, length)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.posix_fadvise(descriptor, offset, length, os.POSIX_FADV_WILLNEED)


def restore(descriptor: int, offset: int, before: Held | None) -> None:
    """Release the pages read from `offset` on that were not held `before`."""
    begin = offset - offset % mmap.PAGESIZE
    for is_held, run in groupby(before or b"", lambda page: page & 1):
        length = len(list(run)) * mmap.PAGESIZE
        if not is_held:
            give_up(descriptor, begin, length)
        begin += length


def grown(before: Held | None, after: Held | None) -> bool:
    """True if a page is held `after` that was not `before`."""
    common = min(len(before or b""), len(after or b""))
    return bool(_bits(after, common) & ~_bits(before, common))


def all_held(pages: Held | None) -> bool:
    """True if there is no page that is known not to be held."""
    return not pages or 0 not in pages.translate(_BIT_0)


def _bits(pages: Held | None, count: int) -> int:
    """Bit 0 of the first bytes: each its byte of a number, as many at once take less time."""
    return int.from_bytes((pages or b"")[:count].translate(_BIT_0), "little")


def read_no_more_than_asked_for(descriptor: int) -> None:
    """Disable read-ahead: it would bring in pages that are never released again."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
