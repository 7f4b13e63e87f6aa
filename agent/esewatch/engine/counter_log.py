r"""The counter log of the engine: PDH-CSV 4.0 with the names of Exchange 2007.

Every cell is quoted. A rate is a difference over the time between two rows, a latency the
mean of the requests in between, blank when there were none.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from esewatch.engine.clock import Clock
from esewatch.engine.counters import Counters
from esewatch.engine.lines import Lines, last_line
from esewatch.engine.metered import Meter
from esewatch.engine.truth import COUNTERS, Truth
from esewatch.engine.truth_state import Counted, Measured

CLOCK: Final = "(PDH-CSV 4.0) (Coordinated Universal Time)(0)"

INSTANCES: Final = "MSExchange Database ==> Instances"
PROCESS: Final = "MSExchange Database"
MEGABYTE: Final = 2**20

_COLUMNS: Final = (
    "Online Defrag Pages Read/sec",
    "Online Defrag Pages Freed/sec",
    "Online Defrag Pages Dirtied/sec",
    "Online Defrag Log Bytes/sec",
    "Online Maintenance (DB Scan) Pages Read/sec",
    "Online Maintenance (DB Scan) Pages Read",
    "I/O Database Reads/sec",
    "I/O Database Writes/sec",
    "I/O Log Reads/sec",
    "I/O Log Writes/sec",
    "I/O Database Reads Average Latency",
    "I/O Database Writes Average Latency",
    "I/O Log Reads Average Latency",
    "I/O Log Writes Average Latency",
    "Log Generation Checkpoint Depth",
    "Log File Current Generation",
)
"""In the order of the cells that `_cells` makes."""

_PROCESS_COLUMNS: Final = ("Database Cache Size (MB)", "Database Cache Size")

_GREW: Final = (
    "ese_defrag_pages_read_total",
    "ese_defrag_pages_freed_total",
    "",
    "ese_defrag_log_bytes_total",
    "ese_maintenance_pages_read_total",
    'ese_database_io_total{operation="read",phase="all"}',
    'ese_database_io_total{operation="write",phase="all"}',
    'ese_log_io_total{operation="read"}',
    'ese_log_io_total{operation="write"}',
)
"""What each of the counted totals feeds, in the order of `_Seen.totals`."""
_SCANNED: Final = 4
_REQUESTS: Final = 5


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_TIME: Final = "%m/%d/%Y %H:%M:%S.%f"


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The counters of one instance now: running totals since the process started, and levels."""

    instance: str
    counters: Counters
    meter: Meter
    cache_bytes: int
    checkpoint_depth: int
    """Log generations that a recovery would read."""
    log_generation: int
    """The one that is being written."""


class _Seen(msgspec.Struct, frozen=True):
    """A sample as numbers; `totals` in the order of `_GREW`, `seconds` of the requests."""

    totals: tuple[int, ...]
    seconds: tuple[float, ...]
    depth: int
    generation: int

    @classmethod
    def of(cls, sample: Sample) -> "_Seen":
        counters, meter = sample.counters, sample.meter
        figures = (
            meter.database_reads,
            meter.database_writes,
            meter.log_reads,
            meter.log_writes,
        )
        totals = (
            counters.defrag_pages_read,
            counters.defrag_pages_freed,
            counters.defrag_pages_dirtied,
            counters.defrag_log_bytes,
            counters.scan_pages_read,
            *[figure.requests for figure in figures],
        )
        seconds = tuple(figure.seconds for figure in figures)
        return cls(totals, seconds, sample.checkpoint_depth, sample.log_generation)


class _Column(msgspec.Struct):
    """What was written of one instance; `idle` are the cells of a row with nothing new."""

    seen: _Seen
    scanned_before: int
    """Pages that were scanned before the first row."""
    idle: str = ""


class CounterLog:
    """Appends rows to `counters.csv` in `folder`. `buffered`: held back until `flush`.

    The first row of an instance is where its totals begin: take it before any work is done.
    Rows should not be more than 10 minutes apart: a longer first interval is a gap.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        computer: str,
        process: str,
        buffered: bool,
        truth: Truth,
    ) -> None:
        """`computer` and `process` are the names in the columns. Raises OSError."""
        self._clock = clock
        self._computer = computer
        self._process = process
        self._truth = truth
        path = folder / COUNTERS
        self._lines = Lines(path, buffered=buffered, before=truth.ledger)
        self._header = last_line(path, _is_header).decode()
        self._time = _time_of(last_line(path, lambda line: not _is_header(line)))
        self._names: list[str] = []
        self._columns: dict[str, _Column] = {}

    @property
    def last_time(self) -> float:
        """Epoch seconds of the last row, 0 where there is none."""
        return self._time.timestamp()

    def sample(self, samples: Sequence[Sample]) -> None:
        """Append a row of these instances, under a new header when they are others than before.

        Raises OSError.
        """
        header = self._header_if_new([sample.instance for sample in samples])
        now = _EPOCH + timedelta(microseconds=round(self._clock.now() * 1e6))
        now -= timedelta(microseconds=now.microsecond % 1000)
        time = max(now, self._time + _MILLISECOND)
        interval, self._time = (time - self._time) // _MILLISECOND, time
        cells, measured = [], {}
        for sample in samples:
            text, found = self._instance(sample.instance, _Seen.of(sample), interval)
            cells.append(text)
            if found is not None:
                measured[sample.instance] = found
        cache = sum(sample.cache_bytes for sample in samples)
        line = (
            f'{header}"{time:%m/%d/%Y %H:%M:%S}.{time.microsecond // 1000:03}",'
            f'{"".join(cells)}"{cache / MEGABYTE!r}","{cache}"\r\n'
        ).encode()
        end = self._lines.size + len(line)
        self._truth.tell(
            Counted(end=end, process=self._process, cache_bytes=cache, instances=measured)
        )
        self._lines.append(line)

    def flush(self) -> None:
        """Write what is held back. Raises OSError."""
        self._lines.flush()

    def close(self) -> None:
        """Write what is held back and let go of the file. Raises OSError."""
        self._lines.close()

    def _header_if_new(self, names: list[str]) -> str:
        if names == self._names:
            return ""
        self._names = names
        self._columns = {name: self._columns[name] for name in names if name in self._columns}
        header = _header(self._computer, self._process, names)
        if header == self._header:
            return ""
        self._header = header
        return header

    def _instance(self, name: str, seen: _Seen, interval: int) -> tuple[str, Measured | None]:
        """The cells of one instance, and what they say, None when it is what was said before."""
        column = self._columns.get(name)
        if column is None:
            return self._first(name, seen)
        before = column.seen
        if seen == before:
            if not column.idle:
                column.idle = _cells(seen, before, interval, column.scanned_before)
            return column.idle, None
        column.seen, column.idle = seen, ""
        grew = {
            series: total - earlier
            for series, total, earlier in zip(_GREW, seen.totals, before.totals, strict=True)
            if series and total != earlier
        }
        measured = Measured(grew, seen.depth, seen.generation)
        return _cells(seen, before, interval, column.scanned_before), measured

    def _first(self, name: str, seen: _Seen) -> tuple[str, Measured]:
        scanned = seen.totals[_SCANNED]
        self._columns[name] = _Column(seen, scanned)
        grew = {series: 0 for series in _GREW if series}
        return _cells(seen, seen, 1, scanned), Measured(grew, seen.depth, seen.generation)


def _cells(seen: _Seen, before: _Seen, interval: int, scanned_before: int) -> str:
    """The cells in the order of `_COLUMNS`, each with its comma. `interval` in milliseconds."""
    rates = [
        (total - earlier) * 1000 / interval if total != earlier else 0
        for total, earlier in zip(seen.totals, before.totals, strict=True)
    ]
    rates.insert(_SCANNED + 1, seen.totals[_SCANNED] - scanned_before)
    requests = zip(
        seen.totals[_REQUESTS:],
        before.totals[_REQUESTS:],
        seen.seconds,
        before.seconds,
        strict=True,
    )
    latencies = [
        f"{max(0.0, took - earlier_took) * 1000 / (total - earlier):.6f}"
        if total > earlier
        else " "
        for total, earlier, took, earlier_took in requests
    ]
    return "".join(f'"{cell}",' for cell in (*rates, *latencies, seen.depth, seen.generation))


def _header(computer: str, process: str, names: Sequence[str]) -> str:
    paths = [
        rf"\\{computer}\{INSTANCES}({process}/{name})\{counter}"
        for name in names
        for counter in _COLUMNS
    ]
    paths += [rf"\\{computer}\{PROCESS}({process})\{counter}" for counter in _PROCESS_COLUMNS]
    return ",".join(f'"{cell}"' for cell in (CLOCK, *paths)) + "\r\n"


def _is_header(line: bytes) -> bool:
    return line.startswith(b'"(PDH-')


def _time_of(row: bytes) -> datetime:
    """The time of a row, the epoch where there is none."""
    if not row:
        return _EPOCH
    cell = row.decode().split('"', 2)[1]
    return datetime.strptime(cell, _TIME).replace(tzinfo=UTC)
