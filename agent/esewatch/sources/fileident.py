"""Which file is which: a file is known by its content before the position, not by its name."""

import hashlib
from collections.abc import Sequence

import msgspec

from esewatch.sources.encodings import Encoding
from esewatch.sources.rawfile import RawFile, read_at

SAMPLE = 1024
"""Bytes at the beginning and before the position that tell a file from another."""


class Position(msgspec.Struct, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """Where reading of one file stands; what the journal keeps for it.

    `offset` counts bytes as they are in the (decompressed) file, byte order mark
    included. `line` is the number of lines consumed. `head` and `tail` are digests
    of the first and of the last up to 1 KiB before `offset`: the file is the same
    while they hold.
    """

    path: str
    """Where the file was first seen."""
    offset: int = 0
    line: int = 0
    encoding: Encoding = "utf-8"
    head: bytes = b""
    tail: bytes = b""
    context: bytes = b""
    """What the decoder saved."""
    skipping: bool = False
    """Inside a line too long to be read."""
    ended: tuple[int, int] = (0, 0)
    """Size and mtime (ns) of a compressed file that was read to its end, damaged or not."""
    gone: int = 0
    """Counts up with each file lost from sight; 0 while the file is there."""


def digest(data: bytes) -> bytes:
    """Short digest of a piece of a file."""
    return hashlib.blake2b(data, digest_size=16).digest()


def holds(raw: RawFile, position: Position) -> bool:
    """Is what was read up to `position` still what stands there? Raises OSError."""
    size = min(position.offset, SAMPLE)
    return (
        digest(read_at(raw, 0, size)) == position.head
        and digest(read_at(raw, position.offset - size, size)) == position.tail
    ) or position.offset == 0


def best_match(raw: RawFile, candidates: Sequence[Position]) -> Position | None:
    """The candidate that `raw` continues, the furthest one if several; None if none.

    Raises OSError.
    """
    start = read_at(raw, 0, SAMPLE)
    found = None
    # From front to back, so that a compressed file is decompressed once.
    for position in sorted(candidates, key=lambda candidate: candidate.offset):
        size = min(position.offset, SAMPLE)
        if digest(start[:size]) == position.head and (
            digest(read_at(raw, position.offset - size, size)) == position.tail
        ):
            found = position
    return found


def begins_like(start: bytes, position: Position) -> bool:
    """Does a file that begins with `start` (up to 1 KiB) begin as the one of `position`?"""
    size = min(position.offset, SAMPLE)
    return 0 < size <= len(start) and digest(start[:size]) == position.head


def same_so_far(raw: RawFile, other: RawFile) -> bool:
    """Do the first and the last KiB of `raw` stand at the same places in `other`?

    An empty file is like no other. Raises OSError.
    """
    size = raw.stat().st_size
    sample = min(size, SAMPLE)
    return size > 0 and all(
        read_at(raw, offset, sample) == read_at(other, offset, sample)
        for offset in (0, size - sample)
    )
