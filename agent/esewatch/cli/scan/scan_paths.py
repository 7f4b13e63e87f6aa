"""Database files behind the paths of a command line."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from esewatch.ese.pages.header import Header
from esewatch.scan.open_errors import why_not_opened
from esewatch.scan.reading.header_reading import read_header
from esewatch.scan.reading.reading import DatabaseFile
from esewatch.sources.files.globs import search


class FoundDatabases(NamedTuple):
    """Files to scan, and a sentence for each path that cannot be used."""

    files: list[str]
    errors: list[str]


def find_databases(named: Sequence[str]) -> FoundDatabases:
    """Files, folders with all below them, and globs. A file that is so called wins over a glob.

    Below a folder only what is an ESE database by its content is taken, and links to other
    folders are not followed. What is named itself is taken, whatever it is.
    """
    files: dict[str, None] = {}
    errors: list[str] = []
    for name in named:
        paths, barred = ([name], {}) if os.path.lexists(name) else search(name)
        errors += [f"{folder}: {reason}" for folder, reason in barred.items()]
        if not paths and not barred:
            errors.append(f"{name}: {_why_nothing(name)}")
        for path in paths:
            if os.path.isdir(path):  # noqa: PTH112 - never raises
                files.update(dict.fromkeys(_below(path, errors)))
            else:
                files[path] = None
    return FoundDatabases(list(files), errors)


def is_companion(path: str) -> bool:
    """True if the file has the name of a log, a checkpoint or a flush map."""
    return Path(path).suffix.lower() in (".log", ".jtx", ".jrs", ".chk", ".jfm")


def _why_nothing(name: str) -> str:
    if glob.has_magic(name):
        return "no file matches"
    return "no such file or folder: is the path right, and its volume mounted?"


def _below(folder: str, errors: list[str]) -> list[str]:
    found: list[str] = []
    wrong: list[str] = []

    def unreadable(error: OSError) -> None:
        wrong.append(why_not_opened(str(error.filename), error))

    for place, folders, names in os.walk(folder, onerror=unreadable):
        folders.sort()
        for path in (str(Path(place, name)) for name in sorted(names)):
            try:
                if Path(path).is_file() and _is_database(path):
                    found.append(path)
            except OSError as error:
                if not is_companion(path):  # a check that needs it says so
                    wrong.append(why_not_opened(path, error))
    if not found and not wrong:
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
