"""What the judgements know of a database: plain values, gathered once from the state."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from esewatch.advice.copies import member_of
from esewatch.advice.ledger import MOST_PAGE_SIZE, Copy, Gap
from esewatch.advice.maintenance_model import Model
from esewatch.advice.scanning import Mark
from esewatch.advice.signs import Signs, signs
from esewatch.config import Policy, Settings, Window, window_for
from esewatch.fold import rollups
from esewatch.fold.backup_jobs import BackupSet
from esewatch.fold.backups import Backup, completed, streamed, verified_by_streaming
from esewatch.fold.databases import ACTIVE_FAMILY, PASSIVE_FAMILY
from esewatch.fold.identity import Tier, tier
from esewatch.fold.instances import engine_changes
from esewatch.fold.integrity import known_bad_pages, last_verifications
from esewatch.fold.passes import FAILS, TASKS, TaskView, replay
from esewatch.fold.rollups import Day, Size
from esewatch.fold.runs import DEFRAG, SCANS, Run, runs
from esewatch.fold.state import BadPage, Channel, Database, Instance, Pass, State, Transition
from esewatch.fold.transitions import unpack
from esewatch.fold.untimed_passes import untimed_passes

READ = "ese_defrag_pages_read_total"
FREED = "ese_defrag_pages_freed_total"
MARKS = {738: "resume_page", 744: "pages_seen"}
"""Events that tell how far the running scan is, and the number that does."""
LATE_END = 735
_READ_COUNTER = "|online defrag pages read/sec|"


class History(msgspec.Struct, frozen=True, kw_only=True):
    """One database and the instance it is in. Times are epoch seconds; None is unknown."""

    computer: str
    database: str
    name: str = ""
    named: bool = False
    """The name is configured."""
    copies: Sequence[tuple[str, str]] = ()
    """Configured ones: (computer, database)."""
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
    marks: Sequence[Mark] = ()
    """How far its running scan said it was, sorted."""
    signs: Signs = Signs()
    """Of its running scan, and that its computer is heard of."""
    engine_threshold: float | None = None
    """Seconds in which its engine wants a scan to complete, as the last 735 told."""
    failures: Sequence[float] = ()
    """When a pass ended with an error (705, 723, 724, 734), sorted."""
    failed: Sequence[str] = ()
    """Tasks that ended with an error and have not completed since."""
    defrag_runs: Sequence[Run] = ()
    scan_runs: Sequence[Run] = ()
    backups: Sequence[Backup] = ()
    """Completed ones of its instance, oldest first."""
    streamed: Sequence[BackupSet] = ()
    """The last 8 full streaming backups of its instance."""
    bad_pages: Sequence[BadPage] = ()
    """Those that stand."""
    logical_errors: int = 0
    io_errors: Sequence[float] = ()
    """When a read, write or flush failed, those that are acknowledged left out; sorted."""
    verified: Mapping[str, float] = {}
    """By verifier, the end of the last verification of every page."""
    event_gaps: Sequence[Gap] = ()
    """Of the complete channels of its computer."""
    untimed: Collection[int] = ()
    """Ids of its events without a time."""
    untimed_passes: Sequence[Pass] = ()
    """That ended at an unknown time, the last read first."""
    first_seen: float = 0.0
    last_seen: float = 0.0
    engine_changes: Sequence[float] = ()
    """When its instance was first heard of with another version of the engine, sorted."""
    role_changes: Sequence[float] = ()


def as_copy(history: History, policy: Policy) -> Copy:
    """The part of it that the integrity ledger judges.

    Without a size in bytes it is that of the pages that its last whole scan saw, the largest ones
    if their size is not known: by their own pace scans of any take equally long.
    """
    page_size, size_bytes = history.page_size, history.size_bytes
    if size_bytes is None and history.pages is not None:
        page_size = page_size or MOST_PAGE_SIZE
        size_bytes = history.pages * page_size
    return Copy(
        computer=history.computer,
        database=history.database,
        name=history.name or history.database,
        named=history.named,
        copies=history.copies,
        tier=history.tier,
        model=history.model,
        role=history.role,
        first_seen=history.first_seen,
        verified=history.verified,
        bad_pages=history.bad_pages,
        scans=[done for done in history.checksum_passes if done.ended is not None],
        size_bytes=size_bytes,
        page_size=page_size,
        window=history.window,
        event_gaps=history.event_gaps,
        configured_deadline=policy.verify_within,
        engine_threshold=history.engine_threshold,
    )


def outline(history: History) -> History:
    """What is left of it without the lists that grow as it goes on, some 280 KB in a year."""
    return msgspec.structs.replace(
        history,
        sizes=(),
        days=(),
        unsampled=(),
        defrag_passes=(),
        checksum_passes=(),
        marks=(),
        signs=Signs(),
        failures=(),
        defrag_runs=(),
        scan_runs=(),
        backups=(),
        untimed_passes=(),
    )


def histories(state: State, settings: Settings) -> dict[tuple[str, str], History]:
    """Those of all databases but the ignored ones, by computer and database, sorted."""
    sharing = Counter(map(_instance_of, state.databases.values()))
    channels: dict[str, list[Channel]] = defaultdict(list)
    for channel in state.channels.values():
        channels[channel.computer].append(channel)
    return {
        key: _gather(state, settings, entry, sharing[_instance_of(entry)], channels[entry.computer])
        for key, entry in sorted(state.databases.items())
        if tier(entry, settings) != "ignored"
    }


def history(state: State, settings: Settings, computer: str, database: str) -> History:
    """Gather that of one. Raises KeyError for a database that is not known."""
    entry = state.databases[(computer, database)]
    own = _instance_of(entry)
    beside = (each for each in state.databases.values() if each.computer == computer)
    sharing = sum(_instance_of(each) == own for each in beside)
    channels = [each for each in state.channels.values() if each.computer == computer]
    return _gather(state, settings, entry, sharing, channels)


def _gather(
    state: State,
    settings: Settings,
    entry: Database,
    sharing: int,
    channels: Sequence[Channel],
) -> History:
    instance = state.instances.get(_instance_of(entry))
    member = member_of(entry, settings)
    transitions = list(unpack(entry.transitions))
    stops = instance.stops if instance else ()
    views = replay(entry, transitions, stops)
    backups = completed(instance.backup_events) if instance else []
    scans = _scans(views)
    found = History(
        computer=entry.computer,
        database=entry.database,
        name=member.name,
        named=member.named,
        copies=member.copies,
        ese_instance=entry.ese_instance,
        model=member.model,
        tier=tier(entry, settings),
        role=member.role,
        window=window_for(settings, entry.database, entry.computer),
        pages=_pages(entry, views),
        page_size=entry.page_size,
        size_bytes=entry.size_bytes,
        sizes=rollups.sizes(entry.sizes),
        shares_instance=sharing if entry.ese_instance else 1,
        defrag_passes=_passes(views["defrag"]),
        checksum_passes=scans,
        marks=_marks(transitions, _begun(scans)),
        signs=signs(transitions, _begun(scans), channels, instance),
        engine_threshold=_engine_threshold(transitions),
        failures=[each.time for each in transitions if each.event_id in FAILS],
        failed=failed_tasks(views),
        defrag_runs=runs(transitions, DEFRAG, stops),
        scan_runs=runs(transitions, SCANS, stops),
        bad_pages=known_bad_pages(entry, views),
        logical_errors=logical_errors(entry),
        io_errors=[time for time in entry.io_error_times if time > entry.all_good],
        backups=backups,
        verified=_verified(entry, backups, views),
        event_gaps=[gap for channel in channels for gap in channel.gaps],
        first_seen=entry.first_seen,
        last_seen=entry.last_seen,
        role_changes=_role_changes(transitions, entry),
    )
    return _with_untimed(_with_instance(found, instance) if instance else found, entry)


def _with_instance(found: History, instance: Instance) -> History:
    """What its instance tells of it: counters and the engine."""
    since, until = _sampled(instance)
    return msgspec.structs.replace(
        found,
        streamed=streamed(instance),
        days=rollups.days(instance.days),
        sampled_since=since,
        sampled_until=until,
        unsampled=instance.gaps,
        engine_changes=engine_changes(instance),
    )


def _with_untimed(found: History, entry: Database) -> History:
    """What its events without a time tell."""
    if not entry.untimed.events:
        return found
    return msgspec.structs.replace(
        found, untimed=entry.untimed.events, untimed_passes=untimed_passes(entry)
    )


def _instance_of(entry: Database) -> tuple[str, str]:
    """Key of its instance; the name is empty when unknown."""
    return entry.computer, entry.ese_instance.lower()


def _scans(views: Mapping[str, TaskView]) -> list[Pass]:
    """An open zeroing pass is the scan that runs: one scan does both."""
    scans, zeroing = _passes(views["checksum"]), views["zeroing"].current
    if zeroing is None:
        return scans
    if not scans or scans[-1].ended is not None:
        return [*scans, msgspec.structs.replace(zeroing, task="checksum")]
    if (zeroing.started or 0.0) <= (scans[-1].started or 0.0):
        return scans
    return [*scans[:-1], msgspec.structs.replace(zeroing, task="checksum")]


def _marks(transitions: Iterable[Transition], begun: float | None) -> list[Mark]:
    """Of the running scan: 744 tells the pages seen, 738 from which page it goes on."""
    if begun is None:
        return []
    marks = []
    for each in transitions:
        if each.event_id in MARKS and each.time >= begun:
            pages = each.fields.get(MARKS[each.event_id])
            if pages is not None:
                marks.append(Mark(each.time, pages))
    return marks


def _begun(scans: Sequence[Pass]) -> float | None:
    """When the running scan began: where that is not known, the one before it had ended."""
    if not scans or scans[-1].outcome != "open":
        return None
    if scans[-1].started is not None:
        return scans[-1].started
    return max((done.ended for done in scans[:-1] if done.ended is not None), default=-math.inf)


def _engine_threshold(transitions: Sequence[Transition]) -> float | None:
    for each in reversed(transitions):
        if each.event_id == LATE_END and each.fields.get("threshold_days"):
            return each.fields["threshold_days"] * rollups.DAY_SECONDS
    return None


def _passes(view: TaskView) -> list[Pass]:
    return [*view.passes, view.current] if view.current else view.passes


def _pages(entry: Database, views: Mapping[str, TaskView]) -> float | None:
    """Its size in pages, else what its last whole scan saw."""
    if entry.size_bytes is not None and entry.page_size:
        return entry.size_bytes / entry.page_size
    last = views["checksum"].last_completed
    return float(last.pages_seen) if last and last.pages_seen else None


def failed_tasks(views: Mapping[str, TaskView]) -> list[str]:
    """Tasks whose open pass ended with an error and was not completed since."""
    return [
        task for task in TASKS if (current := views[task].current) is not None and current.failures
    ]


def logical_errors(entry: Database) -> int:
    """Reports of logical corruption, none once the last one is acknowledged."""
    last = entry.page_error_last.get("logical", 0.0)
    return entry.page_errors.get("logical", 0) if last > entry.all_good else 0


def _sampled(instance: Instance) -> tuple[float | None, float | None]:
    """From when until when both counters of the ratio are known.

    Where only one is exposed the other must not be taken for zero.
    """
    if not {READ, FREED} <= instance.totals.keys():
        return None, None
    last = [column.last_time for key, column in instance.counters.items() if _READ_COUNTER in key]
    return instance.sampled_since, max(last, default=None)


def _verified(
    entry: Database, backups: Sequence[Backup], views: Mapping[str, TaskView]
) -> dict[str, float]:
    verified = last_verifications(entry, views)
    streamed = verified_by_streaming(backups).get(entry.database)
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
