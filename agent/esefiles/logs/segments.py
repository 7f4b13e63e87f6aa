"""The segments of a transaction log: which are valid, where they end, what is damaged.

From version 8 on a log is a row of 4 KiB segments, each with the checksum of a data page under
its own number. Behind the last segment written stands its shadow, a copy that repairs a torn
write; behind that, zeros or segments of an older log whose file was used again. The last
segment of the file is for a shadow only. Source: ErrLGCheckReadLastLogRecordFF in logread.cxx,
LGSEGHDR and AccumulateSectorChecksum in _logstream.hxx of the published engine.
"""

import struct
from functools import lru_cache
from typing import Final

import msgspec

from esefiles.logs.log_header import SEGMENT_BYTES, LogHeader
from esefiles.pages.checksum import corrected_page, diagnose
from esefiles.pages.kernels import classify
from esefiles.pages.layout import BLANK, GOOD

FIRST_SEGMENT: Final = 1
"""Number of the first segment: the header is 0."""

MAX_CORRECTED: Final = 100
"""Corrected segments of one log that are listed."""

_POSITION = struct.Struct("<8xHHI")
_CHECKSUM = struct.Struct("<Q")


class Segments(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Result of reading the segments of one log."""

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
        """True if nothing that follows can change the result."""
        return self._bad is not None

    def add(self, data: memoryview) -> None:
        """The next whole segments, contiguous bytes."""
        count = len(data) // SEGMENT_BYTES
        data = data[: count * SEGMENT_BYTES]
        classes = classify(data, SEGMENT_BYTES, self._next)
        at = self._valid_run(data, classes)
        while at < count and self._bad is None:
            if self._is_empty and self._zero_filled and not classes[at:].strip(bytes([BLANK])):
                self._next += count - at
                return
            self._one(bytes(data[at * SEGMENT_BYTES : (at + 1) * SEGMENT_BYTES]), classes[at])
            self._next += 1
            at += 1

    def result(self) -> Segments:
        """After the last segment of the file."""
        if self._pending is not None and self._bad is None:
            self._damaged(self._pending, "is damaged, and the file ends before its shadow")
        return Segments(
            last=self._last, bad=self._bad, reason=self._reason, torn=self._torn,
            corrected=tuple(self._corrected), checksum=self._checksum,
        )  # fmt: skip

    def _valid_run(self, data: memoryview, classes: bytes) -> int:
        """Take the segments at the beginning that are all as they should be; their number."""
        if self._is_empty or self._pending is not None or self._bad is not None:
            return 0
        good = len(classes) - len(classes.lstrip(bytes([GOOD])))
        good = min(good, self._end - self._next)
        if good <= 0:
            return 0
        words = data[: good * SEGMENT_BYTES].cast("Q")
        positions = int.from_bytes(words[1 :: SEGMENT_BYTES // 8].tobytes(), "little")
        places, ones = _places(self._next, good)
        if differences := positions ^ (places + ones * self._generation):
            # The position of a segment is a word: the lowest one that differs ends the run.
            good = ((differences & -differences).bit_length() - 1) // 64
        sums = words[:: SEGMENT_BYTES // 8].tobytes()[: good * 8]
        self._checksum ^= _xor_of_words(int.from_bytes(sums, "little"), good)
        self._next += good
        self._last = self._next - 1 if good else self._last
        return good

    def _one(self, segment: bytes, kind: int) -> None:
        if self._pending is not None:
            self._shadow_of(self._pending, segment)
            self._pending = None
        if self._next >= self._end or self._bad is not None:
            return
        if self._torn == self._next - 1:
            # This one is the shadow that was just taken.
            self._is_empty = True
            return
        blank = kind == BLANK and self._zero_filled
        exact = kind != GOOD and self._is_exact_shadow(segment)
        valid = segment if kind == GOOD else None
        if not (valid or blank or exact):
            valid = _corrected(segment, self._next)
        if valid is not None:
            self._valid(valid, corrected=kind != GOOD)
        elif blank or exact or self._is_shadow(_corrected(segment, self._next - 1)):
            self._is_empty = True
        elif self._is_empty:
            self._damaged(self._next, "is damaged, after the end of the written records")
        else:
            self._pending = self._next

    def _is_shadow(self, segment: bytes | None) -> bool:
        """True if the segment, valid as the one before, is a copy of that, of whatever log. Its
        checksum alone does not say so: a byte of segment 128 changed whole has that of 127."""
        return segment is not None and _POSITION.unpack_from(segment)[:2] == (0, self._next - 1)

    def _is_exact_shadow(self, segment: bytes) -> bool:
        """The same where no bit is flipped, in less time."""
        exact = classify(segment, SEGMENT_BYTES, self._next - 1)[0] == GOOD
        return exact and self._is_shadow(segment)

    def _valid(self, segment: bytes, *, corrected: bool) -> None:
        """A segment whose checksum is right: of this place in this log, of an older one, or not."""
        byte, number, generation = _POSITION.unpack_from(segment)
        here, there = (self._generation, self._next, 0), (generation, number, byte)
        if there < here:
            self._is_empty = True
        elif there > here:
            self._damaged(self._next, "belongs to another place in the log")
        elif self._is_empty:
            self._damaged(self._next, "is valid after one that is not: a write was lost")
        else:
            self._take(segment, corrected=corrected)

    def _take(self, segment: bytes, *, corrected: bool) -> None:
        self._last = self._next
        self._checksum ^= _CHECKSUM.unpack_from(segment)[0]
        if corrected and len(self._corrected) < MAX_CORRECTED:
            self._corrected.append(self._next)

    def _shadow_of(self, number: int, segment: bytes) -> None:
        shadow = _corrected(segment, number)
        if shadow is None or _POSITION.unpack_from(shadow) != (0, number, self._generation):
            self._damaged(number, "is damaged (checksum)")
            return
        self._torn = self._last = number
        self._checksum ^= _CHECKSUM.unpack_from(shadow)[0]

    def _damaged(self, number: int, what: str) -> None:
        self._bad = number
        self._reason = f"segment {number} at byte {number * SEGMENT_BYTES} {what}"


@lru_cache(maxsize=64)
def _places(first: int, count: int) -> tuple[int, int]:
    """The positions of so many segments of generation 0, and what one generation adds."""
    numbers = range(first, first + count)
    places = sum(number << 16 + 64 * at for at, number in enumerate(numbers))
    return places, sum(1 << 32 + 64 * at for at in range(count))


def _xor_of_words(words: int, count: int) -> int:
    while count > 1:
        half = (count + 1) // 2
        words = (words & ((1 << 64 * half) - 1)) ^ (words >> 64 * half)
        count = half
    return words


def _corrected(segment: bytes, number: int) -> bytes | None:
    """The segment as the one of `number`, a flipped bit corrected; None: it is not."""
    good = diagnose(segment, number).fault is None
    return segment if good else corrected_page(segment, number) or None
