"""`check`: would the copies of databases behind paths mount? Nothing is written."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Unpack

import msgspec

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
from esefiles.scans.lost_writes import LostWrites, lost_writes_beside
from esefiles.scans.open_errors import why_not_read
from esefiles.scans.reading.header_reading import read_header
from esefiles.scans.reading.reading import DatabaseFile
from esefiles.scans.recovery.backup_trailer import BackupTrailer, trailer_of
from esefiles.scans.recovery.log_folder import LogFolders, LogSeries
from esefiles.scans.recovery.log_verification import LogCheck, LogVerifier
from esefiles.scans.recovery.verdict import judge
from esefiles.scans.results import FileResult, Verdict
from esefiles.scans.structure.structure_check import STOPPED, Structure, check_structure


class CopyResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one database. None: not checked."""

    file: FileResult
    """Its pages; `ended` says how far they were read."""
    verdict: Verdict | None = None
    """None: there is none, as the path cannot be used, it is no database, or nothing was read."""
    series: LogSeries | None = None
    """The logs that it needs; None where it needs none, or none are here."""
    logs: dict[int, LogCheck] = {}
    """Their checks, by generation."""
    structure: Structure | None = None
    lost: LostWrites | None = None
    """Writes that were lost, as the flush map beside it shows."""


class _Beyond(msgspec.Struct, frozen=True, kw_only=True):
    """Checks beyond pages and logs."""

    structure: Structure | None = None
    lost: LostWrites | None = None
    trailer: BackupTrailer | None = None


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
        if result.ended == "lost":
            verdict = Verdict(outcome="not_restorable", reasons=[result.why_lost()])
            return CopyResult(file=result, verdict=verdict)
        header = result.header
        if header is None or result.ended in ("failed", "temporary"):
            return CopyResult(file=result)
        logs = self._verifier.of(header, result.path)
        beyond = self._beyond(header, result)
        verdict = judge(
            header, result, logs.series, logs.checks,
            structure=beyond.structure, lost=beyond.lost, trailer=beyond.trailer,
            unsearched=logs.unsearched,
        )  # fmt: skip
        return CopyResult(
            file=result, verdict=verdict, series=logs.series, logs=logs.checks,
            structure=beyond.structure, lost=beyond.lost,
        )  # fmt: skip

    def _beyond(self, header: Header, result: FileResult) -> _Beyond:
        """One that was not read to its end is left for the scan that goes on."""
        path = result.path
        if result.ended != "complete":
            return _Beyond()
        try:
            return _Beyond(
                trailer=trailer_of(header, path),
                structure=self._structure(path) if self._deep else None,
                lost=lost_writes_beside(path, pace=self._run.pace(), only_proofs=not self._deep),
            )
        except OSError as error:
            self._run.watcher.remarks(why_not_read(str(error.filename or path), error))
            return _Beyond(
                structure=Structure(checked=False, reason=STOPPED) if self._deep else None
            )

    def _structure(self, path: str) -> Structure:
        what = f"structure of {Path(path).name}"

        def reached(done: int, total: int) -> None:
            self._run.watcher.works(what, done, total)

        return check_structure(path, pace=self._run.pace(), progress=reached)

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
