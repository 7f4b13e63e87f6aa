"""All advice for every database as of one moment: the judgements put together.

The command, the HTTP interface and the metrics show the result of `advise` and judge nothing.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

import msgspec

from esewatch.advice.base.finding import (
    IN_THE_LOG,
    PERSON,
    Detail,
    Finding,
    damage_findings,
    engine_failure,
    investigate,
    not_restorable,
    ranked,
    restored_unproven,
    server_notices,
    unexplained_error,
)
from esewatch.advice.base.time_at_work import DAY
from esewatch.advice.findings.backups import (
    Kept,
    missing_backups,
    missing_restorable_copy,
    slowing_backups,
)
from esewatch.advice.findings.details import Around, LoneInstance, failing_devices, of_database
from esewatch.advice.findings.maintenance import (
    LatePasses,
    found_in_window,
    late_passes,
    stalled_scan,
    switched_off,
)
from esewatch.advice.findings.risk import at_risk, most_buckets, small_caches
from esewatch.advice.findings.scan_collisions import (
    Candidate,
    Scans,
    ScanSlot,
    Schedule,
    colliding_scans,
    collisions_found,
    scans_in,
    schedules,
)
from esewatch.advice.findings.silence import Silences, hearings, silences
from esewatch.advice.forecast.forecast import (
    PAST,
    Course,
    Forecast,
    at_work_until,
    defrag_deadline,
    forecast,
    scan_deadline,
    unless_past,
    withdrawn,
)
from esewatch.advice.history.derived import AllDerived, Derived, derived
from esewatch.advice.history.history import Gathering, History, as_copy, outline
from esewatch.advice.history.ledger import (
    NO_VERIFICATION,
    Copy,
    Deadline,
    Ledger,
    ledgers,
    verification_deadline,
)
from esewatch.advice.judgement import (
    HEALTHY,
    Judgement,
    blind_computers,
    reasons_of,
    trouble,
    verdict,
)
from esewatch.advice.window.ratio import judged_ratio, ratio_drift
from esewatch.advice.window.window import (
    WindowAdvice,
    allowed_seconds,
    instance_advice,
    overdue_defrag,
    window_advice,
)
from esewatch.config import Policy, Settings, policy_for
from esewatch.fold.identity.identity import device_of
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.instances.engine_errors import Dealt, acknowledgements
from esewatch.fold.passes.passes import TaskView, views_in
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Pass, State

Told = TypeVar("Told", Finding, Detail)


def needs_a_person(advice: Iterable[Judgement | LoneInstance]) -> bool:
    """True if a verdict asks for one (semantics.md 5a), or a finding of an instance, which has
    none."""
    return any(
        each.verdict not in HEALTHY
        if isinstance(each, Judgement)
        else any(found.finding in PERSON for found in each.findings)
        for each in advice
    )


def advise(state: State, settings: Settings, now: float) -> tuple[Judgement, ...]:
    """The advice as of `now` (epoch seconds, finite): one each, by computer and database.

    Databases of the tier `ignored` have none.
    """
    return together(state, settings, judge_each(state, settings, lambda _: now).judged, now)


def without_past(advice: Iterable[Judgement], now: float) -> tuple[Judgement, ...]:
    """The advice without forecasts that are over at `now`: of old logs it is as of their end."""
    return tuple(
        msgspec.structs.replace(
            each, forecasts=tuple(unless_past(told, now) for told in each.forecasts)
        )
        for each in advice
    )


class Judged(NamedTuple):
    """The judgement of a database from its own history, without the databases beside it. `history`
    is its outline, and `copy` has its deadline in place of its scans."""

    history: History
    copy: Copy
    window: WindowAdvice
    forecasts: tuple[Forecast, ...]
    findings: tuple[Finding, ...]
    late: LatePasses
    details: tuple[Detail, ...]


class Judging(NamedTuple):
    """The facts of the databases of a state, and the judgement of each by itself."""

    derived: AllDerived
    judged: Mapping[DatabaseKey, Judged]


def judge_each(state: State, settings: Settings, moment: Callable[[str], float]) -> Judging:
    """Judge all databases but the ignored ones. `moment` of a computer: as of when (epoch seconds,
    finite)."""
    gathering, judged = Gathering.of(state, settings), dict[DatabaseKey, Judged]()
    silent: dict[float, Silences] = {}

    def take(key: DatabaseKey, facts: Derived, views: Mapping[str, TaskView] | None) -> None:
        if facts.tier != "ignored":
            policy, now = policy_for(settings, key[1], key[0]), moment(key[0])
            if now not in silent:
                silent[now] = silences(hearings(state, settings, now))
            held = silent[now].held(state.databases[key], now)
            judged[key] = judge(gathering.history(facts, views), policy, now, held)

    known = derived(state, settings, take=take)
    return Judging(known, dict(sorted(judged.items())))


def judge(of: History, policy: Policy, now: float, held: float) -> Judged:
    """The expensive part of the advice: milliseconds for each database. What is missing is judged
    as of `held`."""
    copy = as_copy(of, policy)
    deadline = verification_deadline(copy)
    window = window_advice(of, policy, now)
    missing = (stalled_scan(of, held), switched_off(of, held), overdue_defrag(of, held))
    beside = (ratio_drift(of, now), missing_restorable_copy(of, policy, held))
    forecasts = _forecasts(of, policy, deadline, now)
    # A forecast moves with time alone: while nothing is heard, what is late stays as it was.
    then = forecasts if held == now else _forecasts(of, policy, deadline, held)
    late = late_passes(of, then, held)
    if of.heard and of.heard[-1][1] < now - DAY:
        # What should have ended since may have.
        expected = _forecasts(of, policy, deadline, of.heard[-1][1])
        forecasts = tuple(
            told if unless_past(before, now) is before else withdrawn(told, PAST)
            for told, before in zip(forecasts, expected, strict=True)
        )
    return Judged(
        outline(of),
        msgspec.structs.replace(copy, scans=(), deadline=deadline),
        window,
        forecasts,
        (*found_in_window(of, window.rule, now), *filter(None, missing)),
        late,
        tuple(filter(None, beside)),
    )


def together(
    state: State,
    settings: Settings,
    judged: Mapping[DatabaseKey, Judged],
    now: float,
    *,
    as_of: float | None = None,
) -> tuple[Judgement, ...]:
    """The advice of the databases of `state` that were `judged`, with the effects of the databases
    on each other. `as_of`: `now` as it is told, where that is no plain number (`validity`)."""
    judged = {key: each for key, each in judged.items() if key in state.databases}
    known = {key: each.history for key, each in judged.items()}
    silent = silences(hearings(state, settings, now))
    unheard = {key: silent.of(state.databases[key]) for key in judged}
    begins = [None if each is None else each.silent_from for each in unheard.values()]
    copies = [each.copy for each in judged.values()]
    entries = dict(zip(judged, ledgers(copies, now, begins), strict=True))
    windows = instance_advice(known, {key: each.window for key, each in judged.items()}, now)
    staggered = _staggered(state, settings, known, entries, now)
    kept = {}
    for key, each in judged.items():
        held = silent.held(state.databases[key], now)
        held = min(held, each.history.unread_since or held)
        kept[key] = Kept(each.copy, each.history, policy_for(settings, key[1], key[0]), held)
    slow, small = slowing_backups(state, known, now), small_caches(state, settings, known, now)
    for key, finding in chain(slow.items(), small.items()):
        staggered.findings.setdefault(key, []).append(finding)
    beside = _Beside(
        state,
        settings,
        entries,
        windows,
        staggered,
        missing_backups(kept, now),
        {key: each.finding for key, each in unheard.items() if each is not None},
        blind_computers(state.sources.values()),
        failing_devices(known.values(), _devices(state, settings, known), now),
        acknowledgements(state.databases.values()),
        most_buckets((state.databases[key] for key in known), settings),
    )
    return tuple(
        _one(key, judged[key], beside, now, now if as_of is None else as_of) for key in known
    )


class _Staggered(NamedTuple):
    findings: dict[DatabaseKey, list[Finding]]
    collisions: Mapping[DatabaseKey, tuple[str, ...]]
    slots: Mapping[DatabaseKey, ScanSlot]


class _Beside(NamedTuple):
    state: State
    settings: Settings
    entries: Mapping[DatabaseKey, Ledger]
    windows: Mapping[DatabaseKey, WindowAdvice]
    staggered: _Staggered
    unsaved: Mapping[DatabaseKey, Detail]
    silent: Mapping[DatabaseKey, Finding]
    blind: Mapping[str, str]
    failing: Collection[DatabaseKey]
    acknowledged: Callable[[tuple[str, str]], Dealt]
    most_buckets: Mapping[tuple[str, str], int]


def _one(key: DatabaseKey, own: Judged, beside: _Beside, now: float, as_of: float) -> Judgement:
    state, settings = beside.state, beside.settings
    of, entry, window = own.history, beside.entries[key], beside.windows[key]
    database, owner = state.databases[key], instance_key(state.databases[key])
    instance, stale = state.instances.get(owner), beside.blind.get(of.computer, "")
    risk = None
    if of.tier == "watched":
        dealt, most = beside.acknowledged(owner), beside.most_buckets.get(owner)
        risk = at_risk(instance, dealt, most, now, database)
    told = (*own.findings, *beside.staggered.findings.get(key, ()), *filter(None, (risk,)))
    silent = (beside.silent[key],) if key in beside.silent else ()
    findings = _findings(of, entry, (*_certain(told, stale), *silent), now)
    more = _certain((*own.details, *filter(None, (beside.unsaved.get(key),))), stale)
    failing = key in beside.failing
    around = Around(database, instance, entry, failing, own.late, findings, window.changed, more)
    policy, is_window = policy_for(settings, key[1], key[0]), of.model == "window"
    troubles = trouble(of.bad_pages, of.damage, of.failed, own.forecasts)
    unproven = "" if entry.last is not None else NO_VERIFICATION
    return Judgement(
        computer=of.computer,
        ese_instance=of.ese_instance,
        database=of.database,
        name=of.name,
        tier=of.tier,
        model=of.model,
        window=window,
        forecasts=tuple(map(withdrawn, own.forecasts)) if silent else own.forecasts,
        ledger=entry,
        as_of=as_of,
        overdue=entry.expected and entry.due is not None and now > entry.due,
        findings=findings,
        verdict=verdict(troubles, findings, unproven=bool(unproven), blind=bool(stale)),
        reasons=reasons_of(troubles, findings, unproven=unproven, stale=stale),
        stale=stale,
        details=of_database(of, around, now),
        ratio=judged_ratio(instance, policy, window) if is_window else None,
        collisions=beside.staggered.collisions.get(key, ()),
        slot=beside.staggered.slots.get(key),
    )


def _certain(findings: Sequence[Told], stale: str) -> list[Told]:
    """Some may be over where the logs are not read to their end."""
    over = IN_THE_LOG if stale else frozenset()
    return [found for found in findings if found.finding not in over]


def _findings(
    of: History, entry: Ledger, others: Sequence[Finding], now: float
) -> tuple[Finding, ...]:
    copy = of.copy_verdict
    refused = copy is not None and copy.is_restorable() is False
    found = (
        investigate(
            of.bad_pages,
            of.damage,
            of.io_errors,
            now,
            of.bad_in_header,
            database=of.database,
            proof=entry.last,
        ),
        restored_unproven(of.restored_pages, of.restored) if of.restored_pages else None,
        not_restorable(copy.time, copy.reason) if copy and refused else None,
        *damage_findings(of.damage),
        *server_notices(of.notices),
        engine_failure(of.reported) if of.reported else None,
        *entry.findings,
        *others,
        unexplained_error(of.unexplained) if of.unexplained else None,
    )
    return ranked(filter(None, found), watched=of.tier == "watched")


def _forecasts(of: History, policy: Policy, allowed: Deadline, now: float) -> tuple[Forecast, ...]:
    within = allowed_seconds(of) if of.model == "garbage_collection" else None
    if of.model == "window" and of.role != "passive":  # that replays what the active one did
        within = policy.defrag_complete_within
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


def _devices(
    state: State, settings: Settings, known: Mapping[DatabaseKey, History]
) -> dict[DatabaseKey, str]:
    found = {}
    for key, each in known.items():
        if any(page.kind == "corrected" for page in each.bad_pages):
            host = state.hosts.get(key[0])
            volumes = host.volumes if host is not None else {}
            if (device := device_of(state.databases[key], volumes, settings)) is not None:
                found[key] = device
    return found


def _staggered(
    state: State,
    settings: Settings,
    known: Mapping[DatabaseKey, History],
    entries: Mapping[DatabaseKey, Ledger],
    now: float,
) -> _Staggered:
    """Colliding scans, and a schedule that separates them. A schedule is for devices on which scans
    collided: elsewhere nothing needs to change."""
    scans = [each for each in scans_in(state, settings) if each.key in known]
    tasks: dict[DatabaseKey, Mapping[str, TaskView]] = {}

    def passes(key: DatabaseKey) -> Sequence[Pass]:
        tasks[key] = views_in(state, state.databases[key])
        return tasks[key]["checksum"].passes

    colliding = colliding_scans(scans, now)
    collided = collisions_found(scans, colliding, passes, now)
    findings = {key: [finding] for key, finding in collided.items()}
    disks = {each.disks for each in scans if each.key in collided}
    crowded = [each for each in scans if each.disks in disks]
    slots = {}
    for plan in _plans(crowded, known, entries, tasks, now):
        slots.update({slot.key: slot for slot in plan.slots})
        for left in plan.unplaced:
            if left.finding is not None:
                findings.setdefault(left.key, []).append(left.finding)
    return _Staggered(findings, colliding, slots)


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
