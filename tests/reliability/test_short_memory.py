"""Memory is short for a while under a real agent: afterwards the figures are the true ones."""

import contextlib
import http.client
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from esewatch.sources.counters.exporter_map import PREFIX
from tests.e2e.harness import Agent, get, wait_for
from tests.reliability.server import Server
from tests.reliability.test_kill import Samples, figures, samples, truth
from tests.reliability.test_kill import settings as log_settings
from tests.support.figures import record, until_right_again
from tests.support.metrics_server import MetricsServer, metrics_server, says

if sys.platform == "linux":
    import resource

ROOM = (0, 1 << 20, 4 << 20, 16 << 20, 0)
"""Bytes beyond what the process has, one spell after the other."""
SPELL_SECONDS = 3.0
BURST = 200
"""Ticks of the logs at the beginning of a spell, so that memory is wanted."""
WANT = re.compile(r"MemoryError|no memory|new thread|allocate memory|out of memory|allocation of")
"""What is logged where memory was wanted and not had."""
READ = f"{PREFIX}_msexchange_database_____instances_online_defrag_pages_read_sec"


class Shortage:
    """An agent that reads four logs and an exporter while its address space has a limit."""

    def __init__(self, root: Path, exporter: MetricsServer, seed: int) -> None:
        logs = root / "logs"
        logs.mkdir()
        self.server = Server(logs, seed)
        self._exporter = exporter
        self.counted = 0
        self.starts = 1
        settings = log_settings(logs)
        settings["sources"].append(
            {
                "type": "prometheus",
                "name": "ex09",
                "url": exporter.url,
                "computer": "ex09",
                "interval": "1s",
            }
        )
        self.agent = Agent(root / "agent", settings)
        self.write()

    def write(self) -> None:
        """More of all: the logs grow, and what the exporter counts."""
        self.server.tick()
        self.counted += 10
        page = (
            f'# TYPE {READ} counter\n{READ}{{instance="Information Store/SG09"}} {self.counted}\n'
        )
        self._exporter.answer(says(page))

    def spell(self, room: int) -> None:
        """Let memory be short for a while; a process that ends is started again."""
        size = int(Path(f"/proc/{self.agent.pid}/statm").read_text().split()[0])
        limit = size * resource.getpagesize() + room
        infinite = resource.RLIM_INFINITY
        resource.prlimit(self.agent.pid, resource.RLIMIT_AS, (limit, infinite))
        for _ in range(BURST):
            self.write()
        end = time.monotonic() + SPELL_SECONDS
        while time.monotonic() < end and not self.agent.ended:
            self.write()
            with contextlib.suppress(OSError, http.client.HTTPException):
                get(f"{self.agent.url}/metrics", 0.2)
            time.sleep(0.005)
        if self.agent.ended:
            self.starts += 1
            self.agent.start()
        else:
            resource.prlimit(self.agent.pid, resource.RLIMIT_AS, (infinite, infinite))


def of_exporter(found: Samples) -> float:
    """Pages read as they were counted through the exporter."""
    return sum(
        value
        for (name, labels), value in found.items()
        if name == "ese_defrag_pages_read_total" and dict(labels)["computer"] == "ex09"
    )


def of_logs(found: Samples) -> dict[str, float]:
    """The figures of the other computers."""
    rest = {
        (name, labels): value
        for (name, labels), value in found.items()
        if dict(labels).get("computer") != "ex09"
    }
    return {name: value for name, value in figures(rest).items() if value}


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no prlimit")
@pytest.mark.fault(
    "memory is short",
    provoked="five times for 3 s, a limit of the address space at its current size (plus 0 to 16"
    " MiB); four logs grow and rotate, an exporter counts; scrapes meanwhile",
    lost="only scrapes meanwhile",
)
# Threads have up to 64 MiB of address space ahead each, so that only new ones find none; with one
# arena for all of them nobody has.
@pytest.mark.parametrize("arenas", [0, 1])
def test_after_memory_was_short_all_figures_are_the_true_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arenas: int
) -> None:
    monkeypatch.setenv("PYTHONFAULTHANDLER", "1")
    if arenas:
        monkeypatch.setenv("MALLOC_ARENA_MAX", str(arenas))
    with metrics_server() as exporter:
        shortage = Shortage(tmp_path, exporter, 21)
        agent, first = shortage.agent, shortage.counted
        try:
            agent.start()
            wait_for("a scrape behind the first", lambda: len(exporter.requests()) >= 2, 30)
            for room in ROOM:
                shortage.spell(room)
            shortage.write()
            shortage.server.finish()
            expected = truth(shortage.server), shortage.counted - first

            found: tuple[dict[str, float], float] = {}, 0.0

            def right() -> bool:
                nonlocal found
                if agent.ended:
                    shortage.starts += 1
                    agent.start()
                shown = samples(agent)
                found = of_logs(shown), of_exporter(shown)
                return found == expected

            with until_right_again(), contextlib.suppress(AssertionError):
                wait_for("the true figures", right, 60)
            assert found == expected
            wants = WANT.findall(agent.log())
            assert wants, "memory was never short"
            record(
                "memory is short five times for 3 s, for "
                + ("every call" if arenas else "new threads"),
                f"{len(wants)} lines of the log say so, {shortage.starts - 1} starts by the"
                f" service manager, {len(expected[0]) + 1} figures compared, 0 wrong",
            )
        except AssertionError:
            if not agent.ended:
                os.kill(agent.pid, signal.SIGABRT)  # the log then has where each thread stands
            raise
        finally:
            agent.close()
