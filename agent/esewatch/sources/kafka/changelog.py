"""The changelog: the rows of a partition's journal in a compacted topic, for an owner without it.

A commit goes into the journal first and into the changelog second, so that a crash between them
leaves the changelog behind, never ahead. Its producer is transactional, one for each partition:
who opens it fences the former owner, wherever that runs.
"""

import uuid
from collections.abc import Mapping
from typing import Any

import msgspec

from esewatch.config import Kafka
from esewatch.journal import SCHEMA_VERSION, RowKey
from esewatch.model import SourceError
from esewatch.sources.kafka.brokers import SECONDS, client_module, shared


class Stamp(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Number of a commit; a row of the journal like the others, so it is in the changelog too."""

    schema: int = SCHEMA_VERSION
    group: str
    epoch: int
    """One more than that of the former owner."""
    owner: str
    """Of each opening another, as two may come to the same epoch while no broker answers."""
    count: int = 0
    """Commits of this owner."""


class FencedError(Exception):
    """Another member has opened the changelog of this partition."""


class BehindError(SourceError):
    """The journal has the commit, and the brokers do not take it now: to be tried again."""


class ForeignError(SourceError):
    """A partition of the changelog has rows of another source."""


class Changelog:
    """That of one partition. Opening it fences the former owner, then reads what that has written.
    Raises SourceError and KafkaException when it cannot be opened."""

    def __init__(self, entry: Kafka, topic: str, number: int) -> None:
        self._kafka = client_module()
        self._topic, self._number, self._group = topic, number, entry.group
        self.name = f"{entry.name}/{number}"
        self._key: RowKey = ("position", f"{self.name} changelog", "")
        client = shared(entry)
        self._producer = self._kafka.Producer(
            client
            | {"transactional.id": f"{entry.group}-{topic}-{number}", "compression.type": "lz4"}
        )
        self._producer.init_transactions(SECONDS)
        self.rows = self._read(client)
        """Rows that the former owner has written; emptied once it is applied."""
        self._stamp: Stamp
        self._left: dict[RowKey, bytes | None] = {}
        self._committing: dict[RowKey, bytes | None] | None = None
        self._begun = False

    def _read(self, client: Mapping[str, Any]) -> dict[RowKey, bytes]:
        kafka = self._kafka
        consumer = kafka.Consumer(
            {
                **client,
                "group.id": self._group,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
            }
        )
        rows: dict[RowKey, bytes] = {}
        try:
            start = kafka.TopicPartition(self._topic, self._number, kafka.OFFSET_BEGINNING)
            consumer.assign([start])
            # One by one: `consume` waits all the seconds for as many as it may give.
            while (message := consumer.poll(SECONDS)) is not None:
                if (error := message.error()) is None:
                    key = msgspec.msgpack.decode(message.key(), type=tuple[str, ...])
                    if message.value() is None:
                        rows.pop(key, None)
                    else:
                        rows[key] = message.value()
                elif error.code() == kafka.KafkaError._PARTITION_EOF:
                    return rows
                elif not error.retriable():
                    raise SourceError(f"{self.name}: {self._topic}: {error.str()}")
            raise SourceError(f"{self.name}: the changelog {self._topic} does not answer")
        except (msgspec.MsgspecError, TypeError) as error:
            raise ForeignError(
                f"{self.name}: {self._topic} has messages that are not from a changelog of esewatch"
            ) from error
        finally:
            consumer.close()

    def is_newer(self, journal: Mapping[RowKey, bytes]) -> bool:
        """True if the former owner went on without this journal, or the journal has no commit that
        the changelog could have. Raises ForeignError for the changelog of another group or
        version."""
        theirs, ours = self._stamp_of(self.rows), self._stamp_of(journal)
        if theirs is None or self._group != theirs.group or theirs.schema != SCHEMA_VERSION:
            if not self.rows:
                return False
            raise ForeignError(
                f"{self.name}: {self._topic} is the changelog of another source, of another group "
                "or of another version of esewatch: give this source a topic of its own"
            )
        if ours is None:  # empty, or from before the changelog was configured
            return True
        if (ours.epoch, ours.owner) == (theirs.epoch, theirs.owner):
            return ours.count < theirs.count
        return ours.epoch <= theirs.epoch

    def _stamp_of(self, rows: Mapping[RowKey, bytes]) -> Stamp | None:
        value = rows.get(self._key)
        return None if value is None else msgspec.msgpack.decode(value, type=Stamp)

    def claim(self, journal: Mapping[RowKey, bytes]) -> None:
        """Begin to write; where the rows of the journal are others they go in first."""
        former = self._stamp_of(self.rows) or self._stamp_of(journal)
        epoch = 1 if former is None else former.epoch + 1
        self._stamp = Stamp(group=self._group, epoch=epoch, owner=uuid.uuid4().hex)
        self._left = dict.fromkeys(self.rows.keys() - journal.keys())
        self._left |= {key: row for key, row in journal.items() if self.rows.get(key) != row}
        self.rows = {}

    def next_stamp(self) -> tuple[str, str, bytes]:
        """Source, file and value of the position that the next commit of the journal takes in."""
        self._stamp = msgspec.structs.replace(self._stamp, count=self._stamp.count + 1)
        return self._key[1], self._key[2], msgspec.msgpack.encode(self._stamp)

    def note(self, rows: dict[RowKey, bytes | None]) -> None:
        """Take the rows that a commit of the journal has written; `rows` is emptied."""
        self._left |= rows
        rows.clear()

    def write(self) -> None:
        """Write what was noted, in one transaction. Raises FencedError, and BehindError when the
        brokers do not take it: call it again then."""
        try:
            if self._committing is not None:
                self._commit()
            if self._left:
                self._send()
        except self._kafka.KafkaException as error:
            raise self._judged(error.args[0]) from error

    def _send(self) -> None:
        if self._begun:
            self._producer.abort_transaction(SECONDS)
            self._begun = False
        self._producer.begin_transaction()
        self._begun = True
        for key, value in self._left.items():
            self._produce(msgspec.msgpack.encode(key), value)
        self._committing, self._left = self._left, {}
        self._commit()

    def _produce(self, key: bytes, value: bytes | None) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, key, self._number)
                return
            except BufferError:  # more than its queue holds: until some are written
                self._producer.poll(0.1)

    def _commit(self) -> None:
        self._producer.commit_transaction(SECONDS)
        self._committing, self._begun = None, False

    def _cause(self, error: Any) -> Any:
        """Reason why the producer is of no use any more: `produce` says only that it is. Which call
        says why depends on the one that failed first. None of them can succeed now. It answers at
        once, but for a machine that is busy."""
        for ask in (self._producer.abort_transaction, self._producer.commit_transaction):
            try:
                ask(SECONDS)
            except self._kafka.KafkaException as cause:
                if cause.args[0].fatal():
                    return cause.args[0]
        return error

    def _judged(self, error: Any) -> Exception:
        """Error by its consequence: a transaction that must be aborted is written anew."""
        codes = self._kafka.KafkaError
        if error.code() == codes._FATAL:
            error = self._cause(error)
        fenced = {codes._FENCED, codes.PRODUCER_FENCED, codes.INVALID_PRODUCER_EPOCH}
        if error.code() in fenced:
            return FencedError(error.str())
        if self._committing is not None and error.txn_requires_abort():
            self._left = self._committing | self._left
            self._committing = None
        if error.fatal():
            return SourceError(f"{self.name}: {self._topic}: {error.str()}")
        return BehindError(f"{self.name}: the changelog {self._topic} is behind: {error.str()}")
