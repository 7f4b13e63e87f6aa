"""Errors of the engine that belong to an instance: the events of each kind.

They are counted by kind and kept with the time of the last one; their meaning for the pages of a
database is in `integrity.py`. An error is open until its instance came up again after it, or
somebody acknowledged it; for some kinds only the latter ends it. No time ends it.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

import msgspec

from esewatch.config import Settings
from esewatch.ese.events.from_strings import has_own_messages
from esewatch.ese.events.message_table import is_unexplained
from esewatch.fold.databases.integrity import PAGE_EVENTS
from esewatch.fold.databases.page_errors import REPORTS, failure_of
from esewatch.fold.identity.identity import database_label, is_snapshot, tier
from esewatch.fold.identity.owners import instance_key, instance_label, instance_name, note_process
from esewatch.fold.state.acknowledgements import error, up_to
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Database, EngineError, EngineErrorKind, Instance, State
from esewatch.model import Event

ENGINE_ERRORS: Mapping[EngineErrorKind, frozenset[int]] = {
    "io": frozenset({481, 482, 551}),
    "log_sequence": frozenset({492}),
    "disk_full": frozenset({413, 429}),
    "log_disk_low": frozenset({428}),
    "recovery": frozenset({104, 454, 455, 465, 494}),
    "version_store": frozenset({623, 624, 630}),
    "database_full": frozenset({445}),
    "database_nearly_full": frozenset({755}),
    "memory": frozenset({907}),
    "failure_item": frozenset({*range(3001, 3005), *range(3007, 3010), *range(3011, 3015)}),
    "corruption_item": frozenset({3005, 3006, 3010}),
}
"""Kind -> event ids (semantics.md 7)."""
REPORTED: tuple[EngineErrorKind, ...] = ("memory", "failure_item", "corruption_item")
"""Errors that the engine reports of itself; each other kind is one failure, with its own alert."""
LASTING: frozenset[EngineErrorKind] = frozenset({"memory", "corruption_item"})
"""Errors that a restart of the instance does not fix: only an acknowledgement ends them."""
OF_LOGS: frozenset[EngineErrorKind] = frozenset({"log_sequence", "disk_full", "recovery"})
"""Errors that are over once the instance attaches a database, because it logs that."""
OF_COMPUTER: EngineErrorKind = "memory"
"""A problem of the whole computer, whichever instance met it."""
MAY_REPORT: frozenset[int] = frozenset().union(REPORTS, *ENGINE_ERRORS.values())
"""Events that may report an error of the engine."""
KIND_OF: Mapping[int, EngineErrorKind] = {
    event: kind for kind, events in ENGINE_ERRORS.items() for event in events
}

Dealt = Mapping[EngineErrorKind, float]

_BAD_PAGES = PAGE_EVENTS.keys() - {399}
"""A page that was corrected was read."""
_FILES = ("file", "log_file", "log_folder")
"""Fields of these events that say which file or folder failed, beside the database itself."""


MAX_TIMES = 64


def kinds_of(computer: str, event: Event, settings: Settings) -> list[EngineErrorKind]:
    """The kinds of errors that an event reports, none where it is of an ignored file. An error of
    reads and writes is one, whatever event has it.

    Logs count as the database in whose folder they lie. Snapshots end while they are read: an error
    there says nothing of their origin.
    """
    found = {KIND_OF[event.event_id]} if event.event_id in KIND_OF else set[EngineErrorKind]()
    if failure_of(event) == "io":
        found.add("io")
    if not found or has_own_messages(event.provider):
        return []
    left_out = any(
        is_snapshot(path) or _ignored(computer, path, event.process, settings)
        for path in _paths(event)
    )
    return [] if left_out else sorted(found)


def is_failed_read(event: Event) -> bool:
    """True for a bad page whose file cannot be read from its event: cut off, or in other words."""
    return (
        event.event_id in _BAD_PAGES
        and not event.database
        and "file" not in event.fields
        and not has_own_messages(event.provider)
    )


def instance_of(state: State, computer: str, event: Event) -> str:
    """The instance that the event names, else that of its database, else its process."""
    label = database_label(event.database) if event.database else None
    entry = state.databases.get((computer, label or ""))
    of_database = instance_label(entry) if entry is not None else ""
    return event.ese_instance or of_database or instance_name("", event.process)


def note(instance: Instance, kind: EngineErrorKind, time: float) -> None:
    count, last = instance.errors.get(kind, (0, time))
    instance.errors[kind] = (count + 1, max(last, time))
    times = instance.error_times.setdefault(kind, [])
    insort(times, time)
    del times[:-MAX_TIMES]


def dealt_with(database: Database) -> Dealt:
    """By kind, the time up to which a person acknowledged errors of its instance."""
    if not (database.acknowledged or database.acknowledged_things):
        return {}
    return {kind: up_to(database, error(kind)) for kind in ENGINE_ERRORS}


def acknowledgements(databases: Iterable[Database]) -> Callable[[DatabaseKey], Dealt]:
    """Of an instance, by its key, what was acknowledged by the name of any of its databases, and of
    errors that concern the whole computer by any on it."""
    found: dict[DatabaseKey, dict[EngineErrorKind, float]] = {}
    computers: dict[str, float] = {}
    for each in databases:
        known = found.setdefault(instance_key(each), {})
        for kind, time in dealt_with(each).items():
            known[kind] = max(time, known.get(kind, 0.0))
        whole = known.get(OF_COMPUTER, 0.0)
        computers[each.computer] = max(whole, computers.get(each.computer, 0.0))
    return lambda key: {**found.get(key, {}), OF_COMPUTER: computers.get(key[0], 0.0)}


def open_errors(instance: Instance, acknowledged: Dealt) -> dict[EngineErrorKind, int]:
    """The number of open errors, by kind that was ever logged.

    Errors within the second in which the instance came up are open: their order is unknown.
    `acknowledged` is, by kind, the time up to which a person acknowledged them.
    """
    found = {}
    for kind in instance.errors:
        times = instance.error_times.get(kind, [])
        came_up = 0.0 if kind in LASTING else instance.mounted
        if kind in OF_LOGS:
            came_up = max(came_up, instance.attached)
        seen = bisect_right(times, acknowledged.get(kind, 0.0))
        ended = max(bisect_left(times, came_up), seen)
        found[kind] = len(times) - ended
    return found


def open_of(
    instance: Instance | None, computer: Iterable[Instance], acknowledged: Dealt
) -> dict[EngineErrorKind, tuple[int, float]]:
    """By kind, the number of open errors of a database, and the time of the last one. These are the
    errors of its `instance`, and of all instances of its `computer` those that concern them all."""
    found = {}
    if instance is not None:
        for kind, still in open_errors(instance, acknowledged).items():
            if still and kind != OF_COMPUTER:
                found[kind] = still, instance.error_times[kind][-1]
    for each in computer:
        if still := open_errors(each, acknowledged).get(OF_COMPUTER, 0):
            count, last = found.get(OF_COMPUTER, (0, 0.0))
            found[OF_COMPUTER] = count + still, max(last, each.error_times[OF_COMPUTER][-1])
    return found


def _paths(event: Event) -> Iterator[str]:
    if event.database:
        yield event.database
    for name in _FILES:
        path = event.fields.get(name)
        if isinstance(path, str):
            # Patterns of folders end in a separator.
            yield path + "\\" if name == "log_folder" else path


def _ignored(computer: str, path: str, process: str, settings: Settings) -> bool:
    label = database_label(path) or path
    entry = Database(computer=computer, database=label, process=process)
    return tier(entry, settings) == "ignored"


MAX_IDS = 16
MAX_TEXT = 200
MOST_STRINGS = 16
"""Paths are looked for among the first strings."""


@lru_cache(maxsize=4096)
def counts_unexplained(
    event_id: int, level: str | None, provider: str, extra: tuple[str, ...]
) -> bool:
    return is_unexplained(event_id, level, provider, extra_providers=extra)


def fold_unexplained(
    state: State, computer: str, event: Event, time: float
) -> tuple[str, str, str]:
    """Keep the error; returns the row of the journal that changed.

    It belongs to the database that it names, else to its instance, else to its computer. A name not
    known yet is remembered: in a log that is read late the database comes after its errors.
    """
    labels = [
        label
        for path in (event.database, *event.strings[3:MOST_STRINGS])
        if path and (label := database_label(path)) is not None
    ]
    for label in labels:
        entry = state.databases.get((computer, label))
        if entry is not None:
            _note_unexplained(entry.unexplained, event, EngineError(1, time, _text(event)))
            return "database", computer, entry.database
    named = next((label for label in labels if "\\" in label), "")
    instance_key = instance_name(event.ese_instance, event.process).lower()
    error = EngineError(1, time, _text(event), named, instance_key)
    if (instance := state.instances.get((computer, instance_key))) is not None:
        note_process(instance, event.process)
        _note_unexplained(instance.unexplained, event, error)
        return "instance", computer, instance_key
    _note_unexplained(state.hosts[computer].unexplained, event, error)
    return "host", computer, ""


def forget_unexplained(state: State, computer: str, label: str) -> list[tuple[str, str, str]]:
    """Drop the errors that named a database before it was known; returns the changed rows. Those
    logged while it was known lie with it and go with it."""
    kept = {
        ("instance", *key): each.unexplained
        for key, each in state.instances.items()
        if key[0] == computer
    }
    if (host := state.hosts.get(computer)) is not None:
        kept["host", computer, ""] = host.unexplained
    changed = []
    for row, errors in kept.items():
        ours = [event_id for event_id, error in errors.items() if error.database == label]
        for event_id in ours:
            del errors[event_id]
        if ours:
            changed.append(row)
    return changed


def _text(event: Event) -> str:
    return " ".join(event.strings[3:])[:MAX_TEXT]


def _note_unexplained(known: dict[int, EngineError], event: Event, error: EngineError) -> None:
    """Count the error by its id; beyond 16 ids the least recently heard one is dropped."""
    before = known.get(event.event_id)
    if before is not None:
        youngest = before if error.last < before.last else error
        error = msgspec.structs.replace(youngest, count=before.count + 1)
    known[event.event_id] = error
    if len(known) > MAX_IDS:
        del known[min(known, key=lambda each: (known[each].last, each))]
