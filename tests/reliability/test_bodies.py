"""Request bodies cost the agent no memory, however many come at once."""

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.harness import Agent, get
from tests.expose.web_process import Served, served
from tests.support.certificates import self_signed, trusting
from tests.support.figures import record as record_figure
from tests.support.resident import resident

pytestmark = pytest.mark.e2e

CLIENTS = 250
MIB = 1 << 20
WANTED = b"X-Esewatch: 1\r\nContent-Type: application/json\r\n"
HEADS = {
    "with a length, to no page": b"POST /nothing HTTP/1.1\r\nHost: x\r\n"
    b"Content-Length: 1000000\r\n\r\n",
    "with a length": b"POST /api/v1/ack HTTP/1.1\r\nHost: localhost\r\n"
    + WANTED
    + b"Content-Length: 1000000\r\n\r\n",
    "in chunks": b"POST /api/v1/ack HTTP/1.1\r\nHost: localhost\r\n"
    + WANTED
    + b"Transfer-Encoding: chunked\r\n\r\nf4240\r\n",
}


def send(clients: list[socket.socket], data: bytes) -> None:
    """As much of it as is taken: a client is refused, or nobody takes more."""
    for client in clients:
        client.settimeout(0.05)
        with contextlib.suppress(OSError):
            client.sendall(data)


def cost(pid: int, connect: Callable[[], socket.socket], scrape: Callable[[], object]) -> int:
    """Bytes of memory, at most, of bodies that all lie there when the process gets its turn."""
    scrape()
    before = resident(pid)
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the most so far is what is there now
    for head in HEADS.values():
        with ExitStack() as stack:
            clients = [stack.enter_context(connect()) for _ in range(CLIENTS)]
            scrape()
            os.kill(pid, signal.SIGSTOP)
            try:
                send(clients, head + b" " * 999_000)
            finally:
                os.kill(pid, signal.SIGCONT)
            send(clients, b" " * 999_000)
            scrape()
    return resident(pid, "VmHWM") - before


@pytest.fixture(name="agent")
def _agent(tmp_path: Path) -> Iterator[Agent]:
    agent = Agent(tmp_path / "agent", {})
    try:
        agent.start()
        yield agent
    finally:
        agent.close()


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.fault(
    "250 clients send bodies of 1 MB at once and do not complete them",
    provoked="with a length, in chunks, to a page that accepts bodies and to one that does not;"
    " the process is suspended until all have sent",
    lost="only their requests",
    again="never wrong",
)
def test_bodies_of_1_mb_of_250_clients_cost_less_than_40_mb(agent: Agent) -> None:
    host, _, port = agent.address.rpartition(":")
    most = cost(
        agent.pid,
        lambda: socket.create_connection((host, int(port)), 10),
        lambda: get(f"{agent.url}/metrics"),
    )
    kept = resident(agent.pid) - resident(agent.pid, "VmHWM") + most
    record_figure(
        f"bodies of 1 MB of {CLIENTS} clients at once",
        f"memory +{most / MIB:.0f} MB meanwhile, +{kept / MIB:.0f} MB after",
    )
    assert most < 40 * MIB
    agent.stop()


def secured(server: Served) -> socket.socket:
    assert server.context is not None
    client = socket.create_connection(("127.0.0.1", server.port), 10)
    return server.context.wrap_socket(client, server_hostname="127.0.0.1")


@pytest.mark.slow
@pytest.mark.timed
def test_over_tls_they_cost_less_than_64_mb(tmp_path: Path) -> None:
    self_signed("one").put(tmp_path, "server")
    web = tmp_path / "web.yml"
    web.write_text("tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n")
    with served(web, trusting(tmp_path)) as server:
        most = cost(server.pid, lambda: secured(server), server.seconds)
        record_figure(
            f"bodies of 1 MB of {CLIENTS} clients at once, over TLS",
            f"memory +{most / MIB:.0f} MB meanwhile",
        )
    assert most < 64 * MIB
