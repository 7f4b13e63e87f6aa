"""The target `log`: anything as a log or checkpoint, and whole logs with bytes changed."""

import functools
import struct

import msgspec

from esefiles.commands.header import header_object, header_text
from esefiles.logs.checkpoint import Checkpoint, parse_checkpoint
from esefiles.logs.log_header import LOG_HEADER_BYTES, LogHeader, NotLog, parse_log_header
from esefiles.logs.segments import SegmentCheck, Segments
from tests.support.edb import sealed_header
from tests.support.logs import SEGMENT, SEGMENTS, Log

CHANGE = struct.Struct("<BHB")
"""A segment of the file, a byte of it, what that is XORed with."""
COPY = 0xFF
"""In place of the XOR: the segment is a copy of the one that the place names."""


def log(data: bytes) -> None:
    """As it is; as the content of a header that is sealed; and as changes of a whole log."""
    _headers(data)
    page = (data + _whole(3)[len(data) :])[:LOG_HEADER_BYTES]
    _headers(sealed_header(page) * 2)
    _segments(data)


def _headers(data: bytes) -> None:
    found = parse_log_header(data), parse_checkpoint(data)
    for header in found:
        if isinstance(header, NotLog):
            assert 0 < len(header.reason) < 200
            continue
        shown = header_text("edb.log", len(data), header)
        assert all(line.isprintable() for line in shown.split("\n"))
        assert msgspec.json.decode(msgspec.json.encode(header), type=type(header)) == header
        msgspec.json.encode(header_object("edb.log", len(data), header))
        assert len(header.attachments) <= 32
        if isinstance(header, Checkpoint):
            assert header.header_ok or header.shadow_header_ok


@functools.lru_cache(maxsize=16)
def _whole(used: int) -> bytes:
    return Log(7, used=used).data()


def _segments(data: bytes) -> None:
    whole = bytearray(_whole(data[0] % (SEGMENTS - 2) if data else 0))
    for at in range(1, len(data) - CHANGE.size + 1, CHANGE.size):
        segment, place, change = CHANGE.unpack_from(data, at)
        begin = (1 + segment % (SEGMENTS - 1)) * SEGMENT
        if change == COPY:
            source = (1 + place % (SEGMENTS - 1)) * SEGMENT
            whole[begin : begin + SEGMENT] = whole[source : source + SEGMENT]
        else:
            whole[begin + place % SEGMENT] ^= change
    content = bytes(whole)
    found = _checked(content, SEGMENTS)
    assert found == _checked(content, 1) == _checked(content, 3), "pieces make a difference"
    assert 0 <= found.last < SEGMENTS - 1
    assert (found.bad is None) == (found.reason == "")
    assert found.bad is None or found.bad > found.last
    if content != _whole(data[0] % (SEGMENTS - 2) if data else 0):
        return
    assert found.bad is None and not found.corrected and found.torn is None


def _checked(content: bytes, piece: int) -> Segments:
    header = parse_log_header(content)
    assert isinstance(header, LogHeader)
    check = SegmentCheck(header)
    rest = memoryview(content)[SEGMENT:]
    for at in range(0, len(rest), piece * SEGMENT):
        check.add(rest[at : at + piece * SEGMENT])
    return check.result()
