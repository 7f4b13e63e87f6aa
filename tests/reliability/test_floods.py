"""Floods of names under a real agent: what they cost is bounded, and what is real stays."""

import json
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.e2e.harness import Agent, get, wait_for
from tests.reliability.test_inputs import BEGIN, STRINGS, append, events, total
from tests.reliability.test_kill import samples
from tests.support.ese_text import render
from tests.support.figures import record as record_figure

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timed]

LONG = "n" * 900_000
COMPUTERS, IDS = 28_294, 100_000


def line(computer: str, event_id: int = 704, provider: str = "ESE", channel: str = "App") -> str:
    record = {
        "SourceName": provider,
        "EventID": event_id,
        "Channel": channel,
        "Hostname": computer,
        "TimeCreated": f"{BEGIN:%Y-%m-%dT%H:%M:%SZ}",
        "Message": render(704, STRINGS),
    }
    return json.dumps(record) + "\n"


FLOODS: dict[str, Callable[[], list[str]]] = {
    "38 records whose names have 900 KB": lambda: [
        line(f"{LONG}{number}") if number % 2 else line("ex", channel=f"{LONG}{number}")
        for number in range(38)
    ],
    f"{COMPUTERS:,} computers": lambda: [line(f"c{number}") for number in range(COMPUTERS)],
    f"{IDS:,} event ids": lambda: [line("ex", 100_000 + number) for number in range(IDS)],
}


@pytest.mark.fault(
    "a flood of names: long ones, computers, event ids",
    provoked="38 records with names of 900 KB; 28,294 computers; 100,000 event ids of one server",
    lost="computers beyond the limit, counted and alerted; known ones lose nothing",
    again="never wrong for what was known before",
)
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_names_is_bounded_and_another_source_goes_on(tmp_path: Path, flood: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    append(logs / "real.ndjson", 100)
    agent = Agent(
        tmp_path / "agent",
        {
            "sources": [
                {"type": "event_stream", "name": "flood", "path": f"{logs}/flood*.log"},
                {"type": "event_stream", "name": "real", "path": f"{logs}/real.ndjson"},
            ]
        },
    )
    try:
        agent.start()
        process = psutil.Process(agent.pid)
        before, cpu = process.memory_info().rss, sum(process.cpu_times()[:2])
        lines = FLOODS[flood]()
        (logs / "flood.log").write_text("".join(lines))
        append(logs / "real.ndjson", 100, hour=1)

        def records(source: str) -> float:
            return total(samples(agent), "esewatch_source_records_total", source=source)

        wait_for("the real ones", lambda: events(agent, computer="ex02") == 200)
        wait_for("the flood", lambda: records("flood") == len(lines))
        append(logs / "real.ndjson", 100, hour=2)
        wait_for("the real ones", lambda: events(agent, computer="ex02") == 300)
        spent = sum(process.cpu_times()[:2]) - cpu
        grown = (process.memory_info().rss - before) >> 20
        size = len(get(f"{agent.url}/metrics")) / 1e6
        journal = sum(each.stat().st_size for each in agent.folder.glob("journal.db*")) / 1e6
        dropped = total(samples(agent), "esewatch_databases_dropped_total")
        record_figure(
            f"a flood of names: {flood}",
            f"{spent:.1f} CPU-s, memory {grown:+} MB, {size:.1f} MB of metrics, journal of"
            f" {journal:.1f} MB, {dropped:,.0f} not taken in; the other source lost nothing",
        )
        assert size < 8
        assert journal < 50
        assert grown < 150
        agent.stop()
    finally:
        agent.close()
