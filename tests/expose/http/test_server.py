"""The server itself: addresses, its end, and clients that are slow, broken or hostile."""

import contextlib
import errno
import socket
import time

import pytest

from esewatch.expose.http import server as server_module
from esewatch.expose.http.app import App
from esewatch.expose.http.connection import Connection, Door, Limits
from esewatch.expose.http.server import HttpServer, format_address, parse_address
from esewatch.fold.state.state import State
from esewatch.model import EsewatchError
from tests.expose.serving import (
    FakeDaemon,
    ask,
    connect,
    port_of,
    say,
    serving,
    wait_until,
)
from tests.support.crashes import crashing
from tests.support.patience import PATIENCE
from tests.support.ports import free_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:19703", ("127.0.0.1", 19703)),
        (":9100", ("", 9100)),
        ("[::1]:0", ("::1", 0)),
        ("[::]:80", ("::", 80)),
        ("watch.example:65535", ("watch.example", 65535)),
    ],
)
def test_addresses_are_host_and_port(text: str, expected: tuple[str, int]) -> None:
    assert parse_address(text) == expected
    if expected[0]:
        assert format_address(*expected) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "19703",
        "localhost",
        "::1:80",
        "host:",
        "host:http",
        "host:65536",
        "h:-1",
        "h:" + "9" * 99,
    ],
)
def test_a_wrong_address_is_one_line_that_quotes_it(text: str) -> None:
    with pytest.raises(EsewatchError) as caught:
        HttpServer(App(FakeDaemon()), text).start()
    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_port_in_use_is_one_line_that_names_it() -> None:
    with serving() as server, pytest.raises(EsewatchError) as caught:
        HttpServer(App(FakeDaemon()), server.address).start()
    assert f"cannot listen on {server.address}: " in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "x" * 300, "192.0.2.1"])
def test_a_host_that_is_not_ours_is_one_line(host: str) -> None:
    with pytest.raises(EsewatchError, match="cannot listen on"):
        HttpServer(App(FakeDaemon()), f"{host}:0").start()


def _has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def test_an_ipv6_address_serves() -> None:
    if not _has_ipv6():
        pytest.skip("this machine has no IPv6 loopback")
    server = HttpServer(App(FakeDaemon()), "[::1]:0")
    server.start()
    try:
        assert server.address.startswith("[::1]:")
        with socket.create_connection(("::1", port_of(server)), timeout=PATIENCE) as client:
            client.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert b"200" in client.recv(100)
    finally:
        server.stop()


def test_without_a_host_every_interface_serves() -> None:
    server = HttpServer(App(FakeDaemon()), ":0")
    server.start()
    try:
        assert ask(server, "/-/healthy").status == 200
    finally:
        server.stop()


def test_several_addresses_serve() -> None:
    server = HttpServer(App(FakeDaemon()), "127.0.0.1:0", "127.0.0.2:0")
    server.start()
    try:
        assert [each.rpartition(":")[0] for each in server.addresses] == ["127.0.0.1", "127.0.0.2"]
        for each in map(parse_address, server.addresses):
            with socket.create_connection(each, timeout=PATIENCE) as client:
                client.sendall(b"GET /-/healthy HTTP/1.0\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 200")
    finally:
        server.stop()


def test_where_one_of_several_addresses_is_taken_none_is_kept() -> None:
    free = free_address()
    with serving() as server, pytest.raises(EsewatchError, match="cannot listen on"):
        HttpServer(App(FakeDaemon()), free, server.address).start()
    with socket.create_server(parse_address(free)):
        pass


def test_the_address_is_free_again_after_the_end() -> None:
    address = free_address()
    first, again = (HttpServer(App(FakeDaemon()), address) for _ in range(2))
    first.start()
    assert ask(first, "/-/healthy").status == 200
    first.stop()
    again.start()
    assert ask(again, "/-/healthy").status == 200
    again.stop()
    again.stop()


@pytest.mark.parametrize("path", ["/", "/metrics", "/-/healthy"])
def test_an_answer_that_finds_no_memory_ends_the_process(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(App, "_answer", no_memory)
    with serving() as server, crashing() as ends, connect(server) as client:
        client.sendall(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode())
        assert wait_until(lambda: ends == [70])


def test_the_end_comes_soon_while_clients_hold_on(caplog: pytest.LogCaptureFixture) -> None:
    view = FakeDaemon(State())
    view.snapshot = _Large()  # type: ignore[assignment]
    with serving(view) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(4)]
        idle, headless, bodiless, unread = clients
        unread.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        idle.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(100).startswith(b"HTTP/1.1 200")
        headless.sendall(b"GET /metrics HTTP/1.1\r\nHos")
        bodiless.sendall(b"POST /api/v1/ack HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        server.stop()
        assert "not waited for" not in caplog.text


def test_two_hundred_slow_clients_hold_nobody() -> None:
    with serving(limits=Limits(head_seconds=PATIENCE)) as server, contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connect(server)) for _ in range(200)]
        for client in slow:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
        for _ in range(3):
            for client in slow:
                client.sendall(b"X")
            assert ask(server, "/metrics").status == 200
        assert not any(_is_closed(client) for client in slow)


def test_a_head_that_trickles_is_cut_off() -> None:
    with serving(limits=Limits(head_seconds=0.3)) as server, connect(server) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")

        def is_cut_off() -> bool:
            with contextlib.suppress(ConnectionError):
                client.sendall(b"X")
            return _is_closed(client)

        assert wait_until(is_cut_off)


def _is_closed(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1000) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_the_oldest_connection_gives_way_when_there_are_too_many() -> None:
    with serving(limits=Limits(connections=20)) as server, contextlib.ExitStack() as stack:
        held = [stack.enter_context(connect(server)) for _ in range(50)]
        assert ask(server, "/-/healthy").status == 200
        assert wait_until(lambda: sum(map(_is_closed, held)) >= 31)
        assert not _is_closed(held[-1])


def test_a_body_that_trickles_is_cut_off() -> None:
    with serving(limits=Limits(body_seconds=0.5)) as server, connect(server) as client:
        client.sendall(
            b"POST /api/v1/ack HTTP/1.1\r\nHost: localhost\r\nX-Esewatch: 1\r\n"
            b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        )
        received = bytearray()
        client.settimeout(0.1)
        for _ in range(100):
            with contextlib.suppress(ConnectionError):
                client.sendall(b" ")
            try:
                part = client.recv(1000)
            except TimeoutError:
                continue
            except ConnectionError:
                break
            if not part:
                break
            received += part
        assert received.startswith(b"HTTP/1.1 408")


def test_a_client_that_does_not_read_is_cut_off() -> None:
    view = FakeDaemon(State())
    view.snapshot = _Large()  # type: ignore[assignment]
    with serving(view, limits=Limits(request_seconds=1.0)) as server, connect(server) as client:
        begun = time.monotonic()
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        assert ask(server, "/-/healthy").status == 200
        assert wait_until(lambda: server.connections == 0)
        assert time.monotonic() - begun >= 1.0


class _Large:
    def render(self, accept: str, accept_encoding: str) -> tuple[bytes, str, str]:
        return b"#" * 50_000_000, "text/plain", ""


def test_a_part_of_an_answer_does_not_wait_for_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nagle's algorithm is off: with it each answer on a kept connection takes 40 ms."""
    found = []
    admit = Door.admit

    def note(door: Door, connection: Connection) -> bool:
        own = connection._transport.get_extra_info("socket")
        found.append(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return admit(door, connection)

    monkeypatch.setattr(Door, "admit", note)
    with serving() as server:
        assert ask(server, "/metrics").status == 200
    assert len(found) == 1
    assert found[0] != 0


HEALTHY = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"


def test_where_no_descriptor_is_left_nobody_is_accepted_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that tried again at once would try with each request of those that are in."""
    tried = []
    accept = socket.socket.accept

    def none_left(listening: socket.socket) -> tuple[socket.socket, object]:
        tried.append(listening)
        if len(tried) <= 2:
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(listening)

    monkeypatch.setattr(server_module, "PAUSE_SECONDS", 1.0)
    with serving() as server, connect(server) as client:
        client.sendall(HEALTHY)
        assert client.recv(12) == b"HTTP/1.1 200"
        client.recv(1000)
        monkeypatch.setattr(socket.socket, "accept", none_left)
        with connect(server) as waiting:
            assert wait_until(lambda: len(tried) == 1)
            assert server._loop is not None
            assert tried[0].fileno() not in server._loop._selector.get_map()  # type: ignore[attr-defined]
            waiting.sendall(HEALTHY)
            assert waiting.recv(12) == b"HTTP/1.1 200"
            assert len([each for each in tried if each is tried[0]]) >= 3


@pytest.mark.parametrize(
    ("sent", "statuses", "closed"),
    [
        # Length: a proxy may take one of two for right, this server the other.
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
         b"0\r\n\r\n" + HEALTHY, [400], True),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"
         + HEALTHY, [400], True),
        (b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello", [400], True),
        (b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nContent-Length : 5\r\n\r\nhello", [400], True),
        (b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
         b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n", [400], True),
        (b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\nhello" + HEALTHY,
         [200, 200], False),
        (b"GET /-/healthy HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HEALTHY,
         [200], True),
        # Heads.
        (b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", [400], True),
        (b"GET /-/healthy HTTP/1.1\r\n\r\n", [400], True),
        (b"GET /-/healthy HTTP/1.1\r\n Host: x\r\n\r\n", [400], True),
        (b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n" + HEALTHY, [200, 200], False),
        (b"GET http://x/-/healthy HTTP/1.1\r\nHost: x\r\n\r\n" + HEALTHY, [404, 200], False),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n" + HEALTHY, [404, 200], False),
        (b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n" + HEALTHY, [404, 200], False),
        # Answers without a body leave none in the connection.
        (b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n" + HEALTHY, [200, 200], False),
        (b"HEAD /nothing HTTP/1.1\r\nHost: x\r\n\r\n" + HEALTHY, [404, 200], False),
        # What comes after the last request is for nobody.
        (b"GET /-/healthy HTTP/1.0\r\n\r\n\r\n", [200], True),
        (b"GET /-/healthy HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + HEALTHY, [200], True),
        (b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + b"x" * 20_000,
         [200], True),
    ],
    ids=range(19),
)  # fmt: skip
def test_each_request_has_one_answer_and_none_is_smuggled(
    sent: bytes, statuses: list[int], closed: bool
) -> None:
    with serving() as server, connect(server) as client:
        client.sendall(sent)
        answers = client.makefile("rb")
        for number, status in enumerate(statuses):
            assert answers.readline().startswith(b"HTTP/1.1 %d " % status)
            length = 0
            while (line := answers.readline()) != b"\r\n":
                name, _, value = line.partition(b": ")
                length = int(value) if name == b"content-length" else length
            if not (number == 0 and sent.startswith(b"HEAD")):
                answers.read(length)
        if not closed:
            client.sendall(HEALTHY.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            assert answers.readline() == b"HTTP/1.1 200 OK\r\n"
            return
        try:
            assert answers.read() == b""
        except ConnectionResetError:
            assert wait_until(lambda: server.connections == 0)


def test_pipelined_requests_are_answered_in_order() -> None:
    with serving() as server:
        first = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"
        second = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET /-/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        with connect(server) as client:
            client.sendall(first * 20 + second + last)
            received = b"".join(iter(lambda: client.recv(65536), b""))
    assert received.count(b"HTTP/1.1 200") == 21
    assert received.index(b"HTTP/1.1 404") > received.rindex(b"Healthy.")
    assert received.endswith(b"Ready.\n")


@pytest.mark.parametrize(
    "sent",
    [
        b"\0" * 1000,
        b"\xff" * 100_000,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"GET /%ff%fe%00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /%ud800 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://elsewhere/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"CONNECT elsewhere:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /api/v1/ack HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"POST /api/v1/ack HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 30 + b"\r\n\r\nabc",
        b"POST /api/v1/ack HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /api/v1/ack HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0" + b"\xff" * 500,
    ],
    ids=range(22),
)
def test_what_is_no_proper_request_harms_nobody(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    limits = Limits(request_seconds=2.0)
    with caplog.at_level("INFO"), serving(limits=limits) as server:
        received = say(server, sent)
        assert b"Traceback" not in received
        assert not received.startswith(b"HTTP/1.1 101 ")
        assert ask(server, "/metrics").status == 200
        assert wait_until(lambda: server.connections == 0)
    assert caplog.records == []


def test_another_protocol_is_refused_before_it_is_agreed_to() -> None:
    with serving() as server:
        received = say(
            server,
            b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n"
            b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
        )
        head, _, body = received.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"content-length: %d" % len(body) in head
        assert body == b"400 Bad Request: This server speaks HTTP/1.1.\n"


def test_a_large_chunked_body_is_refused_and_the_connection_ends() -> None:
    with serving() as server, connect(server) as client:
        client.sendall(
            b"POST /api/v1/ack HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        with contextlib.suppress(ConnectionError):
            for _ in range(200):
                client.sendall(chunk)
        assert wait_until(lambda: server.connections == 0)
        assert ask(server, "/-/healthy").status == 200
