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

from esewatch.ese.pages.layout import LARGEST_SMALL

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
_U16: Final = struct.Struct("<H")
_MOST_TAGS: Final = 0xFFF
_KEY_SIZE: Final = 0x1FFF
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


class Node(NamedTuple):
    """A node: key (whole), data, flags."""

    key: bytes
    data: bytes
    flags: int


def page_header(page: bytes) -> PageHeader:
    """The header of a page, unchecked."""
    return PageHeader(*_HEADER.unpack_from(page, 8))


def has_nodes(header: PageHeader) -> bool:
    """Whether it is a page of a tree: not freed, not merely prepared, not that of no object."""
    return not header.flags & (EMPTY | PREPARED) and header.object_id != 0


def page_lines(page: bytes, header: PageHeader) -> tuple[bytes, list[tuple[bytes, int]]]:
    """The external header, and bytes and flags of each node.

    Raises PageDamageError where sizes and places are not possible, or overlap.
    """
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
    lines = [page[base + at : base + at + size] for at, size in zip(places, sizes, strict=True)]
    if small:
        flags = [value >> 13 for value in raw[::-2]]
    else:
        flags = [line[1] >> 5 if len(line) > 1 else 0 for line in lines]
    return external, list(zip(lines[reserved:], flags[reserved:], strict=True))


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
            "tags", f"a line ends at {end}, behind the data ({header.first_free})"
        )
    if 0 in sizes[reserved:]:
        raise PageDamageError("tags", "a node has no bytes")
    used = sum(sizes)
    if header.free != room - used:
        raise PageDamageError(
            "page_header", f"{room - used} bytes are free, and it says {header.free}"
        )


def page_nodes(page: bytes, header: PageHeader) -> tuple[bytes, list[Node]]:
    """External header and nodes, whose keys are in order. Raises PageDamageError."""
    external, lines = page_lines(page, header)
    prefix = b"" if header.flags & ROOT else external
    nodes = []
    unpack = _U16.unpack_from
    for index, (line, flags) in enumerate(lines):
        key, behind = b"", 0
        try:
            if flags & _SHARED:
                shared = unpack(line, 0)[0] & _KEY_SIZE
                if shared > len(prefix):
                    raise PageDamageError("node", f"the key of node {index} begins with too much")
                key, behind = prefix[:shared], 2
            behind += 2
            end = behind + (unpack(line, behind - 2)[0] & _KEY_SIZE)
        except struct.error:
            end = len(line) + 1
        if end > len(line):
            raise PageDamageError("node", f"the key of node {index} is longer than the node")
        key += line[behind:end]
        nodes.append(Node(key, line[end:], flags))
    if header.flags & LEAF:
        _check_leaf(header, nodes)
    else:
        _check_branch(nodes)
    return external, nodes


def _check_leaf(header: PageHeader, nodes: list[Node]) -> None:
    """Secondary indexes may have a key more than once: their order is that of key and data."""
    _check_order([node[:2] if header.flags & (INDEX | NON_UNIQUE) else node[0] for node in nodes])
    if not nodes and not header.flags & ROOT:
        raise PageDamageError("node", "it is a leaf without records, and not a root")


def _check_branch(nodes: list[Node]) -> None:
    if not nodes:
        raise PageDamageError("node", "it is a branch without children")
    if any(len(node.data) != _CHILD or node.flags & (DELETED | _VERSION) for node in nodes):
        raise PageDamageError("node", "a node of a branch holds no page number, or is deleted")
    keys = [node.key for node in nodes]
    if not keys[-1]:
        # No upper bound: nothing is greater.
        keys.pop()
    if b"" in keys:
        raise PageDamageError("key_order", "a node without a key is not the last one of a branch")
    _check_order(keys)


def _check_order(keys: Sequence[Any]) -> None:
    if any(map(operator.ge, keys, keys[1:])):
        at = next(at for at in range(1, len(keys)) if keys[at - 1] >= keys[at])
        raise PageDamageError(
            "key_order", f"the key of node {at} is not behind that of the one before"
        )


def child_of(node: Node) -> int:
    """The page that a node of a branch leads to."""
    return int.from_bytes(node.data, "little")
