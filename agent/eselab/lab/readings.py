"""Figures from the logs and counters of the engine."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from eselab.lab.agent import Event, Reading
from eselab.lab.bench import DAY

SCANNED = "Online Maintenance (DB Scan) Pages Read/sec"
DATABASE_READS = "I/O Database Reads/sec"
DATABASE_WRITES = "I/O Database Writes/sec"
DATABASE_READ_LATENCY = "I/O Database Reads Average Latency"
LOG_WRITES = "I/O Log Writes/sec"
LOG_WRITE_LATENCY = "I/O Log Writes Average Latency"

ZEROED = "Online Maintenance (DB Scan) Pages Zeroed/sec"
DEFRAG_LOG_BYTES = "Online Defrag Log Bytes/sec"
GENERATION = "Log File Current Generation"

CHECKSUM, ZEROING = (717, 719, 721), (718, 720, 722)
"""Events of a scan: begun, resumed, completed."""

Sample = Mapping[str, float]


class Point(NamedTuple):
    """A sample of one counter; epoch seconds."""

    time: float
    value: float


class Requests(NamedTuple):
    """Requests to a database file."""

    reads: float
    writes: float

    @property
    def total(self) -> float:
        return self.reads + self.writes


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole scan of one database. Times are epoch seconds."""

    instance: str
    begin: float
    end: float
    pages: int


def scans(events: Iterable[Event], ids: tuple[int, int, int] = CHECKSUM) -> list[Scan]:
    """Those that began and completed without a stop between, by instance and time.

    `ids`: CHECKSUM or ZEROING. An instance has one database.
    """
    began, resumed, completed = ids
    begun: dict[str, float] = {}
    found: list[Scan] = []
    for event in events:
        time = event.time
        if event.event_id == began:
            begun[event.ese_instance] = time
        elif event.event_id == resumed:
            begun.pop(event.ese_instance, None)
        elif event.event_id == completed and event.ese_instance in begun:
            pages = event.fields.get("pages_seen")
            if isinstance(pages, int) and time > begun[event.ese_instance]:
                begin = begun.pop(event.ese_instance)
                found.append(Scan(instance=event.ese_instance, begin=begin, end=time, pages=pages))
    return sorted(found, key=lambda scan: (scan.instance, scan.begin))


def samples(readings: Iterable[Reading]) -> list[Sample]:
    """Counter -> value, one mapping for each instance and time, in the order of time."""
    found: dict[tuple[float, str], dict[str, float]] = {}
    for reading in readings:
        found.setdefault((reading.time, reading.instance), {})[reading.counter] = reading.value
    return [found[key] for key in sorted(found)]


def mean(of: Iterable[Sample], counter: str) -> float | None:
    """The mean of a rate over samples of equal length, None without samples."""
    values = [sample[counter] for sample in of if counter in sample]
    return sum(values) / len(values) if values else None


def latency(of: Iterable[Sample], counter: str, rate: str) -> float | None:
    """Milliseconds of a request: each sample counts as much as there were requests in it."""
    pairs = [(sample[rate], sample[counter]) for sample in of if {rate, counter} <= set(sample)]
    requests = sum(count for count, _ in pairs)
    return sum(count * each for count, each in pairs) / requests if requests else None


def points(readings: Iterable[Reading], instance: str, counter: str) -> list[Point]:
    """The samples of one counter of an instance, in the order of time."""
    return sorted(
        Point(reading.time, reading.value)
        for reading in readings
        if reading.counter == counter and reading.instance.rpartition("/")[2] == instance
    )


def summed(of: Sequence[Point], begin: float, end: float) -> float:
    """The integral of a rate from `begin` until the first sample from `end` on."""
    total = 0.0
    for before, after in pairwise(of):
        if after.time > begin and before.time < end:
            total += after.value * (after.time - before.time)
    return total


def grown(of: Sequence[Point], begin: float, end: float) -> float:
    """The growth of a level from the last sample up to `begin` to the first one from `end` on."""
    before = [point.value for point in of if point.time <= begin]
    after = [point.value for point in of if point.time >= end]
    return after[0] - before[-1] if before and after else 0.0


def requests(readings: Sequence[Reading], instance: str, begin: float, morning: float) -> Requests:
    """Those of an instance from `begin` on, without the first `morning` seconds of each day.

    Days are of UTC; a sample belongs to where it begins.
    """
    return Requests(
        *(
            sum(
                after.value * (after.time - before.time)
                for before, after in pairwise(points(readings, instance, counter))
                if before.time >= begin and before.time % DAY >= morning
            )
            for counter in (DATABASE_READS, DATABASE_WRITES)
        )
    )
