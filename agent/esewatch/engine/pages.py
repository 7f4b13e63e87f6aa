"""The pages of one database file, sealed on their way out and verified on their way in."""

import struct

from esewatch.engine.disk import File
from esewatch.ese.checksum import Diagnosis, diagnose, page_checksums
from esewatch.ese.page import (
    BLOCK_CHECKSUMS,
    FLAGS_OFFSET,
    HEADER_PAGES,
    LARGEST_SMALL,
    NEW_FORMAT,
    NUMBER_OFFSET,
    offset_of,
)


class PageError(Exception):
    """A page whose bytes are not what was written."""

    def __init__(self, number: int, diagnosis: Diagnosis) -> None:
        super().__init__(f"page {number}: {diagnosis.fault}")
        self.number = number
        self.diagnosis = diagnosis


class PageFile:
    """A database file, page by page. Contents are handed out and taken without checksums."""

    def __init__(self, file: File, page_size: int) -> None:
        self.page_size = page_size
        self.read_count = 0
        self.write_count = 0
        self._file = file

    def pages(self) -> int:
        """How many whole pages the file has behind its headers."""
        return max(0, self._file.size() // self.page_size - HEADER_PAGES)

    def read(self, number: int) -> bytes:
        """The content of a page, zeros where nothing was written yet. Raises PageError."""
        page = self._file.read(offset_of(number, self.page_size), self.page_size)
        self.read_count += 1
        page = page.ljust(self.page_size, b"\0")
        if any(page) and (found := diagnose(page, number)).fault is not None:
            raise PageError(number, found)
        return unsealed(page)

    def write(self, number: int, content: bytes) -> None:
        """Write a page; not durable before `sync`."""
        self._file.write(offset_of(number, self.page_size), sealed(content, number))
        self.write_count += 1

    def write_headers(self, page: bytes) -> None:
        """Write the header, durably, and then its shadow: one of them is always whole."""
        for number in (-1, 0):
            self._file.write(offset_of(number, self.page_size), page)
            self._file.sync()

    def make_room(self, pages: int) -> None:
        """Let the file end behind page `pages`, if it ends before."""
        size = offset_of(pages + 1, self.page_size)
        if self._file.size() < size:
            self._file.truncate(size)

    def sync(self) -> None:
        """All that was written is durable when this returns."""
        self._file.sync()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def stamped(content: bytearray, number: int) -> bytes:
    """The content of page `number` with the format's flag and, if large, its number in it.

    Where checksums belong there are zeros, as in what `PageFile.read` gives.
    """
    (flags,) = struct.unpack_from("<I", content, FLAGS_OFFSET)
    struct.pack_into("<I", content, FLAGS_OFFSET, flags | NEW_FORMAT)
    if len(content) > LARGEST_SMALL:
        struct.pack_into("<I", content, NUMBER_OFFSET, number)
    return unsealed(bytes(content))


def sealed(content: bytes, number: int) -> bytes:
    """A page with its checksums. A blank one stays blank."""
    if not any(content):
        return content
    page = bytearray(content)
    if len(page) > LARGEST_SMALL:
        others = page_checksums(bytes(page), number)[1:]
        struct.pack_into("<3Q", page, BLOCK_CHECKSUMS, *others)
    struct.pack_into("<Q", page, 0, page_checksums(bytes(page), number)[0])
    return bytes(page)


def unsealed(page: bytes) -> bytes:
    """A page without its checksums."""
    if len(page) <= LARGEST_SMALL:
        return bytes(8) + page[8:]
    return bytes(8) + page[8:BLOCK_CHECKSUMS] + bytes(24) + page[BLOCK_CHECKSUMS + 24 :]
