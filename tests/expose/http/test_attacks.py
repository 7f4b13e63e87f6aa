"""A running agent under floods that need no login: what a scrape takes, memory, and its end."""

import contextlib
import http.client
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml

from tests.e2e.harness import Server, ended
from tests.expose.http.attacks import ATTACKS, RESET
from tests.support.certificates import self_signed, trusting
from tests.support.figures import record
from tests.support.patience import PATIENCE
from tests.support.ports import free_port

SECONDS = 20.0
MB = 1_000_000
EVENT = '{"TimeCreated":"2007-06-01T00:00:00Z","EventID":700,"Computer":"ex01"}\n'


class Target:
    """A running agent."""

    def __init__(self, folder: Path, secure: bool) -> None:
        self.port = free_port()
        (folder / "a.json").write_text(EVENT)
        sources = [{"type": "event_stream", "path": "a.json"}]
        (folder / "esewatch.yml").write_text(
            yaml.safe_dump({"journal": "journal.db", "sources": sources})
        )
        command: list[str | Path] = [
            *(sys.executable, "-m", "esewatch", "run", "--config.file", folder / "esewatch.yml"),
            *("--web.listen-address", f"127.0.0.1:{self.port}"),
        ]
        self._context: ssl.SSLContext | None = None
        if secure:
            self_signed("one").put(folder, "server")
            text = "tls_server_config: {cert_file: server.pem, key_file: server.key}\n"
            (folder / "web.yml").write_text(text)
            command += ["--web.config.file", folder / "web.yml"]
            self._context = trusting(folder)
        self.server = Server(command, f"http://127.0.0.1:{self.port}", folder / "agent.log")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                self.scrape()
                break
            time.sleep(0.1)
        for _ in range(20):
            self.scrape()

    @property
    def memory(self) -> int:
        """Resident bytes."""
        return int(psutil.Process(self.server.process.pid).memory_info().rss)

    def scrape(self) -> float:
        """Seconds that one takes on a connection of its own."""
        begin = time.perf_counter()
        client = (
            http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=self._context)
            if self._context is not None
            else http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        )
        with contextlib.closing(client):
            client.request("GET", "/metrics", headers={"Connection": "close"})
            answer = client.getresponse()
            assert answer.status == 200
            answer.read()
        return time.perf_counter() - begin

    def end(self) -> float:
        """Seconds from SIGTERM to the end."""
        begin = time.perf_counter()
        self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait(60)
        return time.perf_counter() - begin


@contextlib.contextmanager
def attacked(port: int, name: str, seconds: float, secure: bool) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "tests.expose.http.attacks", str(port), name, str(seconds)]
    with subprocess.Popen(
        [*words, *["tls"] * secure], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize(
    ("name", "secure"),
    [(name, False) for name in ATTACKS] + [(name, True) for name in ("preface", "h2c", RESET)],
)
def test_an_attack_holds_up_no_scrape_takes_no_memory_and_delays_no_end(
    tmp_path: Path, name: str, secure: bool
) -> None:
    target = Target(tmp_path, secure)
    with ended(target.server):
        before = most = target.memory
        with attacked(target.port, name, SECONDS + 60, secure):
            taken: list[float] = []
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                taken.append(target.scrape())
                most = max(most, target.memory)
                time.sleep(0.05)
            stopped = target.end()
    taken.sort()
    what = f"{name}{', over TLS' if secure else ''}: 10 MB a second for {SECONDS:.0f} s"
    figure = (
        f"{len(taken)} scrapes, median {taken[len(taken) // 2] * 1000:.0f} ms, "
        f"slowest {taken[-1] * 1000:.0f} ms; memory {before / MB:.0f} MB, "
        f"+{(most - before) / MB:.1f} MB at most; SIGTERM {stopped:.1f} s"
    )
    record(what, figure)
    assert (taken[-1] < 0.1, most - before < 10 * MB, stopped < 2) == (True,) * 3, figure
