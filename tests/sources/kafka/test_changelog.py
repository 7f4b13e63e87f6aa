"""The changelog at a real broker: an owner without the journal, with an older one, and fenced."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from esewatch.config import Kafka
from esewatch.model import SourceError
from esewatch.sources.kafka.brokers import client_module
from esewatch.sources.kafka.changelog import BehindError, Changelog, FencedError
from esewatch.sources.kafka.kafka_source import KafkaSource
from tests.e2e.harness import wait_for
from tests.e2e.kafka_fleet import all_held
from tests.sources.kafka.test_kafka_source import computers, logged, member, read, told
from tests.support.kafka import Broker

pytestmark = pytest.mark.e2e


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = f"topic-{abs(hash(request.node.nodeid))}"
    broker.make(name, 2)
    broker.make(f"{name}-state", 2, cleanup_policy="compact")
    return name


@pytest.fixture
def members() -> Iterator[list[KafkaSource]]:
    made: list[KafkaSource] = []
    yield made
    for each in made:
        each.close()


def of(broker: Broker, folder: Path, topic: str, made: list[KafkaSource]) -> KafkaSource:
    return member(broker, folder, topic, made, changelog=f"{topic}-state")


def send(broker: Broker, topic: str, number: int) -> None:
    """A record of each of twenty computers."""
    broker.send(topic, [logged(f"EX{each:02}", number) for each in range(20)])


def drop_all(broker: Broker, topic: str) -> None:
    """As retention does with what is old."""
    for partition in range(2):
        broker.drop(topic, partition, before=-1)


def test_an_owner_without_the_journal_has_all_that_the_former_one_had(
    broker: Broker, topic: str, tmp_path: Path, members: list[KafkaSource]
) -> None:
    send(broker, topic, 1)
    former = of(broker, tmp_path / "former", topic, members)
    read(former)
    former.close()
    drop_all(broker, topic)

    new = of(broker, tmp_path / "new", topic, members)
    read(new)

    assert (told(new).records, told(new).missed) == (20, 0)
    new.close()
    assert all_held(tmp_path / "new") == all_held(tmp_path / "former")


@pytest.mark.timeout(60)
def test_a_command_is_in_the_journal_at_once_and_in_the_changelog_after_the_next_poll(
    broker: Broker, topic: str, tmp_path: Path, members: list[KafkaSource]
) -> None:
    send(broker, topic, 1)
    source = of(broker, tmp_path / "first", topic, members)
    read(source)
    for folder in source.folders():
        for computer, database in list(folder.state.databases):
            assert folder.forget(computer, database)
        source.commit_command(folder)
    query = "SELECT count(*) FROM entity WHERE kind = 'database'"
    for path in (tmp_path / "first").glob("*.db"):
        with closing(sqlite3.connect(path)) as journal:
            assert journal.execute(query).fetchone() == (0,)
    list(source.poll())
    source.close()
    new = of(broker, tmp_path / "new", topic, members)
    read(new)
    new.close()
    assert all_held(tmp_path / "new") == all_held(tmp_path / "first")


def test_the_end_of_a_changelog_is_not_waited_for(
    broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esewatch.sources.kafka.changelog.SECONDS", 600.0)
    entry = Kafka(type="kafka", name="fleet", brokers=[broker.address], topics=[topic])

    assert Changelog(entry, f"{topic}-state", 0).rows == {}


def test_a_journal_that_comes_back_takes_up_what_was_done_elsewhere(
    broker: Broker, topic: str, tmp_path: Path, members: list[KafkaSource]
) -> None:
    send(broker, topic, 1)
    first = of(broker, tmp_path / "first", topic, members)
    read(first)
    first.close()
    send(broker, topic, 2)
    second = of(broker, tmp_path / "second", topic, members)
    read(second)
    second.close()
    drop_all(broker, topic)

    again = of(broker, tmp_path / "first", topic, members)
    read(again)

    assert (told(again).records, told(again).missed, told(again).duplicates) == (40, 0, 0)
    again.close()
    assert all_held(tmp_path / "first") == all_held(tmp_path / "second")


def test_a_changelog_that_a_crash_left_behind_is_filled_from_the_journal(
    broker: Broker,
    topic: str,
    tmp_path: Path,
    members: list[KafkaSource],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send(broker, topic, 1)
    with monkeypatch.context() as crash:
        crash.setattr(Changelog, "write", lambda _: None)
        crashed = of(broker, tmp_path / "first", topic, members)
        read(crashed)
        crashed.close()
    drop_all(broker, topic)

    again = of(broker, tmp_path / "first", topic, members)
    read(again)
    again.close()
    other = of(broker, tmp_path / "other", topic, members)
    read(other)

    assert (told(other).records, told(other).missed) == (20, 0)


def test_what_retention_dropped_behind_the_changelog_is_counted(
    broker: Broker,
    topic: str,
    tmp_path: Path,
    members: list[KafkaSource],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send(broker, topic, 1)
    former = of(broker, tmp_path / "former", topic, members)
    read(former)
    monkeypatch.setattr(Changelog, "write", lambda _: None)
    send(broker, topic, 2)
    read(former)
    former.close()
    monkeypatch.undo()
    drop_all(broker, topic)
    send(broker, topic, 3)

    new = of(broker, tmp_path / "new", topic, members)
    read(new)

    assert (told(new).records, told(new).missed) == (40, 20)


def test_a_fenced_member_tells_it_once_stops_that_partition_and_loses_nothing(
    broker: Broker,
    topic: str,
    tmp_path: Path,
    members: list[KafkaSource],
    caplog: pytest.LogCaptureFixture,
) -> None:
    send(broker, topic, 1)
    zombie = of(broker, tmp_path / "zombie", topic, members)
    read(zombie)
    entry = Kafka(
        type="kafka",
        name="fleet",
        brokers=[broker.address],
        topics=[topic],
        group=topic,
        client={"log_level": "0"},
    )
    Changelog(entry, f"{topic}-state", 0)
    send(broker, topic, 2)

    wait_for("it stops", lambda: [list(zombie.poll()), len(zombie.folders()) == 1][1])
    wait_for("the other is read", lambda: [list(zombie.poll()), at_end(zombie)][1])

    lines = [each for each in caplog.messages if "another member has the partition" in each]
    assert len(lines) == 1
    assert lines[0].startswith("fleet/0: ")
    kept = computers(zombie)
    assert told(zombie).records == 2 * len(kept)
    zombie.close()
    new = of(broker, tmp_path / "new", topic, members)
    read(new)
    assert (told(new).records, told(new).duplicates, told(new).missed) == (40, 0, 0)


def states(broker: Broker, topic: str, partition: int) -> list[dict[bytes, bytes]]:
    """What the rows of a changelog are after each of its transactions."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition  # noqa: PLC0415

    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    found: list[dict[bytes, bytes]] = []
    rows: dict[bytes, bytes] = {}
    before = -1
    while not (message := consumer.consume(1, 30)[0]).error():
        offset = message.offset() or 0
        if offset > before + 1 and rows:
            found.append(dict(rows))  # the end of a transaction has an offset of its own
        before = offset
        key, value = message.key() or b"", message.value()
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = value
    consumer.close()
    return [*found, rows]


def before_news(broker: Broker, topic: str, partition: int) -> list[dict[bytes, bytes]]:
    """What the rows are before each transaction that changes databases; the first are none."""
    known = [{}, *states(broker, topic, partition)]
    news = [{key: row for key, row in each.items() if b"database" in key} for each in known]
    return [known[at] for at in range(len(known) - 1) if news[at] != news[at + 1]]


def write(broker: Broker, topic: str, partition: int, rows: dict[bytes, bytes]) -> None:
    from confluent_kafka import Producer  # noqa: PLC0415  # an extra

    producer = Producer({"bootstrap.servers": broker.address, "log_level": 0})
    for key, value in rows.items():
        producer.produce(topic, value, key, partition)
    assert producer.flush(30) == 0


@pytest.mark.slow
def test_before_each_transaction_an_owner_without_the_journal_loses_and_repeats_nothing(
    broker: Broker, topic: str, tmp_path: Path, members: list[KafkaSource]
) -> None:
    """State and position are of one moment: a position that is ahead would lose records."""
    former = of(broker, tmp_path / "former", topic, members)
    for number in (1, 2, 3):
        send(broker, topic, number)
        read(former)
    former.close()
    before = [before_news(broker, f"{topic}-state", partition) for partition in range(2)]
    moments = list(zip(*before, strict=True))
    assert len(moments) == 3

    for moment, rows in enumerate(moments):
        again = f"{topic}-{moment}"
        broker.make(again, 2, cleanup_policy="compact")
        for partition in range(2):
            write(broker, again, partition, rows[partition])
        new = member(broker, tmp_path / str(moment), topic, members, changelog=again)
        read(new)
        assert (told(new).records, told(new).missed, told(new).duplicates) == (60, 0, 0), moment
        new.close()


def test_a_producer_that_was_fenced_says_so_whichever_call_meets_it(
    broker: Broker, topic: str
) -> None:
    """The brokers tell it while rows are handed over: the next row is refused without a word."""
    kafka = client_module()
    entry = Kafka(
        type="kafka",
        name="fleet",
        brokers=[broker.address],
        topics=[topic],
        group=topic,
        client={"log_level": "0"},
    )
    former = Changelog(entry, f"{topic}-state", 0)
    former.claim({})
    former.note({("database", "ex00", "a"): b"1"})
    former.write()
    Changelog(entry, f"{topic}-state", 0)
    former.note({("database", "ex00", "a"): b"2"})
    with pytest.raises(FencedError):
        former.write()
    # As it is where the brokers' answer comes between two rows.
    with pytest.raises(kafka.KafkaException, match="Fatal") as refused:
        former._produce(b"key", b"value")
    assert isinstance(former._judged(refused.value.args[0]), FencedError)


def at_end(source: KafkaSource) -> bool:
    folders = source.folders()
    return all(each.caught_up for folder in folders for each in folder.state.sources.values())


def test_while_the_brokers_do_not_take_it_what_is_known_stays_and_is_written_later(
    broker: Broker,
    topic: str,
    tmp_path: Path,
    members: list[KafkaSource],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send(broker, topic, 1)
    source = of(broker, tmp_path / "first", topic, members)
    write = Changelog.write

    def refuse(_: Changelog) -> None:
        raise BehindError("the changelog is behind")

    read(source)
    monkeypatch.setattr(Changelog, "write", refuse)
    send(broker, topic, 2)
    with pytest.raises(SourceError, match="is behind"):
        wait_for("it reads", lambda: list(source.poll()) and None)
    assert len(computers(source)) == 20
    monkeypatch.setattr(Changelog, "write", write)
    read(source)
    source.close()

    new = of(broker, tmp_path / "new", topic, members)
    read(new)
    assert (told(new).records, told(new).duplicates) == (40, 0)
    new.close()
    assert all_held(tmp_path / "new") == all_held(tmp_path / "first")


@pytest.mark.parametrize(
    ("partitions", "policy", "message"),
    [
        (3, "compact", "has 3 partitions, and the topics have 2"),
        (2, "delete", "has cleanup.policy=delete"),
    ],
)
def test_a_topic_that_cannot_be_a_changelog_is_refused(  # noqa: PLR0917
    broker: Broker,
    tmp_path: Path,
    members: list[KafkaSource],
    partitions: int,
    policy: str,
    message: str,
) -> None:
    name = f"refused-{policy}"
    broker.make(name, 2)
    broker.make(f"{name}-state", partitions, cleanup_policy=policy)

    with pytest.raises(SourceError, match=message):
        read(of(broker, tmp_path, name, members))


def test_a_changelog_of_another_group_is_refused(
    broker: Broker, topic: str, tmp_path: Path, members: list[KafkaSource]
) -> None:
    send(broker, topic, 1)
    first = of(broker, tmp_path / "first", topic, members)
    read(first)
    first.close()

    with pytest.raises(SourceError, match="of another group"):
        read(
            member(
                broker,
                tmp_path / "other",
                topic,
                members,
                group="other",
                changelog=f"{topic}-state",
            )
        )
