"""Flush map: the last write of each page, so that a lost write is detected.

Each page carries two bits of its flags (0x18000: 1 rock, 2 paper, 3 scissors) that go round at
each writing; the map has them too. The file, `<name>.jfm`, has a header of 8 KiB and pages of
8 KiB, each with the types of 32,512 pages behind 64 bytes. Source: flushmap.hxx and flushmap.cxx
of the published engine; `ese.pages.flush_map` reads it.

A page of the map is written in place. One that was torn verifies no longer, and of its pages
nothing is known then. One that is older than its header says costs nothing: what was written since
is in the log behind the position of the map, and to be forgotten while that is redone.
"""

import struct
from typing import Final

from esefiles.pages.checksum import diagnose, page_checksums, xor_checksum
from esefiles.pages.flush_map.map_header import (
    MAP_PAGE,
    VERSION,
    database_flush,
    parse_map_header,
    signatures_agree,
)
from esefiles.pages.layout import FLAGS_OFFSET, NEW_FORMAT
from eselab.disk.disk import Disk
from eselab.disk.file import File
from eselab.storage.database_header import CLEAN, DatabaseHeader, following_signature
from eselab.storage.transaction_log.header_bytes import log_time, signature_bytes
from eselab.storage.transaction_log.log import generation_of

UNKNOWN: Final = 0

_HEAD: Final = 64
_TYPES: Final = MAP_PAGE - _HEAD
"""Bytes of types in a page of the map."""
_FILE_TYPE: Final = (667, 7)
_POSITION_AT: Final = 672
"""In bytes that the published engine reserves: the log from here on is not in the map. A required
generation of the log, which the format has, is coarser."""
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")


class FlushMap:
    """The flush type of each page as it is on disk, 0: unknown. Two bits a page."""

    def __init__(self, types: bytes = b"") -> None:
        """`types`: of whole pages of the map."""
        self.changed: set[int] = set()
        """Pages of the map that are not as they were loaded or saved last."""
        self._types = bytearray(types)

    def get(self, number: int) -> int:
        """The type of a page."""
        at = number >> 2
        if at >= len(self._types):
            return UNKNOWN
        return self._types[at] >> _shift(number) & 3

    def put(self, number: int, flush_type: int) -> None:
        """The page has this type on disk now."""
        at, shift = number >> 2, _shift(number)
        if at >= len(self._types):
            if flush_type == UNKNOWN:
                return
            pages = range(len(self._types) // _TYPES, at // _TYPES + 1)
            self.changed.update(pages)
            self._types.extend(bytes(len(pages) * _TYPES))
        self._types[at] = self._types[at] & ~(3 << shift) | flush_type << shift
        self.changed.add(at // _TYPES)

    def following(self, number: int) -> int:
        """The type for the next writing of a page."""
        return self.get(number) % 3 + 1

    def page(self, index: int, dbtime: int) -> bytes:
        """Page `index` of the map, sealed. No page of which it knows is newer than `dbtime`."""
        page = bytearray(_HEAD) + self._types[index * _TYPES : (index + 1) * _TYPES]
        _U64.pack_into(page, 8, dbtime)
        _U32.pack_into(page, FLAGS_OFFSET, NEW_FORMAT)
        _U64.pack_into(page, 0, page_checksums(bytes(page), index)[0])
        return bytes(page)


class FlushMapFile:
    """The file of a map; it is made at the first `save`."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self._name = f"{name.rpartition('.')[0] or name}.jfm"
        self._file: File | None = None
        self._saved: tuple[int, int, int] | None = None
        self.signature = 0
        """Of the last writing of its header, 0: none."""

    @classmethod
    def create(cls, disk: Disk, name: str) -> "FlushMapFile":
        """One for a new database. That of an older one of this name is deleted."""
        made = cls(disk, name)
        if made._name in disk.names():
            disk.remove(made._name)
        return made

    def load(self, header: DatabaseHeader, *, position: int) -> FlushMap:
        """Saved map; all unknown where there is none that holds.

        One that holds is of this state of the database, as their signatures say, and not older
        than the checkpoint at `position`.
        """
        self.signature = header.map_flush
        try:
            self._file = file = self._disk.open(self._name)
        except FileNotFoundError:
            return FlushMap()
        page = file.read(0, MAP_PAGE)
        found = parse_map_header(page)
        if isinstance(found, str):
            return FlushMap()
        self.signature = int(found.map_flush.random, 16)
        if not signatures_agree(found, database_flush(header.page())):
            return FlushMap()
        if _U64.unpack_from(page, _POSITION_AT)[0] < position:
            return FlushMap()
        types = []
        for index in range(1, file.size() // MAP_PAGE):
            content = file.read(index * MAP_PAGE, MAP_PAGE)
            holds = diagnose(content, index - 1).fault is None
            types.append(content[_HEAD:] if holds else bytes(_TYPES))
        return FlushMap(b"".join(types))

    def save(self, flushes: FlushMap, header: DatabaseHeader, *, position: int) -> None:
        """Make the map durable, before the checkpoint is set to `position`. Raises OSError.

        All pages that were written are durable before. It is complete where `header`, which is on
        disk or will be next, says that the database is; then nothing of the map has changed
        since it was saved.
        """
        saved = (position, header.attach_position, header.state)
        if not flushes.changed and self._saved == saved:
            return
        file = self._file or self._disk.open(self._name, create=True)
        new = self._file is None
        self._file = file
        for index in sorted(flushes.changed):
            file.write((index + 1) * MAP_PAGE, flushes.page(index, header.dbtime))
        self.signature = following_signature(self.signature or header.signature)
        file.write(0, self._header(header, position))
        file.sync()
        if new:
            self._disk.sync()
        flushes.changed.clear()
        self._saved = saved

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _header(self, header: DatabaseHeader, position: int) -> bytes:
        """FMFILEHDR."""
        clean = header.state == CLEAN
        page = bytearray(MAP_PAGE)
        at, file_type = _FILE_TYPE
        for offset, value in (
            (4, VERSION),
            (36, int(clean)),
            (64, 0 if clean else generation_of(position)),
            (at, file_type),
        ):
            _U32.pack_into(page, offset, value)
        whole = header.detach if clean else 0.0
        times = (header.created, header.attach, whole)
        for offset, time in zip((40, 48, 56), times, strict=True):
            page[offset : offset + 8] = log_time(time)
        page[72:80] = page[80:88] = log_time(whole)
        page[88:116] = signature_bytes(header.database_flush, header.created)
        page[116:144] = signature_bytes(self.signature, header.created)
        _U64.pack_into(page, _POSITION_AT, position)
        _U32.pack_into(page, 0, xor_checksum(bytes(page)))
        return bytes(page)


def _shift(number: int) -> int:
    """The first page of a byte has its highest bits."""
    return 6 - ((number & 3) << 1)
