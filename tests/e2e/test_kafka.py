"""A real broker: events of many servers, a state for each partition, none lost or counted twice."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.e2e.harness import Agent, get, start_agent
from tests.e2e.kafka_fleet import (
    PARTITIONS,
    TOPIC,
    Message,
    all_held,
    engine_events,
    journals,
    samples,
    servers,
    settings,
    wait_until_read,
)
from tests.support.figures import record
from tests.support.kafka import Broker

pytestmark = pytest.mark.e2e

SERVERS = 60


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    return engine_events(tmp_path_factory.mktemp("engine"))


@pytest.fixture(scope="module")
def messages(events: list[bytes]) -> list[Message]:
    return servers(events, SERVERS)


@pytest.fixture(scope="module")
def broker(messages: list[Message], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One that has the messages: each test reads them as a group of its own."""
    broker = Broker(tmp_path_factory.mktemp("broker"))
    try:
        broker.make(TOPIC, PARTITIONS)
        broker.send(TOPIC, messages)
        yield broker
    finally:
        broker.kill()


def test_events_of_a_topic_become_metrics_with_a_journal_for_each_partition(
    broker: Broker, messages: list[Message], tmp_path: Path
) -> None:
    with start_agent(tmp_path / "worker", settings(broker, "one")) as agent:
        wait_until_read(agent, len(messages), get)
        text = get(f"{agent.url}/metrics")

    assert len(samples(text, "ese_database_info")) == SERVERS
    assert samples(text, "esewatch_source_partitions") == {'{source="fleet"}': PARTITIONS}
    assert samples(text, "esewatch_source_partitions_owned") == {'{source="fleet"}': PARTITIONS}
    assert sorted(journals(agent.folder)) == list(range(PARTITIONS))
    computers = [{row[1] for row in rows} for rows, _ in all_held(agent.folder).values()]
    assert sum(map(len, computers)) == len(set().union(*computers)) == SERVERS


@pytest.mark.slow
def test_a_worker_that_is_killed_again_and_again_holds_what_one_holds_that_never_was(
    broker: Broker, messages: list[Message], tmp_path: Path
) -> None:
    check_kills(broker, messages, tmp_path, [1 / 3, 2 / 3], name="killed")


@pytest.mark.slow
def test_a_worker_that_is_killed_twenty_times_at_random_holds_what_one_holds_that_never_was(
    broker: Broker, messages: list[Message], tmp_path: Path
) -> None:
    shares = sorted(random.Random(20).random() for _ in range(20))
    check_kills(broker, messages, tmp_path, shares, name="at-random")
    record(
        "`kill -9` of a Kafka worker at random moments while it reads",
        f"20 kills, {len(messages):,} messages: its rows are the rows of an undisturbed worker",
    )


def check_kills(
    broker: Broker, messages: list[Message], folder: Path, shares: Sequence[float], *, name: str
) -> None:
    """Kill a worker once it has read each of these shares of the messages."""
    calm = settings(broker, f"{name}-undisturbed")
    with start_agent(folder / "undisturbed", calm) as undisturbed:
        wait_until_read(undisturbed, len(messages), get)

    killed = Agent(folder / "killed", settings(broker, name))
    try:
        for share in shares:
            killed.start(wait=False)
            wait_until_read(killed, int(len(messages) * share), get)
            killed.kill()
        killed.start()
        wait_until_read(killed, len(messages), get)
    finally:
        killed.close()

    assert all_held(killed.folder) == all_held(undisturbed.folder)


@pytest.mark.slow
@pytest.mark.minutes
def test_owners_without_the_disk_of_a_killed_one_hold_what_one_holds_that_never_was(
    broker: Broker, messages: list[Message], tmp_path: Path
) -> None:
    for topic in ("state-undisturbed", "state-killed"):
        broker.make(topic, PARTITIONS, cleanup_policy="compact")
    of_one = settings(broker, "one-owner", changelog="state-undisturbed")
    with start_agent(tmp_path / "undisturbed", of_one) as undisturbed:
        wait_until_read(undisturbed, len(messages), get)

    of_killed = settings(broker, "owners", changelog="state-killed")
    for share in (1, 2):
        owner = Agent(tmp_path / f"owner-{share}", of_killed)
        try:
            owner.start(wait=False)
            wait_until_read(owner, len(messages) * share // 3, get)
            owner.kill()
        finally:
            owner.close()
    with start_agent(tmp_path / "last", of_killed) as last:
        wait_until_read(last, len(messages), get)

    assert all_held(last.folder) == all_held(undisturbed.folder)
