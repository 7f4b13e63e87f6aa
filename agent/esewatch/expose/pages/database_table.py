"""The table of databases: the number of its rows, and a summary of the databases left out."""

from collections import Counter
from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

import msgspec

from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.forecast.verdict import VERDICTS, Verdict
from esewatch.expose.advice_json import most_urgent
from esewatch.expose.pages.overview import DatabaseFigures, Status

MAX_ROWS = 100
MAX_COMPUTERS = 100
MAX_ADVICE_ROWS = 50
MAX_SECTIONS = 10
_VERDICTS: Mapping[Status, Verdict] = {
    "bad": "bad_pages",
    "attention": "look",
    "unproven": "unproven",
    "ok": "ok",
}
_ACTIONS = ("move", "grow", "shrink", "keep", "insufficient_evidence")
"""Most urgent action first."""


class TableRow(msgspec.Struct, frozen=True, kw_only=True):
    figures: DatabaseFigures
    href: str
    now: float
    forecast: Forecast | None
    """The forecast with the least time left; None without a date."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of the database; an ignored one is shown for its damage."""
        return shown_verdict(self.figures)

    @property
    def age(self) -> float | None:
        """Seconds since every page was last proven good."""
        last = self.figures.last_verified
        return None if last is None else max(0.0, self.now - last)

    @property
    def overdue(self) -> bool:
        return self.figures.advice is not None and self.figures.advice.overdue

    @property
    def late(self) -> bool:
        told = self.forecast
        return told is not None and told.late


class Folded(msgspec.Struct, frozen=True, kw_only=True):
    """The databases of one computer that are not in the table; `verdicts` counts them."""

    computer: str
    databases: int
    verdicts: Mapping[Verdict, int]
    """Those there are, worst first."""


def row_of(figures: DatabaseFigures, now: float, href: str | None = None) -> TableRow:
    """The row of one; without `href` it leads to the page of the database, where empty nowhere."""
    forecasts = figures.advice.forecasts if figures.advice is not None else ()
    told = most_urgent(forecasts)
    return TableRow(
        figures=figures,
        href=f".{database_link(figures.computer, figures.database)}" if href is None else href,
        now=now,
        forecast=told if told is not None and told.p90 is not None else None,
    )


def database_link(computer: str, database: str) -> str:
    """Its address; links are relative to their page, so that they hold below any prefix."""
    return f"/database?{_fields(computer, database)}"


def runbook_address(alert: str, figures: DatabaseFigures) -> str:
    return f"/runbooks/{alert}?{_fields(figures.computer, figures.database)}"


def _fields(computer: str, database: str) -> str:
    return urlencode({"computer": computer, "database": database})


def computer_link(computer: str) -> str:
    return "/computer?" + urlencode({"name": computer})


def shown_verdict(figures: DatabaseFigures) -> Verdict:
    """The verdict, for ignored databases too: those that are shown have damage."""
    return figures.verdict or _VERDICTS[figures.status]


def worst_words(databases: Iterable[DatabaseFigures]) -> str:
    """The trouble of databases of the worst verdict: bad pages, damage without any, or both."""
    return " or ".join(sorted({"bad pages" if each.bad else "damage" for each in databases}))


def folded(databases: Iterable[DatabaseFigures]) -> list[Folded]:
    found: dict[str, Counter[Verdict]] = {}
    for each in databases:
        found.setdefault(each.computer, Counter())[shown_verdict(each)] += 1
    return [
        Folded(
            computer=computer,
            databases=counts.total(),
            verdicts={name: counts[name] for name in VERDICTS if counts[name]},
        )
        for computer, counts in found.items()
    ]


def window_rows(rows: Iterable[TableRow]) -> list[TableRow]:
    """Databases with a window that is judged; most urgent action first."""
    judged = [row for row in rows if row.figures.advice and _action(row) in _ACTIONS]
    return sorted(judged, key=lambda row: _ACTIONS.index(_action(row)))


def _action(row: TableRow) -> str:
    return row.figures.advice.window.action if row.figures.advice else ""
