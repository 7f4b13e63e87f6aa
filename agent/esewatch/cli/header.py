"""`header`: shows the header of a database file, read-only."""

import argparse
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from esewatch.cli.inputs.reader import FAILED, HEALTHY, WRONG
from esewatch.cli.options import add_format_option
from esewatch.cli.scan.scan_paths import find_databases
from esewatch.ese.pages.header import Header, NotDatabase
from esewatch.ese.pages.header_fields import BackupRecord, Count, HeaderTime, LogRange, Signature
from esewatch.scan.open_errors import why_not_opened
from esewatch.scan.reading.header_reading import read_header
from esewatch.scan.reading.reading import DatabaseFile

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
_NEVER = "never"

_encode = msgspec.json.Encoder().encode


def add_commands(commands: Any) -> None:
    """Register `header`."""
    parser = commands.add_parser(
        "header",
        help="show the header of a database file",
        description="Shows the header of database files. The files are only read. Exit status "
        "1: a copy of the header is damaged, or the engine has counted pages it could not mend.",
        epilog="example: esewatch header /snapshots/priv06.edb",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, directories or globs")
    add_format_option(parser)
    parser.set_defaults(function=print_headers)


def print_headers(options: argparse.Namespace) -> int:
    """`header`: exit status 1 when a header is damaged or counts faults, 2 when a file has none."""
    found = find_databases(options.paths)
    status, shown = HEALTHY, 0
    for error in found.errors:
        _complain(error)
        status = FAILED
    for path in found.files:
        try:
            header, size = _read(path)
        except (OSError, ValueError) as error:
            _complain(why_not_opened(path, error))
            status = FAILED
            continue
        if isinstance(header, NotDatabase):
            _complain(f"{path}: {header.reason}")
            status = FAILED
            continue
        write = _json if options.format == "json" else header_text
        sys.stdout.write("\n" * (shown > 0 and options.format == "text"))
        sys.stdout.write(write(path, size, header))
        shown += 1
        status = max(status, WRONG if _wrong(header) else HEALTHY)
    return status


def _read(path: str) -> tuple[Header | NotDatabase, int]:
    file = DatabaseFile(path)
    try:
        return read_header(file), file.size()
    finally:
        file.close()


def _complain(text: str) -> None:
    sys.stderr.write(_one_line(f"esewatch: {text}"))


def _wrong(header: Header) -> bool:
    damaged = not (header.header_ok and header.shadow_header_ok)
    return damaged or header.bad_checksums.count > 0 or header.correction_failed.count > 0


def header_object(path: str, size: int, header: Header) -> dict[str, Any]:
    """The JSON object of a header; `bytes` is the size of the file. None: not set."""
    plain = msgspec.to_builtins(header, builtin_types=(datetime,))
    return {"path": path, "bytes": size, **{key: _with_times(of) for key, of in plain.items()}}


def _with_times(value: Any) -> Any:
    """Times as ISO 8601, with Z where they are UTC and without where they are local."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, dict):
        return {key: _with_times(item) for key, item in value.items()}
    return value


def _json(path: str, size: int, header: Header) -> str:
    return _encode(header_object(path, size, header)).decode("utf-8", "surrogatepass") + "\n"


def header_text(path: str, size: int, header: Header) -> str:
    """The table of a header, for people; `size` is the file's, in bytes."""
    rows = [f"  {name:<22}{value}" for name, value in _rows(size, header)]
    return "".join(_one_line(line) for line in (path, *rows))


def _rows(size: int, header: Header) -> Iterator[tuple[str, str]]:
    if header.remark:
        yield "Remark", header.remark
    copies = ("ok" if ok else "damaged" for ok in (header.header_ok, header.shadow_header_ok))
    yield "Header, shadow", ", ".join(copies)
    yield "State", _STATES.get(header.state, header.state)
    yield "Size", f"{size:,} bytes, pages of {header.page_size:,}"
    minor = f".{header.minor_update}" if header.minor_update else ""
    created = f", created as {header.created_format}" if header.created_format else ""
    yield "Format", f"{header.format}{minor}{created}"
    yield "Written by", f"Windows {header.os_version}"
    yield "Signature", _signature(header.signature)
    yield "Log signature", _signature(header.log_signature)
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
    yield "Last attach", _moment(header.attach)
    if header.reattach.time or header.reattach.position:
        yield "Last re-attach", _moment(header.reattach)
    yield "Last detach", _moment(header.detach)
    yield "Last consistent", _moment(header.consistent)
    yield "Logs required", _logs(header.log_required)
    if header.log_committed:
        yield "Logs committed to", _generation(header.log_committed)
    if header.log_recovering:
        yield "Log being replayed", _generation(header.log_recovering)


def _maintenance(header: Header) -> Iterator[tuple[str, str]]:
    if header.scan_finished or header.scan_started or header.scan_highest_page:
        yield "Scan finished", _time(header.scan_finished)
        reached = f"{header.scan_contiguous_page:,} (highest {header.scan_highest_page:,})"
        yield "Scan started", f"{_time(header.scan_started)}, reached page {reached}"
    if header.scrub_time or header.scrub_dbtime:
        yield "Zeroed", f"{_time(header.scrub_time)}, dbtime {header.scrub_dbtime}"
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
            yield name, f"{_time(backup.time)}, {kind}, logs {_logs(backup.logs)}"
    if not any(backup for _, backup in backups):
        yield "Full backup", _NEVER


def _time(time: datetime | None) -> str:
    if time is None:
        return _NEVER
    return f"{time:%Y-%m-%d %H:%M:%S} {'UTC' if time.tzinfo else 'local'}"


def _moment(moment: HeaderTime) -> str:
    place = f" at log {moment.position}" if moment.position else ""
    return _time(moment.time) + place


def _signature(signature: Signature) -> str:
    if not signature.created:
        return "none"
    computer = f" on {signature.computer}" if signature.computer else ""
    return f"{signature.random}, created {_time(signature.created)}{computer}"


def _count(count: Count) -> str:
    last = f", last {_time(count.last)}" if count.last else ""
    old = f" ({count.before_repair:,} before the last repair)" if count.before_repair else ""
    return f"{count.count:,}{last}{old}" if count.count or old else "none"


def _logs(logs: LogRange) -> str:
    if not (logs.first or logs.last):
        return "none"
    return f"{logs.first}-{logs.last} (0x{logs.first:x}-0x{logs.last:x})"


def _generation(generation: int) -> str:
    return f"{generation} (0x{generation:x})"


def _one_line(text: str) -> str:
    """Control characters of the data must not reach the terminal."""
    return "".join(c if c.isprintable() else " " for c in text) + "\n"
