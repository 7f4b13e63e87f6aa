r"""The counter log of the engine: PDH-CSV 4.0 with the names of its generation.

Every cell is quoted. A rate is a difference over the time between two rows, a latency the
mean of the requests in between, blank when there were none.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from eselab.base.clock import Clock
from eselab.base.programs import Program
from eselab.disk.metered import Meter
from eselab.logs.counters import Counters
from eselab.logs.lines import Lines, last_line
from eselab.logs.truth import COUNTERS, Truth
from eselab.logs.truth_entries import Counted, Measured

CLOCK: Final = "(PDH-CSV 4.0) (Coordinated Universal Time)(0)"

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

_ZEROING_COLUMNS: Final = (
    "Online Maintenance (DB Scan) Pages Zeroed/sec",
    "Online Maintenance (DB Scan) Pages Zeroed",
)
"""Behind the others, of an instance whose scan zeroes pages."""
_ZEROED: Final = "ese_maintenance_pages_zeroed_total"

_CURRENT_COLUMNS: Final = tuple(
    name.replace("Online Maintenance (DB Scan)", "Database Maintenance") for name in _COLUMNS
)
"""The same, as current engines name them."""
_DURATION: Final = "Database Maintenance Duration"
"""Behind them. Its help text says hours, and it has seconds (ese-facts 2.2)."""

_RECOVERY_COLUMNS: Final = (
    "I/O Database Reads (Recovery)/sec",
    "I/O Database Writes (Recovery)/sec",
    "I/O Database Reads (Recovery) Average Latency",
    "I/O Database Writes (Recovery) Average Latency",
)
"""Behind all others, of a passive copy: its requests are all those of a recovery."""
_ALL_PHASES: Final = 'phase="all"'
_RECOVERY: Final = 'phase="recovery"'

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
"""Metric that each of the counted totals feeds, in the order of `_Seen.totals`."""
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
    zeroes: bool = False
    """True if its scan zeroes pages."""
    duration: int | None = None
    """Of a current engine: the seconds of the run of its scan, 0: none, 1: it is suspended."""
    recovers: bool = False
    """True if it is a passive copy."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Its counters, in the order of the cells."""
        behind = _RECOVERY_COLUMNS if self.recovers else ()
        if self.duration is not None:
            return (*_CURRENT_COLUMNS, _DURATION, *behind)
        return (*_COLUMNS, *(_ZEROING_COLUMNS if self.zeroes else ()), *behind)


class _Seen(NamedTuple):
    """A sample as numbers; `totals` in the order of `_GREW`, `seconds` of the requests."""

    totals: tuple[int, ...]
    seconds: tuple[float, ...]
    depth: int
    generation: int
    zeroed: int | None
    """Pages; None where the scan does not zero."""
    duration: int | None
    recovers: bool

    @classmethod
    def of(cls, sample: Sample) -> "_Seen":
        counters, meter = sample.counters, sample.meter
        figures = (meter.database_reads, meter.database_writes, meter.log_reads, meter.log_writes)
        totals = (
            counters.defrag_pages_read,
            counters.defrag_pages_freed,
            counters.defrag_pages_dirtied,
            counters.defrag_log_bytes,
            counters.scan_pages_read,
            *[figure.requests for figure in figures],
        )
        seconds = tuple(figure.seconds for figure in figures)
        zeroed = counters.scan_pages_zeroed if sample.zeroes else None
        depth, generation = sample.checkpoint_depth, sample.log_generation
        return cls(totals, seconds, depth, generation, zeroed, sample.duration, sample.recovers)


class _Column(msgspec.Struct):
    """Values that were written of one instance; `idle` are the cells of a row with nothing new."""

    seen: _Seen
    first: _Seen
    """Of its first row: the totals that are shown as totals begin there."""
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
        program: Program,
        buffered: bool,
        truth: Truth,
    ) -> None:
        """`computer` and `program` are named in the columns. Raises OSError."""
        self._clock = clock
        self._computer = computer
        self._program = program
        self._truth = truth
        path = folder / COUNTERS
        self._lines = Lines(path, buffered=buffered, before=truth.ledger)
        self._header = last_line(path, _is_header).decode()
        self._time = _time_of(last_line(path, lambda line: not _is_header(line)))
        self._names: dict[str, tuple[str, ...]] = {}
        self._columns: dict[str, _Column] = {}

    @property
    def last_time(self) -> float:
        """Epoch seconds of the last row, 0 where there is none."""
        return self._time.timestamp()

    def sample(self, samples: Sequence[Sample]) -> None:
        """Append a row of these instances, under a new header when they are others than before.

        Raises OSError.
        """
        header = self._header_if_new({sample.instance: sample.columns for sample in samples})
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
            Counted(
                end=end, process=self._program.counted_as, cache_bytes=cache, instances=measured
            )
        )
        self._lines.append(line)

    def flush(self) -> None:
        """Write the buffered rows. Raises OSError."""
        self._lines.flush()

    def close(self) -> None:
        """Write the buffered rows and close the file. Raises OSError."""
        self._lines.close()

    def _header_if_new(self, names: dict[str, tuple[str, ...]]) -> str:
        """`names` of the instances, and the counters of each."""
        if list(names.items()) == list(self._names.items()):
            return ""
        self._names = names
        self._columns = {name: self._columns[name] for name in names if name in self._columns}
        header = _header(self._computer, self._program, names)
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
                column.idle = _cells(seen, before, interval, column.first)
            return column.idle, None
        column.seen, column.idle = seen, ""
        grew = {
            series: total - earlier
            for series, total, earlier in zip(_GREW, seen.totals, before.totals, strict=True)
            if series and total != earlier
        }
        if seen.zeroed != before.zeroed:
            grew[_ZEROED] = (seen.zeroed or 0) - (before.zeroed or 0)
        measured = Measured(_phased(grew, seen), {}, seen.depth, seen.generation)
        return _cells(seen, before, interval, column.first), measured

    def _first(self, name: str, seen: _Seen) -> tuple[str, Measured]:
        self._columns[name] = _Column(seen, seen)
        grew = {series: 0 for series in _GREW if series}
        if seen.zeroed is not None:
            grew[_ZEROED] = 0
        opened = {
            series: total
            for series, total in zip(_GREW, seen.totals, strict=True)
            if series and total
        }
        return _cells(seen, seen, 1, seen), Measured(
            _phased(grew, seen), _phased(opened, seen), seen.depth, seen.generation
        )


def _cells(seen: _Seen, before: _Seen, interval: int, first: _Seen) -> str:
    """The cells in the order of the columns, each with its comma. `interval` in milliseconds."""
    rates = [
        _rate(total, earlier, interval)
        for total, earlier in zip(seen.totals, before.totals, strict=True)
    ]
    rates.insert(_SCANNED + 1, seen.totals[_SCANNED] - first.totals[_SCANNED])
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
    cells = [*rates, *latencies, seen.depth, seen.generation]
    if seen.zeroed is not None:
        zeroed, earlier, at_first = seen.zeroed, before.zeroed or 0, first.zeroed or 0
        cells += [_rate(zeroed, earlier, interval), zeroed - at_first]
    if seen.duration is not None:
        cells.append(seen.duration)
    if seen.recovers:
        cells += [*rates[_REQUESTS + 1 : _REQUESTS + 3], *latencies[:2]]
    return "".join(f'"{cell}",' for cell in cells)


def _phased(grew: dict[str, int], seen: _Seen) -> dict[str, int]:
    """Growth; of a copy in the phase of recovery, which the agent prefers to all phases."""
    if not seen.recovers:
        return grew
    return {series.replace(_ALL_PHASES, _RECOVERY): amount for series, amount in grew.items()}


def _rate(total: int, earlier: int, interval: int) -> float:
    """A second; `interval` in milliseconds."""
    return (total - earlier) * 1000 / interval if total != earlier else 0


def _header(computer: str, program: Program, names: Mapping[str, tuple[str, ...]]) -> str:
    counters, process = program.counters, program.counted_as
    paths = [
        rf"\\{computer}\{counters} ==> Instances({process}/{name})\{counter}"
        for name, own in names.items()
        for counter in own
    ]
    paths += [rf"\\{computer}\{counters}({process})\{counter}" for counter in _PROCESS_COLUMNS]
    return ",".join(f'"{cell}"' for cell in (CLOCK, *paths)) + "\r\n"


def _is_header(line: bytes) -> bool:
    return line.startswith(b'"(PDH-')


def _time_of(row: bytes) -> datetime:
    """The time of a row, the epoch where there is none."""
    if not row:
        return _EPOCH
    cell = row.decode().split('"', 2)[1]
    return datetime.strptime(cell, _TIME).replace(tzinfo=UTC)
