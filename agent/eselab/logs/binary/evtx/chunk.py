"""A chunk of a Windows event log: 64 KiB of records, with the names and templates they share."""

import struct
import zlib
from typing import Final

from eselab.logs.binary.evtx.record import Event, Names, Source, encoded, hash_of, microseconds

CHUNK: Final = 1 << 16
"""Bytes."""

_MAGIC: Final = b"ElfChnk\0"
_RECORDS: Final = 512
_NAMES, _NAME_BUCKETS = 128, 64
_TEMPLATES, _TEMPLATE_BUCKETS = 384, 32
_HEAD: Final = struct.Struct("<8s4Q3I")
_FLAGS: Final = struct.Struct("<II")
"""Flags and checksum of the header, from offset 120."""
_FLAGS_AT: Final = 120
_NO_RECORD: Final = (1 << 64) - 1


class Chunk:
    """Records from number `first` on."""

    def __init__(self, first: int) -> None:
        self.last = first - 1
        """Number of the last record."""
        self.last_time: int | None = None
        """Its microseconds since 1970; None where there is none."""
        self._first = first
        self._data = bytearray(CHUNK)
        self._free = _RECORDS
        self._last_at = 0
        self._names = Names()

    @classmethod
    def load(cls, data: bytes) -> "Chunk":
        """One that `sealed` wrote. ValueError, struct.error where it is none."""
        magic, first, last, _, _, _, last_at, free = _HEAD.unpack_from(data)
        if magic != _MAGIC or not _RECORDS <= free <= CHUNK == len(data):
            raise ValueError("no chunk of an event log")
        if first == _NO_RECORD:
            # A log without records: it begins with the first.
            return cls(1)
        found = cls(first)
        found.last, found._free, found._last_at = last, free, last_at
        found._data[:] = data
        (time,) = struct.unpack_from("<Q", data, last_at + 16)
        found.last_time = microseconds(time)
        for at in _chained(data, _NAMES, _NAME_BUCKETS):
            (length,) = struct.unpack_from("<H", data, at + 6)
            name = data[at + 8 : at + 8 + 2 * length].decode("utf-16-le")
            found._names.names[name] = at
        for at in _chained(data, _TEMPLATES, _TEMPLATE_BUCKETS):
            (key,) = struct.unpack_from("<I", data, at + 4)
            found._names.templates[key] = at
        return found

    def append(self, source: Source, event: Event) -> bool:
        """Add a record; False where it has no room. ValueError when no chunk has."""
        names = self._names.copy()
        record = encoded(source, self.last + 1, event, self._free, names)
        if self._free + len(record) > CHUNK:
            return False
        self._data[self._free : self._free + len(record)] = record
        for name in names.names.keys() - self._names.names.keys():
            self._chain(_NAMES + 4 * (hash_of(name) % _NAME_BUCKETS), names.names[name])
        for key in names.templates.keys() - self._names.templates.keys():
            self._chain(_TEMPLATES + 4 * (key % _TEMPLATE_BUCKETS), names.templates[key])
        self._names = names
        self.last, self.last_time, self._last_at = self.last + 1, event.time, self._free
        self._free += len(record)
        return True

    def sealed(self) -> bytes:
        """Its bytes, with header and checksums."""
        data = self._data
        there = self.last_time is not None
        first, last = (self._first, self.last) if there else (_NO_RECORD, _NO_RECORD)
        _HEAD.pack_into(data, 0, _MAGIC, first, last, first, last, 128, self._last_at, self._free)
        struct.pack_into("<I", data, _HEAD.size, zlib.crc32(data[_RECORDS : self._free]))
        checksum = zlib.crc32(data[128:_RECORDS], zlib.crc32(data[:_FLAGS_AT]))
        _FLAGS.pack_into(data, _FLAGS_AT, 0, checksum)
        return bytes(data)

    def _chain(self, bucket: int, place: int) -> None:
        """Let a bucket of a table lead to a name or template, and that to what it had."""
        self._data[place : place + 4] = self._data[bucket : bucket + 4]
        struct.pack_into("<I", self._data, bucket, place)


def _chained(data: bytes, table: int, buckets: int) -> list[int]:
    """Offsets of all that a table leads to."""
    found = []
    for bucket in range(buckets):
        (at,) = struct.unpack_from("<I", data, table + 4 * bucket)
        while at:
            if at in found:
                raise ValueError("a chain that goes in a circle")
            found.append(at)
            (at,) = struct.unpack_from("<I", data, at)
    return found
