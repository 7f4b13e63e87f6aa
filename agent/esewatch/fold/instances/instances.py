"""State changes of one instance by one event: starts, stops, backups, the engine's version."""

import math
import re
from bisect import bisect_left
from collections.abc import Iterator

from esewatch.fold.databases import bad_pages, databases, integrity, page_failures
from esewatch.fold.identity.identity import is_snapshot, label_kept
from esewatch.fold.identity.owners import instance_key, instance_name, is_tool
from esewatch.fold.instances.backups import BACKUP_EVENTS, add_totals
from esewatch.fold.instances.backups import insert as insert_backup
from esewatch.fold.passes.stops import DETACH
from esewatch.fold.state import damage, time_spans
from esewatch.fold.state.backup_jobs import BackupSet
from esewatch.fold.state.backup_jobs import insert as insert_set
from esewatch.fold.state.state import (
    START,
    STOP_EVENTS,
    BackupEvent,
    BackupTotals,
    Database,
    Instance,
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
        if event.event_id == ATTACHED and time > instance.attached and _is_own(event):
            instance.attached = time
            changed = True
        return changed
    if event.event_id in BACKUP_EVENTS:
        insert_backup(instance, _backup(event, time))
    elif event.event_id in damage.DAMAGE and not event.database:
        damage.note_of_instance(instance, event, time)
    else:
        return changed
    return True


def note_failed_read(instance: Instance, time: float) -> None:
    """Note a bad page whose file is not known: none of its scans then verifies a database."""
    bad_pages.note_io_error(instance, time)
    time_spans.add(instance.failed_reads, time, within=0.0, most=bad_pages.MAX_IO_ERRORS)


def is_sign(event: Event) -> bool:
    """True if it shows that the instance that it names is at work."""
    return event.event_id not in NO_SIGN and not is_tool(event.process)


def _is_own(event: Event) -> bool:
    """False for a database that recovery, a tool or the reader of a snapshot attached."""
    replayed = event.instance_state in databases.REPLAYS
    return not (replayed or is_tool(event.process) or is_snapshot(event.database))


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
    failed = event.event_id in integrity.IO_ERRORS or page_failures.failure_of(event) == "io"
    if failed and key in state.instances:
        bad_pages.note_io_error(state.instances[key], time)
        yield ("instance", *key)
    for entry in databases_of(state, computer, name):
        if databases.fold_request(entry, event, time):
            yield ("database", computer, entry.database)
