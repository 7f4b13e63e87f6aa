"""Streaming and shadow-copy backups, derived from the kept backup events of an instance.

A streaming backup (210 … 213) reads and verifies every page of the databases
it copies; a shadow copy (2001-2010) proves nothing about pages (published facts P1).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Literal, NamedTuple

import msgspec

from esewatch.fold.state.state import (
    START,
    STOP_EVENTS,
    BackupEvent,
    BackupSet,
    BackupTotals,
    Instance,
)

BackupKind = Literal[
    "full", "incremental", "shadow_full", "shadow_incremental", "shadow_copy", "shadow_differential"
]

STARTS: dict[int, BackupKind] = {
    210: "full",
    211: "incremental",
    2005: "shadow_full",
    2008: "shadow_incremental",
    2009: "shadow_copy",
    2010: "shadow_differential",
}
UNNAMED = ""
"""In the place of a database: a shadow copy names none."""
FILE_STARTS, FILE_ENDS = 220, 221
FAILURES = frozenset({214, 215, 217, 218, 222, 226, 2002, 2004, 2007})
ABORTS = frozenset({214, 215, 226, 2002, 2004, 2007})
"""Failures that end the whole backup, not that of one file."""
SHADOW_COMPLETED = 2006
COMPLETIONS = frozenset({213, SHADOW_COMPLETED})
ENDS = COMPLETIONS | ABORTS
BACKUP_EVENTS = frozenset({*STARTS, FILE_STARTS, FILE_ENDS, *FAILURES, *COMPLETIONS, 219})
SHADOW_EVENTS = 2000
"""Those of shadow copies are above."""

MAX_EVENTS = 512
_LATEST_EVENTS = 128
MAX_STREAMED = 8
Stretch = tuple[float, float]
"""From, to: epoch seconds."""

LONGEST = 86400.0
"""A backup without an end that began longer ago is ignored."""


class Backup(msgspec.Struct):
    """One backup that completed: `files` maps each database to its bytes, 0 when not said."""

    kind: BackupKind
    started: float
    ended: float
    files: dict[str, int]
    verifying: bool


def insert(instance: Instance, new: BackupEvent) -> None:
    """Keep one event in the order of (time, record id); the oldest beyond 512 become totals.

    A backup with more events is not torn: its files that are done take less room, and beyond that
    the first of them are left out. One that has a number and is kept already changes nothing.
    """
    events = instance.backup_events
    at = bisect_right(events, (new.time, new.record_id), key=lambda e: (e.time, e.record_id))
    if new.record_id and at and events[at - 1] == new:
        return
    events.insert(at, new)
    surplus = len(events) - MAX_EVENTS
    if surplus > 0:
        cut = _boundary(events, surplus)
        for backup in completed(events[:cut]):
            _add(instance.backup_totals, backup)
        del events[:cut]
    if len(events) > MAX_EVENTS:
        events[:] = _condensed(events)
    while len(events) > MAX_EVENTS:
        del events[next((index for index, each in enumerate(events) if each.copied), 0)]


def _boundary(events: list[BackupEvent], least: int) -> int:
    """Cut before the start of a backup, so that none is torn in two: the next one, if it is not too
    far, else the one before. A start may be read after what follows it."""
    starts = [index for index, each in enumerate(events) if each.event_id in STARTS]
    after = next((index for index in starts if index >= least), len(events))
    before = [index for index in starts if index < least]
    return after if after < least + MAX_EVENTS // 2 else (before or [0])[-1]


def _condensed(events: Iterable[BackupEvent]) -> list[BackupEvent]:
    """One event for each file that was copied whole, none for log files."""
    kept: list[BackupEvent | None] = []
    begun: dict[str, int] = {}
    for event in events:
        if event.event_id in STARTS:
            begun.clear()
        at = begun.pop(event.file, None) if event.event_id == FILE_ENDS else None
        start = kept[at] if at is not None else None
        if at is None or start is None:
            if event.event_id == FILE_STARTS and not event.copied:
                begun[event.file] = len(kept)
            kept.append(event)
        else:
            kept[at] = msgspec.structs.replace(start, copied=True) if event.file else None
    return [each for each in kept if each is not None]


def completed(events: Sequence[BackupEvent]) -> list[Backup]:
    done = [backup for each in _apart(events) for backup in _completed(each)]
    return sorted(done, key=attrgetter("ended"))


def _apart(events: Sequence[BackupEvent]) -> Iterable[list[BackupEvent]]:
    """Those of streaming backups, and those of shadow copies. While the one runs the engine refuses
    to freeze for the other: that the other fails then says nothing of the one."""
    for shadow in (False, True):
        yield [each for each in events if _is_shadow(each) == shadow]


def _is_shadow(event: BackupEvent) -> bool:
    return event.event_id > SHADOW_EVENTS


def _completed(events: Iterable[BackupEvent]) -> list[Backup]:
    done: list[Backup] = []
    running: Backup | None = None
    open_files: set[str] = set()
    open_logs = 0
    failed = False
    for event in events:
        if event.event_id in STARTS:
            kind = STARTS[event.event_id]
            running = Backup(kind, event.time, event.time, {}, verifying=kind == "full")
            open_files, open_logs, failed = set(), 0, False
        elif running is None:
            continue
        elif event.event_id in FAILURES:
            failed = True
        elif event.event_id == FILE_STARTS and event.file:
            running.files[event.file] = event.bytes
            if not event.copied:
                open_files.add(event.file)
        elif event.event_id == FILE_STARTS:
            open_logs += 1
        elif event.event_id == FILE_ENDS and not event.file:
            open_logs -= 1
        elif event.event_id == FILE_ENDS:
            open_files.discard(event.file)
        elif event.event_id in COMPLETIONS:
            running.ended = event.time
            running.verifying = (
                running.verifying and not failed and not open_files and not open_logs
            )
            if not failed:
                done.append(running)
            running = None
    return done


def spans(events: Sequence[BackupEvent]) -> list[Stretch]:
    """From the start to the end of each, completed or failed; backups without an end are left
    out."""
    found: list[Stretch] = []
    for of_kind in _apart(events):
        start: float | None = None
        for event in of_kind:
            if event.event_id in STARTS:
                start = event.time
            elif start is not None and event.event_id in ENDS:
                found.append((start, event.time))
                start = None
    return sorted(found)


def begun(events: Sequence[BackupEvent]) -> float | None:
    """Start of the backup that has not ended, None without one; `events` are sorted."""
    ended: set[bool] = set()
    for event in reversed(events):
        if event.event_id in ENDS:
            ended.add(_is_shadow(event))
        elif event.event_id in STARTS and _is_shadow(event) not in ended:
            return event.time
    return None


def at_work(instance: Instance, now: float) -> bool | None:
    """True if a backup of the instance is running at `now`; None where none was ever seen."""
    if not instance.backup_events and not instance.backup_totals:
        return None
    since = begun(instance.backup_events)
    if since is None or any(stop > since for stop in instance.times_of(STOP_EVENTS)[-1:]):
        return False
    return now - since <= LONGEST


def totals(instance: Instance, kept: Iterable[Backup]) -> dict[str, dict[str, BackupTotals]]:
    """database -> kind -> totals of all completed backups; `kept` are those of the kept events.
    Those of shadow copies are under UNNAMED, as are incremental ones without a full one before."""
    result = {
        database: {kind: msgspec.structs.replace(each) for kind, each in kinds.items()}
        for database, kinds in instance.backup_totals.items()
    }
    for backup in kept:
        _add(result, backup)
    return result


def _add(result: dict[str, dict[str, BackupTotals]], backup: Backup) -> None:
    for database, size in (backup.files or _unsaid(result, backup.kind)).items():
        entry = result.setdefault(database, {}).setdefault(backup.kind, BackupTotals())
        add_totals(entry, size, backup.ended - backup.started, backup.ended)


def _unsaid(result: Mapping[str, Mapping[str, BackupTotals]], kind: BackupKind) -> dict[str, float]:
    """The databases, with 0 bytes, of a backup that names none. An incremental one copies the log
    files of its instance: those go on from the full backups."""
    if kind == "full":
        return {}
    after_full = [name for name, kinds in result.items() if "full" in kinds]
    return dict.fromkeys(after_full if kind == "incremental" and after_full else [UNNAMED], 0)


def together(
    one: Mapping[str, BackupTotals], other: Mapping[str, BackupTotals]
) -> dict[str, BackupTotals]:
    """kind -> totals of the backups that one database had in two instances."""
    found = {kind: msgspec.structs.replace(each) for kind, each in one.items()}
    for kind, each in other.items():
        totals = found.setdefault(kind, BackupTotals())
        add_totals(totals, each.bytes_total, each.seconds_total, each.last_completion)
    return found


def add_totals(totals: BackupTotals, size: float, seconds: float, ended: float) -> None:
    totals.bytes_total += size
    totals.seconds_total += seconds
    totals.last_completion = max(totals.last_completion, ended)


def streamed(instance: Instance) -> list[BackupSet]:
    """The last full streaming backups of the instance as sets, at most 8."""
    backups = completed(instance.backup_events[-_LATEST_EVENTS:])
    return [
        BackupSet(
            ended=backup.ended,
            started=backup.started,
            ese_instance=instance.ese_instance.lower(),
            kind=backup.kind,
            bytes=float(sum(backup.files.values())),
            seconds=backup.ended - backup.started,
        )
        for backup in [each for each in backups if each.kind == "full"][-MAX_STREAMED:]
    ]


def verified_by_streaming(
    backups: Iterable[Backup], instance: Instance
) -> dict[str, list[Stretch]]:
    """database -> the streaming backups that read every page of it: none goes on over a stop or a
    start of the instance. Errors of its pages in their time are another matter
    (`integrity.last_streamed`)."""
    ends = instance.times_of({START, *STOP_EVENTS})
    result: dict[str, list[Stretch]] = {}
    for backup in backups:
        if backup.verifying and not any(backup.started < end < backup.ended for end in ends):
            for database in backup.files:
                result.setdefault(database, []).append((backup.started, backup.ended))
    return result


MAX_SETS = 256
LATEST = 5
SLOW = 0.5
"""A job slowed when its last set ran at less than this share of the throughput of its first."""
COMPARED_SECONDS = 300.0
"""A shorter set says nothing of throughput."""
MOST_BETWEEN = 900.0
"""A set that begins later after the one before belongs to another job."""
MINUTE = 60.0
"""NTBACKUP writes times without seconds."""
_WHOLE = frozenset({"full", "ntbackup"})
"""Kinds that copy databases and not only log files."""


class BackupJob(NamedTuple):
    started: float
    ended: float
    rates: tuple[float, ...]
    """Bytes a second of each set, in their order."""
    instances: frozenset[str]
    """In lower case."""

    @property
    def ratio(self) -> float:
        return self.rates[-1] / self.rates[0]


def follows(ended: float, started: float) -> bool:
    return -MINUTE <= started - ended <= MOST_BETWEEN


def insert_set(sets: list[BackupSet], new: BackupSet) -> bool:
    """Insert a set in the order of time, the last 256; False when it was seen before. A set older
    than all of 256 counts as seen before."""
    at = bisect_left(sets, new[:-1], key=_without_job)
    if at < len(sets) and _without_job(sets[at]) == new[:-1]:
        return False
    if at == 0 and len(sets) >= MAX_SETS:
        return False
    sets.insert(at, new)
    del sets[:-MAX_SETS]
    return True


def _without_job(each: BackupSet) -> tuple[float, float, str, str, float, float]:
    """A log that was cut knows less of its job than the whole one."""
    return each[:-1]


def latest_jobs(logged: Iterable[BackupSet], streamed: Iterable[BackupSet]) -> list[BackupJob]:
    """The last 5 comparable jobs of a computer, oldest first.

    `logged`: sets from logs of backup programs, which know their job. `streamed`: sets from the
    events of the engine, used where no log covers the time.
    """
    by_job = attrgetter("job", "started", "ended")
    chains = [list(each) for _, each in groupby(sorted(logged, key=by_job), attrgetter("job"))]
    found = [job for chain in chains if (job := _job(chain)) is not None]
    for chain in _chains(streamed):
        job = _job(chain)
        if job is not None and not any(
            job.started < other.ended + MINUTE and other.started < job.ended + MINUTE
            for other in found
        ):
            found.append(job)
    return sorted(found, key=lambda job: (job.ended, job.started, job.rates))[-LATEST:]


def slow_jobs(jobs: Sequence[BackupJob]) -> int:
    """The number of jobs in which the last set ran at less than half the throughput of the first:
    buffered writes of very large files fill the cache of the computer that runs the backup (P2)."""
    return sum(job.ratio < SLOW for job in jobs)


def _chains(streamed: Iterable[BackupSet]) -> list[list[BackupSet]]:
    """Sets one after another; those that ran side by side are no job of one program."""
    chains: list[list[BackupSet]] = []
    for each in sorted(streamed, key=attrgetter("started", "ended", "ese_instance")):
        chain = chains[-1] if chains else []
        names = {other.ese_instance for other in chain}
        if chain and each.ese_instance not in names and follows(chain[-1].ended, each.started):
            chain.append(each)
        else:
            chains.append([each])
    return chains


def _job(sets: Sequence[BackupSet]) -> BackupJob | None:
    compared = [
        each
        for each in sets
        if each.kind in _WHOLE and each.seconds >= COMPARED_SECONDS and each.bytes > 0
    ]
    if len(compared) < 2:
        return None
    return BackupJob(
        started=compared[0].started,
        ended=compared[-1].ended,
        rates=tuple(each.bytes / each.seconds for each in compared),
        instances=frozenset(each.ese_instance.lower() for each in compared),
    )
