"""The databases that an address asks for: searched, filtered, sorted, a page at a time. The page,
the CSV and the JSON of one address hold the same databases in the same order."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec

from esewatch.advice.judgement import VERDICTS, Verdict
from esewatch.expose.formatting import iso_time
from esewatch.expose.pages.overview import DatabaseFigures, Overview, Summary
from esewatch.expose.pages.rendering import render, row_of, shown_verdict
from esewatch.fold.state.state import UNLOCATED, BadPage

ROWS = 100
"""Of one page: it stays below 300 KB."""

MAX_SEARCH = 200

REFRESH = range(10, 3601)
"""Seconds between two loads of a page that refreshes."""

_SORTS: Mapping[str, tuple[str, Callable[[DatabaseFigures], tuple[object, ...]] | None]] = {
    "urgency": ("most urgent first", None),
    "name": ("name", lambda each: (each.name.lower(), each.computer, each.database)),
    "computer": ("computer", lambda each: (each.computer, each.name.lower(), each.database)),
    "verified": (
        "verified longest ago first",
        lambda each: (each.last_verified or 0.0, each.computer, each.database),
    ),
    "size": ("largest first", lambda each: (-(each.size_bytes or 0.0), each.computer)),
}
COLUMNS = (
    "verdict", "name", "computer", "database", "role", "tier", "last_verified",
    "verification_deadline_seconds", "known_bad_pages", "size_bytes", "free_bytes", "findings",
    "reasons", "corrected_pages",
)  # fmt: skip


class ListQuery(NamedTuple):
    """Selection of databases; empty text selects all."""

    q: str = ""
    """Part of a name, path or computer."""
    verdict: str = ""
    computer: str = ""
    finding: str = ""
    sort: str = "urgency"
    page: int = 1

    def address(self, path: str, **changed: object) -> str:
        """The address of this view, with some of it changed."""
        asked = {**self._asdict(), "page": 1, **changed}
        plain = ListQuery()._asdict()
        fields = {name: value for name, value in asked.items() if value != plain[name]}
        return f"{path}?{urlencode(fields)}" if fields else path


class DatabaseList(NamedTuple):
    wanted: ListQuery
    found: tuple[DatabaseFigures, ...]
    """All that are asked for, in their order."""

    @property
    def pages(self) -> int:
        """Number of pages, at least one."""
        return max(1, -(-len(self.found) // ROWS))

    @property
    def page(self) -> int:
        """The number of the page asked for, the last one for a number beyond it."""
        return min(self.wanted.page, self.pages)

    @property
    def shown(self) -> tuple[DatabaseFigures, ...]:
        return self.found[(self.page - 1) * ROWS : self.page * ROWS]


def wanted(fields: Mapping[str, str]) -> ListQuery:
    """Selection by the fields of an address; a value that is not known selects nothing."""
    page = fields.get("page", "")
    verdict, sort = fields.get("verdict", ""), fields.get("sort", "")
    return ListQuery(
        q=fields.get("q", "").strip()[:MAX_SEARCH],
        verdict=verdict if verdict in VERDICTS else "",
        computer=fields.get("computer", "").strip()[:MAX_SEARCH],
        finding=fields.get("finding", "").strip()[:MAX_SEARCH],
        sort=sort if sort in _SORTS else "urgency",
        page=max(1, int(page)) if page.isascii() and page.isdecimal() and len(page) < 7 else 1,
    )


def refreshing(fields: Mapping[str, str]) -> dict[str, str]:
    """The header that loads a page again every so many seconds, where its address asks for it."""
    asked = fields.get("refresh", "")
    plain = asked.isascii() and asked.isdecimal() and len(asked) < 6
    return {"refresh": str(int(asked))} if plain and int(asked) in REFRESH else {}


def listing(view: Overview, asked: ListQuery) -> DatabaseList:
    found = [each for each in view.databases if _fits(each, asked)]
    key = _SORTS[asked.sort][1]
    return DatabaseList(asked, tuple(found if key is None else sorted(found, key=key)))


def has_verdict(figures: DatabaseFigures, verdict: Verdict) -> bool:
    """True if the database counts as such: it may have several troubles, the worst is shown."""
    return verdict == shown_verdict(figures) or verdict in figures.troubles


def _fits(each: DatabaseFigures, asked: ListQuery) -> bool:
    text = asked.q.lower()
    return (
        (not text or any(text in part.lower() for part in (each.name, each.path, each.computer)))
        and (not asked.verdict or has_verdict(each, _VERDICT[asked.verdict]))
        and (not asked.computer or each.computer == asked.computer)
        and (not asked.finding or asked.finding in _findings(each))
    )


_VERDICT: Mapping[str, Verdict] = {name: name for name in VERDICTS}


def _findings(each: DatabaseFigures) -> Sequence[str]:
    findings = each.advice.findings if each.advice is not None else ()
    return tuple(dict.fromkeys(said.finding for said in findings))


def list_page(view: Overview, asked: ListQuery) -> str:
    found = listing(view, asked)
    return render(
        "list.html.j2",
        view=view,
        listing=found,
        wanted=asked,
        rows=[row_of(each, view.now) for each in found.shown],
        computers=sorted({each.computer for each in view.databases}),
        findings=sorted({name for each in view.databases for name in _findings(each)}),
        sorts={name: words for name, (words, _) in _SORTS.items()},
        known_verdicts=VERDICTS,
    )


def list_csv(found: Iterable[DatabaseFigures]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for each in found:
        cells = (
            shown_verdict(each), each.name, each.computer, each.database, each.role, each.tier,
            iso_time(each.last_verified) or "", _number(each.verification_deadline), each.bad,
            _number(each.size_bytes), _number(each.free_bytes), " ".join(_findings(each)),
            "; ".join(each.reasons), each.bad_pages.get("corrected", 0),
        )  # fmt: skip
        writer.writerow([_cell(value) for value in cells])
    return out.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _cell(value: object) -> str:
    """A text that a spreadsheet would run begins with an apostrophe: names are of anybody."""
    text = str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def overview_json(view: Overview, found: Iterable[DatabaseFigures] | None = None) -> bytes:
    """`/api/v1/databases`: `{"time": …, "fleet": {…}, "databases": [{…}]}`, times in ISO 8601.

    `found` are the databases that are asked for, None: all. `fleet` always counts all.

    A key is absent when it is unknown: a number of the fleet where nothing was judged for it, then
    `not_judged` says why and what to do.
    """
    return msgspec.json.encode(
        {
            "time": iso_time(view.now),
            "fleet": _fleet_json(view.fleet),
            "databases": [
                _database_json(figures) for figures in (view.databases if found is None else found)
            ],
        }
    )


def _fleet_json(fleet: Summary) -> dict[str, Any]:
    heard, proven, unproven = fleet.basis[:3]
    row: dict[str, Any] = {
        "bad": fleet.bad if fleet.bad or proven else None,
        "unverified": fleet.unverified if fleet.unverified or heard > unproven else None,
        "writes_at_risk": fleet.writes_at_risk if fleet.writes_at_risk or heard else None,
        "blind": [{"name": each.name, "why": each.why} for each in fleet.blind],
        "unproven": unproven,
        "judged": heard,
        "not_judged": fleet.basis.sentence or None,
    }
    return {key: value for key, value in row.items() if value is not None}


def _bad_page_json(bad: BadPage) -> dict[str, Any]:
    row: dict[str, Any] = {
        "page_number": None if bad.page == UNLOCATED else bad.page,
        "kind": bad.kind,
        "first": iso_time(bad.first),
        "last": iso_time(bad.last),
        "found_in_history": bad.history,
        "pages": bad.pages,
    }
    return {key: value for key, value in row.items() if value is not None}


def _database_json(figures: DatabaseFigures) -> dict[str, Any]:
    row: dict[str, Any] = {
        "computer": figures.computer,
        "ese_instance": figures.ese_instance or None,
        "database": figures.database,
        "name": figures.name,
        "path": figures.path,
        "tier": figures.tier,
        "model": figures.model,
        "role": figures.role or None,
        "status": figures.status,
        "verdict": figures.verdict,
        "behind": figures.behind,
        "reasons": figures.reasons,
        "running": figures.running,
        "interrupted": figures.interrupted,
        "collisions": figures.collisions,
        "last_defrag_completed": iso_time(figures.last_defrag),
        "last_checksum_completed": iso_time(figures.last_checksum),
        "ratio": figures.ratio,
        "known_bad_pages": figures.bad_pages,
        "bad_pages": [_bad_page_json(bad) for bad in figures.bad_page_list],
        "verified": {by: iso_time(time) for by, time in figures.verified.items()},
        "verification_deadline_seconds": figures.verification_deadline,
        "size_bytes": figures.size_bytes,
        "free_bytes": figures.free_bytes,
    }
    return {key: value for key, value in row.items() if value is not None}
