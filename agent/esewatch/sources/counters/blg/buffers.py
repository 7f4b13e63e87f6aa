"""The outer form of a binary performance log: buffers of equal size, and the events in them.

An event never crosses a buffer. A long body is cut into parts, one event each, which
may go on in the next buffer.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

HEADER_EVENT: Final = 0
"""The first event of the file. All others have the number that is stored in them."""
CATALOGUE: Final = 0x20
SAMPLE: Final = 0x22
NAMES: Final = 0x24

BUFFER_HEAD: Final = 72
EVENT_HEAD: Final = 72
"""Of an event of the log itself, with the identity of the log and the number of the part."""
SMALLEST_BUFFER: Final = 4096
LARGEST_BUFFER: Final = 4 << 20
MOST_PARTS: Final = 512
"""Parts of one body; 8000 bytes each make 4 MB."""
MOST_BYTES: Final = 4 << 20
"""Of one body."""

_OURS: Final = bytes.fromhex("b33b3f933e940d499ced3cbb14c14479")
_SIZE: Final = struct.Struct("<I")
_EVENT: Final = struct.Struct("<HHBxH8xQ16s24xII")
_MARK: Final = 0xC0
_SYSTEM: Final = frozenset({_MARK << 8 | 1, _MARK << 8 | 2})
_EVENTS: Final = frozenset({_MARK << 8 | 10, _MARK << 8 | 20})
_SMALLEST_EVENT: Final = 32
_SEQUENCE: Final = struct.Struct("<Q")

Tell = Callable[[int, str], None]
"""(offset in the data, reason): something there cannot be read."""


def silent(_at: int, _reason: str) -> None:
    """For data whose damage another reading reports."""


class TraceEvent(NamedTuple):
    """One event in the data: its number and its body from `start` to `end`."""

    type: int
    at: int
    time: int
    """Local time, 100 ns since 1601."""
    part: int
    parts: int
    start: int
    end: int


def buffer_size(head: bytes) -> int:
    """The size of the buffers of a file that begins so; 0 when it is no trace file."""
    if len(head) < BUFFER_HEAD + 4:
        return 0
    (size,) = _SIZE.unpack_from(head, 0)
    (used,) = _SIZE.unpack_from(head, 0x30)
    (mark,) = struct.unpack_from("<H", head, BUFFER_HEAD + 2)
    if not SMALLEST_BUFFER <= size <= LARGEST_BUFFER or size % 1024 or mark not in _SYSTEM:
        return 0
    return int(size) if BUFFER_HEAD < used <= size else 0


def sequence(head: bytes) -> int:
    """The number of a buffer that begins so, by which those of a circular log are sorted."""
    return int(_SEQUENCE.unpack_from(head, 0x18)[0])


class Buffers:
    """Walks the events of consecutive data, which may begin and end within a buffer. `phase` is the
    place in its buffer at which the data begins, `used` the length of that buffer."""

    def __init__(self, size: int, phase: int = 0, used: int = 0) -> None:
        self.size = size
        self.phase = phase
        self.used = used

    def events(self, data: bytes, tell: Tell, begin: int = 0) -> Iterator[TraceEvent]:
        """The whole events of `data`. A damaged one is reported and left out. `begin`: the end of
        an event, from which on they are wanted."""
        size, zeros = self.size, 0
        first = (self.phase + begin) // size * size - self.phase
        for base in range(first, len(data), size):
            if base < 0:
                used, at = self.used, 0
            else:
                if base + BUFFER_HEAD > len(data):
                    tell(base, "buffer is cut short")
                    return
                (used,) = _SIZE.unpack_from(data, base + 0x30)
                at = base + BUFFER_HEAD
                if not BUFFER_HEAD <= used <= size:
                    if data.count(0, base, base + size) == min(size, len(data) - base):
                        zeros += 1
                    else:
                        tell(base, f"buffer claims {used} used bytes of {size}")
                    continue
                if zeros:  # those at the end of a file are room for more
                    tell(base, f"buffers of zeros before this one: {zeros}")
                    zeros = 0
            if at < begin:
                at = begin + (base - begin) % 8
            yield from self._in_buffer(data, base, at, base + used, tell)

    def _in_buffer(
        self, data: bytes, base: int, at: int, end: int, tell: Tell
    ) -> Iterator[TraceEvent]:
        unpack, last = _EVENT.unpack_from, min(end, len(data))
        while at + _SMALLEST_EVENT <= last:
            if at + EVENT_HEAD <= last:
                size, mark, kind, _, time, owner, part, parts = unpack(data, at)
            else:
                size, mark = struct.unpack_from("<HH", data, at)
                kind = time = part = parts = 0
                owner = b""
            if mark in _SYSTEM:
                (size,) = struct.unpack_from("<H", data, at + 4)
                kind, owner, part, parts = HEADER_EVENT, _OURS, 1, 1
            elif mark not in _EVENTS:
                tell(at, f"no event where one should begin: mark 0x{mark:04x}")
                return
            if size < _SMALLEST_EVENT or at + size > end:
                tell(at, f"event of {size} bytes does not fit in its buffer")
                return
            if at + size > last:
                tell(at, "event is cut short")
                return
            if owner == _OURS and (size >= EVENT_HEAD or kind == HEADER_EVENT):
                body = at + (32 if kind == HEADER_EVENT else EVENT_HEAD)
                yield TraceEvent(kind, at, time, part, parts, body, at + size)
            at += size + (base - at - size) % 8

    def place_of(self, data: bytes, at: int) -> tuple[int, int]:
        """`phase` and `used` for data that begins at `at` of this data."""
        phase = (self.phase + at) % self.size
        base = at - phase
        if not phase:
            return 0, 0
        if base < 0:
            return phase, self.used
        if base + BUFFER_HEAD > len(data):  # cut within its head: what may follow is not known
            return phase, 0
        return phase, int(_SIZE.unpack_from(data, base + 0x30)[0])


class WholeBody(NamedTuple):
    """A whole body: its bytes are `data[start:end]`."""

    type: int
    at: int
    """Offset at which its first event begins."""
    seen: int
    """Offset at which the event begins that completes it."""
    behind: int
    """Offset at which that event ends."""
    time: int
    data: bytes
    start: int
    end: int


class Joiner:
    """Joins the parts of long bodies. A body that lacks a part is reported and dropped."""

    def __init__(self, data: bytes, tell: Tell) -> None:
        self._data = data
        self._tell = tell
        self._parts: list[TraceEvent] = []
        self._bytes = 0

    @property
    def pending(self) -> int | None:
        """Start of the body of which parts are still to come; None when there is none."""
        return self._parts[0].at if self._parts else None

    def drop(self, at: int) -> None:
        """Tell and forget the body of which parts are missing, as is seen `at` a place."""
        if self._parts:
            there, parts = len(self._parts), self._parts[0].parts
            self._tell(at, f"of {parts} parts of a sample only the first {there} are there")
            self._parts, self._bytes = [], 0

    def add(self, event: TraceEvent) -> WholeBody | None:
        """The whole body that this event completes, None while there is none."""
        if event.part == event.parts == 1:
            self.drop(event.at)
            at, data = event.at, self._data
            return WholeBody(
                event.type, at, at, event.end, event.time, data, event.start, event.end
            )
        if event.part == 1:
            self.drop(event.at)
        elif not self._follows(event):
            if not self._parts:
                what = f"part {event.part} of {event.parts} of a sample without those before it"
                self._tell(event.at, what)
            self.drop(event.at)
            return None
        self._parts.append(event)
        self._bytes += event.end - event.start
        if not 1 <= event.parts <= MOST_PARTS or self._bytes > MOST_BYTES:
            self._tell(event.at, f"body of {event.parts} parts is longer than any sample")
            self._parts, self._bytes = [], 0
            return None
        if event.part < event.parts:
            return None
        first = self._parts[0]
        view = memoryview(self._data)
        body = b"".join([view[each.start : each.end] for each in self._parts])
        self._parts, self._bytes = [], 0
        return WholeBody(first.type, first.at, event.at, event.end, first.time, body, 0, len(body))

    def _follows(self, event: TraceEvent) -> bool:
        if not self._parts:
            return False
        last = self._parts[-1]
        return (last.type, last.time, last.parts, last.part + 1) == (
            event.type,
            event.time,
            event.parts,
            event.part,
        )
