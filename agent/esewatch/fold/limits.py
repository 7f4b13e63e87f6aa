"""What is remembered of names that did not fit in."""

from esewatch.fold.state import State

MAX_DROPPED = 1000


def drop(state: State, computer: str, name: str) -> None:
    """Count what was not taken in, each name once."""
    known = state.dropped
    key = f"{computer}|{name}"
    if key not in known:
        state.databases_dropped += 1
    if key in known or len(known) < MAX_DROPPED:
        known[key] = known.get(key, 0) + 1
