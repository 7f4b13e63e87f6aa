"""A member of a consumer group: it reads its partitions, and folds each into a state of its own.

docs/decisions/0030-kafka.md has the reasons.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from esewatch.config import Kafka, Settings
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import Batch, EsewatchError, JournalError, SourceError
from esewatch.sources.kafka import brokers
from esewatch.sources.kafka.changelog import BehindError, Changelog, FencedError, ForeignError
from esewatch.sources.kafka.messages import MessageDecoder
from esewatch.sources.kafka.partition import (
    Partition,
    last_partition_set_aside,
    next_positions,
    partition_journal,
)
from esewatch.sources.kind import EventOptions, RecordSelection
from esewatch.sources.log_limiter import LogLimiter

log = logging.getLogger(__name__)

MESSAGES = 1000
"""The most that are read, folded and committed at once."""
WAIT_SECONDS = 0.1
LOOK_SECONDS = 60.0
"""The brokers are asked so often whether the topics are still the same, and a partition that cannot
be opened is tried again."""


def open(entry: Kafka, settings: Settings, wanted: RecordSelection) -> "KafkaSource":
    return KafkaSource(entry, settings, MessageDecoder(EventOptions.of(entry, settings, wanted)))


def beside(_entry: Kafka, settings: Settings) -> object:
    return settings


class PartlyError(SourceError):
    """Some partitions cannot be opened; the others are read."""


class KafkaSource:
    """Events from Kafka. The lock of the views is held for each change of a state."""

    def __init__(
        self,
        entry: Kafka,
        settings: Settings,
        decoder: MessageDecoder,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = entry.name
        self._entry, self._settings, self._decoder, self._clock = entry, settings, decoder, clock
        self._kafka = brokers.client_module()
        self._lock = threading.Lock()
        self._partitions: dict[int, Partition] = {}
        self._consumer: Any = None
        self._joined = False
        """The group has said which partitions it has, if any."""
        self._topics: brokers.Topics
        self._look_again = 0.0
        self._apart: dict[int, float] = {}
        """Partitions that the group gives to it and that it does not read: others have them, or
        they cannot be opened. They are tried again then (monotonic seconds)."""
        self._refused: dict[int, str] = {}
        """Those of them that cannot be opened, and why."""
        self._queue: list[tuple[int, list[Any]]] = []
        """Messages that were taken from the consumer and are not folded."""
        self._problem: EsewatchError | None = None
        """Met in a callback of the consumer, which is not to raise, or among messages."""
        self._silent = False
        self._lines = LogLimiter(log)
        self._in_several: set[str] = set()
        """Computers that are in several partitions, as the log says."""

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """Nothing: the positions lie in the journals of the partitions."""

    def look_at(self, state: State, lock: threading.Lock) -> None:
        self._lock = lock

    def folders(self) -> list[Folder]:
        """Those of the partitions that this member owns; to be used with the lock held."""
        return [each.folder for _, each in sorted(self._partitions.items())]

    def commit_command(self, folder: Folder) -> None:
        """Store what a command changed there, whether a broker answers or not."""
        for owned in self._partitions.values():
            if owned.folder is folder:
                owned.commit()

    def last_set_aside(self) -> float | None:
        """Last time a journal of a partition was set aside, whoever owns it now."""
        return last_partition_set_aside(self._settings)

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        """Read, fold and commit; the batches say only how far it is."""
        try:
            yield from self._poll()
        except (EsewatchError, self._kafka.KafkaException) as error:
            # Who is cut off, or cannot write, keeps what it knows until others own it.
            if not isinstance(
                error, brokers.CutOffError | JournalError | BehindError | PartlyError
            ):
                self._leave()
            if isinstance(error, JournalError):
                with self._lock:
                    for folder in self.folders():
                        folder.nothing_read_on()
            if isinstance(error, SourceError):
                raise
            raise SourceError(brokers.told(error)) from error

    def _poll(self) -> Iterator[Batch]:
        self._join()
        while True:
            for partition in list(self._partitions.values()):
                self._commit(partition)
            messages = [] if self._queue else self._read()
            while self._queue:
                number, of_partition = self._queue[0]
                if (owned := self._partitions.get(number)) is not None:
                    self._fold(owned, of_partition)
                del self._queue[0]
                if owned is not None:
                    self._commit(owned)
            self._take_back()
            self._catch_up()
            if messages:
                self._tell_misplaced()
            every = self._partitions.values()
            at_end = all(len(each.at_end) == len(self._topics.ids) for each in every)
            done = self._joined and not messages and at_end and not self._refused
            counts = (self._topics.partitions, len(every))
            yield Batch(caught_up=done, partitions=counts, folded=bool(messages))
            if not messages:
                break
        if self._refused:
            _, reason = min(self._refused.items())
            of_all = f"{len(self._refused)} of {self._topics.partitions} partitions"
            raise PartlyError(f"{reason}; {of_all} are not read")

    def _join(self) -> None:
        if self._consumer is None:
            self._topics = brokers.Topics(self._entry)
            if self._entry.changelog:
                self._topics.check_changelog(self._entry.changelog)
            settings = brokers.of_consumer(self._entry, Path(self._settings.journal))
            self._consumer = self._kafka.Consumer(settings | {"error_cb": self._trouble})
            self._consumer.subscribe(
                self._entry.topics[:1],
                on_assign=self._assigned,
                on_revoke=self._revoked,
                on_lost=self._revoked,
            )
            self._look_again = time.monotonic() + LOOK_SECONDS
        elif self._silent or time.monotonic() > self._look_again:
            changed = self._topics.look()
            self._silent = False
            self._look_again = time.monotonic() + LOOK_SECONDS
            if changed:
                raise SourceError("the topics have changed: rejoining the group")

    def _trouble(self, error: Any) -> None:
        if error.code() == self._kafka.KafkaError._ALL_BROKERS_DOWN:
            self._silent = True
        elif error.fatal():
            self._problem = SourceError(error.str())

    def _read(self) -> list[Any]:
        messages = list(self._consumer.consume(MESSAGES, WAIT_SECONDS))
        self._sort(messages)
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem
        if self._silent and not messages:
            raise brokers.CutOffError("no broker answers")
        return messages

    def _sort(self, messages: list[Any]) -> None:
        """Queue all of them, errors among them or not: the consumer does not give them again."""
        by_partition: dict[int, list[Any]] = {}
        for message in messages:
            owned = self._partitions.get(message.partition())
            if (error := message.error()) is None:
                by_partition.setdefault(message.partition(), []).append(message)
                if owned is not None:
                    owned.at_end.discard(message.topic())
            elif error.code() == self._kafka.KafkaError._PARTITION_EOF:
                if owned is not None:
                    owned.at_end.add(message.topic())
            elif not error.retriable():
                reason = f"{message.topic()}: {error.str()}"
                self._problem = self._problem or SourceError(reason)
        self._queue += by_partition.items()

    def _fold(self, owned: Partition, messages: list[Any]) -> None:
        batch = self._decoder.decode(messages)
        for piece in batch.unreadable:
            self._lines.warning(self.name, f"unreadable: {piece}")
        positions = next_positions(messages, self._topics.ids, self._topics.partitions)
        with self._lock:
            owned.fold(batch, positions, self._clock())
        for _, record, why in owned.folder.set_aside:
            what = f"{type(record).__name__} of {owned.name}"
            self._lines.warning(self.name, f"{what} cannot be folded: {why}")
        owned.folder.set_aside.clear()

    def _catch_up(self) -> None:
        for owned in self._partitions.values():
            known = owned.folder.state.sources[owned.name]
            done = len(owned.at_end) == len(self._topics.ids)
            if done != known.caught_up:
                with self._lock:
                    owned.fold(Batch(caught_up=done), {}, self._clock())

    def _tell_misplaced(self) -> None:
        """Log which computers are in several partitions: their messages have not one key."""
        seen: set[str] = set()
        for owned in self._partitions.values():
            hosts = owned.folder.state.hosts.keys()
            for computer in sorted((seen & hosts) - self._in_several):
                log.error(
                    "%s: %s is in several partitions: its data is incomplete here; "
                    "the key of all its messages must be its name",
                    *(self.name, computer),
                )
            self._in_several |= seen & hosts
            seen |= hosts

    def _commit(self, owned: Partition) -> None:
        with self._lock:
            owned.commit()
            owned.fill_changelog()
        try:
            owned.write_changelog()
        except FencedError as error:
            log.error(
                "%s: another member has the partition, so this one stops it; what it read last is "
                "read there: %s",
                *(owned.name, error),
            )
            self._let_go(owned.number)
            self._apart[owned.number] = time.monotonic() + brokers.session_seconds(self._entry)
            self._consumer.pause(self._topics.of(owned.number))

    def _take_back(self) -> None:
        """Open the partitions that are due, as the group still gives them to this member. Nobody
        has one that was fenced a session ago: the brokers themselves abort a transaction that takes
        too long, and refuse its producer like one that another member has shut out."""
        now = time.monotonic()
        for number in [each for each, until in self._apart.items() if until <= now]:
            starts = self._tried(self._consumer, number)
            if number in self._partitions:
                of_number = self._topics.of(number)
                self._consumer.incremental_unassign(of_number)
                self._consumer.resume(of_number)
                self._consumer.incremental_assign(starts)

    def _assigned(self, consumer: Any, assigned: list[Any]) -> None:
        """Open the partitions that come, and read on behind what their journals have."""
        try:
            numbers = sorted({each.partition for each in assigned})
            starts = [start for number in numbers for start in self._tried(consumer, number)]
            consumer.incremental_assign(starts)
            for number in self._refused.keys() & set(numbers):
                consumer.pause(self._topics.of(number))
            self._joined = True
        except (EsewatchError, self._kafka.KafkaException) as error:
            self._problem = SourceError(brokers.told(error))

    def _tried(self, consumer: Any, number: int) -> list[Any]:
        """Offsets to read on from; the beginnings where that partition alone cannot be opened."""
        try:
            starts = self._opened(consumer, number)
        except (ForeignError, JournalError) as error:
            self._refused[number] = str(error)
            self._apart[number] = time.monotonic() + LOOK_SECONDS
            begin = self._kafka.OFFSET_BEGINNING
            return [self._kafka.TopicPartition(each, number, begin) for each in self._topics.ids]
        self._apart.pop(number, None)
        self._refused.pop(number, None)
        return starts

    def _opened(self, consumer: Any, number: int) -> list[Any]:
        path = partition_journal(Path(self._settings.journal), self.name, number)
        topic = self._entry.changelog
        changelog = Changelog(self._entry, topic, number) if topic else None
        owned = Partition(
            self.name, number, path, self._settings, self._clock(), changelog=changelog
        )
        try:
            starts = [self._start(consumer, owned, topic) for topic in self._topics.ids]
        except BaseException:
            owned.close()
            raise
        with self._lock:
            self._partitions[number] = owned
        log.info("%s: this member owns the partition", owned.name)
        return starts

    def _start(self, consumer: Any, owned: Partition, topic: str) -> Any:
        """Offset to read on from. Raises SourceError when the partitions are other ones."""
        at = owned.positions.get(topic)
        first = self._kafka.TopicPartition(topic, owned.number, self._kafka.OFFSET_BEGINNING)
        if at is None:
            return first
        if at.partitions != self._topics.partitions:
            raise SourceError(
                f"{owned.name}: {topic} has {self._topics.partitions} partitions, and had "
                f"{at.partitions}: computers would change their partition and leave their state "
                "behind; nothing is read (docs/kafka.md, partitions added)"
            )
        if at.topic_id != self._topics.ids[topic]:
            log.error("%s: %s was recreated: reading it from its beginning", owned.name, topic)
            return first
        low, high = consumer.get_watermark_offsets(first, timeout=brokers.SECONDS)
        if low <= at.offset <= high:
            epoch = {} if at.leader_epoch is None else {"leader_epoch": at.leader_epoch}
            return self._kafka.TopicPartition(topic, owned.number, at.offset, **epoch)
        missed = max(0, low - at.offset)
        log.error(
            "%s: %s has the messages %d to %d, and %d is the next to read: %d are lost; "
            "reading all that is there",
            *(owned.name, topic, low, high, at.offset, missed),
        )
        owned.lost(topic, missed)
        return first

    def _revoked(self, consumer: Any, revoked: list[Any]) -> None:
        """Let the partitions go; what was not committed is read again by their next owner."""
        numbers = sorted({each.partition for each in revoked})
        self._queue = [each for each in self._queue if each[0] not in numbers]
        had = [each for each in numbers if each in self._partitions or each in self._apart]
        gone = [each for number in had for each in self._topics.of(number)]
        for number in numbers:
            self._apart.pop(number, None)
            self._refused.pop(number, None)
            self._let_go(number)
        try:
            consumer.incremental_unassign(gone)
        except self._kafka.KafkaException as error:
            self._problem = SourceError(brokers.told(error))

    def _let_go(self, number: int) -> None:
        with self._lock:
            owned = self._partitions.pop(number, None)
        if owned is not None:
            owned.close()
            log.info("%s: this member no longer owns the partition", owned.name)

    def _leave(self) -> None:
        self._queue.clear()
        self._apart.clear()
        self._refused.clear()
        consumer, self._consumer = self._consumer, None
        self._silent = self._joined = False
        if consumer is not None:
            with contextlib.suppress(self._kafka.KafkaException, RuntimeError):
                consumer.close()
        for number in list(self._partitions):
            self._let_go(number)
        self._problem = None

    def close(self) -> None:
        """Leave: a static member keeps its partitions until the session times out."""
        self._leave()
