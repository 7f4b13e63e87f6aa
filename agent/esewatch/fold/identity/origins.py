"""Entries that are another database: a snapshot of one, or one that its instance moved.

Both are worked out from what is known of all, so that the order of arrival makes no difference.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping

from esewatch.config import Settings
from esewatch.fold.identity.identity import is_snapshot, tier
from esewatch.fold.identity.owners import has_been_in, instance_label, named_times
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import START, Database, State


def origins(state: State, settings: Settings) -> dict[DatabaseKey, Database]:
    """Of each snapshot that names no origin, the only watched database whose path ends as its does;
    of others none."""
    shadows = [each for each in state.databases.values() if is_snapshot(each.database)]
    if not shadows:
        return {}
    names = {(each.computer, _file_name(each)) for each in shadows}
    files: dict[tuple[str, str], list[Database]] = defaultdict(list)
    for each in state.databases.values():
        key = (each.computer, _file_name(each))
        if key in names and not is_snapshot(each.database) and tier(each, settings) == "watched":
            files[key].append(each)
    found = {}
    for shadow in shadows:
        path = shadow.database.lower()
        fitting = [
            each
            for each in files.get((shadow.computer, _file_name(shadow)), ())
            if (tail := each.database.partition(":")[2]) and path.endswith(tail)
        ]
        if len(fitting) == 1:
            found[shadow.computer, shadow.database] = fitting[0]
    return found


def moved(state: State) -> dict[DatabaseKey, list[tuple[float, Database]]]:
    """By database, those that it was before, and until when: its instance attached it under the
    same file name at another path, after it had detached the old one or stopped."""
    names: Mapping[tuple[str, str], list[Database]] = defaultdict(list)
    for each in state.databases.values():
        if each.attached:
            names[each.computer, _file_name(each)].append(each)
    found: dict[DatabaseKey, list[tuple[float, Database]]] = defaultdict(list)
    old_ones = (each for each in state.databases.values() if not is_snapshot(each.database))
    for old in old_ones:
        others = names.get((old.computer, _file_name(old)), ())
        heirs = [
            (at, new.database)
            for new in others
            if new is not old and (at := _attached_after(state, old, new)) is not None
        ]
        if heirs:
            at, label = min(heirs)
            found[old.computer, label].append((at, old))
    return found


def _attached_after(state: State, old: Database, new: Database) -> float | None:
    """The time at which the instance of `old` attached it as `new`."""
    name = instance_label(new)
    if not name or not has_been_in(old, new.computer, name):
        return None
    _, last = named_times(old)
    instance = state.instances.get((new.computer, name.lower()))
    starts = instance.times_of({START}) if instance is not None else []
    place = bisect_right(starts, last)
    left = [old.detached] if old.detached else []
    left += starts[place : place + 1]
    for since in sorted(left):
        place = bisect_right(new.attached, since)
        if place == len(new.attached):
            continue
        at = new.attached[place]
        if not any(since < each < at for each in old.attached):
            return at
    return None


def _file_name(entry: Database) -> str:
    return entry.database.replace("\\", "/").rpartition("/")[2].lower()
