"""The databases of an instance that are attached, as its events tell (semantics.md 1).

A database that is moved to another path is another one from then on: its old path stays known.
"""

from collections import defaultdict
from collections.abc import Iterable

from esewatch.fold.identity.owners import instance_key
from esewatch.fold.passes.passes import DETACH
from esewatch.fold.passes.transitions import last_event
from esewatch.fold.state.state import Database


def attached(databases: Iterable[Database]) -> dict[tuple[str, str], set[str]]:
    """By instance, the labels of its databases without those that were moved.

    After the last event of such a one another of the instance was first seen: under the same file
    name, or under any where that event is its detach.
    """
    instances: dict[tuple[str, str], list[Database]] = defaultdict(list)
    for each in databases:
        instances[instance_key(each)].append(each)
    found = {}
    for key, members in instances.items():
        newest = max(each.first_seen for each in members)
        of_name: dict[str, float] = {}
        for each in members:
            name = _file_name(each)
            of_name[name] = max(each.first_seen, of_name.get(name, each.first_seen))
        found[key] = {
            each.database
            for each in members
            if each.last_seen >= (newest if _is_detached(each) else of_name[_file_name(each)])
        }
    return found


def _file_name(entry: Database) -> str:
    return entry.database.replace("\\", "/").rpartition("/")[2]


def _is_detached(entry: Database) -> bool:
    return last_event(entry.transitions) == DETACH
