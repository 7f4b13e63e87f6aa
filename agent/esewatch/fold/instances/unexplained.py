"""Unexplained errors of the engine: no rule, metric or finding uses them; none is lost.

They are kept with the database they name, else with their instance, else with their computer
(semantics.md 3).
"""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from esewatch.ese.events.message_table import is_unexplained
from esewatch.fold.identity.identity import database_label
from esewatch.fold.identity.owners import instance_name, note_process
from esewatch.fold.state.state import EngineError, State
from esewatch.model import Event

MAX_IDS = 16
MAX_TEXT = 200
MOST_STRINGS = 16
"""Paths are looked for among the first strings."""


def counts(event: Event, extra_providers: Sequence[str]) -> bool:
    return _counts(event.event_id, event.level, event.provider, tuple(extra_providers))


@lru_cache(maxsize=4096)
def _counts(event_id: int, level: str | None, provider: str, extra: tuple[str, ...]) -> bool:
    return is_unexplained(event_id, level, provider, extra_providers=extra)


def fold(state: State, computer: str, event: Event, time: float) -> tuple[str, str, str]:
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
            _note(entry.unexplained, event, EngineError(1, time, _text(event)))
            return "database", computer, entry.database
    named = next((label for label in labels if "\\" in label), "")
    instance_key = instance_name(event.ese_instance, event.process).lower()
    error = EngineError(1, time, _text(event), named, instance_key)
    if (instance := state.instances.get((computer, instance_key))) is not None:
        note_process(instance, event.process)
        _note(instance.unexplained, event, error)
        return "instance", computer, instance_key
    _note(state.hosts[computer].unexplained, event, error)
    return "host", computer, ""


def forget(state: State, computer: str, label: str) -> list[tuple[str, str, str]]:
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


def _note(known: dict[int, EngineError], event: Event, error: EngineError) -> None:
    """Count the error by its id; beyond 16 ids the least recently heard one is dropped."""
    before = known.get(event.event_id)
    if before is not None:
        youngest = before if error.last < before.last else error
        error = msgspec.structs.replace(youngest, count=before.count + 1)
    known[event.event_id] = error
    if len(known) > MAX_IDS:
        del known[min(known, key=lambda each: (known[each].last, each))]
