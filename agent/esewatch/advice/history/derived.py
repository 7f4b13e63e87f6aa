"""Facts that several views show of a database, derived once for a snapshot of the state.

They follow from the records alone, not from the time at which they are shown. To derive them is
most of the cost of a view, and from one snapshot to the next few databases have news: the facts of
the others are taken from the snapshot before.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from esewatch import names
from esewatch.advice.history.copies import Copies, Member, member_of
from esewatch.advice.history.pass_views import verifications
from esewatch.advice.history.surroundings import surroundings
from esewatch.config import Settings
from esewatch.fold.databases.integrity import OutsideFacts, ScanCircumstances, known_bad_pages
from esewatch.fold.identity.identity import Tier, tier
from esewatch.fold.identity.stays import stops_of
from esewatch.fold.instances.backups import completed, totals, verified_by_streaming
from esewatch.fold.passes.passes import TaskSummary, TaskView, derive
from esewatch.fold.passes.transitions import event_ids
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import BackupTotals, BadPage, Database, State

NOTIFIED_SECONDS = 12 * 3600.0
"""A scan that runs this long has logged 744 at least once: the engine does so every 6 hours."""

_RESUMED = frozenset({719, 738, 744})
"""Events that the engine logs from the level medium (50) of JET_paramEventLoggingLevel on."""


class _Basis(NamedTuple):
    """The records that facts were derived from; what is equal has equal facts."""

    row: int | None
    """A hash of all that the state has of the database; None where no row can be made of it."""
    stops: Sequence[float]
    around: ScanCircumstances
    streamed: float | None
    """The end of its last streaming backup that verified it."""


class Derived(NamedTuple):
    """Values that follow from the records of one database and of those around it."""

    tier: Tier
    member: Member
    told: OutsideFacts
    views: Mapping[str, TaskSummary]
    bad_pages: Sequence[BadPage]
    """The unresolved ones."""
    verified: Mapping[str, float]
    """By verifier, the time when every page was last proven good."""
    unlogged: str
    """Events that its scans must have logged, and that the log does not have; empty if none."""
    basis: _Basis


class Backups(NamedTuple):
    """Values that follow from the events of the backups of one instance."""

    totals: Mapping[str, Mapping[str, BackupTotals]]
    """By database, then by kind."""
    verified: Mapping[str, float]
    """By database, the end of the last streaming backup that read every page of it."""
    row: int | None
    """A hash of what they were derived from."""


class AllDerived(NamedTuple):
    """The facts of all databases of a state, under these settings."""

    settings: Settings
    copies: Copies
    databases: Mapping[DatabaseKey, Derived]
    backups: Mapping[tuple[str, str], Backups]
    """By instance."""

    def told(self, database: Database) -> OutsideFacts:
        """The facts about it from other records."""
        return self.databases[database.computer, database.database].told


def derived(
    state: State,
    settings: Settings,
    before: AllDerived | None = None,
    only: DatabaseKey | None = None,
) -> AllDerived:
    """The facts of the databases, or of the one of that key.

    `before` is the result for an earlier state; it saves work and changes nothing.
    """
    wanted = state.databases if only is None else {only: state.databases[only]}
    rows = {key: _row(entry) for key, entry in wanted.items()}
    known = before.databases if before is not None and before.settings is settings else {}
    same = {
        key: known[key]
        for key, row in rows.items()
        if key in known and known[key].basis.row == row is not None
    }
    copies = Copies.of(
        {
            key: same[key].member if key in same else member_of(entry, settings)
            for key, entry in state.databases.items()
        }
    )
    told = surroundings(state, settings, copies)
    backups = _backups(state, before.backups if before is not None else {})
    streamed = _streamed(backups)
    found = {}
    for key, entry in wanted.items():
        beside = told(entry)
        stops = tuple(stops_of(state, entry))
        basis = _Basis(rows[key], stops, beside.around, streamed.get(key))
        if key in same and same[key].basis == basis:
            found[key] = same[key]._replace(told=beside)
        else:
            found[key] = _derived(entry, tier(entry, settings), copies.members[key], beside, basis)
    return AllDerived(settings, copies, found, backups)


def _backups(
    state: State, before: Mapping[tuple[str, str], Backups]
) -> dict[tuple[str, str], Backups]:
    found = {}
    for key, instance in state.instances.items():
        if instance.backup_events or instance.backup_totals:
            row = _row((instance.backup_events, instance.backup_totals))
            known = before.get(key)
            if known is None or row is None or known.row != row:
                done = completed(instance.backup_events)
                known = Backups(totals(instance, done), verified_by_streaming(done), row)
            found[key] = known
    return found


def _streamed(backups: Mapping[tuple[str, str], Backups]) -> dict[DatabaseKey, float]:
    found: dict[DatabaseKey, float] = {}
    for (computer, _), each in backups.items():
        for database, time in each.verified.items():
            key = (computer, database)
            found[key] = max(time, found.get(key, 0.0))
    return found


def _row(kept: object) -> int | None:
    try:
        return hash(names.pack(kept))
    except (ValueError, TypeError, OverflowError):
        return None


def _derived(
    entry: Database, found_tier: Tier, member: Member, told: OutsideFacts, basis: _Basis
) -> Derived:
    views = derive(entry, basis.stops)
    return Derived(
        tier=found_tier,
        member=member,
        told=told,
        views={task: view.summary() for task, view in views.items()},
        bad_pages=known_bad_pages(entry, views, basis.around),
        verified=verifications(entry, views, basis.around, basis.streamed),
        unlogged=_unlogged(entry, views),
        basis=basis,
    )


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
