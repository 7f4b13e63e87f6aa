"""Facts about a copy from other records: gaps in its computer's log, findings of its other copies.

A passive copy that compares itself with the active one reports damage of the other (538, 540, 545);
the state keeps it where it was logged, and here it is assigned to the copy it speaks of.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from esewatch.advice.base.staleness import DAY, one_window
from esewatch.advice.history.copies import Copies
from esewatch.config import Settings, rule_for, window_for
from esewatch.fold.companions.notices import notices
from esewatch.fold.databases.integrity import OutsideFacts, ScanCircumstances, known_bad_pages
from esewatch.fold.identity.identity import is_ignored, is_snapshot
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.identity.roles import ACTIVE_FAMILY, PASSIVE_FAMILY, family, role_at
from esewatch.fold.instances.engine_errors import OF_COMPUTER, REPORTED, open_of
from esewatch.fold.passes.passes import views_in
from esewatch.fold.passes.transitions import unpack
from esewatch.fold.state.checkdb_results import has_errors
from esewatch.fold.state.damage import OF_BOTH, known_damage
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import (
    Channel,
    Damage,
    DamageKind,
    Database,
    EngineError,
    Instance,
    State,
    Transition,
)

MOST_COPIES = 16
"""Copies of one database in Exchange; when more share a name, they are no copies of each other."""


def gaps_of(database: Database, channels: Iterable[Channel]) -> list[tuple[float, float, int]]:
    """(from, to, records) that are missing in the log that its instance writes to.

    `channels` are those of its computer; where its log is not known, all count.
    """
    return [
        gap
        for channel in channels
        if database.channel in ("", channel.channel)
        for gap in channel.gaps
    ]


class _Copy(NamedTuple):
    """One copy with those of its kept transitions that show a role."""

    entry: Database
    transitions: Sequence[Transition] = ()
    configured: str = ""
    """Its role, where its scans show none."""

    def role_at(self, time: float) -> str:
        return role_at(self.transitions, time) or self.configured


def surroundings(
    state: State, settings: Settings, copies: Copies | None = None
) -> Callable[[Database], OutsideFacts]:
    """The facts about each database of `state` from other records, computed once for all
    of them. `copies` are those of the state, where they are at hand.
    """
    channels: dict[str, list[Channel]] = defaultdict(list)
    for channel in state.channels.values():
        channels[channel.computer].append(channel)
    groups = _groups(state, settings, copies or Copies.within(state, settings))
    damage = _of_active(state, groups)
    owned = _owned(state, settings)
    homeless: dict[str, list[Mapping[int, EngineError]]] = defaultdict(list)
    errors: dict[str, list[Instance]] = defaultdict(list)
    for (computer, name), each in state.instances.items():
        if each.unexplained and (computer, name) not in owned:
            homeless[computer].append(each.unexplained)
        if OF_COMPUTER in each.errors:
            errors[computer].append(each)
    said = notices(state, settings)

    def told(database: Database) -> OutsideFacts:
        key = (database.computer, database.database)
        window = window_for(settings, database.database, database.computer)
        longest = DAY if window is None else one_window(window)
        gaps = gaps_of(database, channels.get(database.computer, ()))
        missing = [(begin, end) for begin, end, _ in gaps if end - begin > longest]
        found = damage.get(key, {})
        against = sorted(time for each in found.values() for time in each.times)
        instance = _instance_of(database, state)
        return OutsideFacts(
            ScanCircumstances(missing, against, _active_elsewhere(key, groups.get(key, ()))),
            _together(found, instance.damage if instance is not None else {}),
            _errors(database, state, owned, homeless.get(database.computer, ())),
            said.get(key, ()),
            {
                kind: still
                for kind, still in open_of(
                    instance, errors.get(database.computer, ()), database.acknowledged
                ).items()
                if kind in REPORTED
            },
        )

    return told


def _owned(state: State, settings: Settings) -> set[DatabaseKey]:
    """The instances that are known to have databases."""
    return {
        instance_key(entry)
        for entry in state.databases.values()
        if not is_snapshot(entry.database)
        and not is_ignored(entry.computer, entry.database, settings)
    }


def _instance_of(database: Database, state: State) -> Instance | None:
    """The instance of a database; None for a snapshot: its instance logs about the origin."""
    return None if is_snapshot(database.database) else state.instances.get(instance_key(database))


def _together(
    one: Mapping[DamageKind, Damage], other: Mapping[DamageKind, Damage]
) -> dict[DamageKind, Damage]:
    found = dict(one)
    for kind, more in other.items():
        known = found.get(kind, Damage())
        events = sorted({*known.events, *more.events})
        found[kind] = Damage(known.count + more.count, sorted([*known.times, *more.times]), events)
    return found


def _of_active(
    state: State, groups: Mapping[DatabaseKey, Sequence[_Copy]]
) -> dict[DatabaseKey, dict[DamageKind, Damage]]:
    """By copy, the damage that was logged of the active one: of all where that is not known.

    What a copy reported of both is in its own damage already.
    """
    found: dict[DatabaseKey, dict[DamageKind, Damage]] = {}
    for key, reporter in state.databases.items():
        group = groups.get(key) or [_Copy(reporter)]
        for kind, damage in reporter.damage_of_active.items():
            for time in damage.times:
                active = [copy for copy in group if copy.role_at(time) == "active"]
                for copy in active if len(active) == 1 else group:
                    if kind in OF_BOTH and copy.entry is reporter:
                        continue
                    kinds = found.setdefault((copy.entry.computer, copy.entry.database), {})
                    known = kinds.setdefault(kind, Damage(0, [], list(damage.events)))
                    known.count += 1
                    known.times = sorted([*known.times, time])
    return found


def _active_elsewhere(key: DatabaseKey, group: Sequence[_Copy]) -> list[float]:
    """Times at which scans showed that another copy of `key` was the active one, sorted."""
    if len(group) > MOST_COPIES:
        return []
    return sorted(
        each.time
        for copy in group
        if (copy.entry.computer, copy.entry.database) != key
        for each in copy.transitions
        if family(each.event_id) == "active"
    )


def _groups(state: State, settings: Settings, copies: Copies) -> dict[DatabaseKey, list[_Copy]]:
    """By database that has other copies, all of them, itself included."""
    sizes = Counter(copies.keys.values())
    groups: dict[str, list[_Copy]] = defaultdict(list)
    for key, entry in state.databases.items():
        name = copies.keys[key]
        if name is not None and sizes[name] > 1:
            rule = rule_for(settings, entry.computer, entry.database)
            role = (rule.role if rule is not None else None) or ""
            shown = list(unpack(entry.transitions, ACTIVE_FAMILY | PASSIVE_FAMILY))
            groups[name].append(_Copy(entry, shown, role))
    return {
        (copy.entry.computer, copy.entry.database): group
        for group in groups.values()
        for copy in group
    }


def _errors(
    database: Database,
    state: State,
    owned: Collection[DatabaseKey],
    homeless: Iterable[Mapping[int, EngineError]],
) -> dict[int, EngineError]:
    """Errors of the database; of its instance; of its computer and of instances without a database.

    `owned` are the instances that are known to have databases, `homeless` are the errors that
    others of its computer logged.
    """
    found = dict(database.unexplained)
    sources = [*homeless]
    instance = _instance_of(database, state)
    if instance is not None and instance_key(database) in owned:
        sources.append(instance.unexplained)
    if (host := state.hosts.get(database.computer)) is not None:
        sources.append(host.unexplained)
    for errors in sources:
        for event_id, error in errors.items():
            if not _may_be_of(error, database, state, owned):
                continue
            known = found.get(event_id)
            if known is not None:
                newer = max(known, error, key=lambda each: each.last)
                error = EngineError(known.count + error.count, newer.last, newer.text)
            found[event_id] = error
    return {
        event_id: error for event_id, error in found.items() if error.last > database.acknowledged
    }


def _may_be_of(
    error: EngineError, database: Database, state: State, owned: Collection[DatabaseKey]
) -> bool:
    """True if an error of an instance or a computer is the database's.

    What the error named and nothing was known of yet may have become known since.
    """
    if (database.computer, error.database) in state.databases:
        return error.database == database.database
    logged_by = (database.computer, error.ese_instance)
    return logged_by not in owned or logged_by == instance_key(database)


def is_damaged(state: State, settings: Settings) -> bool:
    """True if any database has a known bad page or damage, or errors that CHECKDB left."""
    told = surroundings(state, settings)
    for entry in state.databases.values():
        beside = told(entry)
        if known_damage(entry, beside.damage):
            return True
        if known_bad_pages(entry, views_in(state, entry), beside.around):
            return True
    return any(has_errors(entry) for entry in state.sql_databases.values())
