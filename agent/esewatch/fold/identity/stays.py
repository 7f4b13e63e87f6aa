"""Instances that a database was in, and when: what happened to one of them at that time is a part
of the database's own past.

A storage group gets another name, or a database moves to another group: the stops and restores of
the instance before are still those of the database, and those that the new one had before are not.
The order in which events arrive makes no difference.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from esewatch.fold.identity.owners import instance_key, instance_label
from esewatch.fold.state.state import Database, State


class Stay(NamedTuple):
    """The database was in the instance of that key from `since` until another one named it."""

    key: tuple[str, str]
    since: float
    until: float


def stays(entry: Database) -> Iterator[Stay]:
    """Each of its instances; the first one had it from the beginning."""
    known, present = dict(entry.instances), instance_label(entry).lower()
    if len(known) < 2 or present not in known:
        yield Stay(instance_key(entry), -inf, inf)
        return
    known[present] = (known[present][0], max(known[present][1], entry.named))
    oldest = min(first for first, _ in known.values())
    for name, (first, last) in known.items():
        later = [each for times in known.values() for each in times if each > last]
        since = first if first > oldest else -inf
        yield Stay((entry.computer, name), since, min(later, default=inf))


def has_been_in(entry: Database, computer: str, name: str) -> bool:
    """True if it is or was in the instance of that name."""
    key = (computer, name.lower())
    return entry.computer == computer and (
        key == instance_key(entry) or any(stay.key == key for stay in stays(entry))
    )


def stops_of(state: State, entry: Database) -> Sequence[float]:
    """Sorted times at which its instance stopped."""
    if len(entry.instances) < 2:
        instance = state.instances.get(instance_key(entry))
        return instance.stops if instance is not None else ()
    return sorted(
        {
            stop
            for stay in stays(entry)
            if (instance := state.instances.get(stay.key)) is not None
            for stop in instance.stops
            if stay.since <= stop < stay.until
        }
    )
