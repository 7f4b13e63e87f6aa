"""Verification of many pages at once: by _kernel.c, else, many times slower, by Python."""

import importlib
from collections.abc import Callable
from typing import Final

from esefiles.pages import checksum
from esefiles.pages.layout import BLANK, GOOD, PAGE_SIZES, SUSPECT

Pages = bytes | bytearray | memoryview
Kernel = Callable[[memoryview, int, int], bytes]


def in_python(pages: memoryview, page_size: int, first: int, /) -> bytes:
    """The kernel that needs nothing: each page judged like a suspect one."""
    found = bytearray()
    for index in range(len(pages) // page_size):
        page = bytes(pages[index * page_size : (index + 1) * page_size])
        if not any(page):
            found.append(BLANK)
        else:
            good = checksum.diagnose(page, first + index).fault is None
            found.append(GOOD if good else SUSPECT)
    return bytes(found)


try:
    _kernel: Kernel = importlib.import_module("esefiles.pages._kernel").classify
except ImportError:
    _kernel = in_python
NAME: Final = "python" if _kernel is in_python else "compiled"


def classify(pages: Pages, page_size: int, first: int) -> bytes:
    """One byte for each whole page: GOOD, BLANK or SUSPECT as page `first`, `first` + 1, …

    GOOD: the checksums hold, and the number of a large page. A rest shorter than a page is
    left out; numbers count modulo 2^32, as they are stored. Safe to call from many threads.
    ValueError: `page_size` is none of PAGE_SIZES. TypeError: `pages` are not contiguous bytes.
    """
    if page_size not in PAGE_SIZES:
        raise ValueError(f"page size {page_size}: not one of {PAGE_SIZES}")
    return _kernel(memoryview(pages).cast("B"), page_size, first)
