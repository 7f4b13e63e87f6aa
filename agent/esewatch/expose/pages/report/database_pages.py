"""The databases of a report: rows of all, and each in full where it is asked for."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from esewatch.advice.findings.details import LoneInstance
from esewatch.advice.history.derived import AllDerived
from esewatch.advice.history.history import Gathering
from esewatch.advice.judgement import Judgement
from esewatch.config import Settings
from esewatch.expose.formatting import tidy
from esewatch.expose.pages.database_page import MAX_PASSES, DatabasePage, database_page
from esewatch.expose.pages.overview import DatabaseFigures
from esewatch.expose.pages.rendering import TableRow, render, row_of
from esewatch.expose.pages.runbooks.markdown import to_html
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.expose.pages.runbooks.runbook_links import runbook_links
from esewatch.fold.databases.databases import is_dated
from esewatch.fold.state.state import State

MAX_IN_FULL = 20
"""Databases in full on the report itself; the page opens at once, however many there are."""


class Advised(NamedTuple):
    """The advice as of one moment (epoch seconds)."""

    time: float
    advice: tuple[Judgement, ...]
    lone: tuple[LoneInstance, ...] = ()
    """Instances with backups and no database."""
    computers: Collection[str] = ()
    """The group, where some of it may have no advice."""


def moments(advised: Sequence[Advised]) -> dict[str, float]:
    """By computer, as of when it is judged."""
    return {
        name: group.time
        for group in advised
        for name in (*group.computers, *(each.computer for each in group.advice))
    }


class DatabasePages:
    """The databases of one state, each as of its group, and as of `now` without one. `details`: the
    folder with a page of each, relative to the report; empty where there is none."""

    def __init__(
        self,
        state: State,
        settings: Settings,
        advised: Sequence[Advised],
        now: float,
        *,
        known: AllDerived,
        details: str = "",
    ) -> None:
        self._gathering, self._known = Gathering.of(state, settings), known.databases
        self._now = now
        self.details = details
        self._files: dict[tuple[str, str], str] = {}
        self._moments = {tidy(name): time for name, time in moments(advised).items()}
        self._clocks = {tidy(name): time for name, time in state.clocks.items()}
        self._entries = {
            (tidy(key[0]), tidy(key[1])): entry for key, entry in state.databases.items()
        }

    def of(self, figures: DatabaseFigures) -> DatabasePage:
        entry = self._entries[figures.computer, figures.database]
        facts = self._known[entry.computer, entry.database]
        return database_page(self._gathering, figures, facts, self._moment(figures))

    def rows(self, shown: Sequence[DatabaseFigures], section: str) -> tuple[TableRow, ...]:
        return tuple(
            row_of(each, self._clock(each), self._href(each, section, number))
            for number, each in enumerate(shown, 1)
        )

    def file_of(self, figures: DatabaseFigures) -> str:
        """The name of the file with its page: the same for the same database of one report."""
        key = figures.computer, figures.database
        return self._files.setdefault(key, f"{len(self._files) + 1:04}.html")

    def times(self, shown: Sequence[DatabaseFigures]) -> Iterator[float]:
        """First and last record of each, where they have a time."""
        for each in shown:
            entry = self._entries[each.computer, each.database]
            if is_dated(entry):
                yield from (time for time in (entry.first_seen, entry.last_seen) if time)

    def _moment(self, figures: DatabaseFigures) -> float:
        return self._moments.get(figures.computer, self._now)

    def _clock(self, figures: DatabaseFigures) -> float:
        """The time that its age is measured to: one that is not heard grows old like the others."""
        moment = self._moment(figures)
        blind = "blind" in figures.troubles
        return max(moment, self._clocks.get(figures.computer, self._now)) if blind else moment

    def _href(self, figures: DatabaseFigures, section: str, number: int) -> str:
        if self.details:
            return f"{self.details}/{self.file_of(figures)}"
        return f"#{section}-{number}" if number <= MAX_IN_FULL else ""


def render_detail(page: DatabasePage, report: str) -> str:
    """One database as a page of its own: HTML that needs nothing else. `report` is the relative
    address of the report."""
    return render(
        "detail.html.j2",
        page=page,
        passes=MAX_PASSES,
        report=report,
        runbooks=embedded([page.figures]),
    )


_LINK = re.compile(r'<a href="([^"#]*)(?:#[^"]*)?">(.*?)</a>')
_DEEPER = 2


def embedded(databases: Iterable[DatabaseFigures]) -> Mapping[str, Markup]:
    """The runbooks that these databases refer to, by name, in the order of their first use. A link
    to a runbook that is not among them is its text alone."""
    names = dict.fromkeys(name for each in databases for name in runbook_links(each))
    texts = {name: text for name in names if (text := Runbooks().text(name)) is not None}

    def link(found: re.Match[str]) -> str:
        name, label = found.groups()
        return f'<a href="#runbook-{name}">{label}</a>' if name in texts else label

    return {
        name: Markup(_LINK.sub(link, str(to_html(text, _DEEPER)))) for name, text in texts.items()
    }
