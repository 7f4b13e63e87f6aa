"""The outer layers of a Windows event log (.evtx): file header, chunks, record frames.

Layout (all numbers little endian): a file header block of 4,096 bytes, then chunks of 64 KiB. A
chunk has a header of 512 bytes: magic at 0, first and last record id at 24 and 32, offset of the
last record at 44, of the free space at 48, CRC32 of the records at 52, flags at 120, CRC32 of the
header (bytes 0-119 and 128-511) at 124. A record: magic at 0, its size at 4 and again in its last
four bytes, its id at 8. What is inside a record is in `binxml.py`.
"""

import hashlib
import struct
import zlib
from typing import Final, NamedTuple

FILE_MAGIC: Final = b"ElfFile\0"
CHUNK_MAGIC: Final = b"ElfChnk\0"
FILE_HEADER_BYTES: Final = 4096
CHUNK_BYTES: Final = 65536
CHUNK_HEADER_BYTES: Final = 512
MAX_CHUNKS: Final = 65535
"""The file header counts chunks in 16 bits, so no log is larger than 4 GiB."""
DIGEST_BYTES: Final = 6
RECORD_MAGIC: Final = b"\x2a\x2a\0\0"

_RECORD_LEAST = 28
_DIRTY = 1
_NO_CHECKSUMS = 4
_ZEROES = bytes(CHUNK_BYTES)
_FRAME = struct.Struct("<4sIQ")
_SIZE = struct.Struct("<4sI")
FRAME_BYTES: Final = _FRAME.size
_IDS = struct.Struct("<QQ4xIII")


class FileHeader(NamedTuple):
    """Fields of the file header; of an open or crashed log it may be out of date."""

    first_chunk: int
    """Number of the oldest chunk; not 0 in a circular log."""
    dirty: bool
    """The log was open when the file was written."""


class Record(NamedTuple):
    offset: int
    size: int
    record_id: int

    @property
    def end(self) -> int:
        return self.offset + self.size


class Chunk(NamedTuple):
    """One chunk and its records. `problem` is empty when checksums (or, in logs without them, the
    chain of records) prove the chunk whole; otherwise it says what is wrong, and `first`, `last`
    and `records` are those of the records found."""

    data: bytes
    """64 KiB, zeroes where the file ends before."""
    first: int
    last: int
    end: int
    """Offset after the last record."""
    crc: int = 0
    """CRC32 of the records, of a whole chunk only."""
    problem: str = ""
    found: tuple[Record, ...] = ()
    """The records of a damaged chunk."""


def file_header(block: bytes) -> FileHeader | None:
    """The file header in the first 4,096 bytes; None when it is not one."""
    if len(block) < 128 or not block.startswith(FILE_MAGIC):
        return None
    (first,) = struct.unpack_from("<Q", block, 8)
    (flags,) = struct.unpack_from("<I", block, 120)
    return FileHeader(first_chunk=first, dirty=bool(flags & _DIRTY))


def chunk_offset(number: int) -> int:
    """Offset in the file of chunk `number`, counted from 0."""
    return FILE_HEADER_BYTES + number * CHUNK_BYTES


def chunk_count(size: int) -> int:
    """Chunks in a file of `size` bytes, a last incomplete one included. The file's own count is not
    asked: in an open or crashed log it is too small."""
    return min(max(0, -(-(size - FILE_HEADER_BYTES) // CHUNK_BYTES)), MAX_CHUNKS)


def frame_offset(header: bytes) -> int:
    """Offset at which a record would stand that the chunk header does not know yet."""
    free = int.from_bytes(header[48:52], "little")
    return min(max(free, CHUNK_HEADER_BYTES), CHUNK_BYTES - FRAME_BYTES)


def digest(header: bytes, frame: bytes, available: int) -> bytes:
    """Fingerprint of a chunk: while it stays the same, so do the chunk's records. Made of its
    header (ids, checksum of the records), the 16 bytes at `frame_offset` and the number of bytes
    the file has of it."""
    content = header + frame + available.to_bytes(4, "little")
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


def digest_of(data: bytes) -> bytes:
    """`digest` of a chunk that was read whole, or as far as the file goes."""
    at = frame_offset(data[:CHUNK_HEADER_BYTES])
    return digest(data[:CHUNK_HEADER_BYTES], data[at : at + FRAME_BYTES], len(data))


def digest_of_damaged(data: bytes) -> bytes:
    """Fingerprint of a chunk whose header and records do not go together: of all its bytes. Its
    header may be that of records which are still to be written."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES, person=b"damaged").digest()


def may_grow_unseen(data: bytes) -> bool:
    """Does a record stand behind the end the header knows? Then more may follow without a new
    header, and the fingerprint does not tell."""
    return data.startswith(RECORD_MAGIC, frame_offset(data[:CHUNK_HEADER_BYTES]))


def examine(data: bytes) -> Chunk | None:
    """Examine the up to 64 KiB of one chunk; None when nothing was ever written to it."""
    if data == _ZEROES[: len(data)]:
        return None
    if len(data) < CHUNK_BYTES:
        return _salvaged(data.ljust(CHUNK_BYTES, b"\0"), "the file ends within the chunk")
    problem = _header_problem(data)
    if problem:
        return _salvaged(data, problem)
    first, last, _, free, records_crc = _IDS.unpack_from(data, 24)
    (flags,) = struct.unpack_from("<I", data, 120)
    crc = zlib.crc32(data[CHUNK_HEADER_BYTES:free])
    if flags & _NO_CHECKSUMS:
        if not _chained(data, first, last, free):
            return _salvaged(data, "the records do not follow each other")
    elif records_crc != crc:
        return _salvaged(data, "the checksum of the records does not match")
    return _extended(Chunk(data, first, last, free, crc))


def _header_problem(data: bytes) -> str:
    if not data.startswith(CHUNK_MAGIC):
        return "the chunk header is missing"
    flags, crc = struct.unpack_from("<II", data, 120)
    if not flags & _NO_CHECKSUMS and zlib.crc32(data[128:512], zlib.crc32(data[:120])) != crc:
        return "the checksum of the chunk header does not match"
    _, _, last_offset, free, _ = _IDS.unpack_from(data, 24)
    if not CHUNK_HEADER_BYTES <= free <= CHUNK_BYTES or last_offset > free:
        return "the chunk header points outside of the chunk"
    return ""


def _frame(data: bytes, at: int, end: int = CHUNK_BYTES) -> Record | None:
    """The record at `at`, when its size stands at both ends; None when there is none."""
    if at + _RECORD_LEAST > end or not data.startswith(RECORD_MAGIC, at):
        return None
    _, size, record_id = _FRAME.unpack_from(data, at)
    if not _RECORD_LEAST <= size <= end - at:
        return None
    if struct.unpack_from("<I", data, at + size - 4)[0] != size:
        return None
    return Record(at, size, record_id)


def _chained(data: bytes, first: int, last: int, free: int) -> bool:
    """Do records `first` to `last` fill the chunk up to its free space, without a hole?"""
    at, expected = CHUNK_HEADER_BYTES, first
    while at < free:
        record = _frame(data, at, free)
        if record is None or record.record_id != expected:
            return False
        at, expected = record.end, expected + 1
    return expected == last + 1


def _extended(chunk: Chunk) -> Chunk:
    """The chunk with the records that its header does not know yet. The service writes records
    first and the header later, so a copy of a running log may hold more than the header says. They
    are taken when whole and numbered on without a gap: remains of an earlier use of the chunk are
    not."""
    empty = chunk.end == CHUNK_HEADER_BYTES
    record = _frame(chunk.data, chunk.end)
    if record is None or not (empty or record.record_id == chunk.last + 1):
        return chunk
    records = [record]
    while (record := _frame(chunk.data, records[-1].end)) is not None:
        if record.record_id != records[-1].record_id + 1:
            break
        records.append(record)
    return chunk._replace(
        first=records[0].record_id if empty else chunk.first,
        last=records[-1].record_id,
        end=records[-1].end,
        crc=zlib.crc32(chunk.data[CHUNK_HEADER_BYTES : records[-1].end]),
    )


def _salvaged(data: bytes, problem: str) -> Chunk:
    records = salvage(data)
    if not records:
        return Chunk(data, 0, 0, CHUNK_HEADER_BYTES, problem=problem)
    first, last = records[0].record_id, records[-1].record_id
    return Chunk(data, first, last, records[-1].end, problem=problem, found=records)


def salvage(data: bytes) -> tuple[Record, ...]:
    (free,) = struct.unpack_from("<I", data, 48)
    records: list[Record] = []
    at = CHUNK_HEADER_BYTES
    while at >= 0:
        record = _frame(data, at)
        apart = record.record_id - records[-1].record_id if record and records else 1
        # Two that cannot stand in one use of a chunk: the second remains from an earlier use.
        if record is None or (at >= free and not 0 < apart <= CHUNK_BYTES // _RECORD_LEAST):
            at = data.find(RECORD_MAGIC, at + 1)
        else:
            records.append(record)
            at = record.end
    return tuple(records)


def walk(chunk: Chunk) -> list[int] | None:
    """Offsets of the records of a whole chunk; None when they do not fill it."""
    data, offsets = chunk.data, []
    at, most = CHUNK_HEADER_BYTES, chunk.end - _RECORD_LEAST
    size_of = _SIZE.unpack_from
    while at <= most:
        magic, size = size_of(data, at)
        if magic != RECORD_MAGIC or size < _RECORD_LEAST:
            return None
        offsets.append(at)
        at += size
    return offsets if at == chunk.end else None
