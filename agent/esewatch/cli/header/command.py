"""`header`: shows the header of a database, a log, a checkpoint or a flush map, read-only."""

import argparse
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from esewatch.cli.header.database_text import database_rows
from esewatch.cli.header.recovery_text import checkpoint_rows, log_rows, map_rows
from esewatch.cli.inputs.reader import exit_status
from esewatch.cli.options import add_format_option
from esewatch.cli.scan.scan_paths import find_databases
from esewatch.ese.logs.checkpoint import CHECKPOINT_BYTES, Checkpoint, parse_checkpoint
from esewatch.ese.logs.log_header import LOG_HEADER_BYTES, LogHeader, is_log, parse_log_header
from esewatch.ese.pages.file_types import foreign_type_of
from esewatch.ese.pages.flush_map.map_header import (
    MapHeader,
    is_flush_map,
    is_whole,
    parse_map_header,
)
from esewatch.ese.pages.header import Header, NotDatabase
from esewatch.names import one_line, printable, visible
from esewatch.scan.open_errors import why_not_opened
from esewatch.scan.reading.header_reading import read_header
from esewatch.scan.reading.reading import DatabaseFile


def add_commands(commands: Any) -> None:
    """Register `header`."""
    parser = commands.add_parser(
        "header",
        help="show the header of a database, transaction log, checkpoint or flush map",
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
    unreadable, wrong, shown = bool(found.errors), False, 0
    as_json = options.format == "json"
    for error in found.errors:
        _complain(error)
    for path in found.files:
        try:
            header, size = _read(path)
        except (OSError, ValueError) as error:
            _complain(why_not_opened(path, error))
            unreadable = True
            continue
        if isinstance(header, NotDatabase | _Damaged):
            _complain(f"{path}: {header.reason}")
            unreadable = unreadable or isinstance(header, NotDatabase)
            wrong = wrong or isinstance(header, _Damaged)
            continue
        sys.stdout.write("\n" * (shown > 0 and options.format == "text"))
        sys.stdout.write(_json(path, size, header) if as_json else header_text(path, size, header))
        shown += 1
        wrong = wrong or _wrong(header, size)
    return exit_status(any_read=wrong or shown > 0, unreadable=unreadable, wrong=wrong)


_OF_BLANK: Final = frozenset(
    ("page_size", "format", "file_type", "state", "header_ok", "shadow_header_ok", "remark")
)
"""Keys of a database whose header is gone that stand for something."""

_LABEL: Final = 24
"""Characters of a row up to its value."""

AnyHeader = Header | LogHeader | Checkpoint | MapHeader


class _Damaged(NamedTuple):
    """A header of a log, a checkpoint or a flush map of which nothing can be shown."""

    reason: str


def _read(path: str) -> tuple[AnyHeader | NotDatabase | _Damaged, int]:
    file = DatabaseFile(path)
    try:
        found = read_header(file)
        if isinstance(found, Header):
            return found, file.size()
        return _of_recovery(file.read(0, CHECKPOINT_BYTES)) or found, file.size()
    finally:
        file.close()


def _of_recovery(data: bytes) -> AnyHeader | NotDatabase | _Damaged | None:
    """The header of a log, a checkpoint or a flush map; None: the file is none of them."""
    log = parse_log_header(data)
    if isinstance(log, LogHeader):
        return log
    checkpoint = parse_checkpoint(data)
    if isinstance(checkpoint, Checkpoint):
        return checkpoint
    # A program may have in one place what a log has there.
    if foreign_type_of(data):
        return None
    if is_flush_map(data):
        flush_map = parse_map_header(data)
        if isinstance(flush_map, MapHeader):
            return flush_map
        return NotDatabase(flush_map) if is_whole(data) else _Damaged(flush_map)
    if checkpoint.damaged:
        return _Damaged(checkpoint.reason)
    was_log = len(data) >= LOG_HEADER_BYTES or is_log(data)
    return _Damaged(log.reason) if log.damaged and was_log else None


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


def _complain(text: str) -> None:
    sys.stderr.write(visible(f"esewatch: {text}") + "\n")


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


def _json(path: str, size: int, header: AnyHeader) -> str:
    return msgspec.json.encode(header_object(path, size, header)).decode() + "\n"
