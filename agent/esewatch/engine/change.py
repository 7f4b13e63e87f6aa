"""One transaction as the log has it: which pages it changed, and how.

A page is there as a whole the first time it changes after it was written to disk, so that
redo mends a torn write; after that only as the pieces of 64 bytes that differ.
"""

import struct
from typing import Final, NamedTuple

PIECE: Final = 64
_BLOCK: Final = 16 * PIECE
DBTIME: Final = struct.Struct("<Q")
DBTIME_OFFSET: Final = 8

_HEAD = struct.Struct("<QIH")
_PAGE = struct.Struct("<IQH")
_INDEX = struct.Struct("<H")
_IMAGE: Final = 0xFFFF
"""In the place of the number of pieces: the whole page."""


class PageChange(NamedTuple):
    """One page. `before` is its dbtime before; `image` the whole page, else `pieces` by index."""

    number: int
    before: int
    image: bytes | None
    pieces: tuple[tuple[int, bytes], ...] = ()

    def applied_to(self, page: bytes) -> bytes:
        """The page after the change."""
        if self.image is not None:
            return self.image
        changed = bytearray(page)
        for index, piece in self.pieces:
            changed[index * PIECE : (index + 1) * PIECE] = piece
        return bytes(changed)


class Change(NamedTuple):
    """A committed transaction. `dbtime` is that of all its pages after it; `pages` of the file."""

    dbtime: int
    pages: int
    changes: tuple[PageChange, ...]


def dbtime_of(page: bytes) -> int:
    """The dbtime of a page, 0 of a blank one."""
    found: int = DBTIME.unpack_from(page, DBTIME_OFFSET)[0]
    return found


def difference(number: int, old: bytes, new: bytes, *, whole: bool) -> PageChange:
    """How `new` differs from `old`."""
    if whole:
        return PageChange(number, dbtime_of(old), new)
    # Most of a page is as it was: it is passed over in large steps.
    pieces = tuple(
        (at // PIECE, new[at : at + PIECE])
        for block in range(0, len(new), _BLOCK)
        if old[block : block + _BLOCK] != new[block : block + _BLOCK]
        for at in range(block, min(block + _BLOCK, len(new)), PIECE)
        if old[at : at + PIECE] != new[at : at + PIECE]
    )
    return PageChange(number, dbtime_of(old), None, pieces)


def encode(change: Change) -> bytes:
    """The record of the log."""
    parts = [_HEAD.pack(change.dbtime, change.pages, len(change.changes))]
    for page in change.changes:
        count = _IMAGE if page.image is not None else len(page.pieces)
        parts.append(_PAGE.pack(page.number, page.before, count))
        if page.image is not None:
            parts.append(page.image)
        for index, piece in page.pieces:
            parts += (_INDEX.pack(index), piece)
    return b"".join(parts)


def decode(record: bytes, page_size: int) -> Change:
    """The transaction of a record. Raises struct.error for what `encode` did not make."""
    dbtime, pages, count = _HEAD.unpack_from(record)
    at, changes = _HEAD.size, []
    for _ in range(count):
        number, before, length = _PAGE.unpack_from(record, at)
        at += _PAGE.size
        if length == _IMAGE:
            changes.append(PageChange(number, before, record[at : at + page_size]))
            at += page_size
            continue
        pieces = []
        for _ in range(length):
            (index,) = _INDEX.unpack_from(record, at)
            begin = at + _INDEX.size
            pieces.append((index, record[begin : begin + PIECE]))
            at = begin + PIECE
        changes.append(PageChange(number, before, None, tuple(pieces)))
    if at != len(record):
        raise struct.error(f"the record has {len(record)} bytes and not {at}")
    return Change(dbtime, pages, tuple(changes))
