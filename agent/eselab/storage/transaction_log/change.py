"""One transaction as the log has it: which pages it changed, and how.

A page is there as a whole the first time it changes after it was written to disk, so that
redo repairs a torn write; after that only as the pieces of 64 bytes that differ.
"""

import struct
from functools import cache
from typing import Final, NamedTuple

PIECE: Final = 64
DBTIME: Final = struct.Struct("<Q")
DBTIME_OFFSET: Final = 8

_HEAD = struct.Struct("<QIH")
_PAGE = struct.Struct("<IQH")
_INDEX = struct.Struct("<H")
_OF_BLOCK: Final = 16
"""Pieces."""
_PIECES = struct.Struct(f"{PIECE}s" * _OF_BLOCK)
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
    """Difference of `new` from `old`; both have whole blocks of 1 KiB."""
    if whole:
        return PageChange(number, dbtime_of(old), new)
    # The hot spot of a commit. Most of a page is as it was: it is passed over in large steps.
    blocks, pieces, index = _blocks(len(new)), list[tuple[int, bytes]](), 0
    for before, after in zip(blocks.unpack(old), blocks.unpack(new), strict=True):
        if before != after:
            for was, piece in zip(_PIECES.unpack(before), _PIECES.unpack(after), strict=True):
                if was != piece:
                    pieces.append((index, piece))
                index += 1
        else:
            index += _OF_BLOCK
    return PageChange(number, dbtime_of(old), None, tuple(pieces))


@cache
def _blocks(page_size: int) -> struct.Struct:
    """Cuts a page into blocks. There are four sizes of pages, so four of these."""
    return struct.Struct(f"{_PIECES.size}s" * (page_size // _PIECES.size))


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
