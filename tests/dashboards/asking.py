"""Queries of dashboards put to a Prometheus, as Grafana puts them."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.dashboards.boards import Json, Query, Span, interpolated, list_query, variables

SECONDS = 300.0
"""What a query may take."""

Values = Mapping[str, Sequence[str]]


class Answer(NamedTuple):
    """What came back."""

    series: list[Any]
    complaints: list[str]
    """An error, warnings and notes; empty when all is well."""

    @property
    def speaks(self) -> bool:
        """Whether there is a value other than 0."""
        found = [each.get("values", [each.get("value")]) for each in self.series]
        return any(value not in {"0", "-0", "NaN"} for row in found for _, value in row)


def _post(url: str, path: str, parameters: Sequence[tuple[str, str]]) -> Json:
    body = urllib.parse.urlencode(parameters).encode()
    try:
        with urllib.request.urlopen(f"{url}/api/v1/{path}", body, SECONDS) as answer:
            found: Json = json.load(answer)
    except urllib.error.HTTPError as error:
        found = json.load(error)
    return found


def ask(url: str, query: Query, span: Span, values: Values) -> Answer:
    """The answer to one query of a panel: of the end of the span, or of all its steps."""
    text = interpolated(query.target["expr"], query.board, span, values)
    if query.target.get("instant"):
        found = _post(url, "query", [("query", text), ("time", str(span.end))])
    else:
        begin, end = (time // span.step * span.step for time in (span.begin, span.end))
        times = [("start", str(begin)), ("end", str(end)), ("step", str(span.step))]
        found = _post(url, "query_range", [("query", text), *times])
    complaints = [*found.get("warnings", []), *found.get("infos", [])]
    if found["status"] != "success":
        return Answer([], [*complaints, f"{found['error']}: {text}"])
    return Answer(found["data"]["result"], complaints)


def offered(url: str, board: Json, span: Span, values: Values) -> dict[str, list[str]]:
    """What the lists of a dashboard offer, each with all the others as `values` has them.

    Lists depend on those before them: what they offer of one that `values` leaves out is chosen.
    """
    found: dict[str, list[str]] = {}
    for name, variable in variables(board).items():
        if variable["type"] != "query":
            continue
        there = listed(url, board, variable, span, {**found, **values})
        found[name] = [each for each in there if each in values.get(name, there)]
    return found


def listed(url: str, board: Json, variable: Json, span: Span, values: Values) -> list[str]:
    """What one list offers: everything is chosen of what `values` leaves out."""
    selector, label = list_query(variable)
    times = [("start", str(span.begin)), ("end", str(span.end))]
    match = interpolated(selector, board, span, values)
    query = urllib.parse.urlencode([("match[]", match), *times])
    with urllib.request.urlopen(f"{url}/api/v1/label/{label}/values?{query}") as answer:
        there: list[str] = json.load(answer)["data"]
    return there
