"""The outer layers of a Windows event log (.evtx): file header, chunks, record frames.

Layout (all numbers little endian): a file header block of 4,096 bytes, then
chunks of 64 KiB. A chunk has a header of 512 bytes: magic at 0, first and last
record id at 24 and 32, offset of the last record at 44, of the free space at 48,
CRC32 of the records at 52, flags at 120, CRC32 of the header (bytes 0-119 and
128-511) at 124. A record: magic at 0, its size at 4 and again in its last four
bytes, its id at 8. What is inside a record (BinXML) is not read here.
"""

import hashlib
import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise
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
FRAME_BYTES: Final = _FRAME.size
_IDS = struct.Struct("<QQIIII")


class FileHeader(NamedTuple):
    """What the file header says; of an open or crashed log it may be out of date."""

    first_chunk: int
    """Number of the oldest chunk; not 0 in a circular log."""
    dirty: bool
    """The log was open when the file was written."""


class Record(NamedTuple):
    """The frame of one record: offset in the chunk, size in bytes, id."""

    offset: int
    size: int
    record_id: int

    @property
    def end(self) -> int:
        """Offset of the byte after the record."""
        return self.offset + self.size


class Chunk(NamedTuple):
    """One chunk made ready for the decoder.

    `data` has a header that leads to every record found, also where the one on
    disk does not. `problem` is empty when checksums (or, in logs without them,
    the chain of records) prove the chunk whole; otherwise it says what is wrong,
    and `first` and `last` are those of the records found.
    """

    data: bytes
    first: int
    last: int
    last_offset: int
    end: int
    """Offset after the last record."""
    crc: int = 0
    """CRC32 of the records, of a whole chunk only."""
    problem: str = ""
    rubbish: bool = False
    """A filler stands first, which is no record: it only leads to the first one."""


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
    """Chunks in a file of `size` bytes, a last incomplete one included.

    The file's own count is not asked: in an open or crashed log it is too small.
    """
    return min(max(0, -(-(size - FILE_HEADER_BYTES) // CHUNK_BYTES)), MAX_CHUNKS)


def frame_offset(header: bytes) -> int:
    """Where a record would stand that the chunk header does not know yet."""
    free = int.from_bytes(header[48:52], "little")
    return min(max(free, CHUNK_HEADER_BYTES), CHUNK_BYTES - FRAME_BYTES)


def digest(header: bytes, frame: bytes, available: int) -> bytes:
    """Fingerprint of a chunk: while it stays the same, so do the chunk's records.

    Made of its header (ids, checksum of the records), the 16 bytes at `frame_offset` and the number
    of bytes the file has of it.
    """
    content = header + frame + available.to_bytes(4, "little")
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


def digest_of(data: bytes) -> bytes:
    """`digest` of a chunk that was read whole, or as far as the file goes."""
    at = frame_offset(data[:CHUNK_HEADER_BYTES])
    return digest(data[:CHUNK_HEADER_BYTES], data[at : at + FRAME_BYTES], len(data))


def may_grow_unseen(data: bytes) -> bool:
    """Does a record stand behind the end the header knows?

    Then more may follow without a new header, and the fingerprint does not tell.
    """
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
    first, last, _, last_offset, free, records_crc = _IDS.unpack_from(data, 24)
    (flags,) = struct.unpack_from("<I", data, 120)
    crc = zlib.crc32(data[CHUNK_HEADER_BYTES:free])
    if flags & _NO_CHECKSUMS:
        if not _chained(data, first, last, free):
            return _salvaged(data, "the records do not follow each other")
    elif records_crc != crc:
        return _salvaged(data, "the checksum of the records does not match")
    return _extended(Chunk(data, first, last, last_offset, free, crc))


def _header_problem(data: bytes) -> str:
    """Why the chunk header cannot be trusted, empty when it can."""
    if not data.startswith(CHUNK_MAGIC):
        return "the chunk header is missing"
    flags, crc = struct.unpack_from("<II", data, 120)
    if not flags & _NO_CHECKSUMS and zlib.crc32(data[128:512], zlib.crc32(data[:120])) != crc:
        return "the checksum of the chunk header does not match"
    _, _, _, last_offset, free, _ = _IDS.unpack_from(data, 24)
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
    """The chunk with the records that its header does not know yet.

    The service writes records first and the header later, so a copy of a running log may hold more
    than the header says. They are taken when whole and numbered on without a gap: remains of an
    earlier use of the chunk are not.
    """
    empty = chunk.end == CHUNK_HEADER_BYTES
    record = _frame(chunk.data, chunk.end)
    if record is None or not (empty or record.record_id == chunk.last + 1):
        return chunk
    records = [record]
    while (record := _frame(chunk.data, records[-1].end)) is not None:
        if record.record_id != records[-1].record_id + 1:
            break
        records.append(record)
    first = records[0].record_id if empty else chunk.first
    return _with_header(chunk.data, first, records[-1])


def _salvaged(data: bytes, problem: str) -> Chunk:
    """The readable part of a damaged chunk: every record whose frame is whole.

    The decoder stops at a broken frame, so the record before the hole is made to reach over it. A
    hole at the start becomes one record of rubbish. The decoder gets no damaged table of strings:
    `evtx_records` leaves the tables out.
    """
    (free,) = struct.unpack_from("<I", data, 48)
    records: list[Record] = []
    at = CHUNK_HEADER_BYTES
    while at >= 0:
        record = _frame(data, at)
        if record is None or (at >= free and records and not _follows(records[-1], record)):
            at = data.find(RECORD_MAGIC, at + 1)
        else:
            records.append(record)
            at = record.end
    if records and 0 < records[0].offset - CHUNK_HEADER_BYTES < _RECORD_LEAST:
        del records[0]
    if not records:
        return Chunk(b"", 0, 0, 0, CHUNK_HEADER_BYTES, 0, problem)
    patched = bytearray(data)
    for record in records:
        # A time of writing out of range stops the decoder; nobody asks for it.
        patched[record.offset + 16 : record.offset + 24] = bytes(8)
    hole = records[0].offset - CHUNK_HEADER_BYTES
    if hole:
        _FRAME.pack_into(patched, CHUNK_HEADER_BYTES, RECORD_MAGIC, hole, 0)
        patched[CHUNK_HEADER_BYTES + 16 : CHUNK_HEADER_BYTES + 28] = bytes(8) + b"\xff" * 4
    for record, following in pairwise(records):
        if record.end != following.offset:
            struct.pack_into("<I", patched, record.offset + 4, following.offset - record.offset)
    chunk = _with_header(bytes(patched), records[0].record_id, records[-1])
    return chunk._replace(problem=problem, rubbish=hole > 0)


def _follows(before: Record, record: Record) -> bool:
    """Can the two stand in one use of a chunk? Else one remains from an earlier use."""
    return 0 < record.record_id - before.record_id <= CHUNK_BYTES // _RECORD_LEAST


def _with_header(data: bytes, first: int, last: Record) -> Chunk:
    """The chunk with a header that leads from record id `first` to the record `last`."""
    header = bytearray(CHUNK_MAGIC.ljust(CHUNK_HEADER_BYTES, b"\0"))
    ids = (first, last.record_id)
    struct.pack_into("<QQQQIII", header, 8, *ids, *ids, 128, last.offset, last.end)
    crc = zlib.crc32(data[CHUNK_HEADER_BYTES : last.end])
    whole = bytes(header) + data[CHUNK_HEADER_BYTES:]
    return Chunk(whole, first, last.record_id, last.offset, last.end, crc)


def rebuilt(chunk: Chunk) -> Chunk:
    """A whole chunk on which the decoder failed, made as easy for it as a damaged one."""
    return _salvaged(chunk.data, "")


def kept_only(chunk: Chunk, places: Sequence[tuple[int, int]]) -> Chunk:
    """The chunk with nothing but the records at these places (offset and end of each).

    The last one is that of the chunk. Each other one reaches up to the next, so the
    decoder does not see what is between them.
    """
    data, at = memoryview(chunk.data), 0
    parts: list[memoryview | bytes] = []
    for (offset, end), (following, _) in pairwise(places):
        if end != following:
            size = (following - offset).to_bytes(4, "little")
            # A zero ends the content where the record did.
            parts += data[at : offset + 4], size, data[offset + 8 : end - 4], bytes(4)
            at = end
    return chunk._replace(data=b"".join((*parts, data[at:])))


def ends_only(chunk: Chunk) -> Chunk | None:
    """The chunk with only its first and its last record; None when there is no first one."""
    if chunk.last_offset <= CHUNK_HEADER_BYTES:
        return chunk
    first = _frame(chunk.data, CHUNK_HEADER_BYTES, chunk.end)
    if first is None:
        return None
    return kept_only(chunk, [(first.offset, first.end), (chunk.last_offset, chunk.end)])
