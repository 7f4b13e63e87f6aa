"""Errors of the engine that no rule, metric or finding of ours uses: none is lost (semantics.md 3).

They are kept where they belong: with the database they name, else with their instance, else with
their computer.
"""

from esewatch.ese.message_table import is_unexplained
from esewatch.fold.state import EngineError
from esewatch.model import Event

MAX_IDS = 16
MAX_TEXT = 200


def counts(event: Event) -> bool:
    """Whether it is an error that nothing of ours uses."""
    return is_unexplained(event.event_id, event.level, event.provider)


def note(known: dict[int, EngineError], event: Event, time: float) -> None:
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
