"""A page of a B+ tree taken apart: header, tags and nodes, each checked on the way.

Behind the page header (40 bytes, 80 on large pages) lies the data area; from the end of the page
backwards lie the tags, 4 bytes each: size and offset of a line. The first tags are reserved (tag 0
is the external header: of a root the space header, of other pages the beginning that keys share),
the others are nodes: the size of the key, the key, the data. Sources: TAG, PGHDR and
CTagReserved_ in cpage.hxx, ErrCheckPage in cpage.cxx, NDIGetKeydataflags in node.cxx,
ErrREPAIRICheckInternalLine and ErrREPAIRICheckLeafLine in repair.cxx of the published engine.
"""

import operator
import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from esefiles.pages.layout import LARGEST_SMALL

ROOT: Final = 0x1
LEAF: Final = 0x2
PARENT_OF_LEAF: Final = 0x4
EMPTY: Final = 0x8
SPACE_TREE: Final = 0x20
INDEX: Final = 0x40
LONG_VALUE: Final = 0x80
NON_UNIQUE: Final = 0x400
NEW_RECORD: Final = 0x800
PREPARED: Final = 0x20000
"""The page was taken for a tree and nothing was put on it yet (fPagePreInit)."""
OF_TREE: Final = SPACE_TREE | INDEX | LONG_VALUE
"""Flags that all pages of a tree share."""

DELETED: Final = 0x2
"""Flag of a node: it was deleted and is still there."""

_VERSION: Final = 0x1
_SHARED: Final = 0x4
"""Flag of a node: its key begins like the external header."""
_HEADER: Final = struct.Struct("<QIIIHHHHI")
_MOST_TAGS: Final = 0xFFF
_HIGH: Final = 0x1F
"""The size of a key has 13 bits; above them stand flags on large pages."""
_CHILD: Final = 4


class PageDamageError(Exception):
    """A page that verifies and whose content is broken. `kind` is one word of the report."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


class PageHeader(NamedTuple):
    """The fields behind the checksum."""

    dbtime: int
    previous: int
    following: int
    object_id: int
    free: int
    uncommitted: int
    first_free: int
    state: int
    """Number of tags and of reserved tags."""
    flags: int


class Nodes(NamedTuple):
    """The nodes of a page, in order: keys (whole), data, flags."""

    keys: list[bytes]
    data: list[bytes]
    flags: list[int]


def page_header(page: bytes) -> PageHeader:
    """The header of a page, unchecked."""
    return PageHeader(*_HEADER.unpack_from(page, 8))


def has_nodes(header: PageHeader) -> bool:
    """True if it is a page of a tree: not freed, not merely prepared, not that of no object."""
    return not header.flags & (EMPTY | PREPARED) and header.object_id != 0


def page_nodes(page: bytes, header: PageHeader) -> tuple[bytes, Nodes]:
    """External header and nodes, whose keys are in order. Raises PageDamageError where sizes and
    places are not possible, or overlap, or keys are not in order."""
    size = len(page)
    small = size <= LARGEST_SMALL
    base = 40 if small else 80
    tags, reserved = header.state & _MOST_TAGS, (header.state >> 12) or 1
    room = size - base - 4 * tags
    if tags < reserved or room < 0:
        raise PageDamageError(
            "page_header", f"it has {tags} tags, of which {reserved} are reserved"
        )
    if not header.uncommitted <= header.free <= room or header.first_free > room:
        raise PageDamageError(
            "page_header",
            f"of {room} bytes {header.free} are free ({header.uncommitted} not committed), "
            f"from {header.first_free} on",
        )
    mask = 0x1FFF if small else 0x7FFF
    raw = struct.unpack_from(f"<{2 * tags}H", page, size - 4 * tags)
    sizes = [value & mask for value in raw[-2::-2]]
    places = [value & mask for value in raw[::-2]]
    _check_places(sizes, places, reserved, header, room)
    external = page[base + places[0] : base + places[0] + sizes[0]]
    begins = [base + at for at in places[reserved:]]
    if small:
        flags = [value >> 13 for value in raw[::-2][reserved:]]
    else:
        # Behind a node of one byte there is a byte all the same: the tags.
        flags = [page[at + 1] >> 5 for at in begins]
    shared = b"" if header.flags & ROOT else external
    nodes = _nodes(page, begins, sizes[reserved:], flags, shared)
    if header.flags & LEAF:
        _check_leaf(header, nodes)
    else:
        _check_branch(nodes)
    return external, nodes


def _check_places(
    sizes: list[int], places: list[int], reserved: int, header: PageHeader, room: int
) -> None:
    end = 0
    for at, size in sorted(zip(places, sizes, strict=True)):
        if size and at < end:
            raise PageDamageError("tags", f"two lines overlap at byte {at} of its data")
        end = max(end, at + size)
    if end > header.first_free:
        raise PageDamageError(
            "tags", f"a line ends at {end}, beyond the data ({header.first_free})"
        )
    if 0 in sizes[reserved:]:
        raise PageDamageError("tags", "a node has no bytes")
    used = sum(sizes)
    if header.free != room - used:
        raise PageDamageError(
            "page_header", f"{room - used} bytes are free, and it says {header.free}"
        )


def _nodes(
    page: bytes, begins: list[int], sizes: list[int], flags: list[int], shared: bytes
) -> Nodes:
    """The nodes at these places; `shared` is what keys begin with that leave it out."""
    keys, data = list[bytes](), list[bytes]()
    for at, size, of_node in zip(begins, sizes, flags, strict=True):
        behind = at + size
        if of_node & _SHARED:
            count = page[at] | (page[at + 1] & _HIGH) << 8
            if count > len(shared):
                raise PageDamageError("node", f"the key of node {len(keys)} begins with too much")
            begin = at + 4
            end = begin + (page[at + 2] | (page[at + 3] & _HIGH) << 8)
            key = shared[:count] + page[begin:end]
        else:
            begin = at + 2
            end = begin + (page[at] | (page[at + 1] & _HIGH) << 8)
            key = page[begin:end]
        if end > behind:
            raise PageDamageError("node", f"the key of node {len(keys)} is longer than the node")
        keys.append(key)
        data.append(page[end:behind])
    return Nodes(keys, data, flags)


def _check_leaf(header: PageHeader, nodes: Nodes) -> None:
    """Secondary indexes may have a key more than once: their order is that of key and data."""
    if header.flags & (INDEX | NON_UNIQUE):
        _check_order(list(zip(nodes.keys, nodes.data, strict=True)))
    else:
        _check_order(nodes.keys)
    if not nodes.keys and not header.flags & ROOT:
        raise PageDamageError("node", "it is a leaf without records, and not a root")


def _check_branch(nodes: Nodes) -> None:
    if not nodes.keys:
        raise PageDamageError("node", "it is a branch without children")
    if any(len(data) != _CHILD for data in nodes.data) or any(
        flags & (DELETED | _VERSION) for flags in nodes.flags
    ):
        raise PageDamageError("node", "a node of a branch holds no page number, or is deleted")
    # The last one may have no upper bound: nothing is greater.
    keys = nodes.keys if nodes.keys[-1] else nodes.keys[:-1]
    if b"" in keys:
        raise PageDamageError("key_order", "a node without a key is not the last one of a branch")
    _check_order(keys)


def _check_order(keys: Sequence[Any]) -> None:
    if any(map(operator.ge, keys, keys[1:])):
        at = next(at for at in range(1, len(keys)) if keys[at - 1] >= keys[at])
        raise PageDamageError(
            "key_order", f"the key of node {at} is not greater than that of the node before"
        )
