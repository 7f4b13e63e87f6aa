"""Findings that others sum up, or that a verdict gives as its reason, each with an alert of its own
(semantics.md 3 and 7).

Those of a database are of its pages, its damage, its requests and its maintenance; errors of the
engine and levels are of its instance. Of what is only observed none is critical, and nothing of
maintenance or of levels.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from esewatch.advice.base.detail import Detail, DetailName
from esewatch.advice.base.finding import (
    HUNG_TOGETHER,
    HUNG_WITHIN,
    STALLED,
    Finding,
    Severity,
)
from esewatch.advice.findings.late_passes import LatePasses
from esewatch.advice.findings.levels import LEVELS, high_levels, most_buckets
from esewatch.advice.findings.lone_instances import standing_failures
from esewatch.advice.findings.risk import hung_requests
from esewatch.advice.forecast.verdict import UNKNOWN, UNVERIFIED
from esewatch.advice.history.history import History
from esewatch.advice.history.instance_failures import instance_failures
from esewatch.advice.history.ledger import Ledger
from esewatch.config import Settings
from esewatch.fold.identity.identity import Tier, is_snapshot, tier
from esewatch.fold.identity.owners import instance_key, is_server
from esewatch.fold.instances.engine_errors import (
    OF_COMPUTER,
    REPORTED,
    acknowledgements,
    open_errors,
)
from esewatch.fold.state.acknowledgements import REPAIR, up_to
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import BAD_KINDS, Database, EngineErrorKind, Instance, State

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
DAY = 86400.0


InstanceKey = tuple[str, str]
"""Computer, and name in lower case."""
OfInstances = Mapping[InstanceKey, tuple[Detail, ...]]
"""All that were judged."""


class Around(NamedTuple):
    """The rest of what the details of a database are made of."""

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
