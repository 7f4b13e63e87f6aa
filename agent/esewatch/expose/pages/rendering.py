"""The pages for people: plain HTML from templates, no script, nothing fetched from elsewhere; and
the rows of their table of databases."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from esefiles import __version__
from esefiles.base.units import size
from esewatch.advice.base.finding import BAD_KIND_WORDS, VERIFIERS, counted, day_text
from esewatch.advice.judgement import HEALTHY, TEXTS, UNSEEN
from esewatch.advice.window.window_rules import Action
from esewatch.expose.formatting import (
    ago,
    count,
    days,
    duration,
    last_heard,
    number,
    second_tag,
    tidy,
    time_tag,
)
from esewatch.expose.pages.database_page import MAX_PASSES, DatabasePage, figure_cells
from esewatch.expose.pages.overview import DatabaseFigures, Overview
from esewatch.expose.pages.problems.problem import by_cause
from esewatch.expose.pages.problems.problems import grouped
from esewatch.expose.pages.runbooks.runbook_files import Runbooks, Subject, filled
from esewatch.expose.pages.runbooks.runbook_links import runbook_links, stale_runbooks

if TYPE_CHECKING:
    from jinja2 import Environment
from collections import Counter
from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

import msgspec

from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.judgement import VERDICTS, Verdict
from esewatch.expose.advice_json import most_urgent
from esewatch.expose.pages.overview import Status

_UNSEEN = dict.fromkeys(
    (
        *(code for code in range(0x20) if chr(code) not in "\t\n"),
        *range(0x7F, 0xA0),
        0x061C,
        *range(0x200E, 0x2010),
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
    ),
    "\N{REPLACEMENT CHARACTER}",
)
"""Characters that control the text, turn it round or cannot be encoded."""

MAX_ROWS = 100
MAX_COMPUTERS = 100
MAX_ADVICE_ROWS = 50
MAX_SECTIONS = 10
MAX_BAD = 3
"""The number of databases whose bad pages are the first sentences of a page."""
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


_URGENCY = ("critical", "warning", "info", "none", "")
"""First words of the severity of runbooks."""
MAX_CHECKS = 100
"""Databases of SQL Server in the table of their checks."""

MODELS = {
    "window": "window",
    "garbage_collection": "garbage collection",
    "background": "background scan",
    "application": "application",
}
ACTIONS: dict[Action, str] = {
    "move": "to move",
    "grow": "to grow",
    "shrink": "to shrink",
    "keep": "to keep",
    "insufficient_evidence": "without enough evidence",
    "not_applicable": "not judged",
}


def verdict_words(figures: DatabaseFigures) -> str:
    verdict = shown_verdict(figures)
    return worst_words([figures]) if verdict == "bad_pages" else TEXTS[verdict].words


def urgent(view: Overview) -> list[DatabaseFigures]:
    """Those that need somebody for more than the silence of their computer, which is one cause."""
    return [each for each in view.databases if _has_findings(each)][:MAX_SECTIONS]


def _has_findings(figures: DatabaseFigures) -> bool:
    if shown_verdict(figures) != "blind":
        return shown_verdict(figures) not in HEALTHY
    found = figures.advice.findings if figures.advice is not None else ()
    return any(each.severity != "info" and each.finding not in UNSEEN for each in found)


def as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def render_status(
    view: Overview, pages: Sequence[DatabasePage], ready: tuple[bool, str], runbooks: Runbooks
) -> str:
    """The status page, with a section for each of `pages`. `ready` says whether the first reading
    is done, and what is missing."""
    rows = [row_of(figures, view.now) for figures in view.databases]
    windows = window_rows(rows)
    computers = folded(view.databases[MAX_ROWS:])
    return render(
        "status.html.j2",
        view=view,
        ready=ready,
        rows=rows[:MAX_ROWS],
        computers=computers[:MAX_COMPUTERS],
        more_computers=len(computers) - MAX_COMPUTERS,
        more=len(rows) - MAX_ROWS,
        sections=[(page, _runbooks(page.figures, runbooks)) for page in pages],
        windows=windows[:MAX_ADVICE_ROWS],
        more_windows=max(0, len(windows) - MAX_ADVICE_ROWS),
        hidden=grouped(view.hidden),
        problems=by_cause(view.problems),
    )


def render_database(page: DatabasePage, runbooks: Runbooks) -> str:
    return render(
        "database.html.j2", page=page, names=_runbooks(page.figures, runbooks), passes=MAX_PASSES
    )


def render_computer(view: Overview, computer: str) -> str | None:
    databases = [each for each in view.databases if each.computer == computer]
    rows = [row_of(each, view.now) for each in databases[:MAX_ROWS]]
    sources = [source for source in view.sources if computer in source.computers]
    hidden = [each for each in view.hidden if each.computer == computer]
    checks = [each for each in view.checks if each.computer == computer]
    if not rows and not sources and not hidden and not checks:
        return None
    return render(
        "computer.html.j2",
        view=view,
        computer=computer,
        rows=rows,
        more=len(databases) - len(rows),
        sources=sources,
        checks=checks,
        blind=[each for each in view.fleet.blind if each.name == computer],
        hidden=grouped(hidden),
    )


def render_computers(view: Overview) -> str:
    return render("computers.html.j2", view=view, computers=folded(view.databases))


def render_nothing(what: str, name: str, computer: str = "") -> str:
    return render("nothing.html.j2", what=what, name=tidy(name), computer=tidy(computer))


def _runbooks(figures: DatabaseFigures, runbooks: Runbooks) -> list[str]:
    return [name for name in runbook_links(figures) if runbooks.has(name)]


def render_runbooks(runbooks: Runbooks) -> str:
    """The list of runbooks, what calls somebody first."""
    rows = [(*runbooks.head(name), name, runbooks.summary(name)) for name in runbooks.names()]
    rows.sort(key=lambda row: (_URGENCY.index(row[0].split()[0] if row[0] else ""), *row[1:3]))
    return render("runbooks.html.j2", rows=rows)


def render_runbook(name: str, markdown: str, figures: DatabaseFigures | None = None) -> str:
    if figures is not None:
        subject = Subject(figures.computer, figures.database, figures.path)
        markdown = filled(markdown, subject)
    # Imported when one is asked for: it takes 2 MB.
    from esewatch.expose.pages.runbooks.markdown import to_html  # noqa: PLC0415

    return render("runbook.html.j2", name=name, text=to_html(markdown), figures=figures)


def render(template: str, **values: Any) -> str:
    """A page from one of the templates; every value is escaped."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> "Environment":
    # Only for the first page: many daemons are only scraped.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("esewatch.expose.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        ago=ago,
        as_sentence=as_sentence,
        computer_link=computer_link,
        count=count,
        database_link=database_link,
        day=day_text,
        days=days,
        figure_cells=figure_cells,
        last_heard=last_heard,
        number=number,
        counted=counted,
        remedies=runbook_links,
        second=second_tag,
        size=size,
        span=duration,
        stale_runbooks=stale_runbooks,
        time=time_tag,
        verdict=shown_verdict,
        verdict_words=verdict_words,
    )
    environment.globals.update(
        runbook_address=runbook_address,
        actions=ACTIONS,
        bad_kinds=BAD_KIND_WORDS,
        healthy=HEALTHY,
        max_checks=MAX_CHECKS,
        most_bad=MAX_BAD,
        models=MODELS,
        signs={verdict: text.sign for verdict, text in TEXTS.items()},
        verdicts={verdict: text.words for verdict, text in TEXTS.items()},
        verifiers=VERIFIERS,
        version=__version__,
    )
    return environment


def _visible(value: object) -> object:
    """Text without characters that hide or turn round what is read."""
    if isinstance(value, str) and not isinstance(value, Markup) and not value.isprintable():
        return value.translate(_UNSEEN)
    return value
