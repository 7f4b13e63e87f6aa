"""All pages of a file: fixed fields in memory, digests in a file that the caller gives."""

from array import array
from typing import IO, Final

import msgspec

from esefiles.pages.structure.nodes import PageDamageError, has_nodes, page_header
from esefiles.pages.structure.page_digest import Digest, digest_of

BLANK: Final = 0
KEPT: Final = 1
"""Its digest is there."""
FREED: Final = 2
"""It has no nodes: freed, or taken and never filled."""
BAD: Final = 3
"""It does not verify, or could not be read: that is the scan's to tell."""
DAMAGED: Final = 4
"""It verifies but its structure is broken, which is already reported."""

_decode = msgspec.msgpack.Decoder(Digest).decode
_encode = msgspec.msgpack.Encoder().encode


class PageTable:
    """Pages by number, from 1 on. 34 bytes of memory a page. The order in which digests are written
    is that of the file; `digests` is read at random afterwards."""

    def __init__(self, pages: int, digests: IO[bytes]) -> None:
        self.pages = pages
        self.states = bytearray(pages + 1)
        self.used = bytearray(pages + 1)
        """1: a tree has the page."""
        self.object_ids = array("I", bytes(4 * (pages + 1)))
        self.previous = array("I", bytes(4 * (pages + 1)))
        self.following = array("I", bytes(4 * (pages + 1)))
        self.flags = array("I", bytes(4 * (pages + 1)))
        self._places = array("Q", bytes(8 * (pages + 1)))
        self._sizes = array("I", bytes(4 * (pages + 1)))
        self._digests = digests
        self._end = 0

    def add(self, number: int, page: bytes) -> PageDamageError | None:
        """Take in a page that verifies; what is broken in it."""
        header = page_header(page)
        self.object_ids[number], self.flags[number] = header.object_id, header.flags
        self.previous[number], self.following[number] = header.previous, header.following
        if not has_nodes(header):
            self.states[number] = FREED
            return None
        try:
            digest = digest_of(page, header)
        except PageDamageError as damage:
            self.states[number] = DAMAGED
            return damage
        data = _encode(digest)
        self._digests.write(data)
        self._places[number], self._sizes[number] = self._end, len(data)
        self._end += len(data)
        self.states[number] = KEPT
        return None

    def digest(self, number: int) -> Digest:
        """Of a page that is KEPT."""
        self._digests.seek(self._places[number])
        return _decode(self._digests.read(self._sizes[number]))
