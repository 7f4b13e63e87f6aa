"""The header of a database file and its shadow: the valid copy, and its content.

Source: DBFILEHDR in daedef.hxx, the search for a good copy and its page size in fileu.cxx
of the published engine. No reading here: `parse_header` is given the bytes.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

from esefiles.pages import header_fields
from esefiles.pages.checksum import xor_checksum
from esefiles.pages.file_types import FILE_TYPES, name_of, type_of
from esefiles.pages.header_fields import (
    BackupRecord,
    HeaderCounter,
    HeaderTime,
    LogRange,
    Signature,
    u32,
    u64,
)
from esefiles.pages.layout import HEADER_PAGES, PAGE_SIZES

HEADER_BYTES: Final = HEADER_PAGES * PAGE_SIZES[-1]
"""Bytes from the start of a file that hold header and shadow, whatever the page size."""

MAGIC: Final = 0x89ABCDEF

FORMAT_VERSION: Final = 0x620
"""Of all databases since ESE97 (daedef.hxx); newer formats differ in the update only."""

_UNKNOWN: Final = "unknown"
_SIZE_WHEN_0 = 4096
_STATED = 240
"""Bytes that hold the magic number and the page size."""
_FIELDS = 680
"""Bytes that hold all that is read of a header."""
_STATES = {
    1: "just_created", 2: "dirty", 3: "clean", 4: "converting", 5: "force_detach", 6: "reseeding",
    7: "dirty_patched", 8: "reverting",
}  # fmt: skip
_FILE_TYPE_AT = 667
_DATABASE_TYPES = (0, 1)
"""0: databases of engines that had no file type yet."""


class NotDatabase(msgspec.Struct, frozen=True, gc=False):
    """The bytes are not those of a database; `reason` is a sentence on what they are."""

    reason: str
    named: bool = True
    """False: nothing in them shows what they are."""


class Header(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The content of the header, from the valid copy, and the state of both copies. Times are aware
    (UTC) or naive (local to the server that wrote them), None: not set."""

    page_size: int
    format: str = ""
    """Version (hex) and update (decimal), `0x620.20`."""
    version: int = 0
    update: int = 0
    minor_update: int = 0
    created_format: str = ""
    """The format in which the file was created; empty where the engine did not write it."""
    file_type: str = "database"
    """`database`, or `unknown` with engines before Exchange 2003 that did not write it."""
    state: str = ""
    """`clean`, `dirty`, `just_created`, `converting`, `force_detach`, `reseeding`,
    `dirty_patched`, `reverting`, or `unknown (9)` with the number that is there."""
    header_ok: bool = True
    shadow_header_ok: bool = True
    remark: str = ""
    """One sentence where a copy is damaged or both differ."""
    signature: Signature = Signature()
    log_signature: Signature = Signature()
    dbtime: int = 0
    database_id: int = 0
    last_object_id: int = 0
    os_version: str = ""
    """`major.minor.build`, with ` SP n` where there was a service pack."""
    consistent: HeaderTime = HeaderTime()
    attach: HeaderTime = HeaderTime()
    reattach: HeaderTime = HeaderTime()
    detach: HeaderTime = HeaderTime()
    log_required: LogRange = LogRange()
    """Generations without which the database cannot be made clean."""
    log_committed: int = 0
    """The last generation that may hold changes of this database."""
    log_recovering: int = 0
    max_required_created: datetime | None = None
    """Creation of the last required log; where the format does not have it, of the last committed
    one, if that is the same."""
    unfinished_backup: LogRange = LogRange()
    """Logs of the backup set that this file was read for: `last` is 0 until the restore."""
    corrected: HeaderCounter = HeaderCounter()
    """Pages read with one flipped bit that was corrected (event 399)."""
    correction_failed: HeaderCounter = HeaderCounter()
    """Pages that were bad although one flipped bit was corrected (event 398)."""
    bad_checksums: HeaderCounter = HeaderCounter()
    """Pages read that could not be corrected (event 474)."""
    repairs: HeaderCounter = HeaderCounter()
    reseeds: HeaderCounter = HeaderCounter()
    """Incremental reseeds."""
    patched_pages: HeaderCounter = HeaderCounter()
    """Pages patched by incremental reseeds."""
    scan_finished: datetime | None = None
    """The online scan; the engine writes these four in recovery (passive copies) only."""
    scan_started: datetime | None = None
    scan_contiguous_page: int = 0
    scan_highest_page: int = 0
    scrub_time: datetime | None = None
    """The last time that the pages were zeroed (scrubbed) offline."""
    scrub_dbtime: int = 0
    full_backup: BackupRecord | None = None
    incremental_backup: BackupRecord | None = None
    copy_backup: BackupRecord | None = None
    differential_backup: BackupRecord | None = None

    def is_blank(self) -> bool:
        """True if nothing is known but the page size: all other values stand for nothing."""
        return self.format == _UNKNOWN


def parse_header(data: bytes) -> Header | NotDatabase:
    """Parse the first bytes of a file; HEADER_BYTES of them, or the whole file if shorter.

    A database is recognised by a good copy of its header, or, when both are damaged or the file
    ends within the first, by what is left of them: then neither is ok and the page size is the
    most likely one.
    """
    found = _good_copies(data) or _damaged_copies(data) or _cut_copy(data)
    if found is None:
        return _not_database(data)
    if len(found.page) < _FIELDS:
        return _blank(found.page_size, found.remark)
    if u32(found.page, _FILE_TYPE_AT) not in _DATABASE_TYPES:
        return _not_database(found.page)
    return _header(found)


def overwritten_header(page_size: int) -> Header:
    """The header of a database of which nothing but its pages is left."""
    remark = "the header and its shadow were overwritten;"
    return _blank(page_size, f"{remark} pages of {page_size} bytes stand behind them")


def _blank(page_size: int, remark: str) -> Header:
    """A header of which nothing but the page size is known."""
    return Header(
        page_size=page_size,
        format=_UNKNOWN,
        file_type=_UNKNOWN,
        state=_UNKNOWN,
        header_ok=False,
        shadow_header_ok=False,
        remark=remark,
    )


def _not_database(data: bytes) -> NotDatabase:
    return NotDatabase(name_of(data), named=bool(type_of(data)))


class _Found(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The copy to use and how both are."""

    page: bytes
    page_size: int
    header_ok: bool
    shadow_ok: bool
    remark: str = ""


def _stated_size(page: bytes) -> int:
    return u32(page, 236) or _SIZE_WHEN_0


def _good(data: bytes, at: int, size: int) -> bytes | None:
    """The copy at `at` of a database with pages of `size` bytes, None where it is damaged."""
    page = data[at : at + size]
    if len(page) < size or u32(page, 4) != MAGIC or _stated_size(page) != size:
        return None
    return page if u32(page, 0) == xor_checksum(page) else None


def _good_copies(data: bytes) -> _Found | None:
    for size in PAGE_SIZES:
        header, shadow = _good(data, 0, size), _good(data, size, size)
        if header is not None:
            remark = _remark_on_shadow(header, shadow, len(data))
            ok = shadow is not None and _same_database(header, shadow)
            return _Found(page=header, page_size=size, header_ok=True, shadow_ok=ok, remark=remark)
        if shadow is not None:
            remark = "the header is damaged; its shadow was used"
            return _Found(
                page=shadow, page_size=size, header_ok=False, shadow_ok=True, remark=remark
            )
    return None


def _same_database(header: bytes, shadow: bytes) -> bool:
    return header[24:52] == shadow[24:52]


def _remark_on_shadow(header: bytes, shadow: bytes | None, size: int) -> str:
    if shadow is None:
        if size < 2 * len(header):
            return "the file ends before the end of its shadow header"
        return "the shadow header is damaged; the header was used"
    if not _same_database(header, shadow):
        return "the shadow header is that of another database; the header was used"
    if header != shadow:
        return "the header and its shadow differ; the header was used"
    return ""


def _damaged_copies(data: bytes) -> _Found | None:
    """The page size that most of what is left speaks for, the header before its shadow."""
    best: tuple[int, bytes] | None = None
    for size in PAGE_SIZES:
        signs = list(_signs(data, size))
        if signs and (best is None or len(signs) > best[0]):
            best = len(signs), signs[0]
    if best is None:
        return None
    page = best[1]
    remark = f"the header and its shadow are damaged; a page size of {len(page)} is assumed"
    return _Found(page=page, page_size=len(page), header_ok=False, shadow_ok=False, remark=remark)


def _cut_copy(data: bytes) -> _Found | None:
    """The remains of the header in a file that ends within it, zeros behind them."""
    if len(data) < _STATED or u32(data, 4) != MAGIC:
        return None
    size = _stated_size(data)
    if size not in PAGE_SIZES or len(data) >= size:
        return None
    return _Found(
        page=data if len(data) < _FIELDS else data.ljust(size, b"\0"),
        page_size=size,
        header_ok=False,
        shadow_ok=False,
        remark=f"the file ends after {len(data):,} bytes, within its header",
    )


def _signs(data: bytes, size: int) -> Iterator[bytes]:
    """The copies that are at the place of this page size, once more if they also state it."""
    for at in (0, size):
        page = data[at : at + size]
        if len(page) == size and u32(page, 4) == MAGIC:
            stated = _stated_size(page) == size
            if at or stated:
                yield page
            if at and stated:
                yield page


def _moment(page: bytes, time: int, position: int) -> HeaderTime:
    """The time and the log position at these offsets."""
    return HeaderTime(
        time=header_fields.time(page, time), position=header_fields.position(page, position)
    )


def _header(found: _Found) -> Header:
    page = found.page
    version, update, state = u32(page, 8), u32(page, 232), u32(page, 52)
    return Header(
        page_size=found.page_size,
        format=_format(version, update),
        version=version,
        update=update,
        minor_update=u32(page, 644),
        created_format=_format(u32(page, 340), u32(page, 344)) if u32(page, 340) else "",
        file_type=FILE_TYPES.get(u32(page, _FILE_TYPE_AT), "unknown"),
        state=_STATES.get(state, f"unknown ({state})"),
        header_ok=found.header_ok,
        shadow_header_ok=found.shadow_ok,
        remark=found.remark,
        signature=header_fields.signature(page, 24),
        log_signature=header_fields.signature(page, 108),
        dbtime=u64(page, 16),
        database_id=u32(page, 104),
        last_object_id=u32(page, 212),
        os_version=_os_version(page),
        consistent=_moment(page, 64, 56),
        attach=_moment(page, 72, 80),
        reattach=_moment(page, 564, 572),
        detach=_moment(page, 88, 96),
        log_required=LogRange(first=u32(page, 296), last=u32(page, 300)),
        log_committed=u32(page, 416),
        log_recovering=u32(page, 536),
        max_required_created=_max_required_created(page),
        unfinished_backup=LogRange(first=u32(page, 200), last=u32(page, 204)),
        corrected=header_fields.count(page, 368),
        correction_failed=header_fields.count(page, 384),
        bad_checksums=header_fields.count(page, 400),
        repairs=header_fields.count(page, 240, old_at=364),
        reseeds=header_fields.count(page, 476),
        patched_pages=header_fields.count(page, 492),
        scan_finished=header_fields.time(page, 516),
        scan_started=header_fields.time(page, 524),
        scan_contiguous_page=u32(page, 532),
        scan_highest_page=u32(page, 652),
        scrub_time=header_fields.time(page, 288),
        scrub_dbtime=u64(page, 280),
        full_backup=header_fields.backup(page, 136, 356),
        incremental_backup=header_fields.backup(page, 160, 360),
        copy_backup=header_fields.backup(page, 420, 468),
        differential_backup=header_fields.backup(page, 444, 472),
    )


def _max_required_created(page: bytes) -> datetime | None:
    """As CheckGenMaxReq in logredo.cxx takes it."""
    if (own := header_fields.time(page, 672)) is not None:
        return own
    same = u32(page, 300) == u32(page, 416)
    return header_fields.time(page, 348) if same else None


def _format(version: int, update: int) -> str:
    return f"0x{version:x}.{update}"


def _os_version(page: bytes) -> str:
    text = f"{u32(page, 216)}.{u32(page, 220)}.{u32(page, 224)}"
    pack = u32(page, 228)
    return f"{text} SP {pack}" if pack else text
