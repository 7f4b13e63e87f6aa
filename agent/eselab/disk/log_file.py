"""A log file in the format of ESE, to those who use it a header page and a row of bytes behind it.

On disk these bytes lie in segments of 4 KiB: 40 bytes LGSEGHDR (checksum of a data page, number
and generation; `_logstream.hxx` of the published engine), then content. Behind the last segment
stands its shadow, then zeros up to the size of all logs. In 4 of the bytes that ESE reserves
stands how many bytes of content a segment has. Offsets and lengths are those without segments:
requests are counted and timed by what they carry, not by their frame.

What is written of a segment again begins with what was there, so a torn write costs none of it.
"""

import re
import struct
from collections.abc import Callable
from typing import Final

from esefiles.logs.log_header import LogHeader, parse_log_header
from esefiles.pages.checksum import page_checksums, xor_checksum
from esefiles.pages.layout import NEW_FORMAT
from eselab.disk.file import File

HEADER_BYTES: Final = 4096
GENERATION_BYTES: Final = 1 << 20
"""Header and content of a generation of the log."""
SEGMENT_BYTES: Final = 4096
SEGMENT_HEADER_BYTES: Final = 40
CONTENT_BYTES: Final = SEGMENT_BYTES - SEGMENT_HEADER_BYTES
"""Of a segment."""
SEGMENTS: Final = 2 + -(-(GENERATION_BYTES - HEADER_BYTES) // CONTENT_BYTES)
"""Of a file: the header, those of the content, and the place of the last shadow."""
FILE_BYTES: Final = SEGMENTS * SEGMENT_BYTES

BASE: Final = 3
"""Characters of a log's name before its generation."""

_NAME = re.compile(rf".{{{BASE}}}([0-9A-F]{{8}})\.log")
_HEAD = struct.Struct("<8xHHI8xI8xI")
"""Byte, number and generation; the bytes of content; the flags of a page."""
_CHECKSUM = struct.Struct("<Q")
_CREATED: Final = slice(16, 24)
_CREATED_BEFORE: Final = slice(24, 32)
_SIGNATURE: Final = slice(44, 72)
_CHECKSUM_BEFORE_AT: Final = 653


def generation_in(name: str) -> int | None:
    """The generation of a log with this file name; None: it is no log's."""
    found = _NAME.fullmatch(name)
    return int(found[1], 16) if found else None


def name_before(name: str) -> str:
    """The name of the generation before that of this log."""
    return f"{name[:BASE]}{(generation_in(name) or 1) - 1:08X}.log"


class LogFile:
    """An open log; `file` is that of the disk, `before` opens the one of the generation before.

    `begun` is called once, when the header of a new file is durable.
    """

    def __init__(
        self,
        file: File,
        generation: int,
        *,
        before: Callable[[], File],
        begun: Callable[[], object] | None = None,
    ) -> None:
        self._file = file
        self._generation = generation
        self._before = before
        self._begun = begun

    def read(self, offset: int, length: int) -> bytes:
        head = self._file.read(offset, min(length, HEADER_BYTES - offset)) if _in(offset) else b""
        begin, end = max(offset - HEADER_BYTES, 0), offset + length - HEADER_BYTES
        if end <= begin or (_in(offset) and offset + len(head) < HEADER_BYTES):
            return head
        first = begin // CONTENT_BYTES
        content = b"".join(self._contents(first, -(-end // CONTENT_BYTES)))
        within = begin - first * CONTENT_BYTES
        return head + content[within : within + end - begin]

    def write(self, offset: int, data: bytes) -> None:
        """See File. A whole header is completed by what the log before says of itself."""
        if _in(offset):
            page, data = data[: HEADER_BYTES - offset], data[HEADER_BYTES - offset :]
            self._file.write(offset, self._completed(page) if len(page) == HEADER_BYTES else page)
            offset = HEADER_BYTES
        if data:
            self._write(offset - HEADER_BYTES, data)
        self._fill()
        if self._begun is not None:
            self._file.sync()
            self._begun()
            self._begun = None

    def sync(self) -> None:
        self._file.sync()

    def size(self) -> int:
        there = sum(map(len, self._contents(0, SEGMENTS)))
        return min(self._file.size(), HEADER_BYTES) + there

    def truncate(self, size: int) -> None:
        """See File. From the end on, so that whole segments are followed by zeros at any time."""
        if size < HEADER_BYTES:
            self._file.truncate(size)
            return
        left = size - HEADER_BYTES
        last = max(left - 1, 0) // CONTENT_BYTES
        kept = b"".join(self._contents(last, last + 1))[: left - last * CONTENT_BYTES]
        data = self._file.read(_at(last), FILE_BYTES).rstrip(b"\0")
        for number in range(len(data) // SEGMENT_BYTES, -1 if not kept else 0, -1):
            self._file.write(_at(last + number), bytes(SEGMENT_BYTES))
        self._file.write(_at(last), self._segments(last, kept))
        self._fill()

    def close(self) -> None:
        self._file.close()

    def checksum(self) -> int:
        """XOR of the checksums of all segments: the header of the next log has it."""
        found = 0
        for segment in self._valid(0, SEGMENTS):
            found ^= _CHECKSUM.unpack_from(segment)[0]
        return found

    def _write(self, begin: int, data: bytes) -> None:
        first, within = divmod(begin, CONTENT_BYTES)
        end = -(-(begin + len(data)) // CONTENT_BYTES)
        there = self._contents(first, end + 1)
        if len(there) > end - first:
            # Something follows: only a log that is spoiled on purpose is written so.
            there = self._contents(first, SEGMENTS)
        old = b"".join(there)
        new = old[:within].ljust(within, b"\0") + data + old[within + len(data) :]
        self._file.write(_at(first), self._segments(first, new))

    def _segments(self, first: int, content: bytes) -> bytes:
        """So much content in segments from this one on, with the shadow of the last one."""
        made = [
            _sealed(content[at : at + CONTENT_BYTES], number, self._generation)
            for number, at in enumerate(range(0, len(content), CONTENT_BYTES), first + 1)
        ]
        return b"".join([*made, *made[-1:]])

    def _contents(self, first: int, end: int) -> list[bytes]:
        """Of the segments from `first` up to `end`, as far as they are there; 0 is the first."""
        begin = SEGMENT_HEADER_BYTES
        return [segment[begin : begin + _used(segment)] for segment in self._valid(first, end)]

    def _valid(self, first: int, end: int) -> list[bytes]:
        """The segments that are of their place, up to the first one that is not full.

        The last one is its shadow where a write was torn.
        """
        data = self._file.read(_at(first), (end - first + 1) * SEGMENT_BYTES)
        segments = [data[at : at + SEGMENT_BYTES] for at in range(0, len(data), SEGMENT_BYTES)]
        found: list[bytes] = []
        for number, segment in enumerate(segments[: end - first], first + 1):
            if not self._is_of(segment, number):
                break
            found.append(segment)
            if _used(segment) < CONTENT_BYTES:
                break
        for last in (len(found) - 1, len(found)):
            number, behind = first + last + 1, segments[last + 1 : last + 2]
            if last < 0 or not (behind and self._is_of(behind[0], number)):
                continue
            if segments[last] == behind[0]:
                continue
            if not _is_whole(segments[last], number) and _is_whole(behind[0], number):
                return [*found[:last], behind[0]]
        return found

    def _is_of(self, segment: bytes, number: int) -> bool:
        """True if it was written as this one of this log."""
        if len(segment) < SEGMENT_BYTES:
            return False
        return _HEAD.unpack_from(segment)[:3] == (0, number, self._generation)

    def _fill(self) -> None:
        if self._file.size() < FILE_BYTES:
            self._file.truncate(FILE_BYTES)

    def _completed(self, page: bytes) -> bytes:
        """The header, with what it says of the log before where it says nothing yet."""
        if any(page[_CREATED_BEFORE]):
            return page
        try:
            file = self._before()
        except FileNotFoundError:
            return page
        try:
            before = file.read(0, HEADER_BYTES)
            checksum = LogFile(file, self._generation - 1, before=self._before).checksum()
        finally:
            file.close()
        if not isinstance(parse_log_header(before), LogHeader):
            return page
        if before[_SIGNATURE] != page[_SIGNATURE]:
            return page
        made = bytearray(page)
        made[_CREATED_BEFORE] = before[_CREATED]
        _CHECKSUM.pack_into(made, _CHECKSUM_BEFORE_AT, checksum)
        struct.pack_into("<I", made, 0, xor_checksum(bytes(made)))
        return bytes(made)


def _in(offset: int) -> bool:
    """True if it is one of the header."""
    return offset < HEADER_BYTES


def _at(number: int) -> int:
    """Offset of a segment in the file; 0 is the first behind the header."""
    return HEADER_BYTES + number * SEGMENT_BYTES


def _sealed(content: bytes, number: int, generation: int) -> bytes:
    head = _HEAD.pack(0, number, generation, len(content), NEW_FORMAT)
    segment = (head + content).ljust(SEGMENT_BYTES, b"\0")
    return _CHECKSUM.pack(page_checksums(segment, number)[0]) + segment[_CHECKSUM.size :]


def _used(segment: bytes) -> int:
    """Bytes of content."""
    used: int = _HEAD.unpack_from(segment)[3]
    return used


def _is_whole(segment: bytes, number: int) -> bool:
    found: int = _CHECKSUM.unpack_from(segment)[0]
    return found == page_checksums(segment, number)[0]
