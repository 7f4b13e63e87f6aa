"""The segments of a transaction log: which are valid, where they end, what is damaged.

From version 8 on a log is a row of 4 KiB segments, each with the checksum of a data page under
its own number. Behind the last segment written stands its shadow, a copy that mends a torn
write; behind that, zeros or segments of an older log whose file was used again. The last
segment of the file is for a shadow only. Source: ErrLGCheckReadLastLogRecordFF in logread.cxx,
LGSEGHDR and AccumulateSectorChecksum in _logstream.hxx of the published engine.
"""

import struct
from functools import reduce
from operator import xor
from typing import Final

import msgspec

from esewatch.ese.logs.log_header import SEGMENT_BYTES, LogHeader
from esewatch.ese.pages.checksum import diagnose
from esewatch.ese.pages.kernels import classify
from esewatch.ese.pages.layout import BLANK, GOOD

FIRST_SEGMENT: Final = 1
"""Number of the first segment: the header is 0."""

MAX_CORRECTED: Final = 100
"""Corrected segments of one log that are listed."""

_POSITION = struct.Struct("<8xHHI")
_CHECKSUM = struct.Struct("<Q")
_CHECKSUMS = struct.Struct(f"<Q{SEGMENT_BYTES - 8}x")


class Segments(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the segments of one log say."""

    last: int
    """The last valid segment; 0: none, the log was only begun."""
    bad: int | None = None
    """The first segment that no replay gets past."""
    reason: str = ""
    """A sentence on `bad`."""
    torn: int | None = None
    """A segment of a write that did not end; its shadow is good, and the engine takes that."""
    corrected: tuple[int, ...] = ()
    """Segments in which the engine corrects one flipped bit."""
    checksum: int = 0
    """XOR of the checksums of all valid segments: the header of the next log has it."""


class SegmentCheck:
    """Takes the segments of one log in their order, in pieces of any number."""

    def __init__(self, header: LogHeader) -> None:
        self._generation = header.generation
        self._end = header.sectors - 1
        self._zero_filled = header.is_zero_filled()
        self._next = FIRST_SEGMENT
        self._last = FIRST_SEGMENT - 1
        self._is_empty = False
        self._pending: int | None = None
        self._bad: int | None = None
        self._reason = ""
        self._torn: int | None = None
        self._corrected: list[int] = []
        self._checksum = 0

    def is_over(self) -> bool:
        """Whether nothing that follows can change the result."""
        return self._bad is not None

    def add(self, data: memoryview) -> None:
        """The next whole segments."""
        count = len(data) // SEGMENT_BYTES
        classes = classify(data[: count * SEGMENT_BYTES], SEGMENT_BYTES, self._next)
        if self._all_valid(data, classes) or self._all_unused(classes):
            self._next += count
            return
        for at, kind in enumerate(classes):
            if self._bad is not None:
                return
            self._one(data[at * SEGMENT_BYTES : (at + 1) * SEGMENT_BYTES], kind)
            self._next += 1

    def result(self) -> Segments:
        """After the last segment of the file."""
        if self._pending is not None and self._bad is None:
            self._damaged(self._pending, "is damaged, and the file ends before its shadow")
        return Segments(
            last=self._last,
            bad=self._bad,
            reason=self._reason,
            torn=self._torn,
            corrected=tuple(self._corrected),
            checksum=self._checksum,
        )

    def _all_valid(self, data: memoryview, classes: bytes) -> bool:
        """The short way of a piece in the middle of the log: all segments are what they should."""
        count = len(classes)
        over = self._next + count > self._end
        if over or self._is_empty or self._pending is not None or classes.strip(bytes([GOOD])):
            return False
        numbers = range(self._next, self._next + count)
        expected = struct.pack(f"<{count}H", *numbers)
        columns = [
            data[at : count * SEGMENT_BYTES : SEGMENT_BYTES].tobytes() for at in range(8, 16)
        ]
        generation = struct.pack("<I", self._generation)
        if any(columns[0]) or any(columns[1]):
            return False
        if columns[2] != expected[::2] or columns[3] != expected[1::2]:
            return False
        if any(columns[4 + at] != generation[at : at + 1] * count for at in range(4)):
            return False
        whole = data[: count * SEGMENT_BYTES]
        self._checksum ^= reduce(xor, (value for (value,) in _CHECKSUMS.iter_unpack(whole)))
        self._last = self._next + count - 1
        return True

    def _all_unused(self, classes: bytes) -> bool:
        blank = not classes.strip(bytes([BLANK]))
        return blank and self._is_empty and self._zero_filled

    def _one(self, segment: memoryview, kind: int) -> None:
        if self._pending is not None:
            self._shadow_of(self._pending, bytes(segment))
            self._pending = None
        if self._next >= self._end or self._bad is not None:
            return
        if self._torn == self._next - 1:
            # This one is the shadow that was just taken.
            self._is_empty = True
            return
        valid = bytes(segment) if kind == GOOD else _corrected(bytes(segment), self._next)
        if valid is not None:
            self._valid(valid, corrected=kind != GOOD)
        elif self._is_shadow(bytes(segment)) or (kind == BLANK and self._zero_filled):
            self._is_empty = True
        elif self._is_empty:
            self._damaged(self._next, "is damaged, behind the end of what was written")
        else:
            self._pending = self._next

    def _is_shadow(self, segment: bytes) -> bool:
        """Whether the segment is a copy of the one before, of whatever log.

        Its checksum alone does not say so: a byte of segment 128 changed whole has that of 127.
        """
        shadow = _corrected(segment, self._next - 1)
        return shadow is not None and _POSITION.unpack_from(shadow)[:2] == (0, self._next - 1)

    def _valid(self, segment: bytes, *, corrected: bool) -> None:
        """A segment whose checksum is right: of this place in this log, of an older one, or not."""
        byte, number, generation = _POSITION.unpack_from(segment)
        here, there = (self._generation, self._next, 0), (generation, number, byte)
        if there < here:
            self._is_empty = True
        elif there > here:
            self._damaged(self._next, "is that of another place in the log")
        elif self._is_empty:
            self._damaged(self._next, "is valid behind one that is not: a write is lost")
        else:
            self._take(segment, corrected=corrected)

    def _take(self, segment: bytes, *, corrected: bool) -> None:
        self._last = self._next
        self._checksum ^= _CHECKSUM.unpack_from(segment)[0]
        if corrected and len(self._corrected) < MAX_CORRECTED:
            self._corrected.append(self._next)

    def _shadow_of(self, number: int, segment: bytes) -> None:
        """Whether `segment`, the one behind the damaged `number`, is its shadow."""
        shadow = _corrected(segment, number)
        if shadow is None or _POSITION.unpack_from(shadow) != (0, number, self._generation):
            self._damaged(number, "is damaged (checksum)")
            return
        self._torn = self._last = number
        self._checksum ^= _CHECKSUM.unpack_from(shadow)[0]

    def _damaged(self, number: int, what: str) -> None:
        self._bad = number
        self._reason = f"segment {number} at byte {number * SEGMENT_BYTES} {what}"


def _corrected(segment: bytes, number: int) -> bytes | None:
    """The segment as the one of `number`, a flipped bit corrected; None: it is not."""
    found = diagnose(segment, number)
    if found.fault is None:
        return segment
    if found.fault != "correctable":
        return None
    whole = bytearray(segment)
    for bit in found.bits:
        whole[bit // 8] ^= 1 << bit % 8
    return bytes(whole)
