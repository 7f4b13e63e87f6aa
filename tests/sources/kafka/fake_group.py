"""A group without a broker: a consumer that does what a test tells, and topics that stay."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from esewatch.config import Kafka, Settings
from esewatch.sources.kafka.brokers import client_module
from esewatch.sources.kafka.kafka_source import KafkaSource
from esewatch.sources.registry import build_source


class FakeTopics:
    """One topic `t`."""

    def __init__(self, partitions: int = 2) -> None:
        self.ids = {"t": "id"}
        self.partitions = partitions
        self.error: Exception | None = None
        """Raised by the next questions."""

    def look(self) -> bool:
        if self.error is not None:
            raise self.error
        return False

    def of(self, number: int) -> list[Any]:
        return [client_module().TopicPartition("t", number)]


class FakeConsumer:
    """Gives what each step returns, one a reading, and then nothing."""

    def __init__(self, *steps: Callable[[], list[Any] | None]) -> None:
        self.steps = list(steps)
        self.calls: list[tuple[str, list[int]]] = []
        self.closed = False

    def consume(self, *_: Any) -> list[Any]:
        return (self.steps.pop(0)() or []) if self.steps else []

    def get_watermark_offsets(self, *_: Any, **__: Any) -> tuple[int, int]:
        return 0, 1000

    def close(self) -> None:
        self.closed = True

    def __getattr__(self, name: str) -> Callable[[list[Any]], None]:
        return lambda partitions: self.calls.append((name, [each.partition for each in partitions]))


def source_of(folder: Path, consumer: FakeConsumer, **settings: Any) -> KafkaSource:
    """A member that has subscribed by this consumer."""
    entry = Kafka(type="kafka", name="fleet", brokers=["x:1"], topics=["t"], **settings)
    source = build_source(entry, Settings(sources=[entry], journal=str(folder / "journal.db")))
    assert isinstance(source, KafkaSource)
    topics: Any = FakeTopics()
    source._topics, source._consumer = topics, consumer
    source._look_again = float("inf")
    return source


def assign(source: KafkaSource, *numbers: int) -> None:
    """The group gives it these partitions."""
    found = [client_module().TopicPartition("t", number) for number in numbers]
    source._assigned(source._consumer, found)


class FakeMessage:
    """A message of `t`, or an error in its place."""

    def __init__(
        self, partition: int, offset: int, value: bytes, *, error: Any = None, key: bytes = b""
    ) -> None:
        self._of, self._value, self._error, self._key = (partition, offset), value, error, key

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self._of[0]

    def offset(self) -> int:
        return self._of[1]

    def leader_epoch(self) -> int | None:
        return None

    def key(self) -> bytes:
        return self._key

    def value(self) -> bytes:
        return self._value

    def error(self) -> Any:
        return self._error


def at_end(*numbers: int) -> list[Any]:
    """What the consumer gives at the end of these partitions."""
    errors = client_module().KafkaError
    return [FakeMessage(number, 0, b"", error=errors(errors._PARTITION_EOF)) for number in numbers]


class FakeProducer:
    """Takes every transaction, unless `error` is set."""

    def __init__(self, _: Any) -> None:
        self.error: Exception | None = None

    def commit_transaction(self, *_: Any) -> None:
        if self.error is not None:
            raise self.error

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


class EmptyConsumer:
    """Of a changelog without a message."""

    def __init__(self, _: Any) -> None:
        pass

    def poll(self, _: float) -> Any:
        return at_end(0)[0]

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


def without_brokers() -> Any:
    """The library, its changelogs empty."""
    own = {"Producer": FakeProducer, "Consumer": EmptyConsumer}
    return SimpleNamespace(**(vars(client_module()) | own))
