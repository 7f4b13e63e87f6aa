"""The header of the engine's databases: its fields, and how it is read and written.

Offsets are those of DBFILEHDR (daedef.hxx of the published engine); `ese.header` reads them.
"""

import struct
import zlib
from typing import Final

import msgspec

from esefiles.pages.checksum import xor_checksum
from esefiles.pages.flush_map.map_header import database_flush
from esefiles.pages.header import NotDatabase, parse_header
from esefiles.pages.layout import HEADER_PAGES
from eselab.base.trouble import Trouble
from eselab.storage.transaction_log.header_bytes import (
    epoch,
    log_position,
    log_time,
    position_in,
    signature_bytes,
)

DIRTY: Final = 2
CLEAN: Final = 3

_STATES: Final = {"dirty": DIRTY, "clean": CLEAN}
_MAGIC: Final = 0x89ABCDEF
_VERSION: Final = 0x620
_UPDATE: Final = 20
_DATABASE: Final = 1


class HeaderError(Exception):
    """Both copies of the header are damaged, or it is none of this engine's."""


class Stamped(msgspec.Struct, kw_only=True):
    """A count and when it last grew (epoch seconds, 0: never)."""

    count: int = 0
    last: float = 0.0


class DatabaseHeader(msgspec.Struct, kw_only=True):
    """Times are epoch seconds, 0: never. Positions are those of the log."""

    page_size: int
    signature: int
    created: float
    state: int = DIRTY
    dbtime: int = 0
    last_object_id: int = 0
    consistent: float = 0.0
    consistent_position: int = 0
    attach: float = 0.0
    attach_position: int = 0
    detach: float = 0.0
    detach_position: int = 0
    log_required: tuple[int, int] = (0, 0)
    """First and last generation of the log without which it is not consistent; 0, 0: none."""
    last_required_created: float = 0.0
    """Time at which the last of them was begun."""
    log_committed: int = 0
    """The last generation that was begun: behind the required ones no page on disk needs it."""
    corrected: Stamped = msgspec.field(default_factory=Stamped)
    correction_failed: Stamped = msgspec.field(default_factory=Stamped)
    bad_checksums: Stamped = msgspec.field(default_factory=Stamped)
    scan_finished: float = 0.0
    """The last scan of a passive copy; the active one keeps that of its own elsewhere."""
    scan_started: float = 0.0
    """The one that is not finished yet."""
    scan_page: int = 0
    """Up to which page it came."""
    database_flush: int = 0
    """Signature of its last writing, and of that of the flush map that it saw last; 0: none."""
    map_flush: int = 0

    def written(self, map_flush: int | None = None) -> bytes:
        """`page` for another writing. `map_flush`: the signature of the flush map, if any."""
        self.database_flush = following_signature(self.database_flush or self.signature)
        if map_flush is not None:
            self.map_flush = map_flush
        return self.page()

    def page(self) -> bytes:
        """One copy, sealed; the file has two of them in front."""
        page = bytearray(self.page_size)
        for offset, form, value in self._fields():
            struct.pack_into(form, page, offset, value)
        for offset, time in self._times():
            page[offset : offset + 8] = log_time(time)
        for offset, position in self._positions():
            page[offset : offset + 8] = log_position(position)
        for offset, number in ((584, self.database_flush), (612, self.map_flush)):
            if number:
                page[offset : offset + 28] = signature_bytes(number, self.created)
        struct.pack_into("<I", page, 0, xor_checksum(bytes(page)))
        return bytes(page)

    def count(self, trouble: Trouble, now: float) -> bool:
        """Count a bad page where the engine does; whether this is one of those it counts.

        They are those of the events 399, 398, and 474 and 475 (cpage.cxx).
        """
        counted = {
            "corrected": self.corrected,
            "correction_failed": self.correction_failed,
            "checksum": self.bad_checksums,
            "wrong_page": self.bad_checksums,
        }.get(trouble.kind)
        if counted is None:
            return False
        counted.count, counted.last = counted.count + 1, now
        return True

    def _fields(self) -> tuple[tuple[int, str, int], ...]:
        return (
            (4, "<I", _MAGIC),
            (8, "<I", _VERSION),
            (16, "<Q", self.dbtime),
            (24, "<I", self.signature),
            (52, "<I", self.state),
            (104, "<I", 1),
            (108, "<I", self.signature),
            (212, "<I", self.last_object_id),
            (232, "<I", _UPDATE),
            (236, "<I", self.page_size),
            (296, "<I", self.log_required[0]),
            (300, "<I", self.log_required[1]),
            (368, "<I", self.corrected.count),
            (384, "<I", self.correction_failed.count),
            (400, "<I", self.bad_checksums.count),
            (416, "<I", self.log_committed),
            (532, "<I", self.scan_page),
            (652, "<I", self.scan_page),
            (667, "<I", _DATABASE),
        )

    def _times(self) -> tuple[tuple[int, float], ...]:
        return (
            (28, self.created),
            (64, self.consistent),
            (72, self.attach),
            (88, self.detach),
            (112, self.created),
            (348, self.last_required_created),
            (372, self.corrected.last),
            (388, self.correction_failed.last),
            (404, self.bad_checksums.last),
            (516, self.scan_finished),
            (524, self.scan_started),
            (672, self.last_required_created),
        )

    def _positions(self) -> tuple[tuple[int, int], ...]:
        return (
            (56, self.consistent_position),
            (80, self.attach_position),
            (96, self.detach_position),
        )


def following_signature(number: int) -> int:
    """The random number of the next signature: not 0, and the same for the same seed."""
    return zlib.crc32(struct.pack("<I", number)) or 1


def read_header(begin: bytes) -> DatabaseHeader:
    """The header of a file that begins so; the shadow where the first copy is damaged.

    Raises HeaderError.
    """
    found = parse_header(begin)
    if isinstance(found, NotDatabase):
        raise HeaderError(found.reason)
    if not (found.header_ok or found.shadow_header_ok) or found.state not in _STATES:
        raise HeaderError(found.remark or f"the state of the database is {found.state}")
    size = found.page_size
    copy = begin[:size] if found.header_ok else begin[size : HEADER_PAGES * size]
    flushes = database_flush(copy)
    return DatabaseHeader(
        page_size=size,
        signature=int(found.signature.random, 16),
        created=epoch(found.signature.created),
        state=_STATES[found.state],
        dbtime=found.dbtime,
        last_object_id=found.last_object_id,
        consistent=epoch(found.consistent.time),
        consistent_position=position_in(copy, 56),
        attach=epoch(found.attach.time),
        attach_position=position_in(copy, 80),
        detach=epoch(found.detach.time),
        detach_position=position_in(copy, 96),
        log_required=(found.log_required.first, found.log_required.last),
        last_required_created=epoch(found.max_required_created),
        log_committed=found.log_committed,
        corrected=Stamped(count=found.corrected.count, last=epoch(found.corrected.last)),
        correction_failed=Stamped(
            count=found.correction_failed.count, last=epoch(found.correction_failed.last)
        ),
        bad_checksums=Stamped(
            count=found.bad_checksums.count, last=epoch(found.bad_checksums.last)
        ),
        scan_finished=epoch(found.scan_finished),
        scan_started=epoch(found.scan_started),
        scan_page=found.scan_contiguous_page,
        database_flush=int(flushes.database_flush.random, 16),
        map_flush=int(flushes.map_flush.random, 16),
    )
