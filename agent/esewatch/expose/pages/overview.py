"""The figures of the status page and of `/api/v1/databases`, most urgent database first.

A pure function of (state, settings, now), like the metrics.
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from esewatch import __version__
from esewatch.advice.advise import Advice
from esewatch.advice.base.finding import Finding
from esewatch.advice.base.maintenance_model import Model
from esewatch.advice.base.staleness import stale_seconds
from esewatch.advice.findings.scan_collisions import Scans, colliding_scans, scans_in
from esewatch.advice.forecast.verdict import (
    AT_RISK,
    UNKNOWN,
    UNVERIFIED,
    VERDICTS,
    Verdict,
    blind_computers,
    trouble,
)
from esewatch.advice.history.attached import attached
from esewatch.advice.history.derived import AllDerived, Derived, derived
from esewatch.advice.history.ledger import NO_VERIFICATION, why_unverified
from esewatch.advice.history.pass_views import failed_tasks
from esewatch.config import Settings, policy_for
from esewatch.expose.formatting import tidy
from esewatch.expose.pages.checkdb_table import CheckdbRow, checked_databases
from esewatch.expose.pages.hidden_counters import Hidden, hidden_counters
from esewatch.expose.pages.problems.database_problems import Known
from esewatch.expose.pages.problems.problem import Problem
from esewatch.expose.pages.problems.problems import diagnose
from esewatch.expose.pages.ratio import Ratio, judged_ratio
from esewatch.expose.pages.summary import Summary, blind_places
from esewatch.expose.pages.verdict_reasons import Grounds, judged
from esewatch.fold.databases.integrity import count_pages
from esewatch.fold.identity.dropped_names import long_paths
from esewatch.fold.identity.owners import instance_key, instance_label
from esewatch.fold.passes.passes import TASKS, TaskSummary
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import BadPage, Database, Instance, SourceState, State

MAX_LISTED = 100
"""Bad pages named for one database in `/api/v1/databases`; the page to acknowledge is there."""

Status = Literal["bad", "attention", "ok"]
_STATUS: Mapping[Verdict, Status] = {"bad_pages": "bad", "ok": "ok"}
_TIER_ORDER = ("watched", "observed", "ignored")


class DatabaseFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One database. Times are epoch seconds; None is unknown or never."""

    computer: str
    database: str
    """The label, the same as in the metrics."""
    name: str
    path: str
    ese_instance: str
    shares_instance: int
    """Databases of its instance, itself included: the ratio is theirs together."""
    tier: str
    model: str
    role: str
    generation: str
    status: Status
    """The short verdict: attention is everything between bad pages and ok."""
    verdict: Verdict | None
    """Its urgency; None for an ignored one."""
    stale: str
    """Reason why its data may be old, whatever the verdict: a source of its computer is behind.
    Empty where none is.
    """
    reasons: tuple[str, ...]
    running: tuple[str, ...]
    """Tasks that are running."""
    interrupted: Mapping[str, int]
    """By task: number of interruptions of the open pass, where there were any."""
    collisions: tuple[str, ...]
    """Databases that were scanned at the same time on the same disks."""
    last_defrag: float | None
    last_checksum: float | None
    ratio: Ratio | None
    """None unless the model is `window`: no other model is judged by it."""
    bad_pages: Mapping[str, int]
    """Unresolved bad pages by kind."""
    bad_page_list: tuple[BadPage, ...]
    """The first 100 of them, the youngest error first."""
    verified: Mapping[str, float]
    """By verifier."""
    verification_deadline: float | None
    """Seconds after which a verification is too old.

    None without advice, where the limit is unknown, and where there is none: unless it is watched
    and a verification is expected of it.
    """
    size_bytes: float | None
    free_bytes: float | None
    advice: Advice | None
    """None where none was asked for, or none is made yet."""

    @property
    def last_verified(self) -> float | None:
        """Last time at which every page was proven good, by any verifier."""
        return max(self.verified.values(), default=None)

    @property
    def bad(self) -> int:
        """Known bad pages that are not corrected."""
        return sum(self.bad_pages.values()) - self.bad_pages.get("corrected", 0)

    @property
    def behind(self) -> bool:
        """True if a source of its computer is behind."""
        return bool(self.stale)

    @property
    def unlimited(self) -> bool:
        """True if it is watched, and no verification is expected of it."""
        judged = self.tier == "watched" and self.advice is not None
        return judged and self.verification_deadline is None


class SourceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One source."""

    name: str
    up: bool
    caught_up: bool
    records: int
    unreadable: int
    missed: int
    last_record: float | None
    backlog_bytes: int
    computers: tuple[str, ...]


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """All that the status page shows. `ignored` counts databases that it leaves out."""

    now: float
    version: str
    databases: tuple[DatabaseFigures, ...]
    sources: tuple[SourceFigures, ...]
    hidden: tuple[Hidden, ...]
    problems: tuple[Problem, ...]
    """Missing data, and the fix."""
    fleet: Summary
    checks: tuple[CheckdbRow, ...]
    """The databases of SQL Server, worst first."""
    ignored: int
    dropped: int
    """Names beyond `max_databases`."""
    long_paths: int
    """Databases that were left out because their path is too long."""
    advice: tuple[Advice, ...]
    """Of all databases that are not ignored, by computer and database."""


def overview(
    state: State,
    settings: Settings,
    now: float,
    advice: tuple[Advice, ...] = (),
    known: AllDerived | None = None,
    *,
    moments: Mapping[str, float] | None = None,
) -> Overview:
    """The figures of all databases that are not ignored, and of ignored ones with damage.

    `advice` is their advice, as of `now` or shortly before. `known` is the result of `derived` for
    the same state, where it is at hand. `moments`: by computer, as of when its databases are shown
    in place of `now`.
    """
    known = known or derived(state, settings)
    times = moments or {}
    found = _all_figures(state, settings, lambda each: times.get(each, now), advice, known)
    shown = sorted(
        (key for key, each in found.items() if each.tier != "ignored" or each.bad_pages),
        key=lambda key: _worst_first(found[key]),
    )
    databases = tuple(found[key] for key in shown)
    hidden = hidden_counters(state)
    too_long = long_paths(state)
    return Overview(
        now=now,
        version=__version__,
        databases=databases,
        sources=tuple(_source(source) for _, source in sorted(state.sources.items())),
        hidden=hidden,
        problems=diagnose(
            state,
            settings,
            now,
            [_known(state.databases[key], known.databases[key], found[key]) for key in shown],
            hidden,
        ),
        fleet=_fleet(databases, state),
        checks=checked_databases(
            state, settings, now, blind=blind_computers(state.sources.values())
        ),
        ignored=len(found) - len(shown),
        dropped=state.databases_dropped - len(too_long),
        long_paths=len(too_long),
        advice=advice,
    )


def _known(database: Database, facts: Derived, figures: DatabaseFigures) -> Known:
    return Known(
        database=database,
        tier=facts.tier,
        member=facts.member,
        verified=bool(figures.verified),
        unlogged=facts.unlogged,
    )


def _fleet(databases: Iterable[DatabaseFigures], state: State) -> Summary:
    found = [each for each in databases if each.verdict is not None]
    names = [
        (each, {said.finding for said in each.advice.findings}) for each in found if each.advice
    ]
    sources = state.sources.values()
    unknown = (each.computer for each, findings in names if UNKNOWN in findings)
    blind = blind_places(blind_computers(sources), unknown, sources)
    return Summary(
        bad=sum(each.verdict == "bad_pages" for each in found),
        unverified=sum(not UNVERIFIED.isdisjoint(findings) for _, findings in names),
        writes_at_risk=sum(AT_RISK in findings for _, findings in names),
        blind=tuple(each._replace(name=tidy(each.name), why=tidy(each.why)) for each in blind),
    )


def _all_figures(
    state: State,
    settings: Settings,
    moment: Callable[[str], float],
    advice: Iterable[Advice],
    known: AllDerived,
) -> dict[DatabaseKey, DatabaseFigures]:
    """The figures of every database, by its key; `moment` of a computer: as of when."""
    scans: dict[float, list[Scans]] = {}
    for each in scans_in(state, settings, stale_seconds):
        if known.databases[each.key].tier != "ignored":
            scans.setdefault(moment(each.key[0]), []).append(each)
    collisions = ChainMap(*(colliding_scans(those, time) for time, those in scans.items()))
    blind = blind_computers(state.sources.values())
    advised = {(each.computer, each.database): each for each in advice}
    beside = attached(state.databases.values())
    return {
        key: _figures(
            database,
            known.databases[key],
            _Beside(
                instance=state.instances.get(instance_key(database)),
                shares_instance=len(beside[instance_key(database)]),
                collisions=collisions.get(key, ()),
                blind=blind.get(database.computer, ""),
                advice=advised.get(key),
            ),
            settings,
            moment(database.computer),
        )
        for key, database in state.databases.items()
    }


def _worst_first(figures: DatabaseFigures) -> tuple[int, int, int, float, str, str]:
    return (
        VERDICTS.index(figures.verdict) if figures.verdict else len(VERDICTS),
        _TIER_ORDER.index(figures.tier),
        -sum(figures.bad_pages.values()),
        figures.last_verified or 0.0,
        figures.computer,
        figures.database,
    )


class _Beside(NamedTuple):
    """Facts about a database from the rest of the state.

    `collisions` names databases that were scanned at the same time on the same disks. `blind` says
    why the data of its computer may be old, empty when they are not.
    """

    instance: Instance | None
    shares_instance: int
    collisions: tuple[str, ...]
    blind: str
    advice: Advice | None


def _unproven(facts: Derived, model: Model, advice: Advice | None) -> str:
    if facts.tier != "watched":
        return ""
    if advice is not None:
        return why_unverified(model, advice.ledger)
    return "" if facts.verified or model == "garbage_collection" else NO_VERIFICATION


def _figures(
    database: Database, facts: Derived, beside: _Beside, settings: Settings, now: float
) -> DatabaseFigures:
    instance, views, standing = beside.instance, facts.views, facts.bad_pages
    damage = known_damage(database, facts.told.damage)
    model = facts.member.model
    policy = policy_for(settings, database.database, database.computer)
    forecasts = beside.advice.forecasts if beside.advice else ()
    urgency, reasons = judged(
        trouble(standing, damage, failed_tasks(views, database.acknowledged), forecasts),
        Grounds(standing, damage, beside.collisions, beside.blind, _findings(beside.advice)),
        unproven=_unproven(facts, model, beside.advice),
    )
    stale = stale_seconds(database, settings)
    return DatabaseFigures(
        computer=tidy(database.computer),
        database=tidy(database.database),
        name=tidy(facts.member.name),
        path=tidy(database.path or database.database),
        ese_instance=tidy(instance.ese_instance if instance else instance_label(database)),
        shares_instance=beside.shares_instance,
        tier=facts.tier,
        model=model,
        role=tidy(facts.member.role),
        generation=tidy(database.generation),
        status=_STATUS.get(urgency, "attention"),
        verdict=urgency if facts.tier != "ignored" else None,
        stale=beside.blind,
        reasons=reasons,
        running=tuple(task for task in TASKS if views[task].running(now, stale)),
        interrupted=_interruptions(views),
        collisions=tuple(tidy(name) for name in beside.collisions),
        last_defrag=_last_completion(views["defrag"]),
        last_checksum=_last_completion(views["checksum"]),
        ratio=judged_ratio(instance, policy, beside.advice) if model == "window" else None,
        bad_pages=_by_kind(standing),
        bad_page_list=tuple(sorted(standing, key=lambda bad: -bad.last)[:MAX_LISTED]),
        verified=dict(sorted(facts.verified.items())),
        verification_deadline=_allowed(beside.advice) if facts.tier == "watched" else None,
        size_bytes=database.size_bytes,
        free_bytes=database.free_bytes,
        advice=beside.advice,
    )


def _findings(advice: Advice | None) -> Sequence[Finding]:
    return advice.findings if advice is not None else ()


def _allowed(advice: Advice | None) -> float | None:
    return advice.ledger.limit if advice is not None else None


def _by_kind(standing: Sequence[BadPage]) -> dict[str, int]:
    kinds = sorted({bad.kind for bad in standing})
    return {kind: count_pages(bad for bad in standing if bad.kind == kind) for kind in kinds}


def _last_completion(view: TaskSummary) -> float | None:
    return view.last_completed.ended if view.last_completed is not None else None


def _interruptions(views: Mapping[str, TaskSummary]) -> dict[str, int]:
    return {
        task: current.interruptions
        for task in TASKS
        if (current := views[task].current) is not None and current.interruptions
    }


def _source(source: SourceState) -> SourceFigures:
    return SourceFigures(
        name=tidy(source.name),
        up=source.up,
        caught_up=source.caught_up,
        records=source.records,
        unreadable=source.unreadable,
        missed=source.missed,
        last_record=source.last_record or None,
        backlog_bytes=source.backlog_bytes,
        computers=tuple(tidy(computer) for computer in source.computers),
    )
