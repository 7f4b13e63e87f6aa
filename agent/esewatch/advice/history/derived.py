"""Facts that several views show of a database, derived once for a snapshot of the state.

They follow from the records alone, not from the time at which they are shown. To derive them is
most of the cost of a view, and from one snapshot to the next few databases have news: the facts of
the others are taken from the snapshot before. Backups are derived from what instances keep: their
backup events, and the sets in the logs of NTBACKUP.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from esefiles.base import crash
from esewatch import packing
from esewatch.advice.history.copies import Copies, Member, member_of
from esewatch.advice.history.surroundings import surroundings, verifications
from esewatch.config import Settings
from esewatch.fold.databases.integrity import (
    OutsideFacts,
    ScanCircumstances,
    known_bad_pages,
    restored_bad_pages,
    unreadable_scan,
)
from esewatch.fold.identity.identity import Tier, is_ignored, is_snapshot, tier
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
from esewatch.fold.passes.passes import TaskSummary, TaskView, derive
from esewatch.fold.passes.stops import life_of
from esewatch.fold.passes.transitions import event_ids
from esewatch.fold.state.checkdb_results import has_errors
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import BackupTotals, BadPage, Database, Instance, Lived, State

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


NOTIFIED_SECONDS = 12 * 3600.0
"""A scan that runs this long has logged 744 at least once: the engine does so every 6 hours."""

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


_RESUMED = frozenset({719, 738, 744})
"""Events that the engine logs from the level medium (50) of JET_paramEventLoggingLevel on."""


class _Basis(NamedTuple):
    """The records that facts were derived from; what is equal has equal facts."""

    row: int | None
    """A hash of all that the state has of the database; None where no row can be made of it."""
    life: Sequence[Lived]
    around: ScanCircumstances
    streamed: Sequence[Stretch]
    """The streaming backups that read every page of it."""


class Derived(NamedTuple):
    tier: Tier
    member: Member
    told: OutsideFacts
    views: Mapping[str, TaskSummary]
    bad_pages: Sequence[BadPage]
    restored_pages: Sequence[BadPage]
    """Those of before its last restore, which nothing has verified since."""
    verified: Mapping[str, float]
    """By verifier, the time when every page was last proven good."""
    unreadable_scan: float | None
    """The end of the last scan whose numbers cannot be read, and which else would have verified."""
    unlogged: str
    """Events that its scans must have logged, and that the log does not have; empty if none."""
    basis: _Basis
    backed_up: BackedUp = NO_BACKUP


class Judge(NamedTuple):
    """Takes what is derived of the databases that are due, or of which others report damage since,
    and the passes, which nothing keeps."""

    due: Collection[DatabaseKey]
    take: Callable[[DatabaseKey, Derived, Mapping[str, TaskView]], None]


class AllDerived(NamedTuple):
    settings: Settings
    copies: Copies
    databases: Mapping[DatabaseKey, Derived]
    backups: Mapping[tuple[str, str], Backups]

    def is_damaged(self, state: State) -> bool:
        """True if a page is known bad, a copy damaged, or CHECKDB left errors. Of that state."""
        return any(
            facts.bad_pages
            or known_damage(state.databases[key], facts.told.damage, facts.told.around.mended)
            for key, facts in self.databases.items()
        ) or any(map(has_errors, state.sql_databases.values()))


def derived(
    state: State,
    settings: Settings,
    before: AllDerived | None = None,
    *,
    only: Collection[DatabaseKey] | None = None,
    left_out: LeftOut | None = None,
    judge: Judge | None = None,
) -> AllDerived:
    """The facts of the databases, or of those of these keys. `before` is the result for an earlier
    state; it saves work and changes nothing. `judge`: passes are derived once for all of them."""
    wanted = state.databases if only is None else {key: state.databases[key] for key in only}
    known = before.databases if before is not None and before.settings is settings else {}
    rows = {key: row_of(entry) for key, entry in (state.databases if known else wanted).items()}
    same = {
        key: known[key]
        for key, row in rows.items()
        if key in known and known[key].basis.row == row is not None
    }
    members: dict[DatabaseKey, Member] = {}
    for key, entry in state.databases.items():
        with leaving_out(key, left_out):
            members[key] = same[key].member if key in same else member_of(entry, settings)
    if left_out:
        state = without(state, left_out)
        wanted = state.databases
    copies = Copies.of(members)
    told = surroundings(state, settings, copies)
    backups = backups_of_instances(state, before.backups if before is not None else {})
    backed_up = backups_by_database(state, settings, backups)
    streamed = _streamed(backups)
    found = {}
    for key, entry in wanted.items():
        with leaving_out(key, left_out):
            beside = told(entry)
            # Of an ignored file only its damage counts.
            whole = () if is_ignored(*key, settings) else streamed.get(key, ())
            basis = _Basis(rows[key], life_of(state, entry), beside.around, whole)
            views = None
            if key in same and same[key].basis == basis:
                found[key] = same[key]._replace(told=beside)
            else:
                views = derive(entry, basis.life)
                shadow = beside.around.gone and is_snapshot(entry.database)
                own = "ignored" if shadow else tier(entry, settings)
                found[key] = _facts(entry, own, copies.members[key], beside, basis, views=views)
            found[key] = found[key]._replace(backed_up=backed_up[key])
            if judge and (key in judge.due or _is_news(known.get(key), beside)):
                judge.take(key, found[key], views or derive(entry, basis.life))
    return AllDerived(settings, copies, found, backups)


def _is_news(before: Derived | None, beside: OutsideFacts) -> bool:
    """True if other copies report damage of it since: nothing of that is in its own events."""
    return before is not None and before.told.damage != beside.damage


def _facts(
    entry: Database,
    own: Tier,
    member: Member,
    told: OutsideFacts,
    basis: _Basis,
    *,
    views: Mapping[str, TaskView],
) -> Derived:
    return Derived(
        tier=own,
        member=member,
        told=told,
        views={task: view.summary() for task, view in views.items()},
        bad_pages=known_bad_pages(entry, views, told.around),
        restored_pages=restored_bad_pages(entry, views, told.around),
        verified=verifications(entry, views, told.around, basis.streamed),
        unreadable_scan=unreadable_scan(entry, views, told.around),
        unlogged=_unlogged(entry, views),
        basis=basis,
    )


def _streamed(backups: Mapping[tuple[str, str], Backups]) -> dict[DatabaseKey, Sequence[Stretch]]:
    found: dict[DatabaseKey, Sequence[Stretch]] = {}
    for (computer, _), each in backups.items():
        for database, stretches in each.verified.items():
            key = (computer, database)
            found[key] = (*found.get(key, ()), *stretches)
    return found


def _unlogged(entry: Database, views: Mapping[str, TaskView]) -> str:
    """Passes must have been resumed or progress reported, and no event says so."""
    whole = [
        one
        for one in views["checksum"].passes
        if one.outcome == "completed"
        and one.started is not None
        and one.started > entry.evicted_until
    ]
    several = any(one.completion_event == 721 and (one.invocations or 1) > 1 for one in whole)
    long = any(
        one.completion_event in (735, 737) and (one.wall_seconds or 0.0) > NOTIFIED_SECONDS
        for one in whole
    )
    if not (several or long) or event_ids(entry.transitions) & _RESUMED:
        return ""
    return "738 or 744" if long else "719"
