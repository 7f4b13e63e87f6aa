"""A member of a group without a broker: what it keeps, what it leaves, how far it says it is."""

import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from esewatch.daemon.loop import Daemon
from esewatch.fold.folder import Folder
from esewatch.journal import Journal
from esewatch.model import JournalError, SourceError
from esewatch.sources.kafka import changelog
from esewatch.sources.kafka.brokers import CutOffError, client_module
from esewatch.sources.kafka.kafka_source import KafkaSource
from esewatch.sources.log_limiter import LINES
from tests.sources.kafka.fake_group import (
    EmptyConsumer,
    FakeConsumer,
    FakeMessage,
    assign,
    at_end,
    source_of,
    without_brokers,
)
from tests.sources.kafka.test_kafka_source import logged


def test_a_consumer_that_was_fenced_while_no_broker_answered_is_left(tmp_path: Path) -> None:
    errors = client_module().KafkaError

    def fenced() -> None:
        source._trouble(errors(errors._ALL_BROKERS_DOWN, "down"))
        source._trouble(errors(errors._FATAL, "Static consumer fenced", True))

    consumer = FakeConsumer(fenced)
    source = source_of(tmp_path, consumer)

    with pytest.raises(SourceError, match="Static consumer fenced"):
        list(source.poll())

    assert consumer.closed


def test_a_partition_that_could_not_be_opened_while_no_broker_answered_is_asked_for_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = client_module().KafkaError

    def refuse(*_: object) -> None:
        raise client_module().KafkaException(errors(errors._TIMED_OUT, "watermarks time out"))

    def step() -> None:
        source._trouble(errors(errors._ALL_BROKERS_DOWN, "down"))
        assign(source, 0)

    consumer = FakeConsumer(step)
    source = source_of(tmp_path, consumer)
    monkeypatch.setattr(source, "_opened", refuse)

    with pytest.raises(SourceError, match="watermarks time out"):
        list(source.poll())

    assert consumer.closed


def test_while_no_broker_answers_the_consumer_and_the_partitions_stay(tmp_path: Path) -> None:
    errors = client_module().KafkaError
    consumer = FakeConsumer(lambda: source._trouble(errors(errors._ALL_BROKERS_DOWN, "down")))
    source = source_of(tmp_path, consumer)
    assign(source, 0)
    with pytest.raises(SourceError, match="no broker answers"):
        list(source.poll())
    source._silent, source._look_again = False, 0.0
    source._topics.error = CutOffError("the topics t cannot be checked")  # type: ignore[attr-defined]

    with pytest.raises(SourceError, match="cannot be checked"):
        list(source.poll())

    assert not consumer.closed
    assert len(source.folders()) == 1
    source.close()


def test_it_has_not_caught_up_before_the_group_has_said_which_partitions_it_has(
    tmp_path: Path,
) -> None:
    consumer = FakeConsumer(list, lambda: assign(source), list)
    source = source_of(tmp_path, consumer)

    assert [batch.caught_up for batch in source.poll()] == [False]
    assert [batch.caught_up for batch in source.poll()] == [True]  # of none
    consumer.steps = [lambda: assign(source, 1), lambda: at_end(1)]
    assert [batch.caught_up for batch in source.poll()] == [False]
    assert [batch.caught_up for batch in source.poll()][-1] is True
    source.close()
    assert consumer.closed


def test_an_agent_whose_member_has_no_partition_is_ready(tmp_path: Path) -> None:
    source = source_of(tmp_path, FakeConsumer())
    found = Daemon(source._settings, Journal(tmp_path / "journal.db"), [source])
    found._cycle()
    assert found.publisher.ready() == (False, "first reading of fleet")
    assign(source)
    found._cycle()
    found.publisher.publish()
    assert found.publisher.ready() == (True, "")
    found.close()


def test_while_one_partition_takes_no_commits_none_is_caught_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def caught_up() -> list[bool]:
        every = [each for folder in source.folders() for each in folder.state.sources.values()]
        return [each.caught_up for each in every]

    consumer = FakeConsumer(lambda: assign(source, 0, 1), lambda: at_end(0, 1), list)
    source = source_of(tmp_path, consumer)
    for _ in range(3):
        list(source.poll())
    assert caught_up() == [True, True]

    with monkeypatch.context() as patch:
        patch.setattr(source._partitions[1].journal, "commit", refuse)
        consumer.steps = [lambda: [FakeMessage(1, 0, logged("EX01", 1)[1])]]
        with pytest.raises(SourceError, match="disk is full"):
            list(source.poll())
        assert caught_up() == [False, False]
    consumer.steps = [lambda: at_end(1)]
    list(source.poll())
    list(source.poll())
    assert caught_up() == [True, True]
    source.close()


def refuse(*_: object) -> None:
    raise JournalError("cannot write the journal: database or disk is full")


def fenced(folder: Path, monkeypatch: pytest.MonkeyPatch, **client: str) -> KafkaSource:
    """A member of two partitions whose changelog of partition 0 has refused it."""
    monkeypatch.setattr(changelog, "client_module", without_brokers)
    consumer = FakeConsumer(lambda: assign(source, 0, 1))
    source = source_of(folder, consumer, changelog="state", client=client)
    list(source.poll())
    list(source.poll())  # commits what opening them has changed
    errors = client_module().KafkaError
    refused = client_module().KafkaException(errors(errors.INVALID_PRODUCER_EPOCH, "epoch", True))
    producer = source._partitions[0]._changelog._producer  # type: ignore[union-attr]
    producer.error = refused
    consumer.steps = [lambda: [FakeMessage(0, 0, logged("EX01", 1)[1])]]
    list(source.poll())
    return source


def test_a_partition_whose_changelog_refused_it_is_opened_anew_when_nobody_came_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    source = fenced(tmp_path, monkeypatch, **{"session.timeout.ms": "1"})
    time.sleep(0.01)
    list(source.poll())

    assert "another member has the partition" in caplog.text
    assert sorted(source._partitions) == [0, 1]
    calls = [(name, of) for name, of in source._consumer.calls if of == [0]]
    assert calls == [(each, [0]) for each in ("pause", "incremental_unassign", "resume")] + [
        ("incremental_assign", [0])
    ]
    assert source._partitions[0].positions["t"].offset == 1
    source.close()


def test_a_partition_whose_changelog_refused_it_is_another_members_for_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = fenced(tmp_path, monkeypatch)
    list(source.poll())

    assert sorted(source._partitions) == [1]
    source.close()


def odd(*_: object) -> None:
    """Takes no record."""
    raise ValueError("odd")


def test_a_storm_of_what_cannot_be_read_or_folded_does_not_fill_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Folder, "_event", odd)
    torn = [FakeMessage(0, number, b'{"Event": ESE nonsense') for number in range(100)]
    sound = [FakeMessage(1, number, logged("EX01", number)[1]) for number in range(100)]
    consumer = FakeConsumer(lambda: assign(source, 0, 1), lambda: [*torn, *sound])
    source = source_of(tmp_path, consumer)
    caplog.set_level("WARNING")
    list(source.poll())
    list(source.poll())

    states = [source._partitions[n].folder.state.sources[f"fleet/{n}"] for n in (0, 1)]
    assert [(each.unreadable, each.set_aside) for each in states] == [(100, 0), (0, 100)]
    assert len(caplog.messages) == LINES + 1
    assert caplog.messages[0].startswith("fleet: unreadable: t[0]: offset 0: ")
    source.close()


def test_a_record_that_cannot_be_folded_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Folder, "_event", odd)
    message = FakeMessage(1, 0, logged("EX01", 1)[1])
    consumer = FakeConsumer(lambda: assign(source, 1), lambda: [message])
    source = source_of(tmp_path, consumer)
    list(source.poll())
    list(source.poll())

    assert "fleet: Event of fleet/1 cannot be folded: odd" in caplog.messages
    source.close()


def test_a_topic_that_was_made_anew_with_another_number_of_partitions_is_refused(
    tmp_path: Path,
) -> None:
    message = FakeMessage(0, 0, logged("EX01", 1)[1])
    first = source_of(tmp_path, FakeConsumer(lambda: assign(first, 0), lambda: [message]))
    list(first.poll())
    list(first.poll())
    first.close()

    again = source_of(tmp_path, FakeConsumer(lambda: assign(again, 0)))
    again._topics.ids, again._topics.partitions = {"t": "another"}, 4

    with pytest.raises(SourceError, match="t has 4 partitions, and had 2"):
        list(again.poll())
    assert again.folders() == []


def test_a_partition_that_cannot_be_opened_holds_up_no_other_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esewatch.sources.kafka.kafka_source.LOOK_SECONDS", 0.0)
    message = FakeMessage(1, 0, logged("EX01", 1)[1])
    consumer = FakeConsumer(lambda: assign(source, 0, 1), lambda: [message], lambda: at_end(1))
    source = source_of(tmp_path, consumer)
    told: list[bool] = []
    with closing(Journal(tmp_path / "journal-fleet-0.db")):
        for _ in range(2):
            with pytest.raises(SourceError, match=r"journal-fleet-0\.db.*; 1 of 2 partitions"):
                told += [batch.caught_up for batch in source.poll()]
    assert source._partitions[1].folder.state.sources["fleet/1"].records == 1
    assert not any(told)
    assert not consumer.closed
    assert ("pause", [0]) in consumer.calls

    list(source.poll())
    assert sorted(source._partitions) == [0, 1]
    assert consumer.calls[-1] == ("incremental_assign", [0])
    consumer.steps = [lambda: at_end(0)]
    assert list(source.poll())[-1].caught_up
    source.close()


def test_a_partition_whose_changelog_is_anothers_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Foreign(EmptyConsumer):
        def assign(self, partitions: list[Any]) -> None:
            foreign = FakeMessage(0, 0, b"hello", key=b"x")
            self.first = foreign if partitions[0].partition == 0 else at_end(1)[0]

        def poll(self, _: float) -> Any:
            return self.first

    def brokers() -> Any:
        return SimpleNamespace(**(vars(without_brokers()) | {"Consumer": Foreign}))

    monkeypatch.setattr(changelog, "client_module", brokers)
    source = source_of(tmp_path, FakeConsumer(lambda: assign(source, 0, 1)), changelog="state")

    with pytest.raises(SourceError, match="state has messages that are not from a changelog"):
        list(source.poll())
    assert sorted(source._partitions) == [1]
    source.close()
