"""`check`: would these copies of databases mount? Reads all pages and the logs, writes nothing."""

import argparse
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from esefiles import CopyResult, Verdict, check
from esefiles.base.command import add_format_option
from esefiles.base.names import printable, visible
from esefiles.commands.scan import add_scan_options, listed, run_arguments
from esefiles.commands.scan_run import NAMED, Shown, Terminal, print_results
from esefiles.commands.scan_text import json_line, json_object, text_lines
from esefiles.page_scan import Pools
from esefiles.scans.recovery.log_folder import CheckpointFile, LogSeries
from esefiles.scans.recovery.log_verification import LogCheck
from esefiles.scans.recovery.verdict import WORST_FIRST
from esefiles.scans.results import Outcome

LISTED_ERRORS = 20
"""Errors of the structure that are printed as text; JSON has those that were kept."""


_OF_STRUCTURE = ("unlisted", "reason", "remarks", "lost_pages")


def beyond_object(copy: CopyResult) -> dict[str, Any]:
    structure, lost = copy.structure, copy.lost
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


def beyond_lines(copy: CopyResult) -> list[str]:
    structure, lost, lines = copy.structure, copy.lost, list[str]()
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
    parser: argparse.ArgumentParser = commands.add_parser(
        "check",
        description="Reads every page of each database and the transaction logs that a replay"
        " needs, and gives one verdict each; the first line says which would not mount. Logs are"
        " looked for in the folders that are named, below them, and beside each database. Exit"
        " status: 0 it mounts, as it is or after a replay of logs that are all there, 1 any other"
        " verdict, none yet (--max-time) or, of several, a path that cannot be read, 2 none could"
        " be read.",
        epilog="example: esewatch check /snapshots/ex01",
    )
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="folders of copies, files, or globs"
    )
    parser.add_argument(
        "--logs",
        action="append",
        default=[],
        metavar="DIR",
        help="a folder of transaction logs elsewhere; may be repeated",
    )
    parser.add_argument(
        "--deep",
        action="store_true",
        help="the structure, too: trees, space, catalogue, long values; reads each database once"
        " more",
    )
    add_format_option(parser)
    add_scan_options(parser)
    return parser


def check_copies(options: argparse.Namespace, pools: Pools) -> int:
    as_json, limit = options.format == "json", listed(options)
    told: list[_Told] = []
    is_all = True

    def results(stop: threading.Event, terminal: Terminal) -> Iterator[Shown]:
        nonlocal is_all
        arguments = run_arguments(options, pools, stop, terminal)
        for copy in check(options.paths, logs=options.logs, deep=options.deep, **arguments):
            file, verdict, text = copy.file, copy.verdict, ""
            if verdict is None:
                is_all = is_all and file.ended in ("temporary", "foreign")
                yield Shown(file, "", wrong=file.ended == "failed", is_told=False)
                continue
            if as_json:
                text = json_line(check_object(copy, verdict, limit))
            else:
                lines = check_lines(copy, verdict, limit)
                shown = "".join(f"{line}\n" for line in lines)
                told.append(_Told(file.path, verdict.outcome, shown))
            yield Shown(file, text, wrong=verdict.outcome not in _MOUNTS, is_told=True)

    status = print_results(results, all_needed=True)
    if told:
        told.sort(key=lambda each: WORST_FIRST.index(each.outcome))
        sections = [f"{summary(told, is_all=is_all)}\n", *(f"\n{each.text}" for each in told)]
        sys.stdout.write("".join(sections))
    return status


class _Told(NamedTuple):
    path: str
    outcome: Outcome
    text: str


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
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        shown = visible(", ".join(listed[:NAMED])) + more
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


_WORDS = {
    "restorable": "RESTORABLE: it mounts as it is.",
    "replay_needed": "RESTORABLE: it mounts after a replay of its logs, which are all here.",
    "loss": "LOSS: it mounts only without its last logs.",
    "backup_set": "BACKUP SET: it mounts only after a restore from its backup set.",
    "not_restorable": "NOT RESTORABLE.",
    "unknown": "UNKNOWN: whether it mounts cannot be said, or should not be relied on.",
}


def check_object(copy: CopyResult, verdict: Verdict, limit: int) -> dict[str, Any]:
    """The object of `check --format json`, with at most `limit` bad pages. Of a file that is called
    like a database and is none, pages are None."""
    is_lost = copy.file.ended == "lost"
    pages = None if is_lost else json_object(copy.file, limit)
    found: dict[str, Any] = {
        "path": printable(copy.file.path),
        "verdict": verdict.outcome,
        "reasons": [printable(reason) for reason in verdict.reasons],
        "state": "unknown" if pages is None else pages["state"],
        "required_logs": msgspec.structs.asdict(verdict.required),
        "pages": pages,
        **beyond_object(copy),
        "complete": copy.file.ended in ("complete", "lost"),
    }
    if copy.series is not None:
        found["log_folder"] = printable(copy.series.folder)
        found["checkpoint"] = _checkpoint(copy.series.checkpoint)
        found["same_logs"] = [printable(path) for path in others_on_these_logs(copy)]
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


def check_lines(copy: CopyResult, verdict: Verdict, limit: int) -> Iterator[str]:
    if copy.file.ended == "lost":
        yield visible(copy.file.path)
    else:
        yield from text_lines(copy.file, limit)
    if copy.series is not None:
        yield from _log_lines(copy.series, copy.logs)
        for path in others_on_these_logs(copy):
            yield f"  note: {visible(path)} has its changes in the same logs"
    yield from beyond_lines(copy)
    for reason in verdict.reasons:
        yield f"  {visible(reason)}"
    yield f"  {_WORDS[verdict.outcome]}"


def _log_lines(series: LogSeries, logs: Mapping[int, LogCheck]) -> Iterator[str]:
    names, checks = list(series.logs), logs.values()
    unread = sum(not log.is_read for log in checks)
    yield (
        f"  logs {names[0]} to {names[-1]} in {visible(series.folder)}:"
        f" {len(checks) - unread:,} read, {sum(bool(log.fault) for log in checks):,} bad"
        + (f", {unread:,} not read" if unread else "")
    )
    checkpoint = series.checkpoint
    if checkpoint is not None and checkpoint.content is None and checkpoint.is_read:
        yield f"  note: the checkpoint is not used: {visible(checkpoint.reason)}"


def others_on_these_logs(copy: CopyResult) -> list[str]:
    """Paths, as their server knew them, of other databases that were attached to these logs."""
    ours = copy.file.header.signature if copy.file.header else None
    found: dict[str, None] = {}
    for log in copy.series.logs.values() if copy.series else ():
        for attached in log.header.attachments if log.header else ():
            if attached.signature != ours:
                found[attached.path] = None
    return list(found)
