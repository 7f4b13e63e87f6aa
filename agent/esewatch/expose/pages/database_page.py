"""The page of one database, as values and sentences; templates only lay it out."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from markupsafe import Markup

from esewatch.advice.base.finding import counted
from esewatch.advice.history.history import history
from esewatch.advice.window.lone_ends import pass_figures
from esewatch.advice.window.window_changes import window_changes
from esewatch.config import Settings, policy_for
from esewatch.expose.formatting import count, duration, tidy
from esewatch.expose.pages.database_timeline import TimelineEntry, database_timeline
from esewatch.expose.pages.overview import DatabaseFigures
from esewatch.expose.pages.pictures import Pictures, pictures
from esewatch.fold.databases.databases import is_dated
from esewatch.fold.databases.integrity import OutsideFacts, known_bad_pages
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.instances.instances import restored
from esewatch.fold.passes.passes import (
    COMPLETES,
    FAILS,
    INTERRUPTS,
    OPENS,
    TASKS,
    TaskView,
    views_in,
)
from esewatch.fold.passes.untimed_passes import untimed_passes
from esewatch.fold.state.state import UNLOCATED, BadPage, Database, Pass, State

MAX_BAD_ROWS = 200
MAX_PASSES = 12
"""Passes that are shown at once; older ones are collapsed."""

MODEL_SENTENCES = {
    "window": (
        "Online defragmentation runs in a maintenance window, so its ratio of pages read to pages"
        " freed is judged."
    ),
    "garbage_collection": (
        "This database has no maintenance window: garbage collection is meant to defragment it, on"
        " a domain controller every 12 hours. No ratio and no window is judged, but whether that"
        " completes."
    ),
    "background": (
        "Its engine is meant to scan in the background all the time, without a maintenance window,"
        " so no ratio and no window is judged."
    ),
    "application": (
        "An application's database without a maintenance window: page errors and slow"
        " input and output are judged."
    ),
}


WINDOW_SCAN = " Its database scan, which reads every page, runs in the same window."
"""Tasks of a store whose window has both."""


class PassRow(msgspec.Struct, frozen=True, kw_only=True):
    """One pass; `outcome` in words. `untimed`: when it ended is not known."""

    done: Pass
    outcome: str
    untimed: bool = False


def figure_cells(done: Pass) -> Markup:
    """The cells of the figures of a pass, all at once: a report has thousands of passes."""
    figures = (
        ("Run time", done.work_seconds, duration),
        ("Start to end", done.wall_seconds, duration),
        ("Runs", done.invocations, count),
        ("Days", done.days, count),
        ("Pages seen", done.pages_seen, count),
        ("Pages freed", done.pages_freed, count),
    )
    # Digits, marks and units alone: nothing in them needs to be escaped.
    return Markup(
        "\n".join(
            f'<td data-label="{label}" class="number">{show(value)}</td>'
            if value is not None
            else f'<td data-label="{label}" class="number unknown">{show(None)}</td>'
            for label, value, show in figures
        )
    )


class LastEnd(NamedTuple):
    """The last completed pass of a task: when, None where that is not known, and its figures."""

    time: float | None
    figures: str


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
    first: float | None
    last: float | None
    history: bool


class SlowRow(msgspec.Struct, frozen=True, kw_only=True):
    """Slow and hung requests of one operation."""

    operation: str
    slow: int
    last_seconds: float | None
    last: float | None
    hung: int


class DatabasePage(msgspec.Struct, frozen=True, kw_only=True):
    """One database. Times are epoch seconds; None is unknown or never."""

    now: float
    """The moment as of which it is shown."""
    figures: DatabaseFigures
    pictures: Pictures
    first_seen: float | None
    last_seen: float | None
    sentence: str
    """Its maintenance model and its advice."""
    tasks: tuple[TaskRow, ...]
    ends: Mapping[str, LastEnd]
    """By task, of those that completed."""
    passes: tuple[PassRow, ...]
    """Newest first, then those that ended at an unknown time."""
    untimed: int
    """Events of it that have no time."""
    moments: tuple[TimelineEntry, ...]
    """Events of its pages and its window, newest first."""
    bad_pages: tuple[BadRow, ...]
    more_bad_pages: int
    page_errors: tuple[tuple[str, int, float | None], ...]
    """(kind, events, time of the last)."""
    slow_io: tuple[SlowRow, ...]
    counter_gap_seconds: float


def database_page(
    state: State,
    settings: Settings,
    figures: DatabaseFigures,
    database: Database,
    now: float,
    *,
    told: Callable[[Database], OutsideFacts],
) -> DatabasePage:
    """The page of `database`, whose figures these are, as of `now` (epoch seconds, finite).

    Some milliseconds of work: its whole history is gathered. `told` is what `surroundings` made
    of the same state.
    """
    key = (database.computer, database.database)
    views = views_in(state, database)
    around = told(database).around
    dated, without = is_dated(database), untimed_passes(database)
    bad_rows = _bad_rows(known_bad_pages(database, views, around), dated)
    instance = state.instances.get(instance_key(database))
    policy = policy_for(settings, database.database, database.computer)
    past = history(state, settings, *key, told)
    return DatabasePage(
        now=now,
        figures=figures,
        pictures=pictures(past, figures.advice, figures, policy, now),
        first_seen=(dated and database.first_seen) or None,
        last_seen=(dated and database.last_seen) or None,
        sentence=_maintained(figures, views, without),
        tasks=_task_rows(views, database.untimed.events),
        ends=_last_ends(views, without),
        passes=(*_pass_rows(views, figures.running), *_untimed_rows(without)),
        untimed=sum(database.untimed.events.values()),
        moments=database_timeline(
            database,
            figures.verified,
            restored(state, database),
            window_changes(past, policy, now),
            now,
        ),
        bad_pages=bad_rows[:MAX_BAD_ROWS],
        more_bad_pages=sum(row.count for row in bad_rows[MAX_BAD_ROWS:]),
        page_errors=tuple(
            (tidy(kind), number, database.page_error_last.get(kind) if dated else None)
            for kind, number in sorted(database.page_errors.items())
        ),
        slow_io=_slow_rows(database),
        counter_gap_seconds=instance.gap_seconds if instance else 0.0,
    )


def _maintained(
    figures: DatabaseFigures, views: Mapping[str, TaskView], without: Sequence[Pass]
) -> str:
    sentence = MODEL_SENTENCES[figures.model]
    scans = [*views["checksum"].passes, *(done for done in without if done.task == "checksum")]
    return sentence + WINDOW_SCAN if figures.model == "window" and scans else sentence


def _last_ends(views: Mapping[str, TaskView], without: Iterable[Pass]) -> dict[str, LastEnd]:
    ends = {
        task: LastEnd(last.ended, pass_figures(last))
        for task, view in views.items()
        if (last := view.last_completed) is not None
    }
    for done in without:
        ends.setdefault(done.task, LastEnd(None, pass_figures(done)))
    return ends


def _task_rows(views: Mapping[str, TaskView], untimed: Mapping[int, int]) -> tuple[TaskRow, ...]:
    """Totals by task. `untimed`: the number of events without a time, by id."""
    ended = Counter[str]()
    for event, tasks in COMPLETES.items():
        ended.update(dict.fromkeys(tasks, untimed.get(event, 0)))
    rows = (
        TaskRow(
            task=task,
            started=view.started + _without(OPENS, task, untimed),
            completed=view.completed + ended[task],
            interrupted=view.interrupted + _without(INTERRUPTS, task, untimed),
            failed=view.failed + _without(FAILS, task, untimed),
        )
        for task in TASKS
        if (view := views.get(task)) is not None
    )
    return tuple(r for r in rows if r.started or r.completed or r.interrupted or r.failed)


def _without(table: Mapping[int, str], task: str, untimed: Mapping[int, int]) -> int:
    return sum(untimed.get(event, 0) for event, of in table.items() if of == task)


def _untimed_rows(without: Iterable[Pass]) -> list[PassRow]:
    return [PassRow(done=done, outcome=_outcome(done), untimed=True) for done in without]


def _pass_rows(views: Mapping[str, TaskView], at_work: Sequence[str]) -> tuple[PassRow, ...]:
    rows: list[PassRow] = []
    for task, view in views.items():
        rows += [PassRow(done=done, outcome=_outcome(done)) for done in view.passes]
        if view.current is not None:
            rows.append(
                PassRow(done=view.current, outcome=_open_outcome(view.current, task in at_work))
            )
    rows.sort(key=lambda row: row.done.ended or row.done.last_event, reverse=True)
    return tuple(rows)


def _outcome(done: Pass) -> str:
    words = {
        "completed": "completed",
        "partial": "ended early, not all pages",
        "abandoned": "restarted before it completed",
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
        outcome = "interrupted, not resumed yet"
    else:
        outcome = "running" if running else "no event since"
    return outcome + (", late" if current.late else "") + _setbacks(current)


def _setbacks(done: Pass) -> str:
    parts = []
    if done.interruptions:
        parts.append(counted(done.interruptions, "interruption"))
    if done.failures:
        parts.append(counted(done.failures, "failure"))
    return f" ({', '.join(parts)})" if parts else ""


def _bad_rows(standing: Sequence[BadPage], dated: bool) -> tuple[BadRow, ...]:
    rows = [
        BadRow(
            page=None if bad.page == UNLOCATED else bad.page,
            count=bad.pages,
            kind=bad.kind,
            first=bad.first if dated else None,
            last=bad.last if dated else None,
            history=bad.history,
        )
        for bad in standing
    ]
    rows.sort(key=lambda row: (row.kind == "corrected", row.page is None, row.page or 0))
    return tuple(rows)


def _slow_rows(database: Database) -> tuple[SlowRow, ...]:
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
