"""The dashboards as committed, and their queries as Grafana sends them.

How values take the place of variables is Grafana's: public/app/plugins/datasource/prometheus
of grafana/grafana 11 (interpolateQueryExpr, prometheusSpecialRegexEscape) for what the browser
does, pkg/promlib/models/query.go for $__interval and $__rate_interval.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from tests.rules.expressions import ROOT, Selector, uses

FOLDER = ROOT / "dashboards"
Json = dict[str, Any]

SPECIAL = re.compile(r"[$^*{}\[\]+?.()|]")
VARIABLE = re.compile(r"\$([A-Za-z_]\w*)|\$\{(\w+)(?::\w+)?\}")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DATA_POINTS = 1000
"""What a panel across the screen asks for."""
MARKED = 100
"""What annotations ask for, whatever the screen."""
LIST_QUERY = re.compile(r"label_values\((?:(?P<selector>.+), ?)?(?P<label>\w+)\)")


@cache
def loaded() -> tuple[Json, ...]:
    """All dashboards, in order of their file names. Fails where there are none."""
    found = tuple(json.loads(file.read_text()) for file in sorted(FOLDER.glob("*.json")))
    assert found, "no dashboards"
    return found


def panels(board: Json) -> list[Json]:
    """All panels, those of collapsed rows too, rows apart."""
    found: list[Json] = []
    for panel in board.get("panels", []):
        if panel["type"] == "row":
            found += panel.get("panels", [])
        else:
            found.append(panel)
    return found


def variables(board: Json) -> dict[str, Json]:
    """Name -> template variable."""
    return {each["name"]: each for each in board["templating"]["list"]}


class Query(NamedTuple):
    """One query of a panel."""

    board: Json
    panel: Json
    target: Json

    @property
    def name(self) -> tuple[str, str, str]:
        """Board, panel, letter of the query."""
        return self.board["uid"], self.panel["title"], self.target["refId"]


def queries() -> Iterator[Query]:
    """Those of all panels and annotations of all dashboards."""
    for board in loaded():
        for panel in panels(board):
            for target in panel.get("targets", []):
                yield Query(board, panel, target)
        for each in board.get("annotations", {}).get("list", []):
            asked = {"title": f"annotation {each['name']}", "maxDataPoints": MARKED}
            yield Query(board, asked, {"refId": "A", "expr": each["expr"], "range": True})


def named(selector: Selector) -> list[str]:
    """The metrics that a selector asks for: one, or those of its `__name__=~"a|b"`."""
    listed = [value for label, value in selector.matchers if label == "__name__"]
    return [name for value in listed for name in value.split("|")] or [selector.metric]


def metrics(*uids: str) -> set[str]:
    """Those that queries and variables name, of the dashboards `uids` or of all."""
    span = Span(0.0, 60.0, 15.0, 15.0)
    boards = [board for board in loaded() if not uids or board["uid"] in uids]
    asked = [each for each in queries() if each.board in boards]
    texts = [interpolated(each.target["expr"], each.board, span, {}) for each in asked]
    for board in boards:
        for variable in variables(board).values():
            if variable["type"] == "query":
                texts.append(interpolated(list_query(variable)[0], board, span, {}))
    return {name for text in texts if text for each in uses(text).selectors for name in named(each)}


class Span(NamedTuple):
    """From when to when a query is asked, and how far apart its points lie, in seconds."""

    begin: float
    end: float
    step: float
    scraped_every: float

    @property
    def built_in(self) -> dict[str, str]:
        """Variables that Grafana itself has."""
        times = {
            "__interval": self.step,
            "__rate_interval": max(self.step + self.scraped_every, 4 * self.scraped_every),
            "__range": self.end - self.begin,
        }
        found = {name: f"{round(seconds)}s" for name, seconds in times.items()}
        found |= {f"{name}_ms": str(round(seconds * 1000)) for name, seconds in times.items()}
        return found | {"__range_s": str(round(times["__range"]))}


def seconds_of(text: str) -> float:
    """`now-14d` or `1h` as seconds."""
    found = re.fullmatch(r"(?:now-)?(\d+)([smhd])", text)
    assert found, f"no length of time: {text!r}"
    return float(found[1]) * UNITS[found[2]]


def span_of(board: Json, panel: Json, end: float, scraped_every: float) -> Span:
    """The span that Grafana asks for when somebody opens the dashboard at `end`.

    Grafana also rounds the step to one of its list, which is left out.
    """
    length = seconds_of(panel.get("timeFrom", board["time"]["from"]))
    points = panel.get("maxDataPoints", DATA_POINTS)
    least = scraped_every
    if panel.get("interval"):
        least = max(least, seconds_of(panel["interval"]))
    step = max(float(-(-length // points)), least)
    return Span(end - length, end, step, scraped_every)


def escaped(value: str) -> str:
    """A chosen value as Grafana writes it into a regular expression in PromQL."""
    return SPECIAL.sub(r"\\\\\g<0>", value.replace("\\", "\\\\\\\\"))


def chosen(variable: Json, values: Sequence[str]) -> str:
    """What takes the place of a variable: of all where `values` is empty."""
    if variable.get("type") == "constant":
        return values[0] if values else str(variable["query"])
    if not values:
        return str(variable.get("allValue") or ".*")
    if not (variable.get("multi") or variable.get("includeAll")):
        return values[0].replace("\\", "\\\\")
    some = [escaped(value) for value in values]
    return some[0] if len(some) == 1 else f"({'|'.join(some)})"


def interpolated(
    expression: str, board: Json, span: Span | None, values: Mapping[str, Sequence[str]]
) -> str:
    """The expression as Prometheus gets it; everything is chosen of what `values` leaves out.

    Without a span Grafana's own variables stay, as the browser leaves them to the server.
    """
    known = variables(board)
    built_in = span.built_in if span else {}

    def put(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name.startswith("__"):
            return built_in[name] if built_in else found[0]
        return chosen(known[name], values.get(name, ()))

    return VARIABLE.sub(put, expression)


def list_query(variable: Json) -> tuple[str, str]:
    """(selector, label) of a variable's query. Fails where it is no label_values()."""
    query = variable["query"]
    found = LIST_QUERY.fullmatch(query["query"] if isinstance(query, dict) else query)
    assert found, f"no label_values(selector, label): {query!r}"
    return found["selector"] or "", found["label"]
