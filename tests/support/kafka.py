"""A broker of Kafka for tests: the real one, on loopback, in a process of its own."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from esewatch.sources.kafka.brokers import client_module
from tests.support.certificates import Pair
from tests.support.patience import PATIENCE
from tests.support.ports import free_port
from tests.support.tools import skip

ROOT = Path(__file__).resolve().parents[2]
JARS = Path(os.environ.get("ESEWATCH_KAFKA_JARS", ROOT / "out/kafka/jars"))
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
START_SECONDS = 120.0
_SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Java without its optimising compiler starts a broker with half the work."""
_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
log.dirs={logs}
log.retention.check.interval.ms=500
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
auto.create.topics.enable=false
delete.topic.enable=true
"""
_REPLICATED = """\
node.id={number}
controller.quorum.voters={voters}
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
min.insync.replicas=2
"""
# Of two lines with one key the later holds.
_SECURE = """\
listeners=PLAINTEXT://127.0.0.1:{port},SECURE://127.0.0.1:{secure},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SECURE://127.0.0.1:{secure}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secure.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secure.ssl.keystore.type=PEM
listener.name.secure.ssl.keystore.location={keystore}
"""


def needed_java() -> str:
    """Path of java; skips the test where a broker cannot be started."""
    try:
        import confluent_kafka  # noqa: F401, PLC0415  # an extra
    except ImportError:
        skip("confluent-kafka is not installed (pip install 'esewatch[kafka]')", {"kafka"})
    java = shutil.which("java")
    if java is None or not any(JARS.glob("kafka_*.jar")):
        skip("no broker of Kafka is installed (make tools)", {"kafka"})
    return java


class Broker:
    """Begins to listen when it is made; `kill` ends it.

    With a certificate it listens at `secure`, too: by TLS, for users that `add_user` has made.
    `host`: the address of this machine at which it listens.
    `beside`: its number, from 1 on, among controllers that listen at these ports.
    `optimised`: for one that is measured.
    """

    def __init__(
        self,
        folder: Path,
        certificate: Pair | None = None,
        beside: tuple[int, Sequence[int]] | None = None,
        host: str = "127.0.0.1",
        *,
        optimised: bool = False,
    ) -> None:
        self._java = needed_java()
        self._java_options = () if optimised else _SHORT_LIVED
        port, secure, controller = free_port(), free_port(), free_port()
        if beside is not None:
            controller = beside[1][beside[0] - 1]
        self.address, self.secure = f"{host}:{port}", f"127.0.0.1:{secure}"
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._settings = folder / "server.properties"
        logs = folder / "logs"
        text = _SETTINGS.format(host=host, port=port, controller=controller, logs=logs)
        if certificate is not None:
            keystore = folder / "keystore.pem"
            keystore.write_bytes(certificate.key + certificate.certificate)
            text += _SECURE.format(
                port=port, secure=secure, controller=controller, keystore=keystore
            )
        if beside is not None:
            voters = ",".join(f"{n}@127.0.0.1:{at}" for n, at in enumerate(beside[1], 1))
            text += _REPLICATED.format(number=beside[0], voters=voters)
        self._settings.write_text(text)
        self._run("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self._settings))
        self._launch()
        if beside is None:
            self.wait_until_it_answers()

    def _command(self, *arguments: str) -> list[str]:
        return [self._java, *self._java_options, "-Xmx400m", "-cp", f"{JARS}/*", *arguments]

    def _run(self, *arguments: str) -> None:
        subprocess.run(self._command(*arguments), check=True, capture_output=True, timeout=PATIENCE)

    def start(self) -> None:
        """Start it, again on the same logs; returns when it answers."""
        self._launch()
        self.wait_until_it_answers()

    def _launch(self) -> None:
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command("kafka.Kafka", str(self._settings)), stdout=log, stderr=log
            )

    def wait_until_it_answers(self) -> None:
        """Kills it and raises what it says where it does not."""
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self.admin().list_topics(timeout=1)
                return
            except Exception:
                if time.monotonic() > end or self._process.poll() is not None:
                    self.kill()
                    raise

    def kill(self) -> None:
        """As a crash ends it."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def admin(self) -> Any:
        """A client that makes and looks at topics."""
        from confluent_kafka.admin import AdminClient  # noqa: PLC0415  # an extra

        return AdminClient({"bootstrap.servers": self.address, "log_level": 0})

    def make(self, topic: str, partitions: int, *, replicas: int = 1, **config: str) -> None:
        """Make a topic; `retention_ms="1"` is `retention.ms=1`.

        A busy broker knows it only a moment after it has said that it is made.
        """
        from confluent_kafka.cimpl import NewTopic  # noqa: PLC0415  # an extra

        settings = {key.replace("_", "."): value for key, value in config.items()}
        new = NewTopic(topic, partitions, replicas, config=settings)
        admin = self.admin()  # an answer is lost with its client
        admin.create_topics([new])[topic].result(30)
        end = time.monotonic() + PATIENCE
        while not (found := admin.list_topics(topic, timeout=30).topics[topic]).partitions:
            assert time.monotonic() < end, found.error
            time.sleep(0.05)

    def add_user(self, name: str, password: str) -> None:
        """Who may log in by SCRAM-SHA-512."""
        kafka = client_module().admin
        scram = kafka.ScramCredentialInfo(kafka.ScramMechanism.SCRAM_SHA_512, 4096)
        user = kafka.UserScramCredentialUpsertion(name, scram, password.encode())
        admin = self.admin()
        admin.alter_user_scram_credentials([user])[name].result(30)

    def remove(self, topic: str) -> None:
        """Delete a topic."""
        admin = self.admin()
        admin.delete_topics([topic])[topic].result(30)

    def widen(self, topic: str, partitions: int) -> None:
        """Give the topic more partitions."""
        from confluent_kafka.cimpl import NewPartitions  # noqa: PLC0415  # an extra

        admin = self.admin()
        admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)

    def drop(self, topic: str, partition: int, *, before: int) -> None:
        """Delete the messages before an offset, as retention does."""
        from confluent_kafka import TopicPartition  # noqa: PLC0415  # an extra

        admin = self.admin()
        asked = admin.delete_records([TopicPartition(topic, partition, before)])
        for answer in asked.values():
            answer.result(30)

    def send(
        self, topic: str, messages: Iterable[tuple[str | bytes, bytes]], partition: int = -1
    ) -> None:
        """Write messages (key, value); returns when the broker has them all."""
        from confluent_kafka import Producer  # noqa: PLC0415  # an extra

        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 5, "log_level": 0})
        for key, value in messages:
            producer.produce(topic, value, key=key, partition=partition)
            producer.poll(0)
        assert producer.flush(60) == 0


def three_brokers(folder: Path) -> list[Broker]:
    """A cluster: of each topic with three replicas two have to take a message."""
    controllers = [free_port() for _ in range(3)]
    brokers = [Broker(folder / str(n), beside=(n, controllers)) for n in (1, 2, 3)]
    for broker in brokers:
        broker.wait_until_it_answers()
    return brokers
