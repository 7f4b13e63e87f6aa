"""A member of a group without a broker: what it keeps, what it leaves, how far it says it is."""

from pathlib import Path

import pytest

from esewatch.model import SourceError
from esewatch.sources.kafka.client import library
from esewatch.sources.kafka.topics import CutOffError
from tests.sources.kafka.fake_group import FakeConsumer, assign, at_end, source_of


def test_a_consumer_that_was_fenced_while_no_broker_answered_is_left(tmp_path: Path) -> None:
    errors = library().KafkaError

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
    errors = library().KafkaError

    def refuse(*_: object) -> None:
        raise library().KafkaException(errors(errors._TIMED_OUT, "watermarks time out"))

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
    errors = library().KafkaError
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
