"""The pages of one database file, sealed on their way out and verified on their way in.

What is wrong with a page is found in the order of the published engine: uninitialised,
checksum, page number, lost flush, structure.
"""

import struct
from collections.abc import Callable

import msgspec

from esefiles.pages.checksum import Diagnosis, diagnose, page_checksums
from esefiles.pages.kernels import classify
from esefiles.pages.layout import (
    BLANK,
    BLOCK_CHECKSUMS,
    FLAGS_OFFSET,
    GOOD,
    HEADER_PAGES,
    LARGEST_SMALL,
    NEW_FORMAT,
    NUMBER_OFFSET,
    block_size,
    offset_of,
)
from eselab.base.trouble import Kind, Trouble
from eselab.disk.file import File
from eselab.storage.flush_map import UNKNOWN, FlushMap
from eselab.storage.structure import fault_of

Tell = Callable[[Trouble], None]

_U64 = struct.Struct("<Q")
_BLOCKS = struct.Struct("<3Q")
# The two bits of the flush type are the highest of one byte of the flags, the lowest of the next.
_LOW_BYTE = FLAGS_OFFSET + 1
_HIGH_BYTE = FLAGS_OFFSET + 2


class PageError(Exception):
    """A page whose bytes are not what was written."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(f"page {trouble.number}: {trouble.kind}")
        self.number = trouble.number
        self.trouble = trouble


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    pages: int
    """Number of those that were read."""
    uninitialized: int
    """Number of those that are blank, and as far as known never were anything else."""
    troubles: list[Trouble]
    contents: list[bytes | None] = []
    """Of each page, where they were to be kept; None of a bad one."""


class PageFile:
    """A database file, page by page. Contents are handed out and taken without checksums.

    A page with one flipped bit is handed out corrected; on disk it stays as it is until it
    is written. `tell` is told of every Trouble that `read` meets. A page that verifies and
    whose structure is broken is not called bad: the engine would say so where it uses it.
    """

    def __init__(self, file: File, page_size: int, *, flushes: FlushMap | None = None) -> None:
        self.page_size = page_size
        self.read_count = 0
        self.flushes = flushes if flushes is not None else FlushMap()
        self.tell: Tell = _ignore
        self._file = file
        # What an earlier process wrote and did not sync may be in the cache of the system.
        self._unsynced = True

    def pages(self) -> int:
        """Number of whole pages of the file behind its headers."""
        return max(0, self._file.size() // self.page_size - HEADER_PAGES)

    def read(self, number: int) -> bytes:
        """The content of a page, zeros where nothing was written yet. Raises PageError."""
        content, trouble = self.examine(number)
        if trouble is not None:
            self.tell(trouble)
            if content is None:
                raise PageError(trouble)
        assert content is not None
        return content

    def examine(self, number: int) -> tuple[bytes | None, Trouble | None]:
        """Read a page: its content, None where it is bad, and what is wrong with it if anything.

        Nobody is told.
        """
        size = self.page_size
        page = self._file.read(offset_of(number, size), size)
        self.read_count += 1
        if len(page) < size:
            page = page.ljust(size, b"\0")
        return self._examined(page, number, classify(page, size, number)[0])

    def check(self, first: int, count: int, *, keep: bool = False) -> Checked:
        """Read that many pages at once and verify each. Nobody is called.

        Contents are handed out only where they are to be kept.
        """
        size = self.page_size
        data = self._file.read(offset_of(first, size), count * size).ljust(count * size, b"\0")
        self.read_count += count
        uninitialized, troubles, contents = 0, list[Trouble](), list[bytes | None]()
        types = self.flushes
        for at, kind in enumerate(classify(data, size, first)):
            begin, number = at * size, first + at
            if kind == GOOD:
                low, high = data[begin + _LOW_BYTE], data[begin + _HIGH_BYTE]
                if types.get(number) == low >> 7 | (high & 1) << 1:
                    if keep:
                        contents.append(unsealed(data[begin : begin + size]))
                    continue
            content, trouble = self._examined(data[begin : begin + size], number, kind)
            if keep:
                contents.append(content)
            if trouble is not None:
                troubles.append(trouble)
            elif kind == BLANK:
                uninitialized += 1
        return Checked(
            pages=count, uninitialized=uninitialized, troubles=troubles, contents=contents
        )

    def forget(self, number: int) -> None:
        """Allow that the flush map's state of a page is older than the page."""
        self.flushes.put(number, UNKNOWN)

    def write(self, number: int, content: bytes) -> None:
        """Write a page; not durable before `sync`."""
        flush_type = self.flushes.following(number)
        page = sealed(content, number, flush_type)
        self._unsynced = True
        self._file.write(offset_of(number, self.page_size), page)
        # A blank page cannot carry a type.
        self.flushes.put(number, _flush_type(page))

    def write_headers(self, page: bytes) -> None:
        """Write the header, durably, and then its shadow: one of them is always whole."""
        for number in (-1, 0):
            self._file.write(offset_of(number, self.page_size), page)
            self._file.sync()
        self._unsynced = False

    def make_room(self, pages: int) -> None:
        """Let the file end behind page `pages`, if it ends before."""
        size = offset_of(pages + 1, self.page_size)
        if self._file.size() < size:
            self._unsynced = True
            self._file.truncate(size)

    def sync(self) -> None:
        """All that was written is durable when this returns."""
        if self._unsynced:
            self._file.sync()
            self._unsynced = False

    def close(self) -> None:
        self._file.close()

    def _examined(self, page: bytes, number: int, kind: int) -> tuple[bytes | None, Trouble | None]:
        """See `examine`; `kind` is the page's class."""
        expected = self.flushes.get(number)
        if kind == BLANK:
            return (page, None) if expected == UNKNOWN else (None, self._trouble(number, "no_data"))
        bit = None
        if kind != GOOD:
            found = diagnose(page, number)
            if found.fault != "correctable":
                return None, self._damage(page, number, found)
            page, bit = _corrected(page, found.bits), found.bits[0]
        actual = _flush_type(page)
        if expected == UNKNOWN:
            if actual != UNKNOWN:
                self.flushes.put(number, actual)
        elif actual != expected:
            return None, self._trouble(
                number, "lost_flush", flush_type=actual, expected_type=expected
            )
        if bit is None:
            return unsealed(page), None
        if fault_of(page) is not None:
            return None, self._trouble(number, "correction_failed", bit=bit)
        return unsealed(page), self._trouble(number, "corrected", bit=bit)

    def _damage(self, page: bytes, number: int, found: Diagnosis) -> Trouble:
        """A page beyond correction. The engine tells a wrong number from damage on large ones."""
        place = offset_of(number, self.page_size)
        if found.fault == "wrong_page" and self.page_size > LARGEST_SMALL:
            return Trouble(
                number=number, kind="wrong_page", offset=place, bytes=self.page_size,
                written_as=found.written_as,
            )  # fmt: skip
        return Trouble(
            number=number, kind="checksum", offset=place, bytes=self.page_size,
            stored=_stored(page), computed=page_checksums(page, number),
        )  # fmt: skip

    def _trouble(
        self,
        number: int,
        kind: Kind,
        *,
        bit: int | None = None,
        flush_type: int = 0,
        expected_type: int = 0,
    ) -> Trouble:
        return Trouble(
            number=number, kind=kind, offset=offset_of(number, self.page_size),
            bytes=self.page_size, bit=bit, flush_type=flush_type, expected_type=expected_type,
        )  # fmt: skip


def stamped(content: bytearray, number: int) -> bytes:
    """The content of page `number` with the format's flag and, if large, its number in it.

    Where checksums and flush type belong there are zeros, as in what `PageFile.read` gives.
    """
    (flags,) = struct.unpack_from("<I", content, FLAGS_OFFSET)
    struct.pack_into("<I", content, FLAGS_OFFSET, flags | NEW_FORMAT)
    if len(content) > LARGEST_SMALL:
        struct.pack_into("<I", content, NUMBER_OFFSET, number)
    return unsealed(content)


def sealed(content: bytes, number: int, flush_type: int = UNKNOWN) -> bytes:
    """A page with its flush type and checksums. A blank one stays blank."""
    if not any(content):
        return content
    page = bytearray(content)
    page[_LOW_BYTE] |= (flush_type & 1) << 7
    page[_HIGH_BYTE] |= flush_type >> 1
    if len(page) > LARGEST_SMALL:
        _BLOCKS.pack_into(page, BLOCK_CHECKSUMS, *page_checksums(bytes(page), number)[1:])
    # The first block of a large page has the checksum of a small page of that size.
    first = bytes(page[: block_size(len(page))])
    _U64.pack_into(page, 0, page_checksums(first, number)[0])
    return bytes(page)


def unsealed(page: bytes | bytearray) -> bytes:
    """A page without its checksums and flush type."""
    content = bytearray(page)
    content[:8] = bytes(8)
    content[_LOW_BYTE] &= 0x7F
    content[_HIGH_BYTE] &= 0xFE
    if len(content) > LARGEST_SMALL:
        content[BLOCK_CHECKSUMS : BLOCK_CHECKSUMS + _BLOCKS.size] = bytes(_BLOCKS.size)
    return bytes(content)


def _flush_type(page: bytes) -> int:
    return page[_LOW_BYTE] >> 7 | (page[_HIGH_BYTE] & 1) << 1


def _stored(page: bytes) -> tuple[int, ...]:
    """The checksums in a page, one a block."""
    first: tuple[int, ...] = _U64.unpack_from(page)
    return (
        first if len(page) <= LARGEST_SMALL else first + _BLOCKS.unpack_from(page, BLOCK_CHECKSUMS)
    )


def _corrected(page: bytes, bits: tuple[int, ...]) -> bytes:
    whole = bytearray(page)
    for bit in bits:
        whole[bit // 8] ^= 1 << bit % 8
    return bytes(whole)


def _ignore(trouble: Trouble) -> None:
    """Nobody wants to know."""
