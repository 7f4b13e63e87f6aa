"""`check`: would these copies of databases mount? Reads all pages and the logs, writes nothing."""

import argparse
import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from esewatch.cli.check.check_text import check_lines, check_object
from esewatch.cli.check.deep import Deep
from esewatch.cli.inputs.reader import HEALTHY, WRONG, progress_bar
from esewatch.cli.options import add_format_option
from esewatch.cli.scan.scan_options import add_scan_options, listed, run_scan
from esewatch.cli.scan.scan_paths import (
    FoundDatabases,
    NamedPaths,
    databases_of,
    is_companion,
    named_paths,
)
from esewatch.cli.scan.scan_run import Reported
from esewatch.cli.scan.scan_text import json_line
from esewatch.ese.pages.header import Header
from esewatch.scan.reading.header_reading import read_header
from esewatch.scan.reading.reading import DatabaseFile
from esewatch.scan.recovery.log_folder import LogFolders
from esewatch.scan.recovery.log_verification import LogVerifier
from esewatch.scan.recovery.verdict import judge
from esewatch.scan.results import FileResult

_MOUNTS = ("restorable", "replay_needed")


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add `check`."""
    check = commands.add_parser(
        "check",
        help="check whether a copy of a database would mount",
        description="Reads every page of each database and the transaction logs that a replay"
        " needs, and gives one verdict each. Logs are looked for in the folders that are named,"
        " below them, and beside each database. Exit status: 0 it mounts, as it is or after a"
        " replay of logs that are all there, 1 any other verdict, none yet (--max-time) or, of"
        " several, a path that cannot be read, 2 none could be read.",
        epilog="example: esewatch check /snapshots/ex01",
    )
    check.add_argument(
        "paths", nargs="+", metavar="PATH", help="folders of copies, files, or globs"
    )
    check.add_argument(
        "--deep",
        action="store_true",
        help="the structure, too: trees, space, catalogue, long values; reads each database once"
        " more",
    )
    add_format_option(check)
    add_scan_options(check)
    check.set_defaults(function=check_copies)


def check_copies(options: argparse.Namespace) -> int:
    """`check`: see its help for the exit status."""
    named = named_paths(options.paths)
    found = _databases(named)
    logs, deep = _Logs(named, found.files, options), Deep(options)
    as_json, limit = options.format == "json", listed(options)

    def report(result: FileResult) -> Reported:
        header = result.header
        if header is None:
            return Reported("", WRONG)
        checked = logs.verifier.of(header, result.path)
        beyond = deep.of(result)
        verdict = judge(
            header, result, checked.series, checked.checks,
            structure=beyond.structure, lost=beyond.lost, trailer=beyond.trailer,
            unsearched=checked.unsearched,
        )  # fmt: skip
        status = HEALTHY if verdict.outcome in _MOUNTS else WRONG
        if as_json:
            return Reported(
                json_line(check_object(result, verdict, checked, beyond, limit)), status
            )
        lines = check_lines(result, verdict, checked, beyond, limit)
        return Reported("".join(f"{line}\n" for line in lines), status)

    def before(stop: threading.Event) -> None:
        deep.begin(stop)
        logs.verify(stop)

    return run_scan(options, found, report, before=before, all_needed=True)


def _databases(named: NamedPaths) -> FoundDatabases:
    """Databases behind the paths. Logs and checkpoints that are named, or stand alone in a folder,
    are no error beside a database.
    """
    found = databases_of(named.paths, beside_logs=True)
    files = [file for file in found.files if not is_companion(file)]
    errors = named.errors + found.errors
    if not files and not errors:
        errors.append(f"{named.paths[0]}: no ESE database is named, and nothing else has a verdict")
    return FoundDatabases(files, errors)


class _Logs:
    """The logs of all databases, read before the pages, with a bar of their own."""

    def __init__(
        self, named: NamedPaths, databases: Sequence[str], options: argparse.Namespace
    ) -> None:
        self._databases = databases
        self._deadline = None if options.max_time is None else time.monotonic() + options.max_time
        self._stop = threading.Event()
        self._bar: tqdm[Any] | None = None
        beside = [str(Path(database).parent) for database in databases]
        self.verifier = LogVerifier(
            LogFolders([*_folders(named), *beside]),
            read=self._read,
            buffered=options.buffered,
        )

    def verify(self, stop: threading.Event) -> None:
        """Read the logs; `stop` and --max-time end it between two of them."""
        self._stop = stop
        headers = list(_headers(self._databases))
        sizes = {path: self.verifier.size(header, path) for header, path in headers}
        shown = sys.stderr.isatty() and any(sizes.values())
        with progress_bar(
            desc="logs",
            total=sum(sizes.values()),
            unit="B",
            unit_scale=True,
            unit_divisor=1024,
            disable=not shown,
        ) as self._bar:
            for header, path in headers:
                self.verifier.of(header, path)
        self._bar = None

    def _read(self, size: int) -> bool:
        if self._bar is not None:
            self._bar.update(size)
        late = self._deadline is not None and time.monotonic() > self._deadline
        return not (late or self._stop.is_set())


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
