"""What needs no broker: the client's settings, its secrets, the description of topics."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from esewatch.config import Kafka, Settings
from esewatch.config.files import load
from esewatch.model import ConfigError, SourceError
from esewatch.sources.kafka import brokers
from esewatch.sources.kafka.brokers import Topics, client_module, of_consumer, shared
from esewatch.sources.registry import build_source


def entry(name: str = "fleet", **client: str) -> Kafka:
    return Kafka(
        type="kafka", name=name, brokers=["k1:9092", "k2:9092"], topics=["t"], client=client
    )


def test_a_secret_is_the_first_line_of_its_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\nsecond\n")

    found = shared(entry(**{"sasl.password_file": str(secret), "sasl.username": "agent"}))

    assert found["sasl.password"] == "s3cret"
    assert found["sasl.username"] == "agent"
    assert "sasl.password_file" not in found


def test_a_secret_that_cannot_be_read_is_told_by_key_and_file(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")

    with pytest.raises(SourceError, match=r"sasl\.password_file: .*gone cannot be read: No such"):
        shared(entry(**{"sasl.password_file": gone}))


def test_a_member_is_static_by_machine_journal_and_source_and_never_commits_or_skips() -> None:
    found = of_consumer(entry(), Path("/a/journal.db"))

    assert found["bootstrap.servers"] == "k1:9092,k2:9092"
    assert found["group.id"] == "esewatch"
    assert found["partition.assignment.strategy"] == "cooperative-sticky"
    assert found["enable.auto.commit"] is False
    assert found["auto.offset.reset"] == "error"
    other = of_consumer(entry(), Path("/b/journal.db"))
    assert found["group.instance.id"] != other["group.instance.id"]
    beside = of_consumer(entry("other"), Path("/a/journal.db"))
    assert found["group.instance.id"] != beside["group.instance.id"]
    assert found == of_consumer(entry(), Path("/a/journal.db"))
    named = of_consumer(entry(**{"group.instance.id": "pod-0"}), Path("/a/journal.db"))
    assert named["group.instance.id"] == "pod-0"


def test_without_the_extra_the_source_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)

    with pytest.raises(SourceError, match=r"pip install 'esewatch\[kafka\]'"):
        build_source(entry(), Settings(sources=[entry()]))


def configured(folder: Path, client: str) -> Settings:
    file = folder / "esewatch.yml"
    file.write_text(
        "sources:\n"
        f"  - {{type: kafka, brokers: ['k1:9092'], topics: [ese-events], client: {{{client}}}}}\n"
    )
    return load(file)


def test_the_configuration_is_taken_without_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)

    (source,) = configured(tmp_path, "security.protocol: SASL_SSL").sources

    assert isinstance(source, Kafka)
    assert source.client == {"security.protocol": "SASL_SSL"}
    assert source.name == "kafka-1"


@pytest.mark.parametrize(
    ("client", "told"),
    [
        ("auto.offset.reset: latest", "never skipped"),
        ("group.id: other", "write it under group"),
        ("sasl.password: hunter2", "sasl.password_file names a file"),
    ],
)
def test_keys_that_are_not_the_users_and_secrets_in_the_file_are_refused(
    tmp_path: Path, client: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told) as refused:
        configured(tmp_path, client)
    assert "hunter2" not in str(refused.value)


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
    monkeypatch.setattr(
        brokers, "client_module", lambda: SimpleNamespace(**(vars(client_module()) | own))
    )
    found = Topics(ENTRY)
    assert not found.look()

    admin.topics["state"] = change

    assert found.look()
    assert (found.ids, found.partitions) == ({"t": "1", "u": "2"}, 2)
