"""The databases of an instance that are attached, as its events tell (semantics.md 1 and 5).

A database that is moved to another path is another one from then on: its old path stays known.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

from esewatch.advice.base.time_at_work import presence
from esewatch.fold.identity.identity import is_snapshot
from esewatch.fold.identity.owners import instance_key, named_times
from esewatch.fold.passes.passes import ATTACHES
from esewatch.fold.passes.stops import DETACH
from esewatch.fold.passes.transitions import ROW_BYTES, event_ids, unpack
from esewatch.fold.state.state import START, STOP_EVENTS, Database, Instance

_LATEST = 8
"""Transitions that may be logged with a detach: interruptions of its passes."""


class Members(NamedTuple):
    """Labels of the databases of one instance."""

    attached: set[str]
    """Without those that were moved or dismounted."""
    moved: set[str]


def members(
    databases: Iterable[Database], known: Mapping[tuple[str, str], Instance]
) -> dict[tuple[str, str], Members]:
    """By instance. A database was moved where it was detached, or its instance stopped or started
    after its last event, and the instance attached one of the same file name since. One that only
    went silent before such a one was first seen is not counted as attached, but may be due."""
    instances: dict[tuple[str, str], list[Database]] = defaultdict(list)
    for each in databases:
        instances[instance_key(each)].append(each)
    found = {}
    for key, all_of_it in instances.items():
        of_name: dict[str, list[Database]] = defaultdict(list)
        for each in all_of_it:
            if not is_snapshot(each.database):
                of_name[_file_name(each)].append(each)
        attached, moved = set(), set()
        for each in chain.from_iterable(of_name.values()):
            since = _detached(each, known.get(key))
            others = [other for other in of_name[_file_name(each)] if other is not each]
            left = _left(each, known.get(key)) if since is None and others else since
            if left is not None and any(_came_after(other, left) for other in others):
                moved.add(each.database)
            elif since is None and all(each.last_seen >= other.first_seen for other in others):
                attached.add(each.database)
        found[key] = Members(attached, moved)
    return found


def _came_after(other: Database, left: float) -> bool:
    attached = unpack(other.transitions, ATTACHES)
    return other.first_seen > left or any(each.time > left for each in attached)


def _left(entry: Database, instance: Instance | None) -> float | None:
    """Its last event, where it was detached by that or its instance stopped or started after it."""
    _, last = named_times(entry)
    times = instance.times_of(STOP_EVENTS | {START}) if instance is not None else []
    return last if entry.detached >= last or (times and times[-1] > last) else None


def _detached(entry: Database, instance: Instance | None) -> float | None:
    """Since when it is detached, None where it is not."""
    rows = entry.transitions
    if DETACH not in event_ids(rows[-_LATEST * ROW_BYTES :]):  # as in most
        return None
    return presence(entry, instance, unpack(rows)).detached


def _file_name(entry: Database) -> str:
    return entry.database.replace("\\", "/").rpartition("/")[2]
