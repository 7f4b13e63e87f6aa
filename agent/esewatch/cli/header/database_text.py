"""The rows of a database header, for people."""

from collections.abc import Iterator

from esewatch.cli.header.words import (
    NEVER,
    generation_text,
    moment,
    signature_text,
    time_text,
)
from esewatch.ese.pages.header import Header
from esewatch.ese.pages.header_fields import BackupRecord, HeaderCounter, LogRange

_STATES = {
    "clean": "clean shutdown",
    "dirty": "dirty shutdown (in use, or copied while in use: no fault)",
    "just_created": "just created",
    "converting": "being converted",
    "force_detach": "detached by force",
    "reseeding": "incremental reseed in progress",
    "dirty_patched": "dirty shutdown, pages patched",
    "reverting": "revert in progress",
}


def database_rows(size: int, header: Header) -> Iterator[tuple[str, str]]:
    """Name and value of each; `size` is the file's, in bytes."""
    if header.remark:
        yield "Remark", header.remark
    copies = ("ok" if ok else "damaged" for ok in (header.header_ok, header.shadow_header_ok))
    yield "Header, shadow", ", ".join(copies)
    yield "State", _STATES.get(header.state, header.state)
    yield "Size", f"{size:,} bytes, pages of {header.page_size:,}"
    if not header.is_blank():
        yield from _content(header)


def _content(header: Header) -> Iterator[tuple[str, str]]:
    minor = f".{header.minor_update}" if header.minor_update else ""
    created = f", created as {header.created_format}" if header.created_format else ""
    yield "Format", f"{header.format}{minor}{created}"
    yield "Written by", f"Windows {header.os_version}"
    yield "Signature", signature_text(header.signature)
    yield "Log signature", signature_text(header.log_signature)
    yield from _faults(header)
    yield from _attachments(header)
    yield from _maintenance(header)
    yield from _backups(header)


def _faults(header: Header) -> Iterator[tuple[str, str]]:
    yield "Bad checksums", _count(header.bad_checksums)
    yield "Corrections failed", _count(header.correction_failed)
    yield "Bits corrected", _count(header.corrected)
    yield "Repairs", _count(header.repairs)
    if header.reseeds.count or header.patched_pages.count:
        yield "Incremental reseeds", _count(header.reseeds)
        yield "Pages patched", _count(header.patched_pages)


def _attachments(header: Header) -> Iterator[tuple[str, str]]:
    yield "Last attach", moment(header.attach)
    if header.reattach.time or header.reattach.position:
        yield "Last re-attach", moment(header.reattach)
    yield "Last detach", moment(header.detach)
    yield "Last consistent", moment(header.consistent)
    yield "Logs required", _logs(header.log_required)
    if header.log_committed:
        yield "Logs committed to", generation_text(header.log_committed)
    if header.log_recovering:
        yield "Log being replayed", generation_text(header.log_recovering)


def _maintenance(header: Header) -> Iterator[tuple[str, str]]:
    if header.scan_finished or header.scan_started or header.scan_highest_page:
        yield "Scan finished", time_text(header.scan_finished)
        reached = f"{header.scan_contiguous_page:,} (highest {header.scan_highest_page:,})"
        yield "Scan started", f"{time_text(header.scan_started)}, reached page {reached}"
    if header.scrub_time or header.scrub_dbtime:
        yield "Zeroed", f"{time_text(header.scrub_time)}, dbtime {header.scrub_dbtime}"
    yield "Database time", f"{header.dbtime} (0x{header.dbtime:x})"


def _backups(header: Header) -> Iterator[tuple[str, str]]:
    backups: tuple[tuple[str, BackupRecord | None], ...] = (
        ("Full backup", header.full_backup),
        ("Incremental backup", header.incremental_backup),
        ("Copy backup", header.copy_backup),
        ("Differential backup", header.differential_backup),
    )
    for name, backup in backups:
        if backup is not None:
            kind = backup.kind.replace("_", " ")
            yield name, f"{time_text(backup.time)}, {kind}, logs {_logs(backup.logs)}"
    if not any(backup for _, backup in backups):
        yield "Full backup", NEVER


def _count(count: HeaderCounter) -> str:
    last = f", last {time_text(count.last)}" if count.last else ""
    old = f" ({count.before_repair:,} before the last repair)" if count.before_repair else ""
    return f"{count.count:,}{last}{old}" if count.count or old else "none"


def _logs(logs: LogRange) -> str:
    if not (logs.first or logs.last):
        return "none"
    return f"{logs.first}-{logs.last} (0x{logs.first:x}-0x{logs.last:x})"
