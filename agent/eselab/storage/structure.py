"""Check of the inside of a page: its tags, nodes and keys, as laid out by node.py and space.py.

Checksums say nothing about it; the engine runs this check after it has corrected a bit.
"""

import struct

from eselab.storage.node import (
    EMPTY,
    MOST_TAGS,
    SPACE_TREE,
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
    """What is wrong with a page that verifies, in a few words; None: nothing.

    With or without its checksums. A blank page has no structure that could be wrong. A freed
    page has no nodes, a map page has its bits in place of them.
    """
    if not any(page):
        return None
    of_page = flags(page)
    if of_page & SPACE_TREE:
        return _fault_without_nodes(page, free=0)
    if of_page & EMPTY:
        return _fault_without_nodes(page, free=len(page) - header_size(len(page)))
    return _fault_of_tags(page) or _fault_of_keys(page)


def _fault_without_nodes(page: bytes, *, free: int) -> str | None:
    if tags := count(page) + 1:
        return f"{tags} tags on a page without nodes"
    if previous(page) or following(page):
        return "siblings of a page without nodes"
    room = len(page) - header_size(len(page))
    if (free_bytes(page), first_free(page)) != (free, room - free):
        return f"{free_bytes(page)} free bytes from {first_free(page)} on, not {free}"
    return None


def _fault_of_tags(page: bytes) -> str | None:
    """What is wrong with sizes and places of the nodes."""
    room = len(page) - header_size(len(page))
    tags = count(page) + 1
    if not 1 <= tags <= min(MOST_TAGS, room // _TAG.size):
        return f"{tags} tags"
    end_of_data = room - tags * _TAG.size
    behind = first_free(page)
    if behind > end_of_data:
        return f"the first free byte {behind} lies in the tags"
    own, *nodes = _places(page, tags)
    if own != (0, 0):
        return "the page's own tag is not empty"
    end = 0
    for offset, length in sorted(nodes):
        if length < _U16.size or offset < end:
            return f"a node of {length} bytes at {offset}, behind one that ends at {end}"
        end = offset + length
    if end > behind:
        return f"a node ends at {end}, behind the first free byte {behind}"
    free = end_of_data - sum(length for _, length in nodes)
    if free_bytes(page) != free:
        return f"{free_bytes(page)} free bytes, not {free}"
    return None


def _fault_of_keys(page: bytes) -> str | None:
    """What is wrong with the keys of nodes that are where they may be."""
    data = header_size(len(page))
    last: bytes | None = None
    for index, (offset, length) in enumerate(_places(page, count(page) + 1)[1:]):
        begin = data + offset + _U16.size
        (of_key,) = _U16.unpack_from(page, begin - _U16.size)
        if of_key > length - _U16.size:
            return f"node {index} of {length} bytes with a key of {of_key}"
        key = bytes(page[begin : begin + of_key])
        if last is not None and key <= last:
            return f"node {index} has a key that is not behind the one before"
        last = key
    return None


def _places(page: bytes, tags: int) -> list[tuple[int, int]]:
    """(offset in the data area, size) of each tag, the page's own first."""
    area = page[len(page) - tags * _TAG.size :]
    return [(offset, length) for length, offset in _TAG.iter_unpack(area)][::-1]
