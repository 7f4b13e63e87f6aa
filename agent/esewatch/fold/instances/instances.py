"""State changes of one instance by one event: starts, stops, backups, the engine's version,
restores.

205 is written after a restore that failed, too, and names nothing. A restore is a 204 and its 205
without an error of the process between them, after which the instance came up whose logs were
restored (semantics.md 3).
"""

import math
import re
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from esewatch.fold.databases import bad_pages, databases, integrity, page_errors
from esewatch.fold.identity.identity import database_label, is_snapshot, label_kept
from esewatch.fold.identity.owners import instance_key, instance_name, is_tool, stays
from esewatch.fold.instances.backups import BACKUP_EVENTS, add_totals, insert_set
from esewatch.fold.instances.backups import insert as insert_backup
from esewatch.fold.passes.stops import DETACH
from esewatch.fold.state import damage
from esewatch.fold.state.state import (
    START,
    STOP_EVENTS,
    BackupEvent,
    BackupSet,
    BackupTotals,
    Database,
    Host,
    Instance,
    Restores,
    State,
)
from esewatch.model import Event, SetBackedUp

MAX_LIFE = 1024
"""More than transitions: fewer would forget a stop that interrupted a transition still kept."""
ATTACHED = 326
"""It writes its logs again. Of its other databases that says nothing."""
_REPEATED = frozenset({301, 325, ATTACHED, 328})
"""Of several in a row the first is kept: one for each log, or for each database."""
LIFE = frozenset({START, *STOP_EVENTS, 105, 300, 302, 304, *_REPEATED})
NO_SIGN = STOP_EVENTS | {DETACH}
"""Events that do not show that their instance is at work."""
MAX_ENGINES = 8

MOUNTED = frozenset({105, 302, 304})
"""The instance came up or completed its recovery: older errors are over."""
_PARTS = ("version_major", "version_minor", "version_build")
_VERSION = re.compile(r"(\d{1,5})\.(\d{1,5})\.(\d{1,5})(?:\.\d{1,5})?")
_TELLS = frozenset({*LIFE, *BACKUP_EVENTS, *damage.DAMAGE})
_MOST = 0xFFFF
"""Each part of a version of Windows has 16 bits."""


def fold_event(instance: Instance, event: Event, time: float) -> bool:
    """Keep the facts of `event` about its instance; False when nothing changes."""
    if event.event_id not in _TELLS and not event.engine_version:
        return False
    changed = _engine(instance, event, time)
    if event.event_id in LIFE:
        changed |= _live(instance, event, time)
        if event.event_id in MOUNTED and time > instance.mounted:
            instance.mounted = time
            changed = True
        if event.event_id == ATTACHED and time > instance.attached:
            # Not where recovery, a tool or the reader of a snapshot attached it.
            replayed = event.instance_state in databases.REPLAYS
            if not (replayed or is_tool(event.process) or is_snapshot(event.database)):
                instance.attached = time
                changed = True
        return changed
    if event.event_id in BACKUP_EVENTS:
        insert_backup(instance, _backup(event, time))
    elif event.event_id in damage.DAMAGE and not event.database:
        damage.add(instance.damage, damage.DAMAGE[event.event_id][0], event.event_id, time)
    else:
        return changed
    return True


def _live(instance: Instance, event: Event, time: float) -> bool:
    """Keep an event of its life; what a program does that works on files of others is none."""
    if is_tool(event.process):
        return False
    new = (time, event.record_id or 0, event.event_id)
    life = instance.life
    at = bisect_left(life, new)
    if life[at : at + 1] == [new]:
        return False
    if event.event_id in _REPEATED:
        if at and life[at - 1][-1] == event.event_id:
            return False
        if at < len(life) and life[at][-1] == event.event_id:
            life[at] = new
            return True
    life.insert(at, new)
    del life[:-MAX_LIFE]
    return True


def fold_set(instance: Instance, sets: list[BackupSet], record: SetBackedUp) -> bool:
    """Keep a backup set of the instance, whose computer has `sets`; False: seen before."""
    new = BackupSet(
        ended=record.time,
        started=record.started,
        ese_instance=instance.ese_instance.lower(),
        kind=record.kind,
        bytes=float(record.bytes),
        seconds=record.seconds,
        job=record.job,
    )
    if not insert_set(sets, new):
        return False
    totals = instance.backup_sets.setdefault(record.kind, BackupTotals())
    add_totals(totals, new.bytes, new.seconds, new.ended)
    return True


def databases_of(state: State, computer: str, name: str) -> list[Database]:
    key = (computer, name.lower())
    return [each for each in state.databases.values() if name and instance_key(each) == key]


def engine_changes(instance: Instance) -> list[float]:
    """First times of each new version of the engine, sorted; the very first is no change."""
    return sorted(instance.engines.values())[1:]


def _backup(event: Event, time: float) -> BackupEvent:
    label = label_kept(event.database, bad=False) if event.database else ""
    size = event.fields.get("bytes", 0)
    return BackupEvent(
        time=time,
        record_id=event.record_id or 0,
        event_id=event.event_id,
        file=label or "",
        bytes=size if isinstance(size, int) else 0,
    )


def _engine(instance: Instance, event: Event, time: float) -> bool:
    """Keep the earliest time of each version: the order of arrival makes no difference."""
    version = _engine_version(event)
    engines = instance.engines
    if not version or time >= engines.get(version, math.inf):
        return False
    engines[version] = time
    if len(engines) > MAX_ENGINES:
        del engines[min(engines, key=lambda each: (engines[each], each))]
    return version in engines


def _engine_version(event: Event) -> str:
    """`15.1.2507`, empty when unknown: `%5` to `%7` of 102, else `%2` (ese-facts 1). Without the
    revision: a security update changes nothing else (Exchange Server build numbers)."""
    if event.event_id != START and not event.engine_version:
        return ""
    told = [event.fields.get(part) for part in _PARTS] if event.event_id == START else []
    numbers = [part for part in told if isinstance(part, int)]
    if len(numbers) < len(_PARTS):
        match = _VERSION.fullmatch(event.engine_version)
        numbers = [int(part) for part in match.groups()] if match else []
    if not any(numbers) or not all(0 <= number <= _MOST for number in numbers):
        return ""
    return ".".join(map(str, numbers))


def fold_log_file_event(
    state: State, computer: str, event: Event, time: float
) -> Iterator[tuple[str, str, str]]:
    """Fold an event about a log file; returns the rows of the journal that it changes.

    A request on a log that failed, was slow or did not complete is of the instance, and of all of
    its databases.
    """
    name = instance_name(event.ese_instance, event.process)
    key = (computer, name.lower())
    failed = event.event_id in integrity.IO_ERRORS or page_errors.failure_of(event) == "io"
    if failed and key in state.instances:
        bad_pages.note_io_error(state.instances[key], time)
        yield ("instance", *key)
    for entry in databases_of(state, computer, name):
        if databases.fold_request(entry, event, time):
            yield ("database", computer, entry.database)


_RESTORE_BEGINS, _RESTORE_ENDS, _MOUNT = 204, 205, 105
MAX_PROCESSES = 32
MAX_RESTORES = 16
MAX_ERRORS = 64
_ERRORS = frozenset({"error", "critical"})


class Restored(NamedTuple):
    """A restore of a database."""

    ended: float
    """Records up to this time are of the file before."""
    mounted: float
    """First start of its instance after that: what began before may have read that file."""


def note_restore(host: Host, event: Event, time: float) -> bool:
    """Keep what the event says of restores of its process; False where that is nothing."""
    begins = event.event_id == _RESTORE_BEGINS
    if not (begins or event.event_id == _RESTORE_ENDS or event.level in _ERRORS):
        return False
    process = event.process.strip().lower()
    if not process:
        return False
    known = host.restores.setdefault(process, Restores())
    if begins:
        insort(known.begun, (time, folder_label(str(event.fields.get("to_folder", "")))))
        del known.begun[:-MAX_RESTORES]
    elif event.event_id == _RESTORE_ENDS:
        insort(known.ended, time)
        del known.ended[:-MAX_RESTORES]
    else:
        insort(known.errors, time)
        for old in known.errors[:-MAX_ERRORS]:
            known.forgotten = max(known.forgotten, old)
        del known.errors[:-MAX_ERRORS]
    if len(host.restores) > MAX_PROCESSES:
        del host.restores[min(host.restores, key=lambda each: _last_of(host.restores[each]))]
    return True


def _last_of(of: Restores) -> tuple[float, float]:
    return max((time for time, _ in of.begun), default=0.0), max(of.errors, default=0.0)


def folder_label(path: str) -> str:
    label = database_label(path.strip()) if path.strip() else ""
    return (label or "").rstrip("\\/")


def note_log_folder(instance: Instance, event: Event) -> bool:
    """Keep the folder of the logs of an instance, as an event names one of them."""
    for name in ("log_file", "file"):
        path = event.fields.get(name)
        if isinstance(path, str) and path[-4:].lower() == ".log":
            head = path.replace("/", "\\").rpartition("\\")[0]
            if (folder := folder_label(head)) and folder != instance.log_folder:
                instance.log_folder = folder
                return True
    return False


def restores(state: State, entry: Database) -> list[Restored]:
    """The restores of the database, sorted: of an instance in which it was then. A snapshot has
    none."""
    if is_snapshot(entry.database):
        return []
    return sorted(
        restore
        for stay in stays(entry)
        for restore in _restores_of(state, *stay.key)
        if stay.since <= restore.ended < stay.until
    )


def _restores_of(state: State, computer: str, name: str) -> Iterator[Restored]:
    """The restores of an instance that came up after them."""
    host, instance = state.hosts.get(computer), state.instances.get((computer, name))
    if host is None or instance is None:
        return
    starts = sorted([*instance.times_of({_MOUNT, ATTACHED}), instance.attached])
    for process, known in host.restores.items():
        if not known.ended or starts[-1] < known.ended[0]:
            continue
        stayed = [
            stay
            for each in state.databases.values()
            if each.computer == computer and each.process.strip().lower() == process
            if not is_snapshot(each.database)
            for stay in stays(each)
        ]
        for ended, folder in _whole_restores(known):
            of_logs = {
                key
                for (where, key), each in state.instances.items()
                if where == computer and folder and each.log_folder == folder
            }
            served = {each.key[1] for each in stayed if each.since <= ended < each.until}
            if ended <= starts[-1] and (name in of_logs or (not of_logs and served == {name})):
                yield Restored(ended, starts[bisect_left(starts, ended)])


def _whole_restores(known: Restores) -> Iterator[tuple[float, str]]:
    """End and folder of the restores that did not fail."""
    before = 0.0
    for ended in known.ended:
        begun = [each for each in known.begun if before <= each[0] <= ended]
        before = ended
        if begun:
            start, folder = begun[-1]
            if known.forgotten < start and not _within(known.errors, start, ended):
                yield ended, folder


def _within(times: Sequence[float], first: float, last: float) -> bool:
    place = bisect_left(times, first)
    return place < len(times) and times[place] <= last
