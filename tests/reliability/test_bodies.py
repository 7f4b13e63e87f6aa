"""Request bodies cost the agent no memory, however many come at once."""

import contextlib
import socket
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.e2e.harness import Agent, get
from tests.support.figures import record as record_figure

pytestmark = [pytest.mark.e2e, pytest.mark.beside]

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


@pytest.mark.fault(
    "250 clients send bodies of 1 MB at once and do not end",
    provoked="with a length, in chunks, to a page that takes one and to none",
    lost="nothing; their requests",
    again="never wrong",
)
def test_bodies_of_1_mb_of_250_clients_cost_less_than_128_mb(tmp_path: Path) -> None:
    agent = Agent(tmp_path / "agent", {})
    host, _, port = agent.address.rpartition(":")
    try:
        agent.start()
        process = psutil.Process(agent.pid)
        get(f"{agent.url}/metrics")
        before = process.memory_info().rss
        most = 0
        for head in HEADS.values():
            with ExitStack() as stack:
                for _ in range(CLIENTS):
                    client = stack.enter_context(socket.create_connection((host, int(port)), 10))
                    client.settimeout(0.2)
                    with contextlib.suppress(OSError):  # refused, or nobody takes more
                        client.sendall(head + b" " * 999_000)
                get(f"{agent.url}/metrics")
                most = max(most, process.memory_info().rss - before)
        kept = process.memory_info().rss - before
        record_figure(
            f"bodies of 1 MB of {CLIENTS} clients at once",
            f"memory +{most / MIB:.0f} MB meanwhile, +{kept / MIB:.0f} MB after",
        )
        assert most < 128 * MIB
        agent.stop()
    finally:
        agent.close()
