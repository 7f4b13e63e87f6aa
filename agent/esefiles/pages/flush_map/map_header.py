"""The header of a flush map, and which map speaks of which database.

Source: FMFILEHDR in flushmap.hxx, ErrValidateFmHdr_ and FCheckForDbFmConsistency_ in flushmap.cxx,
flushmapHeaderPage in checksumu.hxx of the published engine. No reading here.
"""

from datetime import datetime
from typing import Final

import msgspec

from esefiles.pages import header_fields
from esefiles.pages.checksum import xor_checksum
from esefiles.pages.header_fields import Signature, u32

MAP_PAGE: Final = 8192
"""Bytes of the header and of each page of the map, whatever the page size of the database."""

VERSION: Final = 3
"""The one major version that the engine takes (ulFMVersionMajorMax, daedef.hxx)."""
LATEST_UPDATE: Final = 0
"""The highest major update of it that the engine takes."""

_FLAGS_AT: Final = 36
_CLEAN: Final = 0x1
_FILE_TYPE_AT: Final = 667
_FLUSH_MAP: Final = 7


class MapHeader(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The content of the header. Times as in `header.Header`."""

    version: str
    """`major.update.minor update`."""
    clean: bool
    """The engine detached the database and wrote the whole map; nothing is missing in it."""
    created: datetime | None = None
    attached: datetime | None = None
    detached: datetime | None = None
    log_required: int = 0
    """First log generation without which the map cannot be brought up to date; 0: none."""
    flush_started: datetime | None = None
    """Last start of a writing of the whole map."""
    flush_completed: datetime | None = None
    database_flush: Signature = Signature()
    """Made anew at each writing of the header of the database."""
    map_flush: Signature = Signature()
    """Made anew at each writing of the header of the map."""


class DatabaseFlush(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Fields of a database's header about its flush map."""

    database_flush: Signature
    map_flush: Signature
    log_required: int


def is_flush_map(data: bytes) -> bool:
    """True if a file that begins so is a flush map, or was one before it was cut or damaged."""
    return len(data) >= _FILE_TYPE_AT + 4 and u32(data, _FILE_TYPE_AT) == _FLUSH_MAP


def is_whole(data: bytes) -> bool:
    """True if a file that begins so has a whole header, of whatever version."""
    return len(data) >= MAP_PAGE and u32(data, 0) == xor_checksum(data[:MAP_PAGE])


def parse_map_header(page: bytes) -> MapHeader | str:
    """The header in the first MAP_PAGE bytes of a file, or a sentence why it cannot be used."""
    if len(page) < MAP_PAGE:
        return "the flush map ends within its header"
    page = page[:MAP_PAGE]
    if not is_whole(page):
        return "the header of the flush map is damaged"
    if u32(page, _FILE_TYPE_AT) != _FLUSH_MAP:
        return "the file is not a flush map"
    version, update, minor = u32(page, 4), u32(page, 8), u32(page, 12)
    if version != VERSION or update > LATEST_UPDATE:
        return f"the flush map has version {version}.{update}, which is not known"
    return MapHeader(
        version=f"{version}.{update}.{minor}",
        clean=bool(u32(page, _FLAGS_AT) & _CLEAN),
        created=header_fields.time(page, 40),
        attached=header_fields.time(page, 48),
        detached=header_fields.time(page, 56),
        log_required=u32(page, 64),
        flush_started=header_fields.time(page, 72),
        flush_completed=header_fields.time(page, 80),
        database_flush=header_fields.signature(page, 88),
        map_flush=header_fields.signature(page, 116),
    )


def database_flush(page: bytes) -> DatabaseFlush:
    """The fields in the valid copy of a database's header (signDbHdrFlush, DBFILEHDR)."""
    return DatabaseFlush(
        database_flush=header_fields.signature(page, 584),
        map_flush=header_fields.signature(page, 612),
        log_required=u32(page, 296),
    )


def signatures_agree(header: MapHeader, database: DatabaseFlush) -> bool:
    """True if the map is of this state of the database: one of both is set and the same in both."""
    unset = Signature()
    pairs = (
        (header.database_flush, database.database_flush),
        (header.map_flush, database.map_flush),
    )
    return any(of_map == of_database != unset for of_map, of_database in pairs)


def why_not_comparable(header: MapHeader, database: DatabaseFlush) -> str:
    """Reason why the map says nothing of this database; empty where it does.

    Their signatures agree. The map is whole (clean), or the logs from the required one of the
    database on bring it up to date; the engine deletes any other.
    """
    if not signatures_agree(header, database):
        return "the flush map is not of this state of the database: their signatures differ"
    if header.clean or 0 < database.log_required <= header.log_required:
        return ""
    return "the flush map was not completed, and no log brings it up to date: the engine drops it"
