"""The client of Kafka (librdkafka by confluent-kafka), and what brokers answer about topics."""

import hashlib
import logging
import re
import socket
from pathlib import Path
from typing import Any

from esewatch.config import FILE_SUFFIX, Kafka
from esewatch.model import SourceError

log = logging.getLogger(__name__)

EXTRA = "confluent-kafka is not installed: pip install 'esewatch[kafka]'"
SESSION_MS = 45_000
"""librdkafka's own."""

FETCHED_AHEAD = 1000
"""Messages of a partition. Those of all wait in one line, so that with the library's 100,000 the
backlog of one computer goes before what the others have sent since."""


def client_module() -> Any:
    """The module confluent_kafka. Raises SourceError where the extra is not installed."""
    try:
        import confluent_kafka  # noqa: PLC0415  # an extra: only who reads Kafka has it
        import confluent_kafka.admin  # noqa: PLC0415
    except ImportError as error:
        raise SourceError(EXTRA) from error
    return confluent_kafka


def shared(entry: Kafka) -> dict[str, Any]:
    """The client settings that consumer, producer and admin have in common. Raises SourceError for
    a secret that cannot be read."""
    found: dict[str, Any] = {"bootstrap.servers": ",".join(entry.brokers), "logger": log}
    for key, value in entry.client.items():
        if key.endswith(FILE_SUFFIX):
            try:
                secret = Path(value).read_text(encoding="utf-8").split("\n", 1)[0].rstrip("\r")
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or "it is not text"
                raise SourceError(f"{key}: {value} cannot be read: {reason}") from error
            found[key.removesuffix(FILE_SUFFIX)] = secret
        else:
            found[key] = value
    return found


def of_consumer(entry: Kafka, journal: Path) -> dict[str, Any]:
    """The settings of the group's member that keeps its journals beside `journal`. Sources of one
    configuration may be in one group: each is a member of its own."""
    place = f"{journal}\0{entry.name}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(place, digest_size=4).hexdigest()
    own = {
        "group.instance.id": f"{socket.gethostname()}-{digest}",
        "queued.min.messages": FETCHED_AHEAD,
    }
    return own | {
        **shared(entry),
        "group.id": entry.group,
        "partition.assignment.strategy": "cooperative-sticky",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
    }


def session_seconds(entry: Kafka) -> float:
    """The longest time without a word of the member, after which the group gives its partitions to
    others."""
    return float(entry.client.get("session.timeout.ms", SESSION_MS)) / 1000


def told(error: Any) -> str:
    inner = error.args[0] if error.args else error
    return str(inner.str()) if hasattr(inner, "str") else str(inner)


SECONDS = 10.0
"""The longest wait for an answer of the brokers."""
_WHERE = re.compile(r"^\S+/\S+: | \(after \d+ms in state \w+.*\)$")
"""Part of a connection's error about the broker and its try: each time another one."""


class CutOffError(SourceError):
    """No broker answers: to be asked again."""


class Topics:
    """Ids of the topics, and how many partitions each of them has. Raises SourceError when no
    broker answers, a topic is not there, or their numbers differ."""

    def __init__(self, entry: Kafka) -> None:
        kafka = client_module()
        self._entry = entry
        self._kafka = kafka
        self._errors: list[Any] = []
        """Of connections, since the last question."""
        callback = {"error_cb": self._errors.append}
        self._admin = kafka.admin.AdminClient({"log_level": 0} | shared(entry) | callback)
        self.ids: dict[str, str] = {}
        self.partitions = 0
        self._changelog: tuple[str, int] | None = None
        """Id and partitions of the changelog."""
        self.look()

    def look(self) -> bool:
        """Ask the brokers; True when a topic is another one, or has other partitions, than before.

        So it is for the changelog: one that was made anew lacks what was written to the old one.

        Raises SourceError as above, CutOffError when no broker answers.
        """
        changelog = self._entry.changelog
        found = self._described([*self._entry.topics, *([changelog] if changelog else [])])
        rows = found.pop(changelog) if changelog else None
        ids = {topic: str(each.topic_id) for topic, each in found.items()}
        numbers = {topic: len(each.partitions) for topic, each in found.items()}
        if len(set(numbers.values())) > 1:
            listed = ", ".join(f"{topic} {number}" for topic, number in numbers.items())
            raise SourceError(
                f"the topics have different numbers of partitions ({listed}): "
                "the records of one computer would go to two owners; make the numbers equal"
            )
        before = (self.ids, self.partitions, self._changelog)
        self.ids, self.partitions = ids, next(iter(numbers.values()))
        self._changelog = (str(rows.topic_id), len(rows.partitions)) if rows is not None else None
        return before != (self.ids, self.partitions, self._changelog)

    def of(self, number: int) -> list[Any]:
        return [self._kafka.TopicPartition(topic, number) for topic in self.ids]

    def _described(self, topics: list[str]) -> dict[str, Any]:
        names = self._kafka.TopicCollection(topics)
        self._admin.poll(0)
        self._errors.clear()
        try:
            asked = self._admin.describe_topics(names, request_timeout=SECONDS)
            return {topic: answer.result(SECONDS + 1) for topic, answer in asked.items()}
        except (self._kafka.KafkaException, TimeoutError) as error:
            kind = SourceError if _code(error) > 0 else CutOffError
            raise kind(
                f"the topics {', '.join(topics)} cannot be checked: {self._reason(error)}"
            ) from error

    def _reason(self, error: Exception) -> str:
        """Reason why there is no answer, or the answer."""
        if _code(error) > 0:
            return told(error)
        self._admin.poll(0)
        kinds = (self._kafka.KafkaError._AUTHENTICATION, self._kafka.KafkaError._SSL)
        refused = [each.str() for each in self._errors if each.code() in kinds]
        return _WHERE.sub("", refused[-1]) if refused else told(error) or "no broker answers"

    def check_changelog(self, topic: str) -> None:
        """Raise SourceError where the topic cannot be the changelog of these partitions."""
        found = len(self._described([topic])[topic].partitions)
        if found != self.partitions:
            raise SourceError(
                f"the changelog {topic} has {found} partitions, and the topics "
                f"have {self.partitions}: recreate it with as many"
            )
        kafka = self._kafka.admin
        resource = kafka.ConfigResource(kafka.ConfigResource.Type.TOPIC, topic)
        asked = self._admin.describe_configs([resource], request_timeout=SECONDS)
        try:
            policy = asked[resource].result(SECONDS + 1)["cleanup.policy"].value
        except (self._kafka.KafkaException, TimeoutError) as error:
            raise SourceError(
                f"the settings of the changelog {topic} cannot be read: {self._reason(error)}"
            ) from error
        if policy != "compact":
            raise SourceError(
                f"the changelog {topic} has cleanup.policy={policy}, so what "
                "is known would be lost: set cleanup.policy=compact"
            )


def _code(error: Exception) -> int:
    """Above 0 it is an answer of the brokers."""
    return 0 if isinstance(error, TimeoutError) else int(error.args[0].code())
