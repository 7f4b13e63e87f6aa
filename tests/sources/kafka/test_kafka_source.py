"""A member of a group at a real broker, and each way in which topics and brokers fail it."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from esewatch.config import Kafka, Settings
from esewatch.fold.state.state import SourceState
from esewatch.journal import Journal
from esewatch.model import JournalError, SourceError
from esewatch.sources.kafka.kafka_source import KafkaSource
from esewatch.sources.kafka.partition import PartitionPosition
from esewatch.sources.registry import build_source
from tests.e2e.harness import wait_for
from tests.support.kafka import Broker

pytestmark = pytest.mark.e2e


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = f"topic-{abs(hash(request.node.nodeid))}"
    broker.make(name, 2)
    return name


@pytest.fixture
def members() -> Iterator[list[KafkaSource]]:
    made: list[KafkaSource] = []
    yield made
    for member in made:
        member.close()


def member(
    broker: Broker,
    folder: Path,
    topic: str,
    made: list[KafkaSource],
    *,
    group: str | None = None,
    changelog: str | None = None,
    beside: Sequence[str] = (),
) -> KafkaSource:
    """Of the group of that topic; one in the same folder is the same member again."""
    folder.mkdir(exist_ok=True)
    entry = Kafka(
        type="kafka",
        name="fleet",
        brokers=[broker.address],
        topics=[topic, *beside],
        group=group or topic,
        changelog=changelog,
        client={"session.timeout.ms": "3000", "heartbeat.interval.ms": "500", "log_level": "0"},
    )
    source = build_source(entry, Settings(sources=[entry], journal=str(folder / "journal.db")))
    assert isinstance(source, KafkaSource)
    made.append(source)
    return source


def logged(computer: str, number: int) -> tuple[str, bytes]:
    """The message of one record: defragmentation of a database begins, on one day after another."""
    system = {
        "Provider": {"#attributes": {"Name": "ESE"}},
        "EventID": 700,
        "Level": 4,
        "TimeCreated": {"#attributes": {"SystemTime": f"2007-06-{number % 28 + 1:02}T01:00:00Z"}},
        "EventRecordID": number,
        "Channel": "Application",
        "Computer": computer,
    }
    data = {"#text": ["engine", "4242", "busy: ", "e:\\mdb\\priv.edb"]}
    return computer, msgspec.json.encode({"Event": {"System": system, "EventData": {"Data": data}}})


def read(source: KafkaSource, owned: int = 2) -> None:
    """Poll until it owns so many partitions and has read them to their end."""

    def at_end() -> bool:
        *_, last = source.poll()
        return last.caught_up and last.partitions is not None and last.partitions[1] == owned

    wait_for(f"{owned} partitions read to their end", at_end)


def told(source: KafkaSource) -> SourceState:
    """The sum of what the partitions count."""
    states = [each for folder in source.folders() for each in folder.state.sources.values()]
    total = SourceState(name="all")
    for each in states:
        total.records += each.records
        total.duplicates += each.duplicates
        total.unreadable += each.unreadable
        total.missed += each.missed
    return total


def computers(source: KafkaSource) -> list[str]:
    return sorted(name for folder in source.folders() for name in folder.state.hosts)


def test_a_member_goes_on_where_its_journals_end(
    broker: Broker, topic: str, tmp_path: Path, members: list[KafkaSource]
) -> None:
    broker.send(topic, [logged(f"EX{number:02}", 1) for number in range(20)])
    first = member(broker, tmp_path, topic, members)
    read(first)
    first.close()
    broker.send(topic, [logged(f"EX{number:02}", 2) for number in range(20)])

    again = member(broker, tmp_path, topic, members)
    read(again)

    assert (told(again).records, told(again).duplicates) == (40, 0)
    assert computers(again) == [f"ex{number:02}" for number in range(20)]


def test_a_message_that_is_no_record_is_told_by_its_place_and_the_next_are_read(
    broker: Broker,
    topic: str,
    tmp_path: Path,
    members: list[KafkaSource],
    caplog: pytest.LogCaptureFixture,
) -> None:
    torn = b'{"Event":{"System":{"Provider":{"#attributes":{"Name":"ESE"}},"EventID":700,'
    broker.send(topic, [logged("EX01", 1), ("EX01", torn), ("EX01", b""), logged("EX01", 2)])

    source = member(broker, tmp_path, topic, members)
    read(source)

    assert (told(source).records, told(source).unreadable) == (2, 1)
    assert "offset 1" in caplog.text


def counted(computer: str, second: int, pages: int) -> tuple[str, bytes]:
    """The message of a sample of Telegraf: pages that defragmentation has read so far."""
    tags = {"objectname": "Database ==> Instances", "instance": "lsass/NTDSA", "source": computer}
    fields = {"Online_Defrag_Pages_Read_persec_Raw": pages}
    metric = {"fields": fields, "name": "ese", "tags": tags, "timestamp": 1181955615 + second}
    return computer, msgspec.json.encode(metric)


def test_counters_of_a_second_topic_are_folded_beside_the_events_and_read_on_behind_the_journal(
    broker: Broker,
    topic: str,
    tmp_path: Path,
    members: list[KafkaSource],
    caplog: pytest.LogCaptureFixture,
) -> None:
    counters = f"{topic}-counters"
    broker.make(counters, 2)
    broker.send(topic, [logged("EX01", 1)], partition=1)
    broker.send(counters, [counted("EX01", 15 * n, 100 * n) for n in range(3)], partition=1)
    first = member(broker, tmp_path, topic, members, beside=[counters])
    read(first)
    first.close()
    torn = counted("EX01", 45, 300)[1][:-20]
    broker.send(counters, [("EX01", torn), counted("EX01", 60, 470)], partition=1)

    again = member(broker, tmp_path, topic, members, beside=[counters])
    read(again)

    assert (told(again).records, told(again).duplicates, told(again).unreadable) == (5, 0, 1)
    assert f"{counters}[1]: offset 3: " in caplog.text
    again.close()
    journal = Journal(tmp_path / "journal-fleet-1.db")
    state, positions = journal.load()
    journal.close()
    assert {key: each.totals for key, each in state.instances.items()} == {
        ("ex01", "ntdsa"): {"ese_defrag_pages_read_total": 470.0},
        ("ex01", "busy"): {},
    }
    offsets = {
        name: msgspec.msgpack.decode(at, type=PartitionPosition).offset
        for name, at in positions["fleet/1"].items()
    }
    assert offsets == {topic: 1, counters: 5}


def test_messages_that_the_topic_dropped_unread_are_counted_and_all_that_is_there_is_read(
    broker: Broker,
    topic: str,
    tmp_path: Path,
    members: list[KafkaSource],
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker.send(topic, [logged("EX01", number) for number in range(1, 6)], partition=0)
    first = member(broker, tmp_path, topic, members)
    read(first)
    first.close()
    broker.send(topic, [logged("EX01", number) for number in range(6, 16)], partition=0)
    broker.drop(topic, 0, before=12)

    again = member(broker, tmp_path, topic, members)
    read(again)

    assert told(again).missed == 7
    assert told(again).records == 5 + 3
    assert "and 5 is the next to read: 7 are lost" in caplog.text


def test_a_topic_that_was_made_anew_is_read_from_its_beginning(
    broker: Broker,
    topic: str,
    tmp_path: Path,
    members: list[KafkaSource],
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker.send(topic, [logged("EX01", number) for number in range(1, 4)], partition=0)
    first = member(broker, tmp_path, topic, members)
    read(first)
    first.close()
    broker.remove(topic)
    wait_for("the topic is made anew", lambda: made(broker, topic))
    broker.send(topic, [logged("EX01", number) for number in range(4, 14)], partition=0)

    again = member(broker, tmp_path, topic, members)
    read(again)

    assert told(again).records == 3 + 10
    assert "was recreated" in caplog.text


def made(broker: Broker, topic: str) -> bool:
    try:
        broker.make(topic, 2)
    except Exception:  # the old one is not quite gone
        return False
    return True


def test_partitions_that_were_added_stop_the_source_before_computers_change_theirs(
    broker: Broker, topic: str, tmp_path: Path, members: list[KafkaSource]
) -> None:
    broker.send(topic, [logged("EX01", 1)])
    first = member(broker, tmp_path, topic, members)
    read(first)
    first.close()
    broker.widen(topic, 3)

    again = member(broker, tmp_path, topic, members)

    def refused() -> bool:
        """Where it hears of them while it joins, it joins once more first."""
        with pytest.raises(SourceError) as told_of:
            read(again, owned=3)
        return "has 3 partitions, and had 2" in str(told_of.value)

    wait_for("the new partitions stop it", refused)
    assert again.folders() == []


def test_a_computer_in_two_partitions_is_named_by_the_log(
    broker: Broker,
    topic: str,
    tmp_path: Path,
    members: list[KafkaSource],
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker.send(topic, [logged("EX01", 1)], partition=0)
    broker.send(topic, [logged("EX01", 2)], partition=1)

    source = member(broker, tmp_path, topic, members)
    read(source)

    assert "ex01 is in several partitions" in caplog.text


def test_the_backlog_of_one_computer_does_not_hold_the_others_back(
    broker: Broker, topic: str, tmp_path: Path, members: list[KafkaSource]
) -> None:
    backlog = 30_000
    loud = [logged("LOUD", number) for number in range(backlog)]
    broker.send(topic, loud, partition=0)
    source = member(broker, tmp_path, topic, members)
    polled = (batch for _ in iter(int, 1) for batch in source.poll())
    wait_for(
        "the backlog is read",
        lambda: next(polled) is not None and told(source).records > 1000,
    )
    broker.send(topic, [logged("EX01", 1)], partition=1)

    wait_for("the other", lambda: next(polled) is not None and "ex01" in computers(source))

    assert told(source).records < backlog / 2


def test_a_member_that_stood_still_lets_its_partitions_go_to_another_and_writes_no_more(
    broker: Broker, topic: str, tmp_path: Path, members: list[KafkaSource]
) -> None:
    broker.send(topic, [logged(f"EX{number:02}", 1) for number in range(10)])
    old = member(broker, tmp_path / "old", topic, members)
    read(old)
    new = member(broker, tmp_path / "new", topic, members)

    def shared() -> bool:
        for source in (old, new):
            list(source.poll())
        return len(old.folders()) == len(new.folders()) == 1

    wait_for("each has one partition", shared)
    wait_for("all is read", lambda: [list(new.poll()), told(new).records][1])

    assert sorted(computers(old) + computers(new)) == [f"ex{number:02}" for number in range(10)]


def test_a_full_disk_stops_the_reading_and_nothing_is_lost_or_counted_twice(
    broker: Broker,
    topic: str,
    tmp_path: Path,
    members: list[KafkaSource],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker.send(topic, [logged(f"EX{number:02}", 1) for number in range(10)])
    source = member(broker, tmp_path, topic, members)
    commit = Journal.commit

    def full(*_: Any) -> None:
        raise JournalError("cannot write the journal: database or disk is full")

    monkeypatch.setattr(Journal, "commit", full)
    with pytest.raises(SourceError, match="disk is full"):
        read(source)
    with pytest.raises(SourceError, match="disk is full"):
        list(source.poll())
    monkeypatch.setattr(Journal, "commit", commit)
    read(source)

    assert (told(source).records, told(source).duplicates) == (10, 0)
    for path in tmp_path.glob("journal-fleet-*.db"):
        assert sqlite3.connect(path).execute("SELECT count(*) FROM position").fetchone() == (1,)


def test_without_a_broker_the_source_is_down_keeps_what_it_knows_and_goes_on_with_it(
    broker: Broker, topic: str, tmp_path: Path, members: list[KafkaSource]
) -> None:
    broker.send(topic, [logged(f"EX{number:02}", 1) for number in range(10)])
    source = member(broker, tmp_path, topic, members)
    read(source)
    broker.kill()
    try:
        wait_for("the source is down", lambda: is_down(source))
        assert len(computers(source)) == 10
    finally:
        broker.start()
    broker.send(topic, [logged(f"EX{number:02}", 2) for number in range(10)])
    wait_for("the source is up", lambda: not is_down(source))
    wait_for("all is read", lambda: not is_down(source) and told(source).records == 20)
    assert told(source).duplicates == 0


class Fault:
    """A message that is an error, as librdkafka puts it among the others."""

    def __init__(self, topic: str, error: Any) -> None:
        self._topic, self._error = topic, error

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return 0

    def error(self) -> Any:
        return self._error


class Faulty:
    """A consumer that loses its brokers, with an error among the messages it has."""

    def __init__(self, source: KafkaSource, fault: Fault) -> None:
        self._source, self._consumer = source, source._consumer
        self.faults = [fault]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def consume(self, *arguments: Any) -> list[Any]:
        messages = list(self._consumer.consume(*arguments))
        if self.faults and any(each.error() is None for each in messages):
            self._source._silent = True
            return [self.faults.pop(), *messages]
        return messages


def test_messages_that_came_with_an_error_while_the_brokers_were_lost_are_read(
    broker: Broker, topic: str, tmp_path: Path, members: list[KafkaSource]
) -> None:
    from confluent_kafka import KafkaError  # noqa: PLC0415  # an extra

    source = member(broker, tmp_path, topic, members)
    read(source)
    error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    faulty = source._consumer = Faulty(source, Fault(topic, error))
    broker.send(topic, [logged(f"EX{number:02}", 1) for number in range(20)])

    wait_for("the error is met", lambda: is_down(source) and not faulty.faults)
    read(source)

    assert (told(source).records, told(source).duplicates) == (20, 0)


def is_down(source: KafkaSource) -> bool:
    try:
        list(source.poll())
    except SourceError:
        return True
    return False
