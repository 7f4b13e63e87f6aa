"""Identity of files: a file is known by its content before the position, not by its name."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import msgspec

from esewatch.sources.files.encodings import Encoding
from esewatch.sources.files.raw_file import RawFile, read_at

T = TypeVar("T")

SAMPLE = 1024
"""Bytes at the beginning and before the position that identify a file."""


class FilePosition(msgspec.Struct, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """The position in one file; kept in the journal.

    `offset` counts bytes as they are in the (decompressed) file, byte order mark included. `line`
    is the number of lines consumed. `head` and `tail` are digests of the first and of the last up
    to 1 KiB before `offset`: the file is the same while they hold.
    """

    path: str
    """Path at which the file was first seen."""
    offset: int = 0
    line: int = 0
    encoding: Encoding = "utf-8"
    head: bytes = b""
    tail: bytes = b""
    context: bytes = b""
    """The saved context of the decoder."""
    skipping: bool = False
    """Inside a line too long to be read."""
    ended: tuple[int, int] = (0, 0)
    """Size and mtime (ns) of a compressed file that was read to its end, damaged or not."""
    gone: int = 0
    """Counts up with each file lost from sight; 0 while the file is there."""
    input: int = 0
    """Number of the input: the same for what was renamed or goes on, another one for what was
    written anew at this path. 0 in a journal of an earlier version."""


def digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def holds(raw: RawFile, position: FilePosition) -> bool:
    """True if the content up to `position` is unchanged. Raises OSError."""
    size = min(position.offset, SAMPLE)
    return (
        digest(read_at(raw, 0, size)) == position.head
        and digest(read_at(raw, position.offset - size, size)) == position.tail
    ) or position.offset == 0


def best_match(raw: RawFile, candidates: Sequence[FilePosition]) -> FilePosition | None:
    """The candidate that `raw`, which begins as they do, continues; None if none. The furthest one
    if several. Raises OSError."""
    found = None
    # A compressed file from front to back, so that it is decompressed once.
    for position in sorted(candidates, key=lambda each: each.offset, reverse=not raw.compressed):
        size = min(position.offset, SAMPLE)
        if digest(read_at(raw, position.offset - size, size)) == position.tail:
            found = position
            if not raw.compressed:
                break
    return found


class Heads(dict[int, bytes]):
    """Digests of the first so many bytes of a file that begins with `start` (up to 1 KiB)."""

    def __init__(self, start: bytes) -> None:
        super().__init__()
        self.start = start

    def __missing__(self, size: int) -> bytes:
        self[size] = digest(self.start[:size])
        return self[size]


class Beginnings(Generic[T]):
    """Files by their beginnings, so that files that begin alike are found without a search."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], list[T]] = {}
        self._sizes: set[int] = set()

    def add(self, position: FilePosition, file: T) -> None:
        """Add a file as far as it was read; one of which nothing was read begins like none."""
        if size := min(position.offset, SAMPLE):
            self._known.setdefault((size, position.head), []).append(file)
            self._sizes.add(size)

    def like(self, start: bytes) -> Iterator[T]:
        """The files that begin like one with `start` (up to 1 KiB)."""
        heads = Heads(start)
        for size in self._sizes:
            if size <= len(start):
                yield from self._known.get((size, heads[size]), ())


def same_so_far(raw: RawFile, other: RawFile) -> bool:
    """Do the first and the last KiB of `raw` stand at the same places in `other`? An empty file is
    like no other. Raises OSError."""
    size = raw.stat().st_size
    sample = min(size, SAMPLE)
    return size > 0 and all(
        read_at(raw, offset, sample) == read_at(other, offset, sample)
        for offset in (0, size - sample)
    )
