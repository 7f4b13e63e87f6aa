"""Acknowledgements of a person: each thing up to the last time shown for it.

A thing is a kind of damage, of bad page without a place, of error of its instance, and so on. What
was logged before, is of another thing and is read later was not shown, and stands.
"""

from collections.abc import Mapping

from esewatch.fold.state.database_state import Database

MAX_THINGS = 256
IO_ERROR = "io"
HUNG_IO = "hung io"
REPAIR = "repair"
RESTORE = "restore"
"""Bad pages that a restore left unproven."""


def unplaced(kind: str) -> str:
    return f"pages {kind}"


def of_any(kind: str) -> str:
    """Page errors of that kind that its instance logged and that may be of any of its databases."""
    return f"pages of any {kind}"


def damage(kind: str) -> str:
    return f"damage {kind}"


def error(kind: str) -> str:
    return f"error {kind}"


def unexplained(event_id: int) -> str:
    return f"unexplained {event_id}"


def notice(state: str, event_id: int) -> str:
    return f"notice {state} {event_id}"


def failure(task: str) -> str:
    return f"failure {task}"


def up_to(database: Database, thing: str) -> float:
    return max(database.acknowledged, database.acknowledged_things.get(thing, 0.0))


def note(database: Database, things: Mapping[str, float]) -> None:
    """Acknowledge `things`, each up to its time; beyond 256 the oldest are forgotten."""
    known = database.acknowledged_things
    for thing, time in things.items():
        known[thing] = max(known.get(thing, 0.0), time)
    for thing in sorted(known, key=lambda each: known[each])[:-MAX_THINGS]:
        del known[thing]
