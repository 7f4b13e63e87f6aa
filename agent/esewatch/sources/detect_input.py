"""Detection of the kind of an input on the command line, by its content and never its name."""

import glob
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from esefiles.base.globs import GlobMatch, search
from esefiles.base.names import reason_of
from esewatch.config import SETTINGS_OF, Settings
from esewatch.ese.dates import DateOrder
from esewatch.model import Source, SourceError, UnsupportedError
from esewatch.sources.counters.blg.perfmon_blg import look
from esewatch.sources.counters.perfmon_csv import zone_of_text
from esewatch.sources.counters.perfmon_header import is_header_without_tag
from esewatch.sources.files.follow import sniff
from esewatch.sources.kind import RecordSelection
from esewatch.sources.registry import build_source, kind_by_content

COUNTER_LOGS = ("perfmon_csv", "perfmon_blg")
"""The kinds of inputs that are counter logs."""

_CONVERT = "convert it with: relog FILE.blg -f csv -o FILE.csv"
_BINARIES: tuple[tuple[int, bytes, str], ...] = (
    (4, b"\xef\xcd\xab\x89", "an ESE database: use `esewatch scan` or `esewatch header`"),
    (
        4,
        b"LfLe",
        "an event log of Windows XP: convert it with: wevtutil epl FILE.evt FILE.evtx /lf:true",
    ),
    (0, b"PDH.DLL", f"a binary counter log of Windows NT: {_CONVERT}"),
    (0, b'"(PDH-BIN', f"a binary counter log of another form: {_CONVERT}"),
    (0, b"PK\x03\x04", "a zip archive: unpack it first: unzip FILE -d FOLDER, or tar -xf FILE"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive: unpack it first: 7z x FILE"),
    (0, b"\xfd7zXZ\x00", "an xz file: unpack it first: xz -d FILE"),
    (0, b"BZh", "a bzip2 file: unpack it first: bzip2 -d FILE"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file: unpack it first: zstd -d FILE"),
    (0, b"MSCF", "a cabinet: unpack it first: expand FILE -F:* FOLDER"),
    (257, b"ustar", "a tar archive: unpack it first: tar -xf FILE"),
    (0, b"SQLite format 3\0", "a SQLite database"),
    (0, b"regf", "a registry hive"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"MZ", "a Windows program"),
    (0, b"\x7fELF", "a Linux program"),
)


def expand(paths: Sequence[str]) -> list[str]:
    """Files named by `paths`: files, folders (with all below), and globs, without repetition. A
    path that names nothing, and a folder without a file or without access, is kept: opening it
    reports the error."""
    files: dict[str, None] = {}
    for path in paths:
        is_pattern = glob.has_magic(path) and not os.path.exists(path)  # noqa: PTH110 - never raises
        found = search(path) if is_pattern else GlobMatch([path], {})
        for name in found.paths or ([] if found.barred else [path]):
            files.update(dict.fromkeys(map(str, sorted(_below(name)) or [Path(name)])))
        files.update(dict.fromkeys(found.barred))
    return list(files)


def _below(folder: str) -> list[Path]:
    files: list[Path] = []
    barred: list[OSError] = []
    if os.path.isdir(folder):  # noqa: PTH112 - never raises
        for place, _, names in os.walk(folder, onerror=barred.append):
            files += [Path(place, name) for name in names]
    return files + [Path(error.filename) for error in barred]


def _why_empty(folder: str) -> str:
    try:
        # One that may be listed and not entered has names that say nothing.
        with os.scandir(folder):
            Path(folder, "..").stat()
    except OSError as error:
        return reason_of(error)
    return "this folder holds no file"


def kind_of(path: str) -> str:
    """The kind of input at `path`, by its first block. An empty file is an event stream. Raises
    SourceError when it cannot be opened, or is of a kind that is not supported."""
    if os.path.isdir(path):  # noqa: PTH112 - never raises
        raise SourceError(f"{path}: {_why_empty(path)}")
    if glob.has_magic(path) and not os.path.exists(path):  # noqa: PTH110 - never raises
        raise SourceError(f"{path}: no file matches this pattern")
    head, stored = sniff(path)
    kind = kind_by_content(head, stored)
    what = "" if kind in ("evtx", "perfmon_blg") else _unsupported(head, stored)
    if what or kind is None:
        what = what or (
            "neither text nor an event log, nor a counter log whose first buffer is undamaged"
        )
        raise UnsupportedError(f"{path}: not a supported input: {what}")
    return kind


def _unsupported(head: bytes, stored: bytes) -> str:
    for first in (stored, head):
        for offset, magic, what in _BINARIES:
            if first.startswith(magic, offset):
                return what
    if is_header_without_tag(head):
        return "a counter log without its tag: its first cell should begin with (PDH-CSV 4.0)"
    return ""


def zone_of(path: str) -> tuple[str, int] | None:
    """Name of the time zone of a counter log and minutes west of UTC; None where it tells none. The
    name is empty where only the offset is there. Raises SourceError."""
    kind = kind_of(path)
    if kind == "perfmon_blg":
        return look(path).zone
    return zone_of_text(sniff(path)[0]) if kind == "perfmon_csv" else None


class Opened(NamedTuple):
    """A source for each kind of input among some files, and an error for each file of none."""

    sources: list[Source]
    errors: list[SourceError]
    files: list[list[str]]
    """Of each source."""


def open_inputs(
    paths: Sequence[str],
    *,
    providers: Sequence[str] = (),
    computer: str = "",
    timezone: str | None = None,
    date_order: DateOrder | None = None,
    companions: bool = False,
    ese_only: bool = True,
    kinds: Collection[str] = (),
) -> Opened:
    """One source for each kind of input among these files. A source that reads several files is
    named by its kind, one that reads a single file by its path. `ese_only` leaves counters out that
    feed no metric. `kinds`: those that are asked for; empty for all."""
    settings = Settings(providers=list(providers))
    wanted = RecordSelection(companions=companions, ese_only=ese_only)
    told = {"computer": computer, "timezone": timezone, "date_order": date_order}
    by_kind: dict[str, list[str]] = {}
    errors: list[SourceError] = []
    for path in paths:
        try:
            kind = kind_of(path)
            if kinds and kind not in kinds:
                raise UnsupportedError(
                    f"{path}: no counter log: neither a (PDH-CSV 4.0) header nor a binary log"
                )
            by_kind.setdefault(kind, []).append(path)
        except SourceError as error:
            errors.append(error)
    opened = Opened([], errors, [])
    for kind, files in by_kind.items():
        name = files[0] if len(files) == 1 else kind
        settings_of = SETTINGS_OF[kind]
        known = {key: value for key, value in told.items() if key in settings_of.__struct_fields__}
        escaped = [glob.escape(file) for file in files]
        entry: Any = settings_of(type=kind, name=name, paths=escaped, **known)
        try:
            opened.sources.append(build_source(entry, settings, wanted))
            opened.files.append(files)
        except SourceError as error:
            errors.append(error)
    return opened
