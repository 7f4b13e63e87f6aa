"""The history of a database for the judgements: plain values, gathered once from the state."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from esewatch.advice.base.maintenance_model import Model
from esewatch.advice.base.time_at_work import Stretch, not_at_work
from esewatch.advice.history.attached import attached
from esewatch.advice.history.copies import member_of
from esewatch.advice.history.ledger import Copy, Gap
from esewatch.advice.history.liveness import Liveness, liveness, scan_told
from esewatch.advice.history.pass_views import (
    failed_tasks,
    pages_of,
    passes_of,
    scans_of,
    verifications,
)
from esewatch.advice.history.rest_of_scan import Mark, begun, engine_threshold, marks
from esewatch.advice.history.surroundings import gaps_of, surroundings
from esewatch.config import Policy, Settings, Window, window_for
from esewatch.fold.databases.integrity import OutsideFacts, io_errors, known_bad_pages
from esewatch.fold.identity.identity import Tier, tier
from esewatch.fold.identity.owners import instance_key, instance_label, process_key
from esewatch.fold.identity.roles import role_changes
from esewatch.fold.identity.stays import stays, stops_of
from esewatch.fold.instances.backups import (
    Backup,
    completed,
    spans,
    streamed,
    verified_by_streaming,
)
from esewatch.fold.instances.instances import engine_changes
from esewatch.fold.passes.passes import FAILS, TaskView, replay
from esewatch.fold.passes.runs import DEFRAG, SCANS, Run, runs, torn_runs
from esewatch.fold.passes.transitions import unpack
from esewatch.fold.passes.untimed_passes import untimed_passes
from esewatch.fold.state import rollups
from esewatch.fold.state.backup_jobs import BackupSet
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.rollups import Day, Size
from esewatch.fold.state.state import (
    BadPage,
    Channel,
    CopyVerdict,
    Damage,
    DamageKind,
    Database,
    EngineError,
    EngineErrorKind,
    Instance,
    Notice,
    Pass,
    State,
    Transition,
)

MOST_PAGE_SIZE = 32768
_RATIO_COUNTERS = ("|online defrag pages read/sec|", "|online defrag pages freed/sec|")


class History(msgspec.Struct, frozen=True, kw_only=True):
    """One database and the instance it is in. Times are epoch seconds; None is unknown."""

    computer: str
    database: str
    name: str = ""
    named: bool = False
    """The name is configured."""
    replicated: bool = False
    """As a copy: the store of Exchange owns it, and nothing else shows a model yet."""
    copies: Sequence[tuple[str, str]] = ()
    """Configured ones: (computer, database)."""
    ese_instance: str = ""
    process: str = ""
    model: Model
    tier: Tier = "watched"
    role: str = ""
    """active, passive, or empty when unknown."""
    replaying: bool = False
    """The last state letter of its instance is not that of normal run time."""
    window: Window | None = None
    """The configured one."""
    pages: float | None = None
    page_size: int | None = None
    size_bytes: float | None = None
    sizes: Sequence[Size] = ()
    days: Sequence[Day] = ()
    """Of its instance, oldest first; a day in which nothing grew has none."""
    shares_instance: int = 1
    """Attached databases of the instance: with more than one, the counters are of them together."""
    attached: bool = True
    """False where it was moved to another path (attached.py)."""
    sampled_since: float | None = None
    """First sample of both counters of the ratio. None: one of them was never seen."""
    sampled_until: float | None = None
    unsampled: Sequence[tuple[float, float]] = ()
    """(from, to) between these two, in which no sample was taken."""
    defrag_passes: Sequence[Pass] = ()
    """Ended ones, oldest first, the open one last."""
    checksum_passes: Sequence[Pass] = ()
    """The same; a zeroing pass of Exchange 2007 is one of them."""
    marks: Sequence[Mark] = ()
    """The progress marks of its running scan, sorted."""
    liveness: Liveness = Liveness()
    """Liveness of its running scan, and of its computer."""
    scan_told: float | None = None
    """Last time at which an event reported any scan."""
    engine_threshold: float | None = None
    """Seconds in which its engine wants a scan to complete, as the last 735 reported."""
    failures: Sequence[float] = ()
    """Times at which a pass ended with an error (705, 723, 724, 734), sorted."""
    failed: Sequence[str] = ()
    """Tasks that ended with an error and have not completed since."""
    defrag_runs: Sequence[Run] = ()
    defrag_torn: int = 0
    """Its last runs of defragmentation that were resumed or interrupted, one after another."""
    scan_runs: Sequence[Run] = ()
    backups: Sequence[Backup] = ()
    """Completed ones of its instance, oldest first."""
    backup_spans: Sequence[Stretch] = ()
    """Times of any of its instance, or of the process where an event names no instance; sorted."""
    streamed: Sequence[BackupSet] = ()
    """The last 8 full streaming backups of its instance."""
    bad_pages: Sequence[BadPage] = ()
    """Unresolved bad pages."""
    damage: Mapping[DamageKind, Damage] = {}
    """Unresolved damage, by kind."""
    unexplained: Mapping[int, EngineError] = {}
    """By event id: errors of its engine that nothing in esewatch uses, without
    acknowledged ones.
    """
    copy_verdict: CopyVerdict | None = None
    """True if the newest copy that was judged would mount."""
    reported: Mapping[EngineErrorKind, tuple[int, float]] = {}
    """By kind: the number of open failures that its engine reported, and the time of the last."""
    notices: Sequence[Notice] = ()
    """Unacknowledged notices of other programs about it, the latest last."""
    io_errors: Sequence[float] = ()
    """Times at which a read, write or flush failed, without acknowledged ones; sorted."""
    verified: Mapping[str, float] = {}
    """By verifier, the end of the last verification of every page."""
    event_gaps: Sequence[Gap] = ()
    """Of the complete channels of its computer."""
    unread_since: float | None = None
    """The last event of its computer, where a source of it is behind: later ones are not read. Of
    one database alone (`history`)."""
    off: Sequence[Stretch] = ()
    """Times when its instance was not at work, or is not known to have been (time_at_work.py)."""
    started: float | None = None
    """Last start of its instance (102)."""
    untimed: Collection[int] = ()
    """Ids of its events without a time."""
    untimed_passes: Sequence[Pass] = ()
    """That ended at an unknown time, the last read first."""
    first_seen: float = 0.0
    last_seen: float = 0.0
    engine_changes: Sequence[float] = ()
    """Times at which its instance was first heard of with another version of the engine, sorted."""
    role_changes: Sequence[float] = ()


def as_copy(history: History, policy: Policy) -> Copy:
    """The part of it that the integrity ledger judges.

    Without a size in bytes it is that of the pages that its last whole scan saw, the largest ones
    if their size is not known.
    """
    size_bytes = history.size_bytes
    if size_bytes is None and history.pages is not None:
        size_bytes = history.pages * (history.page_size or MOST_PAGE_SIZE)
    return Copy(
        computer=history.computer,
        database=history.database,
        name=history.name or history.database,
        named=history.named,
        replicated=history.replicated,
        copies=history.copies,
        tier=history.tier,
        model=history.model,
        role=history.role,
        first_seen=history.first_seen,
        verified=history.verified,
        bad_pages=history.bad_pages,
        scans=[done for done in history.checksum_passes if done.ended is not None],
        under_way=max((_heard_for(each) for each in history.checksum_passes), default=0.0),
        size_bytes=size_bytes,
        window=history.window,
        event_gaps=history.event_gaps,
        off=history.off,
        configured_deadline=policy.verify_within,
        most_deadline=policy.verify_within_most,
        engine_threshold=history.engine_threshold,
    )


def _heard_for(scan: Pass) -> float:
    known = scan.outcome == "open" and scan.start_seen and scan.started is not None
    return max(0.0, scan.last_event - (scan.started or 0.0)) if known else 0.0


def outline(history: History) -> History:
    """The history without the lists that grow over time, some 280 KB in a year."""
    return msgspec.structs.replace(
        history,
        sizes=(),
        days=(),
        unsampled=(),
        defrag_passes=(),
        checksum_passes=(),
        marks=(),
        liveness=Liveness(),
        failures=(),
        defrag_runs=(),
        scan_runs=(),
        backups=(),
        backup_spans=(),
        off=(),
        untimed_passes=(),
    )


def histories(
    state: State, settings: Settings, told: Callable[[Database], OutsideFacts] | None = None
) -> dict[tuple[str, str], History]:
    """The histories of all databases but the ignored ones, by computer and database, sorted."""
    beside = attached(state.databases.values())
    computers: dict[str, list[Channel]] = defaultdict(list)
    for channel in state.channels.values():
        computers[channel.computer].append(channel)
    told = told or surroundings(state, settings)
    return {
        key: _gather(
            state,
            settings,
            entry,
            beside[instance_key(entry)],
            computers[entry.computer],
            told=told(entry),
        )
        for key, entry in sorted(state.databases.items())
        if tier(entry, settings) != "ignored"
    }


def history(
    state: State,
    settings: Settings,
    computer: str,
    database: str,
    told: Callable[[Database], OutsideFacts] | None = None,
) -> History:
    """Gather the history of one database. Raises KeyError for a database that is not known.

    `told` is the result of `surroundings` for the same state, where it is at hand.
    """
    entry = state.databases[(computer, database)]
    own = instance_key(entry)
    on_computer = (each for each in state.databases.values() if each.computer == computer)
    beside = attached(each for each in on_computer if instance_key(each) == own)[own]
    channels = [each for each in state.channels.values() if each.computer == computer]
    told = told or surroundings(state, settings)
    found = _gather(state, settings, entry, beside, channels, told=told(entry))
    return msgspec.structs.replace(found, unread_since=_unread_since(state, computer))


def _unread_since(state: State, computer: str) -> float | None:
    host = state.hosts.get(computer)
    behind = any(
        not (source.up and source.caught_up) and computer in source.computers
        for source in state.sources.values()
    )
    return (host.last_heard or None) if behind and host is not None else None


def _gather(
    state: State,
    settings: Settings,
    entry: Database,
    beside: Collection[str],
    channels: Sequence[Channel],
    *,
    told: OutsideFacts,
) -> History:
    instance = state.instances.get(instance_key(entry))
    member = member_of(entry, settings)
    transitions = list(unpack(entry.transitions))
    stops = stops_of(state, entry)
    views = replay(entry, transitions, stops)
    found = History(
        computer=entry.computer,
        database=entry.database,
        name=member.name,
        named=member.named,
        replicated=member.replicated,
        copies=member.copies,
        ese_instance=instance_label(entry),
        process=entry.process,
        model=member.model,
        tier=tier(entry, settings),
        role=member.role,
        replaying=entry.letter not in {"", "D"},
        window=window_for(settings, entry.database, entry.computer),
        pages=pages_of(entry, views),
        page_size=entry.page_size,
        size_bytes=entry.size_bytes,
        sizes=rollups.sizes(entry.sizes),
        shares_instance=len(beside) if instance_label(entry) else 1,
        attached=entry.database in beside or not instance_label(entry),
        failures=[each.time for each in transitions if each.event_id in FAILS],
        failed=failed_tasks(views, entry.acknowledged),
        backups=completed(instance.backup_events) if instance else [],
        backup_spans=_backup_spans(state, entry),
        verified=verifications(entry, views, told.around, _last_streamed(state, entry)),
        event_gaps=gaps_of(entry, channels),
        off=not_at_work(instance, transitions, channels),
        first_seen=entry.first_seen,
        last_seen=entry.last_seen,
        role_changes=role_changes(entry, transitions),
    )
    found = _with_defrag(found, transitions, views, stops)
    found = _with_scans(found, transitions, views, channels, instance, stops=stops)
    found = _with_damage(found, entry, instance, views, told=told)
    return _with_untimed(_with_instance(found, instance) if instance else found, entry)


def _last_streamed(state: State, entry: Database) -> float | None:
    """The end of the last streaming backup that read every page of it, in any of its instances."""
    of = [state.instances[each.key] for each in stays(entry) if each.key in state.instances]
    ends = [verified_by_streaming(completed(each.backup_events)) for each in of]
    return max((each[entry.database] for each in ends if entry.database in each), default=None)


def _with_defrag(
    found: History,
    transitions: Sequence[Transition],
    views: Mapping[str, TaskView],
    stops: Sequence[float],
) -> History:
    """Add the facts about its online defragmentation."""
    return msgspec.structs.replace(
        found,
        defrag_passes=passes_of(views["defrag"]),
        defrag_runs=runs(transitions, DEFRAG, stops),
        defrag_torn=torn_runs(transitions, stops),
    )


def _with_scans(
    found: History,
    transitions: Sequence[Transition],
    views: Mapping[str, TaskView],
    channels: Sequence[Channel],
    instance: Instance | None,
    *,
    stops: Sequence[float],
) -> History:
    """Add the facts about its scans."""
    scans = scans_of(views)
    return msgspec.structs.replace(
        found,
        checksum_passes=scans,
        scan_runs=runs(transitions, SCANS, stops),
        marks=marks(transitions, begun(scans)),
        liveness=liveness(transitions, begun(scans), channels, instance),
        scan_told=scan_told(transitions, [passes_of(views[task]) for task in SCANS]),
        engine_threshold=engine_threshold(transitions),
    )


def _with_damage(
    found: History,
    entry: Database,
    instance: Instance | None,
    views: Mapping[str, TaskView],
    *,
    told: OutsideFacts,
) -> History:
    """Add its known damage and errors."""
    return msgspec.structs.replace(
        found,
        bad_pages=known_bad_pages(entry, views, told.around),
        damage=known_damage(entry, told.damage),
        unexplained=told.errors,
        copy_verdict=entry.copy_verdict,
        reported=told.reported,
        notices=told.notices,
        io_errors=io_errors(entry, instance),
    )


def _with_instance(found: History, instance: Instance) -> History:
    """Add the facts from its instance: counters and the engine."""
    since, until = _sampled(instance)
    return msgspec.structs.replace(
        found,
        streamed=streamed(instance),
        days=rollups.days(instance.days),
        sampled_since=since,
        sampled_until=until,
        unsampled=instance.gaps,
        engine_changes=engine_changes(instance),
        started=instance.starts[-1] if instance.starts else None,
    )


def _backup_spans(state: State, entry: Database) -> list[Stretch]:
    """Of its instance, and of its process: a shadow copy names no instance and is of all."""
    keys = {instance_key(entry), process_key(entry)}
    of = [state.instances[key] for key in keys if key in state.instances]
    return sorted({span for each in of for span in spans(each.backup_events)})


def _with_untimed(found: History, entry: Database) -> History:
    """Add the facts from its events without a time."""
    if not entry.untimed.events:
        return found
    return msgspec.structs.replace(
        found, untimed=entry.untimed.events, untimed_passes=untimed_passes(entry)
    )


def _sampled(instance: Instance) -> tuple[float | None, float | None]:
    """From when until when both counters of the ratio are known.

    Where only one is exposed the other must not be taken for zero.
    """
    if not instance.totals.keys() >= rollups.RATIO:
        return None, None
    columns = instance.counters.items()
    last = [
        max((known.last_time for key, known in columns if counter in key), default=0.0)
        for counter in _RATIO_COUNTERS
    ]
    return instance.sampled_since, min(last) or None
