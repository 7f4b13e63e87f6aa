"""rsyslog brings events into a topic: each under its computer, all of a computer in their order."""

import json
import socket
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench.json_log import SHAPES, logged
from tests.e2e.harness import Agent, Server, ended, get, start_agent, wait_for
from tests.support.kafka import Broker
from tests.support.patience import PATIENCE
from tests.support.ports import free_port
from tests.support.tools import skip

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CONFIGURATION = Path(__file__).resolve().parents[2] / "deploy" / "kafka" / "rsyslog.conf"
RSYSLOG = Path("/usr/sbin/rsyslogd")
PARTITIONS = 8
EVENTS = 2000
MANY = 120_000
"""So many that 40,000 wait, and rsyslog's main queue gets a second worker."""
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
    """Messages of the topic until so many are different, and what comes right behind."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415  # an extra

    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "test"})
    consumer.assign([TopicPartition("ese-events", number, 0) for number in range(PARTITIONS)])
    found: list[Any] = []
    different: set[bytes] = set()
    end = time.monotonic() + PATIENCE
    while len(different) < count and time.monotonic() < end:
        came = consumer.consume(count, timeout=1.0)
        found += came
        different |= {message.value() or b"" for message in came}
    found += consumer.consume(1, timeout=1.0)
    consumer.close()
    return found


def taken_in(agent: Agent) -> float:
    """Records of all partitions."""
    lines = get(f"{agent.url}/metrics").splitlines()
    name = "esewatch_source_records_total{"
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


@contextmanager
def rsyslog(folder: Path, broker: Broker) -> Iterator[int]:
    """It runs with the shipped file; the port at which it takes lines."""
    if not RSYSLOG.exists() or not list(Path("/usr/lib").glob("*/rsyslog/omkafka.so")):
        skip("rsyslog is not installed (apt-get install rsyslog rsyslog-kafka)", {"rsyslog"})
    port = free_port()
    (folder / "rsyslog.conf").write_text(settings(folder, broker, port))
    words: list[str | Path] = ["-n", "-f", folder / "rsyslog.conf", "-i", folder / "pid"]
    with ended(Server([RSYSLOG, *words], "", folder / "log")):
        wait_for("it listens", partial(listens, port))
        yield port


def send(port: int, lines: Sequence[str]) -> None:
    with socket.create_connection(("127.0.0.1", port)) as sender:
        sender.sendall("".join(f"{line}\n" for line in lines).encode())


def events(count: int) -> list[str]:
    """Lines as NXLog sends them, all different."""
    return [json.dumps(SHAPES["NXLog"](each)) for each in logged(count)]


def otherwise(messages: Sequence[Any], lines: Sequence[str], *, twice: bool = False) -> set[str]:
    """Computers of which not exactly these lines came, in this order.

    `twice`: a line may come again behind itself.
    """
    sent, came = defaultdict(list), defaultdict(list)
    for line in lines:
        sent[json.loads(line)["Hostname"].lower()].append(line)
    for message in messages:
        came[message.key().decode()].append(message.value().decode())
    if twice:
        came = defaultdict(list, {key: list(dict.fromkeys(each)) for key, each in came.items()})
    return {key for key in {*sent, *came} if came[key] != sent[key]}


def test_each_event_comes_once_in_order_and_a_computer_has_one_partition(
    broker: Broker, tmp_path: Path
) -> None:
    lines = events(EVENTS)
    with rsyslog(tmp_path, broker) as port:
        send(port, [*lines, "no JSON"])
        messages = received(broker, EVENTS)
        wait_for("the other line", (tmp_path / "without").exists)
    source = {"type": "kafka", "brokers": [broker.address], "topics": ["ese-events"]}
    with start_agent(tmp_path / "agent", {"sources": [source]}) as agent:
        wait_for("all are taken in", lambda: taken_in(agent) == EVENTS)

    places = defaultdict(set)
    for message in messages:
        places[message.key()].add(message.partition())

    assert len(places) > 2
    assert otherwise(messages, lines) == set()
    assert {len(each) for each in places.values()} == {1}
    assert (tmp_path / "without").read_text().strip() == "no JSON"


def test_a_backlog_comes_in_order(broker: Broker, tmp_path: Path) -> None:
    lines = events(MANY)
    with rsyslog(tmp_path, broker) as port:
        send(port, lines)
        messages = received(broker, MANY)

    assert otherwise(messages, lines) == set()


def test_what_is_sent_while_the_broker_is_away_comes_in_order(
    broker: Broker, tmp_path: Path
) -> None:
    lines = events(EVENTS)
    with rsyslog(tmp_path, broker) as port:
        broker.kill()
        send(port, lines)
        broker.start()
        messages = received(broker, EVENTS)

    # What was under way may come a second time.
    assert otherwise(messages, lines, twice=True) == set()
