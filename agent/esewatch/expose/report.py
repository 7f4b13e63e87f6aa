"""`report`: what a pile of logs says, as one self-contained page.

Here is what the page shows, as values and sentences; the template only lays it out.
"""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from esewatch.advice.advise import Advice
from esewatch.config import Settings
from esewatch.expose.overview import (
    DatabaseFigures,
    Details,
    Hidden,
    all_details,
    hidden_counters,
    plural,
    tidy,
)
from esewatch.expose.pages import render
from esewatch.expose.ratio import FREED, READ
from esewatch.fold.passes import TASKS
from esewatch.fold.state import UNLOCATED, BadPage, Pass, State
from esewatch.model import Unreadable

MAX_BAD_ROWS = 200
MAX_UNREADABLE_ROWS = 500
FIRST_PASSES = 12
"""Passes of a database that are shown at once; older ones are folded away."""

MODEL_SENTENCES = {
    "window": (
        "Online defragmentation runs in a maintenance window, so its ratio of pages read to pages"
        " freed is judged."
    ),
    "garbage_collection": (
        "This database collects garbage about every 12 hours by itself and has no maintenance"
        " window, so no ratio, no cadence and no window is judged."
    ),
    "background": (
        "Its engine scans in the background all the time and has no maintenance window, so no"
        " ratio and no window is judged."
    ),
    "application": (
        "An application's database without a maintenance window: page errors and slow"
        " input and output are what counts."
    ),
}


class Advised(NamedTuple):
    """What is advised as of one moment (epoch seconds)."""

    time: float
    advice: tuple[Advice, ...]


class PassRow(msgspec.Struct, frozen=True, kw_only=True):
    """One pass; `outcome` in words."""

    done: Pass
    outcome: str


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of one task, older passes included."""

    task: str
    started: int
    completed: int
    interrupted: int
    failed: int


class BadRow(msgspec.Struct, frozen=True, kw_only=True):
    """One bad page, or `count` pages that nothing locates (`page` None)."""

    page: int | None
    count: int
    kind: str
    first: float
    last: float
    history: bool


class SlowRow(msgspec.Struct, frozen=True, kw_only=True):
    """Slow and hung requests of one operation."""

    operation: str
    slow: int
    last_seconds: float | None
    last: float | None
    hung: int


class DatabaseReport(msgspec.Struct, frozen=True, kw_only=True):
    """One database."""

    figures: DatabaseFigures
    first_seen: float | None
    last_seen: float | None
    sentence: str
    tasks: tuple[TaskRow, ...]
    passes: tuple[PassRow, ...]
    """Newest first."""
    bad_pages: tuple[BadRow, ...]
    more_bad_pages: int
    page_errors: tuple[tuple[str, int, float | None], ...]
    """(kind, events, time of the last)."""
    slow_io: tuple[SlowRow, ...]
    advised: float | None
    """As of when its advice is; None without any."""
    counter_gap_seconds: float


class GapRow(msgspec.Struct, frozen=True, kw_only=True):
    """Records missing from a channel."""

    computer: str
    channel: str
    begin: float
    end: float
    records: int


class InstanceRow(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of an instance of which no database is known."""

    computer: str
    ese_instance: str
    pages_read: float | None
    pages_freed: float | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole page."""

    now: float
    headline: str
    remark: str
    wrong: bool
    begin: float | None
    end: float | None
    inputs: tuple[str, ...]
    records: int
    watched: tuple[DatabaseReport, ...]
    others: tuple[DatabaseReport, ...]
    ignored: int
    instances: tuple[InstanceRow, ...]
    hidden: tuple[Hidden, ...]
    gaps: tuple[GapRow, ...]
    unreadable: tuple[Unreadable, ...]
    more_unreadable: int


def render_report(
    state: State,
    settings: Settings,
    now: float,
    *,
    inputs: Sequence[str | os.PathLike[str]],
    unreadable: Sequence[Unreadable],
    advised: Sequence[Advised],
) -> str:
    """The page: HTML that needs nothing else. `inputs` are the paths that were read.

    `advised` is the advice of the databases, each group as of the last record of its computers.
    """
    report = build_report(
        state, settings, now, inputs=inputs, unreadable=unreadable, advised=advised
    )
    return render("report.html.j2", report=report, first_passes=FIRST_PASSES)


def build_report(
    state: State,
    settings: Settings,
    now: float,
    *,
    inputs: Sequence[str | os.PathLike[str]],
    unreadable: Sequence[Unreadable],
    advised: Sequence[Advised],
) -> Report:
    """What the page shows. Watched databases come first, then the others, worst first in each."""
    advice = [each for group in advised for each in group.advice]
    details, ignored = all_details(state, settings, now, advice)
    times_advised = {
        (each.computer, each.database): group.time for group in advised for each in group.advice
    }
    reports = [_database(each, times_advised) for each in details]
    times = [time for each in reports for time in (each.first_seen, each.last_seen) if time]
    figures = [each.figures for each in reports]
    return Report(
        now=now,
        headline=_headline(figures),
        remark=_remark(figures),
        wrong=any(each.status == "bad" for each in figures),
        begin=min(times, default=None),
        end=max(times, default=None),
        inputs=tuple(tidy(os.fspath(path)) for path in inputs),
        records=sum(source.records for source in state.sources.values()),
        watched=tuple(each for each in reports if each.figures.tier == "watched"),
        others=tuple(each for each in reports if each.figures.tier != "watched"),
        ignored=ignored,
        instances=_lone_instances(state),
        hidden=hidden_counters(state),
        gaps=_gaps(state),
        unreadable=tuple(_tidy_piece(piece) for piece in unreadable[:MAX_UNREADABLE_ROWS]),
        more_unreadable=max(0, len(unreadable) - MAX_UNREADABLE_ROWS),
    )


def _headline(figures: Sequence[DatabaseFigures]) -> str:
    if not figures:
        return "These logs name no ESE database."
    bad = [each for each in figures if each.status == "bad"]
    computers = plural(len({each.computer for each in figures}), "computer")
    databases = plural(len(figures), "database")
    if not bad:
        return f"No bad page is known in {databases} on {computers}."
    named = ", ".join(f"{each.name} on {each.computer}" for each in bad[:3])
    more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
    have = "has" if len(bad) == 1 else "have"
    return f"{len(bad):,} of {databases} {have} bad pages: {named}{more}."


def _remark(figures: Sequence[DatabaseFigures]) -> str:
    watched = [each for each in figures if each.tier == "watched"]
    never = [each for each in watched if each.last_verified is None]
    if not watched:
        return ""
    if not never:
        return "Every page of every watched database was proven good at least once."
    return (
        f"Of {plural(len(watched), 'watched database')}, {len(never):,} never had every page"
        " proven good in these logs: a bad page there may be unseen."
    )


def _database(details: Details, times_advised: Mapping[tuple[str, str], float]) -> DatabaseReport:
    database, figures = details.database, details.figures
    bad_rows = _bad_rows(details.standing)
    return DatabaseReport(
        figures=figures,
        first_seen=database.first_seen or None,
        last_seen=database.last_seen or None,
        sentence=MODEL_SENTENCES[figures.model],
        tasks=_task_rows(details),
        passes=_pass_rows(details),
        bad_pages=bad_rows[:MAX_BAD_ROWS],
        more_bad_pages=sum(row.count for row in bad_rows[MAX_BAD_ROWS:]),
        page_errors=tuple(
            (tidy(kind), number, database.page_error_last.get(kind))
            for kind, number in sorted(database.page_errors.items())
        ),
        slow_io=_slow_rows(details),
        advised=times_advised.get((database.computer, database.database)),
        counter_gap_seconds=details.instance.gap_seconds if details.instance else 0.0,
    )


def _task_rows(details: Details) -> tuple[TaskRow, ...]:
    rows = (
        TaskRow(
            task=task,
            started=view.started,
            completed=view.completed,
            interrupted=view.interrupted,
            failed=view.failed,
        )
        for task in TASKS
        if (view := details.views.get(task)) is not None
    )
    return tuple(r for r in rows if r.started or r.completed or r.interrupted or r.failed)


def _pass_rows(details: Details) -> tuple[PassRow, ...]:
    rows: list[PassRow] = []
    for task, view in details.views.items():
        rows += [PassRow(done=done, outcome=_outcome(done)) for done in view.passes]
        if view.current is not None:
            running = task in details.figures.running
            rows.append(PassRow(done=view.current, outcome=_open_outcome(view.current, running)))
    rows.sort(key=lambda row: row.done.ended or row.done.last_event, reverse=True)
    return tuple(rows)


def _outcome(done: Pass) -> str:
    words = {
        "completed": "completed",
        "partial": "ended early, not all pages",
        "abandoned": "begun anew before it completed",
    }
    outcome = words.get(done.outcome, done.outcome)
    if done.outcome == "completed" and done.partial:
        outcome += ", not all pages"
    if done.late:
        outcome += ", late"
    return outcome + _setbacks(done)


def _open_outcome(current: Pass, running: bool) -> str:
    if current.failures and current.interrupted:
        outcome = "failed, not completed since"
    elif current.interrupted:
        outcome = "interrupted, to go on"
    else:
        outcome = "running" if running else "not heard of since"
    return outcome + (", late" if current.late else "") + _setbacks(current)


def _setbacks(done: Pass) -> str:
    parts = []
    if done.interruptions:
        parts.append(plural(done.interruptions, "interruption"))
    if done.failures:
        parts.append(plural(done.failures, "failure"))
    return f" ({', '.join(parts)})" if parts else ""


def _bad_rows(standing: Sequence[BadPage]) -> tuple[BadRow, ...]:
    rows = [
        BadRow(
            page=None if bad.page == UNLOCATED else bad.page,
            count=bad.pages,
            kind=bad.kind,
            first=bad.first,
            last=bad.last,
            history=bad.history,
        )
        for bad in standing
    ]
    rows.sort(key=lambda row: (row.kind == "corrected", row.page is None, row.page or 0))
    return tuple(rows)


def _slow_rows(details: Details) -> tuple[SlowRow, ...]:
    database = details.database
    return tuple(
        SlowRow(
            operation=tidy(operation),
            slow=database.slow_io.get(operation, 0),
            last_seconds=database.slow_io_last_seconds.get(operation),
            last=database.slow_io_last.get(operation),
            hung=database.hung_io.get(operation, 0),
        )
        for operation in sorted({*database.slow_io, *database.hung_io})
    )


def _lone_instances(state: State) -> tuple[InstanceRow, ...]:
    known = {(each.computer, each.ese_instance.lower()) for each in state.databases.values()}
    return tuple(
        InstanceRow(
            computer=tidy(instance.computer),
            ese_instance=tidy(instance.ese_instance),
            pages_read=instance.totals.get(READ),
            pages_freed=instance.totals.get(FREED),
        )
        for key, instance in sorted(state.instances.items())
        if key not in known and instance.totals
    )


def _gaps(state: State) -> tuple[GapRow, ...]:
    return tuple(
        GapRow(
            computer=tidy(channel.computer),
            channel=tidy(channel.channel),
            begin=begin,
            end=end,
            records=records,
        )
        for _, channel in sorted(state.channels.items())
        for begin, end, records in channel.gaps
    )


def _tidy_piece(piece: Unreadable) -> Unreadable:
    return Unreadable(path=tidy(piece.path), place=tidy(piece.place), reason=tidy(piece.reason))
