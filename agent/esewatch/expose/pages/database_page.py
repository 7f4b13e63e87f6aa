"""The page of one database, as values and sentences; templates only lay it out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec
from markupsafe import Markup

from esewatch.advice.base.finding import (
    BAD_KIND_WORDS,
    DAMAGE_WORDS,
    VERIFIERS,
    counted,
    page_runs,
)
from esewatch.advice.history.derived import Derived
from esewatch.advice.history.history import Gathering
from esewatch.advice.window.evidence import pass_figures
from esewatch.advice.window.window import window_changes
from esewatch.config import policy_for
from esewatch.expose.formatting import count, duration, tidy
from esewatch.expose.pages.overview import DatabaseFigures
from esewatch.expose.pages.pictures import Pictures, pictures
from esewatch.fold.databases.databases import is_dated
from esewatch.fold.databases.integrity import ALL_PAGES
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.passes.passes import (
    COMPLETES,
    FAILS,
    INTERRUPTS,
    OPENS,
    TASKS,
    TaskView,
    derive,
    untimed_passes,
)
from esewatch.fold.state.state import (
    UNLOCATED,
    BadKind,
    BadPage,
    Damage,
    DamageKind,
    Database,
    Pass,
)

MAX_MOMENTS = 40
MAX_NAMED = 20
"""Runs of page numbers in one row."""
TOGETHER = 600.0
"""Bad pages of one kind within this time are one row."""


class TimelineEntry(NamedTuple):
    time: float
    what: str


def database_timeline(
    database: Database,
    verified: Mapping[str, float],
    restored: float,
    window: Iterable[tuple[float, str]],
    now: float,
) -> tuple[TimelineEntry, ...]:
    """The last moments up to `now`. `verified`: by verifier; `restored`: from a backup, 0 never."""
    if not is_dated(database):
        return ()
    found = [
        *_bad(database.bad_pages),
        *_good(database),
        *(
            TimelineEntry(time, f"Every page was verified by {VERIFIERS.get(by, by)}.")
            for by, time in verified.items()
        ),
        *_damaged(database.damage),
        TimelineEntry(
            max(database.acknowledged, *database.acknowledged_things.values(), 0.0),
            "The last damage or error up to here was acknowledged.",
        ),
        TimelineEntry(database.index_rebuilt, "An index was rebuilt."),
        TimelineEntry(restored, "The database was restored from a backup."),
        *(TimelineEntry(time, what) for time, what in window),
    ]
    past = (each for each in found if 0 < each.time <= now)
    return tuple(sorted(past, reverse=True)[:MAX_MOMENTS])


def _bad(pages: Sequence[BadPage]) -> Iterator[TimelineEntry]:
    by_kind = sorted(
        (bad for bad in pages if not bad.untimed), key=lambda bad: (bad.kind, bad.first)
    )
    for kind, found in groupby(by_kind, lambda bad: bad.kind):
        together: list[BadPage] = []
        for bad in found:
            if together and bad.first - together[0].first > TOGETHER:
                yield _found_bad(kind, together)
                together = []
            together.append(bad)
        yield _found_bad(kind, together)


def _found_bad(kind: BadKind, pages: Sequence[BadPage]) -> TimelineEntry:
    located = {bad.page for bad in pages if bad.page != UNLOCATED}
    count = sum(bad.pages for bad in pages)
    named = f" {page_runs(located, MAX_NAMED)}" if located else ""
    pages_word = f"Page{named}" if count == 1 else f"{counted(count, 'page')}{named}"
    verb = "was" if count == 1 else "were"
    words = BAD_KIND_WORDS[kind]
    return TimelineEntry(pages[0].first, f"{pages_word} {verb} first reported: {words}.")


def _good(database: Database) -> Iterator[TimelineEntry]:
    """Only of pages that were bad: a page that is read good is no news."""
    bad = {each.page for each in database.bad_pages}
    by_time: dict[float, set[int]] = {}
    read = [each for each in database.checksums_good if each[:2] != ALL_PAGES]
    for first, last, time in (*database.good_ranges, *read):
        pages = {page for page in bad if first <= page <= last}
        if pages or time == database.patched_last:
            by_time.setdefault(time, set()).update(pages or {first})
    for time, pages in by_time.items():
        word = "Page" if len(pages) == 1 else "Pages"
        verb = "was" if len(pages) == 1 else "were"
        how = "repaired" if time == database.patched_last else "read good, repaired or acknowledged"
        yield TimelineEntry(time, f"{word} {page_runs(pages, MAX_NAMED)} {verb} {how}.")


def _damaged(damage: Mapping[DamageKind, Damage]) -> Iterator[TimelineEntry]:
    for kind, each in damage.items():
        if each.times:
            one, many = DAMAGE_WORDS[kind]
            more = f" (the last of {counted(each.count, one, many)})" if each.count > 1 else ""
            yield TimelineEntry(each.times[-1], f"{one[0].upper()}{one[1:]}{more}.")


MAX_BAD_ROWS = 200
MAX_PASSES = 12
"""Passes that are shown at once; older ones are collapsed."""

MODEL_SENTENCES = {
    "window": "Online defragmentation runs in a maintenance window, so its ratio of pages read to"
        " pages freed is judged.",
    "garbage_collection": "This database has no maintenance window: garbage collection is meant to"
        " defragment it, on a domain controller every 12 hours. No ratio and no window is judged,"
        " but whether that completes.",
    "background": "Its engine is meant to scan in the background all the time, without a"
        " maintenance window, so no ratio and no window is judged.",
    "application": "An application's database without a maintenance window: page errors and slow"
        " input and output are judged.",
}  # fmt: skip


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
    read: float | None = None
    """The time at which a record without a possible time was read."""


class SlowRow(msgspec.Struct, frozen=True, kw_only=True):
    operation: str
    slow: int
    last_seconds: float | None
    last: float | None
    hung: int


class DatabasePage(msgspec.Struct, frozen=True, kw_only=True):
    """One database. Times are epoch seconds; None is unknown or never."""

    now: float
    figures: DatabaseFigures
    pictures: Pictures
    first_seen: float | None
    last_seen: float | None
    heard: float | None
    """The last record of the log that its events come by."""
    sentence: str
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
    gathering: Gathering, figures: DatabaseFigures, facts: Derived, now: float
) -> DatabasePage:
    """The page of the database with these figures and facts, as of `now` (epoch seconds, finite).
    Some milliseconds of work: its whole history is gathered."""
    state = gathering.state
    database = state.databases[facts.member.computer, facts.member.database]
    views = derive(database, facts.basis.life)
    dated, without = is_dated(database), untimed_passes(database)
    bad_rows = _bad_rows(facts.bad_pages, dated)
    instance = state.instances.get(instance_key(database))
    policy = policy_for(gathering.settings, database.database, database.computer)
    past = gathering.history(facts, views)
    scans = [*views["checksum"].passes, *(done for done in without if done.task == "checksum")]
    scanned = figures.model == "window" and scans
    return DatabasePage(
        now=now,
        figures=figures,
        pictures=pictures(past, figures.advice, figures, policy, now),
        first_seen=(dated and database.first_seen) or None,
        last_seen=(dated and database.last_seen) or None,
        heard=past.heard[-1][1] if past.heard else None,
        sentence=MODEL_SENTENCES[figures.model] + (WINDOW_SCAN if scanned else ""),
        tasks=_task_rows(views, database.untimed.events),
        ends=_last_ends(views, without),
        passes=(
            *_pass_rows(views, figures.running),
            *(PassRow(done=done, outcome=_outcome(done), untimed=True) for done in without),
        ),
        untimed=sum(database.untimed.events.values()),
        moments=database_timeline(
            database,
            figures.verified,
            facts.told.around.restored,
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
            first=bad.first if dated and not bad.untimed else None,
            last=bad.last if dated and not bad.untimed else None,
            history=bad.history,
            read=bad.last if bad.untimed else None,
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
