"""Insertion strings that a tool joined into one text, split into the positional form again.

`, ` (EvtxECmd, Format-List), `; ` (Server 2003, Zabbix's agent), `', '` (Get-EventLog), `|`
(LogParser). A value may contain what joins them; it is put together again where only one way gives
numbers for all parameters that are numbers.
"""

import re

from esewatch.ese.catalogue.event_row import Kind, Param
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.strings import parse_int

_JOINED = re.compile(
    r"[\s{\[('\"]*(?:[^\s'\"(,;|][^'\"(;|\n]{0,198}?)(?P<between>['\"]?\s?[,;|]\s?['\"]?)"
    r"\d{1,10}(?:,[A-Z-],\d{1,20}(?:,[\d.]{1,32})?)?(?P=between)"
)
_EDGES = " \t\r\n{}'\""
_BRACKETS = {"[": "]", "(": ")"}
_NUMBERS = frozenset({Kind.INT, Kind.SIGNED, Kind.VERSION, Kind.ERROR, Kind.EXPECTED_PAGE})
_WORDS = frozenset({Kind.DATABASE, Kind.FILE, Kind.TEXT, Kind.DATE})
_HEAD = 3
_LONGEST = 16_384


def split_joined(text: str, event_id: int | None) -> tuple[str, ...]:
    """The strings in `text`; empty where it is no such text."""
    match = _JOINED.match(text) if len(text) <= _LONGEST else None
    if match is None:
        return ()
    between = match["between"]
    whole = text.strip().removesuffix(".").strip(_EDGES)
    if text.lstrip()[:1] in _BRACKETS and whole[-1:] == _BRACKETS[text.lstrip()[:1]]:
        whole = whole[1:-1].strip(_EDGES)
    parts = [part.strip() for part in whole.split(between)]
    row = CATALOGUE.get(event_id) if event_id is not None else None
    if row is None:
        return tuple(parts)
    head, rest = parts[:_HEAD], parts[_HEAD:]
    if len(head) == _HEAD and head[2] and not head[2].endswith(":"):
        head, rest = [*head[:2], ""], [head[2], *rest]
    ways = _ways(rest, row.params, between)
    return (*head, *ways[0]) if len(ways) == 1 else ()


def _ways(rest: list[str], params: tuple[Param, ...], between: str) -> list[list[str]]:
    """The ways to put `rest` together to one string for each parameter."""
    for at, param in enumerate(params):
        if param.kind is Kind.STATS and between == ", " and at + 1 < len(rest):
            rest = [*rest[:at], between.join(rest[at : at + 2]), *rest[at + 2 :]]
    more = len(rest) - len(params)
    if more <= 0 or not params:
        return [rest] if _fits(rest, params) else []
    places = [at for at, param in enumerate(params) if param.kind in _WORDS]
    found = []
    for at in places:
        way = [*rest[:at], between.join(rest[at : at + more + 1]), *rest[at + more + 1 :]]
        if _fits(way, params):
            found.append(way)
    # Newer engines log more strings than the table has.
    return found or ([rest] if _fits(rest, params) else [])


def _fits(rest: list[str], params: tuple[Param, ...]) -> bool:
    return all(
        param.kind not in _NUMBERS or not value or parse_int(value) is not None
        for value, param in zip(rest, params, strict=False)
    )
