"""A real server on a free loopback port over a view that the tests hold."""

import contextlib
import http.client
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple

from esewatch.advice.advise import advise
from esewatch.advice.judgement import Judgement
from esewatch.config import default_settings
from esewatch.expose.http.app import App
from esewatch.expose.http.connection import Limits
from esewatch.expose.http.server import HttpServer
from esewatch.expose.http.web import WebConfiguration
from esewatch.expose.metrics.families import families
from esewatch.expose.metrics.snapshot import Snapshot
from esewatch.expose.pages.database_page import DatabasePage
from esewatch.expose.pages.overview import Overview
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.fold.commands import Acknowledged
from esewatch.fold.state.state import State
from esewatch.model import EsewatchError
from tests.expose.examples import NOW, example
from tests.expose.pages_of import pages_of
from tests.support.patience import PATIENCE


class FakeDaemon:
    """A view over one state; remembers its calls."""

    def __init__(
        self, state: State | None = None, advice: Sequence[Judgement] | None = None
    ) -> None:
        self.state = state or example()
        self.snapshot = Snapshot.of(families(self.state, default_settings(), NOW))
        judged = advise(self.state, default_settings(), NOW) if advice is None else advice
        self.advice = tuple(judged)
        self._shown = pages_of(self.state, default_settings(), NOW, self.advice)
        self.state_of_readiness = (True, "")
        self.forgotten: list[tuple[str, str]] = []
        self.acknowledged: list[tuple[str, str, list[int]]] = []
        self.reloads = 0
        self.journal: tuple[int, int] | None = (1, 2)
        self.refusal = ""

    def ready(self) -> tuple[bool, str]:
        return self.state_of_readiness

    def overview(self) -> Overview:
        return self._shown.overview

    def database(self, computer: str, database: str) -> DatabasePage | None:
        return self._shown.database(self.state, computer, database)

    def forget(self, computer: str, database: str) -> bool:
        if (computer, database) not in self.state.databases:
            raise EsewatchError(f"no database {database} is known on {computer}")
        self.forgotten.append((computer, database))
        return True

    def ack(self, computer: str, database: str, pages: list[int]) -> Acknowledged:
        if (computer, database) not in self.state.databases:
            raise EsewatchError(f"no database {database} is known on {computer}")
        self.acknowledged.append((computer, database, pages))
        return Acknowledged(len(pages) or 3, 0 if pages else 2)

    def reload(self) -> None:
        if self.refusal:
            raise EsewatchError(self.refusal)
        self.reloads += 1


class Answer(NamedTuple):
    """Status, headers (names in lower case), body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


@contextmanager
def serving(
    view: FakeDaemon | None = None,
    *,
    limits: Limits | None = None,
    runbooks: Runbooks | None = None,
    web: WebConfiguration | None = None,
    prefix: str = "",
) -> Iterator[HttpServer]:
    """The server, until the end of the block."""
    app = App(view or FakeDaemon(), runbooks=runbooks, web=web, prefix=prefix)
    secure = web.tls if web is not None else None
    server = HttpServer(app, "127.0.0.1:0", limits=limits, secure=secure)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def port_of(server: HttpServer) -> int:
    return int(server.address.rpartition(":")[2])


def ask(
    server: HttpServer,
    path: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    context: ssl.SSLContext | None = None,
) -> Answer:
    """One request on a connection of its own, with TLS where a context is given."""
    with closing(_client(port_of(server), context)) as client:
        client.request(method, path, body=body, headers={"Connection": "close", **(headers or {})})
        answer = client.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, names, answer.read())


def _client(port: int, context: ssl.SSLContext | None) -> http.client.HTTPConnection:
    if context is None:
        return http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    return http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=context)


def connect(server: HttpServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(server)), timeout=PATIENCE)


def say(server: HttpServer, sent: bytes) -> bytes:
    """Send bytes, and read what comes until the server closes or is done.

    A server that refuses may close before all is sent: the system then refuses the rest.
    """
    with connect(server) as client:
        received = bytearray()
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            client.sendall(sent)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_WR)
        try:
            while part := client.recv(65536):
                received += part
        except ConnectionResetError:
            pass
        return bytes(received)


def wait_until(holds: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Poll for at most so many seconds; whether it holds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
