"""All advice for every database as of one moment: the judgements put together.

The command, the HTTP interface and the metrics show the result of `advise` and judge nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from esewatch.advice.base.finding import (
    IN_THE_LOG,
    PERSON,
    Finding,
    damage_findings,
    engine_failure,
    investigate,
    not_restorable,
    unexplained_error,
)
from esewatch.advice.base.maintenance_model import Model
from esewatch.advice.base.staleness import stale_seconds
from esewatch.advice.findings.lone_instances import LoneInstance
from esewatch.advice.findings.risk import at_risk
from esewatch.advice.findings.scan_collisions import Scans, collisions_found, scans_in
from esewatch.advice.findings.scan_off import switched_off
from esewatch.advice.findings.scan_schedule import Candidate, ScanSlot, Schedule, schedules
from esewatch.advice.findings.server_notices import server_notices
from esewatch.advice.findings.slowing_backups import slowing_backups
from esewatch.advice.findings.small_cache import small_caches
from esewatch.advice.findings.stalled_scan import stalled_scan
from esewatch.advice.findings.stops_early import found_in_window
from esewatch.advice.forecast.deadline import at_work_until, defrag_deadline, scan_deadline
from esewatch.advice.forecast.forecast import Course, Forecast, forecast
from esewatch.advice.forecast.verdict import Verdict, blind_computers, trouble, verdict
from esewatch.advice.history.history import History, as_copy, histories, outline
from esewatch.advice.history.ledger import (
    Copy,
    Deadline,
    Ledger,
    ledgers,
    verification_deadline,
    why_unverified,
)
from esewatch.advice.window.garbage_collection import allowed_seconds, overdue_defrag
from esewatch.advice.window.instance_advice import instance_advice
from esewatch.advice.window.window import WindowAdvice, window_advice
from esewatch.config import Policy, Settings, policy_for
from esewatch.fold.databases.integrity import OutsideFacts
from esewatch.fold.identity.identity import Tier
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.instances.engine_errors import acknowledgements
from esewatch.fold.passes.passes import TaskView, views_in
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Database, Pass, State


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """The advice for one database, watched or observed. Times are epoch seconds."""

    computer: str
    ese_instance: str
    database: str
    """The label."""
    name: str
    tier: Tier
    model: Model
    window: WindowAdvice
    """The instance, where it has several databases: the reasons mention it."""
    forecasts: tuple[Forecast, ...]
    """Forecasts of defrag and checksum, in this order, each with its deadline."""
    ledger: Ledger
    findings: tuple[Finding, ...]
    """All findings, those of the ledger included, each at most once."""
    verdict: Verdict
    """Urgency."""
    slot: ScanSlot | None = None
    """A better time for its scan, where its scans collide with others."""


def needs_a_person(advice: Iterable[Advice | LoneInstance]) -> bool:
    """True if any of their findings needs one."""
    return any(found.finding in PERSON for each in advice for found in each.findings)


def advise(
    state: State,
    settings: Settings,
    now: float,
    told: Callable[[Database], OutsideFacts] | None = None,
) -> tuple[Advice, ...]:
    """The advice as of `now` (epoch seconds, finite): one each, by computer and database.

    Databases of the tier `ignored` have none. `told` is the result of `surroundings` for a state
    that has more than `state`.
    """
    judged = {
        key: judge(each, policy_for(settings, each.database, each.computer), now)
        for key, each in histories(state, settings, told).items()
    }
    return together(state, settings, judged, now)


class Judged(NamedTuple):
    """The judgement of a database from its own history, without the databases beside it.

    `history` is its outline, and `copy` has its deadline in place of its scans.
    """

    history: History
    copy: Copy
    window: WindowAdvice
    forecasts: tuple[Forecast, ...]
    findings: tuple[Finding, ...]
    """Findings from the nights of its window, its background scan and its garbage collection."""
    version_buckets: int | None
    """The highest maximum that the policy knows."""


def judge(of: History, policy: Policy, now: float) -> Judged:
    """The expensive part of the advice: milliseconds for each database."""
    copy = as_copy(of, policy)
    deadline = verification_deadline(copy)
    window = window_advice(of, policy, now)
    missing = (stalled_scan(of, now), switched_off(of, now), overdue_defrag(of, now))
    return Judged(
        outline(of),
        msgspec.structs.replace(copy, scans=(), deadline=deadline),
        window,
        _forecasts(of, policy, deadline, now),
        (*found_in_window(of, window.rule, now), *filter(None, missing)),
        policy.version_buckets,
    )


def together(
    state: State, settings: Settings, judged: Mapping[DatabaseKey, Judged], now: float
) -> tuple[Advice, ...]:
    """The advice of the databases that were `judged`, with the effects of the databases on each
    other.
    """
    known = {key: each.history for key, each in judged.items()}
    entries = dict(zip(judged, ledgers([each.copy for each in judged.values()], now), strict=True))
    windows = instance_advice(known, {key: each.window for key, each in judged.items()}, now)
    beside, slots = _staggered(state, settings, known, entries, now)
    for found in (slowing_backups(state, known, now), small_caches(state, settings, known, now)):
        for key, finding in found.items():
            beside.setdefault(key, []).append(finding)
    blind = blind_computers(state.sources.values())
    acknowledged = acknowledgements(state.databases[key] for key in known)
    made = []
    for key, each in known.items():
        risk = None
        if each.tier == "watched":
            own_instance = instance_key(state.databases[key])
            instance = state.instances.get(own_instance)
            most = judged[key].version_buckets
            risk = at_risk(instance, acknowledged[own_instance], most, now)
        own = _known_now(judged[key].findings, blind=each.computer in blind)
        others = (*own, *beside.get(key, ()), *((risk,) if risk else ()))
        findings = _findings(each, entries[key], others, now)
        made.append(
            Advice(
                computer=each.computer,
                ese_instance=each.ese_instance,
                database=each.database,
                name=each.name,
                tier=each.tier,
                model=each.model,
                window=windows[key],
                forecasts=judged[key].forecasts,
                ledger=entries[key],
                findings=findings,
                verdict=_verdict(judged[key], entries[key], findings, blind=each.computer in blind),
                slot=slots.get(key),
            )
        )
    return tuple(made)


def _known_now(findings: Sequence[Finding], *, blind: bool) -> list[Finding]:
    """Drop findings that may be over where the logs are not read to their end."""
    return [each for each in findings if not blind or each.finding not in IN_THE_LOG]


def _verdict(judged: Judged, entry: Ledger, findings: Sequence[Finding], *, blind: bool) -> Verdict:
    of = judged.history
    return verdict(
        trouble(of.bad_pages, of.damage, of.failed, judged.forecasts),
        {found.finding for found in findings},
        unproven=of.tier == "watched" and bool(why_unverified(of.model, entry)),
        blind=blind,
    )


def _findings(
    of: History, entry: Ledger, others: Sequence[Finding], now: float
) -> tuple[Finding, ...]:
    bad = investigate(of.bad_pages, of.damage, of.io_errors, now)
    failed = (engine_failure(of.reported),) if of.reported else ()
    unexplained = (unexplained_error(of.unexplained),) if of.unexplained else ()
    verdict = of.copy_verdict
    refused = verdict is not None and verdict.is_restorable() is False
    return (
        *((bad,) if bad else ()),
        *((not_restorable(verdict.time, verdict.reason),) if verdict and refused else ()),
        *damage_findings(of.damage),
        *server_notices(of.notices),
        *failed,
        *entry.findings,
        *others,
        *unexplained,
    )


def _forecasts(of: History, policy: Policy, allowed: Deadline, now: float) -> tuple[Forecast, ...]:
    within = _defrag_within(of, policy)
    course = Course(
        passes=of.defrag_passes,
        runs=of.defrag_runs,
        window=of.window,
        pages=of.pages,
        sizes=of.sizes,
        gaps=of.event_gaps,
        deadline=at_work_until(
            defrag_deadline(of.defrag_passes, within, of.role_changes), within or 0.0, of.off, now
        ),
    )
    scan = course._replace(
        passes=of.checksum_passes,
        runs=of.scan_runs,
        marks=of.marks,
        deadline=at_work_until(
            scan_deadline(of.checksum_passes, allowed.seconds), allowed.seconds, of.off, now
        ),
    )
    return forecast("defrag", course, now), forecast("checksum", scan, now)


def _defrag_within(of: History, policy: Policy) -> float | None:
    """Seconds in which online defragmentation should complete, None without a limit.

    A passive copy is not defragmented: it replays what the active one did.
    """
    if of.model == "window":
        return None if of.role == "passive" else policy.defrag_complete_within
    return allowed_seconds(of) if of.model == "garbage_collection" else None


def _staggered(
    state: State,
    settings: Settings,
    known: Mapping[DatabaseKey, History],
    entries: Mapping[DatabaseKey, Ledger],
    now: float,
) -> tuple[dict[DatabaseKey, list[Finding]], dict[DatabaseKey, ScanSlot]]:
    """Colliding scans, and a schedule that separates them.

    A schedule is for devices on which scans collided: elsewhere nothing needs to change.
    """
    scans = [each for each in scans_in(state, settings, stale_seconds) if each.key in known]
    tasks: dict[DatabaseKey, Mapping[str, TaskView]] = {}

    def passes(key: DatabaseKey) -> Sequence[Pass]:
        tasks[key] = views_in(state, state.databases[key])
        return tasks[key]["checksum"].passes

    collided = collisions_found(scans, passes, now)
    findings = {key: [finding] for key, finding in collided.items()}
    disks = {each.disks for each in scans if each.key in collided}
    crowded = [each for each in scans if each.disks in disks]
    slots = {}
    for plan in _plans(crowded, known, entries, tasks, now):
        slots.update({slot.key: slot for slot in plan.slots})
        for left in plan.unplaced:
            if left.finding is not None:
                findings.setdefault(left.key, []).append(left.finding)
    return findings, slots


def _plans(
    crowded: Sequence[Scans],
    known: Mapping[DatabaseKey, History],
    entries: Mapping[DatabaseKey, Ledger],
    tasks: Mapping[DatabaseKey, Mapping[str, TaskView]],
    now: float,
) -> list[Schedule]:
    candidates = []
    for each in crowded:
        last = entries[each.key].last
        scan, defrag = tasks[each.key]["checksum"], tasks[each.key]["defrag"]
        candidates.append(
            Candidate(
                key=each.key,
                disks=each.disks,
                model=known[each.key].model,
                window=known[each.key].window,
                defragmented=bool(defrag.passes or defrag.current),
                verified=last.time if last is not None else None,
                scan_seconds=[
                    done.work_seconds
                    for done in scan.passes
                    if done.outcome == "completed" and done.work_seconds is not None
                ],
            )
        )
    return schedules(candidates, now)
