"""The agent as a process of its own, to be killed."""

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Agent:
    """Starts `esewatch run` with a configuration, on a port the system picks."""

    def __init__(self, config: Path, log: Path) -> None:
        self._config = config
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def start(self) -> None:
        """Start the process; does not wait for anything."""
        begin = self._log.stat().st_size if self._log.exists() else 0
        command = [sys.executable, "-m", "esewatch", "run", "--config.file", str(self._config)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--web.listen-address", "127.0.0.1:0"],
                stderr=log,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        self._begin = begin

    def kill(self) -> None:
        """`kill -9`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        """SIGTERM; returns the exit status."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(20)

    def find_port(self) -> None:
        """Wait for the line that says where it serves."""

        def served() -> bool:
            text = self._log.read_bytes()[self._begin :].decode()
            for line in text.splitlines():
                if "serves http://" in line:
                    self.port = int(line.split("serves http://127.0.0.1:")[1].split("/")[0])
                    return True
            return False

        wait_for(served, 30, self._log.read_text)

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def samples(self) -> Samples:
        """All samples of /metrics."""
        found: Samples = {}
        for family in text_string_to_metric_families(self.get("/metrics")[1]):
            for sample in family.samples:
                found[sample.name, frozenset(sample.labels.items())] = sample.value
        return found

    def caught_up(self) -> bool:
        """Whether it is ready and has nothing left to read."""
        if self.get("/-/ready")[0] != 200:
            return False
        values = [
            value
            for (name, _), value in self.samples().items()
            if name == "esewatch_source_caught_up"
        ]
        return bool(values) and all(values)


def wait_for(condition: Callable[[], bool], seconds: float, why: Callable[[], str]) -> None:
    """Poll until the condition holds; fails with `why()` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, why()
        time.sleep(0.05)
