"""A Grafana through its HTTP API: data source, dashboards, and the queries of panels.

The addresses and bodies are those of Grafana's documentation, developers/http_api (data source,
dashboard, "query a data source"). What it is given has names of its own and is taken away again.
"""

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.dashboards.boards import DATA_POINTS, Json, Query, Span, interpolated

SOURCE = "esewatch-test"
"""Name and uid of the data source."""
TEST = "-test"
"""What follows the uid and the title of a dashboard: one that is in use is left alone."""
SECONDS = 300.0


class Reply(NamedTuple):
    """HTTP status and body."""

    status: int
    body: Json


class Grafana:
    """The server at `url`; `authorization` is the header of that name."""

    def __init__(self, url: str, authorization: str) -> None:
        self._url = url.rstrip("/")
        self._authorization = authorization

    def call(self, method: str, path: str, body: Json | None = None) -> Reply:
        """One request. Raises OSError where no Grafana answers."""
        request = urllib.request.Request(
            f"{self._url}/api/{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Authorization": self._authorization, "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return Reply(answer.status, json.load(answer))
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, json.load(error))

    def add_source(self, prometheus: str, scraped_every: float) -> None:
        """The data source, a Prometheus that Grafana can reach."""
        source = {
            "name": SOURCE,
            "uid": SOURCE,
            "type": "prometheus",
            "access": "proxy",
            "url": prometheus,
            "jsonData": {"timeInterval": f"{scraped_every:g}s", "httpMethod": "POST"},
        }
        made = self.call("POST", "datasources", source)
        if made.status == 409:
            made = self.call("PUT", f"datasources/uid/{SOURCE}", source)
        assert made.status == 200, made

    def add_board(self, board: Json) -> None:
        """A dashboard under a uid of its own; one of an earlier run is replaced."""
        named = {**board, "uid": board["uid"] + TEST, "title": board["title"] + TEST, "id": None}
        made = self.call("POST", "dashboards/db", {"dashboard": named, "overwrite": True})
        assert made.status == 200, made

    def board(self, uid: str) -> Json:
        """The dashboard as Grafana keeps it."""
        found = self.call("GET", f"dashboards/uid/{uid}{TEST}")
        assert found.status == 200, found
        kept: Json = found.body["dashboard"]
        return kept

    def ask(self, query: Query, span: Span) -> tuple[int, list[str]]:
        """(rows, complaints) of one query, everything selected."""
        target = query.target
        asked = {
            **target,
            "expr": interpolated(target["expr"], query.board, None, {}),
            "datasource": {"type": "prometheus", "uid": SOURCE},
            "intervalMs": round(span.step * 1000),
            "maxDataPoints": query.panel.get("maxDataPoints", DATA_POINTS),
        }
        times = {"from": str(round(span.begin * 1000)), "to": str(round(span.end * 1000))}
        reply = self.call("POST", "ds/query", {"queries": [asked], **times})
        result: Json = reply.body.get("results", {}).get(target["refId"], {})
        complaints = [result["error"]] if result.get("error") else []
        if reply.status != 200 and not complaints:
            complaints = [f"{reply.status}: {reply.body}"]
        rows = 0
        for frame in result.get("frames", []):
            complaints += [
                each["text"] for each in frame["schema"].get("meta", {}).get("notices", [])
            ]
            columns: list[list[Any]] = frame["data"]["values"]
            rows += len(columns[0]) if columns else 0
        return rows, complaints

    def remove(self, uids: list[str]) -> None:
        """Take away the dashboards of these uids, and the data source."""
        for uid in uids:
            self.call("DELETE", f"dashboards/uid/{uid}{TEST}")
        self.call("DELETE", f"datasources/uid/{SOURCE}")


def of_environment(environment: Mapping[str, str]) -> Grafana | None:
    """The Grafana of GRAFANA_URL, with GRAFANA_TOKEN or GRAFANA_USER and GRAFANA_PASSWORD."""
    url = environment.get("GRAFANA_URL")
    if not url:
        return None
    if token := environment.get("GRAFANA_TOKEN"):
        return Grafana(url, f"Bearer {token}")
    pair = f"{environment.get('GRAFANA_USER', '')}:{environment.get('GRAFANA_PASSWORD', '')}"
    return Grafana(url, f"Basic {base64.b64encode(pair.encode()).decode()}")
