"""Counters equal the truth after `kill -9` at random moments, while logs grow and rotate."""

import contextlib
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.harness import Agent, get, wait_for
from tests.reliability.server import DATABASES, Server
from tests.support.campaign import COMMAND, number_of
from tests.support.figures import record, until_right_again

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def settings(logs: Path) -> dict[str, Any]:
    """The agent's configuration for the server's four logs."""
    return {
        "sources": [
            {"type": "evtx", "path": f"{logs}/*.evtx"},
            {"type": "event_stream", "name": "json", "path": f"{logs}/*.ndjson"},
            {"type": "event_stream", "name": "text", "path": f"{logs}/*.log"},
            {"type": "perfmon_csv", "path": f"{logs}/*.csv"},
        ]
    }


def samples(agent: Agent) -> Samples:
    """All samples of /metrics."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(get(f"{agent.url}/metrics"))
        for sample in family.samples
    }


def figures(samples: Samples) -> dict[str, float]:
    """What is compared, by a short name."""
    found: dict[str, float] = {}
    for (name, labels), value in samples.items():
        label = dict(labels)
        if name == "ese_events_total":
            found[f"events {label['computer']} {label['event_id']}"] = value
        elif name == "ese_defrag_reported_pages_freed_total":
            found[f"reported {label['computer']}"] = value
        elif name == "ese_slow_io_reports_total" and value:
            found[f"slow {label['computer']} {label['operation']}"] = value
        elif name == "ese_known_bad_pages" and value:
            found[f"bad {label['computer']} {label['kind']}"] = value
        elif name == "ese_page_error_events_total" and value:
            found[f"errors {label['computer']} {label['kind']}"] = value
        elif name in {
            "ese_defrag_pages_read_total",
            "ese_defrag_pages_freed_total",
            "ese_maintenance_pages_read_total",
        }:
            found[name] = value
    return found


def truth(server: Server) -> dict[str, float]:
    """The same figures as the server counted them."""
    found: dict[str, float] = {
        f"events {computer} {event_id}": count
        for (computer, event_id), count in server.events.items()
    }
    for computer in DATABASES:
        found[f"reported {computer}"] = server.pages_freed[computer]
        found[f"slow {computer} read"] = server.slow_reads[computer]
        found[f"bad {computer} uncorrectable"] = len(server.bad_pages[computer])
        found[f"errors {computer} checksum"] = server.events[computer, 474]
    found["ese_defrag_pages_read_total"] = server.integrals["read"]
    found["ese_defrag_pages_freed_total"] = server.integrals["freed"]
    found["ese_maintenance_pages_read_total"] = server.scanned
    return {name: value for name, value in found.items() if value}


def kill_often(root: Path, kills: int, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Run, kill and restart while the server writes; returns (exported, true) figures."""
    logs = root / "logs"
    logs.mkdir()
    server = Server(logs, seed)
    agent = Agent(root / "agent", settings(logs))
    enough = threading.Event()
    failures: list[Exception] = []

    def write() -> None:
        try:
            while not enough.wait(0.01):
                server.tick()
        except Exception as error:
            failures.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    rng = random.Random(seed + 1)
    pause = threading.Event()
    try:
        for _ in range(kills):
            agent.start(wait=False)
            pause.wait(rng.uniform(0.2, 2.0))
            agent.kill()
    finally:
        enough.set()
        writer.join()
        agent.close()
    assert not failures
    server.finish()
    return _settled(agent, truth(server))


def _settled(agent: Agent, expected: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Start once more; what is exported when it equals the truth, or after half a minute."""
    try:
        with until_right_again():
            agent.start()
            with contextlib.suppress(AssertionError):
                wait_for("the true figures", lambda: figures(samples(agent)) == expected)
        shown = samples(agent)
        found = figures(shown)
        for name, each in (("esewatch_source_set_aside_total", 0.0), ("esewatch_source_up", 1.0)):
            assert {value for (other, _), value in shown.items() if other == name} == {each}
        agent.stop()
    finally:
        agent.close()
    assert "Traceback" not in agent.log(), agent.log()
    return found, expected


@pytest.mark.fault(
    "the agent is killed",
    provoked="10 times `kill -9` at random moments; four logs grow, rotate and end in half lines",
    lost="nothing, and nothing is counted twice",
)
def test_ten_kills_lose_nothing_and_count_nothing_twice(tmp_path: Path) -> None:
    found, expected = kill_often(tmp_path, kills=10, seed=703)
    assert len(expected) > 20
    assert found == expected


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.timeout(1800)
def test_up_to_two_hundred_kills_lose_nothing_and_count_nothing_twice(tmp_path: Path) -> None:
    begin, kills = time.monotonic(), number_of(200, 60)
    found, expected = kill_often(tmp_path, kills=kills, seed=704)
    assert len(expected) > 20
    assert found == expected
    events = int(sum(count for name, count in expected.items() if name.startswith("events")))
    record(
        "`kill -9` at random moments while four logs grow and rotate",
        f"{kills} kills, {events:,} events, {len(expected)} figures compared, 0 wrong, "
        f"{time.monotonic() - begin:.0f} s",
        COMMAND,
    )
