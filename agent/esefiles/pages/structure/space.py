"""Space that a tree owns, as it says: space header, extents, pages held ready for splits.

Sources: SPACE_HEADER in space.hxx, SPEXTKEY, SPEXTDATA and CSPExtentInfo in space.cxx, SpacePool
in _space.hxx, SPLIT_BUFFER in fcb.hxx, NDGetPtrExternalHeader in node.cxx of the published engine.
"""

import struct
from typing import Final, NamedTuple

from esefiles.pages.structure.nodes import DELETED, Nodes, PageDamageError

SHELVED: Final = 2
"""Pool of pages that are available behind the end of the file and cannot be used."""

_SPACE_HEADER: Final = struct.Struct("<iIII")
_HAS_SPACE_HEADER: Final = 0x1
_EXTENT: Final = struct.Struct("<II")
_MULTIPLE: Final = 0x1
_BITS: Final = 32
_POOLS: Final = (0, 1, SHELVED)


class SpaceHeader(NamedTuple):
    pages: int
    """Of a tree with one extent: how many pages it has, the root the first of them."""
    parent: int
    """Root page of the tree that the space came from; 0: the file."""
    owned_root: int
    """Root of the tree of owned extents; that of the available ones is the page behind. 0: the
    tree has one extent."""
    available: tuple[int, ...]
    """Of a tree with one extent: pages behind the root (1: the next one) that are free."""


class Extent(NamedTuple):
    last: int
    pages: int
    pool: int = 0


def space_header(external: bytes) -> SpaceHeader:
    """The space header in the external header of a root. Raises PageDamageError."""
    if len(external) > _SPACE_HEADER.size and external[0] & _HAS_SPACE_HEADER:
        external = external[1:]
    if len(external) < _SPACE_HEADER.size:
        raise PageDamageError("space", f"it is a root with a space header of {len(external)} bytes")
    pages, parent, flags, last = _SPACE_HEADER.unpack_from(external)
    if flags & _MULTIPLE:
        return SpaceHeader(pages, parent, last, ())
    free = tuple(bit + 1 for bit in range(_BITS) if last >> bit & 1)
    return SpaceHeader(pages, parent, 0, free)


def extents(nodes: Nodes) -> list[Extent]:
    """The extents in the leaf of a space tree, deleted ones left out. Raises PageDamageError."""
    found = []
    for index, (key, data, flags) in enumerate(zip(*nodes, strict=True)):
        if flags & DELETED:
            continue
        pool, number = (0, key) if len(key) == 4 else (key[0] if key else 9, key[1:])
        if len(number) != 4 or len(data) != 4 or pool not in _POOLS:
            raise PageDamageError("space", f"node {index} of a space tree is not an extent")
        last, count = int.from_bytes(number, "big"), int.from_bytes(data, "little")
        if count > last:
            raise PageDamageError("space", f"an extent of {count} pages ends with page {last}")
        found.append(Extent(last, count, pool))
    return found


def split_buffer(external: bytes) -> list[Extent]:
    """Pages that a space tree holds ready for its own splits: at most two extents."""
    if not external:
        return []
    if len(external) != 2 * _EXTENT.size:
        raise PageDamageError(
            "space", f"the pages held ready for splits take {len(external)} bytes"
        )
    found = [Extent(last, count) for last, count in _EXTENT.iter_unpack(external)]
    if any(extent.pages > extent.last for extent in found):
        raise PageDamageError(
            "space", "the pages held ready for splits begin before the first page"
        )
    return [extent for extent in found if extent.pages]
