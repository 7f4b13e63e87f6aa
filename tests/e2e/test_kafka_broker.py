"""A broker that is killed while workers read from it and write their changelog to it."""

import random
from pathlib import Path

import pytest

from tests.e2e.harness import get, start_agent
from tests.e2e.kafka_fleet import (
    PARTITIONS,
    TOPIC,
    all_held,
    engine_events,
    servers,
    settings,
    wait_until_read,
)
from tests.support.figures import record
from tests.support.kafka import Broker, three_brokers

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

KILLS = 20
SERVERS = 60


@pytest.mark.timeout(1200)
def test_twenty_kills_of_the_broker_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    messages = servers(engine_events(tmp_path / "engine"), SERVERS)
    chance = random.Random(26)
    broker = Broker(tmp_path / "broker")
    try:
        broker.make(TOPIC, PARTITIONS)
        broker.send(TOPIC, messages)
        for topic in ("state-undisturbed", "state-killed"):
            broker.make(topic, PARTITIONS, cleanup_policy="compact")
        of_one = settings(broker, "undisturbed", changelog="state-undisturbed")
        with start_agent(tmp_path / "undisturbed", of_one) as undisturbed:
            wait_until_read(undisturbed, len(messages), get)

        of_killed = settings(broker, "killed", changelog="state-killed")
        with start_agent(tmp_path / "reader", of_killed) as reader:
            for kill in range(KILLS):
                share = (kill + chance.random()) / KILLS
                wait_until_read(reader, int(len(messages) * share), get)
                broker.kill()
                broker.start()
            wait_until_read(reader, len(messages), get)
        with start_agent(tmp_path / "next", of_killed) as following:
            wait_until_read(following, len(messages), get)
    finally:
        broker.kill()

    expected = all_held(undisturbed.folder)
    assert sorted(expected) == list(range(PARTITIONS))
    assert all_held(reader.folder) == expected
    assert all_held(following.folder) == expected
    record(
        "`kill -9` of the broker at random moments while a Kafka worker reads and writes its"
        " changelog",
        f"{KILLS} kills, {len(messages):,} messages: its rows, and those of an owner without its"
        " disk, are the rows of an undisturbed worker",
    )


@pytest.mark.timeout(1200)
def test_of_three_brokers_one_after_the_other_dies_and_the_reading_goes_on(tmp_path: Path) -> None:
    messages = servers(engine_events(tmp_path / "engine"), SERVERS)
    brokers = three_brokers(tmp_path / "brokers")
    first = brokers[0]
    addresses = [broker.address for broker in brokers]
    try:
        for topic, policy in ((TOPIC, "delete"), ("state-one", "compact"), ("state", "compact")):
            first.make(topic, PARTITIONS, replicas=3, cleanup_policy=policy)
        first.send(TOPIC, messages)
        of_one = settings(first, "undisturbed", changelog="state-one", brokers=addresses)
        with start_agent(tmp_path / "undisturbed", of_one) as undisturbed:
            wait_until_read(undisturbed, len(messages), get)

        with start_agent(
            tmp_path / "reader", settings(first, "reader", changelog="state", brokers=addresses)
        ) as reader:
            for number, broker in enumerate(brokers):
                broker.kill()
                wait_until_read(reader, len(messages) * (number + 1) // 3, get)
                broker.start()
    finally:
        for broker in brokers:
            broker.kill()

    assert all_held(reader.folder) == all_held(undisturbed.folder)
    assert sorted(all_held(reader.folder)) == list(range(PARTITIONS))
