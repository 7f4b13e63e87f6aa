"""The page that a streaming backup puts behind the last one of a database (its trailer).

It completes the header when the backup is restored. Sources in the published engine: PATCHHDR in
cpage.hxx, BKIMakeDbTrailer in backup.cxx, ErrDBReadAndCheckDBTrailer and
ErrDBCheckDBHeaderAndTrailer in db.cxx. Old engines wrote a patch file beside the database instead.
"""

from typing import Final, Literal

import msgspec

from esefiles.pages.checksum import xor_checksum
from esefiles.pages.header import Header
from esefiles.pages.header_fields import LogRange, u32
from esefiles.pages.layout import number_at
from esefiles.scans.reading.reading import DatabaseFile, read_pages

_BACKUP: Final = slice(184, 192)
"""Of the header: the place in the log at which the backup began."""
_SIGNATURES: Final = (slice(24, 52), slice(108, 136))
"""Of the header: those of the database and of its logs."""
_TRAILER_BACKUP: Final = slice(40, 48)
_TRAILER_LOGS: Final = (56, 60)
_TRAILER_SIGNATURES: Final = (slice(64, 92), slice(92, 120))


class BackupTrailer(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of the last page of the file. `logs` are those that the restore needs."""

    state: Literal["good", "missing", "foreign"]
    """`missing`: also one that is damaged. `foreign`: of another database or backup."""
    logs: LogRange = LogRange()


def is_out_of_backup(header: Header) -> bool:
    """Is the file out of a streaming backup, and not restored yet?"""
    return bool(header.unfinished_backup.first and not header.unfinished_backup.last)


def trailer_of(header: Header, path: str) -> BackupTrailer | None:
    """None where the file is not out of a streaming backup. Raises OSError."""
    if not is_out_of_backup(header):
        return None
    size = header.page_size
    file = DatabaseFile(path, buffered=True)
    try:
        own = file.read(0 if header.header_ok else size, size)
        page = read_pages(file, number_at(file.size() - size, size), 1, size)
    finally:
        file.close()
    if len(page) < size or u32(page, 0) != xor_checksum(page) or not any(page):
        return BackupTrailer(state="missing")
    logs = LogRange(first=u32(page, _TRAILER_LOGS[0]), last=u32(page, _TRAILER_LOGS[1]))
    fits = page[_TRAILER_BACKUP] == own[_BACKUP] and all(
        page[theirs] == own[ours]
        for theirs, ours in zip(_TRAILER_SIGNATURES, _SIGNATURES, strict=True)
    )
    return BackupTrailer(state="good" if fits and logs.last else "foreign", logs=logs)
