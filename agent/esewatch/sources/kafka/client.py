"""The client of Kafka: librdkafka by confluent-kafka, its settings, its absence."""

import hashlib
import logging
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


def library() -> Any:
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
