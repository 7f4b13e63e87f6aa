"""One page as a sorted list of nodes, a key and a value each.

Behind the page header (40 bytes, 80 on large pages) lies the data area; from the end of the page
backwards lie the tags, 4 bytes each: size of a node and its offset in the data area. Tag 0 is
the page's own, the external header, which a root alone has; it lies first in the data area.
Node i has tag i + 1. A node is the length of its key (u16), the key, the value. A node of a branch
has the number of a child as its value and the upper bound of its keys as its key; that of the
last one is the upper bound of the branch. Source: cpage.hxx and node.hxx of the published engine.

The functions trust the page: its checksum was verified when it was read. On one that was
written broken they raise struct.error, IndexError or ValueError, or give nonsense; where
`is_sound_page_of` holds its size stays. What was removed stays as garbage in the free space.
"""

import struct
from itertools import accumulate
from typing import Final

from esefiles.pages.layout import FLAGS_OFFSET, LARGEST_SMALL

ROOT: Final = 0x1
LEAF: Final = 0x2
PARENT_OF_LEAF: Final = 0x4
EMPTY: Final = 0x8
"""The page was freed."""
SPACE_TREE: Final = 0x20
"""It is of a tree of extents (space.py)."""
INDEX: Final = 0x40
"""It is of a secondary index."""
NEW_RECORDS: Final = 0x800
"""Records are as record.py writes them."""

MOST_TAGS: Final = 0xFFF
"""The number of tags has 12 bits."""

_ROOM: Final = 10
"""Pages are merged when a tenth of the one that stays is free then: out of a full page the next
insert would make two again, and what was moved would have been moved for nothing."""

Page = bytes | bytearray

_U16: Final = struct.Struct("<H")
_U32: Final = struct.Struct("<I")
_TAG: Final = struct.Struct("<HH")
_PREVIOUS: Final = 16
_FOLLOWING: Final = 20
_OBJECT: Final = 24
_FREE: Final = 28
_DELETED: Final = 30
_FIRST_FREE: Final = 32
_TAGS: Final = 34
_OWN_FIELDS: Final = struct.Struct("<IIIHHHHI")
"""From offset 16: both siblings, object, free bytes, deleted records (in the published engine
uncommitted bytes, of which there are none here), first free, tags, flags."""


def header_size(page_size: int) -> int:
    """Bytes before the data area."""
    return 40 if page_size <= LARGEST_SMALL else 80


def set_fields(
    page: bytearray, object_id: int, flags: int, *, free: int, first_free: int = 0, tags: int = 0
) -> None:
    """The fields of the page header, without siblings: `free` and `first_free` are bytes."""
    _OWN_FIELDS.pack_into(page, _PREVIOUS, 0, 0, object_id, free, 0, first_free, tags, flags)


def init(page: bytearray, object_id: int, flags: int, header: bytes = b"") -> None:
    """Make it a page without nodes and siblings, whatever it was, with that external header."""
    base = header_size(len(page))
    free = len(page) - base - _TAG.size - len(header)
    set_fields(page, object_id, flags | NEW_RECORDS, free=free, first_free=len(header), tags=1)
    _TAG.pack_into(page, len(page) - _TAG.size, len(header), 0)
    page[base : base + len(header)] = header


def external_header(page: Page) -> bytes:
    """Bytes that a root has beside its nodes."""
    begin = header_size(len(page)) + _tag(page, -1)[1]
    return bytes(page[begin : begin + _tag(page, -1)[0]])


def set_external_header(page: bytearray, header: bytes) -> None:
    """Another external header of the same size. ValueError when it has another one."""
    length, offset = _tag(page, -1)
    if length != len(header):
        raise ValueError(f"an external header of {len(header)} bytes in place of {length}")
    begin = header_size(len(page)) + offset
    page[begin : begin + length] = header


def is_sound_page_of(page: Page, tree: int) -> bool:
    """True if it is a page of that tree with nodes, and its header goes together."""
    _, _, owner, free, _, behind, tags, flags = _OWN_FIELDS.unpack_from(page, _PREVIOUS)
    size = len(page)
    room = size - (40 if size <= LARGEST_SMALL else 80) - (tags & MOST_TAGS) * 4
    return (
        owner == tree
        and not flags & EMPTY
        and tags & MOST_TAGS > 0
        and behind <= room
        and room - behind <= free <= room
    )


def object_id(page: Page) -> int:
    """The tree that the page is of, 0 of a blank page."""
    found: int = _U32.unpack_from(page, _OBJECT)[0]
    return found


def flags(page: Page) -> int:
    found: int = _U32.unpack_from(page, FLAGS_OFFSET)[0]
    return found


def previous(page: Page) -> int:
    """Page number of the sibling to the left, 0: none."""
    found: int = _U32.unpack_from(page, _PREVIOUS)[0]
    return found


def following(page: Page) -> int:
    """Page number of the sibling to the right, 0: none."""
    found: int = _U32.unpack_from(page, _FOLLOWING)[0]
    return found


def set_previous(page: bytearray, number: int) -> None:
    _U32.pack_into(page, _PREVIOUS, number)


def set_following(page: bytearray, number: int) -> None:
    _U32.pack_into(page, _FOLLOWING, number)


def count(page: Page) -> int:
    tags: int = _U16.unpack_from(page, _TAGS)[0]
    return (tags & MOST_TAGS) - 1


def free_bytes(page: Page) -> int:
    """Bytes that hold neither header, tag nor node, together or scattered."""
    free: int = _U16.unpack_from(page, _FREE)[0]
    return free


def first_free(page: Page) -> int:
    """Offset in the data area behind the last node."""
    found: int = _U16.unpack_from(page, _FIRST_FREE)[0]
    return found


def deleted(page: Page) -> int:
    """Number of calls of `count_deleted` since the page was made or compacted."""
    found: int = _U16.unpack_from(page, _DELETED)[0]
    return found


def count_deleted(page: bytearray) -> None:
    """Count a record that was removed because it was deleted, and not moved; 65,535 at most."""
    _U16.pack_into(page, _DELETED, min(0xFFFF, deleted(page) + 1))


def fill_gaps(page: bytearray, between: bytes, behind: bytes) -> None:
    """Overwrite all free space: between the nodes with the one byte, behind them with the other.

    No record is counted as deleted any more.
    """
    base, (end, _) = header_size(len(page)), _tag(page, -1)
    places = sorted((offset, length) for length, offset in _tags(page, 0))
    for offset, length in (*places, (first_free(page), 0)):
        page[base + end : base + offset] = between * (offset - end)
        end = offset + length
    last = _tag_at(page, count(page) - 1)
    page[base + end : last] = behind * (last - base - end)
    _U16.pack_into(page, _DELETED, 0)


def size_of(key: bytes, value: bytes) -> int:
    """Bytes of a page that a node takes, its tag included."""
    return _U16.size + len(key) + len(value) + _TAG.size


def key(page: Page, index: int) -> bytes:
    """Key of a node, 0 ≤ index < count."""
    # header_size() and the sizes of tag and length written out: a run does this a million times.
    size = len(page)
    (offset,) = _U16.unpack_from(page, size - 4 * (index + 2) + 2)
    begin = (42 if size <= LARGEST_SMALL else 82) + offset
    (length,) = _U16.unpack_from(page, begin - 2)
    return bytes(page[begin : begin + length])


def value(page: Page, index: int) -> bytes:
    """Value of a node, 0 ≤ index < count."""
    size = len(page)
    length, offset = _TAG.unpack_from(page, size - 4 * (index + 2))
    begin = (40 if size <= LARGEST_SMALL else 80) + offset
    (of_key,) = _U16.unpack_from(page, begin)
    return bytes(page[begin + 2 + of_key : begin + length])


def way_down(page: Page, wanted: bytes) -> tuple[int, bytes | None, bytes]:
    """The node of a branch under which a key belongs: its index, its key, its value.

    The branch has nodes; of the last one the key is None.
    """
    last = count(page) - 1
    at, found = find(page, wanted, last)
    at += found
    return at, key(page, at) if at < last else None, value(page, at)


def find(page: Page, wanted: bytes, nodes: int | None = None) -> tuple[int, bool]:
    """Index of the first node whose key is not less, and whether it is the key.

    Of all nodes, or of the first ones.
    """
    # Every operation on a tree is made of this: one loop, without the calls of `key`.
    size = len(page)
    first, end = 42 if size <= LARGEST_SMALL else 82, size - 6
    low, high = 0, count(page) if nodes is None else nodes
    offset_at = _U16.unpack_from
    while low < high:
        middle = (low + high) >> 1
        begin = first + offset_at(page, end - 4 * middle)[0]
        found = page[begin : begin + (page[begin - 2] | page[begin - 1] << 8)]
        if found < wanted:
            low = middle + 1
        elif found == wanted:
            return middle, True
        else:
            high = middle
    return low, False


def fits(page: Page, key: bytes, value: bytes) -> bool:
    """True if there is room for one more node."""
    return size_of(key, value) <= free_bytes(page) and count(page) + 1 < MOST_TAGS


def fits_instead(page: Page, index: int, new: bytes) -> bool:
    """True if there is room for another value in a node."""
    return len(new) <= len(value(page, index)) + free_bytes(page)


def insert(page: bytearray, index: int, key: bytes, value: bytes) -> None:
    """A new node before node `index`; the caller keeps the order. ValueError when it is full."""
    if not fits(page, key, value):
        raise ValueError(f"no room for {size_of(key, value)} bytes in {free_bytes(page)}")
    length = _U16.size + len(key) + len(value)
    nodes = count(page)
    end = _tag_at(page, nodes - 1)
    if header_size(len(page)) + first_free(page) + length > end - _TAG.size:
        _compact(page)
    offset = first_free(page)
    begin = header_size(len(page)) + offset
    _U16.pack_into(page, begin, len(key))
    page[begin + _U16.size : begin + length] = key + value
    behind = _tag_at(page, index - 1)
    page[end - _TAG.size : behind - _TAG.size] = page[end:behind]
    _TAG.pack_into(page, behind - _TAG.size, length, offset)
    _account(page, nodes + 1, free_bytes(page) - length - _TAG.size, offset + length)


def remove(page: bytearray, index: int) -> None:
    length, offset = _tag(page, index)
    nodes, behind = count(page), first_free(page)
    end, at = _tag_at(page, nodes - 1), _tag_at(page, index)
    page[end + _TAG.size : at + _TAG.size] = page[end:at]
    if offset + length == behind:
        behind = offset
    _account(page, nodes - 1, free_bytes(page) + length + _TAG.size, behind)


def replace(page: bytearray, index: int, new: bytes) -> None:
    """Another value for a node. ValueError when the page has no room for it."""
    if not fits_instead(page, index, new):
        raise ValueError(f"no room for a value of {len(new)} bytes in {free_bytes(page)}")
    length, offset = _tag(page, index)
    old, own = value(page, index), key(page, index)
    if len(new) > len(old):
        remove(page, index)
        insert(page, index, own, new)
        return
    begin = header_size(len(page)) + offset + _U16.size + len(own)
    page[begin : begin + len(new)] = new
    less = len(old) - len(new)
    _TAG.pack_into(page, _tag_at(page, index), length - less, offset)
    behind = first_free(page)
    if offset + length == behind:
        behind -= less
    _account(page, count(page), free_bytes(page) + less, behind)


def split(left: bytearray, right: bytearray, at: int) -> None:
    """Move the nodes from `at` on to the end of `right`. ValueError when they do not fit."""
    append(right, left, at)
    moved = sum(length + _TAG.size for length, _ in _tags(left, at))
    _account(left, at, free_bytes(left) + moved, first_free(left))


def split_with(left: bytearray, right: bytearray, index: int, key: bytes, value: bytes) -> None:
    """A new node before node `index`; half of all, by bytes, goes to `right`, which is empty."""
    sizes = [_tag(left, at)[0] + _TAG.size for at in range(count(left))]
    sizes.insert(index, size_of(key, value))
    sums = list(accumulate(sizes))
    at = min(range(1, len(sizes)), key=lambda at: abs(sums[-1] - 2 * sums[at - 1]))
    if index < at:
        split(left, right, at - 1)
        insert(left, index, key, value)
    else:
        split(left, right, at)
        insert(right, index - at, key, value)


def fits_both(left: Page, right: Page) -> bool:
    """True if one page holds the nodes of both, and leaves room for others."""
    used = len(right) - header_size(len(right)) - free_bytes(right)
    nodes = count(left) + count(right)
    return free_bytes(left) - used >= len(left) // _ROOM and nodes + 1 < MOST_TAGS


def append(page: bytearray, source: Page, first: int) -> None:
    """Copy the nodes of `source` from `first` on to the end of `page`.

    The caller keeps the order. ValueError when they do not fit.
    """
    base, nodes, tags = header_size(len(page)), count(page), _tags(source, first)
    data = b"".join(source[base + offset : base + offset + length] for length, offset in tags)
    room = _TAG.size * len(tags)
    if len(data) + room > free_bytes(page) or nodes + len(tags) >= MOST_TAGS:
        raise ValueError(f"no room for {len(data) + room} bytes in {free_bytes(page)}")
    if base + first_free(page) + len(data) > _tag_at(page, nodes - 1) - room:
        _compact(page)
    begin = first_free(page)
    page[base + begin : base + begin + len(data)] = data
    _place(page, nodes, tags, begin)
    _account(page, nodes + len(tags), free_bytes(page) - len(data) - room, begin + len(data))


def separator(left: bytes, right: bytes) -> bytes:
    """The shortest beginning of `right` that is greater than `left`; both are keys."""
    same = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
    return right[: (len(left) if same is None else same) + 1]


def set_last_key(page: bytearray, key: bytes) -> None:
    """Give the last node another key. ValueError when the page has no room for it."""
    last = count(page) - 1
    child = value(page, last)
    remove(page, last)
    insert(page, last, key, child)


def _tag_at(page: Page, index: int) -> int:
    """Offset of the tag of a node in the page; index -1: the page's own."""
    return len(page) - _TAG.size * (index + 2)


def _tag(page: Page, index: int) -> tuple[int, int]:
    """Size and offset in the data area of a node."""
    length, offset = _TAG.unpack_from(page, _tag_at(page, index))
    return length, offset


def _tags(page: Page, first: int) -> list[tuple[int, int]]:
    """Size and offset of the nodes from `first` on."""
    begin, end = _tag_at(page, count(page) - 1), _tag_at(page, first - 1)
    return list(_TAG.iter_unpack(page[begin:end]))[::-1]


def _place(page: bytearray, first: int, tags: list[tuple[int, int]], begin: int) -> None:
    """Tags for nodes of these sizes, from node `first` on, that lie together from `begin` on."""
    ends = list(accumulate((length for length, _ in tags), initial=begin))
    new = [_TAG.pack(length, at) for (length, _), at in zip(tags, ends, strict=False)]
    end = _tag_at(page, first - 1)
    page[end - _TAG.size * len(new) : end] = b"".join(reversed(new))


def _account(page: bytearray, nodes: int, free: int, first_free: int) -> None:
    _U16.pack_into(page, _FREE, free)
    _U16.pack_into(page, _FIRST_FREE, first_free)
    _U16.pack_into(page, _TAGS, nodes + 1)


def _compact(page: bytearray) -> None:
    """Put the nodes together, in their order, at the start of the data area."""
    base, tags, (own, _) = header_size(len(page)), _tags(page, 0), _tag(page, -1)
    data = b"".join(page[base + offset : base + offset + length] for length, offset in tags)
    if own + len(data) != _tag_at(page, count(page) - 1) - base - free_bytes(page):
        raise ValueError(f"the nodes have {len(data)} bytes, which are not those that are used")
    page[base + own : base + own + len(data)] = data
    _place(page, 0, tags, own)
    _U16.pack_into(page, _FIRST_FREE, own + len(data))
    # Where the deleted ones were are others now.
    _U16.pack_into(page, _DELETED, 0)
