"""Many servers of the engine in a topic, workers that read it, and what their journals hold."""

import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from esewatch.journal import Journal
from esewatch.journal.rows import Row, rows_of
from tests.e2e.harness import Agent, wait_for
from tests.support.kafka import Broker
from tests.support.patience import PATIENCE

TOPIC = "ese-events"
PARTITIONS = 4
SLOWLY = {"fetch.message.max.bytes": "3000", "session.timeout.ms": "6000"}
"""Few messages at once, so that a kill comes in the middle."""

Message = tuple[str, bytes]


def engine_events(folder: Path) -> list[bytes]:
    """Three days of one server."""
    command = ["engine", "run", "--dir", str(folder), "--days", "3", "--profile", "busy"]
    subprocess.run(
        [sys.executable, "-m", "esewatch", *command, "--computer", "EX01"],
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    return (folder / "events.jsonl").read_bytes().splitlines()


def servers(events: Sequence[bytes], count: int) -> list[Message]:
    """So many servers that all have these events; their messages are mixed, each one's in order."""
    names = [f"EX{number:03}" for number in range(count)]
    turns = [name for name in names for _ in events]
    random.Random(1).shuffle(turns)
    rest = {name: iter(events) for name in names}
    return [(name, next(rest[name]).replace(b'"EX01"', f'"{name}"'.encode())) for name in turns]


def settings(broker: Broker, group: str, **more: Any) -> dict[str, Any]:
    """Of a worker of the group."""
    source = {"type": "kafka", "name": "fleet", "brokers": [broker.address], "topics": [TOPIC]}
    return {"sources": [{**source, "group": group, "client": SLOWLY, **more}]}


def journals(folder: Path) -> dict[int, Path]:
    """Partition -> journal, of those that a worker had."""
    found = folder.glob("journal-fleet-*.db")
    return {int(path.stem.rpartition("-")[2]): path for path in found}


def held(path: Path) -> tuple[list[Row], dict[str, Any]]:
    """The rows of a journal, and what its source counts; the times of our own clock left out."""
    journal = Journal(path, mend=False)
    try:
        state, positions = journal.load()
    finally:
        journal.close()
    entities = [
        *(("host", name, "") for name in state.hosts),
        *(("channel", *key) for key in state.channels),
        *(("instance", *key) for key in state.instances),
        *(("database", *key) for key in state.databases),
        *(("device", *key) for key in state.devices),
    ]
    source = msgspec.to_builtins(next(iter(state.sources.values())))
    del source["opened"], source["baseline"], source["caught_up"]
    kept = {name: sorted(files) for name, files in positions.items()}
    return rows_of(state, entities)[0], source | {"positions": kept}


def all_held(folder: Path) -> dict[int, tuple[list[Row], dict[str, Any]]]:
    """`held` of all partitions."""
    return {number: held(path) for number, path in sorted(journals(folder).items())}


def samples(text: str, name: str) -> dict[str, float]:
    """Labels as written -> value of a metric, of a page of metrics."""
    lines = [line for line in text.splitlines() if line.startswith(f"{name}{{")]
    return {
        line[len(name) : line.rindex("}") + 1]: float(line[line.rindex(" ") :]) for line in lines
    }


def records(text: str) -> float:
    """Records that the partitions of a page of metrics have taken in."""
    found: Mapping[str, float] = samples(text, "esewatch_source_records_total")
    return sum(found.values())


def wait_until_read(agent: Agent, count: int, ask: Any) -> None:
    """Until the agent's snapshot has that many records; fails with its log if it does not."""
    try:
        wait_for(f"{count} records", lambda: records(ask(f"{agent.url}/metrics")) >= count)
    except AssertionError as error:
        raise AssertionError(agent.log()) from error
