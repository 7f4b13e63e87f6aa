"""Identity of files: a file is known by its content before the position, not by its name."""

import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from operator import eq
from typing import Generic, TypeVar

import msgspec

from esewatch.sources.files.encodings import Encoding
from esewatch.sources.files.raw_file import RawFile, read_at

T = TypeVar("T")

SAMPLE = 1024
"""Bytes at the beginning and before the position that identify a file."""
_COMPARED = 16 << 10
"""Bytes that are compared at once."""


class FilePosition(msgspec.Struct, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """The position in one file; kept in the journal. `offset` counts bytes as they are in the
    (decompressed) file, byte order mark included. `line` is the number of lines consumed. `head`
    and `tail` are digests of the first and of the last up to 1 KiB before `offset`: the file is the
    same while they hold."""

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
    ahead: int = 0
    """So many of the bytes before `offset` were read in another file that begins alike, and not
    here: `line` and `context` are of the place before them."""


def digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def end_of(raw: RawFile, size: int) -> bytes:
    """The digest of the last up to 1 KiB before `size`; empty for a compressed file, and for one
    that cannot be read there."""
    try:
        return b"" if raw.compressed else digest(read_at(raw, max(0, size - SAMPLE), SAMPLE))
    except OSError:
        return b""


def samples_of(raw: RawFile, end: int) -> list[bytes]:
    """The first and the last up to 1 KiB before `end`; none where the file ends before that. Raises
    OSError."""
    size = min(end, SAMPLE)
    found = [read_at(raw, at, size) for at in (0, end - size)]
    return found if all(len(sample) == size for sample in found) else []


def holds(raw: RawFile, position: FilePosition) -> bool:
    """True if the content up to `position` is unchanged. Raises OSError."""
    samples = samples_of(raw, position.offset)
    return not position.offset or list(map(digest, samples)) == [position.head, position.tail]


def furthest(raw: RawFile, candidates: Sequence[tuple[FilePosition, T]]) -> T | None:
    """Of positions in files that begin as `raw` does, the owner of the furthest one that it holds;
    None if none. Raises OSError."""
    found = None
    # A compressed file from front to back, so that it is decompressed once.
    for position, owner in sorted(
        candidates, key=lambda each: each[0].offset, reverse=not raw.compressed
    ):
        size = min(position.offset, SAMPLE)
        tail = read_at(raw, position.offset - size, size)
        if len(tail) == size and digest(tail) == position.tail:
            found = owner
            if not raw.compressed:
                break
    return found


def is_unfinished(raw: RawFile, gone: Iterable[FilePosition]) -> bool:
    """Is `raw`, which begins as they do, written less far than one that is gone was read? Some
    programs set aside the space of a copy first, as zeros. Raises OSError."""
    offset = max((position.offset for position in gone), default=0)
    sample = min(offset, SAMPLE)
    tail = read_at(raw, offset - sample, sample)
    return len(tail) < sample or tail.endswith(b"\0\0")


def is_whole(raw: RawFile) -> bool:
    """Does the compressed file `raw` end as it should? Raises OSError."""
    raw.seek(sys.maxsize)
    return raw.complete


def shared(*files: tuple[RawFile, FilePosition]) -> int:
    """So many bytes two files begin with alike; 0 where they differ before both were read. What
    both have read is known by its digests, the rest is compared. Raises OSError."""
    (less, position), (more, _) = sorted(files, key=lambda each: each[1].offset)
    if not holds(more, position):
        return 0
    at = position.offset
    while True:
        one, other = read_at(less, at, _COMPARED), read_at(more, at, _COMPARED)
        if one != other or not one:
            return at + len(list(takewhile(bool, map(eq, one, other))))
        at += len(one)


NO_HEAD = 0, digest(b"")
"""Size and digest of a beginning that is unknown."""


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

    def add(self, size: int, head: bytes, file: T) -> None:
        """Add a file by the digest of its first `size` bytes; one of no bytes begins like none."""
        if size := min(size, SAMPLE):
            self._known.setdefault((size, head), []).append(file)
            self._sizes.add(size)

    def like(self, heads: Heads) -> Iterator[T]:
        """The files that begin like the one with these `heads`."""
        for size in self._sizes:
            if size <= len(heads.start):
                yield from self._known.get((size, heads[size]), ())
