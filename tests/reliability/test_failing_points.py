"""Calls inside the agent fail, one of each kind after the other: the figures equal the truth."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.harness import ROOT, Agent, wait_for
from tests.e2e.harness import Server as AgentServer
from tests.reliability.server import Server
from tests.reliability.short_run import Run, without_waiting
from tests.reliability.test_kill import figures, samples, truth
from tests.reliability.test_kill import settings as log_settings
from tests.support.campaign import COMMAND, WHOLE, number_of, some
from tests.support.failing import KINDS, failing
from tests.support.figures import record as record_figure
from tests.support.figures import until_right_again
from tests.support.tools import compiler

# What a call that failed had opened is closed by the end of the process, which goes on here.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")

EVERY = "every n" if WHOLE else "evenly chosen n"
SHORT_KINDS = sorted(KINDS.keys() - {"accept"})
"""A short run serves nobody."""


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    with without_waiting():
        yield


@pytest.fixture(name="calls", scope="module")
def _calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, int]]:
    """How many calls of each kind an undisturbed run makes."""
    run = Run(tmp_path_factory.mktemp("calls") / "run")
    with failing() as points:
        found, expected = run.figures(points.disarm)
    assert len(expected) > 15
    assert found == expected
    yield points.calls


def check_calls(folder: Path, kind: str, numbers: list[int]) -> Counter[str]:
    """Let each of these calls fail in a run of its own; what came out."""
    tried: Counter[str] = Counter()
    for number in numbers:
        run = Run(folder / f"{kind}-{number}")
        with failing() as points:
            points.arm(kind, number)
            found, expected = run.figures(points.disarm)
        wrong = {
            name: (found.get(name), expected.get(name))
            for name in found.keys() | expected.keys()
            if found.get(name) != expected.get(name)
        }
        assert wrong == {}, f"{kind}, call {number}"
        tried["runs"] += 1
        tried["failed"] += points.failed[kind]
        tried["restarts"] += run.restarts
    return tried


@pytest.mark.parametrize("kind", SHORT_KINDS)
def test_after_some_call_of_a_kind_failed_the_figures_are_the_true_ones(
    tmp_path: Path, calls: dict[str, int], kind: str
) -> None:
    most = min(calls[kind], 60)
    tried = check_calls(tmp_path, kind, sorted({1, 2, most // 3 + 1, 2 * most // 3 + 1}))
    assert tried["failed"] >= 1


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", SHORT_KINDS)
def test_after_any_call_of_a_kind_failed_the_figures_are_the_true_ones(
    tmp_path: Path, calls: dict[str, int], kind: str
) -> None:
    tried = check_calls(tmp_path, kind, some(range(1, min(calls[kind], 120) + 1), 20))
    record_figure(
        f"the n-th call of a kind fails once, {EVERY} of a short run: {kind}",
        f"{tried['runs']} runs, {tried['failed']} calls failed, {tried['restarts']} ended in"
        " another start, figures wrong: 0",
        COMMAND,
    )


def check_disk_calls(folder: Path, most: int) -> dict[str, Any]:
    """Let each call on the journal's files fail in a short run of its own, at most so many."""
    library, runs = folder / "failing_disk.so", folder / "runs"
    runs.mkdir()
    source = ROOT / "tests" / "support" / "failing_disk.c"
    build = [compiler(), "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(build, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.reliability.failing_disk", str(runs), str(most)],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(library)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    for kind, tried in found.items():
        assert tried["wrong"] == [], kind
        # A run may have some calls fewer than the first one, and then the last n-th never comes.
        assert tried["runs"] >= tried["failed"] > 0.8 * tried["runs"], kind
    return found


def test_after_some_call_on_the_disk_failed_the_figures_are_the_true_ones(tmp_path: Path) -> None:
    assert check_disk_calls(tmp_path, 2).keys() == {"sync", "write", "truncate"}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_after_any_call_on_the_disk_failed_the_figures_are_the_true_ones(tmp_path: Path) -> None:
    for kind, tried in check_disk_calls(tmp_path, number_of(200, 20)).items():
        record_figure(
            f"the n-th call on the journal's files fails once, {EVERY} of a short run: {kind}",
            f"{tried['runs']} runs, {tried['failed']} calls failed, {tried['restarts']} ended in"
            " another start, figures wrong: 0, after one more start too",
            COMMAND,
        )


class FailingAgent(Agent):
    """A process in which calls of all kinds fail at random for `seconds`."""

    def fail_at_random(self, seed: int, seconds: float) -> None:
        """Start it so."""
        command: list[str | Path] = [
            *(sys.executable, "-m", "tests.support.failing"),
            *(str(seed), str(seconds), self.told),
            *("run", "--config.file", self.config, "--web.listen-address", self.address),
        ]
        paths = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
        self._server = AgentServer(
            command, self.url, self.folder / "agent.log", env={"PYTHONPATH": paths}
        )

    @property
    def told(self) -> Path:
        """Where it writes which calls failed, when no more do."""
        return self.folder / "failed.txt"


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.timeout(1800)
@pytest.mark.fault(
    "calls inside the agent fail at random",
    provoked="for a minute one of `open`, `stat`, `read`, listing, thread start, accept, a"
    " statement or commit of SQLite, encoding, memory fails each 0.05 s; logs grow and rotate",
    lost="nothing",
)
def test_after_a_minute_in_which_calls_failed_at_random_the_figures_are_the_true_ones(
    tmp_path: Path,
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Server(logs, 11)
    agent = FailingAgent(tmp_path / "agent", log_settings(logs))
    end, starts = time.monotonic() + 60, 1
    try:
        agent.fail_at_random(1, 60)
        while time.monotonic() < end:
            server.tick()
            time.sleep(0.02)
            if agent.ended:  # as the service manager does
                agent.fail_at_random(starts, max(end - time.monotonic(), 0.1))
                starts += 1
        server.finish()
        expected = truth(server)
        if agent.ended:
            agent.start()
        found: dict[str, float] = {}

        def right() -> bool:
            nonlocal found
            found = figures(samples(agent))
            return {name: value for name, value in found.items() if value} == expected

        with until_right_again():
            assert wait_for("the true figures", right)
        process = psutil.Process(agent.pid)
        record_figure(
            "calls inside the agent fail at random for a minute, logs grow and rotate",
            f"{agent.told.read_text() if agent.told.exists() else 'unknown'} failed,"
            f" {starts - 1} starts by the service manager, {len(expected)} figures compared,"
            f" 0 wrong; resident {process.memory_info().rss >> 20} MB",
        )
        agent.stop()
    finally:
        agent.close()
