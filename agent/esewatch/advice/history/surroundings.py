"""Facts about a copy from other records: gaps in its computer's log, findings of its other copies.

A passive copy that compares itself with the active one reports damage of the other (538, 540, 545);
the state keeps it where it was logged, and here it is assigned to the copy it speaks of.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain
from math import inf
from typing import NamedTuple

import msgspec

from esewatch.advice.base.time_at_work import DAY
from esewatch.advice.history.copies import Copies
from esewatch.config import Settings, rule_for
from esewatch.fold.companions import notices
from esewatch.fold.databases.integrity import (
    OutsideFacts,
    ScanCircumstances,
    known_bad_pages,
    last_streamed,
    last_verifications,
    restored_bad_pages,
)
from esewatch.fold.identity.identity import (
    ACTIVE_FAMILY,
    PASSIVE_FAMILY,
    family,
    is_ignored,
    is_snapshot,
    moved,
    origins,
    role_at,
    role_changes,
)
from esewatch.fold.identity.owners import instance_key, named_times
from esewatch.fold.instances.backups import Stretch, completed, verified_by_streaming
from esewatch.fold.instances.engine_errors import OF_COMPUTER, REPORTED, acknowledgements, open_of
from esewatch.fold.instances.instances import restores
from esewatch.fold.passes.passes import TaskView, views_in
from esewatch.fold.passes.transitions import pack, unpack
from esewatch.fold.state.acknowledgements import notice, unexplained, up_to
from esewatch.fold.state.damage import OF_BOTH, add, known_damage
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import (
    START,
    BadPage,
    Channel,
    Damage,
    DamageKind,
    Database,
    EngineError,
    Failure,
    Instance,
    State,
    Transition,
)

BAD_CHECKSUM = 474
LAG_SECONDS = 14 * DAY
"""The longest lag of a replay: such an event has a position in the log and no time."""
MOST_COPIES = 16
"""Copies of one database in Exchange; when more share a name, they are no copies of each other."""


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
            before = bisect_right(starts, failure.time)
            since = starts[before - 2] if before > 1 else -inf
            times = [(each, *named_times(each)) for each in members[key]]
            named = [(each, first) for each, first, last in times if last >= since]
            named = [each for each in named if each[1] <= failure.time] or named
            if len(named) == 1:
                found.databases[key[0], named[0][0].database].append(failure)
            else:
                found.instances[key].append(failure)
    return found


def logical(failures: Iterable[Failure]) -> dict[DamageKind, Damage]:
    found: dict[DamageKind, Damage] = {}
    for each in failures:
        if each.kind == "logical":
            add(found, each.kind, each.event_id, each.time)
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


def gaps_of(database: Database, channels: Iterable[Channel]) -> list[tuple[float, float, int]]:
    """(from, to, records) that are missing in the log that its instance writes to. `channels` are
    those of its computer; where its log is not known, all count."""
    return [
        gap
        for channel in channels
        if database.channel in ("", channel.channel)
        for gap in channel.gaps
    ]


class _Copy(NamedTuple):
    entry: Database
    transitions: Sequence[Transition] = ()
    configured: str = ""
    """Its role, where its scans show none."""

    def was_active(self, since: float, until: float) -> bool:
        """True if it was the active copy all the time, as far as its scans show."""
        if not self.transitions:
            return self.configured == "active"
        role = role_at(self.transitions, since) or self.entry.evicted_role
        return role == "active" and not any(
            since < time <= until for time in role_changes(self.entry, self.transitions)
        )


def _copy(entry: Database, settings: Settings) -> _Copy:
    rule = rule_for(settings, entry.computer, entry.database)
    role = (rule.role if rule is not None else None) or ""
    return _Copy(entry, list(unpack(entry.transitions, ACTIVE_FAMILY | PASSIVE_FAMILY)), role)


def surroundings(
    state: State, settings: Settings, copies: Copies | None = None
) -> Callable[[Database], OutsideFacts]:
    """The facts about each database of `state` from other records, computed once for all of them.
    `copies` are those of the state, where they are at hand."""
    return _Surroundings(state, settings, copies or Copies.within(state, settings)).told


class _Surroundings:
    def __init__(self, state: State, settings: Settings, copies: Copies) -> None:
        self.state = state
        self.settings = settings
        self.channels: dict[str, list[Channel]] = defaultdict(list)
        for channel in state.channels.values():
            self.channels[channel.computer].append(channel)
        self.groups = _groups(state, settings, copies)
        self.damage = _of_active(state, settings, self.groups)
        self.owned = {
            instance_key(entry)
            for (computer, label), entry in state.databases.items()
            if not is_snapshot(label) and not is_ignored(computer, label, settings)
        }
        self.homeless: dict[str, list[Mapping[int, EngineError]]] = defaultdict(list)
        self.errors: dict[str, list[Instance]] = defaultdict(list)
        for (computer, name), each in state.instances.items():
            if each.unexplained and (computer, name) not in self.owned:
                self.homeless[computer].append(each.unexplained)
            if OF_COMPUTER in each.errors:
                self.errors[computer].append(each)
        self.acknowledged = acknowledgements(state.databases.values())
        self.notices = notices(state, settings)
        self.failures, self.of_any = instance_failures(state)
        shadows, self.former = origins(state, settings), moved(state)
        self.in_shadows = _in_shadows(state, shadows)
        self.gone: dict[DatabaseKey, float] = {}
        for at, left in chain.from_iterable(self.former.values()):
            own = (left.computer, left.database)
            # What came back has again what it had.
            if all(back < at for back, _ in self.former.get(own, ())):
                self.gone[own] = at
        self.gone.update(dict.fromkeys(shadows, inf))

    def told(self, database: Database, until: float = inf) -> OutsideFacts:
        """`until`: when it left its path; what it was before counts."""
        key = (database.computer, database.database)
        instance = _instance_of(database, self.state)
        own = self.failures.get(key, ())
        former = [each for each in self.former.get(key, ()) if each[0] < until]
        inherited = _inherited(self.state, former, self.told)
        around = self._around(database, instance, own)
        around = around._replace(inherited=inherited.pages, proven=inherited.verified)
        of_instance = instance.damage if instance is not None else {}
        others = (of_instance, logical(own), self.in_shadows.get(key, {}), inherited.damage)
        computer = self.errors.get(database.computer, ())
        still = open_of(instance, computer, self.acknowledged(instance_key(database)))
        return OutsideFacts(
            around,
            reduce(together, others, self.damage.get(key, {})),
            _errors(database, self.state, self.owned, self.homeless.get(database.computer, ())),
            [
                each
                for each in self.notices.get(key, ())
                if each.last
                > max(around.restored, up_to(database, notice(each.state, each.event_id)))
            ],
            {kind: number for kind, number in still.items() if kind in REPORTED},
            self.of_any.get(instance_key(database), ()),
        )

    def _around(
        self, database: Database, instance: Instance | None, own: Sequence[Failure]
    ) -> ScanCircumstances:
        key = (database.computer, database.database)
        gaps = gaps_of(database, self.channels.get(database.computer, ()))
        found = self.damage.get(key, {})
        return ScanCircumstances(
            [(begin, end) for begin, end, _ in gaps if end - begin > DAY],
            sorted(time for each in found.values() for time in each.times),
            _active_elsewhere(key, self.groups.get(key, ())),
            tuple(instance.failed_reads) if instance is not None else (),
            [each for each in own if each.kind != "logical"],
            restores(self.state, database),
            self.gone.get(key, 0.0),
        )


class _Inherited(NamedTuple):
    """Facts of a database from when it was at other paths."""

    pages: Sequence[BadPage] = ()
    damage: Mapping[DamageKind, Damage] = {}
    verified: Mapping[str, float] = {}


def _inherited(
    state: State,
    former: Sequence[tuple[float, Database]],
    told: Callable[[Database, float], OutsideFacts],
) -> _Inherited:
    pages: list[BadPage] = []
    damage: Mapping[DamageKind, Damage] = {}
    verified: dict[str, float] = {}
    for until, old in former:
        each = _as_of(old, until)
        beside = told(each, until)
        failures = [failure for failure in beside.around.failures if failure.time <= until]
        own = beside.around._replace(gone=0.0, failures=failures)
        views = views_in(state, each)
        bad_pages = [known_bad_pages(each, views, own), restored_bad_pages(each, views, own)]
        pages += [bad for bad in chain.from_iterable(bad_pages) if bad.last <= until]
        known = known_damage(each, beside.damage, own.restored)
        damage = together(damage, _damage_until(known, until))
        streamed = [backup for backup in _streamed(state, old) if backup[1] <= until]
        for by, time in verifications(each, views, own, streamed).items():
            if time <= until:
                verified[by] = max(time, verified.get(by, 0.0))
    return _Inherited(pages, damage, verified)


def _as_of(old: Database, until: float) -> Database:
    """The database when it left: what is logged or read at its old path later is of another file
    there."""
    things = old.acknowledged_things
    return msgspec.structs.replace(
        old,
        transitions=pack(each for each in unpack(old.transitions) if each.time <= until),
        bad_pages=[
            msgspec.structs.replace(
                bad, last=max(time for time in (bad.first, *bad.times, bad.last) if time <= until)
            )
            for bad in old.bad_pages
            if bad.first <= until
        ],
        failures=[each for each in old.failures if each.time <= until],
        checksums_good=[pages for pages in old.checksums_good if pages[2] <= until],
        good_ranges=[pages for pages in old.good_ranges if pages[2] <= until],
        verified={by: time for by, time in old.verified.items() if time <= until},
        acknowledged_things={thing: time for thing, time in things.items() if time <= until},
        created=old.created if old.created <= until else 0.0,
    )


def _damage_until(known: Mapping[DamageKind, Damage], until: float) -> dict[DamageKind, Damage]:
    found = {}
    for kind, each in known.items():
        if times := [time for time in each.times if time <= until]:
            found[kind] = Damage(len(times), times, each.events)
    return found


def _streamed(state: State, entry: Database) -> list[Stretch]:
    of_computer = (each for each in state.instances.values() if each.computer == entry.computer)
    verified = (verified_by_streaming(completed(each.backup_events), each) for each in of_computer)
    return [backup for each in verified for backup in each.get(entry.database, ())]


def _in_shadows(
    state: State, origin_of: Mapping[DatabaseKey, Database]
) -> dict[DatabaseKey, Mapping[DamageKind, Damage]]:
    """By database, as damage that is suspected, the bad pages and the damage in snapshots that can
    only be of it."""
    found: dict[DatabaseKey, Mapping[DamageKind, Damage]] = {}
    for key, origin in origin_of.items():
        shadow = state.databases[key]
        times = {time for bad in shadow.bad_pages for time in (bad.first, *bad.times, bad.last)}
        times.update(time for each in shadow.damage.values() for time in each.times)
        if times:
            ids = sorted({event for each in shadow.damage.values() for event in each.events})
            ids = ids or [BAD_CHECKSUM]
            new: Mapping[DamageKind, Damage] = {"suspect": Damage(len(times), sorted(times), ids)}
            own = (origin.computer, origin.database)
            found[own] = together(found.get(own, {}), new)
    return found


def _instance_of(database: Database, state: State) -> Instance | None:
    """The instance of a database; None for a snapshot: its instance logs about the origin."""
    return None if is_snapshot(database.database) else state.instances.get(instance_key(database))


def _of_active(
    state: State, settings: Settings, groups: Mapping[DatabaseKey, Sequence[_Copy]]
) -> dict[DatabaseKey, dict[DamageKind, Damage]]:
    """By copy, the damage that was logged of the active one. Where none was active for as long as a
    replay may lag, each other one is suspected, or the reporter itself where it is alone. What a
    copy reported of both is in its own damage already."""
    found: dict[DatabaseKey, dict[DamageKind, Damage]] = {}
    for key, reporter in state.databases.items():
        if not reporter.damage_of_active:
            continue
        others = [copy for copy in groups.get(key, ()) if copy.entry.computer != key[0]]
        group = [_copy(reporter, settings), *others]
        for kind, damage in reporter.damage_of_active.items():
            for time in damage.times:
                active = [copy for copy in group if copy.was_active(time - LAG_SECONDS, time)]
                certain = len(active) == 1
                for copy in active if certain else others or group:
                    if kind in OF_BOTH and copy.entry is reporter:
                        continue
                    kinds = found.setdefault((copy.entry.computer, copy.entry.database), {})
                    latched = kind if certain else "suspect"
                    new: Mapping[DamageKind, Damage] = {latched: Damage(1, [time], damage.events)}
                    kinds.update(together(kinds, new))
    return found


def _active_elsewhere(key: DatabaseKey, group: Sequence[_Copy]) -> list[float]:
    """Times at which scans showed that another copy of `key` was the active one, sorted."""
    if len(group) > MOST_COPIES:
        return []
    return sorted(
        each.time
        for copy in group
        if copy.entry.computer != key[0]
        for each in copy.transitions
        if family(each.event_id) == "active"
    )


def _groups(state: State, settings: Settings, copies: Copies) -> dict[DatabaseKey, list[_Copy]]:
    """By database, all of its name, itself included. Another one of its computer is no copy, but a
    path that it had before or has now."""
    sizes = Counter(copies.keys.values())
    groups: dict[str, list[_Copy]] = defaultdict(list)
    for key, entry in state.databases.items():
        name = copies.keys[key]
        if name is not None and sizes[name] > 1:
            groups[name].append(_copy(entry, settings))
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
        event_id: error
        for event_id, error in found.items()
        if error.last > up_to(database, unexplained(event_id))
    }


def _may_be_of(
    error: EngineError, database: Database, state: State, owned: Collection[DatabaseKey]
) -> bool:
    """True if an error of an instance or a computer is the database's. What the error named and
    nothing was known of yet may have become known since."""
    if (database.computer, error.database) in state.databases:
        return error.database == database.database
    logged_by = (database.computer, error.ese_instance)
    return logged_by not in owned or logged_by == instance_key(database)


def verifications(
    entry: Database,
    views: Mapping[str, TaskView],
    around: ScanCircumstances,
    streamed: Sequence[Stretch],
) -> dict[str, float]:
    """By verifier, the last time when every page was proven good. `streamed` are the streaming
    backups that read every page."""
    verified = last_verifications(entry, views, around)
    if (last := last_streamed(entry, streamed, around)) is not None:
        verified["streaming_backup"] = max(last, verified.get("streaming_backup", 0.0))
    return verified
