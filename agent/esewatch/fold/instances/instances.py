"""State changes of one instance by one event: starts, stops, backups, the engine's version."""

import math
import re
from bisect import insort
from collections.abc import Iterator

from esewatch.fold.databases import databases, integrity
from esewatch.fold.identity.identity import label_kept
from esewatch.fold.identity.owners import instance_key, instance_name
from esewatch.fold.identity.stays import stays
from esewatch.fold.instances.backups import BACKUP_EVENTS, add_totals
from esewatch.fold.instances.backups import insert as insert_backup
from esewatch.fold.instances.engine_errors import ENGINE_ERRORS
from esewatch.fold.passes.passes import MAX_TRANSITIONS, SLACK
from esewatch.fold.state import damage
from esewatch.fold.state.backup_jobs import BackupSet
from esewatch.fold.state.backup_jobs import insert as insert_set
from esewatch.fold.state.state import BackupEvent, BackupTotals, Database, Instance, State
from esewatch.model import Event, SetBackedUp

MAX_STOPS = MAX_TRANSITIONS + SLACK
"""As many as transitions: fewer would forget a stop that interrupted a transition still kept."""
STOP_EVENTS = frozenset({103, 104})
RESTORED = 205
"""The databases of the instance were restored from a backup."""
OF_RESTORES = ENGINE_ERRORS["recovery"] | {RESTORED}
RESTORE_ERROR_WITHIN = 3600.0
MAX_RESTORES = 16
MAX_ENGINES = 8

START = 102
MOUNTED = frozenset({105, 302})
"""The instance came up or completed its recovery: older errors are over. A database that is
attached (326) says nothing of the others.
"""
_PARTS = ("version_major", "version_minor", "version_build")
_VERSION = re.compile(r"(\d{1,5})\.(\d{1,5})\.(\d{1,5})(?:\.\d{1,5})?")
_TELLS = frozenset({*OF_RESTORES, *STOP_EVENTS, START, *MOUNTED, *BACKUP_EVENTS, *damage.DAMAGE})
_MOST = 0xFFFF
"""Each part of a version of Windows has 16 bits."""


def fold_event(instance: Instance, event: Event, time: float) -> bool:
    """Keep the facts of `event` about its instance; False when nothing changes."""
    if event.event_id not in _TELLS and not event.engine_version:
        return False
    changed = _engine(instance, event, time)
    if event.event_id in OF_RESTORES:
        _restore(instance, time, failed=event.event_id != RESTORED)
        changed = True
    if event.event_id in STOP_EVENTS:
        instance.stops = sorted({*instance.stops, time})[-MAX_STOPS:]
    elif event.event_id == START:
        instance.starts = sorted({*instance.starts, time})[-MAX_STOPS:]
    elif event.event_id in MOUNTED:
        if time in instance.mounts:
            return changed
        instance.mounts = sorted({*instance.mounts, time})[-MAX_STOPS:]
        instance.mounted = max(instance.mounted, time)
    elif event.event_id in BACKUP_EVENTS:
        insert_backup(instance, _backup(event, time))
    elif event.event_id in damage.DAMAGE and not event.database:
        damage.note_of_instance(instance, event, time)
    else:
        return changed
    return True


def _restore(instance: Instance, time: float, *, failed: bool) -> None:
    """205 is logged after a restore that failed, too: an error of recovery comes before it."""
    times = instance.recovery_errors if failed else instance.restores
    insort(times, time)
    del times[:-MAX_RESTORES]
    instance.restored = max(_restores(instance), default=0.0)


def _restores(instance: Instance) -> list[float]:
    """Times of those that did not fail."""
    errors = instance.recovery_errors
    return [
        done
        for done in instance.restores
        if not any(done - RESTORE_ERROR_WITHIN <= error <= done for error in errors)
    ]


def restored(state: State, entry: Database) -> float:
    """Last time at which the database was restored, 0 for never: its instance was, while it was in
    it.
    """
    if len(entry.instances) < 2:
        instance = state.instances.get(instance_key(entry))
        return instance.restored if instance is not None else 0.0
    times = (
        done
        for stay in stays(entry)
        if (instance := state.instances.get(stay.key)) is not None
        for done in _restores(instance)
        if stay.since <= done < stay.until
    )
    return max(times, default=0.0)


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
    """The databases of the instance of that name; none without a name."""
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
    """`15.1.2507`, empty when unknown: `%5` to `%7` of 102, else `%2` (ese-facts 1).

    Without the revision: a security update changes nothing else (Exchange Server build numbers).
    """
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
    if event.event_id in integrity.IO_ERRORS and key in state.instances:
        integrity.note_io_error(state.instances[key], time)
        yield ("instance", *key)
    for entry in databases_of(state, computer, name):
        if databases.fold_slow_io(entry, event, time):
            yield ("database", computer, entry.database)
