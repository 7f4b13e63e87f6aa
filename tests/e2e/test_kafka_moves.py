"""How long a partition has no reader: a worker dies, joins, starts again or is suspended."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.e2e.harness import Agent, get, start_agent
from tests.e2e.kafka_fleet import (
    PARTITIONS,
    Message,
    all_held,
    records,
    samples,
    servers,
    settings,
)
from tests.support.figures import record
from tests.support.kafka import Broker
from tests.support.network import HERE, THERE, Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timed]

SESSION = 10.0
"""Seconds of `session.timeout.ms` here; 45 unless it is set."""
EVENT = (
    b'{"event_id":704,"provider":"ESE","time":"2026-01-02T00:00:00Z","computer":"EX01",'
    b'"channel":"Application","record_id":%d,"level":"information",'
    b'"strings":["MSExchangeIS","3392","SG06: ","e:\\\\MDB06\\\\priv06.edb"]}'
)
PATIENCE = 90.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("broker"))
    try:
        yield broker
    finally:
        broker.kill()


class Group:
    """Two workers that share the partitions of a topic, and what was sent to it."""

    def __init__(self, broker: Broker, name: str, folder: Path) -> None:
        self._broker, self._name = broker, name
        self.folder = folder
        self.sent = 0
        broker.make(name, PARTITIONS)
        broker.make(f"{name}-state", PARTITIONS, cleanup_policy="compact")
        client = {"session.timeout.ms": str(int(SESSION * 1000)), "heartbeat.interval.ms": "1000"}
        self.settings = settings(
            broker, name, topics=[name], changelog=f"{name}-state", client=client
        )
        broker.make(f"{name}-other-state", PARTITIONS, cleanup_policy="compact")
        self.undisturbed = settings(
            broker, f"{name}-undisturbed", topics=[name], changelog=f"{name}-other-state"
        )

    def send(self) -> None:
        """An event more of each of 40 servers."""
        self.sent += 1
        self._broker.send(self._name, messages(self.sent))

    @contextmanager
    def worker(self, name: str) -> Iterator[Agent]:
        with start_agent(self.folder / name, self.settings) as agent:
            yield agent


def messages(number: int) -> list[Message]:
    return servers([EVENT % number], 40)


def owned(*workers: Agent) -> list[float]:
    """The partitions that each of them says to own."""
    name = "esewatch_source_partitions_owned"
    return [sum(samples(get(f"{each.url}/metrics"), name).values()) for each in workers]


def read(*workers: Agent) -> float:
    return sum(records(get(f"{each.url}/metrics")) for each in workers)


def seconds_until(what: str, happened: Callable[[], bool]) -> float:
    """Fails after PATIENCE."""
    begin = time.monotonic()
    while not happened():
        assert time.monotonic() - begin < PATIENCE, what
        time.sleep(0.05)
    return time.monotonic() - begin


def share_all(group: Group, *workers: Agent) -> None:
    """Until each of them owns some, and all was read."""
    seconds_until("all own some", lambda: min(owned(*workers)) > 0)
    seconds_until("all are owned", lambda: sum(owned(*workers)) == PARTITIONS)
    seconds_until("all is read", lambda: read(*workers) == 40 * group.sent)


def taken_over(group: Group, other: Agent) -> float:
    """The seconds until the other worker has read all that is sent now, from every partition."""
    begin = time.monotonic()
    group.send()
    seconds_until("the other has all", lambda: read(other) == 40 * group.sent)
    return time.monotonic() - begin


def test_the_partitions_of_a_killed_worker_are_read_by_the_other(
    broker: Broker, tmp_path: Path
) -> None:
    group = Group(broker, "killed", tmp_path)
    group.send()
    with group.worker("first") as first, group.worker("second") as second:
        share_all(group, first, second)
        first.kill()
        took = taken_over(group, second)

        assert owned(second) == [PARTITIONS]
    record(
        "a Kafka worker is killed: until another has read what came to its partitions since",
        f"{took:.1f} s with a session timeout of {SESSION:g} s",
    )


def test_a_worker_that_joins_is_given_partitions_while_the_others_are_read(
    broker: Broker, tmp_path: Path
) -> None:
    group = Group(broker, "joined", tmp_path)
    group.send()
    with group.worker("first") as first:
        seconds_until("all are owned", lambda: owned(first) == [PARTITIONS])
        held: list[tuple[float, float]] = []
        with group.worker("second") as second:

            def both_own() -> bool:
                held.append((time.monotonic(), sum(owned(first, second))))
                return min(owned(first, second)) > 0 and held[-1][1] == PARTITIONS

            seconds_until("both own some", both_own)
            group.send()
            share_all(group, first, second)

            assert read(first, second) == 40 * group.sent
    without = [at for at, number in held if number < PARTITIONS]
    took = max(without) - min(without) if without else 0.0
    record(
        "a Kafka worker joins: between the first moment and the last at which a partition had no"
        " reader",
        f"{took:.1f} s",
    )


def test_a_worker_that_starts_again_moves_no_partition_of_another(
    broker: Broker, tmp_path: Path
) -> None:
    group = Group(broker, "again", tmp_path)
    group.send()
    with group.worker("first") as first, group.worker("second") as second:
        share_all(group, first, second)
        of_first, of_second = owned(first, second)
        seen: set[float] = set()
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.05):
                seen.update(owned(first))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            second.stop()
            second.start()
            group.send()
            seconds_until("it has its own again", lambda: owned(second) == [of_second])
            seconds_until("all is read", lambda: read(first, second) == 40 * group.sent)
        finally:
            over.set()
            watcher.join()

    assert seen == {of_first}


def test_a_worker_that_was_suspended_shares_again_and_has_written_nothing_meanwhile(
    broker: Broker, tmp_path: Path
) -> None:
    group = Group(broker, "suspended", tmp_path)
    group.send()
    with group.worker("first") as first, group.worker("second") as second:
        share_all(group, first, second)
        os.kill(first.pid, signal.SIGSTOP)
        group.send()
        seconds_until("the other has all", lambda: read(second) == 40 * group.sent)
        os.kill(first.pid, signal.SIGCONT)
        group.send()
        share_all(group, first, second)
    with start_agent(tmp_path / "undisturbed", group.undisturbed) as undisturbed:
        seconds_until("all is read", lambda: read(undisturbed) == 40 * group.sent)
    with group.worker("without-disk") as last:
        seconds_until("it has all", lambda: read(last) == 40 * group.sent)

    assert all_held(last.folder) == all_held(undisturbed.folder)


def test_a_worker_whose_network_is_cut_writes_nothing_and_shares_again(tmp_path: Path) -> None:
    """In a network namespace whose cable is pulled: it goes on reading what it has in hand."""
    with Namespace() as far:
        broker = Broker(tmp_path / "broker", host=HERE)
        try:
            group = Group(broker, "cut", tmp_path)
            group.send()
            first = Agent(
                tmp_path / "first", group.settings,
                address=f"{THERE}:19703", within=far.command(),
            )  # fmt: skip
            first.start()
            with closing(first), group.worker("second") as second:
                share_all(group, first, second)
                far.pull_out()
                took = taken_over(group, second)
                assert owned(second) == [PARTITIONS]
                assert not first.ended, first.log()
                far.plug_in()
                group.send()
                share_all(group, first, second)
            with start_agent(tmp_path / "undisturbed", group.undisturbed) as undisturbed:
                seconds_until("all is read", lambda: read(undisturbed) == 40 * group.sent)
            with group.worker("without-disk") as last:
                seconds_until("it has all", lambda: read(last) == 40 * group.sent)
        finally:
            broker.kill()

    assert all_held(last.folder) == all_held(undisturbed.folder)
    record(
        "a Kafka worker is cut off from the network: until another has read what came since",
        f"{took:.1f} s with a session timeout of {SESSION:g} s",
    )
