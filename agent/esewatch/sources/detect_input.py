"""Detection of the kind of an input on the command line, by its content and never its name."""

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from esewatch.ese.dates import DateOrder
from esewatch.model import Source, SourceError, UnsupportedError
from esewatch.sources.counters.perfmon_csv import is_binary_log, is_perfmon_text, perfmon_csv_source
from esewatch.sources.evtx.evtx_source import EvtxSource
from esewatch.sources.files.follow import sniff
from esewatch.sources.files.globs import matches
from esewatch.sources.logs.eseutil_log import EseutilLogSource, is_eseutil_text
from esewatch.sources.logs.event_stream import event_stream_source, recognise
from esewatch.sources.logs.formats.event_builder import Options
from esewatch.sources.logs.ntbackup_log import is_ntbackup_log, ntbackup_log_source
from esewatch.sources.logs.sqlserver_errorlog import is_errorlog, sqlserver_errorlog_source

Kind = Literal[
    "evtx", "perfmon_csv", "eseutil_log", "sqlserver_errorlog", "ntbackup_log", "event_stream"
]

_EVENT_LOG = b"ElfFile\0"
_CONVERT = "convert it with: relog FILE.blg -f csv -o FILE.csv"
_BINARIES: tuple[tuple[int, bytes, str], ...] = (
    (4, b"\xef\xcd\xab\x89", "an ESE database: use `esewatch scan` or `esewatch header`"),
    (
        4,
        b"LfLe",
        "an event log of Windows XP: convert it with: wevtutil epl FILE.evt FILE.evtx /lf",
    ),
    (0, b"PDH.DLL", f"a binary counter log: {_CONVERT}"),
    (0, b"PK\x03\x04", "a zip archive: unpack it first"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive: unpack it first"),
    (0, b"\xfd7zXZ\x00", "an xz file: unpack it first"),
    (0, b"BZh", "a bzip2 file: unpack it first"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file: unpack it first"),
    (0, b"MSCF", "a cabinet: unpack it first"),
    (0, b"SQLite format 3\0", "a SQLite database"),
    (0, b"regf", "a registry hive"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"MZ", "a Windows program"),
    (0, b"\x7fELF", "a Linux program"),
)


def expand(paths: Sequence[str]) -> list[str]:
    """Files named by `paths`: files, folders (with all below), and globs, without repetition.

    A path that names nothing is kept, so that opening it reports the error.
    """
    files: dict[str, None] = {}
    for path in paths:
        named = [path] if Path(path).exists() else matches(path)
        for name in named or [path]:
            below = sorted(Path(name).rglob("*")) if Path(name).is_dir() else [Path(name)]
            files.update((str(file), None) for file in below if not file.is_dir())
    return list(files)


def kind_of(path: str) -> Kind:
    """The kind of input at `path`, by its first block. An empty file is an event stream.

    Raises SourceError when it cannot be opened, or is of a kind that is not supported.
    """
    head, stored = sniff(path)
    if head.startswith(_EVENT_LOG) or stored.startswith(_EVENT_LOG):
        return "evtx"
    for first in (stored, head):
        for offset, magic, what in _BINARIES:
            if first.startswith(magic, offset):
                raise UnsupportedError(f"{path}: not a supported input: {what}")
    if is_binary_log(head):
        raise UnsupportedError(f"{path}: not a supported input: a binary counter log: {_CONVERT}")
    if is_perfmon_text(head):
        return "perfmon_csv"
    if is_eseutil_text(head):
        return "eseutil_log"
    if is_errorlog(head):
        return "sqlserver_errorlog"
    if is_ntbackup_log(head):
        return "ntbackup_log"
    if recognise(head) is None:
        raise UnsupportedError(
            f"{path}: not a supported input: neither text nor an event log "
            f"(if it is a binary counter log, {_CONVERT})"
        )
    return "event_stream"


def open_inputs(
    paths: Sequence[str],
    *,
    providers: Sequence[str] = (),
    computer: str = "",
    timezone: str | None = None,
    date_order: DateOrder | None = None,
    companions: bool = False,
    ese_only: bool = True,
) -> tuple[list[Source], list[SourceError]]:
    """One source for each kind of input among these files, and an error for each that is none.

    A source that reads several files is named by its kind, one that reads a single
    file by its path. `ese_only` leaves counters out that feed no metric.
    """
    options = Options(
        providers=tuple(providers),
        computer=computer,
        timezone=timezone,
        date_order=date_order,
        companions=companions,
    )
    by_kind: dict[Kind, list[str]] = {}
    errors: list[SourceError] = []
    for path in paths:
        try:
            by_kind.setdefault(kind_of(path), []).append(path)
        except SourceError as error:
            errors.append(error)
    sources: list[Source] = []
    for kind, files in by_kind.items():
        name = files[0] if len(files) == 1 else kind
        try:
            sources.append(_source(kind, name, files, options, ese_only=ese_only))
        except SourceError as error:
            errors.append(error)
    return sources, errors


def _source(
    kind: Kind, name: str, files: Sequence[str], options: Options, *, ese_only: bool
) -> Source:
    paths = [glob.escape(file) for file in files]
    if kind == "evtx":
        return EvtxSource(
            name,
            paths,
            providers=options.providers,
            companions=options.companions,
            date_order=options.date_order,
            computer=options.computer,
        )
    if kind == "perfmon_csv":
        return perfmon_csv_source(
            name,
            paths,
            computer=options.computer,
            timezone=options.timezone,
            ese_only=ese_only,
        )
    if kind == "eseutil_log":
        return EseutilLogSource(name, paths, computer=options.computer)
    if kind == "sqlserver_errorlog":
        return sqlserver_errorlog_source(
            name,
            paths,
            computer=options.computer,
            timezone=options.timezone,
            date_order=options.date_order,
            companions=options.companions,
        )
    if kind == "ntbackup_log":
        return ntbackup_log_source(
            name,
            paths,
            computer=options.computer,
            timezone=options.timezone,
            date_order=options.date_order,
        )
    return event_stream_source(
        name,
        paths,
        providers=options.providers,
        computer=options.computer,
        timezone=options.timezone,
        date_order=options.date_order,
        companions=options.companions,
    )


def open_input(
    path: str,
    *,
    name: str | None = None,
    providers: Sequence[str] = (),
    computer: str = "",
    timezone: str | None = None,
    date_order: DateOrder | None = None,
    companions: bool = False,
    ese_only: bool = True,
) -> Source:
    """The source that reads one file. Raises SourceError; see `kind_of` and `open_inputs`."""
    sources, errors = open_inputs(
        [path],
        providers=providers,
        computer=computer,
        timezone=timezone,
        date_order=date_order,
        companions=companions,
        ese_only=ese_only,
    )
    if errors:
        raise errors[0]
    if name is not None:
        sources[0].name = name
    return sources[0]
