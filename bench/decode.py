"""Decoding beside the bare parser of the same file: JSON lines of each collector, counter logs.

The JSON is of ESE events only, so that every line is decoded; the bare loop parses each line with
`msgspec` and keeps nothing. The counter log has all counters of the ESE instances object, of which
the agent takes those that feed a metric, and twice as many of processes, disks and the like; the
bare loop reads all cells with `csv.reader` and keeps none. Seconds are those of the processor.
"""

import csv
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from bench.figure import Figure, paired
from bench.json_log import SHAPES, write
from bench.text_log import SEED
from esewatch.cli.inputs.command import event_lines
from esewatch.ese.counters.counter_feeds import feed_of
from esewatch.ese.counters.counter_table import COUNTERS
from esewatch.model import Event, Reading, Record, Source
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from esewatch.sources.logs.event_stream import event_stream_source

_EVENTS: Final = 5_000
_ROUNDS: Final = 5
_DECODED: Final = 0.04
_PRINTED: Final = 0.04
_INSTANCES: Final = 12
_OBJECT: Final = "MSExchange Database ==> Instances"
_OTHERS: Final = ("Process(w3wp#{})\\% Processor Time", "Thread(w3wp/{})\\Context Switches/sec")
_CLOCK: Final = "(PDH-CSV 4.0) (W. Europe Standard Time)(-60)"
_ROWS: Final = 600
_OF_CSV: Final = 0.3


def run() -> list[Figure]:
    """The figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = [figure for shape in SHAPES for figure in _json(folder / "log.json", shape)]
        return [*found, _counters(folder / "log.csv")]


def _json(log: Path, shape: str) -> Iterator[Figure]:
    write(log, shape, _EVENTS)
    for what, ours, limit in (
        ("decoded", _decode, _DECODED),
        ("printed as JSON", _print, _PRINTED),
    ):
        seconds, bare, ratio = paired(
            partial(ours, log), partial(_parse, log), _ROUNDS, time.process_time
        )
        sides = f"ours {_EVENTS / seconds:,.0f} events/s, `msgspec` {_EVENTS / bare:,.0f}"
        yield Figure(
            f"JSON of {shape}, ESE only, {what}, beside `msgspec.json.decode` of each line",
            ratio, "x", "at least", limit, sides,
        )  # fmt: skip


def _records(source: Source) -> Iterator[list[Record]]:
    """The records of a source, batch by batch."""
    for batch in source.poll(final=True):
        yield batch.records
    source.close()


def _decode(log: Path) -> None:
    read = sum(map(len, _records(event_stream_source("log", [str(log)]))))
    if read != _EVENTS:
        raise RuntimeError(f"{read} of {_EVENTS} events were read")


def _print(log: Path) -> None:
    with log.with_suffix(".out").open("w", encoding="utf-8") as file:
        for records in _records(event_stream_source("log", [str(log)])):
            file.write(event_lines([each for each in records if isinstance(each, Event)]))


def _parse(log: Path) -> None:
    decode = msgspec.json.Decoder().decode
    with log.open("rb") as file:
        for line in file:
            decode(line)


def _counters(log: Path) -> Figure:
    columns, wanted = _write_counters(log)
    seconds, bare, ratio = paired(
        partial(_read, log, wanted), partial(_cells, log), _ROUNDS, time.process_time
    )
    sides = (
        f"{columns} columns, {wanted} of them feed a metric; ours "
        f"{columns * _ROWS / seconds:,.0f} cells/s, `csv.reader` {columns * _ROWS / bare:,.0f}"
    )
    return Figure(
        "perfmon CSV beside a loop over `csv.reader`", ratio, "x", "at least", _OF_CSV, sides
    )


def _write_counters(log: Path) -> tuple[int, int]:
    """Write the log; how many columns it has, and how many of them feed a metric."""
    rng = random.Random(SEED)
    counters = [each.name for each in COUNTERS if "instances" in each.objects]
    names = [f"Information Store/DB{number:02}" for number in range(1, _INSTANCES + 1)]
    wanted = [feed_of(_OBJECT, name, each) for name in names for each in counters]
    paths = [f"{_OBJECT}({name})\\{each}" for name in names for each in counters]
    paths += [other.format(number) for number in range(len(paths)) for other in _OTHERS]
    rng.shuffle(paths)
    header = [_CLOCK, *(f"\\\\EX01\\{path}" for path in paths)]
    begin = datetime(2026, 1, 2)
    with log.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL)
        rows.writerow(header)
        for number in range(_ROWS):
            moment = begin + timedelta(seconds=15 * number)
            cells = [repr(rng.choice((0.0, rng.random() * 5_000))) for _ in paths]
            rows.writerow([f"{moment:%m/%d/%Y %H:%M:%S}.123", *cells])
    return len(paths), len(wanted) - wanted.count(None)


def _read(log: Path, wanted: int) -> None:
    source = perfmon_csv_source("log", [str(log)], ese_only=True)
    read = sum(isinstance(each, Reading) for records in _records(source) for each in records)
    if read != wanted * _ROWS:
        raise RuntimeError(f"{read} of {wanted * _ROWS} readings were read")


def _cells(log: Path) -> None:
    with log.open(encoding="utf-8", newline="") as file:
        for _ in csv.reader(file):
            pass
