"""Messages become records: what one message has taught is known of the next."""

from pathlib import Path
from typing import Any

import pytest

from esewatch.config import Kafka, Settings
from esewatch.sources.kafka.kafka_source import KafkaSource
from esewatch.sources.kafka.messages import decode
from esewatch.sources.logs.formats.json.json_plan import JsonPlan
from esewatch.sources.registry import build_source
from tests.sources.kafka.test_kafka_source import counted, logged


class Message:
    """As the client hands it out."""

    def __init__(self, value: bytes, offset: int) -> None:
        self._value, self._offset = value, offset

    def value(self) -> bytes:
        return self._value

    def topic(self) -> str:
        return "events"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return self._offset


def test_messages_of_one_shape_are_learnt_from_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    lessons: list[object] = []
    learn = JsonPlan.learn

    def noted(self: JsonPlan, value: Any) -> None:
        lessons.append(value)
        learn(self, value)

    monkeypatch.setattr(JsonPlan, "learn", noted)
    entry = Kafka(type="kafka", name="fleet", brokers=["127.0.0.1:1"], topics=["events"])
    source = build_source(entry, Settings(sources=[entry], journal=str(tmp_path / "journal.db")))
    assert isinstance(source, KafkaSource)
    values = [value for n in range(50) for _, value in (logged("EX01", n), counted("EX01", n, n))]
    messages = [Message(value, offset) for offset, value in enumerate(values)]

    records, unreadable = decode(messages, source._factory)

    assert (len(records), unreadable) == (100, [])
    assert len(lessons) == 1
