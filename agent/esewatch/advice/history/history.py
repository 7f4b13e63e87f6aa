"""The history of a database for the judgements: plain values, gathered once from the state.

A database that is moved to another path is another one from then on: its old path stays known.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from esewatch.advice.base.time_at_work import Stretch, presence
from esewatch.advice.history.derived import NO_BACKUP, BackedUp, Derived, derived
from esewatch.advice.history.ledger import NEVER, Copy, CopyFacts
from esewatch.advice.history.passes import (
    Liveness,
    Mark,
    begun,
    engine_threshold,
    failed_tasks,
    liveness,
    marks,
    pages_of,
    passes_of,
    scan_told,
    scans_of,
    times_heard,
)
from esewatch.advice.history.surroundings import gaps_of
from esewatch.config import Policy, Settings, window_for
from esewatch.fold.channels.hearing import joined
from esewatch.fold.databases.databases import is_dated
from esewatch.fold.databases.integrity import io_errors
from esewatch.fold.identity.identity import is_snapshot, role_changes
from esewatch.fold.identity.owners import (
    instance_key,
    instance_label,
    named_times,
    process_key,
)
from esewatch.fold.instances.backups import Backup, completed, spans, streamed
from esewatch.fold.instances.instances import engine_changes
from esewatch.fold.passes.passes import (
    ATTACHES,
    BROKEN_OFF,
    FAILS,
    TaskView,
    derive,
    untimed_passes,
)
from esewatch.fold.passes.runs import DEFRAG, SCANS, Run, runs, torn_runs
from esewatch.fold.passes.stops import DETACH, stops_in
from esewatch.fold.passes.transitions import ROW_BYTES, event_ids, unpack
from esewatch.fold.readings import paired_days, sampled_alone
from esewatch.fold.state import rollups
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.rollups import Day, Size
from esewatch.fold.state.state import (
    START,
    STOP_EVENTS,
    BackupSet,
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

_LATEST = 8
"""Transitions that may be logged with a detach: interruptions of its passes."""


class Members(NamedTuple):
    """Labels of the databases of one instance."""

    attached: set[str]
    """Without those that were moved or dismounted."""
    moved: set[str]


def members(
    databases: Iterable[Database], known: Mapping[tuple[str, str], Instance]
) -> dict[tuple[str, str], Members]:
    """By instance. A database was moved where it was detached, or its instance stopped or started
    after its last event, and the instance attached one of the same file name since. One that only
    went silent before such a one was first seen is not counted as attached, but may be due."""
    instances: dict[tuple[str, str], list[Database]] = defaultdict(list)
    for each in databases:
        instances[instance_key(each)].append(each)
    found = {}
    for key, all_of_it in instances.items():
        of_name: dict[str, list[Database]] = defaultdict(list)
        for each in all_of_it:
            if not is_snapshot(each.database):
                of_name[_file_name(each)].append(each)
        attached, moved = set(), set()
        for each in chain.from_iterable(of_name.values()):
            since = _detached(each, known.get(key))
            others = [other for other in of_name[_file_name(each)] if other is not each]
            left = _left(each, known.get(key)) if since is None and others else since
            if left is not None and any(
                other.first_seen > left
                or any(attached.time > left for attached in unpack(other.transitions, ATTACHES))
                for other in others
            ):
                moved.add(each.database)
            elif since is None and all(each.last_seen >= other.first_seen for other in others):
                attached.add(each.database)
        found[key] = Members(attached, moved)
    return found


def _left(entry: Database, instance: Instance | None) -> float | None:
    """Its last event, where it was detached by that or its instance stopped or started after it."""
    _, last = named_times(entry)
    times = instance.times_of(STOP_EVENTS | {START}) if instance is not None else []
    return last if entry.detached >= last or (times and times[-1] > last) else None


def _detached(entry: Database, instance: Instance | None) -> float | None:
    """Since when it is detached, None where it is not."""
    rows = entry.transitions
    if DETACH not in event_ids(rows[-_LATEST * ROW_BYTES :]):  # as in most
        return None
    return presence(entry, instance, unpack(rows)).detached


def _file_name(entry: Database) -> str:
    return entry.database.replace("\\", "/").rpartition("/")[2]


MOST_PAGE_SIZE = 32768
_RATIO_COUNTERS = ("|online defrag pages read/sec|", "|online defrag pages freed/sec|")


class History(CopyFacts, frozen=True, kw_only=True):
    name: str = ""
    ese_instance: str = ""
    process: str = ""
    role: str = ""
    replaying: bool = False
    """The last state letter of its instance is not that of normal run time."""
    pages: float | None = None
    page_size: int | None = None
    sizes: Sequence[Size] = ()
    days: Sequence[Day] = ()
    """Of its instance, oldest first; a day in which nothing grew has none."""
    shares_instance: int = 1
    """Attached databases of the instance: with more than one, the counters are of them together."""
    attached: bool = True
    """False where it was moved to another path or dismounted."""
    sampled_since: float | None = None
    """First sample of both counters of the ratio. None: one of them was never seen."""
    sampled_until: float | None = None
    unsampled: Sequence[tuple[float, float]] = ()
    """(from, to) between these two, in which one of them at least was not sampled; sorted."""
    sampled_alone: Sequence[tuple[float, float]] = ()
    """(from, to) in which one of them alone was sampled."""
    defrag_passes: Sequence[Pass] = ()
    """Ended ones, oldest first, the open one last."""
    checksum_passes: Sequence[Pass] = ()
    """The same; a zeroing pass of Exchange 2007 is one of them."""
    marks: Sequence[Mark] = ()
    """The progress marks of its running scan, sorted."""
    liveness: Liveness = Liveness()
    scan_told: float | None = None
    failures: Sequence[float] = ()
    """Times at which a pass ended with an error (705, 723, 724, 734), sorted."""
    failed: Sequence[str] = ()
    """Tasks that ended with an error and have not completed since."""
    aborted: float | None = None
    """Last time at which its scan was aborted (745)."""
    defrag_runs: Sequence[Run] = ()
    defrag_torn: int = 0
    """Its last runs of defragmentation that were resumed or interrupted, one after another."""
    scan_runs: Sequence[Run] = ()
    backups: Sequence[Backup] = ()
    """Completed ones of its instance, oldest first."""
    backup_spans: Sequence[Stretch] = ()
    """Times of any of its instance, or of the process where an event names no instance; sorted."""
    backed_up: BackedUp = NO_BACKUP
    streamed: Sequence[BackupSet] = ()
    """The last 8 full streaming backups of its instance."""
    restored: float = 0.0
    """Time of its last restore from a backup, 0 for never."""
    restored_pages: Sequence[BadPage] = ()
    """Bad pages of before that, until what began after it verified all pages."""
    damage: Mapping[DamageKind, Damage] = {}
    unexplained: Mapping[int, EngineError] = {}
    """By event id: errors of its engine that nothing in esewatch uses, without acknowledged
    ones."""
    copy_verdict: CopyVerdict | None = None
    """The verdict on the newest copy that was judged."""
    restorable: float = 0.0
    """Time of the newest copy that would mount, 0 for never."""
    reported: Mapping[EngineErrorKind, tuple[int, float]] = {}
    """By kind: the number of open failures that its engine reported, and the time of the last."""
    notices: Sequence[Notice] = ()
    """Unacknowledged notices of other programs about it, the latest last."""
    io_errors: Sequence[float] = ()
    bad_in_header: int = 0
    """Bad checksums that its header counts, where no page is known bad and none was verified."""
    """Times at which a read, write or flush failed, without acknowledged ones; sorted."""
    heard: Sequence[Stretch] = ()
    """(first, last) record of times in which its log had some, without a pause of 16 hours."""
    unread_since: float | None = None
    """The last event of its computer, where a source of it is behind: later ones are not read."""
    started: float | None = None
    """Last start of its instance (102)."""
    untimed: Collection[int] = ()
    """Ids of its events without a time."""
    untimed_passes: Sequence[Pass] = ()
    """That ended at an unknown time, the last read first."""
    last_seen: float = 0.0
    created: float = 0.0
    """Time at which its file was made anew, 0 where no event tells."""
    engine_changes: Sequence[float] = ()
    """Times at which its instance was first heard of with another version of the engine, sorted."""
    role_changes: Sequence[float] = ()


def as_copy(history: History, policy: Policy) -> Copy:
    """The part of it that the integrity ledger judges. Without a size in bytes it is that of the
    pages that its last whole scan saw, the largest ones if their size is not known."""
    shared = {field: getattr(history, field) for field in CopyFacts.__struct_fields__}
    shared["name"] = history.name or history.database
    shared["first_seen"] = max(history.first_seen, history.created)
    if history.size_bytes is None and history.pages is not None:
        shared["size_bytes"] = history.pages * (history.page_size or MOST_PAGE_SIZE)
    running = [
        scan.last_event - scan.started
        for scan in history.checksum_passes
        if scan.outcome == "open" and scan.start_seen and scan.started is not None
    ]
    return Copy(
        **shared,
        scans=[done for done in history.checksum_passes if (done.ended or 0.0) > history.created],
        under_way=max([0.0, *running]),
        configured_deadline=policy.verify_within,
        most_deadline=policy.verify_within_most,
    )


def outline(history: History) -> History:
    """The history without the lists that grow over time, some 280 KB in a year."""
    return msgspec.structs.replace(
        history,
        sizes=(),
        days=(),
        unsampled=(),
        sampled_alone=(),
        defrag_passes=(),
        checksum_passes=(),
        marks=(),
        liveness=Liveness(),
        failures=(),
        defrag_runs=(),
        scan_runs=(),
        backups=(),
        backup_spans=(),
        heard=(),
        off=(),
        untimed_passes=(),
    )


class Gathering(NamedTuple):
    """The parts of a state that its histories share."""

    state: State
    settings: Settings
    members: Mapping[DatabaseKey, Members]
    """By instance."""
    channels: Mapping[str, Sequence[Channel]]
    """By computer."""
    heard: Mapping[str, Sequence[float]]
    """By computer, see `times_heard`."""

    @classmethod
    def of(cls, state: State, settings: Settings) -> "Gathering":
        channels: dict[str, list[Channel]] = defaultdict(list)
        for channel in state.channels.values():
            channels[channel.computer].append(channel)
        instances: dict[str, list[Instance]] = defaultdict(list)
        for instance in state.instances.values():
            instances[instance.computer].append(instance)
        heard = {
            computer: times_heard(channels[computer], instances[computer], host.last_heard)
            for computer, host in state.hosts.items()
        }
        known = members(state.databases.values(), state.instances)
        return cls(state, settings, known, channels, heard)

    def history(self, facts: Derived, views: Mapping[str, TaskView] | None = None) -> History:
        """The history of a database by its facts, and its passes where they are at hand."""
        state, told = self.state, facts.told
        entry = state.databases[facts.member.computer, facts.member.database]
        views = views or derive(entry, facts.basis.life)
        label, beside = instance_label(entry), self.members[instance_key(entry)]
        is_moved = entry.database in beside.moved and bool(label)
        channels = self.channels.get(entry.computer, ())
        instance = state.instances.get(instance_key(entry))
        transitions, heard = list(unpack(entry.transitions)), self.heard.get(entry.computer, ())
        return History(
            **msgspec.structs.asdict(facts.member),
            **_of_passes(entry, views, transitions, stops_in(entry, transitions, facts.basis.life)),
            **(_of_instance(instance) if instance is not None else {}),
            ese_instance=label,
            process=entry.process,
            tier=facts.tier,
            replaying=entry.letter not in {"", "D"},
            window=window_for(self.settings, entry.database, entry.computer),
            pages=pages_of(entry, views),
            page_size=entry.page_size,
            size_bytes=entry.size_bytes,
            sizes=rollups.sizes(entry.sizes),
            shares_instance=len(beside.attached) if label else 1,
            attached=entry.database in beside.attached or not label,
            liveness=liveness(transitions, begun(scans_of(views)), heard, instance),
            backup_spans=_backup_spans(state, entry),
            backed_up=facts.backed_up,
            copy_verdict=entry.copy_verdict,
            restorable=entry.restorable_last,
            verified=facts.verified,
            unreadable_scan=None if is_moved else facts.unreadable_scan,
            bad_pages=facts.bad_pages,
            event_gaps=gaps_of(entry, channels),
            off=NEVER if is_moved else presence(entry, instance, transitions, channels).off,
            first_seen=entry.first_seen if is_dated(entry) else 0.0,
            created=entry.created,
            last_seen=entry.last_seen,
            heard=joined(each for each in channels if each.channel in {entry.channel, ""}),
            unread_since=unread_since(state, entry.computer),
            role_changes=role_changes(entry, transitions),
            restored=told.around.restored,
            restored_pages=facts.restored_pages,
            damage=known_damage(entry, told.damage, told.around.mended),
            unexplained=told.errors,
            reported=told.reported,
            notices=told.notices,
            io_errors=io_errors(entry, instance),
            bad_in_header=_bad_in_header(entry, facts),
        )


def _bad_in_header(entry: Database, facts: Derived) -> int:
    """Bad checksums that its header counts, where nothing else shows a bad page or proves it."""
    if facts.verified or entry.bad_pages or entry.bad_pages_overflow:
        return 0
    return entry.header_bad_checksums or 0


def histories(state: State, settings: Settings) -> dict[DatabaseKey, History]:
    """The histories of all databases but the ignored ones and the snapshots of known ones, by
    computer and database, sorted."""
    found: dict[DatabaseKey, History] = {}
    gathering = Gathering.of(state, settings)

    def gather(key: DatabaseKey, facts: Derived, views: Mapping[str, TaskView] | None) -> None:
        if facts.tier != "ignored":
            found[key] = gathering.history(facts, views)

    derived(state, settings, take=gather)
    return dict(sorted(found.items()))


def _times(transitions: Sequence[Transition], events: Collection[int]) -> list[float]:
    return [each.time for each in transitions if each.event_id in events]


def unread_since(state: State, computer: str) -> float | None:
    """The last event of a computer, where a source of it is behind; None: none is."""
    host = state.hosts.get(computer)
    behind = any(
        not (source.up and source.caught_up) and computer in source.computers
        for source in state.sources.values()
    )
    return (host.last_heard or None) if behind and host is not None else None


def _of_passes(
    entry: Database,
    views: Mapping[str, TaskView],
    transitions: Sequence[Transition],
    stops: Sequence[float],
) -> dict[str, Any]:
    scans = scans_of(views)
    return {
        "defrag_passes": passes_of(views["defrag"]),
        "defrag_runs": runs(transitions, DEFRAG, stops),
        "defrag_torn": torn_runs(transitions, stops),
        "checksum_passes": scans,
        "scan_runs": runs(transitions, SCANS, stops),
        "marks": marks(transitions, begun(scans)),
        "scan_told": scan_told(transitions, [passes_of(views[task]) for task in SCANS]),
        "engine_threshold": engine_threshold(transitions),
        "failures": _times(transitions, FAILS),
        "failed": failed_tasks(views, entry),
        "aborted": max(_times(transitions, {BROKEN_OFF}), default=None),
        "untimed": entry.untimed.events,
        "untimed_passes": untimed_passes(entry) if entry.untimed.events else (),
    }


def _of_instance(instance: Instance) -> dict[str, Any]:
    since, until = _sampled(instance)
    ratio = instance.ratio.values()
    return {
        "backups": completed(instance.backup_events),
        "streamed": streamed(instance),
        "days": paired_days(instance),
        "sampled_since": since,
        "sampled_until": until,
        "unsampled": sorted({*instance.gaps, *(gap for each in ratio for gap in each.gaps)}),
        "sampled_alone": sampled_alone(instance),
        "engine_changes": engine_changes(instance),
        "started": max(instance.times_of({START}), default=None),
    }


def _backup_spans(state: State, entry: Database) -> list[Stretch]:
    """Of its instance, and of its process: a shadow copy names no instance and is of all."""
    keys = {instance_key(entry), process_key(entry)}
    of = [state.instances[key] for key in keys if key in state.instances]
    return sorted({span for each in of for span in spans(each.backup_events)})


def _sampled(instance: Instance) -> tuple[float | None, float | None]:
    """From when until when both counters of the ratio are known. Where only one is exposed the
    other must not be taken for zero."""
    if not instance.totals.keys() >= rollups.RATIO:
        return None, None
    columns = instance.counters.items()
    last = [
        max((known.last_time for key, known in columns if counter in key), default=0.0)
        for counter in _RATIO_COUNTERS
    ]
    return instance.sampled_since, min(last) or None
