r"""The counters of the engine as a binary log, `counters.blg`: totals as they are, not rates.

A log is of one process: a run that goes on begins `counters-2.blg`, and so on, as Performance
Monitor numbers its own.
"""

from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from eselab.base.programs import Program
from eselab.logs.binary.binary_log import (
    AVERAGE_BULK,
    COUNTER,
    LARGE_RAWCOUNT,
    BinaryLog,
    Entry,
    filetime,
    wildcard,
)
from eselab.logs.counter_log import MEGABYTE, Sample

BINARY: Final = "counters{}.blg"

Value = Callable[[Sample], int]


class _Counter(NamedTuple):
    """One counter: its type, where its value comes from, and its base if it is an average."""

    type: int
    value: Value
    base: Value | None = None


def _requests(which: str) -> Value:
    return lambda sample: int(getattr(sample.meter, which).requests)


def _latency(which: str) -> _Counter:
    """Milliseconds of all requests by their number."""
    return _Counter(
        AVERAGE_BULK,
        lambda sample: round(getattr(sample.meter, which).seconds * 1000),
        _requests(which),
    )


_SCANNED: Final = _Counter(COUNTER, lambda sample: sample.counters.scan_pages_read)
_SCANNED_TOTAL: Final = _SCANNED._replace(type=LARGE_RAWCOUNT)
_ZEROED: Final = _Counter(COUNTER, lambda sample: sample.counters.scan_pages_zeroed)
_READS: Final = _Counter(COUNTER, _requests("database_reads"))
_WRITES: Final = _Counter(COUNTER, _requests("database_writes"))
_LEVEL: Final = LARGE_RAWCOUNT

_COUNTERS: Final = {
    "Online Defrag Pages Read/sec": _Counter(COUNTER, lambda s: s.counters.defrag_pages_read),
    "Online Defrag Pages Freed/sec": _Counter(COUNTER, lambda s: s.counters.defrag_pages_freed),
    "Online Defrag Pages Dirtied/sec": _Counter(COUNTER, lambda s: s.counters.defrag_pages_dirtied),
    "Online Defrag Log Bytes/sec": _Counter(COUNTER, lambda s: s.counters.defrag_log_bytes),
    "Online Maintenance (DB Scan) Pages Read/sec": _SCANNED,
    "Online Maintenance (DB Scan) Pages Read": _SCANNED_TOTAL,
    "Database Maintenance Pages Read/sec": _SCANNED,
    "Database Maintenance Pages Read": _SCANNED_TOTAL,
    "I/O Database Reads/sec": _READS,
    "I/O Database Writes/sec": _WRITES,
    "I/O Log Reads/sec": _Counter(COUNTER, _requests("log_reads")),
    "I/O Log Writes/sec": _Counter(COUNTER, _requests("log_writes")),
    "I/O Database Reads Average Latency": _latency("database_reads"),
    "I/O Database Writes Average Latency": _latency("database_writes"),
    "I/O Log Reads Average Latency": _latency("log_reads"),
    "I/O Log Writes Average Latency": _latency("log_writes"),
    "Log Generation Checkpoint Depth": _Counter(_LEVEL, lambda s: s.checkpoint_depth),
    "Log File Current Generation": _Counter(_LEVEL, lambda s: s.log_generation),
    "Online Maintenance (DB Scan) Pages Zeroed/sec": _ZEROED,
    "Online Maintenance (DB Scan) Pages Zeroed": _ZEROED._replace(type=LARGE_RAWCOUNT),
    "Database Maintenance Duration": _Counter(_LEVEL, lambda s: s.duration or 0),
    "I/O Database Reads (Recovery)/sec": _READS,
    "I/O Database Writes (Recovery)/sec": _WRITES,
    "I/O Database Reads (Recovery) Average Latency": _latency("database_reads"),
    "I/O Database Writes (Recovery) Average Latency": _latency("database_writes"),
}
"""Every counter that the text log of some instance has."""


class BinaryCounterLog:
    """Writes `counters.blg` in `folder`; the log begins with the first sample."""

    def __init__(self, folder: Path, *, computer: str, program: Program) -> None:
        """`computer` and `program` are named in the log."""
        self._folder = folder
        self._process = program.counted_as
        instances = f"{program.counters} ==> Instances"
        self._entries = [
            *[Entry(computer, instances, "*", name, each.type) for name, each in _COUNTERS.items()],
            Entry(computer, program.counters, "*", "Database Cache Size", LARGE_RAWCOUNT),
            Entry(computer, program.counters, "*", "Database Cache Size (MB)", LARGE_RAWCOUNT),
        ]
        self._log: BinaryLog | None = None

    def sample(self, seconds: float, samples: Sequence[Sample]) -> None:
        """Append a sample at `seconds`, that of the row of the text log. Raises OSError."""
        if self._log is None:
            self._log = self._begin(seconds)
        now = filetime(seconds)
        records = [
            wildcard(
                now,
                [
                    (
                        f"{self._process}/{sample.instance}",
                        each.value(sample),
                        each.base(sample) if each.base else now,
                    )
                    for sample in samples
                    if name in sample.columns
                ],
            )
            for name, each in _COUNTERS.items()
        ]
        cache = sum(sample.cache_bytes for sample in samples)
        records += [
            wildcard(now, [(self._process, size, now)]) for size in (cache, cache // MEGABYTE)
        ]
        self._log.sample(now, records)

    def close(self) -> None:
        """Write what is held back and close the file. Raises OSError."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def _begin(self, seconds: float) -> BinaryLog:
        for number in count(1):
            path = self._folder / BINARY.format(f"-{number}" if number > 1 else "")
            if not path.exists():
                break
        log = BinaryLog(path, seconds)
        log.catalogue(self._entries, filetime(seconds))
        return log
