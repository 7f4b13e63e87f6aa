"""A server in a process of its own, so that its answers can be timed while others trouble it.

`python -m tests.expose.web_process [WEB_CONFIGURATION]` prints its address and serves until
its standard input ends.
"""

import contextlib
import http.client
import logging
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from esewatch.expose.http.connection import Limits
from esewatch.expose.http.web import WebConfiguration
from tests.expose.serving import FakeDaemon, serving

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120
"""An answer that takes longer does not come."""


class Served(NamedTuple):
    """A running server."""

    port: int
    context: ssl.SSLContext | None
    pid: int

    def client(self) -> http.client.HTTPConnection:
        """A connection that is not open yet."""
        if self.context is None:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=SECONDS, context=self.context
        )

    def seconds(self) -> float:
        """What one scrape on a new connection takes."""
        begin = time.perf_counter()
        with contextlib.closing(self.client()) as client:
            client.request("GET", "/metrics", headers={"Connection": "close"})
            answer = client.getresponse()
            body = answer.read()
        assert answer.status == 200
        assert b"ese_known_bad_pages" in body
        return time.perf_counter() - begin


@contextlib.contextmanager
def served(web: Path | None = None, context: ssl.SSLContext | None = None) -> Iterator[Served]:
    """The server, until the end of the block."""
    command = [sys.executable, "-m", "tests.expose.web_process", *([str(web)] if web else [])]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield Served(int(process.stdout.readline()), context, process.pid)
        finally:
            process.kill()


def main(arguments: list[str]) -> None:
    """Serve until standard input ends."""
    logging.basicConfig(level="INFO")
    web = WebConfiguration(arguments[0]) if arguments else None
    # A client that is slow is not cut off before SECONDS are over: what waits for it is noticed.
    limits = Limits(head_seconds=10 * SECONDS, request_seconds=10 * SECONDS)
    with serving(FakeDaemon(), web=web, limits=limits) as server:
        print(server.address.rpartition(":")[2], flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
