"""A writer of valid Windows event logs (.evtx), and of the damage found on real disks.

Layout after the published description of the format: a file header of 4,096
bytes, chunks of 64 KiB (512 bytes of header, then records), records of BinXML
that share element names and templates within a chunk. Like the event log
service it fills one chunk in place, then rewrites the file header.
"""

import struct
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

FILE_HEADER_BYTES = 4096
CHUNK_BYTES = 65536
CHUNK_HEADER_BYTES = 512
CHUNK_MAGIC = b"ElfChnk\0"
RECORD_MAGIC = b"\x2a\x2a\0\0"
DIRTY, FULL = 1, 2
NO_CHECKSUMS = 4
NAMESPACE = "http://schemas.microsoft.com/win/2004/08/events/event"
EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
FRAGMENT = b"\x0f\x01\x01\x00"

Layout = Literal["array", "elements", "named", "user"]


def filetime(time: datetime) -> int:
    """100 ns ticks since 1601, exact to the microsecond."""
    return (time - EPOCH) // timedelta(microseconds=1) * 10


def chunk_start(number: int) -> int:
    """File offset of chunk `number`, counted from 0."""
    return FILE_HEADER_BYTES + number * CHUNK_BYTES


def overwrite(path: Path, offset: int, data: bytes) -> None:
    """Put `data` at `offset` of the file, as a failing disk would."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def flip_bit(path: Path, offset: int, bit: int = 0) -> None:
    """Turn one bit of the byte at `offset`."""
    value = path.read_bytes()[offset]
    overwrite(path, offset, bytes([value ^ (1 << bit)]))


def record_offsets(chunk: bytes) -> list[int]:
    """Offsets within an undamaged chunk at which its records begin."""
    (free,) = struct.unpack_from("<I", chunk, 48)
    offsets, at = [], CHUNK_HEADER_BYTES
    while at < free:
        offsets.append(at)
        at += int(struct.unpack_from("<I", chunk, at + 4)[0])
    return offsets


def read_chunk(path: Path, number: int) -> bytes:
    """The 64 KiB of chunk `number`."""
    with path.open("rb") as file:
        file.seek(chunk_start(number))
        return file.read(CHUNK_BYTES)


class _Chunk:
    """The chunk being filled: bytes, names and templates already in it."""

    def __init__(self, first: int, flags: int) -> None:
        self.data = bytearray(CHUNK_BYTES)
        self.first = first
        self.last = first - 1
        self.flags = flags
        self.free = CHUNK_HEADER_BYTES
        self.last_offset = 0
        self.names: dict[str, int] = {}
        self.templates: dict[int, int] = {}

    @classmethod
    def load(cls, data: bytes) -> Self:
        """A chunk read back from a file this writer wrote."""
        first, last, _, _, _, last_offset, free = struct.unpack_from("<QQQQIII", data, 8)
        chunk = cls(first, struct.unpack_from("<I", data, 120)[0])
        chunk.data[:] = data
        chunk.last, chunk.free, chunk.last_offset = last, free, last_offset
        for bucket in range(64):
            (at,) = struct.unpack_from("<I", data, 128 + 4 * bucket)
            while at:
                following, _, length = struct.unpack_from("<IHH", data, at)
                chunk.names[data[at + 8 : at + 8 + 2 * length].decode("utf-16-le")] = at
                at = following
        for bucket in range(32):
            (at,) = struct.unpack_from("<I", data, 384 + 4 * bucket)
            while at:
                following, key = struct.unpack_from("<II", data, at)
                chunk.templates[key] = at
                at = following
        return chunk

    def append(self, record_id: int, record: "_Encoder") -> None:
        """Take the encoded record in, with the names and templates it brings."""
        self.data[self.free : self.free + len(record.out)] = record.out
        for text, place in record.names.items():
            (value,) = struct.unpack_from("<H", self.data, place + 4)
            self._chain(128 + 4 * (value % 64), place)
            self.names[text] = place
        for key, place in record.templates.items():
            self._chain(384 + 4 * (key % 32), place)
            self.templates[key] = place
        self.last, self.last_offset = record_id, self.free
        self.free += len(record.out)

    def _chain(self, bucket: int, place: int) -> None:
        struct.pack_into("<I", self.data, place, *struct.unpack_from("<I", self.data, bucket))
        struct.pack_into("<I", self.data, bucket, place)

    def sealed(self) -> bytes:
        """The chunk with its header and checksums."""
        data = self.data
        data[:8] = CHUNK_MAGIC
        struct.pack_into("<QQQQ", data, 8, self.first, self.last, self.first, self.last)
        struct.pack_into("<III", data, 40, 128, self.last_offset, self.free)
        checked = not self.flags & NO_CHECKSUMS
        records = zlib.crc32(data[CHUNK_HEADER_BYTES : self.free]) if checked else 0
        struct.pack_into("<I", data, 52, records)
        struct.pack_into("<I", data, 120, self.flags)
        header = zlib.crc32(data[128:512], zlib.crc32(data[:120])) if checked else 0
        struct.pack_into("<I", data, 124, header)
        return bytes(data)


class _Encoder:
    """Builds the bytes of one record at its place in the chunk.

    Names and templates are written where they are first used and referred to by
    offset afterwards; they enter the chunk's tables only when the record fits.
    """

    def __init__(self, chunk: _Chunk, at: int) -> None:
        self.chunk = chunk
        self.at = at
        self.out = bytearray()
        self.names: dict[str, int] = {}
        self.templates: dict[int, int] = {}

    @property
    def here(self) -> int:
        return self.at + len(self.out)

    def name(self, text: str) -> None:
        """Reference to an element or attribute name."""
        known = self.chunk.names.get(text) or self.names.get(text)
        if known is not None:
            self.out += struct.pack("<I", known)
            return
        place = self.here + 4
        value = 0
        for char in text:
            value = (value * 65599 + ord(char)) & 0xFFFFFFFF
        self.out += struct.pack("<IIHH", place, 0, value & 0xFFFF, len(text))
        self.out += text.encode("utf-16-le") + b"\0\0"
        self.names[text] = place

    def text(self, value: str) -> None:
        """A literal string."""
        encoded = value.encode("utf-16-le")
        self.out += struct.pack("<BBH", 5, 1, len(encoded) // 2) + encoded

    def slot(self, index: int, kind: int) -> None:
        """An optional substitution: absent when its value is."""
        self.out += struct.pack("<BHB", 0x0E, index, kind)

    def element(
        self,
        name: str,
        content: "Sequence[Node] | None" = None,
        attributes: "Sequence[tuple[str, str | Slot]]" = (),
        dependency: int = 0xFFFF,
    ) -> None:
        """An element with its attributes and content; None makes it an empty one."""
        self.out += struct.pack("<BHI", 0x41 if attributes else 0x01, dependency, 0)
        size_at = len(self.out) - 4
        self.name(name)
        if attributes:
            list_at = len(self.out)
            self.out += b"\0\0\0\0"
            for position, (key, value) in enumerate(attributes):
                self.out.append(0x46 if position < len(attributes) - 1 else 0x06)
                self.name(key)
                self.node(value)
            struct.pack_into("<I", self.out, list_at, len(self.out) - list_at - 4)
        if content is None:
            self.out.append(0x03)
        else:
            self.out.append(0x02)
            for node in content:
                self.node(node)
            self.out.append(0x04)
        struct.pack_into("<I", self.out, size_at, len(self.out) - size_at - 4)

    def node(self, node: "Node") -> None:
        """Any of text, substitution, element."""
        if isinstance(node, str):
            self.text(node)
        elif isinstance(node, Slot):
            self.slot(node.index, node.kind)
        else:
            slots = [part for part in node.content or () if isinstance(part, Slot)]
            self.element(
                node.name,
                node.content,
                node.attributes,
                slots[0].index if slots else 0xFFFF,
            )

    def instance(self, root: "Element", values: "Sequence[Value]") -> None:
        """A template instance: the definition at its first use, then the values.

        A value that is itself a pair (template, values) becomes nested BinXML.
        """
        known = self.chunk.templates.get(root.key) or self.templates.get(root.key)
        self.out += FRAGMENT + struct.pack("<BBI", 0x0C, 1, root.key)
        if known is not None:
            self.out += struct.pack("<I", known)
        else:
            place = self.here + 4
            self.out += struct.pack("<IIIQI", place, 0, root.key, ~root.key & 0xFFFFFFFF, 0)
            size_at = len(self.out)
            self.out += b"\0\0\0\0" + FRAGMENT
            self.node(root)
            self.out.append(0)
            struct.pack_into("<I", self.out, size_at, len(self.out) - size_at - 4)
            self.templates[root.key] = place
        self.out += struct.pack("<I", len(values))
        descriptor = len(self.out)
        self.out += b"\0" * (4 * len(values))
        for kind, value in values:
            start = len(self.out)
            if isinstance(value, bytes):
                self.out += value
            else:
                self.instance(*value)
            struct.pack_into("<HBB", self.out, descriptor, len(self.out) - start, kind, 0)
            descriptor += 4


class Slot:
    """A place in a template that a value of the record fills."""

    def __init__(self, index: int, kind: int) -> None:
        self.index = index
        self.kind = kind

    def __repr__(self) -> str:
        return f"%{self.index}:{self.kind}"


class Element:
    """An element of a template; `content` None is an empty element."""

    def __init__(
        self,
        name: str,
        content: "Sequence[Node] | None" = None,
        attributes: "Sequence[tuple[str, str | Slot]]" = (),
    ) -> None:
        self.name = name
        self.content = content
        self.attributes = attributes

    @cached_property
    def key(self) -> int:
        """Identity of the template that has this element as its root."""
        return zlib.crc32(repr(self).encode())

    def __repr__(self) -> str:
        return f"<{self.name} {list(self.attributes)}>{self.content}"


Node = str | Slot | Element
Value = tuple[int, "bytes | tuple[Element, Sequence[Value]]"]
"""Type of a substitution value and its bytes, or a nested template instance."""


@cache
def _event(provider: str, channel: str, computer: str) -> Element:
    """The record's outer template; the numbers of its slots are those Windows uses."""
    return Element(
        "Event",
        [
            Element(
                "System",
                [
                    Element("Provider", None, [("Name", provider)]),
                    Element("EventID", [Slot(3, 0x06)], [("Qualifiers", Slot(4, 0x06))]),
                    Element("Level", [Slot(0, 0x04)]),
                    Element("Task", [Slot(2, 0x06)]),
                    Element("Keywords", [Slot(5, 0x15)]),
                    Element("TimeCreated", None, [("SystemTime", Slot(6, 0x11))]),
                    Element("EventRecordID", [Slot(10, 0x0A)]),
                    Element("Channel", [channel]),
                    Element("Computer", [computer]),
                    Element("Security", None, [("UserID", Slot(12, 0x13))]),
                ],
            ),
            Slot(19, 0x21),
        ],
        [("xmlns", NAMESPACE)],
    )


@cache
def _payload(layout: Layout, count: int) -> Element:
    """The inner template: how the strings are laid out."""
    if layout == "array":
        content = [Element("Data", [Slot(0, 0x81)]), Element("Binary", [Slot(2, 0x0E)])]
        return Element("EventData", content)
    if layout == "elements":
        return Element("EventData", [Element("Data", [Slot(i, 0x01)]) for i in range(count)])
    if layout == "named":
        names = [[("Name", f"param{i + 1}")] for i in range(count)]
        items = [Element("Data", [Slot(i, 0x01)], names[i]) for i in range(count)]
        return Element("EventData", items)
    inner = [Element(f"Param{i + 1}", [Slot(i, 0x01)]) for i in range(count)]
    return Element("UserData", [Element("EventXML", inner)])


def _slots(layout: Layout, strings: Sequence[str]) -> list[Value]:
    """The values of the inner template."""
    if layout == "array":
        array = b"".join(text.encode("utf-16-le", "surrogatepass") + b"\0\0" for text in strings)
        return [(0x81, array), (0x08, b"\0\0\0\0"), (0x00, b"")]
    return [(0x01, text.encode("utf-16-le", "surrogatepass")) for text in strings]


class EvtxWriter:
    """Writes one event log; several calls to `flush` make it grow as a live one does.

    An existing file is continued. `max_chunks` makes it circular: the oldest
    chunk is overwritten. `preallocate` zeroed chunks stand behind the last one.
    `dirty` leaves the file header as a service that was killed leaves it: flag
    set, chunk count of the first flush.
    """

    def __init__(
        self,
        path: Path,
        computer: str = "EX01.corp.example",
        channel: str = "Application",
        *,
        first_record_id: int = 1,
        max_chunks: int | None = None,
        preallocate: int = 0,
        dirty: bool = False,
        checksums: bool = True,
    ) -> None:
        self.path = path
        self.computer = computer
        self.channel = channel
        self.max_chunks = max_chunks
        self.preallocate = preallocate
        self.dirty = dirty
        self._flags = 1 if checksums else 1 | NO_CHECKSUMS
        self._header_written = False
        if path.exists():
            header = path.read_bytes()[:FILE_HEADER_BYTES]
            self._first, self._current = struct.unpack_from("<QQ", header, 8)
            (self._count,) = struct.unpack_from("<H", header, 42)
            self._chunk = _Chunk.load(read_chunk(path, self._current))
        else:
            self._first, self._current, self._count = 0, 0, 1
            self._chunk = _Chunk(first_record_id, self._flags)
        self._file = path.open("r+b" if path.exists() else "x+b")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def next_record_id(self) -> int:
        """The id the next record gets."""
        return self._chunk.last + 1

    def write(
        self,
        event_id: int,
        strings: Sequence[str],
        *,
        provider: str = "ESE",
        time: datetime,
        level: int = 4,
        task: int = 10,
        qualifiers: int = 0,
        computer: str | None = None,
        layout: Layout = "array",
        event_record_id: int | None = None,
    ) -> int:
        """Append one record and return its id; a full chunk is written out first.

        `event_record_id` differs from the id in the record's header in exported
        and forwarded logs. `layout` is the shape of the strings: one array as
        classic providers log, one element each, named elements, or UserData.
        """
        record_id = self.next_record_id
        values: list[Value] = [
            (0x04, bytes([level])),
            (0x04, b"\0"),
            (0x06, struct.pack("<H", task)),
            (0x06, struct.pack("<H", event_id)),
            (0x06, struct.pack("<H", qualifiers)),
            (0x15, struct.pack("<Q", 0x80000000000000)),
            (0x11, struct.pack("<Q", filetime(time))),
            (0x00, b""),
            (0x08, struct.pack("<I", 0)),
            (0x08, struct.pack("<I", 0)),
            (0x0A, struct.pack("<Q", event_record_id or record_id)),
            (0x04, b"\0"),
            *[(0x00, b"")] * 7,
            (0x21, (_payload(layout, len(strings)), _slots(layout, strings))),
        ]
        outer = _event(provider, self.channel, computer or self.computer)
        head = RECORD_MAGIC + struct.pack("<IQQ", 0, record_id, filetime(time))
        for _ in range(2):
            encoder = _Encoder(self._chunk, self._chunk.free)
            encoder.out += head
            encoder.instance(outer, values)
            encoder.out += b"\0" * (1 + -(len(encoder.out) + 5) % 8)
            size = len(encoder.out) + 4
            struct.pack_into("<I", encoder.out, 4, size)
            encoder.out += struct.pack("<I", size)
            if self._chunk.free + size <= CHUNK_BYTES:
                self._chunk.append(record_id, encoder)
                return record_id
            self._next_chunk()
        raise ValueError("the record is larger than a chunk")

    def flush(self, *, stale_chunk_header: bool = False) -> None:
        """Write the current chunk in place, then the file header.

        `stale_chunk_header` writes the records and leaves the chunk's header as
        it was: what a copy of a running log may show.
        """
        start = chunk_start(self._current)
        sealed = self._chunk.sealed()
        skip = CHUNK_HEADER_BYTES if stale_chunk_header else 0
        self._file.seek(start + skip)
        self._file.write(sealed[skip:])
        if not (self.dirty and self._header_written):
            self._write_header()
        self._file.flush()

    def close(self) -> None:
        """Flush, add the preallocated chunks and let go of the file."""
        if self._file.closed:
            return
        self.flush()
        if self.preallocate:
            self._file.truncate(chunk_start(self._count + self.preallocate))
        self._file.close()

    def abandon(self) -> None:
        """Let go of the file without writing anything more."""
        self._file.close()

    def _next_chunk(self) -> None:
        self.flush()
        following = self._chunk.last + 1
        if self.max_chunks is not None and self._count >= self.max_chunks:
            self._current = (self._current + 1) % self.max_chunks
            self._first = (self._current + 1) % self.max_chunks
        else:
            self._current += 1
            self._count += 1
        self._chunk = _Chunk(following, self._flags)

    def _write_header(self) -> None:
        header = bytearray(FILE_HEADER_BYTES)
        header[:8] = b"ElfFile\0"
        struct.pack_into("<QQQ", header, 8, self._first, self._current, self.next_record_id)
        struct.pack_into("<IHHHH", header, 32, 128, 1, 3, FILE_HEADER_BYTES, self._count)
        full = self.max_chunks is not None and self._count >= self.max_chunks
        flags = (DIRTY if self.dirty else 0) | (FULL if full else 0)
        struct.pack_into("<II", header, 120, flags, zlib.crc32(header[:120]))
        self._file.seek(0)
        self._file.write(header)
        self._header_written = True
