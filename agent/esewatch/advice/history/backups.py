"""The backups that are known of each database, and the snapshots of each computer.

Derived from what instances keep: their backup events, and the sets in the logs of NTBACKUP.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from esewatch import packing
from esewatch.config import Settings
from esewatch.fold.identity.identity import tier
from esewatch.fold.identity.owners import EXCHANGE, instance_key, process_key
from esewatch.fold.instances.backups import (
    SHADOW_COMPLETED,
    UNNAMED,
    Stretch,
    completed,
    together,
    totals,
    verified_by_streaming,
)
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import BackupTotals, Instance, State

InstanceKey = tuple[str, str]
"""Computer, and name in lower case."""
ByKind = Mapping[str, BackupTotals]


class Backups(NamedTuple):
    """Of one instance."""

    totals: Mapping[str, ByKind]
    """By database."""
    verified: Mapping[str, Sequence[Stretch]]
    """By database, the streaming backups that read every page of it."""
    snapshot: float
    """Time of the last snapshot that completed (2006), 0 for never."""
    row: int | None
    """A hash of what they were derived from; None where no row can be made of it."""


class BackedUp(NamedTuple):
    """Of one database."""

    kinds: ByKind
    snapshot: float
    """Time of the last snapshot of databases of Exchange on its computer, 0 for never; it does not
    say of which."""

    @property
    def last(self) -> float:
        """The end of its last backup, 0 for never."""
        return max((each.last_completion for each in self.kinds.values()), default=0.0)


NO_BACKUP = BackedUp({}, 0.0)


def backups_of_instances(
    state: State, before: Mapping[InstanceKey, Backups]
) -> dict[InstanceKey, Backups]:
    """`before` is the result for an earlier state; it saves work and changes nothing."""
    found = {}
    for key, instance in state.instances.items():
        if instance.backup_events or instance.backup_totals:
            row = row_of((instance.backup_events, instance.backup_totals, instance.life))
            known = before.get(key)
            if known is None or row is None or known.row != row:
                known = _of_instance(instance, row)
            found[key] = known
    return found


def row_of(kept: object) -> int | None:
    try:
        return hash(packing.pack(kept))
    except (ValueError, TypeError, OverflowError):
        return None


def backups_by_database(
    state: State, settings: Settings, backups: Mapping[InstanceKey, Backups]
) -> dict[DatabaseKey, BackedUp]:
    named: dict[DatabaseKey, ByKind] = {}
    # Its instance may have got another name, or it may have moved: the backups of all count.
    for (computer, _), each in sorted(backups.items()):
        for file, kinds in each.totals.items():
            before = named.get((computer, file))
            named[computer, file] = together(before, kinds) if before else kinds
    shadows, sets = _shadows(state, settings, backups), _sets(state, settings)
    snapshots = _snapshots_of_exchange(state, backups)
    return {
        key: BackedUp(
            {**named.get(key, {}), **shadows.get(key, {}), **sets.get(key, {})},
            snapshots.get(key[0], 0.0),
        )
        for key in state.databases
    }


def _of_instance(instance: Instance, row: int | None) -> Backups:
    done = completed(instance.backup_events)
    known = totals(instance, done)
    times = [each.time for each in instance.backup_events if each.event_id == SHADOW_COMPLETED]
    # Of those whose events are not kept any more.
    times += [
        each.last_completion
        for kind, each in known.get(UNNAMED, {}).items()
        if kind.startswith("shadow")
    ]
    return Backups(known, verified_by_streaming(done, instance), max(times, default=0.0), row)


def _sets(state: State, settings: Settings) -> dict[DatabaseKey, ByKind]:
    """By database, the sets of its instance. Only where it is the one database of that: a set does
    not say how its bytes are shared among several, nor that it has all of them."""
    owned: dict[InstanceKey, list[DatabaseKey]] = {}
    for key, database in state.databases.items():
        name = instance_key(database)
        instance = state.instances.get(name) if name[1] else None
        if instance is not None and instance.backup_sets and tier(database, settings) != "ignored":
            owned.setdefault(name, []).append(key)
    single = {keys[0]: name for name, keys in owned.items() if len(keys) == 1}
    return {key: state.instances[name].backup_sets for key, name in single.items()}


def _shadows(
    state: State, settings: Settings, backups: Mapping[InstanceKey, Backups]
) -> dict[DatabaseKey, ByKind]:
    """By database, the shadow copies of its instance or process. Only where that has no other
    database: a shadow copy names none."""
    owned: dict[InstanceKey, list[DatabaseKey]] = {}
    for key, database in state.databases.items():
        for name in {instance_key(database), process_key(database)}:
            known = backups.get(name)
            if known and UNNAMED in known.totals and tier(database, settings) != "ignored":
                owned.setdefault(name, []).append(key)
    found: dict[DatabaseKey, ByKind] = {}
    for name, keys in sorted(owned.items()):
        if len(keys) == 1:
            found[keys[0]] = together(found.get(keys[0], {}), backups[name].totals[UNNAMED])
    return found


def _snapshots_of_exchange(
    state: State, backups: Mapping[InstanceKey, Backups]
) -> dict[str, float]:
    """By computer, the last snapshot by a process of Exchange, or of an instance with a database
    of it."""
    own = set(_of_exchange(state))
    found: dict[str, float] = {}
    for key, each in backups.items():
        if each.snapshot and (key in own or key[1].startswith(EXCHANGE)):
            found[key[0]] = max(found.get(key[0], 0.0), each.snapshot)
    return found


def _of_exchange(state: State) -> Iterable[InstanceKey]:
    for each in state.databases.values():
        if each.provider.upper() == "ESE":
            yield instance_key(each)
            yield process_key(each)
