"""Page errors that an instance logged and that name no database, with their owners."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from esewatch.fold.identity.identity import is_snapshot
from esewatch.fold.identity.owners import instance_key, named_times
from esewatch.fold.state import damage
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import START, Damage, DamageKind, Database, Failure, State


class InstanceFailures(NamedTuple):
    """Failures that name no database: those that can only be of one, and those of an instance."""

    databases: dict[DatabaseKey, list[Failure]]
    instances: dict[tuple[str, str], list[Failure]]


def instance_failures(state: State) -> InstanceFailures:
    """The only database that the instance named since its last start but one has them: none is
    attached in recovery."""
    found = InstanceFailures(defaultdict(list), defaultdict(list))
    failing = {key: each for key, each in state.instances.items() if each.failures}
    if not failing:
        return found
    members: dict[tuple[str, str], list[Database]] = defaultdict(list)
    for each in state.databases.values():
        if instance_key(each) in failing and not is_snapshot(each.database):
            members[instance_key(each)].append(each)
    for key, instance in failing.items():
        starts = instance.times_of({START})
        for failure in instance.failures:
            since = _last_start_but_one(starts, failure.time)
            times = [(each, *named_times(each)) for each in members[key]]
            named = [(each, first) for each, first, last in times if last >= since]
            before = [each for each in named if each[1] <= failure.time]
            named = before or named
            if len(named) == 1:
                found.databases[key[0], named[0][0].database].append(failure)
            else:
                found.instances[key].append(failure)
    return found


def logical(failures: Iterable[Failure]) -> dict[DamageKind, Damage]:
    """The damage that failures report."""
    found: dict[DamageKind, Damage] = {}
    for each in failures:
        if each.kind == "logical":
            damage.add(found, each.kind, each.event_id, each.time)
    return found


def together(
    one: Mapping[DamageKind, Damage], other: Mapping[DamageKind, Damage]
) -> dict[DamageKind, Damage]:
    found = dict(one)
    for kind, more in other.items():
        known = found.get(kind, Damage())
        events = sorted({*known.events, *more.events})
        found[kind] = Damage(known.count + more.count, sorted([*known.times, *more.times]), events)
    return found


def _last_start_but_one(starts: Sequence[float], time: float) -> float:
    before = bisect_right(starts, time)
    return starts[before - 2] if before > 1 else -inf
