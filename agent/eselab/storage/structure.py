"""Check of the inside of a page: its tags, nodes and keys, as laid out by node.py.

Checksums say nothing about it; the engine runs this check after it has corrected a bit.
"""

import struct

from eselab.storage.node import (
    EMPTY,
    LEAF,
    MOST_TAGS,
    ROOT,
    count,
    first_free,
    flags,
    following,
    free_bytes,
    header_size,
    previous,
)

_TAG = struct.Struct("<HH")
_U16 = struct.Struct("<H")


def fault_of(page: bytes) -> str | None:
    """Fault of a page that verifies, in a few words; None: nothing.

    With or without its checksums. A blank page has no structure that could be wrong. A freed
    page has no nodes.
    """
    if not any(page):
        return None
    of_page = flags(page)
    if of_page & EMPTY:
        return _fault_without_nodes(page)
    return _fault_of_tags(page) or _fault_of_keys(page)


def _fault_without_nodes(page: bytes) -> str | None:
    if tags := count(page) + 1:
        return f"{tags} tags on a page without nodes"
    if previous(page) or following(page):
        return "siblings of a page without nodes"
    room = len(page) - header_size(len(page))
    if (free_bytes(page), first_free(page)) != (room, 0):
        return f"{free_bytes(page)} free bytes from {first_free(page)} on, not {room}"
    return None


def _fault_of_tags(page: bytes) -> str | None:
    """Fault of sizes and places of the nodes."""
    room = len(page) - header_size(len(page))
    tags = count(page) + 1
    if not 1 <= tags <= min(MOST_TAGS, room // _TAG.size):
        return f"{tags} tags"
    end_of_data = room - tags * _TAG.size
    behind = first_free(page)
    if behind > end_of_data:
        return f"the first free byte {behind} lies in the tags"
    (begin, end), *nodes = _places(page, tags)
    if begin or (end and not flags(page) & ROOT):
        return f"an external header of {end} bytes at {begin}"
    used = end
    for offset, length in sorted(nodes):
        if length < _U16.size or offset < end:
            return f"a node of {length} bytes at {offset}, behind one that ends at {end}"
        end = offset + length
    if end > behind:
        return f"a node ends at {end}, behind the first free byte {behind}"
    free = end_of_data - used - sum(length for _, length in nodes)
    if free_bytes(page) != free:
        return f"{free_bytes(page)} free bytes, not {free}"
    return None


def _fault_of_keys(page: bytes) -> str | None:
    """Fault of the keys of nodes that are where they may be."""
    data, bounds = header_size(len(page)), count(page)
    if not flags(page) & LEAF:
        bounds -= 1
    last: bytes | None = None
    for index, (offset, length) in enumerate(_places(page, count(page) + 1)[1:]):
        begin = data + offset + _U16.size
        (of_key,) = _U16.unpack_from(page, begin - _U16.size)
        if of_key > length - _U16.size:
            return f"node {index} of {length} bytes with a key of {of_key}"
        key = bytes(page[begin : begin + of_key])
        if index == bounds and not key:
            return None
        if last is not None and key <= last:
            return f"node {index} has a key that is not behind the one before"
        last = key
    return None


def _places(page: bytes, tags: int) -> list[tuple[int, int]]:
    """(offset in the data area, size) of each tag, the page's own first."""
    area = page[len(page) - tags * _TAG.size :]
    return [(offset, length) for length, offset in _TAG.iter_unpack(area)][::-1]
