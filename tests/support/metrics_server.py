"""An exporter that answers as a test tells it to: well, wrongly, slowly or not at all."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.patience import PATIENCE

TEXT = "text/plain; version=0.0.4; charset=utf-8"
Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Leaves every GET to the answer that is set."""

    server: "_Server"

    def do_GET(self) -> None:
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers)))
        with suppress(ConnectionError):
            self.server.answer(self)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: requests are kept, not printed."""

    def wait(self) -> None:
        """Until the test is over."""
        self.server.over.wait(PATIENCE)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.lock = threading.Lock()
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.over = threading.Event()
        self.answer: Answer = says("")


class MetricsServer:
    """Listens on 127.0.0.1; `answer` is what the next request gets."""

    def __init__(self, port: int = 0) -> None:
        self._server = _Server(port)
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}/metrics"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def server(self) -> ThreadingHTTPServer:
        """The server itself, to put TLS around its socket."""
        return self._server

    def answer(self, answer: Answer) -> None:
        """What requests get from now on."""
        self._server.answer = answer

    def requests(self) -> list[tuple[str, dict[str, str]]]:
        """(path, headers) of the requests so far."""
        with self._server.lock:
            return list(self._server.requests)

    def close(self) -> None:
        """End it; connections that wait are dropped. Again is no error."""
        self._server.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)


def says(body: str | bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """A whole answer."""
    data = body.encode() if isinstance(body, str) else body

    def answer(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Type": TEXT, **(headers or {})}.items():
            handler.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def hangs(handler: Handler) -> None:
    """No answer at all."""
    handler.wait()


def drips(handler: Handler) -> None:
    """A byte of the header now and then, without end."""
    while not handler.server.over.wait(0.05):
        handler.wfile.write(b"X")
        handler.wfile.flush()


@contextmanager
def metrics_server(port: int = 0) -> Iterator[MetricsServer]:
    """A running server."""
    server = MetricsServer(port)
    try:
        yield server
    finally:
        server.close()
