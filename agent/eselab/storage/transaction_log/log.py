"""The write-ahead log: generations of 1 MiB, each record with a checksum that chains to the last.

A generation is a file `E00` + eight hex digits + `.log`: the header of ESE (see log_header), then
records of this engine's own, in segments (see LogFile). A position is one growing integer:
generation * 1 MiB + offset, as if there were no segments.
"""

import re
import struct
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Final

from esefiles.logs.log_header import LogHeader, parse_log_header
from esefiles.pages.checksum import xor_checksum
from eselab.disk.disk import Disk
from eselab.disk.file import File
from eselab.disk.log_file import GENERATION_BYTES, HEADER_BYTES, SEGMENT_BYTES, SEGMENTS
from eselab.storage.transaction_log.header_bytes import epoch, log_time, signature_bytes

LARGEST_RECORD: Final = GENERATION_BYTES - HEADER_BYTES - 16

_END: Final = 0xFFFFFFFF
"""In the place of a length: the generation is full, the next one goes on."""
_FRAME = struct.Struct("<II")


class LogError(Exception):
    """The log cannot be what it should be: says where and why."""


def generation_of(position: int) -> int:
    """The generation that holds `position`."""
    return position // GENERATION_BYTES


def begin_of(generation: int) -> int:
    """The position of the first record of a generation."""
    return generation * GENERATION_BYTES + HEADER_BYTES


class Log:
    """The log of one database. What was appended is durable after `flush`."""

    def __init__(
        self, disk: Disk, base: str, signature: int, *, began: float, now: float, page_size: int
    ) -> None:
        self.time: Callable[[], float] = lambda: now
        """Epoch seconds, for what the headers say; `now` until it is set."""
        self.created = now
        """Time at which the generation that is being written was begun."""
        self._disk = disk
        self._base = base
        self._signature = signature
        self._began = began
        self._page_size = page_size
        self._file: File | None = None
        self._buffer = bytearray()
        self._chain = 0
        self.position = 0
        """Behind the last record that was appended."""
        self.durable = 0
        """Up to where it is durable."""
        self._bytes_written = 0

    @classmethod
    def create(
        cls,
        disk: Disk,
        *,
        base: str = "E00",
        signature: int,
        began: float = 0.0,
        now: float = 0.0,
        page_size: int = 4096,
    ) -> "Log":
        """A new log, from generation 1 on. An older one of this name is deleted.

        `began`: the time in its signature, epoch seconds.
        """
        log = cls(disk, base, signature, began=began, now=now, page_size=page_size)
        for old in log.kept():
            disk.remove(log._name(old))
        disk.sync()
        log._begin(1)
        return log

    @classmethod
    def open(
        cls,
        disk: Disk,
        *,
        base: str = "E00",
        signature: int,
        after: int,
        began: float = 0.0,
        now: float = 0.0,
        page_size: int = 4096,
    ) -> "Log":
        """A log whose valid records end at `after`: what follows there was never durable.

        It goes on in a new generation, so that no rest of an earlier life is taken for a record;
        in the one that was begun where there is one, as the database may name it.
        """
        log = cls(disk, base, signature, began=began, now=now, page_size=page_size)
        following = generation_of(after) + 1
        for later in [number for number in log.kept() if number > following]:
            disk.remove(log._name(later))
        if not log._resume(following):
            log._end(after)
            log._begin(following)
        return log

    @property
    def bytes_appended(self) -> int:
        """Those written and those that a flush would write. Headers of generations are not."""
        return self._bytes_written + len(self._buffer)

    def kept(self) -> list[int]:
        """Numbers of the generations that are there, ascending."""
        return kept(self._disk, self._base)

    def append(self, record: bytes) -> int:
        """Add a record; the position behind it. Not durable yet. Raises LogError if too large."""
        if len(record) > LARGEST_RECORD:
            raise LogError(f"a record of {len(record)} bytes is larger than a generation")
        used = self.position % GENERATION_BYTES
        if used + _FRAME.size + len(record) + _FRAME.size > GENERATION_BYTES:
            self._roll()
        self._chain = _chained(self._chain, self.position, record)
        self._buffer += _FRAME.pack(len(record), self._chain) + record
        self.position += _FRAME.size + len(record)
        return self.position

    def flush(self) -> None:
        """Group commit: all that was appended is durable when this returns."""
        if self._buffer:
            assert self._file is not None
            begin = self.durable % GENERATION_BYTES
            self._file.write(begin, bytes(self._buffer))
            self._file.sync()
            self._bytes_written += len(self._buffer)
            self._buffer.clear()
            self.durable = self.position

    def close(self) -> None:
        """Flush and let go of the file."""
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None

    def drop_before(self, position: int) -> None:
        """Delete the generations that end before `position`: no recovery needs them."""
        for generation in self.kept():
            if generation < generation_of(position):
                self._disk.remove(self._name(generation))

    def _roll(self) -> None:
        # Durable before the next one exists: who sees that, knows this one is whole.
        generation = generation_of(self.position)
        self._buffer += _FRAME.pack(_END, 0)
        self.position += _FRAME.size
        self.flush()
        self._begin(generation + 1)

    def _end(self, after: int) -> None:
        """Let the generation end there, if there is one."""
        generation = generation_of(after)
        if generation in self.kept():
            file = self._disk.open(self._name(generation))
            file.truncate(after % GENERATION_BYTES)
            file.write(after % GENERATION_BYTES, _FRAME.pack(_END, 0))
            file.sync()
            file.close()

    def _resume(self, generation: int) -> bool:
        """Go on in a generation without a record, if it was begun: the one before is ended."""
        if generation not in self.kept():
            return False
        file = self._disk.open(self._name(generation))
        header = read_log_header(file.read(0, HEADER_BYTES), generation, self._signature)
        if header is None:
            file.close()
            self._disk.remove(self._name(generation))
            return False
        file.truncate(HEADER_BYTES)
        file.sync()
        self._file, self.created = file, epoch(header.created)
        self._go_on(generation)
        return True

    def _begin(self, generation: int) -> None:
        if self._file is not None:
            self._file.close()
        self._file = self._disk.open(self._name(generation), create=True)
        self._file.truncate(0)
        self.created = self.time()
        page = header_page(
            generation,
            self._signature,
            began=self._began,
            created=self.created,
            page_size=self._page_size,
        )
        self._file.write(0, page)
        self._file.sync()
        self._disk.sync()
        self._go_on(generation)

    def _go_on(self, generation: int) -> None:
        self.position = self.durable = begin_of(generation)
        self._chain = _seed(generation, self._signature)

    def _name(self, generation: int) -> str:
        return log_name(generation, self._base)


def records(
    disk: Disk, since: int, *, base: str = "E00", signature: int
) -> Iterator[tuple[int, bytes]]:
    """(position behind it, record) from the generation that holds `since` on.

    Up to the first record that is torn or missing. Those at or before `since` are left out.
    Raises LogError where a generation that must be there is missing, damaged, or is not this
    log's: a generation is whole before the next is begun, and all up to `since` was durable.
    """
    first = generation_of(since)
    valid = begun(disk, first, base=base, signature=signature)
    if first not in valid:
        how = "the header of {} is damaged" if first in kept(disk, base) else "{} is missing"
        raise LogError(how.format(f"generation {first:#x} of the log"))
    for generation in range(first, valid[-1] + 1):
        if generation not in valid:
            raise LogError(f"generation {generation:#x} of the log is damaged or missing")
        data = _content(disk, base, generation, GENERATION_BYTES)
        end, whole = yield from _of_generation(data, generation, signature, since)
        if end < since or not (whole or generation == valid[-1]):
            at = end % GENERATION_BYTES
            raise LogError(f"generation {generation:#x} of the log is damaged at offset {at}")


def closed_records(
    disk: Disk, generation: int, since: int, *, base: str = "E00", signature: int
) -> Iterator[tuple[int, bytes]]:
    """As `records`, of one generation, which must be ended.

    Raises LogError where it is not whole, FileNotFoundError.
    """
    data = _content(disk, base, generation, GENERATION_BYTES)
    if read_log_header(data[:HEADER_BYTES], generation, signature) is None:
        raise LogError(f"the header of generation {generation:#x} of the log is damaged")
    end, whole = yield from _of_generation(data, generation, signature, since)
    if not whole:
        at = end % GENERATION_BYTES
        raise LogError(f"generation {generation:#x} of the log is damaged at offset {at}")


def begun(disk: Disk, first: int = 0, *, base: str = "E00", signature: int) -> list[int]:
    """The generations from `first` on that are there and have a valid header, ascending."""
    return [
        number
        for number in kept(disk, base)
        if number >= first
        and read_log_header(_content(disk, base, number, HEADER_BYTES), number, signature)
    ]


def _content(disk: Disk, base: str, generation: int, length: int) -> bytes:
    file = disk.open(log_name(generation, base))
    try:
        return file.read(0, length)
    finally:
        file.close()


def _of_generation(
    data: bytes, generation: int, signature: int, since: int
) -> Generator[tuple[int, bytes], None, tuple[int, bool]]:
    """The records of one generation behind `since`.

    Returns the position behind its last one, and whether it was ended, so that another follows.
    """
    chain, at = _seed(generation, signature), HEADER_BYTES
    position = begin_of(generation)
    while at + _FRAME.size <= len(data):
        length, checksum = _FRAME.unpack_from(data, at)
        if length == _END:
            return position, True
        record = data[at + _FRAME.size : at + _FRAME.size + length]
        chain = _chained(chain, position, record)
        if len(record) < length or chain != checksum:
            break
        at += _FRAME.size + length
        position = generation * GENERATION_BYTES + at
        if position > since:
            yield position, record
    return position, False


def kept(disk: Disk, base: str = "E00") -> list[int]:
    """Numbers of the generations that are there, ascending; other files are passed over."""
    digits = re.compile(re.escape(base) + r"([0-9A-F]{8})\.log")
    found = (digits.fullmatch(name) for name in disk.names())
    return sorted(int(match[1], 16) for match in found if match)


def log_name(generation: int, base: str = "E00") -> str:
    """The file of a generation."""
    return f"{base}{generation:08X}.log"


def _seed(generation: int, signature: int) -> int:
    return zlib.crc32(struct.pack("<II", generation, signature))


def _chained(chain: int, position: int, record: bytes) -> int:
    """The checksum of a record holds for its place and for all records before it."""
    return zlib.crc32(record, zlib.crc32(struct.pack("<QI", position, len(record)), chain))


_VERSION: Final = (8, 4000, 5)
_MINOR_UPDATE: Final = 16
_CIRCULAR: Final = 0x02
"""Logs that no recovery needs are deleted."""
_LOG: Final = 3
_LOG_SECTORS_AT: Final = 615
"""Of the parameters the only one that this engine has."""


def header_page(
    generation: int, number: int, *, began: float, created: float, page_size: int = 4096
) -> bytes:
    """The header, sealed. `number` and `began` are those of the signature of the series."""
    page = bytearray(HEADER_BYTES)
    struct.pack_into("<I4H", page, 4, generation, SEGMENT_BYTES, 1, SEGMENTS, page_size)
    page[16:24] = log_time(created)
    struct.pack_into("<3I", page, 32, *_VERSION)
    page[44:72] = signature_bytes(number, began)
    struct.pack_into("<I", page, _LOG_SECTORS_AT, SEGMENTS)
    page[639] = _CIRCULAR
    struct.pack_into("<I", page, 648, _MINOR_UPDATE)
    struct.pack_into("<I", page, 667, _LOG)
    struct.pack_into("<I", page, 0, xor_checksum(bytes(page)))
    return bytes(page)


def read_log_header(page: bytes, generation: int, number: int) -> LogHeader | None:
    """The header of this generation of the series with this signature; None: it is not."""
    found = parse_log_header(page)
    if not isinstance(found, LogHeader) or found.generation != generation:
        return None
    return found if found.signature.random == f"{number:08x}" else None
