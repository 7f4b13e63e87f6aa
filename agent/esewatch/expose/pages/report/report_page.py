"""`report`: the content of logs as one self-contained page. The values and sentences of the page
are made here; the template only lays them out."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from esewatch.advice.advise import needs_a_person, without_past
from esewatch.advice.base.finding import FindingName, counted
from esewatch.advice.checkdb import CheckdbJudgement
from esewatch.advice.findings.details import LoneInstance
from esewatch.advice.history.derived import AllDerived, derived
from esewatch.advice.judgement import Judgement
from esewatch.advice.not_judged import never_proven, never_proven_text
from esewatch.config import Settings
from esewatch.expose.formatting import age_text, as_of, tidy
from esewatch.expose.pages.database_page import MAX_PASSES, DatabasePage
from esewatch.expose.pages.overview import DatabaseFigures, Overview, Summary, overview
from esewatch.expose.pages.problems.problem import listed_names
from esewatch.expose.pages.problems.problems import HiddenGroup, grouped
from esewatch.expose.pages.problems.source_problems import dropped_sentence, long_path_sentence
from esewatch.expose.pages.rendering import (
    MAX_ADVICE_ROWS,
    TableRow,
    render,
    window_rows,
    worst_words,
)
from esewatch.expose.pages.report.database_pages import (
    MAX_IN_FULL,
    Advised,
    DatabasePages,
    embedded,
    moments,
)
from esewatch.fold.identity.entities import namesakes
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.instances.backups import streamed
from esewatch.fold.state.rollups import PAGES_FREED, PAGES_READ
from esewatch.fold.state.state import State
from esewatch.model import Unreadable

SLOW: FindingName = "backup_slows"
MAX_SETS = 60
"""Of one computer; older ones are not shown."""
KINDS = {
    "ntbackup": "NTBACKUP",
    "ntbackup_logs": "NTBACKUP, log files only",
    "full": "streaming backup",
}


class SetRow(NamedTuple):
    """One set: an instance (storage group) as one job copied it."""

    computer: str
    ese_instance: str
    kind: str
    started: float
    seconds: float
    bytes: float
    rate: float | None
    """Bytes a second; None for a set that took no time."""


class BackupTable(msgspec.Struct, frozen=True, kw_only=True):
    rows: tuple[SetRow, ...] = ()
    """By computer, newest first."""
    more: int = 0
    slow: tuple[tuple[str, str], ...] = ()
    """(computer, sentence) of slow jobs without a known database to report it for."""


def backup_table(state: State, lone: Iterable[LoneInstance]) -> BackupTable:
    rows: list[SetRow] = []
    more = 0
    for computer in sorted(state.hosts):
        found = sorted(_sets(state, computer), key=lambda row: (row.started, row.ese_instance))
        more += max(0, len(found) - MAX_SETS)
        rows += found[: -MAX_SETS - 1 : -1]
    slow = {
        (tidy(each.computer), tidy(told.sentence))
        for each in lone
        for told in each.findings
        if told.finding == SLOW
    }
    return BackupTable(rows=tuple(rows), more=more, slow=tuple(sorted(slow)))


def _sets(state: State, computer: str) -> Iterator[SetRow]:
    logged = state.hosts[computer].backup_sets
    for (owner, name), instance in state.instances.items():
        if owner != computer:
            continue
        own = [each for each in logged if each.ese_instance == name]
        told = [
            each
            for each in streamed(instance)
            if not any(each.started < log.ended and log.started < each.ended for log in own)
        ]
        for each in (*own, *told):
            rate = each.bytes / each.seconds if each.seconds > 0 else None
            names = tidy(computer), tidy(instance.ese_instance), KINDS.get(each.kind, each.kind)
            yield SetRow(*names, each.started, each.seconds, each.bytes, rate)


MAX_UNREADABLE_ROWS = 500


class GapRow(NamedTuple):
    computer: str
    channel: str
    begin: float
    end: float
    records: int


class LoneError(NamedTuple):
    computer: str
    ese_instance: str
    sentence: str


class InstanceRow(NamedTuple):
    computer: str
    ese_instance: str
    pages_read: float | None
    pages_freed: float | None


class InputFacts(msgspec.Struct, frozen=True, kw_only=True):
    inputs: tuple[str, ...]
    records: int
    untimed: int
    """Events without a time."""
    unread: tuple[str, ...]
    unreadable: tuple[Unreadable, ...]
    more_unreadable: int
    dropped: str = ""
    """A sentence on names beyond `max_databases`, of which nothing is on the page."""
    long_paths: str = ""
    remarks: tuple[str, ...] = ()
    """Sentences on how times were read, without a full stop."""


class ReportPage(msgspec.Struct, frozen=True, kw_only=True):
    now: float
    as_of: str
    """As of when the databases are judged, and its age; empty where there is none."""
    is_old: bool
    """Its last record is over two days old."""
    headline: str
    remark: str
    namesakes: tuple[str, ...]
    """Of computers with one short name."""
    wrong: bool
    begin: float | None
    end: float | None
    read: InputFacts
    fleet: Summary
    databases: tuple[DatabaseFigures, ...]
    watched: tuple[DatabasePage, ...]
    """The most urgent of those that are watched, in full."""
    others: tuple[DatabasePage, ...]
    rows: tuple[TableRow, ...]
    other_rows: tuple[TableRow, ...]
    windows: tuple[TableRow, ...]
    files: tuple[tuple[str, DatabaseFigures], ...]
    """Name of the file with the page of each database, where there are such files."""
    checks: tuple[CheckdbJudgement, ...]
    """Each as of the latest check of its computer."""
    ignored: int
    instances: tuple[InstanceRow, ...]
    backups: BackupTable
    lone: tuple[LoneError, ...]
    """Errors of instances without a known database; the slow backups are in `backups`."""
    lone_wrong: int
    hidden: tuple[HiddenGroup, ...]
    gaps: tuple[GapRow, ...]
    never_verified: str
    """The one sentence on directories that nothing ever verified; empty without one."""


def render_report(report: ReportPage) -> str:
    runbooks = embedded(each.figures for each in (*report.watched, *report.others))
    return render(
        "report.html.j2",
        report=report,
        passes=MAX_PASSES,
        runbooks=runbooks,
        max_advice=MAX_ADVICE_ROWS,
    )


def build_report(
    state: State,
    settings: Settings,
    now: float,
    *,
    inputs: Sequence[str | os.PathLike[str]],
    unreadable: Sequence[Unreadable],
    unread: Sequence[str] = (),
    remarks: Sequence[str] = (),
    advised: Sequence[Advised],
    known: AllDerived | None = None,
    details: str = "",
) -> ReportPage:
    """The content of the page: watched databases first, each as of its group in `advised`, else as
    of `now`. `inputs` are all paths, `unread` says which could not be read. `known`: what was
    derived of the state. `details`: the folder with a page of each, relative to the report."""
    read = _input_facts(state, inputs, unread, unreadable, remarks)
    advised = [group._replace(advice=without_past(group.advice, now)) for group in advised]
    known = known or derived(state, settings)
    pages = DatabasePages(state, settings, advised, now, known=known, details=details)
    advice = tuple(each for group in advised for each in group.advice)
    view = overview(state, settings, now, advice, known, moments=moments(advised), live=False)
    return _page(state, settings, now, advised, view=view, pages=pages, read=read)


def _page(
    state: State,
    settings: Settings,
    now: float,
    advised: Sequence[Advised],
    *,
    view: Overview,
    pages: DatabasePages,
    read: InputFacts,
) -> ReportPage:
    watched = [each for each in view.databases if each.tier == "watched"]
    others = [each for each in view.databases if each.tier != "watched"]
    rows, times = pages.rows(watched, "watched"), list(pages.times(view.databases))
    lone = [each for group in advised for each in group.lone]
    backups, checks = backup_table(state, lone), view.checks
    return ReportPage(
        now=now,
        as_of=as_of([group.time for group in advised], now),
        is_old=bool(age_text(max([group.time for group in advised], default=now), now)),
        headline=_headline(view.databases, backups, checks),
        remark=_remark(view.databases),
        namesakes=tuple(tidy(each.sentence) for each in namesakes(state.hosts, settings)),
        wrong=any(each.status == "bad" for each in view.databases) or bool(_with_errors(checks)),
        begin=min(times, default=None),
        end=max(times, default=None),
        read=read,
        fleet=view.fleet,
        databases=view.databases,
        watched=tuple(map(pages.of, watched[:MAX_IN_FULL])),
        others=tuple(map(pages.of, others[:MAX_IN_FULL])),
        files=tuple((pages.file_of(each), each) for each in view.databases)
        if pages.details
        else (),
        rows=rows,
        other_rows=pages.rows(others, "other"),
        windows=tuple(window_rows(rows)),
        checks=checks,
        ignored=view.ignored,
        instances=_lone_instance_rows(state),
        backups=backups,
        lone=tuple(_lone_errors(lone)),
        lone_wrong=sum(needs_a_person([each]) for each in lone),
        hidden=tuple(grouped(view.hidden)),
        gaps=_gap_rows(state),
        never_verified=_never_verified(view.advice),
    )


def result_sentence(report: ReportPage) -> str:
    """`12 databases: 1 with bad pages, 2 unverified`, and what could not be read."""
    parts = [_result_of_databases(report)] if report.databases or not report.checks else []
    if report.checks:
        parts.append(_result_of_checks(report.checks))
    if report.lone_wrong:
        parts.append(
            f"{counted(report.lone_wrong, 'instance')} without a known database reported errors"
        )
    if report.read.unread:
        parts.append(f"{counted(len(report.read.unread), 'input')} could not be read")
    if report.read.dropped:
        parts.append("names beyond max_databases were not taken in")
    if report.read.long_paths:
        parts.append("databases whose path is too long were not taken in")
    if report.read.untimed:
        parts.append(f"{counted(report.read.untimed, 'event has', 'events have')} no time")
    return "; ".join(parts)


def _result_of_databases(report: ReportPage) -> str:
    shown = report.databases
    if not shown:
        read = counted(len(report.read.inputs) - len(report.read.unread), "input")
        found = (
            counted(report.read.records, "ESE record") if report.read.records else "no ESE record"
        )
        return f"not judged: no ESE database in {read} ({found})"
    bad = [each for each in shown if each.status == "bad"]
    blind = {each.name for each in report.fleet.blind}
    told = {
        f"with {worst_words(bad)}": len(bad),
        "unverified": report.fleet.unverified,
        "not verified": report.fleet.basis.unproven,
        "refusing writes, or about to": report.fleet.writes_at_risk,
        "with other findings that need a person": sum(
            each.verdict == "look" and "writes_at_risk" not in each.troubles for each in shown
        ),
        "on computers with missing or stale data": sum(
            each.computer in blind for each in report.databases
        ),
    }
    wrong = [f"{number:,} {what}" for what, number in told.items() if number]
    databases = counted(len(shown), "database")
    if wrong:
        return f"{databases}: {', '.join(wrong)}"
    if report.fleet.basis.heard:
        return f"{databases}: no bad page is known, every watched one is verified"
    return f"{databases}: not judged, none is of a kind that is watched"


def _result_of_checks(checks: Sequence[CheckdbJudgement]) -> str:
    told = {
        "with errors that CHECKDB left": len(_with_errors(checks)),
        "not checked to the end in time": sum(
            each.state in {"overdue", "broken_off", "unknown"} for each in checks
        ),
    }
    wrong = [f"{number:,} {what}" for what, number in told.items() if number]
    found = ", ".join(wrong) or "CHECKDB left no errors"
    return f"{counted(len(checks), 'database')} of SQL Server: {found}"


def _with_errors(checks: Sequence[CheckdbJudgement]) -> list[CheckdbJudgement]:
    return [each for each in checks if each.errors]


def _input_facts(
    state: State,
    inputs: Sequence[str | os.PathLike[str]],
    unread: Sequence[str],
    unreadable: Sequence[Unreadable],
    remarks: Sequence[str],
) -> InputFacts:
    return InputFacts(
        inputs=tuple(tidy(os.fspath(path)) for path in inputs),
        records=sum(source.records for source in state.sources.values()),
        untimed=sum(source.untimed for source in state.sources.values()),
        unread=tuple(map(tidy, unread)),
        remarks=tuple(f"{tidy(each)[:1].upper()}{tidy(each)[1:]}" for each in remarks),
        unreadable=tuple(
            Unreadable(path=tidy(each.path), place=tidy(each.place), reason=tidy(each.reason))
            for each in unreadable[:MAX_UNREADABLE_ROWS]
        ),
        more_unreadable=max(0, len(unreadable) - MAX_UNREADABLE_ROWS),
        dropped=tidy(dropped_sentence(state)),
        long_paths=tidy(long_path_sentence(state)),
    )


def _lone_instance_rows(state: State) -> tuple[InstanceRow, ...]:
    known = {instance_key(each) for each in state.databases.values()}
    return tuple(
        InstanceRow(
            tidy(instance.computer),
            tidy(instance.ese_instance),
            instance.totals.get(PAGES_READ),
            instance.totals.get(PAGES_FREED),
        )
        for key, instance in sorted(state.instances.items())
        if key not in known and instance.totals
    )


def _lone_errors(lone: Iterable[LoneInstance]) -> Iterator[LoneError]:
    for each in lone:
        for told in each.findings:
            if told.finding != SLOW:
                yield LoneError(tidy(each.computer), tidy(each.ese_instance), tidy(told.sentence))


def _gap_rows(state: State) -> tuple[GapRow, ...]:
    return tuple(
        GapRow(tidy(channel.computer), tidy(channel.channel), *gap)
        for _, channel in sorted(state.channels.items())
        for gap in channel.gaps
    )


def _headline(
    figures: Sequence[DatabaseFigures], backups: BackupTable, checks: Sequence[CheckdbJudgement]
) -> str:
    bad = _with_errors(checks)
    if not bad:
        return _headline_of_databases(figures, backups)
    of_checks = (
        f"CHECKDB left errors in {len(bad):,} of {counted(len(checks), 'database')} of SQL Server:"
        f" {listed_names([f'{each.database} on {each.computer}' for each in bad])}."
    )
    return f"{_headline_of_databases(figures, backups)} {of_checks}" if figures else of_checks


def _headline_of_databases(figures: Sequence[DatabaseFigures], backups: BackupTable) -> str:
    if not figures and backups.rows:
        groups = len({(row.computer, row.ese_instance) for row in backups.rows})
        return (
            f"These logs record backups of {counted(groups, 'storage group')};"
            " no event names a database."
        )
    if not figures:
        return "Not judged: no ESE database is named in these logs."
    bad = [each for each in figures if each.status == "bad"]
    databases = counted(len(figures), "database")
    if not bad:
        heard = [each for each in figures if "blind" not in each.troubles]
        silent = len(figures) - len(heard)
        if not heard:
            return f"Not judged: nothing current is known of {databases}."
        computers = counted(len({each.computer for each in heard}), "computer")
        said = f"No bad page is known in {counted(len(heard), 'database')} on {computers}"
        return f"{said}; nothing current is known of {silent:,} more." if silent else f"{said}."
    have = "has" if len(bad) == 1 else "have"
    named = listed_names([f"{each.name} on {each.computer}" for each in bad])
    return f"{len(bad):,} of {databases} {have} {worst_words(bad)}: {named}."


def _remark(figures: Sequence[DatabaseFigures]) -> str:
    watched = [each for each in figures if each.tier == "watched"]
    never = [each for each in watched if each.last_verified is None]
    if not watched:
        return ""
    have = "has" if len(never) == 1 else "have"
    if not never and any("blind" in each.troubles for each in watched):
        return ""
    if not never:
        return "Every page of every watched database was verified at least once."
    return (
        f"{len(never):,} of {counted(len(watched), 'watched database')} {have} never been fully"
        " verified in these logs; undetected bad pages are possible."
    )


def _never_verified(advice: Sequence[Judgement]) -> str:
    keys = never_proven(advice)
    if not keys:
        return ""
    told = tidy(never_proven_text(keys))
    return f"{told[0].upper()}{told[1:]}."
