"""What the demo makes of an agent that does not answer, or that is something else."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from esewatch.cli.demo_agent import Figures, look
from tests.support.ports import free_address

ROW = '{"databases":[{"computer":"c","database":"/d/healthy.edb","name":"healthy"}]}'


@contextmanager
def answering(databases: str, metrics: str) -> Iterator[str]:
    """A server that has these two pages."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = (metrics if self.path == "/metrics" else databases).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

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
        thread.join(10)


def test_a_database_of_which_little_is_known_has_empty_figures() -> None:
    with answering(ROW, "") as url:
        assert look(url) == {"healthy": Figures()}


def test_metrics_of_other_databases_and_other_metrics_are_left_out() -> None:
    metrics = (
        'ese_passes_completed_total{computer="c",database="/d/healthy.edb",task="defrag"} 3\n'
        'ese_passes_completed_total{computer="c",database="/d/other.edb",task="defrag"} 4\n'
        'ese_passes_started_total{computer="c",database="/d/healthy.edb",task="defrag"} 5\n'
    )
    with answering(ROW, metrics) as url:
        assert look(url) == {"healthy": Figures(completed={"defrag": 3})}


@pytest.mark.parametrize(
    ("databases", "metrics"),
    [
        ("", ""),
        ("[]", ""),
        ('{"databases":[{}]}', ""),
        (ROW, "ese_passes_completed_total{computer=\n"),
        (ROW, "ese_passes_completed_total nonsense\n"),
    ],
)
def test_what_is_not_the_agent_is_said(databases: str, metrics: str) -> None:
    with answering(databases, metrics) as url, pytest.raises(OSError, match="is not the agent"):
        look(url)


def test_nobody_at_the_address_is_an_error_that_is_waited_for() -> None:
    with pytest.raises(OSError, match="refused"):
        look(f"http://{free_address()}")
