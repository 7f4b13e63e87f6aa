"""Workers on Kafka: events for a second of a processor, two of them, a lost disk, one loud server.

The broker is real and on this machine. CPU is that of the worker's own process, with the threads
of its client; what the broker and the sender take is not in it.
"""

import contextlib
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.figure import Figure
from bench.fleet import DATABASES_A_SERVER, Fleet, days_ago
from bench.json_log import SHAPES, logged
from esewatch.config import Kafka, LogFiles, Settings, SourceSettings
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.journal import Journal
from esewatch.sources.kafka.changelog import Stamp
from esewatch.sources.kafka.kafka_source import MESSAGES, WAIT_SECONDS, KafkaSource
from esewatch.sources.kafka.messages import MessageDecoder
from esewatch.sources.kafka.partition import Partition
from esewatch.sources.kind import EventOptions
from esewatch.sources.registry import build_source
from tests.support.kafka import Broker, needed_java

PARTITIONS = 8
ROUNDS = 3
EVENTS = 20_000
SHARED_EVENTS = 60_000
SERVERS = 3000
HISTORY_DAYS = 35
OTHERS, A_SECOND, LOUDER = 50, 1, 100
PHASE = 10.0
TICK = 0.02
LOUD = "loud"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

Message = tuple[str, bytes]


class Timed(KafkaSource):
    """A worker that notes (moment of sending, seconds until it was folded) of each message."""

    lags: list[tuple[float, float]]

    def _fold(self, owned: Partition, messages: list[Any]) -> None:
        super()._fold(owned, messages)
        now = time.time()
        sent = [each.timestamp()[1] / 1000 for each in messages if each.key() != LOUD.encode()]
        self.lags += [(at, now - at) for at in sent]


def run() -> list[Figure]:
    """All figures, at one broker. Raises RuntimeError where none can be started."""
    try:
        needed_java()
    except pytest.skip.Exception as error:
        raise RuntimeError(str(error)) from error
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        broker = Broker(folder / "broker", optimised=True)
        try:
            return [
                *(beside_a_bare_consume(broker, folder, share) for share in (100, 5)),
                two_workers(broker, folder),
                rebuilt(broker, folder, SERVERS),
                one_loud_computer(broker, folder),
            ]
        finally:
            broker.kill()


def events(count: int, share: int = 100) -> list[Message]:
    """Events as Winlogbeat sends them; `share` of a hundred are of ESE."""
    found = []
    for number, event in enumerate(logged(count)):
        if number * share % 100 >= share:
            event = event._replace(
                provider="Service Control Manager",
                event_id=7036,
                strings=["Windows Update", "stopped"],
                message="The Windows Update service entered the stopped state.",
            )
        found.append((event.computer, msgspec.json.encode(SHAPES["Winlogbeat"](event))))
    return found


def settings(address: str, folder: Path, topic: str, **more: Any) -> tuple[Kafka, Settings]:
    """Of a worker; the topic is its group, too."""
    client: dict[str, str] = {"session.timeout.ms": "45000", "log_level": "0"}
    entry = Kafka(
        type="kafka", name="fleet", brokers=[address], topics=[topic], group=topic, client=client,
        **more,
    )  # fmt: skip
    folder.mkdir(parents=True)
    return entry, Settings(sources=[entry], journal=str(folder / "journal.db"))


def worker(address: str, folder: Path, topic: str, **more: Any) -> KafkaSource:
    """A worker that has not joined yet."""
    source = build_source(*settings(address, folder, topic, **more))
    assert isinstance(source, KafkaSource)
    return source


def records(source: KafkaSource) -> int:
    """Records of ESE that its partitions have taken in."""
    return sum(each.records for one in source.folders() for each in one.state.sources.values())


def read(source: KafkaSource, count: int) -> float:
    """CPU seconds until it has that many records and is at the end of its partitions."""
    begin = time.process_time()
    done = False
    while not done or records(source) < count:
        *_, last = source.poll()
        done = last.caught_up
    return time.process_time() - begin


def consumed(broker: Broker, topic: str) -> float:
    """CPU seconds of a loop that takes all messages as the source does, and does nothing."""
    import confluent_kafka as kafka  # noqa: PLC0415  # an extra

    consumer = kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": f"{topic}-bare",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    begin = time.process_time()
    first = kafka.OFFSET_BEGINNING
    consumer.assign([kafka.TopicPartition(topic, number, first) for number in range(PARTITIONS)])
    left = PARTITIONS
    while left:
        for message in consumer.consume(MESSAGES, WAIT_SECONDS):
            left -= message.error() is not None
    spent = time.process_time() - begin
    consumer.close()
    return spent


def beside_a_bare_consume(broker: Broker, folder: Path, share: int) -> Figure:
    """Messages a CPU second of a worker, by those of a loop that only consumes."""
    topic = f"share-{share}"
    broker.make(topic, PARTITIONS)
    messages = events(EVENTS, share)
    broker.send(topic, messages)
    ours, bare = [], []
    for number in range(ROUNDS):
        source = worker(broker.address, folder / f"{topic}-{number}", topic)
        ours.append(read(source, EVENTS * share // 100))
        source.close()
        bare.append(consumed(broker, topic))
    median = statistics.median
    size = sum(len(value) for _, value in messages) / len(messages)
    return Figure(
        f"Kafka, {share} % ESE: messages a CPU second of a worker beside a bare consume",
        median(b / a for a, b in zip(ours, bare, strict=True)),
        "x",
        details=f"{EVENTS:,} events of Winlogbeat, one a message of {size:,.0f} bytes, median of "
        f"{ROUNDS}; ours {EVENTS / median(ours):,.0f}/s with every commit, "
        f"`consume` alone {EVENTS / median(bare):,.0f}/s",
    )


def _member(pipe: Connection, address: str, folder: Path, topic: str, share: int) -> None:
    """Own so many partitions; then read what is in them by then, once it is said how much."""
    source = worker(address, folder, topic)
    while len(source.folders()) != share:
        list(source.poll())
    pipe.send(sorted(int(each) for folder in source.folders() for each in _numbers(folder)))
    pipe.send(read(source, pipe.recv()))
    source.close()


def _numbers(folder: Folder) -> Iterator[str]:
    return (name.rpartition("/")[2] for name in folder.state.sources)


def _shared(broker: Broker, folder: Path, topic: str, workers: int) -> float:
    """Events a CPU second of so many workers that share the topic."""
    broker.make(topic, PARTITIONS)
    messages = events(SHARED_EVENTS)
    keys = sorted({key for key, _ in messages})
    at = {key: number % PARTITIONS for number, key in enumerate(keys)}
    spawning = multiprocessing.get_context("spawn")
    with contextlib.ExitStack() as stack:
        pipes = []
        for number in range(workers):
            here, there = spawning.Pipe()
            arguments = (there, broker.address, folder / f"{topic}-{number}", topic)
            process = spawning.Process(
                target=_member, args=(*arguments, PARTITIONS // workers), daemon=True
            )
            process.start()
            stack.callback(process.join)
            stack.callback(process.kill)
            pipes.append(here)
        owned = [pipe.recv() for pipe in pipes]
        counts = [0] * PARTITIONS
        for number in range(PARTITIONS):
            own = [each for each in messages if at[each[0]] == number]
            broker.send(topic, own, number)
            counts[number] = len(own)
        for pipe, numbers in zip(pipes, owned, strict=True):
            pipe.send(sum(counts[number] for number in numbers))
        spent: list[float] = [pipe.recv() for pipe in pipes]
    return SHARED_EVENTS / sum(spent)


def two_workers(broker: Broker, folder: Path) -> Figure:
    """Events for a CPU second of two workers beside one."""
    pairs = [
        tuple(_shared(broker, folder, f"round-{number}-{count}", count) for count in (1, 2))
        for number in range(ROUNDS)
    ]
    one, two = (statistics.median(each) for each in zip(*pairs, strict=True))
    return Figure(
        "Kafka: events a CPU second of two workers beside one",
        statistics.median(pair[1] / pair[0] for pair in pairs),
        "x",
        "at least",
        0.9,
        f"{SHARED_EVENTS:,} events of Winlogbeat in a topic that was filled before, median of "
        f"{ROUNDS}; one {one:,.0f}/s, two {two:,.0f}/s",
    )


def month_of_a_server(folder: Path) -> dict[tuple[str, ...], bytes]:
    """The rows of a journal that has a month of events and counters of one server."""
    fleet = Fleet(folder / "logs", DATABASES_A_SERVER, days_ago(HISTORY_DAYS))
    fleet.grow(HISTORY_DAYS)
    entries: list[SourceSettings] = [
        LogFiles(type="event_stream", name="events", paths=[f"{fleet.folder}/*.ndjson"]),
        LogFiles(type="perfmon_csv", name="counters", paths=[f"{fleet.folder}/*.csv"]),
    ]
    config = Settings(sources=entries)
    folded = Folder(State(), config)
    for entry in config.sources:
        source = build_source(entry, config)
        folded.open_source(source.name, time.time())
        for batch in source.poll(final=True):
            folded.fold(source.name, batch, time.time())
        source.close()
    journal = Journal(folder / "journal.db")
    journal.load()
    journal.commit(folded.state, folded.changed, {})
    rows = journal.every_row()
    journal.close()
    return {key: row for key, row in rows.items() if key[0] not in {"source", "position"}}


def renamed(rows: Mapping[tuple[str, ...], bytes], number: int) -> dict[tuple[str, ...], bytes]:
    """The rows of another server, its databases with names of their own, of the same length."""
    code = "".join(_DIGITS[number // 36**place % 36] for place in (2, 1, 0))

    def other(data: bytes) -> bytes:
        for name in (b"ex", b"EX", b"db", b"DB"):
            data = data.replace(name + b"000", name + code.encode())
        return data

    return {
        tuple(other(part.encode()).decode() for part in key): other(row)
        for key, row in rows.items()
    }


def rebuilt(broker: Broker, folder: Path, servers: int) -> Figure:
    """Seconds until a worker without a disk has the state of all servers from its changelog."""
    rows = month_of_a_server(folder)
    size = sum(map(len, rows.values())) / DATABASES_A_SERVER
    broker.make("rebuild", PARTITIONS)
    broker.make("rebuild-state", PARTITIONS, cleanup_policy="compact")
    for number in range(PARTITIONS):
        stamp = msgspec.msgpack.encode(Stamp(group="rebuild", epoch=1, owner="bench"))
        key = msgspec.msgpack.encode(("position", f"fleet/{number} changelog", ""))
        made = _changes(rows, range(number, servers, PARTITIONS))
        broker.send("rebuild-state", [(key, stamp)], number)
        broker.send("rebuild-state", made, number)
    source = worker(broker.address, folder / "rebuild", "rebuild", changelog="rebuild-state")
    begin, cpu = time.monotonic(), time.process_time()
    while len(source.folders()) < PARTITIONS:
        list(source.poll())
    seconds, spent = time.monotonic() - begin, time.process_time() - cpu
    databases = sum(len(each.state.databases) for each in source.folders())
    source.close()
    if databases != servers * DATABASES_A_SERVER:
        raise RuntimeError(f"{databases:,} databases came back of {servers * DATABASES_A_SERVER:,}")
    return Figure(
        f"Kafka: {databases:,} databases from the changelog, without a disk",
        seconds,
        "s",
        "under",
        60,
        f"{PARTITIONS} partitions, {size / 1000:.1f} KB a database ({HISTORY_DAYS} days of events "
        f"and counters), {size * databases / 1e6:,.0f} MB; {spent:.1f} CPU-s, with a "
        f"load of {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores",
    )


def _changes(
    rows: Mapping[tuple[str, ...], bytes], servers: range
) -> Iterator[tuple[bytes, bytes]]:
    for server in servers:
        for key, row in renamed(rows, server).items():
            yield msgspec.msgpack.encode(key), row


def _listen(pipe: Connection, address: str, folder: Path, topic: str) -> None:
    """Read until something is said, then hand out the lags."""
    source = Timed(*settings(address, folder, topic), MessageDecoder(EventOptions()))
    source.lags = []
    while len(source.folders()) < PARTITIONS:
        list(source.poll())
    pipe.send("ready")
    while not pipe.poll():
        list(source.poll())
    pipe.send(source.lags)
    source.close()


def one_loud_computer(broker: Broker, folder: Path) -> Figure:
    """The p99 of the lag of the others while one computer sends 100 times as much."""
    broker.make("lag", PARTITIONS)
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe()
    arguments = (there, broker.address, folder / "lag", "lag")
    process = spawning.Process(target=_listen, args=arguments, daemon=True)
    process.start()
    try:
        here.recv()
        _sent(broker, loud=False)  # to warm up
        spans = [_sent(broker, loud=loud) for _ in range(ROUNDS) for loud in (False, True)]
        time.sleep(2.0)
        here.send("end")
        lags: list[tuple[float, float]] = here.recv()
    finally:
        process.kill()
        process.join()
    worst = [_p99([lag for at, lag in lags if begin <= at < end]) for begin, end in spans]
    if max(worst[::2]) > PHASE:
        raise RuntimeError(
            f"the worker cannot keep up here: p99 of its lag {max(worst[::2]):.0f} s"
        )
    quiet, loud = statistics.median(worst[::2]), statistics.median(worst[1::2])
    return Figure(
        f"Kafka: p99 of the lag while one computer sends {LOUDER} times as much",
        statistics.median(b / a for a, b in zip(worst[::2], worst[1::2], strict=True)),
        "x",
        "under",
        2,
        f"of {OTHERS} others, {A_SECOND} event a second each, {PHASE:.0f} s, median of {ROUNDS}; "
        f"{1000 * loud:,.0f} ms, {1000 * quiet:,.0f} ms without it",
    )


def _p99(lags: Sequence[float]) -> float:
    return statistics.quantiles(lags, n=100)[98]


def _sent(broker: Broker, *, loud: bool) -> tuple[float, float]:
    """Send for a while at a steady pace; from when to when."""
    from confluent_kafka import Producer  # noqa: PLC0415  # an extra

    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 5, "log_level": 0})
    names = [f"EX{number:03}" for number in range(OTHERS)] + [LOUD] * LOUDER * loud
    begin, sent = time.time(), 0
    while (now := time.time()) < begin + PHASE:
        due = int((now - begin) * A_SECOND * len(names))
        for number in range(sent, due):
            name = names[number % len(names)]
            producer.produce("lag", _line(name, now, int(1e6 * begin) + number), key=name)
        producer.poll(0)
        sent = max(sent, due)
        time.sleep(TICK)
    producer.flush(60)
    return begin, begin + PHASE


def _line(computer: str, at: float, number: int) -> bytes:
    strings = ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"]
    winlog = {
        "provider_name": "ESE",
        "event_id": 704 if number % 2 else 702,
        "computer_name": computer,
        "channel": "Application",
        "record_id": number,
        "event_data": {f"param{place}": text for place, text in enumerate(strings, 1)},
    }
    stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at))}.{int(at % 1 * 1e6):06}Z"
    return msgspec.json.encode({"@timestamp": stamp, "winlog": winlog})
