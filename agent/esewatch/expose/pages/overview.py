"""The figures of the status page and of `/api/v1/databases`, most urgent database first, and the
four numbers at its top. A pure function of (state, settings, now), like the metrics."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from esefiles import __version__
from esewatch.advice.advise import advise
from esewatch.advice.base.finding import latest_proof
from esewatch.advice.base.time_at_work import stale_seconds
from esewatch.advice.checkdb import CheckdbJudgement, judged_checks
from esewatch.advice.findings.silence import last_records
from esewatch.advice.history.derived import AllDerived, Derived, LeftOut, derived, leaving_out
from esewatch.advice.history.history import members
from esewatch.advice.judgement import (
    HEALTHY,
    VERDICTS,
    Judgement,
    Verdict,
    at_first_sight,
    blind_computers,
)
from esewatch.advice.not_judged import Basis, Blind, basis, blind_places
from esewatch.advice.window.ratio import Ratio
from esewatch.config import Settings
from esewatch.expose.formatting import tidy
from esewatch.expose.pages.problems.problem import Problem
from esewatch.expose.pages.problems.problems import Hidden, Known, diagnose, hidden_counters
from esewatch.fold.databases.integrity import count_pages
from esewatch.fold.identity.entities import long_paths
from esewatch.fold.identity.owners import instance_key, instance_label
from esewatch.fold.passes.passes import TASKS, TaskSummary
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import BadPage, Database, Instance, SourceState, State

MAX_LISTED = 100
"""Bad pages named for one database in `/api/v1/databases`; the page to acknowledge is there."""

TILES: Mapping[Verdict, tuple[str, str]] = {
    "bad_pages": ("copy with bad pages or damage", "copies with bad pages or damage"),
    "unverified": (
        "copy unverified beyond its deadline",
        "copies unverified beyond their deadline",
    ),
    "unproven": (
        "copy never verified, and nothing asks for it",
        "copies never verified, and nothing asks for it",
    ),
    "writes_at_risk": (
        "database refusing writes, or about to",
        "databases refusing writes, or about to",
    ),
    "blind": ("host with missing or stale data", "hosts with missing or stale data"),
}
"""The words of one and of many, on dashboards too."""


class Tile(NamedTuple):
    name: Verdict
    number: int
    of: int
    """Databases that it was judged of."""

    @property
    def over_nothing(self) -> bool:
        return not (self.number or self.of)

    @property
    def many(self) -> str:
        return TILES[self.name][1]

    @property
    def words(self) -> str:
        return TILES[self.name][0] if self.number == 1 else self.many


class Summary(NamedTuple):
    """Watched and observed databases by problem; one with two problems counts in both."""

    bad: int
    """With known bad pages that are not corrected, or damage that is as urgent."""
    unverified: int
    """Never verified, or not within their deadline."""
    writes_at_risk: int
    blind: tuple[Blind, ...]
    """By name."""
    basis: Basis
    """The databases that a zero of these stands for."""

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """Bad pages are judged of what was verified; a deadline where a verification is asked
        for, else the tile tells what nobody ever verified."""
        heard, proven, unproven = self.basis[:3]
        late = Tile("unverified", self.unverified, heard - unproven)
        if unproven and late.over_nothing:
            late = Tile("unproven", unproven, unproven)
        return (
            Tile("bad_pages", self.bad, proven),
            late,
            Tile("writes_at_risk", self.writes_at_risk, heard),
            Tile("blind", len(self.blind), heard),
        )


Status = Literal["bad", "attention", "unproven", "ok"]
_STATUS: Mapping[Verdict, Status] = {"bad_pages": "bad", "unproven": "unproven", "ok": "ok"}
_TIER_ORDER = ("watched", "observed", "ignored")


class DatabaseFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One database. Times are epoch seconds; None is unknown or never."""

    computer: str
    database: str
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
    """The short verdict: attention is everything between bad pages and unproven."""
    verdict: Verdict | None
    """Its urgency; None for an ignored one."""
    stale: str
    """Reason why its data may be old, whatever the verdict: a source of its computer is behind.
    Empty where none is."""
    reasons: tuple[str, ...]
    running: tuple[str, ...]
    interrupted: Mapping[str, int]
    """By task: number of interruptions of the open pass, where there were any."""
    collisions: tuple[str, ...]
    """Databases that were scanned at the same time on the same disks."""
    last_defrag: float | None
    last_checksum: float | None
    ratio: Ratio | None
    """None unless the model is `window`: no other model is judged by it."""
    bad_pages: Mapping[str, int]
    bad_page_list: tuple[BadPage, ...]
    """The first 100 of them, the youngest error first."""
    verified: Mapping[str, float]
    verification_deadline: float | None
    """Seconds after which a verification is too old. None without advice, where the limit is
    unknown, and where there is none: unless it is watched and a verification is expected of it."""
    size_bytes: float | None
    free_bytes: float | None
    advice: Judgement | None
    """None where none was asked for, or none is made yet."""

    @property
    def last_verified(self) -> float | None:
        return max(self.verified.values(), default=None)

    @property
    def bad(self) -> int:
        return sum(self.bad_pages.values()) - self.bad_pages.get("corrected", 0)

    @property
    def troubles(self) -> Collection[Verdict]:
        """All that it counts as; without advice what is known at first sight."""
        if self.advice is not None:
            return self.advice.troubles
        known: Mapping[Verdict, object] = {"blind": self.behind}
        return [each for each in VERDICTS if each == self.verdict or known.get(each)]

    @property
    def behind(self) -> bool:
        return bool(self.stale)

    @property
    def unlimited(self) -> bool:
        judged = self.tier == "watched" and self.advice is not None
        return judged and self.verification_deadline is None


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """All that the status page shows. `ignored` counts databases that it leaves out."""

    now: float
    version: str
    databases: tuple[DatabaseFigures, ...]
    sources: tuple[SourceState, ...]
    hidden: tuple[Hidden, ...]
    problems: tuple[Problem, ...]
    fleet: Summary
    heard: Mapping[str, float]
    """By computer with a database, its last record (epoch seconds)."""
    checks: tuple[CheckdbJudgement, ...]
    ignored: int
    dropped: int
    """Names beyond `max_databases`."""
    long_paths: int
    """Databases that were left out because their path is too long."""
    advice: tuple[Judgement, ...]
    """Of all databases that are not ignored, by computer and database."""


def overview(
    state: State,
    settings: Settings,
    now: float,
    advice: tuple[Judgement, ...] | None = None,
    known: AllDerived | None = None,
    *,
    moments: Mapping[str, float] | None = None,
    live: bool = True,
) -> Overview:
    """The figures of all databases that are not ignored, and of ignored ones with damage.

    `advice` are their judgements, as of `now` or shortly before; None: they are judged now. `known`
    is the result of `derived` for the same state, where it is at hand. `moments`: by computer, as
    of when its databases are shown in place of `now`. `live`: by an agent, not of named files.
    """
    if advice is None:
        advice = advise(state, settings, now)
    known = known or derived(state, settings)
    found = figures_of(state, settings, now, advice, known.databases, moments=moments)
    return assembled(state, settings, now, found, advice=advice, known=known.databases, live=live)


def assembled(
    state: State,
    settings: Settings,
    now: float,
    found: Mapping[DatabaseKey, DatabaseFigures],
    *,
    advice: tuple[Judgement, ...],
    known: Mapping[DatabaseKey, Derived],
    live: bool = True,
) -> Overview:
    """The overview of the databases with these figures, judgements and facts; see `overview`."""
    shown = sorted(
        (key for key, each in found.items() if each.tier != "ignored" or each.bad_pages),
        key=lambda key: _worst_first(found[key]),
    )
    databases = tuple(found[key] for key in shown)
    facts = [Known(state.databases[key], known[key]) for key in shown]
    hidden, too_long = hidden_counters(state), long_paths(state)
    return Overview(
        now=now,
        version=__version__,
        databases=databases,
        sources=tuple(
            msgspec.structs.replace(
                source, name=tidy(source.name), computers=list(map(tidy, source.computers))
            )
            for _, source in sorted(state.sources.items())
        ),
        hidden=hidden,
        problems=diagnose(state, settings, now, facts, hidden, advice=advice),
        fleet=_fleet(databases, state, settings, live=live),
        heard=last_records(state),
        checks=_checks(judged_checks(state, settings, now, live=live)),
        ignored=len(found) - len(shown),
        dropped=state.databases_dropped - len(too_long),
        long_paths=len(too_long),
        advice=advice,
    )


def _checks(judged: Iterable[CheckdbJudgement]) -> tuple[CheckdbJudgement, ...]:
    return tuple(
        msgspec.structs.replace(each, computer=tidy(each.computer), database=tidy(each.database))
        for each in judged
    )


def figures_of(
    state: State,
    settings: Settings,
    now: float,
    advice: Iterable[Judgement],
    known: Mapping[DatabaseKey, Derived],
    *,
    moments: Mapping[str, float] | None = None,
    left_out: LeftOut | None = None,
) -> dict[DatabaseKey, DatabaseFigures]:
    """The figures of each database; see `overview`."""
    blind = blind_computers(state.sources.values())
    advised = {(each.computer, each.database): each for each in advice}
    beside = members(state.databases.values(), state.instances)
    found = {}
    for key, database in state.databases.items():
        with leaving_out(key, left_out):
            around = _Beside(
                state.instances.get(instance_key(database)),
                len(beside[instance_key(database)].attached),
                blind.get(database.computer, ""),
                advised.get(key),
            )
            time = (moments or {}).get(database.computer, now)
            found[key] = _figures(database, known[key], around, settings, time)
    return found


def _fleet(
    databases: Sequence[DatabaseFigures], state: State, settings: Settings, *, live: bool
) -> Summary:
    troubles = [each.troubles for each in databases if each.verdict is not None]
    judged = [each.advice for each in databases if each.advice is not None]
    return Summary(
        bad=sum("bad_pages" in each for each in troubles),
        unverified=sum("unverified" in each for each in troubles),
        writes_at_risk=sum("writes_at_risk" in each for each in troubles),
        blind=tuple(
            Blind(tidy(name), tidy(why))
            for name, why in blind_places(judged, state.sources.values())
        ),
        basis=basis([(each.tier, each.advice) for each in databases], state, settings, live=live),
    )


def _worst_first(figures: DatabaseFigures) -> tuple[int, int, int, int, float, str, str]:
    """Of those that need nobody the watched ones come first."""
    rank = VERDICTS.index(figures.verdict) if figures.verdict else len(VERDICTS)
    return (
        VERDICTS.index("unproven") if figures.verdict in HEALTHY else rank,
        _TIER_ORDER.index(figures.tier),
        rank,
        -sum(figures.bad_pages.values()),
        figures.last_verified or 0.0,
        figures.computer,
        figures.database,
    )


class _Beside(NamedTuple):
    """Facts about a database from the rest of the state. `blind` says why the data of its computer
    may be old, empty when they are not."""

    instance: Instance | None
    shares_instance: int
    blind: str
    advice: Judgement | None


def _figures(
    database: Database, facts: Derived, beside: _Beside, settings: Settings, now: float
) -> DatabaseFigures:
    instance, shares_instance, blind, advice = beside
    views, standing = facts.views, facts.bad_pages
    if advice is not None:
        urgency, reasons, blind = advice.verdict, advice.reasons, advice.stale
    else:
        damage = known_damage(database, facts.told.damage, facts.told.around.mended)
        proof = latest_proof(facts.verified)
        urgency, reasons = at_first_sight(
            standing, damage, blind, database=database.database, proof=proof
        )
    stale = stale_seconds(database, settings)
    return DatabaseFigures(
        computer=tidy(database.computer),
        database=tidy(database.database),
        name=tidy(facts.member.name),
        path=tidy(database.path or database.database),
        ese_instance=tidy(instance.ese_instance if instance else instance_label(database)),
        shares_instance=shares_instance,
        tier=facts.tier,
        model=facts.member.model,
        role=tidy(facts.member.role),
        generation=tidy(database.generation),
        status=_STATUS.get(urgency, "attention"),
        verdict=urgency if facts.tier != "ignored" else None,
        stale=blind,
        reasons=tuple(tidy(reason) for reason in reasons),
        running=tuple(task for task in TASKS if views[task].running(now, stale)),
        interrupted={
            task: current.interruptions
            for task in TASKS
            if (current := views[task].current) is not None and current.interruptions
        },
        collisions=tuple(tidy(name) for name in advice.collisions) if advice else (),
        last_defrag=_last_completion(views["defrag"]),
        last_checksum=_last_completion(views["checksum"]),
        ratio=advice.ratio if advice else None,
        bad_pages={
            kind: count_pages(bad for bad in standing if bad.kind == kind)
            for kind in sorted({bad.kind for bad in standing})
        },
        bad_page_list=tuple(sorted(standing, key=lambda bad: -bad.last)[:MAX_LISTED]),
        verified=dict(sorted(facts.verified.items())),
        verification_deadline=advice.ledger.limit if advice and facts.tier == "watched" else None,
        size_bytes=database.size_bytes,
        free_bytes=database.free_bytes,
        advice=advice,
    )


def _last_completion(view: TaskSummary) -> float | None:
    return view.last_completed.ended if view.last_completed is not None else None
