"""Database files behind paths: folders with all below them, and globs."""

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from esefiles.base.database_names import AMBIGUOUS, is_called_database, is_called_temporary
from esefiles.base.globs import search
from esefiles.logs.checkpoint import CHECKPOINT_BYTES, parse_checkpoint
from esefiles.logs.log_header import LOG_HEADER_BYTES, NotLog, parse_log_header
from esefiles.logs.log_names import CHECKPOINT_ENDINGS, parse_log_name
from esefiles.pages.header import Header, NotDatabase
from esefiles.scans.open_errors import why_not_opened
from esefiles.scans.reading.header_reading import read_header
from esefiles.scans.reading.reading import DatabaseFile
from esefiles.scans.results import FileResult


class FoundDatabases(NamedTuple):
    """Files to scan, and the results of what cannot be scanned (`failed`, `foreign`)."""

    files: list[str]
    others: list[FileResult]
    expected: frozenset[str] = frozenset()
    """Those of `files` that must be databases, whatever they are called: something beside them
    names them."""

    @property
    def is_failed(self) -> bool:
        """True if a path cannot be used."""
        return any(other.ended == "failed" for other in self.others)


class NamedPaths(NamedTuple):
    """Paths that are there, the folders that could not be searched for more, and a result for each
    name and folder that gave none.
    """

    paths: list[str]
    barred: list[str]
    others: list[FileResult]


def named_paths(names: Sequence[str]) -> NamedPaths:
    """The paths that are named, by globs too. A file that is so called wins over a glob."""
    found = NamedPaths([], [], [])
    for name in names:
        paths, barred = ([name], {}) if os.path.lexists(name) else search(name)
        found.paths.extend(paths)
        found.barred.extend(barred)
        found.others.extend(failed(folder, reason) for folder, reason in barred.items())
        if not paths and not barred:
            found.others.append(failed(name, _why_nothing(name)))
    return found


def find_databases(named: Sequence[str]) -> FoundDatabases:
    """Files, folders with all below them, and globs. A file that is so called wins over a glob.

    Below a folder what is an ESE database by its content is taken, and what must be one by its
    name (`is_called_database`), or because logs, a checkpoint or a flush map beside it name it.
    Links to other folders are not followed. What is named itself is taken, whatever it is.
    """
    found = named_paths(named)
    databases = databases_of(found.paths)
    return databases._replace(others=found.others + databases.others)


def databases_of(paths: Sequence[str], *, beside_logs: bool = False) -> FoundDatabases:
    """The databases of paths that are there, as `find_databases` takes them.

    `beside_logs`: a folder in which only logs, checkpoints or flush maps stand is no error.
    """
    files: dict[str, None] = {}
    others: list[FileResult] = []
    expected: set[str] = set()
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - never raises
            below = _below(path, beside_logs=beside_logs)
            files.update(dict.fromkeys(below.files))
            others += below.others
            expected |= below.expected
        else:
            files[path] = None
    return FoundDatabases(list(files), others, frozenset(expected))


def failed(path: str, why: str) -> FileResult:
    return FileResult(path=path, ended="failed", reason=f"{path}: {why}")


def is_companion(path: str) -> bool:
    """True if the file has the name of a log, a checkpoint or a flush map."""
    return Path(path).suffix.lower() in (".log", ".jtx", ".jrs", *CHECKPOINT_ENDINGS, ".jfm")


def _why_nothing(name: str) -> str:
    if glob.has_magic(name):
        return "no file matches"
    return "no such file or folder: is the path right, and its volume mounted?"


def _below(folder: str, *, beside_logs: bool) -> FoundDatabases:
    files: list[str] = []
    expected: set[str] = set()
    foreign: list[FileResult] = []
    wrong: list[FileResult] = []
    has_companion = False

    def unreadable(error: OSError, path: str = "") -> None:
        path = path or str(error.filename)
        reason = why_not_opened(path, error)
        wrong.append(FileResult(path=path, ended="failed", reason=reason))

    for place, folders, names in os.walk(folder, onerror=unreadable):
        folders.sort()
        beside = _Beside(place, names)
        for path in (str(Path(place, name)) for name in sorted(names)):
            has_companion = has_companion or is_companion(path)
            try:
                found = _header(path) if Path(path).is_file() else None
            except OSError as error:
                if not is_companion(path):  # a check that needs it says so
                    unreadable(error, path)
                continue
            if isinstance(found, Header):
                files.append(path)
            elif found is None or is_companion(path):
                continue
            elif not found.named and (is_called_database(path) or beside.names(path)):
                files.append(path)
                expected.add(path)
            elif found.named and is_called_database(path):
                # Of a temporary database the scan reports.
                if is_called_temporary(path):
                    files.append(path)
                else:
                    reason = f"{path}: {found.reason}"
                    foreign.append(FileResult(path=path, ended="foreign", reason=reason))
    if not files and not wrong and not (beside_logs and has_companion):
        wrong.append(failed(folder, "no ESE database in this folder or below it"))
    return FoundDatabases(files, wrong + foreign, frozenset(expected))


class _Beside:
    """The databases that logs, checkpoints and flush maps of a folder name."""

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        self._folder = folder
        self._companions = sorted(name for name in names if is_companion(name))
        self._known: frozenset[str] | None = None

    def names(self, path: str) -> bool:
        """True if one of them is called as the file, or has its name among those of databases that
        were attached."""
        if self._known is None:
            self._known = frozenset(self._all())
        name = Path(path).name.lower()
        stem, dot, ending = name.rpartition(".")
        return name in self._known or (f".{ending}" in AMBIGUOUS and f"{stem}{dot}" in self._known)

    def _all(self) -> Iterator[str]:
        newest: dict[str, str] = {}
        for companion in self._companions:
            stem, _, ending = companion.lower().rpartition(".")
            log = parse_log_name(companion)
            if log is None:
                yield f"{stem}."
                if f".{ending}" in CHECKPOINT_ENDINGS:
                    yield from self._attached(companion)
            elif log.kind == "current":
                yield f"{stem}."
                newest[f"{log.base}."] = companion
            elif log.kind == "complete":
                newest[log.base] = companion
        for companion in newest.values():
            yield from self._attached(companion)

    def _attached(self, companion: str) -> Iterator[str]:
        """Names of the databases that a log or a checkpoint says were attached, in lower case."""
        try:
            with Path(self._folder, companion).open("rb") as file:
                data = file.read(max(LOG_HEADER_BYTES, CHECKPOINT_BYTES))
        except OSError:
            return
        for parsed in (parse_log_header(data[:LOG_HEADER_BYTES]), parse_checkpoint(data)):
            if not isinstance(parsed, NotLog):
                for attached in parsed.attachments:
                    yield PureWindowsPath(attached.path).name.lower()


def _header(path: str) -> Header | NotDatabase:
    """Raises OSError."""
    file = DatabaseFile(path)
    try:
        return read_header(file, sleep=lambda _: None)
    finally:
        file.close()
