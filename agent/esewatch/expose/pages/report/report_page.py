"""`report`: the content of logs as one self-contained page.

The values and sentences of the page are made here; the template only lays them out.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from esewatch.advice.advise import Advice
from esewatch.advice.findings.lone_instances import LoneInstance
from esewatch.advice.history.surroundings import surroundings
from esewatch.advice.unproven import never_proven, never_proven_text
from esewatch.config import Settings
from esewatch.expose.formatting import plural, tidy
from esewatch.expose.pages.checkdb_table import CheckdbRow, checked_databases, last_checks
from esewatch.expose.pages.database_page import MAX_PASSES, DatabasePage, database_page
from esewatch.expose.pages.database_table import TableRow, row_of, window_rows
from esewatch.expose.pages.hidden_counters import HiddenGroup, grouped
from esewatch.expose.pages.overview import DatabaseFigures, overview
from esewatch.expose.pages.ratio import FREED, READ
from esewatch.expose.pages.rendering import render
from esewatch.expose.pages.report.backup_table import BackupTable, backup_table
from esewatch.expose.pages.summary import Summary
from esewatch.fold.identity.computers import namesakes
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.state.state import State
from esewatch.model import Unreadable

MAX_UNREADABLE_ROWS = 500


class Advised(NamedTuple):
    """The advice as of one moment (epoch seconds)."""

    time: float
    advice: tuple[Advice, ...]
    lone: tuple[LoneInstance, ...] = ()
    """Instances with backups and no database."""


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
    namesakes: tuple[str, ...]
    """Of computers with one short name."""
    wrong: bool
    begin: float | None
    end: float | None
    inputs: tuple[str, ...]
    records: int
    untimed: int
    """Events without a time."""
    fleet: Summary
    watched: tuple[DatabasePage, ...]
    others: tuple[DatabasePage, ...]
    rows: tuple[TableRow, ...]
    """Of those that are watched, in the same order."""
    windows: tuple[TableRow, ...]
    checks: tuple[CheckdbRow, ...]
    """Each as of the latest check of its computer."""
    ignored: int
    instances: tuple[InstanceRow, ...]
    backups: BackupTable
    hidden: tuple[HiddenGroup, ...]
    gaps: tuple[GapRow, ...]
    never_verified: str
    """The one sentence on directories that nothing ever verified; empty without one."""
    unread: tuple[str, ...]
    """Path and reason of each input that could not be read."""
    unreadable: tuple[Unreadable, ...]
    more_unreadable: int


def render_report(report: Report) -> str:
    """The page: HTML that needs nothing else."""
    return render("report.html.j2", report=report, passes=MAX_PASSES)


def build_report(
    state: State,
    settings: Settings,
    now: float,
    *,
    inputs: Sequence[str | os.PathLike[str]],
    unreadable: Sequence[Unreadable],
    unread: Sequence[str] = (),
    advised: Sequence[Advised],
) -> Report:
    """The content of the page. `inputs` are all paths, `unread` says which could not be read.

    `advised` is the advice of the databases, each group as of the last record of its computers.
    Watched databases come first, then the others, worst first in each.

    Each database is shown as of its advice, and as of `now` without any.
    """
    view = overview(state, settings, now, tuple(each for group in advised for each in group.advice))
    pages = _pages(state, settings, view.databases, advised, now)
    watched = tuple(each for each in pages if each.figures.tier == "watched")
    rows = tuple(
        row_of(each.figures, each.now, f"#watched-{number}")
        for number, each in enumerate(watched, 1)
    )
    times = [time for each in pages for time in (each.first_seen, each.last_seen) if time]
    backups = backup_table(state, [each for group in advised for each in group.lone])
    return Report(
        now=now,
        headline=_headline(view.databases, backups),
        remark=_remark(view.databases),
        namesakes=tuple(tidy(each.sentence) for each in namesakes(state.hosts, settings)),
        wrong=any(each.status == "bad" for each in view.databases),
        begin=min(times, default=None),
        end=max(times, default=None),
        inputs=tuple(tidy(os.fspath(path)) for path in inputs),
        records=sum(source.records for source in state.sources.values()),
        untimed=sum(source.untimed for source in state.sources.values()),
        fleet=view.fleet,
        watched=watched,
        others=tuple(each for each in pages if each.figures.tier != "watched"),
        rows=rows,
        windows=tuple(window_rows(rows)),
        checks=checked_databases(
            state, settings, now, ends=last_checks(state.sql_databases.values(), now)
        ),
        ignored=view.ignored,
        instances=_lone_instances(state),
        backups=backups,
        hidden=tuple(grouped(view.hidden)),
        gaps=_gaps(state),
        never_verified=_never_verified(view.advice),
        unread=tuple(map(tidy, unread)),
        unreadable=tuple(_tidy_piece(piece) for piece in unreadable[:MAX_UNREADABLE_ROWS]),
        more_unreadable=max(0, len(unreadable) - MAX_UNREADABLE_ROWS),
    )


def _pages(
    state: State,
    settings: Settings,
    shown: Sequence[DatabaseFigures],
    advised: Sequence[Advised],
    now: float,
) -> list[DatabasePage]:
    """The page of each database, in the same order."""
    moments = {
        (tidy(each.computer), tidy(each.database)): group.time
        for group in advised
        for each in group.advice
    }
    entries = {(tidy(key[0]), tidy(key[1])): entry for key, entry in state.databases.items()}
    told = surroundings(state, settings)
    pages = []
    for figures in shown:
        key = (figures.computer, figures.database)
        moment = moments.get(key, now)
        pages.append(database_page(state, settings, figures, entries[key], moment, told=told))
    return pages


def _headline(figures: Sequence[DatabaseFigures], backups: BackupTable) -> str:
    if not figures and backups.rows:
        groups = len({(row.computer, row.ese_instance) for row in backups.rows})
        return (
            f"These logs tell of backups of {plural(groups, 'storage group')};"
            " no event names a database."
        )
    if not figures:
        return "These logs name no ESE database: this page says nothing of the state of any one."
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


def _never_verified(advice: Sequence[Advice]) -> str:
    keys = never_proven(advice)
    if not keys:
        return ""
    told = tidy(never_proven_text(keys))
    return f"{told[0].upper()}{told[1:]}."


def _lone_instances(state: State) -> tuple[InstanceRow, ...]:
    known = {instance_key(each) for each in state.databases.values()}
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
