"""Disk and clock go wrong while logs grow and rotate: the figures are the true ones after it."""

import os
import resource
import sys
from pathlib import Path

import psutil
import pytest

from tests.e2e.harness import ROOT, Agent, get, wait_for
from tests.e2e.harness import Server as AgentServer
from tests.reliability.server import Server
from tests.reliability.test_kill import figures, samples, settings, truth
from tests.support.figures import until_right_again

pytestmark = pytest.mark.e2e

FAILURES = ("esewatch_journal_commit_failures_total", frozenset[tuple[str, str]]())
YEAR = 365 * 86400
JUMPS = (5 * 3600, -5 * 3600, 80 * YEAR, -40 * YEAR, 0)
JUMPING = """
import pathlib, sys, time
real, offset = time.time, pathlib.Path(sys.argv.pop(1))
time.time = lambda: real() + float(offset.read_text())
from esewatch.cli import main
sys.exit(main(sys.argv[1:]))
"""


class JumpingAgent(Agent):
    """A process whose clock is `jump` seconds ahead."""

    def start_with_a_clock(self) -> None:
        """Start it, at the right time."""
        self.jump(0)
        command: list[str | Path] = [
            *(sys.executable, "-c", JUMPING, self.folder / "offset"),
            *("run", "--config.file", self.config, "--web.listen-address", self.address),
        ]
        paths = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
        self._server = AgentServer(
            command, self.url, self.folder / "agent.log", env={"PYTHONPATH": paths}
        )
        self.wait_until_ready(180)

    def jump(self, seconds: float) -> None:
        """Set its clock."""
        (self.folder / "new").write_text(str(seconds))
        (self.folder / "new").replace(self.folder / "offset")


def check_truth(agent: Agent, server: Server) -> None:
    server.finish()
    expected = truth(server)
    assert len(expected) > 20
    with until_right_again():
        wait_for("the true figures", lambda: figures(samples(agent)) == expected)


def tick(server: Server, count: int = 40) -> None:
    for _ in range(count):
        server.tick()


@pytest.fixture(name="server")
def _server(tmp_path: Path) -> Server:
    (tmp_path / "logs").mkdir()
    server = Server(tmp_path / "logs", seed=21)
    tick(server)
    return server


@pytest.mark.fault(
    "the disk accepts no more bytes, for the journal or for the log of the agent itself",
    provoked="a limit of 0 on the size of files, while four logs grow; `kill -9`; the limit again",
    lost="nothing",
)
def test_a_disk_that_takes_nothing_for_a_while_costs_no_record(
    tmp_path: Path, server: Server
) -> None:
    agent = Agent(tmp_path / "agent", settings(tmp_path / "logs"))

    def limit(most: int) -> None:
        psutil.Process(agent.pid).rlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    def failed() -> bool:
        tick(server)
        return samples(agent)[FAILURES] > 0

    try:
        for _ in range(2):
            agent.start()
            tick(server)
            limit(0)
            wait_for("a commit that failed", failed)
            agent.kill()
        agent.start()
        limit(0)
        wait_for("a commit that failed", failed)
        limit(resource.RLIM_INFINITY)
        check_truth(agent, server)
        agent.stop()
        assert "Traceback" not in agent.log()
    finally:
        agent.close()


@pytest.mark.fault(
    "the clock of the agent jumps under load",
    provoked="by 5 hours and back, 80 years, back by 120, then to the correct time, while four"
    " logs grow",
    lost="nothing",
)
@pytest.mark.slow
def test_a_clock_that_jumps_while_logs_grow_costs_no_record(tmp_path: Path, server: Server) -> None:
    agent = JumpingAgent(tmp_path / "agent", settings(tmp_path / "logs"))
    try:
        agent.start_with_a_clock()
        for number, seconds in enumerate(JUMPS, 1):
            agent.jump(seconds)

            def told(number: int = number) -> bool:
                tick(server)
                assert get(f"{agent.url}/metrics")
                return agent.log().count("jumped by") == number

            wait_for("the jump", told)
        check_truth(agent, server)
        agent.stop()
        assert "Traceback" not in agent.log()
    finally:
        agent.close()
