"""Perfmon counter logs as text: PDH-CSV and PDH-TSV 4.0. Rates in them are formatted per-second
values. A blank cell is no sample."""

import csv
import math
import zlib
from collections.abc import Sequence
from zoneinfo import ZoneInfo

import msgspec

from esewatch.config import LogFiles, Settings
from esewatch.model import CountersSeen, Reading, Source, SourceError
from esewatch.sources.counters.blg.buffers import buffer_size
from esewatch.sources.counters.pdh_clock import (
    ClockState,
    PdhClock,
    contradicted,
    log_zone,
)
from esewatch.sources.counters.perfmon_header import (
    PerfmonColumn,
    PerfmonHeader,
    is_header,
    read_header,
)
from esewatch.sources.files.decoder import NO_ZONE, Decoder, Fed
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.kind import Described, RecordSelection

_LONGEST_CELL = 40
_NO_VALUE = -1.0
"""In the place of a value that typeperf did not get. No counter that feeds a series is negative."""

_CLOSING = frozenset({b"Exiting, please wait...", b"The command completed successfully."})
"""Lines behind the rows of typeperf where its output was put into a file (`> f.csv`)."""


class CsvDecoderState(msgspec.Struct, array_like=True):
    """The state with which a decoder continues in the middle of a file."""

    header: bytes = b""
    """The header line, deflated; empty while none was seen."""
    clock: ClockState = msgspec.field(default_factory=ClockState)
    seen_pending: bool = False
    headless_told: bool = False
    width_told: bool = False
    told: set[int] = set()
    """Columns whose cells were reported as unreadable."""


def open(entry: LogFiles, _settings: Settings, wanted: RecordSelection) -> Source:
    return perfmon_csv_source(
        entry.name,
        entry.paths,
        computer=entry.computer or "",
        timezone=entry.timezone,
        ese_only=wanted.ese_only,
    )


def recognise(head: bytes, _stored: bytes = b"") -> bool:
    return any(is_header(line) for line in head.split(b"\n", 8)[:8])


def describe(entry: LogFiles, _path: str, head: bytes) -> Described:
    lines = head[: head.rfind(b"\n") + 1]
    decoder = PerfmonDecoder(b"", computer="", zone=log_zone(entry.timezone), ese_only=True)
    header = next(filter(is_header, lines.split(b"\n")), None)
    columns = read_header(header).columns if header is not None else []
    return Described(
        decoder.feed(lines, final=True).remarks,
        counters=sorted({(column.object, column.counter) for column in columns}),
        feeds=any(column.feed for column in columns),
    )


def perfmon_csv_source(
    name: str,
    paths: Sequence[str],
    *,
    computer: str = "",
    timezone: str | None = None,
    ese_only: bool = False,
) -> Source:
    """A source over perfmon text logs named by `paths` (paths and globs).

    `computer`: for columns that name no host. `timezone` (zoneinfo name) decides where it has the
    header's offset. `ese_only`: only the counters that feed a metric. Raises
    SourceError when the time zone is unknown.
    """
    zone = log_zone(timezone)

    def factory(path: str, head: bytes, saved: bytes) -> Decoder:
        if not saved:
            _refuse_others(path, head)
        return PerfmonDecoder(saved, computer=computer, zone=zone, ese_only=ese_only)

    def first_time(path: str, head: bytes) -> float | None:
        return _first_time(head, zone)

    return FollowedFiles(name, paths, factory, order=first_time)


def zone_of_text(head: bytes) -> tuple[str, int] | None:
    """Name of the time zone in the header of a log, and minutes west of UTC, if it is there."""
    lines = (line for line in head.split(b"\n") if is_header(line))
    header = read_header(next(lines, b""))
    return None if header.west_seconds is None else (header.zone, header.west_seconds // 60)


def _refuse_others(path: str, head: bytes) -> None:
    if buffer_size(head):
        raise SourceError(f"{path}: a binary counter log: read it with a source perfmon_blg")
    if head[:16].lstrip(b'"').startswith(b"(PDH-BIN"):
        raise SourceError(
            f'{path}: a binary perfmon log, convert it on Windows: relog "{path}" '
            f'-f csv -o "{path}.csv"'
        )
    first, newline, _ = head.lstrip().partition(b"\n")
    if first and newline and b"(PDH-" not in head:
        raise SourceError(f"{path}: no perfmon log in CSV or TSV form: no (PDH-CSV 4.0) header")


def _first_time(head: bytes, zone: ZoneInfo | None) -> float | None:
    clock = PdhClock(zone, ClockState())
    header = None
    for line in head.split(b"\n"):
        if is_header(line):
            header = read_header(line)
            clock.header(header.west_seconds, is_utc=header.is_utc, fresh=True)
        elif header is not None:
            cell = line.decode("latin-1").split(header.delimiter, 1)[0]
            if (seconds := clock.read(cell.strip('" '))) is not None:
                return seconds
    return None


class PerfmonDecoder:
    def __init__(
        self, saved: bytes, *, computer: str, zone: ZoneInfo | None, ese_only: bool
    ) -> None:
        self._computer = computer
        self._ese_only = ese_only
        self._context = (
            msgspec.msgpack.decode(saved, type=CsvDecoderState) if saved else CsvDecoderState()
        )
        self._zone = zone
        self._clock = PdhClock(zone, self._context.clock)
        self._header: PerfmonHeader | None = None
        self._columns: list[PerfmonColumn] = []
        if self._context.header:
            self._take_header(zlib.decompress(self._context.header), fresh=False)

    def save(self) -> bytes:
        return msgspec.msgpack.encode(self._context)

    def feed(self, data: bytes, *, final: bool) -> Fed:
        """Every line is a record of its own."""
        fed = Fed(consumed=len(data))
        at = 0
        for line in data.splitlines(keepends=True):
            if is_header(line):
                header = self._take_header(line, fresh=True)
                fed.unreadable += [(at, fault) for fault in header.faults]
            elif (text := line.strip()) and text not in _CLOSING:
                self._row(line, at, fed)
            at += len(line)
        fed.remarks = self._remarks()
        return fed

    def _remarks(self) -> list[str]:
        header = self._header
        if self._clock.contradicted:
            return [contradicted(str(self._zone))]
        is_naive = header is not None and header.west_seconds is None and self._zone is None
        return [NO_ZONE] if is_naive else []

    def _take_header(self, line: bytes, *, fresh: bool) -> PerfmonHeader:
        header = read_header(line, computer=self._computer)
        self._clock.header(header.west_seconds, is_utc=header.is_utc, fresh=fresh)
        self._header = header
        self._columns = [column for column in header.columns if column.feed or not self._ese_only]
        if fresh:
            context = self._context
            context.header = zlib.compress(line)
            context.seen_pending = bool(header.present)
            context.width_told = False
            context.told = set()
        return header

    def _row(self, line: bytes, at: int, fed: Fed) -> None:
        header = self._header
        if header is None:
            if not self._context.headless_told:
                self._context.headless_told = True
                fed.unreadable.append((at, "rows before the first (PDH-CSV 4.0) header"))
            return
        text = line.decode("latin-1").rstrip("\r\n")
        try:
            cells = next(csv.reader([text], delimiter=header.delimiter), [])
        except csv.Error as error:
            fed.unreadable.append((at, f"row cannot be read: {error}"))
            return
        time = self._clock.read(cells[0]) if cells else None
        if time is None:
            fed.unreadable.append(
                (at, f"no time at the start of the row: {text[:_LONGEST_CELL]!r}")
            )
            return
        if self._context.seen_pending:
            self._context.seen_pending = False
            for computer, found in header.present.items():
                fed.records.append(CountersSeen(time=time, computer=computer, present=found))
        self._check_width(header, cells, text, at, fed)
        self._cells(cells, time, at, fed)

    def _check_width(
        self, header: PerfmonHeader, cells: list[str], text: str, at: int, fed: Fed
    ) -> None:
        if len(cells) < header.width or text.count('"') % 2 == 1:
            # The last cell of a row that was cut may be half a number.
            cells.pop()
        elif len(cells) == header.width:
            return
        if not self._context.width_told:
            self._context.width_told = True
            fed.unreadable.append(
                (at, f"row has {len(cells)} whole cells where the header has {header.width}")
            )
        cells += [""] * (header.width - len(cells))

    def _cells(self, cells: list[str], time: float, at: int, fed: Fed) -> None:
        append = fed.records.append
        for column in self._columns:
            place, computer, object_name, instance, counter, kind, feed = column
            cell = cells[place]
            try:
                value = float(cell)
            except ValueError:
                if not cell.strip():
                    continue
                value = _with_comma(cell)
            if not -math.inf < value < math.inf or "_" in cell:
                self._tell_cell(column, "not a number", cell, at, fed)
            elif value >= 0 or feed is None:
                append(Reading(time, computer, object_name, counter, instance, value, kind, feed))
            elif value != _NO_VALUE:
                self._tell_cell(column, "below 0", cell, at, fed)

    def _tell_cell(self, column: PerfmonColumn, what: str, cell: str, at: int, fed: Fed) -> None:
        if column.place not in self._context.told:
            self._context.told.add(column.place)
            fed.unreadable.append(
                (at, f"column {column.place + 1} is {what}: {cell[:_LONGEST_CELL]!r}")
            )


def _with_comma(cell: str) -> float:
    """The number with a decimal comma, not a number if it is none."""
    try:
        return float(cell.replace(",", ".", 1))
    except ValueError:
        return math.nan
