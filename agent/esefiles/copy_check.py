"""`check`: would the copies of databases behind paths mount? Nothing is written."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Unpack

from esefiles.page_scan import FileRun, RunOptions
from esefiles.pages.header import Header
from esefiles.paths import (
    FoundDatabases,
    NamedPaths,
    databases_of,
    failed,
    is_companion,
    named_paths,
)
from esefiles.scans.reading.header_reading import read_header
from esefiles.scans.reading.reading import DatabaseFile
from esefiles.scans.recovery.copy_verdict import CopyResult, check_copy
from esefiles.scans.recovery.log_folder import LogFolders
from esefiles.scans.recovery.log_verification import LogVerifier
from esefiles.scans.results import FileResult


def check(
    paths: Sequence[str],
    *,
    logs: Sequence[str] = (),
    deep: bool = False,
    **how: Unpack[RunOptions],
) -> Iterator[CopyResult]:
    """Read every page of each database and the transaction logs that a replay needs; one verdict
    for each. Otherwise it is as `scan`.

    Logs are looked for in the folders that are named, below them, beside each database, and in
    `logs` (folders or globs). `deep`: the structure, too (trees, space, catalogue, long values).
    """
    run = FileRun(**how)
    named, named_logs = named_paths(paths), named_paths(logs)
    found = _databases(named, named_logs)
    for other in found.others:
        yield CopyResult(file=other)
    yield from run.results(found, _Check(run, named, named_logs, found.files, deep).finish)


def _databases(named: NamedPaths, logs: NamedPaths) -> FoundDatabases:
    """Databases behind the paths. Logs and checkpoints that are named, or stand alone in a folder,
    are no error beside a database.
    """
    found = databases_of(named.paths, beside_logs=True)
    files = [file for file in found.files if not is_companion(file)]
    others = named.others + found.others
    if named.paths and not files and not others:
        others.append(
            failed(named.paths[0], "no ESE database is named, and nothing else has a verdict")
        )
    return found._replace(files=files, others=others + logs.others)


class _Check:
    """The checks of all databases of a run. Logs are read before the pages, once for all that need
    them."""

    def __init__(
        self,
        run: FileRun,
        named: NamedPaths,
        logs: NamedPaths,
        databases: Sequence[str],
        deep: bool,
    ) -> None:
        self._run = run
        self._deep = deep
        beside = [str(Path(database).parent) for database in databases]
        folders = [*_folders(named), *_folders(logs), *beside]
        self._done = self._total = 0
        self._verifier = LogVerifier(
            LogFolders(folders), read=self._read, buffered=run.options.buffered
        )
        headers = list(_headers(databases))
        self._total = sum(self._verifier.size(header, path) for header, path in headers)
        for header, path in headers:
            self._verifier.of(header, path)

    def finish(self, result: FileResult) -> CopyResult:
        """The verdict on a file that was scanned."""
        what = f"structure of {Path(result.path).name}"

        def reached(done: int, total: int) -> None:
            self._run.watcher.works(what, done, total)

        return check_copy(
            result, self._verifier, self._run.pace(), deep=self._deep, progress=reached
        )

    def _read(self, size: int) -> bool:
        """So much of a log was read; false ends it."""
        self._done += size
        self._run.watcher.works("logs", self._done, self._total)
        return not self._run.is_over()


def _folders(named: NamedPaths) -> Iterator[str]:
    """The folders that are named and all below them, and those of files that are named.

    Those that cannot be listed, too: logs may be in there.
    """
    closed: list[str] = list(named.barred)
    for path in named.paths:
        if os.path.isdir(path):  # noqa: PTH112 - never raises
            for place, below, _ in os.walk(
                path, onerror=lambda error: closed.append(str(error.filename))
            ):
                below.sort()
                yield place
        elif os.path.exists(path):  # noqa: PTH110 - never raises
            yield str(Path(path).parent)
    yield from closed


def _headers(databases: Sequence[str]) -> Iterator[tuple[Header, str]]:
    """Headers that can be read: the others are left to the scan, which says why."""
    for path in databases:
        with contextlib.suppress(OSError, ValueError):
            file = DatabaseFile(path)
            try:
                header = read_header(file)
            finally:
                file.close()
            if isinstance(header, Header):
                yield header, path
