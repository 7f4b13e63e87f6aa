"""`header`: shows the header of a database, a log, a checkpoint or a flush map, read-only.

Of the table, rows are name and value; `size` is the file's, in bytes.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from esefiles import HeaderError, header
from esefiles.base.command import add_format_option, exit_status
from esefiles.base.names import one_line, printable, visible
from esefiles.commands.scan_run import complain
from esefiles.commands.scan_text import json_line
from esefiles.file_header import AnyHeader
from esefiles.logs.checkpoint import Checkpoint
from esefiles.logs.log_header import Attachment, LogHeader, Parameters
from esefiles.pages.flush_map.flush_types import PAGES_OF_MAP_PAGE
from esefiles.pages.flush_map.map_header import MAP_PAGE, MapHeader
from esefiles.pages.header import Header
from esefiles.pages.header_fields import (
    BackupRecord,
    HeaderCounter,
    HeaderTime,
    LogRange,
    Signature,
)
from esefiles.paths import find_databases


def add_header(commands: "argparse._SubParsersAction[Any]") -> None:
    parser = commands.add_parser(
        "header",
        description="Shows the headers of databases, transaction logs, checkpoints and flush maps."
        " The files are only read. Exit status 1: a header or a copy of it is damaged, the"
        " engine has counted pages it could not repair, or a log has not the size that it should.",
        epilog="example: esewatch header /snapshots/priv06.edb",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, directories or globs")
    add_format_option(parser)
    parser.set_defaults(function=print_headers)


def print_headers(options: argparse.Namespace) -> int:
    """`header`: exit status 1 when a header is damaged or counts faults, 2 when no file has one."""
    found = find_databases(options.paths)
    unreadable, wrong, shown = found.is_failed, False, 0
    as_json = options.format == "json"
    for other in found.others:
        if other.ended == "failed":
            complain(other.reason)
    for path in found.files:
        try:
            _, size, content = header(path)
        except HeaderError as error:
            complain(str(error))
            unreadable = unreadable or not error.damaged
            wrong = wrong or error.damaged
            continue
        sys.stdout.write("\n" * (shown > 0 and options.format == "text"))
        if as_json:
            sys.stdout.write(json_line(header_object(path, size, content)))
        else:
            sys.stdout.write(header_text(path, size, content))
        shown += 1
        wrong = wrong or _wrong(content, size)
    return exit_status(any_read=wrong or shown > 0, unreadable=unreadable, wrong=wrong)


_OF_BLANK: Final = frozenset(
    ("page_size", "format", "file_type", "state", "header_ok", "shadow_header_ok", "remark")
)
"""Keys of a database whose header is gone that stand for something."""

_LABEL: Final = 24
"""Characters of a row up to its value."""


def header_text(path: str, size: int, header: AnyHeader) -> str:
    """The table of a header, for people; `size` is the file's, in bytes."""
    rows = [f"  {name:<{_LABEL}}{value}" for name, value in _rows(size, header)]
    return "".join(f"{line}\n" for line in (visible(path), *map(one_line, rows)))


def _rows(size: int, header: AnyHeader) -> Iterator[tuple[str, str]]:
    if isinstance(header, LogHeader):
        return log_rows(size, header)
    if isinstance(header, Checkpoint):
        return checkpoint_rows(header)
    if isinstance(header, MapHeader):
        return map_rows(size, header)
    return database_rows(size, header)


def _wrong(header: AnyHeader, size: int) -> bool:
    if isinstance(header, LogHeader):
        return size != header.file_bytes()
    if isinstance(header, MapHeader):
        return False
    damaged = not (header.header_ok and header.shadow_header_ok)
    if isinstance(header, Checkpoint):
        return damaged
    return damaged or header.bad_checksums.count > 0 or header.correction_failed.count > 0


def header_object(path: str, size: int, header: AnyHeader) -> dict[str, Any]:
    """The JSON object of a header; `bytes` is the size of the file. None: not set, or of a
    database whose header is gone.
    """
    plain = msgspec.to_builtins(header, builtin_types=(datetime,))
    kinds = {LogHeader: "transaction_log", Checkpoint: "checkpoint", MapHeader: "flush_map"}
    kind = kinds.get(type(header))
    named = {"path": printable(path), "bytes": size} | ({"file_type": kind} if kind else {})
    if isinstance(header, Header) and header.is_blank():
        plain = {key: of if key in _OF_BLANK else None for key, of in plain.items()}
    return {**named, **{key: _with_times(of) for key, of in plain.items()}}


def _with_times(value: Any) -> Any:
    """Times as ISO 8601, with Z where they are UTC and without where they are local."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, dict):
        return {key: _with_times(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_times(item) for item in value]
    return value


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


def log_rows(size: int, header: LogHeader) -> Iterator[tuple[str, str]]:
    expected = header.file_bytes()
    yield "Kind", "transaction log"
    yield "Generation", generation_text(header.generation)
    yield "Created", time_text(header.created)
    yield "Previous log created", time_text(header.previous_created)
    yield "Log signature", signature_text(header.signature)
    yield "Format", header.version
    wrong = "" if size == expected else f", its header says {expected:,}: it was cut or extended"
    yield "Size", f"{size:,} bytes, sectors of {header.sector_bytes:,}{wrong}"
    yield "Page size", f"{header.page_size:,} bytes"
    yield "Checkpoint at creation", str(header.checkpoint or "none")
    history = ", on in older logs of the series" if header.circular_before else ""
    yield "Circular logging", ("on" if header.circular else "off") + history
    if header.from_reserve:
        yield "From a reserve log", "yes: the disk was full"
    if header.has_previous_checksum():
        yield "Previous checksum", f"0x{header.previous_checksum:016x}"
    if header.engine_format:
        yield "Engine's format", str(header.engine_format)
    yield "Folder", header.folder or "none"
    yield "Checkpoint's folder", header.system_folder or "none"
    yield "Parameters", _parameters(header.parameters)
    yield from _attached(header.attachments)


def _parameters(of: Parameters) -> str:
    return (
        f"sessions {of.sessions:,}, open tables {of.open_tables:,}, version pages"
        f" {of.version_pages:,}, cursors {of.cursors:,}, log buffers {of.log_buffers:,}, log"
        f" {of.log_sectors:,} sectors, cache {of.cache_pages:,} pages"
    )


def checkpoint_rows(checkpoint: Checkpoint) -> Iterator[tuple[str, str]]:
    whole = (checkpoint.header_ok, checkpoint.shadow_header_ok)
    copies = ("ok" if ok else "damaged" for ok in whole)
    yield "Kind", "checkpoint"
    yield "Header, shadow", ", ".join(copies)
    yield "Checkpoint", str(checkpoint.position or "none")
    yield "Written up to", str(checkpoint.consistency or "none")
    yield "Log signature", signature_text(checkpoint.signature)
    full, incremental = checkpoint.full_backup_time, checkpoint.incremental_backup_time
    yield "Full backup", time_text(full) if full else NEVER
    if incremental:
        yield "Incremental backup", time_text(incremental)
    yield from _attached(checkpoint.attachments)


def map_rows(size: int, header: MapHeader) -> Iterator[tuple[str, str]]:
    yield "Kind", "flush map"
    yield "Completed", "yes" if header.clean else "no: it was in use"
    yield "Format", header.version
    yield "Size", f"{size:,} bytes, room for {PAGES_OF_MAP_PAGE * (size // MAP_PAGE - 1):,} pages"
    yield "Created", time_text(header.created)
    yield "Attached", time_text(header.attached)
    yield "Detached", time_text(header.detached)
    required = header.log_required
    yield "Log required", generation_text(required) if required else "none"
    yield "Full flush started", time_text(header.flush_started)
    yield "Full flush done", time_text(header.flush_completed)
    yield "Flush of database", signature_text(header.database_flush)
    yield "Flush of map", signature_text(header.map_flush)


def _attached(attachments: Iterable[Attachment]) -> Iterator[tuple[str, str]]:
    for attached in attachments:
        yield "Attached", f"{attached.path} (database {attached.database_id})"


NEVER: Final = "never"


def time_text(time: datetime | None) -> str:
    """A time with its zone, as far as it is known."""
    if time is None:
        return NEVER
    return f"{time:%Y-%m-%d %H:%M:%S} {'UTC' if time.tzinfo else 'local'}"


def moment(of: HeaderTime) -> str:
    return time_text(of.time) + (f" at log {of.position}" if of.position else "")


def signature_text(signature: Signature) -> str:
    if not signature.created:
        return "none"
    computer = f" on {signature.computer}" if signature.computer else ""
    return f"{signature.random}, created {time_text(signature.created)}{computer}"


def generation_text(generation: int) -> str:
    """A generation in both notations: files are named by the hexadecimal one."""
    return f"{generation} (0x{generation:x})"
