"""Writes binary performance logs (.blg). They say where they were made.

Buffers of equal size with events in them; each reaches the file when it is full. Times are
UTC: the zone of the log has no offset.
"""

import struct
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple

MADE_BY: Final = "esewatch reference engine"
"""Stands where the logger names itself."""

COUNTER: Final = 0x10410400
RAWCOUNT: Final = 0x00010000
LARGE_RAWCOUNT: Final = 0x00010100
AVERAGE_BULK: Final = 0x40020500
FREQUENCY: Final = 10_000_000
"""Of all clocks of the log: they count 100 ns."""

CATALOGUE: Final = 0x20
SAMPLE: Final = 0x22
NAMES: Final = 0x24
SINGLE, WILDCARD, WHOLE_OBJECT = 0, 1, 0x10

_FILETIME: Final = 11_644_473_600 * FREQUENCY
_EVENTS: Final = bytes.fromhex("b33b3f933e940d499ced3cbb14c14479")
_BUFFER_HEAD: Final = 72
_PART: Final = 8000
_SEQUENTIAL: Final = 1
_BUILD: Final = 9200


class Entry(NamedTuple):
    """One counter of one instance, of all (`*`), or all of an object (counter `*`)."""

    machine: str
    object: str
    instance: str
    counter: str
    type: int
    kind: int = WILDCARD
    frequency: int = FREQUENCY
    parent: str = ""
    nth: int = 0


def filetime(seconds: float) -> int:
    """100 ns since 1601 of epoch seconds, in whole milliseconds as a log has them."""
    return _FILETIME + round(seconds * 1000) * (FREQUENCY // 1000)


def single(time: int, first: int, second: int, status: int = 0) -> bytes:
    """The record of one value."""
    return struct.pack("<4sIIQIqqII", b"BL\3\1", 48, status, time, 0, first, second, 1, 0)


def wildcard(time: int, items: Sequence[tuple[str, int, int]], status: int = 0) -> bytes:
    """The record of a counter of all instances: their names and values."""
    names = [text(name) for name, _, _ in items]
    at = 24 + 24 * len(items)
    values = []
    for name, (_, first, second) in zip(names, items, strict=True):
        values.append(struct.pack("<IIqq", at, 0, first, second))
        at += len(name)
    body = b"".join([*values, *names])
    size = -(-(24 + len(body)) // 8) * 8
    head = struct.pack("<4sIIIIIQ", b"BL\3\2", 8 + size, size, len(items), status, 0, time)
    return (head + body).ljust(8 + size, b"\0")


def text(name: str) -> bytes:
    """A name as it is stored, with its end."""
    return name.encode("utf-16-le", "surrogatepass") + b"\0\0"


class BinaryLog:
    """Appends to a new log at `path`. Raises OSError."""

    def __init__(
        self, path: Path, began: float, *, size: int = 65536, mode: int = _SEQUENTIAL, west: int = 0
    ) -> None:
        """`west`: minutes that the zone of the log is west of UTC."""
        self._file = FileIO(path, "x")
        self._size = size
        self._numbers = 0
        self._time = filetime(began)
        self._buffer = bytearray()
        self._system_event(mode, west)
        self._write()

    def catalogue(self, entries: Sequence[Entry], time: int) -> None:
        """Set the columns that each sample has from now on."""
        self.event(CATALOGUE, time, bytes(8) + b"".join(map(_entry, entries)))

    def sample(self, time: int, records: Sequence[bytes]) -> None:
        """The records of a sample, in the order of the catalogue."""
        size = 8 + sum(map(len, records))
        self.event(SAMPLE, time, b"".join([struct.pack("<4sI", b"BL\3\0", size), *records]))

    def event(self, kind: int, time: int, body: bytes) -> None:
        """An event, in parts where it is long."""
        self._time = time
        parts = max(1, -(-len(body) // _PART))
        for part in range(parts):
            piece = body[part * _PART : (part + 1) * _PART]
            head = struct.pack(
                "<HBBBBHIIQ16sQ16sII",
                72 + len(piece), 20, 0xC0, kind, 0, 60, 0, 0, time, _EVENTS, 0, bytes(16),
                part + 1, parts,
            )  # fmt: skip
            self._append(head + piece)

    def close(self) -> None:
        """Write the last buffer, if there is anything in it, and close the file."""
        if self._buffer:
            self._write()
        self._file.close()

    def _append(self, event: bytes) -> None:
        free = self._size - _BUFFER_HEAD - len(self._buffer)
        if len(event) > free:
            self._write()
        self._buffer += event
        self._buffer += bytes(-len(event) % 8)

    def _write(self) -> None:
        used = _BUFFER_HEAD + len(self._buffer)
        head = struct.pack(
            "<IIIIQQ16xIHH16x",
            self._size, used, 0, 0, self._time, self._numbers, used, 0, 0 if self._numbers else 4,
        )  # fmt: skip
        self._numbers += 1
        self._file.write((head + bytes(self._buffer)).ljust(self._size, b"\xff"))
        self._buffer.clear()

    def _system_event(self, mode: int, west: int) -> None:
        zone = struct.pack(
            "<i64s16si64s16si", west, bytes(64), bytes(16), 0, bytes(64), bytes(16), 0
        )
        body = struct.pack(
            "<IBBBBIIQIIIIIIII16x",
            self._size, 6, 2, 1, 1, _BUILD, 1, 0, 0, 0, mode, 0, 1, 8, 0, 0,
        )  # fmt: skip
        body += zone
        body += bytes(-len(body) % 8)
        body += (
            struct.pack("<QQQII", 0, FREQUENCY, self._time, 1, 0) + text(MADE_BY) + text(MADE_BY)
        )
        head = struct.pack("<HBBHHIIQQ", 2, 2, 0xC0, 32 + len(body), 0, 0, 0, self._time, 0)
        self._buffer += head + body
        self._buffer += bytes(-len(self._buffer) % 8)


def _entry(entry: Entry) -> bytes:
    strings, places = b"", []
    machine = f"\\\\{entry.machine}" if entry.machine else ""
    for name in (machine, entry.object, entry.instance, entry.parent, entry.counter):
        places.append(len(strings) if name else -1)
        strings += text(name) if name else b""
    machine_at, object_at, instance_at, parent_at, counter_at = places
    size = -(-(52 + len(strings)) // 8) * 8
    head = struct.pack(
        "<IIIIqiiiiiIi",
        size, entry.kind, 0, entry.type, entry.frequency, 0,
        machine_at, object_at, instance_at, parent_at, entry.nth, counter_at,
    )  # fmt: skip
    return (head + strings).ljust(size, b"\0")
