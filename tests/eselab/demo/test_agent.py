"""What the demo makes of an agent that does not answer, or that is something else."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from eselab.demo.agent import Figures, ShownForecast, look
from tests.support.patience import PATIENCE
from tests.support.ports import free_address

ROW = '{"databases":[{"computer":"c","database":"/d/a b.edb","name":"a b","model":"window"}]}'
ADVICE = {
    "computer": "c", "database": "/d/a b.edb", "action": "shrink", "evidence": {"ratio": 150.0},
    "findings": [{"finding": "scans_collide", "sentence": "s"}],
    "forecast": {"task": "defrag", "p90": "2026-11-22T01:00:00Z"},
}  # fmt: skip
PAGE = '<h1>a</h1>\n<p class="sentence">All 7 pages &amp; 0\nbad.</p><p class="sentence">2</p>'


@contextmanager
def answering(databases: str, advice: str = '{"advice":[]}', page: str = "") -> Iterator[str]:
    """A server that has these pages; that of a database by its query."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pages = {
                "/api/v1/databases": databases,
                "/api/v1/advice": advice,
                "/database?computer=c&database=%2Fd%2Fa+b.edb": page,
            }
            self.send_response(200 if self.path in pages else 404)
            self.end_headers()
            self.wfile.write(pages.get(self.path, "").encode())

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


def test_figures_advice_and_the_first_sentence_of_the_page_are_put_together() -> None:
    with answering(ROW, json.dumps({"advice": [ADVICE]}), PAGE) as url:
        assert look(url) == {
            ("c", "a b"): Figures(
                model="window",
                sentence="All 7 pages & 0\nbad.",
                action="shrink",
                ratio=150.0,
                findings=frozenset({"scans_collide"}),
                forecast=ShownForecast("defrag", "2026-11-22T01:00:00Z"),
                page="/database?computer=c&database=%2Fd%2Fa+b.edb",
            )
        }


def test_a_database_of_which_little_is_known_has_empty_figures() -> None:
    with answering(ROW) as url:
        (found,) = look(url).values()
    assert (found.action, found.sentence, found.ratio, found.verified) == ("", "", None, False)


@pytest.mark.parametrize(
    ("databases", "advice"),
    [
        ("", '{"advice":[]}'),
        ("[]", '{"advice":[]}'),
        ('{"databases":[{}]}', '{"advice":[]}'),
        (ROW, ""),
        (ROW, '{"advice":[{"computer":7}]}'),
        (ROW, "{}"),
    ],
)
def test_what_is_not_the_agent_is_said(databases: str, advice: str) -> None:
    with answering(databases, advice) as url, pytest.raises(OSError, match="is not the agent"):
        look(url)


def test_nobody_at_the_address_is_an_error_that_is_waited_for() -> None:
    with pytest.raises(OSError, match="refused"):
        look(f"http://{free_address()}")
