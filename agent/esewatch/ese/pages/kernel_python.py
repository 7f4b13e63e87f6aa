"""The kernel that needs nothing: each page judged like a suspect one. The slowest."""

from esewatch.ese.pages import checksum
from esewatch.ese.pages.layout import BLANK, GOOD, SUSPECT


def classify(pages: memoryview, page_size: int, first: int, /) -> bytes:
    """See `kernels.classify`; `pages` are bytes, `page_size` is one of PAGE_SIZES."""
    found = bytearray()
    for index in range(len(pages) // page_size):
        page = bytes(pages[index * page_size : (index + 1) * page_size])
        if not any(page):
            found.append(BLANK)
        else:
            good = checksum.diagnose(page, first + index).fault is None
            found.append(GOOD if good else SUSPECT)
    return bytes(found)
