"""Findings that others sum up, or that a verdict gives as its reason, each with an alert of its own
(semantics.md 3 and 7); and instances of which something is known, but no database.

Those of a database are of its pages, its damage, its requests and its maintenance; errors of the
engine and levels are of its instance. Of what is only observed none is critical, and nothing of
maintenance or of levels.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from esewatch.advice.base.finding import (
    HUNG_TOGETHER,
    HUNG_WITHIN,
    STALLED,
    UNKNOWN,
    UNVERIFIED,
    Detail,
    DetailName,
    Finding,
    Severity,
    damage_findings,
    engine_failure,
    investigate,
    ranked,
    unexplained_error,
)
from esewatch.advice.base.time_at_work import DAY
from esewatch.advice.findings.backups import slow_jobs_of
from esewatch.advice.findings.maintenance import LatePasses
from esewatch.advice.findings.risk import LEVELS, at_risk, high_levels, hung_requests, most_buckets
from esewatch.advice.history.history import History
from esewatch.advice.history.ledger import Ledger
from esewatch.advice.history.surroundings import gaps_of, instance_failures, logical, together
from esewatch.config import Settings
from esewatch.fold.databases.integrity import NOT_SEEN_BY_SCANS, ScanCircumstances, clean_scan_start
from esewatch.fold.databases.page_errors import Span, unnamed
from esewatch.fold.identity.identity import Tier, is_snapshot, tier
from esewatch.fold.identity.owners import instance_key, is_server
from esewatch.fold.instances.backups import streamed
from esewatch.fold.instances.engine_errors import (
    OF_COMPUTER,
    REPORTED,
    acknowledgements,
    open_errors,
    open_of,
)
from esewatch.fold.instances.instances import restores
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.acknowledgements import REPAIR, of_any, up_to
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import (
    BAD_KINDS,
    UNLOCATED,
    BackupSet,
    BadKind,
    BadPage,
    Damage,
    DamageKind,
    Database,
    EngineErrorKind,
    Failure,
    Instance,
    State,
)

OF_ENGINE: Mapping[EngineErrorKind, tuple[DetailName, Severity]] = {
    "io": ("io_error", "critical"),
    "log_sequence": ("log_sequence_halted", "critical"),
    "disk_full": ("disk_full", "critical"),
    "log_disk_low": ("log_disk_low", "warning"),
    "recovery": ("recovery_failed", "critical"),
    "version_store": ("version_store_full", "critical"),
    "database_full": ("database_full", "critical"),
    "database_nearly_full": ("database_full", "warning"),
    "memory": ("engine_failure", "warning"),
    "failure_item": ("engine_failure", "warning"),
    "corruption_item": ("engine_failure", "warning"),
}
REPAIR_SECONDS = 45 * 86400.0
"""A repair from another copy is history once it lies back further than any deadline."""
MANY_CORRECTED = 3
"""So many pages of one device that were corrected within a day call somebody."""

InstanceKey = tuple[str, str]
"""Computer, and name in lower case."""
OfInstances = Mapping[InstanceKey, tuple[Detail, ...]]
"""All that were judged."""


class Around(NamedTuple):
    database: Database
    instance: Instance | None
    ledger: Ledger
    failing: bool
    """Many pages of its device were corrected within a day."""
    late: LatePasses = LatePasses()
    findings: Sequence[Finding] = ()
    changed: bool = False
    """The advice for its window is news."""
    more: Sequence[Detail] = ()
    """Those that have a sentence of their own."""


def of_database(of: History, around: Around, now: float) -> tuple[Detail, ...]:
    """The details of a database as of `now` (epoch seconds)."""
    hung = hung_requests(around.database, around.instance, now)
    bad = [page for page in of.bad_pages if page.kind != "corrected"]
    corrected = len(bad) < len(of.bad_pages)
    pairs = zip(hung, hung[HUNG_TOGETHER - 1 :], strict=False)
    together = any(last - first <= HUNG_WITHIN for first, last in pairs)
    there: dict[DetailName, Severity] = {}
    if bad:
        there["known_bad_page"] = "warning" if all(page.history for page in bad) else "critical"
    if corrected or is_repaired(around.database, around.ledger, now):
        there["corrected_page"] = "critical" if around.failing else "warning"
    if "index" in of.damage:
        there["index_out_of_date"] = "warning"
    if "revert_snapshot" in of.damage:
        there["revert_snapshot"] = "warning"
    if hung:
        there["hung_io"] = "critical" if together else "warning"
    if of.tier == "watched":
        there |= dict.fromkeys(_of_maintenance(of, around), "warning")
        if around.changed:
            there["window_advice_changed"] = "info"
    return tuple(sorted((*capped(there, of.tier), *around.more)))


def _of_maintenance(of: History, around: Around) -> Iterator[DetailName]:
    """Details of its maintenance, but for causes that another finding names: a verification that is
    overdue, a backup in the way of the window."""
    if of.failed:
        yield "maintenance_error"
    late, told = around.late, {each.finding for each in around.findings}
    if late.defrag and told.isdisjoint({UNKNOWN, "backup_overlaps"}):
        yield "defrag_incomplete"
    overdue = late.scan and told.isdisjoint({UNKNOWN, *UNVERIFIED})
    if overdue or late.scan_at_risk or STALLED in told:
        yield "verification_at_risk"


def is_repaired(database: Database, ledger: Ledger, now: float) -> bool:
    """True if pages of it came from another copy (905, 911), which nobody acknowledged, and all of
    its pages were not read good since."""
    at = database.patched_last
    unproven = ledger.last is None or ledger.last.time <= at
    return now - REPAIR_SECONDS < at and at > up_to(database, REPAIR) and unproven


def of_engine(still: Mapping[EngineErrorKind, int]) -> dict[DetailName, Severity]:
    """The details of open errors, by kind their number; a single I/O error is a warning."""
    there: dict[DetailName, Severity] = {}
    for kind in (each for each in OF_ENGINE if still.get(each)):
        name, severity = OF_ENGINE[kind]
        single = kind == "io" and still[kind] == 1
        if there.get(name) != "critical":
            there[name] = "warning" if single else severity
    return there


def capped(there: Mapping[DetailName, Severity], of: Tier) -> tuple[Detail, ...]:
    """Of what is only observed none calls anybody."""
    return tuple(
        Detail(name, "warning" if severity == "critical" and of != "watched" else severity)
        for name, severity in sorted(there.items())
    )


def of_instances(state: State, settings: Settings, now: float) -> OfInstances:
    """The details of all instances as of `now` (epoch seconds)."""
    failing = instance_failures(state).instances
    failed = {key for key, each in state.instances.items() if each.errors} | failing.keys()
    leveled = {key for key, each in state.instances.items() if not LEVELS.isdisjoint(each.levels)}
    databases = state.databases.values() if failed or leveled else ()
    tiers: dict[InstanceKey, set[Tier]] = {}
    for entry in databases:
        if not is_snapshot(entry.database):
            tiers.setdefault(instance_key(entry), set()).add(tier(entry, settings))
    acknowledged = acknowledgements(databases)
    buckets = most_buckets(databases, settings)
    found: dict[InstanceKey, tuple[Detail, ...]] = dict.fromkeys(state.instances, ())
    for key in (failed | leveled) & state.instances.keys():
        instance = state.instances[key]
        of, kinds = _told(instance, tiers.get(key, ()))
        still = open_errors(instance, acknowledged(key))
        there = of_engine({kind: count for kind, count in still.items() if kind in kinds})
        left = standing_failures(state, key, failing.get(key, ()))
        pages = [each for each in left if each.kind in BAD_KINDS]
        if pages and of != "ignored":
            old = all(each.history for each in pages)
            there["known_bad_page"] = "warning" if old else "critical"
        if len(pages) < len(left) and of != "ignored":
            there["logical_damage"] = "critical"
        for name in high_levels(instance, buckets.get(key), now):
            # Of a copy there are queues before any event names its database.
            if "watched" in tiers.get(key, {"watched"} if name == "copy_behind" else ()):
                there[name] = "warning"
        found[key] = capped(there, of)
    return found


def _told(instance: Instance, known: Collection[Tier]) -> tuple[Tier, Collection[EngineErrorKind]]:
    """The tier of an instance, which is the highest of its databases, and the kinds of its errors
    that are told.

    Where none of them is known a server is watched, and others are observed, of which counts what
    the engine reports of itself. Damaged memory is of the whole computer.
    """
    if known:
        of: Tier = next(each for each in ("watched", "observed", "ignored") if each in known)
        return of, OF_ENGINE.keys() if of != "ignored" else {OF_COMPUTER}
    return ("watched", OF_ENGINE.keys()) if is_server(instance) else ("observed", REPORTED)


def failing_devices(
    known: Iterable[History], devices: Mapping[DatabaseKey, str], now: float
) -> frozenset[DatabaseKey]:
    """The watched databases of devices of which three pages or more were first corrected within the
    last day; without a known device, those of one computer together."""
    pages: dict[tuple[str, str], dict[DatabaseKey, int]] = {}
    for of in known:
        key = (of.computer, of.database)
        new = [
            page
            for page in of.bad_pages
            if page.kind == "corrected" and now - DAY < page.first <= now
        ]
        if new and of.tier == "watched":
            place = (of.computer, devices.get(key, ""))
            pages.setdefault(place, {})[key] = sum(page.pages for page in new)
    return frozenset(
        key for each in pages.values() if sum(each.values()) >= MANY_CORRECTED for key in each
    )


class LoneInstance(msgspec.Struct, frozen=True, kw_only=True):
    """One instance (storage group) with backups in logs of backup programs, or open errors."""

    computer: str
    ese_instance: str
    sets: Sequence[BackupSet]
    findings: tuple[Finding, ...]


def lone_instances(
    state: State, now: float, computers: Collection[str] | None = None
) -> list[LoneInstance]:
    """The lone instances of the given computers, all without any, by computer and name, as of `now`
    (epoch seconds)."""
    by_events: dict[str, set[BackupSet]] = {}
    for instance in state.instances.values():
        if instance.backup_events:
            by_events.setdefault(instance.computer, set()).update(streamed(instance))
    slow = slow_jobs_of(state, by_events, now)
    known = set(map(instance_key, state.databases.values()))
    watched = {computer for computer, _ in known}
    failing = instance_failures(state).instances
    found = []
    for (computer, name), instance in sorted(state.instances.items()):
        if computers is not None and computer not in computers:
            continue
        failed = standing_failures(state, (computer, name), failing.get((computer, name), ()))
        sets: list[BackupSet] = []
        if (computer, name) in known:
            findings = tuple(_of_pages(failed, logical(failed), (), now))
        else:
            host, beside = state.hosts.get(computer), computer in watched
            on_computer = host.backup_sets if host is not None else ()
            sets = [each for each in on_computer if each.ese_instance == name]
            told = slow.get(computer) if sets else None
            slowing = (told.finding,) if told is not None and name in told.instances else ()
            errors = _errors(state, instance, failed, now, beside_databases=beside)
            findings = ranked((*errors, *slowing), watched=True)
        if sets or findings:
            found.append(
                LoneInstance(
                    computer=computer,
                    ese_instance=instance.ese_instance,
                    sets=sets,
                    findings=findings,
                )
            )
    return found


def standing_failures(
    state: State, key: tuple[str, str], failures: Sequence[Failure]
) -> list[Failure]:
    """Of failures that may be of any of its databases, those that are unresolved: a scan ends them
    that began later and found all pages good, of each of the databases."""
    if not failures:
        return []
    members = [each for each in state.databases.values() if instance_key(each) == key]
    failures = [
        failure
        for failure in failures
        if not any(failure.time <= up_to(each, of_any(failure.kind)) for each in members)
    ]
    named: dict[BadKind, list[Span]] = {
        kind: sorted(span for each in members for span in each.named_pages.get(kind, ()))
        for kind in BAD_KINDS
    }
    clean = min((_clean_since(state, each) for each in members), default=0.0)
    left = chain.from_iterable(unnamed(failures, named).values())
    pages = [each for each in left if each.kind in NOT_SEEN_BY_SCANS or each.time >= clean]
    return [*pages, *(each for each in failures if each.kind == "logical")]


def _clean_since(state: State, entry: Database) -> float:
    channels = (each for each in state.channels.values() if each.computer == entry.computer)
    gaps = [(begin, end) for begin, end, _ in gaps_of(entry, channels) if end - begin > DAY]
    views = views_in(state, entry)
    scans = (*entry.old_proofs, *views["checksum"].passes, *views["zeroing"].passes)
    return clean_scan_start(scans, entry, ScanCircumstances(gaps))


def has_errors(instance: Instance) -> bool:
    """True if it logged an error or damage of its own, whether still open or not. Those that no
    rule knows count where its databases would be watched."""
    unexplained = instance.unexplained and is_server(instance)
    failed = instance.io_error_times or instance.failures
    return bool(instance.errors or instance.damage or failed or unexplained)


def _of_pages(
    failed: Sequence[Failure],
    damage: Mapping[DamageKind, Damage],
    io_errors: Sequence[float],
    now: float,
) -> Iterator[Finding]:
    """The findings of failed reads, of damage and of page errors that no database has."""
    pages = []
    for kind in BAD_KINDS:
        if times := [each.time for each in failed if each.kind == kind]:
            pages.append(BadPage(UNLOCATED, kind, min(times), max(times)))
    if bad := investigate(pages, damage, io_errors, now):
        yield bad
    yield from damage_findings(damage)


def _errors(
    state: State,
    instance: Instance,
    failed: Sequence[Failure],
    now: float,
    *,
    beside_databases: bool,
) -> Iterator[Finding]:
    """The findings of its open errors, as a database of it would have them. `beside_databases`:
    what is of the whole computer is told for the databases that are known."""
    nobody = Database(computer=instance.computer, database="", ese_instance=instance.ese_instance)
    mended = max((each.ended for each in restores(state, nobody)), default=0.0)
    told = together(instance.damage, logical(failed))
    yield from _of_pages(failed, known_damage(nobody, told, mended), instance.io_error_times, now)
    computer = () if beside_databases else (instance,)
    reported = {
        kind: still for kind, still in open_of(instance, computer, {}).items() if kind in REPORTED
    }
    if reported:
        yield engine_failure(reported)
    if not is_server(instance):
        return
    if risk := at_risk(instance, {}, None, now):
        yield risk
    if instance.unexplained and not beside_databases:
        yield unexplained_error(instance.unexplained)
