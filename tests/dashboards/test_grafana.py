"""What a Grafana is asked, seen from a small server that stands in for it."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.dashboards.boards import Json, Query, Span
from tests.dashboards.grafana.server import SOURCE, Grafana, of_environment
from tests.support.patience import PATIENCE

SPAN = Span(1000.0, 4600.0, 15.0, 15.0)
BOARD: Json = {
    "uid": "esewatch-fleet",
    "title": "Fleet",
    "id": 7,
    "templating": {"list": [{"name": "job", "multi": True, "allValue": ".+"}]},
}
PANEL: Json = {"title": "Up"}
TARGET: Json = {"refId": "B", "expr": 'rate(x{job=~"$job"}[$__rate_interval])', "range": True}
QUERY = Query(BOARD, PANEL, TARGET)


class Fake:
    """Keeps requests; answers with what `answers` has for method and path, else with 200."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str, Json]] = []
        self.answers: dict[tuple[str, str], tuple[int, Json]] = {}
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def reply(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else {}
                login = self.headers["Authorization"]
                fake.requests.append((self.command, self.path, login, body))
                status, found = fake.answers.get((self.command, self.path), (200, {}))
                text = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self) -> None:
                self.reply()

            def do_POST(self) -> None:
                self.reply()

            def do_PUT(self) -> None:
                self.reply()

            def do_DELETE(self) -> None:
                self.reply()

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: requests are kept, not printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)


@pytest.fixture
def fake() -> Iterator[Fake]:
    server = Fake()
    yield server
    server.close()


def frames(*values: list[list[float]], notice: str = "") -> Json:
    meta = {"notices": [{"severity": "warning", "text": notice}]} if notice else {}
    return {"frames": [{"schema": {"meta": meta}, "data": {"values": each}} for each in values]}


def test_without_an_address_there_is_no_grafana() -> None:
    assert of_environment({}) is None
    assert of_environment({"GRAFANA_URL": ""}) is None


def test_a_token_goes_before_name_and_password(fake: Fake) -> None:
    login = {"GRAFANA_URL": f"{fake.url}/", "GRAFANA_USER": "eva", "GRAFANA_PASSWORD": "p"}
    for environment in (login, {**login, "GRAFANA_TOKEN": "t"}):
        grafana = of_environment(environment)
        assert grafana
        grafana.call("GET", "health")

    basic = f"Basic {base64.b64encode(b'eva:p').decode()}"
    assert [request[1:3] for request in fake.requests] == [
        ("/api/health", basic),
        ("/api/health", "Bearer t"),
    ]


def test_a_data_source_that_is_there_is_changed(fake: Fake) -> None:
    fake.answers["POST", "/api/datasources"] = (409, {"message": "exists"})
    Grafana(fake.url, "x").add_source("http://prometheus:9090", 60.0)

    (_, _, _, made), (method, path, _, changed) = fake.requests
    assert (method, path) == ("PUT", f"/api/datasources/uid/{SOURCE}")
    assert made == changed
    assert (made["type"], made["url"]) == ("prometheus", "http://prometheus:9090")
    assert made["jsonData"]["timeInterval"] == "60s"


def test_a_data_source_or_a_dashboard_that_is_refused_fails(fake: Fake) -> None:
    fake.answers["POST", "/api/datasources"] = (403, {"message": "no"})
    fake.answers["POST", "/api/dashboards/db"] = (412, {"message": "changed"})
    grafana = Grafana(fake.url, "x")

    with pytest.raises(AssertionError, match="403"):
        grafana.add_source("http://prometheus:9090", 60.0)
    with pytest.raises(AssertionError, match="412"):
        grafana.add_board(BOARD)


def test_a_dashboard_gets_names_of_its_own_and_is_taken_away(fake: Fake) -> None:
    fake.answers["GET", "/api/dashboards/uid/esewatch-fleet-test"] = (200, {"dashboard": {"a": 1}})
    grafana = Grafana(fake.url, "x")
    grafana.add_board(BOARD)

    assert grafana.board("esewatch-fleet") == {"a": 1}
    grafana.remove(["esewatch-fleet"])
    sent = fake.requests[0][3]
    assert sent["overwrite"] is True
    assert {key: sent["dashboard"][key] for key in ("uid", "title", "id")} == {
        "uid": "esewatch-fleet-test",
        "title": "Fleet-test",
        "id": None,
    }
    assert [request[:2] for request in fake.requests[2:]] == [
        ("DELETE", "/api/dashboards/uid/esewatch-fleet-test"),
        ("DELETE", f"/api/datasources/uid/{SOURCE}"),
    ]


def test_a_query_is_put_as_the_browser_puts_it(fake: Fake) -> None:
    result = frames([[1000.0, 2000.0], [1.0, 2.0]], [[1000.0], [3.0]])
    fake.answers["POST", "/api/ds/query"] = (200, {"results": {"B": result}})

    assert Grafana(fake.url, "x").ask(QUERY, SPAN) == (3, [])
    assert fake.requests[0][3] == {
        "from": "1000000",
        "to": "4600000",
        "queries": [
            {
                "refId": "B",
                "expr": 'rate(x{job=~".+"}[$__rate_interval])',
                "range": True,
                "datasource": {"type": "prometheus", "uid": SOURCE},
                "intervalMs": 15000,
                "maxDataPoints": 1000,
            }
        ],
    }


def test_errors_and_warnings_of_a_query_are_told(fake: Fake) -> None:
    grafana = Grafana(fake.url, "x")
    complaints = []
    for status, body in (
        (400, {"results": {"B": {"error": "parse error", "frames": []}}}),
        (500, {"message": "no such data source"}),
        (200, {"results": {"B": frames([], notice="no counter")}}),
    ):
        fake.answers["POST", "/api/ds/query"] = (status, body)
        complaints += grafana.ask(QUERY, SPAN)[1]

    assert complaints == ["parse error", "500: {'message': 'no such data source'}", "no counter"]
