"""`check`: would these copies of databases mount? Reads all pages and the logs, writes nothing."""

import argparse
import contextlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from tqdm import tqdm

from esefiles.base.command import HEALTHY, WRONG, add_format_option
from esefiles.base.names import printable, visible
from esefiles.base.progress import progress_bar
from esefiles.commands.scan import Pools, add_scan_options, listed, run_scan
from esefiles.commands.scan_paths import (
    FoundDatabases,
    NamedPaths,
    databases_of,
    is_companion,
    named_paths,
)
from esefiles.commands.scan_run import BYTES, Reported, complain
from esefiles.commands.scan_text import json_line, json_object, text_lines
from esefiles.pages.header import Header
from esefiles.scan.lost_writes import LostWrites, lost_writes_beside
from esefiles.scan.open_errors import why_not_read
from esefiles.scan.pace import Pace
from esefiles.scan.reading.header_reading import read_header
from esefiles.scan.reading.reading import DatabaseFile
from esefiles.scan.recovery.backup_trailer import BackupTrailer, trailer_of
from esefiles.scan.recovery.log_folder import CheckpointFile, LogFolders, LogSeries
from esefiles.scan.recovery.log_verification import CheckedLogs, LogVerifier
from esefiles.scan.recovery.verdict import WORST_FIRST, judge
from esefiles.scan.results import FileResult, Outcome, RequiredLogs, Verdict
from esefiles.scan.structure.structure_check import STOPPED, Structure, check_structure

LISTED_ERRORS = 20
"""Errors of the structure that are printed as text; JSON has those that were kept."""


class Beyond(NamedTuple):
    """Findings of one database. None: not checked."""

    structure: Structure | None = None
    lost: LostWrites | None = None
    trailer: BackupTrailer | None = None


class Deep:
    """The checks of all databases; `begin` is called first, `of` in the threads of the scan."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._deadline = None if options.max_time is None else time.monotonic() + options.max_time
        self._stop = threading.Event()

    def begin(self, stop: threading.Event) -> None:
        self._stop = stop

    def of(self, result: FileResult) -> Beyond:
        """Check a database whose pages were all read; one that was not is left for --resume."""
        if result.ended != "complete":
            return Beyond()
        try:
            path, header = result.path, result.header
            trailer = trailer_of(header, path) if header is not None else None
            return Beyond(self._structure(path), self._lost_writes(path), trailer)
        except OSError as error:
            complain(why_not_read(str(error.filename or result.path), error))
            return Beyond(Structure(checked=False, reason=STOPPED) if self._options.deep else None)

    def _pace(self) -> Pace:
        options = self._options
        return Pace(
            throttle=options.throttle_ms / 1000,
            rate=options.rate,
            deadline=self._deadline,
            stop=self._stop,
        )

    def _structure(self, path: str) -> Structure | None:
        if not self._options.deep:
            return None
        with progress_bar(desc=f"structure of {visible(Path(path).name)}", **BYTES) as bar:

            def reached(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            return check_structure(path, pace=self._pace(), progress=reached)

    def _lost_writes(self, path: str) -> LostWrites | None:
        only_proofs = not self._options.deep
        return lost_writes_beside(path, pace=self._pace(), only_proofs=only_proofs)


_OF_STRUCTURE = ("unlisted", "reason", "remarks", "lost_pages")


def beyond_object(beyond: Beyond) -> dict[str, Any]:
    structure, lost = beyond.structure, beyond.lost
    of_structure: dict[str, Any] = {"checked": False, "errors": []}
    if structure is not None:
        of_structure = {
            "checked": structure.checked,
            "errors": [msgspec.structs.asdict(error) for error in structure.errors],
            **{name: getattr(structure, name) for name in _OF_STRUCTURE},
        }
    found: dict[str, Any] = {
        "lost_writes": [] if lost is None else lost.pages,
        "structure": of_structure,
    }
    if lost is not None:
        found["flush_map"] = {
            "state": lost.state, "reason": lost.reason,
            "compared": lost.compared, "undecided": lost.undecided,
        }  # fmt: skip
    return found


def beyond_lines(beyond: Beyond) -> list[str]:
    structure, lost, lines = beyond.structure, beyond.lost, list[str]()
    if lost is not None:
        if lost.pages:
            lines.append(f"  lost writes: pages {', '.join(map(str, lost.pages[:LISTED_ERRORS]))}")
        elif lost.state == "compared":
            lines.append(f"  flush map: {lost.compared:,} pages compared, no lost write")
        if lost.reason:
            lines.append(f"  note: {lost.reason}")
    if structure is None:
        return lines
    number = len(structure.errors) + structure.unlisted
    errors = f"{number:,} {'error' if number == 1 else 'errors'}"
    if structure.checked:
        lines.append(f"  structure: {len(structure.trees):,} trees, {errors}")
        if structure.lost_pages:
            lines.append(
                f"  note: the space of {structure.lost_pages:,} pages is lost until the database is"
                " compacted"
            )
    else:
        lines.append(f"  structure: {errors}. {structure.reason}")
    lines += [f"    {visible(error.sentence)}" for error in structure.errors[:LISTED_ERRORS]]
    if number > LISTED_ERRORS:
        lines.append(f"    and {number - LISTED_ERRORS:,} more")
    lines += [f"  note: {visible(remark)}" for remark in structure.remarks[:LISTED_ERRORS]]
    if len(structure.remarks) > LISTED_ERRORS:
        lines.append(f"  note: and {len(structure.remarks) - LISTED_ERRORS:,} more notes")
    return lines


_MOUNTS = ("restorable", "replay_needed")


def add_check(commands: "argparse._SubParsersAction[Any]") -> argparse.ArgumentParser:
    check: argparse.ArgumentParser = commands.add_parser(
        "check",
        help="check whether a copy of a database would mount",
        description="Reads every page of each database and the transaction logs that a replay"
        " needs, and gives one verdict each; the first line says which would not mount. Logs are"
        " looked for in the folders that are named, below them, and beside each database. Exit"
        " status: 0 it mounts, as it is or after a replay of logs that are all there, 1 any other"
        " verdict, none yet (--max-time) or, of several, a path that cannot be read, 2 none could"
        " be read.",
        epilog="example: esewatch check /snapshots/ex01",
    )
    check.add_argument(
        "paths", nargs="+", metavar="PATH", help="folders of copies, files, or globs"
    )
    check.add_argument(
        "--logs",
        action="append",
        default=[],
        metavar="DIR",
        help="a folder of transaction logs elsewhere; may be repeated",
    )
    check.add_argument(
        "--deep",
        action="store_true",
        help="the structure, too: trees, space, catalogue, long values; reads each database once"
        " more",
    )
    add_format_option(check)
    add_scan_options(check)
    return check


def check_copies(options: argparse.Namespace, pools: Pools) -> int:
    named = named_paths(options.paths)
    found = _databases(named)
    logs_named = named_paths(options.logs)
    found.errors.extend(logs_named.errors)
    named.paths.extend(logs_named.paths)
    named.barred.extend(logs_named.barred)
    logs, deep = _Logs(named, found.files, options), Deep(options)
    as_json, limit = options.format == "json", listed(options)
    told: list[_Told] = []
    failed = list(found.errors)

    def report(result: FileResult) -> Reported:
        header = result.header
        if result.ended == "temporary":
            return Reported("", HEALTHY, result.reason)
        if result.ended == "lost":
            told.append(_Told(result.path, "not_restorable", "".join(lost_lines(result))))
            return Reported(json_line(lost_object(result)) if as_json else "", WRONG)
        if header is None or result.ended == "failed":
            failed.append(result.reason)
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
        told.append(_Told(result.path, verdict.outcome, "".join(f"{line}\n" for line in lines)))
        return Reported("", status)

    def before(stop: threading.Event) -> None:
        deep.begin(stop)
        logs.verify(stop)

    status = run_scan(options, pools, found, report, before=before, all_needed=True)
    if told and not as_json:
        told.sort(key=lambda each: WORST_FIRST.index(each.outcome))
        all_mount = all(each.outcome in _MOUNTS for each in told)
        first = summary(told, is_all=not failed and not (all_mount and status != HEALTHY))
        sys.stdout.write("".join([f"{first}\n", *(f"\n{each.text}" for each in told)]))
    return status


class _Told(NamedTuple):
    path: str
    outcome: Outcome
    text: str


_NAMED = 3
"""Databases that the first line names for each outcome; more are counted."""
_OUTCOMES: tuple[tuple[Sequence[Outcome], str], ...] = (
    (("not_restorable", "backup_set"), "would not mount"),
    (("loss",), "would mount only without the last logs"),
    (("unknown",), "may or may not mount"),
)


def summary(told: Sequence[_Told], *, is_all: bool) -> str:
    """The one line that matters: which of the databases would not mount. `is_all`: all that were
    named have a verdict."""
    names = Counter(Path(each.path).name for each in told)
    sentences: list[str] = []
    for outcomes, what in _OUTCOMES:
        found = [each.path for each in told if each.outcome in outcomes]
        listed = [Path(path).name if names[Path(path).name] == 1 else path for path in found]
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        shown = visible(", ".join(listed[:_NAMED])) + more
        if len(told) == 1 and found:
            sentences.append(f"{shown} {what}.")
        elif found:
            of_all = "" if sentences else f" of {len(told):,} databases"
            sentences.append(f"{len(found):,}{of_all} {what}: {shown}.")
    if not sentences:
        name = visible(Path(told[0].path).name)
        every = f"All {len(told):,} databases" if is_all else f"{len(told):,} databases"
        sentences = [f"{name if len(told) == 1 else every} would mount."]
    if not is_all:
        sentences.append("Others have no verdict: the lines on standard error say why.")
    return " ".join(sentences)


def lost_object(result: FileResult) -> dict[str, Any]:
    """The object of a file that is called like a database and is none."""
    return {
        "path": printable(result.path),
        "verdict": "not_restorable",
        "reasons": [printable(result.why_lost())],
        "state": "unknown",
        "required_logs": msgspec.structs.asdict(RequiredLogs()),
        "pages": None,
        **beyond_object(Beyond()),
        "complete": True,
    }


def lost_lines(result: FileResult) -> list[str]:
    lines = (
        visible(result.path),
        f"  {visible(result.why_lost())}",
        f"  {_WORDS['not_restorable']}",
    )
    return [f"{line}\n" for line in lines]


def _databases(named: NamedPaths) -> FoundDatabases:
    """Databases behind the paths. Logs and checkpoints that are named, or stand alone in a folder,
    are no error beside a database.
    """
    found = databases_of(named.paths, beside_logs=True)
    files = [file for file in found.files if not is_companion(file)]
    errors = named.errors + found.errors
    if not files and not errors:
        errors.append(f"{named.paths[0]}: no ESE database is named, and nothing else has a verdict")
    return found._replace(files=files, errors=errors)


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
            LogFolders([*_folders(named), *beside]), read=self._read, buffered=options.buffered
        )

    def verify(self, stop: threading.Event) -> None:
        """Read the logs; `stop` and --max-time end it between two of them."""
        self._stop = stop
        headers = list(_headers(self._databases))
        sizes = {path: self.verifier.size(header, path) for header, path in headers}
        shown = sys.stderr.isatty() and any(sizes.values())
        with progress_bar(
            desc="logs", total=sum(sizes.values()), disable=not shown, **BYTES
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


_WORDS = {
    "restorable": "RESTORABLE: it mounts as it is.",
    "replay_needed": "RESTORABLE: it mounts after a replay of its logs, which are all here.",
    "loss": "LOSS: it mounts only without its last logs.",
    "backup_set": "BACKUP SET: it mounts only after a restore from its backup set.",
    "not_restorable": "NOT RESTORABLE.",
    "unknown": "UNKNOWN: whether it mounts cannot be said, or should not be relied on.",
}


def check_object(
    result: FileResult, verdict: Verdict, logs: CheckedLogs, beyond: Beyond, limit: int
) -> dict[str, Any]:
    """The object of `check --format json`, with at most `limit` bad pages."""
    pages = json_object(result, limit)
    found: dict[str, Any] = {
        "path": pages["path"],
        "verdict": verdict.outcome,
        "reasons": [printable(reason) for reason in verdict.reasons],
        "state": pages["state"],
        "required_logs": msgspec.structs.asdict(verdict.required),
        "pages": pages,
        **beyond_object(beyond),
        "complete": result.ended == "complete",
    }
    if logs.series is not None:
        found["log_folder"] = printable(logs.series.folder)
        found["checkpoint"] = _checkpoint(logs.series.checkpoint)
        found["same_logs"] = [printable(path) for path in others_on_these_logs(result, logs)]
    return found


def _checkpoint(file: CheckpointFile | None) -> dict[str, Any] | None:
    if file is None:
        return None
    content = file.content
    if content is None:
        return {"path": printable(file.path), "readable": False, "reason": printable(file.reason)}
    found: dict[str, Any] = {"path": printable(file.path), "readable": True}
    if content.position is not None:
        found["log"] = content.position.generation
    return found


def check_lines(
    result: FileResult, verdict: Verdict, logs: CheckedLogs, beyond: Beyond, limit: int
) -> Iterator[str]:
    yield from text_lines(result, limit)
    if logs.series is not None:
        yield from _log_lines(logs.series, logs)
        for path in others_on_these_logs(result, logs):
            yield f"  note: {visible(path)} has its changes in the same logs"
    yield from beyond_lines(beyond)
    for reason in verdict.reasons:
        yield f"  {visible(reason)}"
    yield f"  {_WORDS[verdict.outcome]}"


def _log_lines(series: LogSeries, logs: CheckedLogs) -> Iterator[str]:
    names, checks = list(series.logs), logs.checks.values()
    unread = sum(not log.is_read for log in checks)
    yield (
        f"  logs {names[0]} to {names[-1]} in {visible(series.folder)}:"
        f" {len(checks) - unread:,} read, {sum(bool(log.fault) for log in checks):,} bad"
        + (f", {unread:,} not read" if unread else "")
    )
    checkpoint = series.checkpoint
    if checkpoint is not None and checkpoint.content is None and checkpoint.is_read:
        yield f"  note: the checkpoint is not used: {visible(checkpoint.reason)}"


def others_on_these_logs(result: FileResult, logs: CheckedLogs) -> list[str]:
    """Paths, as their server knew them, of other databases that were attached to these logs."""
    ours = result.header.signature if result.header else None
    found: dict[str, None] = {}
    for log in logs.series.logs.values() if logs.series else ():
        for attached in log.header.attachments if log.header else ():
            if attached.signature != ours:
                found[attached.path] = None
    return list(found)
