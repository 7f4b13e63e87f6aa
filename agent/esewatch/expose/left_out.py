"""A database of which a view cannot be made costs the view that database, and not the others."""

from collections.abc import Callable, Collection
from typing import TypeVar

import msgspec

from esewatch.advice.stagger import Key
from esewatch.fold.state import State

View = TypeVar("View")


def leaving_out(state: State, make: Callable[[State], View]) -> tuple[View, dict[Key, Exception]]:
    """What `make` gives without the databases for which it raises, and what it raised for each.

    Raises what it raises without any database, or for want of memory.
    """
    try:
        return make(state), {}
    except MemoryError:
        raise
    except Exception as error:
        odd = _odd(state, list(state.databases), make, error)
    return make(without(state, odd)), odd


def without(state: State, left_out: Collection[Key]) -> State:
    """The state without these databases; what it has of the others is not copied."""
    if not left_out:
        return state
    kept = {key: each for key, each in state.databases.items() if key not in left_out}
    return msgspec.structs.replace(state, databases=kept)


def _odd(
    state: State, keys: list[Key], make: Callable[[State], View], error: Exception
) -> dict[Key, Exception]:
    """Which of these databases it raises for, by halves; `error` is what it raised for all."""
    if len(keys) < 2:
        return dict.fromkeys(keys, error)
    found: dict[Key, Exception] = {}
    for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
        try:
            make(without(state, state.databases.keys() - set(half)))
        except Exception as raised:
            found |= _odd(state, half, make, raised)
    return found
