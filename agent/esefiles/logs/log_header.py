"""The header of a transaction log: which series, which generation, what came before.

Source: LGFILEHDR and ATTACHINFO (the databases that were attached: entries one behind the other, up
to one whose database number is 0) in log.hxx, the checks in logstream.cxx (ErrLGReadFileHdr),
DBMS_PARAM and the history of versions in daedef.hxx of the published engine.
"""

import struct
from datetime import datetime
from typing import Final

import msgspec

from esefiles.pages import header_fields
from esefiles.pages.checksum import xor_checksum
from esefiles.pages.file_types import name_of
from esefiles.pages.header_fields import LogPosition, Signature, u32, u64

_FIXED = 64
_START = struct.Struct("<BBH")
_UNICODE = 0x20


class Attachment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A database that was attached. `path` is as its server knew it."""

    path: str
    database_id: int
    signature: Signature
    attached: LogPosition | None
    consistent: LogPosition | None


def attachments(area: bytes) -> list[Attachment]:
    """The entries of `area`; what does not fit ends them."""
    found: list[Attachment] = []
    at = 0
    while at + _FIXED <= len(area):
        number, flags, size = _START.unpack_from(area, at)
        names = area[at + _FIXED : at + _FIXED + size]
        if not number or not size or len(names) < size:
            break
        text = names.decode("utf-16-le" if flags & _UNICODE else "latin-1", "replace")
        found.append(
            Attachment(
                path=text.split("\0")[0],
                database_id=number,
                signature=header_fields.signature(area, at + 36),
                attached=header_fields.position(area, at + 20),
                consistent=header_fields.position(area, at + 28),
            )
        )
        at += _FIXED + size
    return found


LOG_HEADER_BYTES: Final = 4096
SEGMENT_BYTES: Final = 4096
"""A segment of logs from version 8 on; older ones are in sectors of the disk."""

FIRST_WITH_SEGMENTS: Final = 8
"""Major version. Up to 7 a log is covered by LRCHECKSUM records (Windows 7, Exchange 2010)."""

VERSIONS: Final = (
    (8, 4, 3), (8, 5, 16), (8, 6, 20), (8, 7, 40), (8, 20, 60), (8, 30, 80), (8, 40, 100),
    (8, 50, 120), (8, 60, 140), (8, 70, 160), (8, 80, 180), (8, 90, 200), (8, 130, 280),
)  # fmt: skip
"""Major version, major update, newest minor update: the engine's table of formats (sysver.cxx)
from 2015 (Windows 10, Exchange 2016) on. Another minor update is the same format."""
NEWEST: Final = VERSIONS[-1][:2]
"""Major version and major update of the newest format of the table."""

_FILE_TYPE_AT = 667
_LOG_TYPES = (0, 3)
"""0: logs of engines that had no file type yet."""
_VERSIONS = range(6, 100)
_PREVIOUS_CHECKSUM = 13
"""Minor update from which the header has the checksum of the log before."""
_ZERO_FILLED = 2
"""Major update of version 8 from which a new log is zeros; before, a pattern."""
_CIRCULAR_BEFORE, _CIRCULAR, _RESERVED = 0x04, 0x02, 0x01
_NUMBERS = struct.Struct("<4xI4H8x8x3I")
_ATTACHED_AT = 671
_ATTACHED_BYTES = 2048
_SYSTEM_FOLDER_AT = 72
_FOLDER = 261
_PARAMETERS = struct.Struct("<7I")
_PARAMETERS_AT = 595
_ENGINE_FORMAT_AT = 661


class NotLog(msgspec.Struct, frozen=True, gc=False):
    """The bytes are no log's; `reason` is a sentence on what they are. `damaged`: it was a log
    once, or may have been."""

    reason: str
    damaged: bool = False


class Parameters(msgspec.Struct, frozen=True, gc=False):
    """Parameters that the engine ran with; sessions to cursors are what it reserved room for."""

    sessions: int
    open_tables: int
    version_pages: int
    cursors: int
    log_buffers: int
    """In sectors."""
    log_sectors: int
    """Of a log."""
    cache_pages: int
    """At most."""


class LogHeader(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The content of the header of a log whose header checksum is right."""

    generation: int
    created: datetime | None
    previous_created: datetime | None
    """Creation of the log before: None for the first of a series."""
    created_raw: str
    """The 8 bytes of `created`, hex: these are compared, so that no damage is rounded away."""
    previous_created_raw: str
    signature: Signature
    """Of the series; databases carry it as their log signature."""
    version: str
    """`8.4000.5.16`: major, minor, major update, minor update."""
    major: int
    update_major: int
    update_minor: int
    sector_bytes: int
    sectors: int
    """Of the whole file, header included."""
    page_size: int
    circular: bool
    """Circular logging was on: older logs are deleted by the engine."""
    circular_before: bool
    """Circular logging was on in an older log of the series: it has a gap before some log."""
    from_reserve: bool
    """Made of a reserved log, because the disk was full."""
    checkpoint: LogPosition | None
    """Position of the checkpoint when this log was begun."""
    previous_checksum: int
    """XOR of the checksums of all segments of the log before; 0 where the version has none."""
    engine_format: int
    """Newest format that the engine which wrote the log knew (JET_efv), 0 where it has none."""
    folder: str
    """Folder in which the engine kept its logs."""
    system_folder: str
    """Folder in which it kept its checkpoint."""
    parameters: Parameters
    attachments: list[Attachment]
    """Databases that were attached when this log was begun."""

    def file_bytes(self) -> int:
        """The size of the file as the header has it."""
        return self.sector_bytes * self.sectors

    def has_previous_checksum(self) -> bool:
        """True if `previous_checksum` must be that of the log before."""
        return self.major >= FIRST_WITH_SEGMENTS and self.update_minor >= _PREVIOUS_CHECKSUM

    def is_zero_filled(self) -> bool:
        """True if what was not written yet may be zeros."""
        return (self.major, self.update_major) >= (FIRST_WITH_SEGMENTS, _ZERO_FILLED)

    def is_known(self) -> bool:
        """False if the format is newer than VERSIONS."""
        return (self.major, self.update_major) <= NEWEST


def is_log(data: bytes) -> bool:
    """True if a file that begins so is a log, or was one before it was cut or damaged."""
    return len(data) >= _FILE_TYPE_AT + 4 and u32(data, _FILE_TYPE_AT) == _LOG_TYPES[-1]


def parse_log_header(data: bytes) -> LogHeader | NotLog:
    """Parse the first LOG_HEADER_BYTES of a file, all of it if shorter."""
    if not any(data):
        return NotLog("it is empty or zeros: a log that was never begun")
    if len(data) < LOG_HEADER_BYTES:
        return NotLog(f"it ends after {len(data)} bytes, within its header", damaged=True)
    page = data[:LOG_HEADER_BYTES]
    looks_right = u32(page, _FILE_TYPE_AT) in _LOG_TYPES and u32(page, 32) in _VERSIONS
    if u32(page, 0) != xor_checksum(page):
        if looks_right or is_log(page):
            return NotLog("its header is damaged (checksum)", damaged=True)
        return NotLog(name_of(data))
    if not looks_right:
        return NotLog(name_of(data))
    return _header(page)


def _header(page: bytes) -> LogHeader:
    generation, sector, _, sectors, page_size, major, minor, update_major = _NUMBERS.unpack_from(
        page
    )
    update_minor = u32(page, 648)
    return LogHeader(
        generation=generation, created=header_fields.time(page, 16),
        previous_created=header_fields.time(page, 24), created_raw=page[16:24].hex(),
        previous_created_raw=page[24:32].hex(), signature=header_fields.signature(page, 44),
        version=f"{major}.{minor}.{update_major}.{update_minor}", major=major,
        update_major=update_major, update_minor=update_minor, sector_bytes=sector, sectors=sectors,
        page_size=page_size or 4096, circular=bool(page[639] & _CIRCULAR),
        circular_before=bool(page[639] & _CIRCULAR_BEFORE),
        from_reserve=bool(page[639] & _RESERVED), checkpoint=header_fields.position(page, 640),
        previous_checksum=u64(page, 653), engine_format=u32(page, _ENGINE_FORMAT_AT),
        folder=_folder(page, _SYSTEM_FOLDER_AT + _FOLDER),
        system_folder=_folder(page, _SYSTEM_FOLDER_AT),
        parameters=Parameters(*_PARAMETERS.unpack_from(page, _PARAMETERS_AT)),
        attachments=attachments(page[_ATTACHED_AT : _ATTACHED_AT + _ATTACHED_BYTES]),
    )  # fmt: skip


def _folder(page: bytes, at: int) -> str:
    return page[at : at + _FOLDER].split(b"\0")[0].decode("latin-1")
