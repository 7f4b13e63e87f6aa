"""The daemon with `windows_log` and `windows_counters`, on programs that stand in for Windows'.

They replay output of the real ones (see `tests/sources/windows_programs.py`).
"""

import os
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.harness import Agent, get, wait_for
from tests.sources.windows_programs import TYPEPERF, WEVTUTIL, event, executable
from tests.support.demo_run import gone

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs with a #! line")

OBJECT = r"\\EX01\MSExchange Database ==> Instances(Information Store/SG06)"
LOG = {"type": "windows_log", "name": "log", "interval": "1s"}


@pytest.fixture
def windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the programs, which the daemon finds."""
    folder = tmp_path / "windows"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    # A daemon that is killed leaves its bookmarks there.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    executable("wevtutil", folder, WEVTUTIL)
    executable("typeperf", folder, TYPEPERF)
    return folder


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[list[Agent]]:
    made: list[Agent] = []
    yield made
    for agent in made:
        agent.close()


def start(agents: list[Agent], folder: Path, *sources: dict[str, Any]) -> Agent:
    agents.append(Agent(folder, {"sources": list(sources)}))
    agents[-1].start(wait=False)
    return agents[-1]


def value(agent: Agent, name: str, **labels: str) -> float | None:
    """The sample of that name whose labels contain `labels`."""
    for family in text_string_to_metric_families(get(f"{agent.url}/metrics")):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    return None


def test_kill_9_loses_no_event_of_a_growing_log_and_counts_none_twice(
    tmp_path: Path, windows: Path, agents: list[Agent]
) -> None:
    log = windows / "Application.log"
    enough = threading.Event()
    written = [0]

    def grow() -> None:
        with log.open("ab", buffering=0) as file:
            while not enough.wait(0.005):
                written[0] += 1
                provider = "ESE" if written[0] % 2 else "Perflib"
                file.write(event(written[0], provider=provider).encode() + b"\n")

    log.touch()
    writer = threading.Thread(target=grow)
    writer.start()
    rng = random.Random(703)
    pause = threading.Event()
    agent = start(agents, tmp_path / "agent", LOG)
    try:
        for _ in range(8):
            pause.wait(rng.uniform(0.8, 2.2))
            agent.kill()
            agent.start(wait=False)
    finally:
        enough.set()
        writer.join()
    expected = (written[0] + 1) // 2
    wait_for(
        f"{expected} events",
        lambda: value(agent, "ese_events_total", event_id="703") == expected,
    )
    assert value(agent, "esewatch_source_missed_records_total", source="log") == 0
    assert value(agent, "esewatch_source_duplicates_total", source="log") == 0
    wait_for("up", lambda: value(agent, "esewatch_source_up", source="log") == 1)
    agent.stop()
    # Directory Service is a channel of domain controllers only.
    assert "Directory Service: this machine has no such channel" in agent.log()
    assert "Traceback" not in agent.log()


def test_rates_of_typeperf_become_counters_and_its_end_follows_that_of_the_daemon(
    tmp_path: Path, windows: Path, agents: list[Agent]
) -> None:
    names = ("Online Defrag Pages Read/sec", "Online Defrag Pages Freed/sec")
    header = ",".join(["(PDH-CSV 4.0)", *(f"{OBJECT}\\{name}" for name in names)])
    rows = [
        f"06/21/2007 03:14:{second:02}.000,{read},{freed}"
        for second, read, freed in ((0, -1, -1), (15, 10, 1), (30, 10, 1), (45, 20, 2))
    ]
    quoted = ['"' + row.replace(",", '","') + '"' for row in (header, *rows)]
    (windows / "script").write_text("\n".join(["", *quoted, "drip", ""]))
    counters = {"type": "windows_counters", "name": "perf", "interval": "15s"}
    agent = start(agents, tmp_path / "agent", counters)
    labels = {"computer": "ex01", "ese_instance": "SG06"}
    wait_for(
        "integrated rates",
        lambda: value(agent, "ese_defrag_pages_read_total", **labels) == 10 * 15 + 20 * 15,
    )
    assert value(agent, "ese_defrag_pages_freed_total", **labels) == 1 * 15 + 2 * 15
    assert value(agent, "esewatch_source_up", source="perf") == 1
    [child] = psutil.Process(agent.pid).children()
    agent.kill()
    wait_for("typeperf has ended", lambda: gone([child]))
    assert "Traceback" not in agent.log()


def test_on_another_system_both_sources_say_so_and_the_daemon_runs_on(
    tmp_path: Path, agents: list[Agent]
) -> None:
    agent = start(agents, tmp_path / "agent", LOG, {"type": "windows_counters", "name": "perf"})
    wait_for("down", lambda: value(agent, "esewatch_source_up", source="perf") == 0)
    agent.stop()
    for name in ("log: wevtutil", "perf: typeperf"):
        assert agent.log().count(f"{name}: no such program: it is a part of Windows") == 1
    checked = agent.command("config", "check", "--config.file", str(agent.config))
    assert checked.returncode == 0, checked.stderr
