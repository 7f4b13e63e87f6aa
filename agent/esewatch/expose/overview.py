"""The figures of the status page and of `/api/v1/databases`, worst database first.

A pure function of (state, settings, now), like the metrics.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import msgspec

from esewatch import __version__
from esewatch.advice.advise import Advice
from esewatch.advice.findings import Finding
from esewatch.advice.maintenance_model import maintenance_model
from esewatch.advice.stagger import colliding_scans, scans_in
from esewatch.advice.windows_passed import stale_seconds
from esewatch.config import Settings, policy_for
from esewatch.expose.ratio import Ratio, defrag_ratio
from esewatch.fold.backups import completed, verified_by_streaming
from esewatch.fold.identity import database_name, tier
from esewatch.fold.integrity import count_pages, known_bad_pages, last_verifications
from esewatch.fold.passes import TASKS, TaskView, derive
from esewatch.fold.state import UNLOCATED, BadPage, Database, Instance, SourceState, State

MAX_TEXT = 500
"""Longer names are cut: no real path is that long, and a page must stay small."""

MAX_LISTED = 100
"""Bad pages named for one database in `/api/v1/databases`; the page to acknowledge is there."""

Status = Literal["bad", "attention", "ok"]
_STATUS_ORDER: tuple[Status, ...] = ("bad", "attention", "ok")
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
    reasons: tuple[str, ...]
    running: tuple[str, ...]
    """Tasks at work now."""
    interrupted: Mapping[str, int]
    """By task: how often the pass that is open was interrupted, where it was."""
    collisions: tuple[str, ...]
    """Databases that were scanned at the same time on the same disks."""
    last_defrag: float | None
    last_checksum: float | None
    ratio: Ratio | None
    """None unless the model is `window`: nothing else is judged by it."""
    bad_pages: Mapping[str, int]
    """By kind, those that stand."""
    bad_page_list: tuple[BadPage, ...]
    """The first 100 of them, the youngest error first."""
    verified: Mapping[str, float]
    """By verifier."""
    size_bytes: float | None
    free_bytes: float | None
    advice: Advice | None
    """None where none was asked for, or none is made yet."""

    @property
    def last_verified(self) -> float | None:
        """When every page was last proven good, by whatever verifier."""
        return max(self.verified.values(), default=None)


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """A database's figures with what they were derived from."""

    figures: DatabaseFigures
    database: Database
    views: Mapping[str, TaskView]
    standing: list[BadPage]
    instance: Instance | None


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


class Hidden(msgspec.Struct, frozen=True, kw_only=True):
    """Counters that a computer's input does not expose."""

    computer: str
    counters: tuple[str, ...]


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """All that the status page shows. `ignored` counts databases that it leaves out."""

    now: float
    version: str
    databases: tuple[DatabaseFigures, ...]
    sources: tuple[SourceFigures, ...]
    hidden: tuple[Hidden, ...]
    ignored: int
    dropped: int
    advice: tuple[Advice, ...]
    """Of all databases that are not ignored, by computer and database."""


def overview(
    state: State, settings: Settings, now: float, advice: tuple[Advice, ...] = ()
) -> Overview:
    """The figures of all databases that are not ignored, and of ignored ones with damage.

    `advice` is what is advised of them, as of `now` or shortly before.
    """
    shown, ignored = all_details(state, settings, now, advice)
    return Overview(
        now=now,
        version=__version__,
        databases=tuple(details.figures for details in shown),
        sources=tuple(_source(source) for _, source in sorted(state.sources.items())),
        hidden=hidden_counters(state),
        ignored=ignored,
        dropped=state.databases_dropped,
        advice=advice,
    )


def all_details(
    state: State, settings: Settings, now: float, advice: Iterable[Advice] = ()
) -> tuple[list[Details], int]:
    """Every database that is shown, worst first, and how many ignored ones are left out."""
    streaming: dict[tuple[str, str], float] = {}
    for instance in state.instances.values():
        for label, time in verified_by_streaming(completed(instance.backup_events)).items():
            key = (instance.computer, label)
            streaming[key] = max(time, streaming.get(key, 0.0))
    collisions = colliding_scans(scans_in(state, settings, stale_seconds), now)
    advised = {(each.computer, each.database): each for each in advice}
    shares = Counter((db.computer, db.ese_instance.lower()) for db in state.databases.values())
    found = [
        _details(
            database,
            _Beside(
                instance=state.instances.get((database.computer, database.ese_instance.lower())),
                shares_instance=shares[database.computer, database.ese_instance.lower()],
                streaming=streaming.get(key),
                collisions=collisions.get(key, ()),
                advice=advised.get(key),
            ),
            settings,
            now,
        )
        for key, database in state.databases.items()
    ]
    shown = [each for each in found if each.figures.tier != "ignored" or each.standing]
    shown.sort(key=lambda each: _worst_first(each.figures))
    return shown, len(found) - len(shown)


def hidden_counters(state: State) -> tuple[Hidden, ...]:
    """By computer, the counters looked for and not found in its counter input."""
    return tuple(
        Hidden(computer=tidy(host.computer), counters=tuple(tidy(name) for name in names))
        for _, host in sorted(state.hosts.items())
        if (names := sorted(name for name, there in host.counters_present.items() if not there))
    )


def tidy(text: str) -> str:
    """`text` fit for any page: encodable, and cut where it is absurdly long."""
    if len(text) > MAX_TEXT:
        text = text[: MAX_TEXT - 1] + "…"
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _worst_first(figures: DatabaseFigures) -> tuple[int, int, int, float, str, str]:
    return (
        _STATUS_ORDER.index(figures.status),
        _TIER_ORDER.index(figures.tier),
        -sum(figures.bad_pages.values()),
        figures.last_verified or 0.0,
        figures.computer,
        figures.database,
    )


class _Beside(NamedTuple):
    """What the state knows of a database outside of it.

    `streaming` is the end of its last verifying streaming backup. `collisions` names
    databases that were scanned at the same time on the same disks.
    """

    instance: Instance | None
    shares_instance: int
    streaming: float | None
    collisions: tuple[str, ...]
    advice: Advice | None


def _details(database: Database, beside: _Beside, settings: Settings, now: float) -> Details:
    instance = beside.instance
    views = derive(database, instance.stops if instance else ())
    standing = known_bad_pages(database, views)
    verified = last_verifications(database, views)
    if beside.streaming is not None:
        verified["streaming_backup"] = max(beside.streaming, verified.get("streaming_backup", 0.0))
    model = maintenance_model(database, settings)
    policy = policy_for(settings, database.database, database.computer)
    standing_tier = tier(database, settings)
    unproven = standing_tier == "watched" and not verified
    status, reasons = _status(database, standing, views, beside, unproven=unproven)
    stale = stale_seconds(database, settings)
    figures = DatabaseFigures(
        computer=tidy(database.computer),
        database=tidy(database.database),
        name=tidy(database_name(database, settings)),
        path=tidy(database.path or database.database),
        ese_instance=tidy(instance.ese_instance if instance else database.ese_instance),
        shares_instance=beside.shares_instance,
        tier=standing_tier,
        model=model,
        role=tidy(database.role),
        generation=tidy(database.generation),
        status=status,
        reasons=reasons,
        running=tuple(task for task in TASKS if views[task].running(now, stale)),
        interrupted=_interruptions(views),
        collisions=tuple(tidy(name) for name in beside.collisions),
        last_defrag=_last_completion(views["defrag"]),
        last_checksum=_last_completion(views["checksum"]),
        ratio=defrag_ratio(instance, policy) if model == "window" else None,
        bad_pages=_by_kind(standing),
        bad_page_list=tuple(sorted(standing, key=lambda bad: -bad.last)[:MAX_LISTED]),
        verified=dict(sorted(verified.items())),
        size_bytes=database.size_bytes,
        free_bytes=database.free_bytes,
        advice=beside.advice,
    )
    return Details(
        figures=figures, database=database, views=views, standing=standing, instance=instance
    )


def _by_kind(standing: list[BadPage]) -> dict[str, int]:
    kinds = sorted({bad.kind for bad in standing})
    return {kind: count_pages(bad for bad in standing if bad.kind == kind) for kind in kinds}


def _last_completion(view: TaskView) -> float | None:
    return view.last_completed.ended if view.last_completed is not None else None


def _interruptions(views: Mapping[str, TaskView]) -> dict[str, int]:
    return {
        task: current.interruptions
        for task in TASKS
        if (current := views[task].current) is not None and current.interruptions
    }


def plural(count: int, one: str, many: str = "") -> str:
    """`1 page`, `2 pages`; thousands apart."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _status(
    database: Database,
    standing: list[BadPage],
    views: Mapping[str, TaskView],
    beside: _Beside,
    *,
    unproven: bool,
) -> tuple[Status, tuple[str, ...]]:
    bad = [page for page in standing if page.kind != "corrected"]
    reasons: list[str] = []
    if bad:
        history = " (found in history)" if all(page.history for page in bad) else ""
        reasons.append(f"{plural(count_pages(bad), 'known bad page')}{history}")
    if len(standing) > len(bad):
        corrected = count_pages(standing) - count_pages(bad)
        reasons.append(plural(corrected, "corrected page"))
    if logical := database.page_errors.get("logical"):
        reasons.append(f"{plural(logical, 'report')} of logical corruption")
    for task in TASKS:
        current = views[task].current
        if current is not None and current.failures:
            reasons.append(f"{task} failed and has not completed since")
    findings = beside.advice.findings if beside.advice is not None else ()
    reasons += _neighbours(beside.collisions, findings)
    if unproven and all(found.finding != "never_verified" for found in findings):
        # No bad page is known, but nothing has looked at every page either.
        reasons.append("never seen verified")
    told = bool(standing or logical)  # what is to be investigated
    reasons += [tidy(why) for name, why in findings if name != "investigate" or not told]
    status: Status = "bad" if bad else "attention" if reasons else "ok"
    return status, tuple(reasons)


def _neighbours(collisions: Sequence[str], findings: Iterable[Finding]) -> list[str]:
    """What is said of `collisions`, unless the finding of them says it."""
    if not collisions or any(found.finding == "scans_collide" for found in findings):
        return []
    names = ", ".join(tidy(name) for name in collisions)
    return [f"scanned at the same time as {names}, on the same disks"]


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


def iso_time(time: float | None) -> str | None:
    """`2007-06-21T03:14:15.123Z`, with microseconds where there are any.

    None for None and for what is no time of a calendar (after year 9999).
    """
    if time is None or not math.isfinite(time):
        return None
    seconds, microseconds = divmod(round(time * 1_000_000), 1_000_000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=microseconds)
    except (ValueError, OverflowError, OSError):
        return None
    spec = "microseconds" if microseconds % 1000 else "milliseconds"
    return moment.isoformat(timespec=spec).replace("+00:00", "Z")


def overview_json(view: Overview) -> bytes:
    """`/api/v1/databases`: `{"time": …, "databases": [{…}]}`; a key is absent when unknown."""
    databases = [_database_json(figures) for figures in view.databases]
    return msgspec.json.encode({"time": iso_time(view.now), "databases": databases})


def _bad_page_json(bad: BadPage) -> dict[str, Any]:
    row: dict[str, Any] = {
        "page_number": None if bad.page == UNLOCATED else bad.page,
        "kind": bad.kind,
        "first": iso_time(bad.first),
        "last": iso_time(bad.last),
        "found_in_history": bad.history,
        "pages": bad.pages,
    }
    return {key: value for key, value in row.items() if value is not None}


def _database_json(figures: DatabaseFigures) -> dict[str, Any]:
    row: dict[str, Any] = {
        "computer": figures.computer,
        "ese_instance": figures.ese_instance or None,
        "database": figures.database,
        "name": figures.name,
        "path": figures.path,
        "tier": figures.tier,
        "model": figures.model,
        "role": figures.role or None,
        "status": figures.status,
        "reasons": figures.reasons,
        "running": figures.running,
        "interrupted": figures.interrupted,
        "collisions": figures.collisions,
        "last_defrag_completed": iso_time(figures.last_defrag),
        "last_checksum_completed": iso_time(figures.last_checksum),
        "ratio": figures.ratio,
        "known_bad_pages": figures.bad_pages,
        "bad_pages": [_bad_page_json(bad) for bad in figures.bad_page_list],
        "verified": {by: iso_time(time) for by, time in figures.verified.items()},
        "size_bytes": figures.size_bytes,
        "free_bytes": figures.free_bytes,
    }
    return {key: value for key, value in row.items() if value is not None}
