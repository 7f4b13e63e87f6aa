"""Clients that do not read: what they cost while they stay, and what they say when they go."""

import asyncio
import contextlib
import socket
import struct
from pathlib import Path

import pytest

from esewatch.expose.http import connections
from esewatch.expose.http.web import WebConfiguration
from tests.expose.serving import FakeDaemon, ask, port_of, serving
from tests.support.certificates import self_signed, trusting
from tests.support.patience import PATIENCE

MIB = 1 << 20


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


def test_as_little_waits_for_a_client_that_does_not_read_with_tls_as_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[tuple[int, int]] = []
    answers = connections._Answers

    def note(transport: asyncio.Transport, plain: asyncio.Transport) -> connections._Answers:
        limits.append(transport.get_write_buffer_limits())
        return answers(transport, plain)

    monkeypatch.setattr(connections, "_Answers", note)
    with serving() as server:
        assert ask(server, "/-/healthy").status == 200
    with serving(web=with_tls(tmp_path)) as server:
        assert ask(server, "/-/healthy", context=trusting(tmp_path)).status == 200
    assert limits == [(16 << 10, 64 << 10)] * 2
