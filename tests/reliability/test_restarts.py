"""A process that ends and is started again, as a service manager does it: nothing is lost, nothing
counts twice, and it does not end for the same reason again and again."""

import contextlib
import http.client
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from esefiles.base.crash import SHORT
from esewatch.sources.counters.exporter_map import PREFIX
from tests.e2e.harness import ROOT, Agent, get, wait_for
from tests.e2e.harness import Server as AgentServer
from tests.reliability.server import Server
from tests.reliability.test_kill import Samples, figures, samples, truth
from tests.reliability.test_kill import settings as log_settings
from tests.support.figures import until_right_again
from tests.support.metrics_server import MetricsServer, metrics_server, says
from tests.support.patience import PATIENCE

if sys.platform == "linux":
    import resource

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(1200),  # twice as long as one waiting
    pytest.mark.skipif(sys.platform != "linux", reason="other systems have no prlimit"),
]

DEATHS = 10
EX09 = ("computer", "ex09")
READ = f"{PREFIX}_msexchange_database_____instances_online_defrag_pages_read_sec"
KILLS = """\
import os
import signal
import sys

from esewatch import cli
from esewatch.fold.folder import Folder

take = Folder._event


def event(self, source, record):
    if source.name == "{source}" and source.records + source.set_aside == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
    take(self, source, record)


Folder._event = event
sys.exit(cli.main())
"""
NO_THREADS = """\
import sys
import threading

from esewatch import cli

start, starts = threading.Thread.start, 0


def refused(self):
    global starts
    starts += 1
    if starts == {number}:
        raise RuntimeError("can't start new thread")
    start(self)


threading.Thread.start = refused
sys.exit(cli.main())
"""


class HookedAgent(Agent):
    """An agent that begins with this code."""

    code = ""

    def start(self, *, wait: bool = True) -> None:
        if not self.code:
            return super().start(wait=wait)
        command: list[str | Path] = [
            *(sys.executable, "-c", self.code, "run", "--config.file", self.config),
            *("--web.listen-address", self.address),
        ]
        self._server = AgentServer(
            command, self.url, self.folder / "agent.log", env={"PYTHONPATH": str(ROOT / "agent")}
        )
        return None

    @property
    def status(self) -> int | None:
        """Its exit status."""
        assert self._server is not None
        return self._server.process.poll()


def wrong(agent: Agent, expected: dict[str, float]) -> dict[str, Any]:
    """The figures that differ: (shown, true)."""
    of_logs = {key: value for key, value in samples(agent).items() if EX09 not in key[1]}
    found = {name: value for name, value in figures(of_logs).items() if value}
    names = found.keys() | expected.keys()
    pairs = {name: (found.get(name), expected.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def total(found: Samples, name: str) -> float:
    return sum(value for (each, _), value in found.items() if each == name)


@pytest.fixture(name="exporter")
def _exporter() -> Iterator[MetricsServer]:
    with metrics_server() as server:
        yield server


@pytest.mark.fault(
    "memory is short",
    provoked="ten times a limit of the address space at its current size, until the agent ends;"
    " four logs grow and rotate, an exporter counts; scrapes meanwhile",
    lost="nothing",
)
def test_ten_ends_by_a_limit_of_memory_lose_nothing_and_count_nothing_twice(
    tmp_path: Path, exporter: MetricsServer
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    server, settings, counted = Server(logs, 21), log_settings(logs), 0
    settings["sources"].append(
        {"type": "prometheus", "name": "ex09", "url": exporter.url, "computer": "ex09",
         "interval": "1s"}
    )  # fmt: skip
    agent = HookedAgent(tmp_path / "agent", settings)

    def write() -> None:
        nonlocal counted
        server.tick()
        counted += 10
        page = f'# TYPE {READ} counter\n{READ}{{instance="Information Store/SG09"}} {counted}\n'
        exporter.answer(says(page))

    try:
        write()
        for number in range(DEATHS):
            agent.start()
            if not number:
                wait_for("a scrape behind the first", lambda: len(exporter.requests()) >= 2)
            size = int(Path(f"/proc/{agent.pid}/statm").read_text().split()[0])
            limit = size * resource.getpagesize(), resource.RLIM_INFINITY
            resource.prlimit(agent.pid, resource.RLIMIT_AS, limit)
            end = time.monotonic() + PATIENCE
            while not agent.ended and time.monotonic() < end:
                for _ in range(20):
                    write()
                with contextlib.suppress(OSError, http.client.HTTPException):
                    get(f"{agent.url}/", 0.5)
            assert agent.status == 70
        assert agent.log().count(SHORT) == DEATHS
        assert "Traceback" not in agent.log()
        server.finish()
        with until_right_again():
            agent.start()
            wait_for("the true figures", lambda: not wrong(agent, truth(server)))
            wait_for("the exporter's", lambda: of_exporter(samples(agent)) == counted - 10)
        agent.stop()
    finally:
        agent.close()


def of_exporter(found: Samples) -> float:
    """Pages read as they were counted through the exporter."""
    ours = {key: value for key, value in found.items() if EX09 in key[1]}
    return total(ours, "ese_defrag_pages_read_total")


class Listing(Server):
    """A server that keeps the ids of the events that each of its computers logged."""

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root, seed)
        self.written: dict[str, list[int]] = defaultdict(list)

    def _log(self, computer: str, event_id: int, strings: Sequence[str]) -> None:
        super()._log(computer, event_id, strings)
        self.written[computer].append(event_id)


@pytest.mark.fault(
    "a record ends the process",
    provoked="a hook that ends the process by SIGKILL at one record, in each start",
    lost="that record: it is set aside, kept and counted",
    again="the fifth start",
)
@pytest.mark.parametrize(
    ("source", "computer"),
    [("evtx-1", "ex01"), pytest.param("text", "ex03", marks=pytest.mark.slow)],
)
def test_a_record_that_ends_the_process_is_set_aside_by_the_fifth_start(
    tmp_path: Path, source: str, computer: str
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Listing(logs, 8)  # neither log is moved away: the agent reads it as it was written
    for _ in range(60):
        server.tick()
    server.finish()
    agent = HookedAgent(tmp_path / "agent", log_settings(logs))
    agent.code = KILLS.format(source=source, number=server.written[computer].index(704, 20))
    starts = 0
    try:
        while starts < 10:
            starts += 1
            agent.start()
            wait_for("its end, or all is read", lambda: agent.ended or is_ready(agent))
            if not agent.ended:
                break
        assert starts == 5
        expected = truth(server)
        expected[f"events {computer} 704"] -= 1
        wait_for("the figures", lambda: not wrong(agent, expected))
        found = samples(agent)
        assert total(found, "esewatch_source_set_aside_total") == 1
        assert total(found, "esewatch_source_up") == 4
        (line,) = [each for each in agent.log().splitlines() if "set aside" in each]
        assert "2 starts ended at this record (" in line
        assert str(logs) in line
        agent.stop()
    finally:
        agent.close()


def is_ready(agent: Agent) -> bool:
    with contextlib.suppress(OSError, http.client.HTTPException):
        get(f"{agent.url}/-/ready", 1.0)
        return True
    return False


@pytest.mark.fault(
    "a thread cannot start",
    provoked="the first, the second, ... the sixth thread of a start is refused by the system;"
    " four logs",
    lost="nothing",
)
def test_a_thread_that_cannot_start_ends_the_process_and_loses_nothing(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Server(logs, 23)
    agent = HookedAgent(tmp_path / "agent", log_settings(logs))
    ended = 0
    try:
        for number in range(1, 7):
            server.tick()
            agent.code = NO_THREADS.format(number=number)
            agent.start()
            wait_for("its end, or all is read", lambda: agent.ended or is_ready(agent))
            if agent.ended:
                ended += 1
                assert agent.status == 70
            else:
                agent.kill()
        assert ended >= 4
        assert agent.log().count(SHORT) == ended
        assert "Traceback" not in agent.log()
        server.finish()
        agent.code = ""
        with until_right_again():
            agent.start()
            wait_for("the true figures", lambda: not wrong(agent, truth(server)))
        agent.stop()
    finally:
        agent.close()
