"""The engine as a process, its logs read by the real agent: /metrics says what the truth says."""

import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.harness import Agent, get, start_agent, wait_for
from tests.eselab.running import random_plan
from tests.support.engine_truth import differences
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.e2e

DAYS = 3.0
SEED = 4


LOGS = {
    "text": [
        {"type": "event_stream", "path": "events.jsonl"},
        {"type": "perfmon_csv", "path": "counters.csv"},
    ],
    "Windows": [
        {"type": "evtx", "path": "Application.evtx"},
        {"type": "perfmon_blg", "path": "counters*.blg"},
    ],
}
"""The logs of a run that an agent reads."""


def engine_run(folder: Path, plan: Path, start: datetime, days: float) -> None:
    """`esewatch engine run` to its end."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "esewatch", "engine", "run", "--dir", str(folder)),
            *("--plan", str(plan), "--days", str(days), "--seed", str(SEED)),
            *("--computer", "EX01.example.com", "--start", start.isoformat()),
            *("--binary-log", "--event-log"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr


def equals_the_truth(agent: Agent, folder: Path, *, binary: bool) -> bool:
    """Whether all that the truth has is on /metrics so."""
    metrics = text_string_to_metric_families(get(f"{agent.url}/metrics"))
    return differences(folder / "truth.json", metrics, binary=binary) == []


@pytest.mark.parametrize("logs", ["Windows", pytest.param("text", marks=pytest.mark.slow)])
def test_the_running_agent_says_what_the_truth_says_before_and_after_restarts(
    tmp_path: Path, logs: str
) -> None:
    folder, plan = tmp_path / "run", tmp_path / "plan.json"
    plan.write_bytes(msgspec.json.encode(random_plan(random.Random(SEED), days=1.0, faults=6)))
    # It ends about now: levels that were sampled long ago are shown no more.
    start = datetime.now(UTC) - timedelta(days=DAYS)
    engine_run(folder, plan, start, 1.0)
    sources = [each | {"path": str(folder / each["path"])} for each in LOGS[logs]]
    binary = logs == "Windows"
    with start_agent(tmp_path / "agent", {"sources": sources}) as agent:
        engine_run(folder, plan, start, 1.0)
        agent.stop()
        agent.start()
        engine_run(folder, plan, start, DAYS - 2.0)
        wait_for(
            "the metrics equal the truth", lambda: equals_the_truth(agent, folder, binary=binary)
        )
        told = msgspec.json.decode((folder / "truth.json").read_bytes())
        assert len(told["faults"]) > 5
        assert len(told["databases"]) == len(told["instances"]) > 1
        check_figures(agent, told["events"])


def check_figures(agent: Agent, events: dict[str, int]) -> None:
    """The comparison is not one of nothing with nothing."""
    counted = {
        sample.labels["event_id"]: sample.value
        for family in text_string_to_metric_families(get(f"{agent.url}/metrics"))
        for sample in family.samples
        if sample.name == "ese_events_total"
    }
    assert counted == {label.split('"')[1]: count for label, count in events.items()}
    assert counted["102"] >= 6
    assert counted["700"] > 0
