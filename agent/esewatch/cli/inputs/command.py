"""`events` and `counters`: many logs in, data out."""

import argparse
import csv
import math
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

import msgspec

from esefiles.base.command import add_format_option
from esefiles.base.names import one_line
from esewatch.advice.base.finding import counted
from esewatch.cli.inputs.reading import Reader
from esewatch.cli.options import add_input_options, time_of
from esewatch.cli.output import naming, tell
from esewatch.expose.formatting import iso_time
from esewatch.fold.databases.integrity import IO_ERRORS, PAGE_EVENTS
from esewatch.fold.state.damage import DAMAGE
from esewatch.model import Event, FieldValue, Reading, SourceError
from esewatch.sources.detect_input import COUNTER_LOGS, zone_of

_LARGEST_ID = 65_535
_WRONG = IO_ERRORS.union(PAGE_EVENTS, DAMAGE)


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    events = commands.add_parser(
        "events",
        epilog="example: esewatch events --format json Application.evtx",
    )
    add_input_options(events)
    add_format_option(events)
    events.add_argument(
        "--companions", action="store_true", help="include related events from other providers"
    )
    events.add_argument(
        "--since", type=time_of, metavar="T", help="events from this time (2026-01-31, UTC) on"
    )
    events.add_argument("--until", type=time_of, metavar="T", help="events up to this time only")
    events.add_argument(
        "--id",
        type=_event_ids,
        action="extend",
        metavar="N",
        help="only events with these ids: 703, or 700-705,717; may be repeated",
    )
    events.set_defaults(function=print_events)
    counters = commands.add_parser(
        "counters",
        epilog="example: esewatch counters --format csv ex01.blg > ex01.csv",
    )
    add_input_options(counters)
    add_format_option(counters, "csv")
    counters.add_argument("--ese", action="store_true", help="only those that feed a metric")
    counters.set_defaults(function=print_counters)


def print_events(options: argparse.Namespace) -> int:
    """`events`: exit status 1 when a page error, damage or an I/O error is among them, or a piece
    was unreadable."""
    reader = Reader(options, companions=options.companions, ese_only=True)
    chosen = _EventSelection(options)
    bad = False
    for _, batches in reader.inputs():
        for batch in batches:
            events = [each for each in batch.records if isinstance(each, Event) and each in chosen]
            bad = bad or any(event.event_id in _WRONG for event in events)
            if options.format == "json":
                sys.stdout.write(event_lines(events))
            else:
                sys.stdout.writelines(map(_event_text, events))
    if chosen.untimed:
        those = counted(chosen.untimed, "event has no time and is", "events have no time and are")
        tell(f"{those} left out by --since or --until")
    return reader.status(wrong=bad)


def _event_ids(text: str) -> list[int]:
    """The ids of `703` or `700-705,717`."""
    found: list[int] = []
    for part in text.split(","):
        numbers = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part.strip())
        first, last = map(int, (numbers[1], numbers[2] or numbers[1])) if numbers else (1, 0)
        if not first <= last <= _LARGEST_ID:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not an event id such as 703 or 700-705,717"
            )
        found += range(first, last + 1)
    return found


class _EventSelection:
    """The events asked for; `untimed` counts those left out because their time is unknown."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.untimed = 0
        self._ids = frozenset(options.id or ())
        self._dated = options.since is not None or options.until is not None
        self._since = -math.inf if options.since is None else options.since
        self._until = math.inf if options.until is None else options.until

    def __contains__(self, event: Event) -> bool:
        if self._ids and event.event_id not in self._ids:
            return False
        if event.time is None:
            self.untimed += self._dated
            return not self._dated
        return bool(self._since <= event.time <= self._until)


def print_counters(options: argparse.Namespace) -> int:
    """`counters`: every sample, or with `--ese` those that feed a metric."""
    reader = Reader(options, companions=False, ese_only=options.ese, kinds=COUNTER_LOGS)
    table = CounterCsv(reader.paths) if options.format == "csv" else None
    show = _reading_json if options.format == "json" else _reading_text
    for _, batches in reader.inputs():
        for batch in batches:
            for record in batch.records:
                if not isinstance(record, Reading) or (options.ese and not record.feed):
                    continue
                if table is not None:
                    table.add(record)
                elif math.isfinite(record.value):
                    sys.stdout.write(show(record))
    if table is not None:
        table.write()
    return reader.status()


_encoder = msgspec.json.Encoder()


class EventLine(msgspec.Struct, omit_defaults=True, gc=False):
    """An event as `--format json` prints it; what is unknown is absent."""

    time: str = ""
    computer: str = ""
    channel: str = ""
    provider: str = ""
    event_id: int | None = None
    record_id: int | None = None
    level: str | None = None
    process: str = ""
    ese_instance: str = ""
    database: str = ""
    task: str | None = None
    stage: str | None = None
    fields: dict[str, FieldValue] = {}
    strings: tuple[str, ...] = ()


_shown = attrgetter(*EventLine.__struct_fields__[1:])


def event_line(event: Event) -> EventLine:
    return EventLine(iso_time(event.time) or "", *_shown(event))


def event_lines(events: Iterable[Event]) -> str:
    return _encoder.encode_lines(map(event_line, events)).decode()


def _event_text(event: Event) -> str:
    fields = " ".join(f"{name}={value}" for name, value in event.fields.items())
    what = " ".join(part for part in (event.task, event.stage) if part)
    parts = (
        iso_time(event.time) or "-",
        event.computer or "-",
        event.provider,
        str(event.event_id),
        what or event.level or "-",
        event.database or event.ese_instance or "-",
        fields,
    )
    return one_line("  ".join(part for part in parts if part)) + "\n"


def _reading_json(reading: Reading) -> str:
    found = {
        "time": iso_time(reading.time) or "",
        "computer": reading.computer,
        "object": reading.object,
        "instance": reading.instance,
        "counter": reading.counter,
        "value": reading.value,
        "raw": "" if reading.raw is None else reading.raw,
        "kind": reading.kind,
        "metric": reading.feed.metric if reading.feed else "",
    }
    kept = {key: value for key, value in found.items() if value != ""}
    return _encoder.encode(kept).decode("utf-8", "surrogatepass") + "\n"


def _reading_text(reading: Reading) -> str:
    name = counter_path(reading)
    return one_line(f"{iso_time(reading.time) or '-'}  {name}  {reading.value:g}") + "\n"


_BLANK = " "
# Standard output makes both of `\n` on Windows.
_END = "\n" if os.name == "nt" else "\r\n"
_START = datetime(1970, 1, 1)


class _Row(msgspec.Struct, array_like=True):
    time: float
    cells: dict[int, float] = {}


class CounterCsv:
    """Collects readings in the order in which they come; `write` prints the log."""

    def __init__(self, paths: Iterable[str]) -> None:
        """`paths` of the inputs: the times are local to the first that tells a zone."""
        self._zone, self._west = _first_zone(paths)
        self._columns: dict[str, int] = {}
        self._rows: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._row: _Row | None = None

    def add(self, reading: Reading) -> None:
        number = self._columns.setdefault(counter_path(reading), len(self._columns))
        if self._row is None or self._row.time != reading.time:
            self._keep()
            self._row = _Row(reading.time)
        if math.isfinite(reading.value):
            self._row.cells[number] = reading.value

    def write(self) -> None:
        """Print header and rows. Without a sample nothing is printed."""
        self._keep()
        log = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL, lineterminator=_END)
        if self._columns:
            clock = f"(PDH-CSV 4.0) ({self._zone})({self._west})"
            log.writerow([clock, *self._columns])
        self._rows.seek(0)
        blanks = [_BLANK] * len(self._columns)
        for line in self._rows:
            row = msgspec.json.decode(line, type=_Row)
            cells = blanks.copy()
            for number, value in row.cells.items():
                cells[number] = f"{value:.17g}"
            log.writerow([self._shown(row.time), *cells])
        self._rows.close()

    def _keep(self) -> None:
        if self._row is not None:
            with naming(Path(tempfile.gettempdir())):
                self._rows.write(msgspec.json.encode(self._row) + b"\n")
            self._row = None

    def _shown(self, time: float) -> str:
        local = _START + timedelta(milliseconds=round(time * 1000) - self._west * 60_000)
        return f"{local:%m/%d/%Y %H:%M:%S}.{local.microsecond // 1000:03}"


def counter_path(reading: Reading) -> str:
    r"""`\\computer\object(instance)\counter`."""
    instance = f"({reading.instance})" if reading.instance else ""
    return f"\\\\{reading.computer}\\{reading.object}{instance}\\{reading.counter}"


def _first_zone(paths: Iterable[str]) -> tuple[str, int]:
    """Name of the time zone, and minutes that it is west of UTC."""
    for path in paths:
        try:
            found = zone_of(path)
        except SourceError:
            continue
        if found is not None:
            name, west = found
            sign = "-" if west > 0 else "+"
            hours, minutes = divmod(abs(west), 60)
            return name or f"UTC{sign}{hours:02}:{minutes:02}", west
    return "Coordinated Universal Time", 0
