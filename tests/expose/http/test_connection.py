"""The cost of a client, in connections, tasks and bytes, and whom it holds up."""

import asyncio
import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from esewatch.expose.http.app import PAGES_AT_ONCE
from esewatch.expose.http.connection import CHUNK, Connection, Limits
from esewatch.expose.http.requests import network_of
from esewatch.expose.http.server import HttpServer
from esewatch.expose.http.web import WebConfiguration
from esewatch.expose.pages.overview import Overview
from tests.expose.http.attacks import ATTACKS, RESET, SCRAPE, blocks
from tests.expose.serving import FakeDaemon, ask, connect, port_of, say, serving, wait_until
from tests.support.certificates import self_signed, trusting
from tests.support.patience import PATIENCE

MIB = 1 << 20
PAGE = b"GET /computer HTTP/1.1\r\nHost: x\r\n\r\n"
HEALTHY = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"


def with_tls(folder: Path) -> WebConfiguration:
    self_signed("one").put(folder, "server")
    text = "tls_server_config: {cert_file: server.pem, key_file: server.key}\n"
    (folder / "web.yml").write_text(text)
    return WebConfiguration(folder / "web.yml")


class Large:
    """Samples that no socket takes at once."""

    def render(self, accept: str, accept_encoding: str) -> tuple[bytes, str, str]:
        return bytes(16 * MIB), "text/plain", ""


@pytest.mark.parametrize("secure", [False, True])
def test_a_client_that_goes_in_the_middle_of_an_answer_is_no_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, secure: bool
) -> None:
    view = FakeDaemon()
    view.snapshot = Large()  # type: ignore[assignment]
    web = with_tls(tmp_path) if secure else None
    with serving(view, web=web) as server:
        for _ in range(5):
            client = socket.create_connection(("127.0.0.1", port_of(server)), timeout=PATIENCE)
            if secure:
                client = trusting(tmp_path).wrap_socket(client, server_hostname="127.0.0.1")
            with contextlib.closing(client):
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 200")
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        context = trusting(tmp_path) if secure else None
        assert ask(server, "/-/healthy", context=context).status == 200
    assert caplog.records == []


def opened(server: HttpServer) -> list[Connection]:
    assert server._door is not None
    return list(server._door._open)


def tasks(server: HttpServer) -> int:
    """Tasks of the server's loop, one of which serves."""
    assert server._loop is not None
    return len(asyncio.all_tasks(server._loop))


def reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@pytest.fixture
def unread() -> Iterator[HttpServer]:
    """A server of three connections whose answers are larger than any socket takes."""
    view = FakeDaemon()
    view.snapshot = Large()  # type: ignore[assignment]
    with serving(view, limits=Limits(connections=3)) as server:
        yield server


def asking(server: HttpServer) -> socket.socket:
    """A client whose answer has begun, and that reads no more of it."""
    client = connect(server)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(SCRAPE)
    assert client.recv(8) == b"HTTP/1.1"
    return client


def test_who_is_being_answered_never_gives_way(unread: HttpServer) -> None:
    with contextlib.ExitStack() as stack:
        answered = [stack.enter_context(asking(unread)) for _ in range(2)]
        idle = stack.enter_context(connect(unread))
        answered.append(stack.enter_context(asking(unread)))
        assert idle.recv(1) == b""
        assert say(unread, SCRAPE) == b""
        assert [each.answering for each in opened(unread)] == [True] * 3
        reset(answered.pop())
        assert wait_until(lambda: unread.connections == 2)
        assert ask(unread, "/-/healthy").status == 200
        assert all(each.recv(1) for each in answered)


def test_the_one_that_idles_longest_gives_way_first() -> None:
    with serving(limits=Limits(connections=2)) as server, contextlib.ExitStack() as stack:
        first, second = (stack.enter_context(connect(server)) for _ in range(2))
        for client in (second, first):
            client.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(1000).endswith(b"Healthy.\n")
        stack.enter_context(connect(server))
        assert second.recv(1) == b""
        assert wait_until(lambda: server.connections == 2)


def test_one_address_leaves_places_to_others() -> None:
    limits = Limits(connections=9, of_a_peer=6)
    with serving(limits=limits) as server, contextlib.ExitStack() as stack:
        target = ("127.0.0.1", port_of(server))
        other = [
            stack.enter_context(socket.create_connection(target, PATIENCE, ("127.0.0.2", 0)))
            for _ in range(3)
        ]
        own = [stack.enter_context(connect(server)) for _ in range(20)]
        assert all(each.recv(1) == b"" for each in own[:14])
        assert wait_until(lambda: server.connections == 9)
        other[0].sendall(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n")
        assert other[0].recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize(
    ("one", "another", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1%lo", "fe80::2", True),
        ("", "no address", False),
    ],
)
def test_of_ipv6_a_network_counts_as_one_peer(one: str, another: str, same: bool) -> None:
    assert (network_of(one) == network_of(another)) is same


def test_where_many_addresses_fill_all_places_the_largest_crowd_gives_way() -> None:
    """Who has one connection keeps it, idle or not."""
    limits = Limits(connections=9, of_a_peer=6)
    with serving(limits=limits) as server, contextlib.ExitStack() as stack:

        def came(last: int) -> socket.socket:
            target = ("127.0.0.1", port_of(server))
            source = (f"127.0.0.{last}", 0)
            client = stack.enter_context(socket.create_connection(target, PATIENCE, source))
            client.sendall(HEALTHY)
            assert client.recv(1000).endswith(b"Healthy.\n")
            return client

        single = came(2)
        crowd = [came(last) for last in (3, 4) * 4]
        for last in (5, 6, 7, 8):
            came(last)
        single.sendall(HEALTHY)
        assert single.recv(1000).endswith(b"Healthy.\n")
        assert all(each.recv(1) == b"" for each in crowd[:4])
        assert server.connections == 9


class Own:
    """An answer of its own for each client, or one for all."""

    def __init__(self, shared: bool) -> None:
        self._body = bytes(4 * MIB) if shared else None

    def render(self, accept: str, accept_encoding: str) -> tuple[bytes, str, str]:
        return self._body or bytes(4 * MIB), "text/plain", ""


@pytest.mark.parametrize("shared", [False, True])
def test_answers_that_nobody_reads_are_bounded_together(shared: bool) -> None:
    """The one that waits longest ends; one answer that many wait for is there once."""
    view = FakeDaemon()
    view.snapshot = Own(shared)  # type: ignore[assignment]
    limits = Limits(answer_bytes=10 * MIB)
    with serving(view, limits=limits) as server, contextlib.ExitStack() as stack:
        clients = []
        for _ in range(5):
            clients.append(stack.enter_context(asking(server)))
            assert wait_until(lambda: not any(each._sent.is_set() for each in opened(server)))
        kept = {id(each.body): len(each.body) for each in opened(server)}
        assert (len(opened(server)), sum(kept.values())) == (
            (5, 4 * MIB) if shared else (2, 8 * MIB)
        )
        assert len(clients[-1].recv(1000)) == 1000


def test_samples_are_one_object_for_all_clients() -> None:
    view = FakeDaemon()
    for form in (("", ""), ("", "gzip"), ("application/openmetrics-text", "gzip")):
        assert view.snapshot.render(*form)[0] is view.snapshot.render(*form)[0]


class Busy(FakeDaemon):
    """Its pages wait until they may go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def overview(self) -> Overview:
        assert self.go.wait(PATIENCE)
        return super().overview()


def sent_until_nobody_takes_more(client: socket.socket, block: bytes) -> int:
    sent = 0
    client.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        while sent < 8 * MIB:
            sent += client.send(block)
    return sent


def test_requests_that_come_while_an_answer_waits_stay_with_the_system() -> None:
    view = Busy()
    with serving(view) as server, connect(server) as client:
        client.sendall(PAGE)
        assert wait_until(lambda: any(each.answering for each in opened(server)))
        assert sent_until_nobody_takes_more(client, HEALTHY * 1000) < 8 * MIB
        (connection,) = opened(server)
        assert len(connection._http.trailing_data[0]) < MIB // 2
        view.go.set()


def test_bytes_after_the_end_of_tls_are_dropped(tmp_path: Path) -> None:
    view = Busy()
    with serving(view, web=with_tls(tmp_path)) as server, connect(server) as client:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        speaker = trusting(tmp_path).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        while True:
            with contextlib.suppress(ssl.SSLWantReadError):
                speaker.do_handshake()
                break
            client.sendall(outgoing.read())
            incoming.write(client.recv(65536))
        speaker.write(PAGE)
        client.sendall(outgoing.read())
        assert wait_until(lambda: any(each.answering for each in opened(server)))
        with contextlib.suppress(ssl.SSLError):
            speaker.unwrap()
        client.sendall(outgoing.read())
        assert sent_until_nobody_takes_more(client, bytes(65536)) >= 8 * MIB
        (connection,) = opened(server)
        assert connection._tls is not None
        assert connection._tls._incoming.pending < MIB
        view.go.set()


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_little_waits_for_a_client_that_does_not_read(tmp_path: Path, secure: bool) -> None:
    view = FakeDaemon()
    view.snapshot = Large()  # type: ignore[assignment]
    with serving(view, web=with_tls(tmp_path) if secure else None) as server:
        client = connect(server)
        if secure:
            client = trusting(tmp_path).wrap_socket(client, server_hostname="127.0.0.1")
        with contextlib.closing(client):
            client.sendall(SCRAPE * 100)
            assert client.recv(8) == b"HTTP/1.1"
            (connection,) = opened(server)
            assert wait_until(lambda: not connection._sent.is_set())
            waiting = connection._transport.get_write_buffer_size()
            assert 0 < waiting < CHUNK + 4096
            assert len(connection._http.trailing_data[0]) <= 100 * len(SCRAPE)
            assert not connection._transport.is_reading()
            assert tasks(server) == 2


NO_HTTP = sorted({*ATTACKS} - {RESET, "requests without pause"})


@pytest.mark.parametrize("name", NO_HTTP)
def test_what_is_no_http_1_1_is_closed_at_once(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Of eight megabytes no more is taken than the buffers of the system hold."""
    with caplog.at_level("INFO"), serving() as server:
        for _ in range(20):
            sent = 0
            with connect(server) as client, contextlib.suppress(ConnectionError):
                client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
                for block in blocks(name):
                    client.sendall(block)
                    sent += len(block)
                    assert tasks(server) <= 2 + server.connections
                    assert sent < 8 * MIB
            assert sent < MIB
        assert wait_until(lambda: server.connections == 0 and tasks(server) == 1)
        assert ask(server, "/metrics").status == 200
    assert caplog.records == []


def test_requests_without_pause_are_answered_one_by_one() -> None:
    """The task of an answer begins that of the next before it ends itself."""
    with serving() as server, connect(server) as client:
        client.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n" * 300)
        received = b""
        while received.count(b"Healthy.") < 300:
            received += client.recv(65536)
            assert tasks(server) <= 3


def test_clients_that_go_leave_neither_tasks_nor_turns() -> None:
    """Their pages wait for a turn; those being made keep theirs until they are."""
    made = threading.Semaphore(0)

    class Counted(Busy):
        def overview(self) -> Overview:
            made.release()
            return super().overview()

    view = Counted()
    with serving(view) as server:
        try:
            for _ in range(300):
                client = connect(server)
                client.sendall(PAGE)
                reset(client)
            assert all(made.acquire(timeout=PATIENCE) for _ in range(PAGES_AT_ONCE))
            assert wait_until(lambda: server.connections == 0 and tasks(server) == 1)
            assert not made.acquire(blocking=False)
            assert ask(server, "/metrics").status == 200
        finally:
            view.go.set()
        assert ask(server, "/computer").status == 200


def test_http_1_0_is_answered_and_the_connection_ends() -> None:
    with serving() as server, connect(server) as client:
        client.sendall(b"GET /-/healthy HTTP/1.0\r\n\r\n")
        received = b"".join(iter(lambda: client.recv(1000), b""))
    assert received.startswith(b"HTTP/1.1 200 OK\r\n")
    assert received.endswith(b"Healthy.\n")


def test_a_body_is_asked_for_only_where_it_is_wanted() -> None:
    head = (
        b"POST /api/v1/ack HTTP/1.1\r\nHost: localhost\r\nX-Esewatch: %b\r\nExpect: 100-continue"
        b"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    )
    with serving() as server:
        for wanted, status in ((b"1", b"100"), (b"0", b"403")):
            with connect(server) as client:
                client.sendall(head % wanted)
                assert client.recv(12) == b"HTTP/1.1 " + status
