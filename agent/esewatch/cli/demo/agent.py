"""Requests to the agent of the demo, for each database: its page, its figures, its advice."""

import html
import re
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.parse import urlencode

import msgspec

_SECONDS = 10.0
_UNPROXIED = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""The agent is on this machine, whatever the environment says of proxies."""
_SENTENCE = re.compile(r'<p class="sentence">(.*?)</p>', re.DOTALL)

Key = tuple[str, str]
"""(computer in lower case, name of the database)."""


class ShownForecast(msgspec.Struct):
    """End of a running pass as the agent forecasts it: ISO 8601, UTC."""

    task: str
    p90: str = ""


class _Finding(msgspec.Struct):
    finding: str


class _Advice(msgspec.Struct):
    computer: str
    database: str
    action: str
    evidence: dict[str, float] = {}
    findings: list[_Finding] = []
    forecast: ShownForecast | None = None


class _Row(msgspec.Struct):
    computer: str
    database: str
    name: str
    model: str
    running: list[str] = []
    known_bad_pages: dict[str, int] = {}
    verified: dict[str, str] = {}
    last_checksum_completed: str = ""


class Figures(msgspec.Struct, kw_only=True):
    """One database, as the agent shows it."""

    model: str = ""
    sentence: str = ""
    """The first one of its page."""
    action: str = ""
    ratio: float | None = None
    findings: frozenset[str] = frozenset()
    forecast: ShownForecast | None = None
    running: list[str] = []
    bad_pages: dict[str, int] = {}
    """By kind, those that stand."""
    verified: bool = False
    scanned: str = ""
    """Completion of its last scan, ISO 8601, UTC."""
    page: str = ""
    """The address of its page, without that of the agent."""


def look(url: str) -> dict[Key, Figures]:
    """The databases of the agent at `url`.

    Raises OSError when it does not answer, or not as the agent does.
    """
    try:
        rows = _ask(f"{url}/api/v1/databases", "databases", list[_Row])
        advice = _ask(f"{url}/api/v1/advice", "advice", list[_Advice])
        found = put_together(rows, advice)
        for each in found.values():
            text = _get(f"{url}{each.page}").decode()
            told = _SENTENCE.search(text)
            each.sentence = html.unescape(told[1]).strip() if told else ""
    except (HTTPException, LookupError, TypeError, ValueError) as error:
        raise OSError(f"{url} is not the agent: {error}") from None
    return found


def put_together(rows: list[_Row], advice: list[_Advice]) -> dict[Key, Figures]:
    """Figures of `/api/v1/databases` and `/api/v1/advice`; the sentences are on the pages."""
    advised = {(each.computer, each.database): each for each in advice}
    found = {}
    for row in rows:
        mine = advised.get((row.computer, row.database))
        where = urlencode({"computer": row.computer, "database": row.database})
        found[row.computer.lower(), row.name] = Figures(
            model=row.model,
            action=mine.action if mine else "",
            ratio=mine.evidence.get("ratio") if mine else None,
            findings=frozenset(each.finding for each in mine.findings) if mine else frozenset(),
            forecast=mine.forecast if mine else None,
            running=row.running,
            bad_pages=row.known_bad_pages,
            verified=bool(row.verified),
            scanned=row.last_checksum_completed,
            page=f"/database?{where}",
        )
    return found


def _ask(url: str, key: str, kind: Any) -> Any:
    return msgspec.convert(msgspec.json.decode(_get(url))[key], kind)


def _get(url: str) -> bytes:
    with _UNPROXIED.open(url, timeout=_SECONDS) as answer:
        body: bytes = answer.read()
    return body
