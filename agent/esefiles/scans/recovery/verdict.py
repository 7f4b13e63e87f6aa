"""The verdict: would this copy mount, and if not, why not.

From the header of the database, its pages and its logs alone. Sources: ErrLGRICheckAttachNow,
ErrLGRICheckRedoAttachDb, ErrLGCheckDatabaseGens and CheckGenMaxReq in logredo.cxx of the
published engine, which refuse a database for the reasons that stand here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from esefiles.pages.header import FORMAT_VERSION, Header
from esefiles.scans.lost_writes import LostWrites
from esefiles.scans.recovery.backup_trailer import BackupTrailer, is_out_of_backup
from esefiles.scans.recovery.log_folder import (
    DIRTY,
    LogSeries,
    checkpoint_generation,
    needs_logs,
    replay_generations,
)
from esefiles.scans.recovery.log_verification import LogCheck
from esefiles.scans.results import (
    FileResult,
    Outcome,
    RequiredLogs,
    ScannedBadPage,
    Verdict,
    why_not_one_state,
)
from esefiles.scans.structure.structure_check import STOPPED, Structure

MAX_NAMED: Final = 1000
"""Missing or bad logs that a verdict names."""

WORST_FIRST: Final[tuple[Outcome, ...]] = (
    "not_restorable", "backup_set", "unknown", "loss", "replay_needed", "restorable",
)  # fmt: skip

_WANTING: Final = ("not_restorable", "loss")
"""Outcomes for logs that are missing or bad."""

_REFUSED = {
    "just_created": "it was being created: nothing is in it yet",
    "converting": "its conversion to another format did not end",
    "force_detach": "it was detached by force, without its last changes",
    "reseeding": "an incremental reseed did not end",
    "reverting": "a revert to a snapshot did not end",
}


def judge(
    header: Header,
    result: FileResult,
    series: LogSeries | None,
    logs: Mapping[int, LogCheck],
    *,
    structure: Structure | None = None,
    lost: LostWrites | None = None,
    trailer: BackupTrailer | None = None,
    unsearched: Sequence[str] = (),
    unread: str = "",
) -> Verdict:
    """The verdict; `logs` are those of `replay_generations`, where the series is known.

    `structure`, `lost`: what these checks found, where they were done. `trailer`: that of a file
    out of a streaming backup. `unsearched`: sentences on folders in which nearer logs may be.
    `unread`: a sentence on what was not read of the file, or beside it.
    """
    found = [*_of_header(header), *_of_backup(header, trailer)]
    found += [("unknown", unread)] if unread else []
    found += _of_pages(result, _bad_trailer(header, result, trailer))
    found += [*_of_structure(structure), *_of_lost_writes(lost)]
    required = RequiredLogs()
    if header.header_ok or header.shadow_header_ok:
        if needs_logs(header):
            required = _required(header, series, logs)
            of_logs = _of_logs(header, series, logs, required)
            found += _if_all_were_found(of_logs, unsearched)
        else:
            found += _of_state(header)
    found.sort(key=lambda item: WORST_FIRST.index(item[0]))
    return Verdict(
        outcome=found[0][0], reasons=[sentence for _, sentence in found], required=required
    )


_Found = tuple[Outcome, str]


def _of_header(header: Header) -> Iterable[_Found]:
    if (header.header_ok or header.shadow_header_ok) and header.version != FORMAT_VERSION:
        yield (
            "unknown",
            f"The format {header.format} of the database is not known: only those of version"
            f" {FORMAT_VERSION:#x} are. What was found in its pages may not hold.",
        )
    if not (header.header_ok or header.shadow_header_ok):
        yield "not_restorable", "The header and its shadow are damaged. Take an older copy."
    elif not (header.header_ok and header.shadow_header_ok):
        yield (
            "unknown",
            f"Of the two headers one is unusable ({header.remark}). The engine takes the other one,"
            " but the copy is not what was written: copy it again.",
        )


def _waits_for_restore(header: Header) -> bool:
    return is_out_of_backup(header) and header.state in DIRTY


def _bad_trailer(
    header: Header, result: FileResult, trailer: BackupTrailer | None
) -> ScannedBadPage | None:
    """The bad last page of a file out of a streaming backup: no page of the database."""
    place = result.place
    if not _waits_for_restore(header) or trailer is None or trailer.state != "missing":
        return None
    if place is None or place.counts.unlisted or not place.counts.listed:
        return None
    page = place.counts.listed[-1]
    return page if page.offset + place.page_size == place.offset else None


def _of_backup(header: Header, trailer: BackupTrailer | None) -> Iterable[_Found]:
    if not _waits_for_restore(header):
        return
    if trailer is not None and trailer.state == "foreign":
        yield (
            "not_restorable",
            "The page that the streaming backup appended after the last one belongs to another"
            " backup: no restore accepts the file (event 645). Take another backup.",
        )
        return
    needs = ""
    if trailer is not None and trailer.state == "good":
        needs = f" It needs {_names(trailer.logs.first, trailer.logs.last)} of that set."
    elif trailer is not None:
        needs = (
            " The page that the backup appends after the last one is missing or damaged: a restore"
            " refuses the file without it (event 645). Copy it again from the backup set."
        )
    yield (
        "backup_set",
        "The file is part of a streaming backup. Plain recovery refuses it: restore it by the"
        f" program that made the backup, from its backup set.{needs}",
    )


def _of_pages(result: FileResult, trailer: ScannedBadPage | None) -> Iterable[_Found]:
    """`trailer`: the bad page that is none of the database."""
    if result.ended != "complete" or result.place is None:
        why = result.reason or "it was not read to its end"
        yield "unknown", f"Not all pages were read: {why}."
    elif why := why_not_one_state(result.place):
        yield "unknown", f"What was read is not one state of the file: {why}. Check it again."
    counts = result.place.counts if result.place else None
    if counts is None or not counts.bad():
        return
    missing = result.missing
    if missing is not None:
        sentences = [missing.sentence()]
        if number := missing.number():
            sentences.append(f"{number:,} {'page is' if number == 1 else 'pages are'} missing")
        yield "not_restorable", ". ".join([*sentences, "Copy it again."])
    correctable = counts.correctable - (trailer is not None and trailer.kind == "correctable")
    others = counts.bad() - (trailer is not None) - (missing is not None)
    if number := others - correctable:
        yield (
            "not_restorable",
            f"{number} {'page is' if number == 1 else 'pages are'} damaged and would be lost."
            " Take another copy.",
        )
    if correctable:
        yield (
            "unknown",
            f"{correctable} {'page has' if correctable == 1 else 'pages have'} a"
            " flipped bit. The engine corrects it, but bits do not flip by themselves: take another"
            " copy, or find the cause and check again.",
        )


def _of_structure(structure: Structure | None) -> Iterable[_Found]:
    if structure is None:
        return
    if structure.errors:
        number = len(structure.errors) + structure.unlisted
        yield (
            "not_restorable",
            f"{number} {'error' if number == 1 else 'errors'} in the structure of its trees:"
            " records are lost or cannot be reached. Take another copy.",
        )
    if structure.reason == STOPPED:
        yield "unknown", "The structure was not checked to its end."


def _of_lost_writes(lost: LostWrites | None) -> Iterable[_Found]:
    if lost is not None and lost.pages:
        number = len(lost.pages)
        yield (
            "not_restorable",
            f"The last write of {number} {'page' if number == 1 else 'pages'} never reached the"
            " disk, as the flush map shows: the content there is older. Take another copy.",
        )


def _of_state(header: Header) -> Iterable[_Found]:
    if header.state == "clean":
        yield "restorable", "The database was shut down cleanly: it needs no logs."
    elif reason := _REFUSED.get(header.state):
        yield "not_restorable", f"The engine refuses the database: {reason}. Take another copy."
    elif header.state in DIRTY:
        yield "unknown", "The database is dirty, and its header names no logs that it needs."
    else:
        yield "unknown", f"The state of the database is {header.state}."


def _required(
    header: Header, series: LogSeries | None, logs: Mapping[int, LogCheck]
) -> RequiredLogs:
    first, last = header.log_required.first, header.log_required.last
    committed = max(header.log_committed, last)
    there = series.logs if series else {}
    missing: list[int] = []
    for generation in range(first, committed + 1):
        if len(missing) == MAX_NAMED:
            break
        if generation not in there:
            missing.append(generation)
    bad = [generation for generation, log in logs.items() if log.fault][:MAX_NAMED]
    return RequiredLogs(
        first=first, last=last, committed=header.log_committed, missing=missing, bad=bad
    )


def _of_logs(
    header: Header, series: LogSeries | None, logs: Mapping[int, LogCheck], required: RequiredLogs
) -> Iterable[_Found]:
    if series is None:
        yield (
            "not_restorable",
            f"The database is dirty and needs {_names(required.first, required.last)}, and no log"
            " of its series was found. Add the logs of the same copy and check again.",
        )
        return
    needed = replay_generations(header, series)
    if unread := [number for number in series.logs if number in needed and number not in logs]:
        yield "unknown", f"Not all logs were read: {_listed(unread)} left."
        return
    yield from _below(header, series, logs)
    yield from _within(header, series, logs, required)
    if (lost := _lost(header, series, logs)) is not None:
        yield lost
    yield from _doubts(logs)
    if not series.has_current and lost is None:
        yield (
            "replay_needed",
            f"There is no {series.base}.log: if recovery asks for it, rename the last log to it.",
        )
    yield (
        "replay_needed",
        f"The database is dirty; a replay of {_names(required.first, required.last)} makes it"
        " clean, as every start of the engine does.",
    )


def _if_all_were_found(found: Iterable[_Found], unsearched: Sequence[str]) -> Iterable[_Found]:
    """Findings on logs, as far as they hold whatever is in the folders that were not searched: logs
    that suffice do, one that is missing or bad may be there and good."""
    found = list(found)
    if not unsearched or not any(outcome in _WANTING for outcome, _ in found):
        return found
    more = f" And {len(unsearched) - 1:,} more such folders." if len(unsearched) > 1 else ""
    where = f"Its logs may be in a folder that cannot be searched: {unsearched[0]}.{more}"
    return [
        ("unknown", where),
        *(("unknown" if outcome in _WANTING else outcome, said) for outcome, said in found),
    ]


def _below(header: Header, series: LogSeries, logs: Mapping[int, LogCheck]) -> Iterable[_Found]:
    """Logs below the required ones: a replay begins with them, and data does not need them."""
    first = header.log_required.first
    start = checkpoint_generation(series)
    if series.checkpoint is not None and not series.checkpoint.is_read:
        yield (
            "unknown",
            "The checkpoint says where a replay begins, and was not read:"
            f" {series.checkpoint.reason}.",
        )
    if start is not None and start > first:
        yield (
            "unknown",
            f"The checkpoint is at log {start}, after log {first}, which is needed: a replay would"
            " begin too late. Move the checkpoint file away and check again.",
        )
    begin = replay_generations(header, series)[0]
    broken = [
        generation
        for generation in range(begin, min(first, begin + len(series.logs) + 1))
        if generation not in series.logs or (generation in logs and logs[generation].fault)
    ]
    if broken:
        yield (
            "unknown",
            f"A replay begins at log {begin}, and {_listed(broken)} missing or damaged. None"
            f" below {first} is needed: move those and the checkpoint file away and check again.",
        )


def _within(
    header: Header, series: LogSeries, logs: Mapping[int, LogCheck], required: RequiredLogs
) -> Iterable[_Found]:
    first, last = header.log_required.first, header.log_required.last
    gone = [generation for generation in required.missing if generation <= last]
    if gone and not (header.state == "dirty_patched" and last in series.logs):
        yield (
            "not_restorable",
            f"Of the logs that are needed ({first} to {last}) {_listed(gone)} missing. Add them"
            " and check again, or take another copy.",
        )
    elif gone:
        yield (
            "unknown",
            f"The database was patched, and {_listed(gone)} missing: whether they are still needed"
            " is not known here.",
        )
    for generation, log in logs.items():
        if first <= generation <= last and log.fault:
            yield "not_restorable", f"Log {generation}, which is needed, is bad: {log.fault}."
    if reason := _wrong_last(header, series, logs):
        yield "not_restorable", reason


def _wrong_last(header: Header, series: LogSeries, logs: Mapping[int, LogCheck]) -> str:
    last = header.log_required.last
    log = series.logs.get(last)
    if log is None or log.header is None or (last in logs and logs[last].fault):
        return ""
    expected = header.max_required_created
    if expected is not None and log.header.created != expected:
        return (
            f"Log {last} was created at {log.header.created}, and the database expects the one of"
            f" {expected}: they are not of the same copy."
        )
    attach = header.attach.position
    if attach is not None and attach.generation == last and last in logs:
        check = logs[last]
        if not check.doubt and attach.sector > check.last + 1:
            return (
                f"Log {last} ends at segment {check.last}, before segment {attach.sector}, where"
                " the database was attached: its end is lost."
            )
    return ""


def _lost(header: Header, series: LogSeries, logs: Mapping[int, LogCheck]) -> _Found | None:
    """The first log behind the required ones that a replay does not get through."""
    last = header.log_required.last
    end = replay_generations(header, series)[-1]
    for generation in range(last + 1, end + 1):
        fault = "it is missing"
        if generation in series.logs:
            fault = logs[generation].fault
        if fault:
            gone = _names(generation, end)
            return (
                "loss",
                f"Log {generation} cannot be replayed: {fault}. The database mounts only without"
                f" {gone}, and what is in there is lost.",
            )
    return None


def _doubts(logs: Mapping[int, LogCheck]) -> Iterable[_Found]:
    for generation, log in logs.items():
        if log.doubt and not log.fault:
            yield "unknown", f"Log {generation}: {log.doubt}."
        if log.torn:
            yield (
                "replay_needed",
                f"The last write to log {generation} did not end; its shadow is intact, and the"
                " engine uses it.",
            )


def _names(first: int, last: int) -> str:
    return f"log {first}" if first == last else f"logs {first} to {last}"


def _listed(generations: list[int]) -> str:
    if len(generations) == 1:
        return f"log {generations[0]} is"
    shown = ", ".join(map(str, generations[:5]))
    return f"logs {shown}{' and more' if len(generations) > 5 else ''} are"
