"""A broker with TLS and SASL: the client's own keys, the password from a file, each refusal."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import Agent, get, wait_for
from tests.e2e.kafka_fleet import (
    PARTITIONS,
    TOPIC,
    engine_events,
    samples,
    servers,
    settings,
    wait_until_read,
)
from tests.support.certificates import self_signed
from tests.support.kafka import Broker

pytestmark = pytest.mark.e2e

SERVERS = 8
CHANGELOG = "ese-state"
USER, PASSWORD = "esewatch", "the right one"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("broker"), self_signed("broker"))
    try:
        broker.add_user(USER, PASSWORD)
        broker.make(TOPIC, PARTITIONS)
        yield broker
    finally:
        broker.kill()


@pytest.fixture(scope="module")
def count(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> int:
    """Messages in the topic."""
    messages = servers(engine_events(tmp_path_factory.mktemp("engine")), SERVERS)
    broker.send(TOPIC, messages)
    return len(messages)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text(f"{PASSWORD}\n")
    return path


@pytest.fixture
def worker(broker: Broker, secret: Path, tmp_path: Path) -> Iterator[Agent]:
    """Not started. It trusts `broker.pem`."""
    self_signed("broker").put(tmp_path, "broker")
    client = {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(tmp_path / "broker.pem"),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": USER,
        "sasl.password_file": str(secret),
    }
    made: dict[str, Any] = settings(broker, tmp_path.name, client=client)
    made["sources"][0]["brokers"] = [broker.secure]
    agent = Agent(tmp_path / "worker", made)
    yield agent
    agent.close()


def change(worker: Agent, old: str, new: str) -> None:
    text = worker.config.read_text()
    assert old in text
    worker.config.write_text(text.replace(old, new))


def refusal(worker: Agent) -> str:
    """The only line that a worker logs of a broker which does not take it."""
    worker.start(wait=False)
    up = "esewatch_source_up"
    wait_for(
        "the source is down",
        lambda: samples(get(f"{worker.url}/metrics"), up) == {'{source="fleet"}': 0},
    )
    worker.stop()
    log = worker.log()
    assert "Traceback" not in log
    (line,) = [each for each in log.splitlines() if "fleet" in each or "rdkafka" in each]
    assert "(after" not in line  # what each try has of its own would make each a new line
    assert line.count("fleet: ") == 1
    return line


def test_a_worker_reads_by_tls_and_scram_and_writes_its_changelog_so(
    broker: Broker, count: int, worker: Agent
) -> None:
    broker.make(CHANGELOG, PARTITIONS, cleanup_policy="compact")
    change(worker, "name: fleet", f"name: fleet\n  changelog: {CHANGELOG}")
    worker.start()
    wait_until_read(worker, count, get)
    text = get(f"{worker.url}/metrics")

    assert len(samples(text, "ese_database_info")) == SERVERS
    assert samples(text, "esewatch_source_partitions_owned") == {'{source="fleet"}': PARTITIONS}


@pytest.mark.slow
def test_a_wrong_password_is_one_line_and_the_right_one_is_taken_up(
    count: int, worker: Agent, secret: Path
) -> None:
    secret.write_text("a wrong one\n")

    line = refusal(worker)

    assert "invalid credentials" in line
    assert "a wrong one" not in worker.log()
    worker.start(wait=False)
    secret.write_text(f"{PASSWORD}\n")
    wait_until_read(worker, count, get)


def test_a_broker_whose_certificate_is_not_trusted_is_one_line(
    worker: Agent, tmp_path: Path
) -> None:
    self_signed("another").put(tmp_path, "broker")

    assert "certificate verify failed" in refusal(worker)
