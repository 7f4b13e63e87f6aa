"""Errors of the engine that belong to an instance: which events are of which kind.

They are counted by kind and kept with the time of the last one; what they mean for the pages
of a database is in `integrity.py`.
"""

from collections.abc import Iterator, Mapping

from esewatch.config import Settings
from esewatch.fold.identity import database_label, is_snapshot, tier
from esewatch.fold.owners import instance_label, instance_name
from esewatch.fold.state import Database, EngineErrorKind, Instance, State
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
}
"""Kind -> event ids (semantics.md 7)."""
KIND_OF: Mapping[int, EngineErrorKind] = {
    event: kind for kind, events in ENGINE_ERRORS.items() for event in events
}
"""Event id -> kind."""

_FILES = ("file", "log_file", "log_folder")
"""Fields of these events that say which file or folder failed, beside the database itself."""


def counts(computer: str, event: Event, settings: Settings) -> bool:
    """Whether it is an error of the engine, and of no ignored file.

    Logs count as the database in whose folder they lie. Snapshots end while they are read:
    an error there says nothing of their origin.
    """
    if event.event_id not in KIND_OF:
        return False
    return not any(
        is_snapshot(path) or _ignored(computer, path, event.process, settings)
        for path in _paths(event)
    )


def instance_of(state: State, computer: str, event: Event) -> str:
    """The instance that it names, else that of its database, else its process."""
    label = database_label(event.database) if event.database else None
    entry = state.databases.get((computer, label or ""))
    of_database = instance_label(entry) if entry is not None else ""
    return event.ese_instance or of_database or instance_name("", event.process)


def note(instance: Instance, event: Event, time: float) -> None:
    """Count one error that `counts`."""
    kind = KIND_OF[event.event_id]
    count, last = instance.errors.get(kind, (0, time))
    instance.errors[kind] = (count + 1, max(last, time))


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
