"""Database files behind the paths of a command line."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from esefiles.base.globs import search
from esefiles.logs.log_names import CHECKPOINT_ENDINGS
from esefiles.pages.header import Header
from esefiles.scan.open_errors import why_not_opened
from esefiles.scan.reading.header_reading import read_header
from esefiles.scan.reading.reading import DatabaseFile


class FoundDatabases(NamedTuple):
    """Files to scan, and a sentence for each path that cannot be used."""

    files: list[str]
    errors: list[str]


class NamedPaths(NamedTuple):
    """Paths that are there, the folders that could not be searched for more, and a sentence for
    each name and folder that gave none.
    """

    paths: list[str]
    barred: list[str]
    errors: list[str]


def named_paths(names: Sequence[str]) -> NamedPaths:
    """The paths that are named, by globs too. A file that is so called wins over a glob."""
    found = NamedPaths([], [], [])
    for name in names:
        paths, barred = ([name], {}) if os.path.lexists(name) else search(name)
        found.paths.extend(paths)
        found.barred.extend(barred)
        found.errors.extend(f"{folder}: {reason}" for folder, reason in barred.items())
        if not paths and not barred:
            found.errors.append(f"{name}: {_why_nothing(name)}")
    return found


def find_databases(named: Sequence[str]) -> FoundDatabases:
    """Files, folders with all below them, and globs. A file that is so called wins over a glob.

    Below a folder only what is an ESE database by its content is taken, and links to other
    folders are not followed. What is named itself is taken, whatever it is.
    """
    found = named_paths(named)
    databases = databases_of(found.paths)
    return FoundDatabases(databases.files, found.errors + databases.errors)


def databases_of(paths: Sequence[str], *, beside_logs: bool = False) -> FoundDatabases:
    """The databases of paths that are there, as `find_databases` takes them.

    `beside_logs`: a folder in which only logs, checkpoints or flush maps stand is no error.
    """
    files: dict[str, None] = {}
    errors: list[str] = []
    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - never raises
            files.update(dict.fromkeys(_below(path, errors, beside_logs=beside_logs)))
        else:
            files[path] = None
    return FoundDatabases(list(files), errors)


def is_companion(path: str) -> bool:
    """True if the file has the name of a log, a checkpoint or a flush map."""
    return Path(path).suffix.lower() in (".log", ".jtx", ".jrs", *CHECKPOINT_ENDINGS, ".jfm")


def _why_nothing(name: str) -> str:
    if glob.has_magic(name):
        return "no file matches"
    return "no such file or folder: is the path right, and its volume mounted?"


def _below(folder: str, errors: list[str], *, beside_logs: bool) -> list[str]:
    found: list[str] = []
    wrong: list[str] = []
    has_companion = False

    def unreadable(error: OSError) -> None:
        wrong.append(why_not_opened(str(error.filename), error))

    for place, folders, names in os.walk(folder, onerror=unreadable):
        folders.sort()
        for path in (str(Path(place, name)) for name in sorted(names)):
            has_companion = has_companion or is_companion(path)
            try:
                if Path(path).is_file() and _is_database(path):
                    found.append(path)
            except OSError as error:
                if not is_companion(path):  # a check that needs it says so
                    wrong.append(why_not_opened(path, error))
    if not found and not wrong and not (beside_logs and has_companion):
        wrong.append(f"{folder}: no ESE database in this folder or below it")
    errors += wrong
    return found


def _is_database(path: str) -> bool:
    """Raises OSError."""
    file = DatabaseFile(path)
    try:
        return isinstance(read_header(file, sleep=lambda _: None), Header)
    finally:
        file.close()
