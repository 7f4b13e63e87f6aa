"""Flush types of pages beside those of the map: which pages are not what was written last.

Every writing of a page gives it the next of three types (cpage.hxx, PageFlushType: 1 rock,
2 paper, 3 scissors; 0: not known), and the map has the type of the last one. A page that
verifies and has another type is an older writing: the last one never came to the disk, and no
checksum shows it. Source: ErrValidatePage in cpage.cxx, IGetStateFromBitmap_ and
PgftGetPgnoFlushType in flushmap.cxx of the published engine.
"""

from typing import Final

import msgspec

from esefiles.pages.checksum import diagnose
from esefiles.pages.flush_map.map_header import MAP_PAGE
from esefiles.pages.header_fields import u64
from esefiles.pages.layout import BLANK, FLAGS_OFFSET, GOOD

PAGES_OF_MAP_PAGE: Final = (MAP_PAGE - 64) * 4
"""Pages of the database that a page of the map has the types of: 2 bits each, behind 64 bytes."""

UNKNOWN: Final = 0

_DBTIME_AT: Final = 8
_NO_DBTIME: Final = 0xFFFFFFFFFFFFFFFF
_LOW_BIT = bytes(value >> 7 for value in range(256))
_HIGH_BIT = bytes((value & 1) << 1 for value in range(256))
_FOUR = tuple(
    bytes((value >> 6, value >> 4 & 3, value >> 2 & 3, value & 3)) for value in range(256)
)


class MapPage(msgspec.Struct, frozen=True, gc=False):
    types: bytes
    """A flush type for each page of the database, PAGES_OF_MAP_PAGE of them."""
    dbtime: int | None
    """The highest dbtime of the pages of which it knows; None: not said."""


def parse_map_page(page: bytes, index: int) -> MapPage | None:
    """Page `index` (from 0) of the map; None where it is damaged, blank or cut: nothing is known.
    Its checksum is that of a page of a database, its number `index`."""
    if len(page) < MAP_PAGE or not any(page) or diagnose(page, index).fault is not None:
        return None
    dbtime = u64(page, _DBTIME_AT)
    types = b"".join(map(_FOUR.__getitem__, page[64:]))
    return MapPage(types, None if dbtime == _NO_DBTIME else dbtime)


def types_of(pages: bytes | memoryview, page_size: int) -> bytes:
    """The flush type of each whole page: two bits of its flags (0x18000)."""
    whole = len(pages) - len(pages) % page_size
    low = bytes(pages[FLAGS_OFFSET + 1 : whole : page_size]).translate(_LOW_BIT)
    high = bytes(pages[FLAGS_OFFSET + 2 : whole : page_size]).translate(_HIGH_BIT)
    both = int.from_bytes(low, "little") | int.from_bytes(high, "little")
    return both.to_bytes(len(low), "little")


class Differences(msgspec.Struct, frozen=True, gc=False):
    pages: list[int]
    """Numbers of good pages whose type is another one, or that are blank and were written."""
    newer: bool
    """One of the pages is newer than the map page says any page is: that map page is outdated."""


def differences(
    pages: bytes | memoryview, page_size: int, first: int, classes: bytes, expected: MapPage
) -> Differences:
    """Compare pages from page `first` on, all of one map page; `classes` are those of `classify`.

    A page without a type, one that the map does not know and one that does not verify are left
    out (a checksum error is told by the scan, and its type means nothing).
    """
    begin = first % PAGES_OF_MAP_PAGE
    types = expected.types[begin : begin + len(classes)]
    actual = types_of(pages, page_size)
    newer = False
    if expected.dbtime is not None and any(types):
        limit = expected.dbtime
        newer = any(
            of_class == GOOD and of_map and u64(pages, at * page_size + _DBTIME_AT) > limit
            for at, (of_class, of_map) in enumerate(zip(classes, types, strict=False))
        )
    if types == actual:
        return Differences([], newer)
    return Differences(
        [
            first + at
            for at, (of_class, of_map, of_page) in enumerate(
                zip(classes, types, actual, strict=False)
            )
            if of_map != UNKNOWN
            and (of_class == BLANK or (of_class == GOOD and of_page not in (UNKNOWN, of_map)))
        ],
        newer,
    )
