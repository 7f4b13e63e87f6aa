"""How many names are taken in: they are the data's, and so is their number.

What did not fit in is counted and remembered.
"""

from collections.abc import Sized

from esewatch.config import Settings
from esewatch.fold.identity import is_configured
from esewatch.fold.state import State

MAX_DROPPED = 1000
OWNERS_A_DATABASE = 4
"""So many instances, devices and processes are taken in for each of `max_databases`."""


def fits(state: State, settings: Settings, known: Sized, computer: str, label: str) -> bool:
    """Whether one more database fits in; a configured one always does."""
    if len(known) < settings.max_databases or is_configured(computer, label, settings):
        return True
    drop(state, computer, label)
    return False


def has_room(state: State, settings: Settings, known: Sized, computer: str, name: str) -> bool:
    """Whether one more instance, device or process fits in."""
    if len(known) < OWNERS_A_DATABASE * settings.max_databases:
        return True
    drop(state, computer, name)
    return False


def drop(state: State, computer: str, name: str) -> None:
    """Count what was not taken in, each name once."""
    known = state.dropped
    key = f"{computer}|{name}"
    if key not in known:
        state.databases_dropped += 1
    if key in known or len(known) < MAX_DROPPED:
        known[key] = known.get(key, 0) + 1
