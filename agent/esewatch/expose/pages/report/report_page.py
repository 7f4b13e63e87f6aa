"""`report`: the content of logs as one self-contained page.

The values and sentences of the page are made here; the template only lays them out.
"""

import os
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from esewatch.advice.advise import Advice, needs_a_person
from esewatch.advice.base.finding import counted
from esewatch.advice.findings.lone_instances import LoneInstance
from esewatch.advice.forecast.verdict import AT_RISK, UNVERIFIED
from esewatch.advice.unproven import never_proven, never_proven_text
from esewatch.config import Settings
from esewatch.expose.formatting import tidy
from esewatch.expose.pages.checkdb_table import CheckdbRow, checked_databases, last_checks
from esewatch.expose.pages.database_page import MAX_PASSES, DatabasePage
from esewatch.expose.pages.database_table import (
    MAX_ADVICE_ROWS,
    TableRow,
    window_rows,
    worst_words,
)
from esewatch.expose.pages.hidden_counters import HiddenGroup, grouped
from esewatch.expose.pages.overview import DatabaseFigures, overview
from esewatch.expose.pages.problems.source_problems import dropped_sentence, long_path_sentence
from esewatch.expose.pages.rendering import render
from esewatch.expose.pages.report.backup_table import SLOW, BackupTable, backup_table
from esewatch.expose.pages.report.database_pages import (
    MAX_IN_FULL,
    Advised,
    DatabasePages,
    moments,
)
from esewatch.expose.pages.report.embedded_runbooks import embedded
from esewatch.expose.pages.summary import Summary
from esewatch.fold.identity.computers import namesakes
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.state.rollups import PAGES_FREED, PAGES_READ
from esewatch.fold.state.state import State
from esewatch.model import Unreadable

MAX_UNREADABLE_ROWS = 500


class GapRow(msgspec.Struct, frozen=True, kw_only=True):
    """Records missing from a channel."""

    computer: str
    channel: str
    begin: float
    end: float
    records: int


class LoneError(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of an instance of which no database is known."""

    computer: str
    ese_instance: str
    sentence: str


class InstanceRow(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of an instance of which no database is known."""

    computer: str
    ese_instance: str
    pages_read: float | None
    pages_freed: float | None


class InputFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Inputs that were read, and those that could not be."""

    inputs: tuple[str, ...]
    records: int
    untimed: int
    """Events without a time."""
    unread: tuple[str, ...]
    """Path and reason of each input that could not be read."""
    unreadable: tuple[Unreadable, ...]
    more_unreadable: int
    dropped: str = ""
    """A sentence on names beyond `max_databases`, of which nothing is on the page."""
    long_paths: str = ""
    """The same on databases whose path is too long."""


class ReportPage(msgspec.Struct, frozen=True, kw_only=True):
    """The whole page."""

    now: float
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
    """All of them, the most urgent first."""
    watched: tuple[DatabasePage, ...]
    """The most urgent of those that are watched, in full."""
    others: tuple[DatabasePage, ...]
    rows: tuple[TableRow, ...]
    """Of all that are watched, in the same order."""
    other_rows: tuple[TableRow, ...]
    windows: tuple[TableRow, ...]
    files: tuple[tuple[str, DatabaseFigures], ...]
    """Name of the file with the page of each database, where there are such files."""
    checks: tuple[CheckdbRow, ...]
    """Each as of the latest check of its computer."""
    ignored: int
    instances: tuple[InstanceRow, ...]
    backups: BackupTable
    lone: tuple[LoneError, ...]
    """Errors of instances without a known database; the slow backups are in `backups`."""
    lone_wrong: int
    """The number of such instances with a finding that needs a person."""
    hidden: tuple[HiddenGroup, ...]
    gaps: tuple[GapRow, ...]
    never_verified: str
    """The one sentence on directories that nothing ever verified; empty without one."""


def render_report(report: ReportPage) -> str:
    """The page: HTML that needs nothing else."""
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
    advised: Sequence[Advised],
    details: str = "",
) -> ReportPage:
    """The content of the page. `inputs` are all paths, `unread` says which could not be read.

    Each database is shown as of its group in `advised`, and as of `now` without any; watched ones
    come first. `details`: the folder with a page of each, relative to the report.
    """
    advice = tuple(each for group in advised for each in group.advice)
    view = overview(state, settings, now, advice, moments=moments(advised))
    pages = DatabasePages(state, settings, advised, now, details)
    watched, others = _by_tier(view.databases)
    rows, times = pages.rows(watched, "watched"), list(pages.times(view.databases))
    lone = [each for group in advised for each in group.lone]
    backups, checks = backup_table(state, lone), _checks(state, settings, now)
    return ReportPage(
        now=now,
        headline=_headline(view.databases, backups, checks),
        remark=_remark(view.databases),
        namesakes=tuple(tidy(each.sentence) for each in namesakes(state.hosts, settings)),
        wrong=any(each.status == "bad" for each in view.databases) or bool(_with_errors(checks)),
        begin=min(times, default=None),
        end=max(times, default=None),
        read=_input_facts(state, inputs, unread, unreadable),
        fleet=view.fleet,
        databases=view.databases,
        watched=tuple(map(pages.of, watched[:MAX_IN_FULL])),
        others=tuple(map(pages.of, others[:MAX_IN_FULL])),
        files=tuple((pages.file_of(each), each) for each in view.databases) if details else (),
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


def _by_tier(
    figures: Sequence[DatabaseFigures],
) -> tuple[tuple[DatabaseFigures, ...], tuple[DatabaseFigures, ...]]:
    """Those that are watched, and the others."""
    watched = tuple(each for each in figures if each.tier == "watched")
    return watched, tuple(each for each in figures if each.tier != "watched")


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
        return f"no ESE database in {read} ({found}): nothing is known of any database"
    bad = [each for each in shown if each.status == "bad"]
    told = {
        f"with {worst_words(bad)}": len(bad),
        "unverified": report.fleet.unverified,
        "never verified": sum(map(_is_unproven, shown)),
        "refusing writes, or about to": report.fleet.writes_at_risk,
        "with other findings that need a person": sum(map(_needs_a_person, shown)),
        "on computers with missing or stale data": _number_blind(report),
    }
    wrong = [f"{number:,} {what}" for what, number in told.items() if number]
    databases = counted(len(shown), "database")
    if wrong:
        return f"{databases}: {', '.join(wrong)}"
    watched = any(each.tier == "watched" for each in shown)
    verified = "every watched one is verified" if watched else "none is of a kind that is watched"
    return f"{databases}: no bad page is known, {verified}"


def _result_of_checks(checks: Sequence[CheckdbRow]) -> str:
    told = {
        "with errors that CHECKDB left": len(_with_errors(checks)),
        "not checked to the end in time": sum(
            each.state in {"overdue", "broken_off", "unknown"} for each in checks
        ),
    }
    wrong = [f"{number:,} {what}" for what, number in told.items() if number]
    found = ", ".join(wrong) or "CHECKDB left no errors"
    return f"{counted(len(checks), 'database')} of SQL Server: {found}"


def _with_errors(checks: Sequence[CheckdbRow]) -> list[CheckdbRow]:
    return [each for each in checks if each.errors]


def _is_unproven(figures: DatabaseFigures) -> bool:
    """Watched, never proven good in these logs, and not counted as unverified for that."""
    advice = figures.advice
    findings = {said.finding for said in advice.findings} if advice is not None else set()
    proven = figures.last_verified is not None or not UNVERIFIED.isdisjoint(findings)
    return figures.tier == "watched" and not proven


def _needs_a_person(figures: DatabaseFigures) -> bool:
    """True if a finding needs one and it is not counted as bad, unverified or at risk."""
    advice = figures.advice
    if advice is None or figures.status == "bad" or not needs_a_person([advice]):
        return False
    return {*UNVERIFIED, AT_RISK}.isdisjoint(said.finding for said in advice.findings)


def _number_blind(report: ReportPage) -> int:
    names = {each.name for each in report.fleet.blind}
    return sum(each.computer in names for each in report.databases)


def _checks(state: State, settings: Settings, now: float) -> tuple[CheckdbRow, ...]:
    ends = last_checks(state.sql_databases.values(), now)
    return checked_databases(state, settings, now, ends=ends)


def _input_facts(
    state: State,
    inputs: Sequence[str | os.PathLike[str]],
    unread: Sequence[str],
    unreadable: Sequence[Unreadable],
) -> InputFacts:
    return InputFacts(
        inputs=tuple(tidy(os.fspath(path)) for path in inputs),
        records=sum(source.records for source in state.sources.values()),
        untimed=sum(source.untimed for source in state.sources.values()),
        unread=tuple(map(tidy, unread)),
        unreadable=tuple(_tidy_piece(piece) for piece in unreadable[:MAX_UNREADABLE_ROWS]),
        more_unreadable=max(0, len(unreadable) - MAX_UNREADABLE_ROWS),
        dropped=tidy(dropped_sentence(state)),
        long_paths=tidy(long_path_sentence(state)),
    )


def _lone_instance_rows(state: State) -> tuple[InstanceRow, ...]:
    """Instances with counters of which no event names a database."""
    known = {instance_key(each) for each in state.databases.values()}
    return tuple(
        InstanceRow(
            computer=tidy(instance.computer),
            ese_instance=tidy(instance.ese_instance),
            pages_read=instance.totals.get(PAGES_READ),
            pages_freed=instance.totals.get(PAGES_FREED),
        )
        for key, instance in sorted(state.instances.items())
        if key not in known and instance.totals
    )


def _lone_errors(lone: Iterable[LoneInstance]) -> Iterator[LoneError]:
    for each in lone:
        for told in each.findings:
            if told.finding != SLOW:
                yield LoneError(
                    computer=tidy(each.computer),
                    ese_instance=tidy(each.ese_instance),
                    sentence=tidy(told.sentence),
                )


def _gap_rows(state: State) -> tuple[GapRow, ...]:
    """All gaps, by channel."""
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


def _headline(
    figures: Sequence[DatabaseFigures], backups: BackupTable, checks: Sequence[CheckdbRow]
) -> str:
    bad = _with_errors(checks)
    if not bad:
        return _headline_of_databases(figures, backups)
    of_checks = (
        f"CHECKDB left errors in {len(bad):,} of {counted(len(checks), 'database')} of SQL Server:"
        f" {_named([f'{each.database} on {each.computer}' for each in bad])}."
    )
    return f"{_headline_of_databases(figures, backups)} {of_checks}" if figures else of_checks


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _headline_of_databases(figures: Sequence[DatabaseFigures], backups: BackupTable) -> str:
    if not figures and backups.rows:
        groups = len({(row.computer, row.ese_instance) for row in backups.rows})
        return (
            f"These logs record backups of {counted(groups, 'storage group')};"
            " no event names a database."
        )
    if not figures:
        return "No ESE database is named in these logs, so this page judges none."
    bad = [each for each in figures if each.status == "bad"]
    computers = counted(len({each.computer for each in figures}), "computer")
    databases = counted(len(figures), "database")
    if not bad:
        return f"No bad page is known in {databases} on {computers}."
    have = "has" if len(bad) == 1 else "have"
    named = _named([f"{each.name} on {each.computer}" for each in bad])
    return f"{len(bad):,} of {databases} {have} {worst_words(bad)}: {named}."


def _remark(figures: Sequence[DatabaseFigures]) -> str:
    watched = [each for each in figures if each.tier == "watched"]
    never = [each for each in watched if each.last_verified is None]
    if not watched:
        return ""
    have = "has" if len(never) == 1 else "have"
    if not never:
        return "Every page of every watched database was verified at least once."
    return (
        f"{len(never):,} of {counted(len(watched), 'watched database')} {have} never been fully"
        " verified in these logs; undetected bad pages are possible."
    )


def _never_verified(advice: Sequence[Advice]) -> str:
    keys = never_proven(advice)
    if not keys:
        return ""
    told = tidy(never_proven_text(keys))
    return f"{told[0].upper()}{told[1:]}."


def _tidy_piece(piece: Unreadable) -> Unreadable:
    return Unreadable(path=tidy(piece.path), place=tidy(piece.place), reason=tidy(piece.reason))
