"""Flush map: the last write of each page, so that a lost write is detected.

Each page carries two bits of its flags (0x18000: 1 rock, 2 paper, 3 scissors) that go round at
each writing; the map has them too. Source: the lost flush detection of the published engine.

The file, `<name>.jfm`: two header pages of 8 KiB (checksum of a header,
file type 7 at 667, as flushmap.hxx has them), written in turns, then two places for each chunk
of the map, 4 KiB for 16,384 pages. A changed chunk goes to the place that the last header does
not mean; a header has the CRC-32 of each chunk, so that one whole map is there whatever was torn.
"""

import struct
import zlib
from typing import Final, NamedTuple

from eselab.disk.disk import Disk
from eselab.disk.file import File
from esewatch.ese.pages.checksum import xor_checksum

UNKNOWN: Final = 0

_CHUNK: Final = 4096
_HEADER: Final = 8192
_PAGES_OF_CHUNK: Final = _CHUNK * 4
_FILE_TYPE_AT: Final = 667
_FLUSH_MAP: Final = 7
_LIST_AT: Final = 672
_MOST_CHUNKS: Final = (_HEADER - _LIST_AT) // 4
_U32 = struct.Struct("<I")
_CHECK_AT: Final = 60
_BODY_AT: Final = 64
_BODY = struct.Struct("<IIQQQQ")
"""Signature, chunks, number of this writing, position, attach position before, and now."""


class FlushMap:
    """The flush type of each page as it is on disk, 0: unknown. Two bits a page.

    Of pages beyond 30 million, for which a header has no room, nothing is known ever.
    """

    def __init__(self) -> None:
        self.changed: set[int] = set()
        """Chunks that are not as they were loaded or saved last."""
        self._types = bytearray()

    def get(self, number: int) -> int:
        """The type of a page."""
        at = number >> 2
        if at >= len(self._types):
            return UNKNOWN
        return self._types[at] >> ((number & 3) << 1) & 3

    def put(self, number: int, flush_type: int) -> None:
        """The page has this type on disk now."""
        at, shift = number >> 2, (number & 3) << 1
        if at >= len(self._types):
            if flush_type == UNKNOWN or number >= _MOST_CHUNKS * _PAGES_OF_CHUNK:
                return
            chunks = range(len(self._types) // _CHUNK, at // _CHUNK + 1)
            self.changed.update(chunks)
            self._types.extend(bytes(len(chunks) * _CHUNK))
        self._types[at] = self._types[at] & ~(3 << shift) | flush_type << shift
        self.changed.add(at // _CHUNK)

    def following(self, number: int) -> int:
        """The type for the next writing of a page."""
        return self.get(number) % 3 + 1

    def chunk(self, index: int) -> bytes:
        """One piece of 4 KiB."""
        return bytes(self._types[index * _CHUNK : (index + 1) * _CHUNK])

    @classmethod
    def of(cls, chunks: list[bytes]) -> "FlushMap":
        """The map that these pieces are."""
        made = cls()
        made._types = bytearray(b"".join(chunks))
        return made


class FlushMapFile:
    """The file of a map. `signature` is that of the database; the file is made at the first
    `save`."""

    def __init__(self, disk: Disk, name: str, *, signature: int) -> None:
        self._disk = disk
        self._name = f"{name.rpartition('.')[0] or name}.jfm"
        self._signature = signature
        self._file: File | None = None
        self._writing = 0
        self._places: list[int] = []
        """Of each chunk, which of its two places the last header means."""
        self._checks: list[int] = []
        self._saved: tuple[int, int] | None = None
        self._attach = 0

    @classmethod
    def create(cls, disk: Disk, name: str, *, signature: int) -> "FlushMapFile":
        """One for a new database. That of an older one of this name is deleted."""
        made = cls(disk, name, signature=signature)
        if made._name in disk.names():
            disk.remove(made._name)
        return made

    def load(self, *, position: int, attach: int) -> FlushMap:
        """What was saved; all unknown where there is none that holds.

        One that holds is whole, of this database as it was attached last (`attach` is that
        position in its header), and not older than the checkpoint: pages that were written
        after it are in the log behind `position`, and to be forgotten while that is redone.
        """
        self._attach = attach
        try:
            self._file = self._disk.open(self._name)
        except FileNotFoundError:
            return FlushMap()
        pages = [self._file.read(at * _HEADER, _HEADER) for at in (0, 1)]
        headers = [found for page in pages if (found := _header(page, self._signature))]
        # What is written next must not be taken for older than what is there.
        self._writing = max((header.writing for header in headers), default=0)
        for header in sorted(headers, key=lambda found: -found.writing):
            holds = header.position >= position and attach in header.attached
            places = self._whole(self._file, header.checks) if holds else None
            if places is not None:
                self._writing, self._checks, self._places = header.writing, header.checks, places
                return FlushMap.of(
                    [self._file.read(_at(*chunk), _CHUNK) for chunk in enumerate(places)]
                )
        return FlushMap()

    def save(self, flushes: FlushMap, *, position: int, attach: int) -> None:
        """Make the map durable, before the checkpoint is set to `position`. Raises OSError.

        All pages that were written are durable before. `attach` is the position at which the
        database is attached: in its header now, or next.
        """
        if not flushes.changed and self._saved == (position, attach):
            return
        file = self._file or self._disk.open(self._name, create=True)
        new = self._file is None
        self._file = file
        places, checks = list(self._places), list(self._checks)
        for index in sorted(flushes.changed):
            while len(places) <= index:
                places.append(0)
                checks.append(_check(self._signature, len(checks), bytes(_CHUNK)))
            chunk = flushes.chunk(index)
            places[index] = 1 - places[index]
            checks[index] = _check(self._signature, index, chunk)
            file.write(_at(index, places[index]), chunk)
        place = self._writing % 2
        self._writing += 1
        header = _Header(self._writing, position, (self._attach, attach), checks)
        file.write(place * _HEADER, header.page(self._signature))
        file.sync()
        if new:
            self._disk.sync()
        flushes.changed.clear()
        self._places, self._checks = places, checks
        self._saved, self._attach = (position, attach), attach

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _whole(self, file: File, checks: list[int]) -> list[int] | None:
        """The place at which each chunk is as a header says; None when one is nowhere."""
        places = []
        for index, check in enumerate(checks):
            both = [file.read(_at(index, place), _CHUNK) for place in (0, 1)]
            found = [_check(self._signature, index, chunk) == check for chunk in both]
            if True not in found:
                return None
            places.append(found.index(True))
        return places


class _Header(NamedTuple):
    """What a header page says."""

    writing: int
    position: int
    attached: tuple[int, int]
    checks: list[int]

    def page(self, signature: int) -> bytes:
        page = bytearray(_HEADER)
        count = len(self.checks)
        _BODY.pack_into(
            page, _BODY_AT, signature, count, self.writing, self.position, *self.attached
        )
        _U32.pack_into(page, _FILE_TYPE_AT, _FLUSH_MAP)
        struct.pack_into(f"<{count}I", page, _LIST_AT, *self.checks)
        # A page that is torn between two writings may have the XOR of a whole one.
        _U32.pack_into(page, _CHECK_AT, zlib.crc32(page[_BODY_AT:]))
        _U32.pack_into(page, 0, xor_checksum(bytes(page)))
        return bytes(page)


def _header(page: bytes, signature: int) -> _Header | None:
    """What a header page says; None where it is damaged or of another database."""
    if len(page) < _HEADER or _U32.unpack_from(page, _CHECK_AT)[0] != zlib.crc32(page[_BODY_AT:]):
        return None
    owner, count, writing, position, before, attach = _BODY.unpack_from(page, _BODY_AT)
    if owner != signature or count > _MOST_CHUNKS:
        return None
    checks = list(struct.unpack_from(f"<{count}I", page, _LIST_AT))
    return _Header(writing, position, (before, attach), checks)


def _check(signature: int, index: int, chunk: bytes) -> int:
    """CRC-32 of a chunk, which holds for its place and database."""
    return zlib.crc32(chunk, zlib.crc32(struct.pack("<II", signature, index)))


def _at(index: int, place: int) -> int:
    """Offset in the file of one of the two places of a chunk."""
    return 2 * _HEADER + (2 * index + place) * _CHUNK
