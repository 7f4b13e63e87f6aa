"""rsyslog brings events into a topic: each under its computer, all of a computer in their order."""

import json
import socket
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench.json_log import SHAPES, logged
from tests.e2e.harness import Agent, Server, ended, get, start_agent, wait_for
from tests.support.kafka import Broker
from tests.support.ports import free_port
from tests.support.tools import skip

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CONFIGURATION = Path(__file__).resolve().parents[2] / "deploy" / "kafka" / "rsyslog.conf"
RSYSLOG = Path("/usr/sbin/rsyslogd")
PARTITIONS = 8
EVENTS = 2000
NO_COMPUTER = "/var/log/ese-events-without-computer.log"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    made = Broker(tmp_path / "broker")
    made.make("ese-events", PARTITIONS)
    yield made
    made.kill()


def settings(folder: Path, broker: Broker, port: int) -> str:
    """The file that is shipped, with addresses and folders of the test."""
    text = CONFIGURATION.read_text()
    for shipped, here in (
        ("kafka-1.example.com:9092", broker.address),
        ("/var/spool/rsyslog", str(folder)),
        (NO_COMPUTER, str(folder / "without")),
        ('port="10514"', f'port="{port}" address="127.0.0.1"'),
    ):
        assert text.count(shipped) == 1
        text = text.replace(shipped, here)
    return text


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def received(broker: Broker, count: int) -> list[Any]:
    """So many messages of the topic."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415  # an extra

    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "test"})
    consumer.assign([TopicPartition("ese-events", number, 0) for number in range(PARTITIONS)])
    found: list[Any] = []
    end = time.monotonic() + 60
    while len(found) < count and time.monotonic() < end:
        found += consumer.consume(count, timeout=1.0)
    found += consumer.consume(1, timeout=1.0)
    consumer.close()
    return found


def taken_in(agent: Agent) -> float:
    """Records of all partitions."""
    lines = get(f"{agent.url}/metrics").splitlines()
    name = "esewatch_source_records_total{"
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def test_each_event_comes_once_in_order_and_a_computer_has_one_partition(
    broker: Broker, tmp_path: Path
) -> None:
    if not RSYSLOG.exists() or not list(Path("/usr/lib").glob("*/rsyslog/omkafka.so")):
        skip("rsyslog is not installed (apt-get install rsyslog rsyslog-kafka)", {"rsyslog"})
    port = free_port()
    (tmp_path / "rsyslog.conf").write_text(settings(tmp_path, broker, port))
    lines = [json.dumps(SHAPES["NXLog"](each)) for each in logged(EVENTS)]
    words: list[str | Path] = ["-n", "-f", tmp_path / "rsyslog.conf", "-i", tmp_path / "pid"]
    with ended(Server([RSYSLOG, *words], "", tmp_path / "log")):
        wait_for("it listens", partial(listens, port))
        with socket.create_connection(("127.0.0.1", port)) as sender:
            sender.sendall("".join(f"{line}\n" for line in [*lines, "no JSON"]).encode())
        messages = received(broker, EVENTS)
        wait_for("the other line", (tmp_path / "without").exists)
    source = {"type": "kafka", "brokers": [broker.address], "topics": ["ese-events"]}
    with start_agent(tmp_path / "agent", {"sources": [source]}) as agent:
        wait_for("all are taken in", lambda: taken_in(agent) == EVENTS)

    sent, came, places = defaultdict(list), defaultdict(list), defaultdict(set)
    for line in lines:
        sent[json.loads(line)["Hostname"].lower()].append(line)
    for message in messages:
        came[message.key().decode()].append(message.value().decode())
        places[message.key()].add(message.partition())

    assert len(sent) > 2
    assert came == sent
    assert {len(each) for each in places.values()} == {1}
    assert (tmp_path / "without").read_text().strip() == "no JSON"
