"""Databases of which a view cannot be made, because of a defect: each costs itself alone."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import msgspec

from esefiles.base import crash
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import State

LeftOut = dict[DatabaseKey, Exception]
"""Database -> the error; None in its place: an error is raised."""


@contextmanager
def leaving_out(key: DatabaseKey, left_out: LeftOut | None) -> Iterator[None]:
    """Keep an error of the block, which is the part of a view that one database has."""
    try:
        yield
    except Exception as error:
        crash.if_short(error)
        if left_out is None:
            raise
        left_out[key] = error


def without(state: State, left_out: Collection[DatabaseKey]) -> State:
    """The state without these databases; the other ones are not copied."""
    if not left_out:
        return state
    kept = {key: each for key, each in state.databases.items() if key not in left_out}
    return msgspec.structs.replace(state, databases=kept)
