"""What the brokers say of the topics, without a broker."""

from types import SimpleNamespace
from typing import Any

import pytest

from esewatch.config import Kafka
from esewatch.sources.kafka import topics
from esewatch.sources.kafka.client import library
from esewatch.sources.kafka.topics import Topics

ENTRY = Kafka(type="kafka", name="fleet", brokers=["x:1"], topics=["t", "u"], changelog="state")


class FakeAdmin:
    """Each topic has an id and a number of partitions."""

    def __init__(self, *_: Any) -> None:
        self.topics = {"t": ("1", 2), "u": ("2", 2), "state": ("3", 2)}

    def poll(self, _: float) -> None:
        """No errors."""

    def describe_topics(self, names: list[str], **_: Any) -> dict[str, Any]:
        return {each: SimpleNamespace(result=lambda _, of=each: self._told(of)) for each in names}

    def _told(self, topic: str) -> Any:
        topic_id, number = self.topics[topic]
        return SimpleNamespace(topic_id=topic_id, partitions=range(number))


@pytest.mark.parametrize("change", [("9", 2), ("3", 3)])
def test_a_changelog_that_was_made_anew_is_another_one(
    monkeypatch: pytest.MonkeyPatch, change: tuple[str, int]
) -> None:
    admin = FakeAdmin()
    own = {"TopicCollection": list, "admin": SimpleNamespace(AdminClient=lambda _: admin)}
    monkeypatch.setattr(topics, "library", lambda: SimpleNamespace(**(vars(library()) | own)))
    found = Topics(ENTRY)
    assert not found.look()

    admin.topics["state"] = change

    assert found.look()
    assert (found.ids, found.partitions) == ({"t": "1", "u": "2"}, 2)
