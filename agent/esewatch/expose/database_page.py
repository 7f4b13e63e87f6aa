"""All that is shown of one database, as values and sentences; templates only lay it out."""

from collections.abc import Mapping, Sequence

import msgspec

from esewatch.advice.history import history
from esewatch.advice.surroundings import surroundings
from esewatch.config import Settings, policy_for
from esewatch.expose.overview import DatabaseFigures
from esewatch.expose.pictures import Pictures, pictures
from esewatch.expose.words import plural, tidy
from esewatch.fold.integrity import known_bad_pages
from esewatch.fold.owners import instance_key
from esewatch.fold.passes import TASKS, TaskView, views_in
from esewatch.fold.state import UNLOCATED, BadPage, Database, Pass, State

MAX_BAD_ROWS = 200
MAX_PASSES = 12
"""Passes that are shown at once; older ones are folded away."""

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


class DatabasePage(msgspec.Struct, frozen=True, kw_only=True):
    """One database. Times are epoch seconds; None is unknown or never."""

    now: float
    """As of when it is shown."""
    figures: DatabaseFigures
    pictures: Pictures
    first_seen: float | None
    last_seen: float | None
    sentence: str
    """How it is maintained and what is judged of it."""
    tasks: tuple[TaskRow, ...]
    passes: tuple[PassRow, ...]
    """Newest first."""
    bad_pages: tuple[BadRow, ...]
    more_bad_pages: int
    page_errors: tuple[tuple[str, int, float | None], ...]
    """(kind, events, time of the last)."""
    slow_io: tuple[SlowRow, ...]
    counter_gap_seconds: float


def database_page(
    state: State, settings: Settings, figures: DatabaseFigures, database: Database, now: float
) -> DatabasePage:
    """The page of `database`, whose figures these are, as of `now` (epoch seconds, finite).

    Some milliseconds of work: its whole history is gathered.
    """
    key = (database.computer, database.database)
    views = views_in(state, database)
    around = surroundings(state, settings)(database).around
    bad_rows = _bad_rows(known_bad_pages(database, views, around))
    instance = state.instances.get(instance_key(database))
    policy = policy_for(settings, database.database, database.computer)
    return DatabasePage(
        now=now,
        figures=figures,
        pictures=pictures(history(state, settings, *key), figures.advice, figures, policy, now),
        first_seen=database.first_seen or None,
        last_seen=database.last_seen or None,
        sentence=MODEL_SENTENCES[figures.model],
        tasks=_task_rows(views),
        passes=_pass_rows(views, figures.running),
        bad_pages=bad_rows[:MAX_BAD_ROWS],
        more_bad_pages=sum(row.count for row in bad_rows[MAX_BAD_ROWS:]),
        page_errors=tuple(
            (tidy(kind), number, database.page_error_last.get(kind))
            for kind, number in sorted(database.page_errors.items())
        ),
        slow_io=_slow_rows(database),
        counter_gap_seconds=instance.gap_seconds if instance else 0.0,
    )


def _task_rows(views: Mapping[str, TaskView]) -> tuple[TaskRow, ...]:
    rows = (
        TaskRow(
            task=task,
            started=view.started,
            completed=view.completed,
            interrupted=view.interrupted,
            failed=view.failed,
        )
        for task in TASKS
        if (view := views.get(task)) is not None
    )
    return tuple(r for r in rows if r.started or r.completed or r.interrupted or r.failed)


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
