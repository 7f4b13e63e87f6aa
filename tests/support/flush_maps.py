"""Flush maps made for tests, in the engine's form; offsets stand here once more."""

import struct
from collections.abc import Mapping
from pathlib import Path

from tests.support.edb import header_page, seal, sealed_header

SIGNATURE = bytes(range(1, 13)) + bytes(16)
OTHER = bytes(range(2, 14)) + bytes(16)
UNSET = bytes(28)
PAGES = (8192 - 64) * 4


def map_header(
    *,
    clean: bool = True,
    log_required: int = 0,
    database_flush: bytes = SIGNATURE,
    map_flush: bytes = UNSET,
    version: tuple[int, int, int] = (3, 0, 0),
    file_type: int = 7,
) -> bytes:
    page = bytearray(8192)
    struct.pack_into("<3I", page, 4, *version)
    struct.pack_into("<I", page, 36, int(clean))
    struct.pack_into("<I", page, 64, log_required)
    page[88:116], page[116:144] = database_flush, map_flush
    struct.pack_into("<I", page, 667, file_type)
    return sealed_header(bytes(page))


def map_page(types: Mapping[int, int], index: int = 0, *, dbtime: int = 2**64 - 1) -> bytes:
    """The page of the map with these types, by page number."""
    page = bytearray(8192)
    struct.pack_into("<QI", page, 8, dbtime, index)
    for number, flush_type in types.items():
        at, place = divmod(number % PAGES, 4)
        page[64 + at] |= flush_type << (6 - 2 * place)
    return seal(bytes(page), index)


def typed_page(page_size: int, number: int, flush_type: int, *, dbtime: int = 5) -> bytes:
    """A page that verifies, of this flush type."""
    page = bytearray(page_size)
    struct.pack_into("<Q", page, 8, dbtime)
    struct.pack_into("<I", page, 36, 0x2 | flush_type << 15)
    page[200:220] = bytes(range(20))
    return seal(bytes(page), number)


def database(
    path: Path,
    types: Mapping[int, int],
    *,
    page_size: int = 4096,
    pages: int = 20,
    database_flush: bytes = SIGNATURE,
    map_flush: bytes = UNSET,
    required: int = 0,
    state: int = 3,
) -> Path:
    """A database of typed pages; a page without a type in `types` is blank."""
    head = bytearray(header_page(page_size, state=state, required_first=required))
    head[584:612], head[612:640] = database_flush, map_flush
    header = sealed_header(bytes(head))
    numbers = range(1, pages + 1)
    content = (
        typed_page(page_size, number, types[number]) if number in types else bytes(page_size)
        for number in numbers
    )
    path.write_bytes(header + header + b"".join(content))
    return path
