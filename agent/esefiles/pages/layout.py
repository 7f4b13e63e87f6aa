"""The layout of a page and of a database file: sizes, offsets, page numbers, flags.

A file is the header page, its shadow, then page 1, 2, …; the engine's page number of the header is
-1 and of the shadow 0. Sources: cpage.hxx, daedef.hxx and io.hxx of the published engine.
"""

from typing import Final, Literal

PAGE_SIZES: Final = (2048, 4096, 8192, 16384, 32768)
"""Bytes. 2 KiB is of old revisions, 16 and 32 KiB are "large"."""

HEADER_PAGES: Final = 2
"""The header and its shadow: they come before page 1."""

LARGEST_SMALL: Final = 8192
"""A larger page has four blocks with a checksum each, and its own number at offset 64."""

BLOCKS_OF_A_LARGE_PAGE: Final = 4

OBJECT_OFFSET: Final = 24
"""Offset of the object id of the tree that a page is of."""
FLAGS_OFFSET: Final = 36
NEW_FORMAT: Final = 0x2000
"""Flag: the page has an XOR+ECC checksum. Clear: the 32-bit XOR of older engines."""
NEW_FORMAT_BIT: Final = FLAGS_OFFSET * 8 + 13
"""301: the one bit of the header block, beside its checksum, that the engine never corrects."""

BLOCK_CHECKSUMS: Final = 40
"""Offset of the checksums of blocks 2 to 4 of a large page, 8 bytes each."""
NUMBER_OFFSET: Final = 64
"""Offset of the page's number in a large page."""

LARGEST_NUMBER: Final = 0x7FEFFFFF
"""No database of the engine has a page beyond it (space.hxx, pgnoSysMax)."""

PageClass = Literal[0, 1, 2]
GOOD: Final = 0
BLANK: Final = 1
"""Every byte is zero: the page was never written."""
SUSPECT: Final = 2
"""It does not verify as page of its number: `checksum.diagnose` gives the fault."""


def offset_of(number: int, page_size: int) -> int:
    """Byte at which page `number` begins (-1: the header, 0: its shadow)."""
    return (number + 1) * page_size


def number_at(offset: int, page_size: int) -> int:
    """Number of the page that holds the byte at `offset`."""
    return offset // page_size - 1


def block_size(page_size: int) -> int:
    """Bytes that one XOR+ECC checksum covers: a small page whole, a large one by quarters."""
    return page_size if page_size <= LARGEST_SMALL else page_size // BLOCKS_OF_A_LARGE_PAGE
