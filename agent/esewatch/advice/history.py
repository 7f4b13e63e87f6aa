"""What the judgements know of a database: plain values, gathered once from the state."""

from collections.abc import Mapping, Sequence

import msgspec

from esewatch.advice.ledger import Copy, Gap
from esewatch.advice.maintenance_model import Model, maintenance_model
from esewatch.config import Policy, Settings, Window, rule_for
from esewatch.fold import rollups
from esewatch.fold.backups import Backup, completed, verified_by_streaming
from esewatch.fold.databases import ACTIVE_FAMILY, PASSIVE_FAMILY
from esewatch.fold.identity import Tier, database_name, tier
from esewatch.fold.integrity import known_bad_pages, last_verifications
from esewatch.fold.passes import TaskView, views_in
from esewatch.fold.rollups import Day, Size
from esewatch.fold.runs import DEFRAG, SCANS, Run, runs
from esewatch.fold.state import BadPage, Database, Instance, Pass, State, Transition
from esewatch.fold.transitions import unpack

READ = "ese_defrag_pages_read_total"
FREED = "ese_defrag_pages_freed_total"
_READ_COUNTER = "|online defrag pages read/sec|"


class History(msgspec.Struct, frozen=True, kw_only=True):
    """One database and the instance it is in. Times are epoch seconds; None is unknown."""

    computer: str
    database: str
    name: str = ""
    ese_instance: str = ""
    model: Model
    tier: Tier = "watched"
    role: str = ""
    """active, passive, or empty when unknown."""
    window: Window | None = None
    """The configured one."""
    pages: float | None = None
    page_size: int | None = None
    size_bytes: float | None = None
    sizes: Sequence[Size] = ()
    days: Sequence[Day] = ()
    """Of its instance, oldest first; a day in which nothing grew has none."""
    shares_instance: int = 1
    """Databases of the instance: with more than one, the counters are of them together."""
    sampled_since: float | None = None
    """First sample of both counters of the ratio. None: one of them was never seen."""
    sampled_until: float | None = None
    unsampled: Sequence[tuple[float, float]] = ()
    """(from, to) between these two, in which no sample was taken."""
    defrag_passes: Sequence[Pass] = ()
    """Ended ones, oldest first, the open one last."""
    checksum_passes: Sequence[Pass] = ()
    """The same; a zeroing pass of Exchange 2007 is one of them."""
    defrag_runs: Sequence[Run] = ()
    scan_runs: Sequence[Run] = ()
    backups: Sequence[Backup] = ()
    """Completed ones of its instance, oldest first."""
    bad_pages: Sequence[BadPage] = ()
    """Those that stand."""
    logical_errors: int = 0
    verified: Mapping[str, float] = {}
    """By verifier, the end of the last verification of every page."""
    event_gaps: Sequence[Gap] = ()
    """Of the complete channels of its computer."""
    first_seen: float = 0.0
    last_seen: float = 0.0
    engine_changes: Sequence[float] = ()
    role_changes: Sequence[float] = ()


def as_copy(history: History, policy: Policy) -> Copy:
    """The part of it that the integrity ledger judges."""
    return Copy(
        computer=history.computer,
        database=history.database,
        name=history.name or history.database,
        tier=history.tier,
        model=history.model,
        role=history.role,
        first_seen=history.first_seen,
        verified=history.verified,
        bad_pages=history.bad_pages,
        scans=[done for done in history.checksum_passes if done.ended is not None],
        size_bytes=history.size_bytes,
        page_size=history.page_size,
        window=history.window,
        event_gaps=history.event_gaps,
        configured_deadline=policy.verify_within,
    )


def history(state: State, settings: Settings, computer: str, database: str) -> History:
    """Gather it from the state. Raises KeyError for a database that is not known."""
    entry = state.databases[(computer, database)]
    instance = state.instances.get((computer, entry.ese_instance.lower()))
    rule = rule_for(settings, computer, database)
    views = views_in(state, entry)
    transitions = list(unpack(entry.transitions))
    stops = instance.stops if instance else ()
    since, until = _sampled(instance)
    return History(
        computer=computer,
        database=database,
        name=database_name(entry, settings),
        ese_instance=entry.ese_instance,
        model=maintenance_model(entry, settings),
        tier=tier(entry, settings),
        role=entry.role,
        window=settings.windows.get(rule.window) if rule and rule.window else None,
        pages=_pages(entry, views),
        page_size=entry.page_size,
        size_bytes=entry.size_bytes,
        sizes=rollups.sizes(entry.sizes),
        days=rollups.days(instance.days) if instance else (),
        shares_instance=_sharing(state, entry),
        sampled_since=since,
        sampled_until=until,
        unsampled=instance.gaps if instance else (),
        defrag_passes=_passes(views["defrag"]),
        checksum_passes=_passes(views["checksum"]),
        defrag_runs=runs(transitions, DEFRAG, stops),
        scan_runs=runs(transitions, SCANS, stops),
        backups=completed(instance.backup_events) if instance else (),
        bad_pages=known_bad_pages(entry, views),
        logical_errors=_logical_errors(entry),
        verified=_verified(entry, instance, views),
        event_gaps=[
            gap
            for channel in state.channels.values()
            if channel.computer == computer
            for gap in channel.gaps
        ],
        first_seen=entry.first_seen,
        last_seen=entry.last_seen,
        role_changes=_role_changes(transitions, entry),
    )


def _passes(view: TaskView) -> list[Pass]:
    return [*view.passes, view.current] if view.current else view.passes


def _pages(entry: Database, views: Mapping[str, TaskView]) -> float | None:
    """Its size in pages, else what its last whole scan saw."""
    if entry.size_bytes is not None and entry.page_size:
        return entry.size_bytes / entry.page_size
    last = views["checksum"].last_completed
    return float(last.pages_seen) if last and last.pages_seen else None


def _logical_errors(entry: Database) -> int:
    """Reports of them, none once the last one is acknowledged."""
    last = entry.page_error_last.get("logical", 0.0)
    return entry.page_errors.get("logical", 0) if last > entry.all_good else 0


def _sampled(instance: Instance | None) -> tuple[float | None, float | None]:
    """From when until when both counters of the ratio are known.

    Where only one is exposed the other must not be taken for zero.
    """
    if instance is None or not {READ, FREED} <= instance.totals.keys():
        return None, None
    last = [column.last_time for key, column in instance.counters.items() if _READ_COUNTER in key]
    return instance.sampled_since, max(last, default=None)


def _sharing(state: State, entry: Database) -> int:
    name = entry.ese_instance.lower()
    if not name:
        return 1
    return sum(
        each.computer == entry.computer and each.ese_instance.lower() == name
        for each in state.databases.values()
    )


def _verified(
    entry: Database, instance: Instance | None, views: Mapping[str, TaskView]
) -> dict[str, float]:
    verified = last_verifications(entry, views)
    streamed = verified_by_streaming(instance).get(entry.database) if instance else None
    if streamed is not None:
        verified["streaming_backup"] = max(streamed, verified.get("streaming_backup", 0.0))
    return verified


def _role_changes(transitions: Sequence[Transition], entry: Database) -> list[float]:
    """When its events went over to the other family; only current engines have two."""
    if entry.generation != "current":
        return []
    changes: list[float] = []
    role = ""
    for each in transitions:
        if each.event_id in ACTIVE_FAMILY | PASSIVE_FAMILY:
            new = "active" if each.event_id in ACTIVE_FAMILY else "passive"
            if role and new != role:
                changes.append(each.time)
            role = new
    return changes
