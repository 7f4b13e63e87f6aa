"""Records out of what an experiment leaves behind: counter logs, event logs and texts of other
programs, as the agent's own sources read them. Times are those of the month of tests/rules/quality.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from eselab.base.clock import VirtualClock
from eselab.base.plan import Plan
from eselab.machine.machine import Machine
from esewatch.model import Event, Reading, Record, Source
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from esewatch.sources.logs.event_stream import event_stream_source
from tests.rules.quality.engine_made import of_server
from tests.rules.quality.month import DAY

CLOCK = "%m/%d/%Y %H:%M:%S.000"

Row = list[str]
"""Cells of a row of a counter log; the first is its time."""


def ran(folder: Path, plan: dict[str, Any], begin: float, days: float) -> Path:
    """The engine with a plan of an experiment, from `begin` (epoch seconds) on; its folder."""
    machine = Machine(
        folder, msgspec.convert(plan, Plan), clock=VirtualClock(begin), seed=1, computer="lab"
    )
    machine.open()
    machine.run(begin + days * DAY)
    machine.close()
    return folder


def records(folder: Path) -> list[Record]:
    """All that the engine in `folder` logged and counted."""
    return [
        *read(event_stream_source("events", [str(folder / "events.jsonl")])),
        *read(perfmon_csv_source("counters", [str(folder / "counters.csv")])),
    ]


def read(source: Source) -> list[Record]:
    """All that a source reads, without a complaint."""
    found: list[Record] = []
    for batch in source.poll(final=True):
        assert batch.unreadable == []
        found += batch.records
    source.close()
    return found


def of_store(found: Iterable[Record], called: dict[str, str], computer: str) -> list[Record]:
    """As of the store of a server, of those instances that are `called` something only."""
    return [of_server(each, called, computer) for each in found if _concerns(each, called)]


def _concerns(record: Record, called: dict[str, str]) -> bool:
    if isinstance(record, Event):
        return record.ese_instance in called
    if not isinstance(record, Reading) or record.feed is None:
        return False
    return record.feed.owner == "computer" or record.feed.name in called


def opening(folder: Path) -> list[Record]:
    """What the engine in `folder` logged until its databases were open."""
    found = read(event_stream_source("events", [str(folder / "events.jsonl")]))
    first = min(each.time or 0.0 for each in found if isinstance(each, Event))
    return [each for each in found if isinstance(each, Event) and (each.time or 0.0) < first + 1.0]


def rows(folder: Path) -> list[Row]:
    """The header of the counter log of an engine, then its rows."""
    with (folder / "counters.csv").open(newline="") as file:
        return list(csv.reader(file))


def requests(of: Sequence[Row]) -> list[Row]:
    """The times, and the columns of requests and their latencies."""
    kept = [0, *(at for at, name in enumerate(of[0]) if "\\I/O " in name)]
    return [[row[at] for at in kept] for row in of]


def repeated(of: Sequence[Row], begin: float, end: float, step: float) -> list[Row]:
    """The rows over and over, one each `step` seconds from `begin` until before `end`."""
    times = [begin + at * step for at in range(int((end - begin) // step))]
    return [[stamp(time), *of[at % len(of)][1:]] for at, time in enumerate(times)]


def stamp(time: float) -> str:
    """Epoch seconds as a counter log writes them."""
    return datetime.fromtimestamp(time, UTC).strftime(CLOCK)


def times(of: Sequence[Row], column: Callable[[str], bool], factor: float) -> list[Row]:
    """With the numbers of some columns so many times as large; blank cells stay blank."""
    chosen = {at for at, name in enumerate(of[0]) if column(name)}
    changed = [
        [
            repr(float(cell) * factor) if at in chosen and cell.strip() else cell
            for at, cell in enumerate(row)
        ]
        for row in of[1:]
    ]
    return [list(of[0]), *changed]


def counted(path: Path, of: Sequence[Row]) -> list[Record]:
    """The rows as a counter log, read by the agent."""
    with path.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(of)
    return read(perfmon_csv_source("counters", [str(path)]))
