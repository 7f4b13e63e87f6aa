"""Hundreds of slow connections and thousands of malformed requests, against a real server."""

import contextlib
import logging
import random
import re
import socket
import ssl
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from esewatch.expose.http.connection import Limits
from esewatch.expose.http.server import HttpServer
from esewatch.expose.http.web import WebConfiguration
from tests.expose.raw_http import HELLO, SEEDS, mutated
from tests.expose.serving import ask, connect, serving
from tests.expose.web_process import Served, served
from tests.support.campaign import number_of
from tests.support.certificates import self_signed, trusting
from tests.support.figures import record
from tests.support.patience import PATIENCE

SLOW = 500
AGAIN = b"Too many requests with a body at once. Try again."
STATUS = re.compile(rb"HTTP/1\.1 (\d\d\d)")
WEB = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"


def with_tls(folder: Path) -> Path:
    self_signed("one").put(folder, "server")
    (folder / "web.yml").write_text(WEB)
    return folder / "web.yml"


def rest(connected: socket.socket) -> bytes:
    """What comes until the server closes the connection or says nothing for seconds."""
    received = bytearray()
    with contextlib.suppress(OSError):
        while part := connected.recv(65536):
            received += part
    return bytes(received)


def statuses(
    dial: Callable[[], socket.socket], sent: Sequence[bytes]
) -> tuple[Counter[int], list[bytes]]:
    """How often each status came, and what provoked a server error."""
    found: Counter[int] = Counter()
    guilty = []
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(dial()) for _ in sent]
        for connected, each in zip(opened, sent, strict=True):
            with contextlib.suppress(OSError):
                connected.sendall(each)
                # No more will come: nothing waits for the end of what has none.
                socket.socket.shutdown(connected, socket.SHUT_WR)
        for connected, each in zip(opened, sent, strict=True):
            received = rest(connected)
            codes = [int(code) for code in STATUS.findall(received)]
            found.update(codes)
            # Where many with a body come at once, as here, some are to try again.
            failed = any(code >= 500 for code in codes) and AGAIN not in received
            guilty += [each] * failed
    return found, guilty


def malformed(count: int, seed: int) -> Iterator[list[bytes]]:
    """So many requests, 200 at a time."""
    chance = random.Random(seed)
    for _ in range(0, count, 200):
        yield [mutated(chance.choice(SEEDS), chance) for _ in range(200)]


def check_no_server_error(dial: Callable[[], socket.socket], count: int, seed: int) -> Counter[int]:
    found: Counter[int] = Counter()
    for sent in malformed(count, seed):
        codes, guilty = statuses(dial, sent)
        assert guilty == []
        found += codes
    assert found[200]  # how many are answered within their time is the machine's affair
    assert found[400] > count / 20
    return found


def check_unharmed(server: HttpServer, context: ssl.SSLContext | None = None) -> None:
    assert ask(server, "/metrics", context=context).status == 200


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing is logged from INFO on."""
    with caplog.at_level(logging.INFO):
        yield
    assert caplog.records == []


def test_an_unknown_transfer_encoding_is_the_fault_of_the_client() -> None:
    request = b"POST /-/reload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"
    with serving() as server, connect(server) as connected:
        connected.sendall(request)
        assert rest(connected).startswith(b"HTTP/1.1 400 ")


@pytest.mark.usefixtures("quiet")
def test_no_malformed_request_is_answered_with_a_server_error() -> None:
    with serving() as server:
        check_no_server_error(lambda: connect(server), 400, seed=1)
        check_unharmed(server)


def test_no_malformed_request_over_tls_is_either(tmp_path: Path) -> None:
    web = WebConfiguration(with_tls(tmp_path))
    context = trusting(tmp_path)
    with serving(web=web) as server:
        chance = random.Random(2)
        for _ in range(100):
            with context.wrap_socket(connect(server), server_hostname="127.0.0.1") as secured:
                secured.sendall(mutated(chance.choice(SEEDS), chance))
                secured.settimeout(0.02)
                assert not re.search(rb"HTTP/1.1 50[02-9]", rest(secured))
        check_unharmed(server, context)


@pytest.mark.usefixtures("quiet")
def test_no_malformed_handshake_harms_anybody(tmp_path: Path) -> None:
    web = WebConfiguration(with_tls(tmp_path))
    context = trusting(tmp_path)
    chance = random.Random(3)
    limits = Limits(head_seconds=1.0)
    with serving(web=web, limits=limits) as server:
        for _ in range(200):
            sent = mutated(chance.choice((HELLO, HELLO, SEEDS[0])), chance)
            with connect(server) as connected:
                connected.sendall(sent)
                connected.settimeout(0.02)
                assert b"ese_" not in rest(connected)
        check_unharmed(server, context)
        end = time.monotonic() + PATIENCE
        while server.connections and time.monotonic() < end:
            time.sleep(0.02)
        assert server.connections == 0


class _Trouble(threading.Thread):
    """Keeps SLOW connections open that send a byte now and then, and malformed requests."""

    def __init__(self, target: Served) -> None:
        super().__init__(daemon=True)
        self._target = target
        self._stop_asked = threading.Event()
        self.under_way = threading.Event()
        self.opened = self.malformed = 0

    def run(self) -> None:
        chance = random.Random(4)
        slow: list[socket.socket] = []
        with contextlib.ExitStack() as stack:
            for _ in range(SLOW):
                slow.append(stack.enter_context(self._dial()))
                self.opened += 1
            while not self._stop_asked.is_set():
                for number, each in enumerate(slow):
                    with contextlib.suppress(OSError):
                        each.send((HELLO, SEEDS[0])[number % 2][:1])
                    if number % 20 == 0:
                        with contextlib.suppress(OSError), self._dial() as wrong:
                            wrong.send(mutated(SEEDS[chance.randrange(len(SEEDS))], chance))
                            self.malformed += 1
                    self._stop_asked.wait(0.0005)
                self.under_way.set()

    def _dial(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._target.port), timeout=PATIENCE)

    def end(self) -> None:
        self._stop_asked.set()
        self.join(PATIENCE)


def check_answered(target: Served, calm: Served, scrapes: int, what: str) -> None:
    """Each scrape is answered, by a server that cuts no slow client off while the test waits for
    it: one that a slow client holds up does not answer. How long they take is a figure, beside
    that of a server without trouble, by turns: what else the machine does slows both.
    """
    trouble = _Trouble(target)
    trouble.start()
    try:
        assert trouble.under_way.wait(PATIENCE)
        taken = [(calm.seconds(), target.seconds()) for _ in range(scrapes)]
    finally:
        trouble.end()
    assert (trouble.opened, trouble.malformed > 20) == (SLOW, True)
    usual, troubled = zip(*taken, strict=True)
    without, during = statistics.median(usual), statistics.median(troubled)
    record(
        f"{SLOW} slow connections and malformed requests, scrapes by {what}",
        f"median {without * 1000:.1f} ms of a server without them, {during * 1000:.1f} ms with "
        f"them, at worst {max(troubled) * 1000:.0f} ms",
    )


@pytest.mark.fault(
    "500 slow clients and malformed requests",
    provoked="connections that send single bytes with pauses, while the agent is scraped",
    lost="nothing; each scrape is answered meanwhile",
    again="never wrong",
)
@pytest.mark.e2e
def test_beside_500_slow_connections_scrapes_are_answered() -> None:
    with served() as target, served() as calm:
        check_answered(target, calm, 50, "plain HTTP: 50")


@pytest.mark.fault(
    "500 slow clients and malformed handshakes over TLS",
    provoked="connections that send single bytes of the handshake with pauses, while the agent"
    " is scraped",
    lost="nothing; each scrape is answered meanwhile",
    again="never wrong",
)
@pytest.mark.e2e
def test_beside_500_slow_handshakes_scrapes_are_answered(tmp_path: Path) -> None:
    web, context = with_tls(tmp_path), trusting(tmp_path)
    with served(web, context) as target, served(web, context) as calm:
        check_answered(target, calm, 50, "HTTPS: 50")


@pytest.mark.e2e
def test_a_connection_with_tls_costs_little_memory(tmp_path: Path) -> None:
    web = with_tls(tmp_path)
    with served(web, trusting(tmp_path)) as target, contextlib.ExitStack() as stack:
        process = psutil.Process(target.pid)
        for _ in range(20):
            target.seconds()
        before = process.memory_info().rss
        for _ in range(200):
            kept = stack.enter_context(contextlib.closing(target.client()))
            kept.connect()
        assert (process.memory_info().rss - before) / 200 < 128 * 1024


@pytest.mark.slow
def test_no_server_error_in_many_thousand_malformed_requests(tmp_path: Path) -> None:
    count = 20_000
    with serving() as server:
        found = check_no_server_error(lambda: connect(server), count, seed=time.time_ns())
        check_unharmed(server)
    answered = ", ".join(f"{number:,} x {code}" for code, number in sorted(found.items()))
    record(f"{count:,} malformed requests", f"no server error ({answered})")


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("secure", [False, True])
def test_over_minutes_scrapes_are_answered(tmp_path: Path, secure: bool) -> None:
    web = with_tls(tmp_path) if secure else None
    context = trusting(tmp_path) if secure else None
    with served(web, context) as target, served(web, context) as calm:
        count = number_of(2000, 500)
        check_answered(target, calm, count, f"{'HTTPS' if secure else 'plain HTTP'}: {count:,}")
