"""Errors of the engine that no rule, metric or finding of ours uses: none is lost (semantics.md 3).

They are kept where they belong: with the database they name, else with their instance, else with
their computer.
"""

from collections.abc import Sequence

from esewatch.ese.message_table import is_unexplained
from esewatch.fold.identity import database_label
from esewatch.fold.owners import instance_name
from esewatch.fold.state import EngineError, State
from esewatch.model import Event

MAX_IDS = 16
MAX_TEXT = 200
MOST_STRINGS = 16
"""Paths are looked for among the first strings."""


def counts(event: Event, extra_providers: Sequence[str]) -> bool:
    """Whether it is an error that nothing of ours uses."""
    return is_unexplained(
        event.event_id, event.level, event.provider, extra_providers=extra_providers
    )


def fold(state: State, computer: str, event: Event, time: float) -> tuple[str, str, str]:
    """Keep it; returns the row of the journal that changed.

    It belongs to the database that it names, else to its instance, else to its computer.
    """
    for path in (event.database, *event.strings[3:MOST_STRINGS]):
        label = database_label(path) if path else None
        entry = state.databases.get((computer, label or ""))
        if entry is not None:
            _note(entry.unexplained, event, time)
            return "database", computer, entry.database
    key = (computer, instance_name(event.ese_instance, event.process).lower())
    if (instance := state.instances.get(key)) is not None:
        _note(instance.unexplained, event, time)
        return "instance", *key
    _note(state.hosts[computer].unexplained, event, time)
    return "host", computer, ""


def _note(known: dict[int, EngineError], event: Event, time: float) -> None:
    """Count it by its id; beyond 16 ids the one heard of the longest ago is dropped."""
    text = " ".join(event.strings[3:])[:MAX_TEXT]
    entry = known.get(event.event_id)
    if entry is None:
        known[event.event_id] = EngineError(1, time, text)
    else:
        entry.count += 1
        if time >= entry.last:
            entry.last, entry.text = time, text
    if len(known) > MAX_IDS:
        del known[min(known, key=lambda each: (known[each].last, each))]
