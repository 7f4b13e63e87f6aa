"""Months of logs of the engine as the pieces that they can be cut, damaged and rewritten in.

A `Case` is one folder of logs whose right advice is known from the engine's own counts. `told` is
what `esewatch advise` prints of any files.
"""

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from esewatch.cli import main
from tests.advice.closed_loop import NAME, NOON, RIGHT, world
from tests.eselab.running import START, machine
from tests.support import in_process
from tests.support.evtx_writer import EvtxWriter

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
WEEK = timedelta(days=7)
NEVER = datetime.max.replace(tzinfo=UTC)
SAMPLE = 800.0
BEGIN = datetime.fromtimestamp(START, UTC)
HEADER = "(PDH-CSV 4.0) (Coordinated Universal Time)(0)"
READ, FREED, SCANNED = (1, 2, 6)
"""Columns of the counter log that are kept: both of the ratio, and a running total."""
DEFRAG_STARTS = (700, 702)
DEFRAG_ENDS = (701, 703, 704)
CONFIGURATION = "esewatch.yml"
RATIO = ("ese_defrag_pages_read_total", "ese_defrag_pages_freed_total")


class Event(NamedTuple):
    """One event of the log."""

    time: datetime
    line: dict[str, Any]

    @property
    def system(self) -> dict[str, Any]:
        """Id, record id, time and computer."""
        found: dict[str, Any] = self.line["Event"]["System"]
        return found

    @property
    def strings(self) -> list[str]:
        """Its insertion strings."""
        found: list[str] = self.line["Event"]["EventData"]["Data"]["#text"]
        return found

    def at(self, time: datetime) -> "Event":
        """The same at another time."""
        stamp = {"#attributes": {"SystemTime": f"{time:%Y-%m-%dT%H:%M:%S.%fZ}"}}
        system = {**self.system, "TimeCreated": stamp}
        return Event(time, {"Event": {**self.line["Event"], "System": system}})


class Row(NamedTuple):
    """One sample of the counters; an empty cell is no sample."""

    time: datetime
    cells: tuple[str, ...]
    read: int = 0
    freed: int = 0
    """Pages since the sample before, as the engine counted them."""


class Logs(NamedTuple):
    """Both logs, oldest first, and what the counters are called."""

    events: list[Event]
    columns: list[str]
    rows: list[Row]

    def without(
        self, begin: datetime, end: datetime, *, events: bool = True, counters: bool = True
    ) -> "Logs":
        """Without what was written between two moments."""
        kept = self
        if events:
            kept = kept._replace(events=[e for e in self.events if not begin <= e.time < end])
        if counters:
            kept = kept._replace(rows=[r for r in self.rows if not begin <= r.time < end])
        return kept

    def moved(
        self,
        by: timedelta,
        since: datetime,
        *,
        events: bool = True,
        counters: bool = True,
        until: datetime = NEVER,
    ) -> "Logs":
        """As a clock shows it that is off by so much from one moment to another."""
        kept = self
        if events:
            kept = kept._replace(
                events=[e.at(e.time + by) if since <= e.time < until else e for e in self.events]
            )
        if counters:
            kept = kept._replace(
                rows=[
                    r._replace(time=r.time + by) if since <= r.time < until else r
                    for r in self.rows
                ]
            )
        return kept


class Case(NamedTuple):
    """Logs, the configuration to judge them with, and the right advice."""

    action: str
    configuration: Path
    logs: Logs
    end: datetime
    """Of the logs: a noon."""

    def days_ago(self, days: float) -> datetime:
        """So long before the end."""
        return self.end - timedelta(days=days)

    def ratio(self, logs: Logs) -> float:
        """Pages read for each one freed, as the engine counted them, in the latest 28 days.

        The day of the first sample is not whole and does not count.
        """
        begin = max(self.days_ago(28), BEGIN + timedelta(seconds=NOON))
        rows = [row for row in logs.rows if row.time > begin]
        return sum(row.read for row in rows) / sum(row.freed for row in rows)

    def defrag_share(self, begin: datetime, end: datetime) -> float:
        """The part of the defragmentation's time in the latest 28 days that is between two moments.

        Online defragmentation runs from 700 or 702 to 701, 703 or 704.
        """
        within = total = timedelta()
        since = None
        for event in self.logs.events:
            id = event.system["EventID"]
            if id in DEFRAG_STARTS:
                since = event.time
            elif id in DEFRAG_ENDS and since is not None:
                if since >= self.days_ago(28):
                    total += event.time - since
                    within += event.time - since if begin <= since < end else timedelta()
                since = None
        return within / total


def run(folder: Path, share: float, nights: int) -> None:
    """So many nights with a window of `share` x the right one, and the configuration for it."""
    seconds = share * RIGHT
    plan = msgspec.structs.replace(world(1, scan=True).plan(seconds), sample=SAMPLE)
    running = machine(folder, plan, seed=1)
    running.run(START + nights * DAY.total_seconds() + NOON)
    running.close()
    (folder / CONFIGURATION).write_text(
        f'windows: {{night: {{start: "01:00", duration: {seconds:.0f}s}}}}\n'
        f'databases: [{{match: "*{NAME}.edb", window: night}}]\n'
        "policy: {min_pages_read: 700}\n"
    )


def read_run(folder: Path, action: str, nights: int) -> Case:
    """What `run` left in `folder`."""
    end = BEGIN + nights * DAY + timedelta(seconds=NOON)
    return Case(action, folder / CONFIGURATION, _read(folder), end)


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def _read(folder: Path) -> Logs:
    lines = [json.loads(line) for line in _lines(folder / "events.jsonl")]
    events = []
    for line in lines:
        stamp = line["Event"]["System"]["TimeCreated"]["#attributes"]["SystemTime"]
        events.append(Event(datetime.fromisoformat(stamp), line))
    with (folder / "counters.csv").open(newline="") as file:
        head, *cells = csv.reader(file)
    grown = [json.loads(line) for line in _lines(folder / "truth.jsonl")]
    counted = [_grown(each) for each in grown if each["type"] == "row"]
    kept = (READ, FREED, SCANNED)
    rows = [
        Row(
            datetime.strptime(row[0], "%m/%d/%Y %H:%M:%S.%f").replace(tzinfo=UTC),
            tuple(row[column] for column in kept),
            *pages,
        )
        for row, pages in zip(cells, counted, strict=True)
    ]
    return Logs(events, [head[column] for column in kept], rows)


def _grown(told: dict[str, Any]) -> list[int]:
    """Pages read and freed, as the engine's ledger has them in a row."""
    grew = told.get("instances", {}).get(NAME, {}).get("grew", {})
    return [grew.get(name, 0) for name in RATIO]


def write_events(path: Path, events: Iterable[Event]) -> Path:
    """As `evtx_dump -o jsonl` prints them: whether some are missing is not known."""
    path.write_text("".join(json.dumps(event.line) + "\n" for event in events))
    return path


def write_evtx(path: Path, events: Sequence[Event]) -> Path:
    """As Windows keeps them: a hole in the record numbers can be seen."""
    for part, number in _stretches(events):
        name = path.with_stem(f"{path.stem}-{number}")
        with EvtxWriter(name, "LAB.example", first_record_id=number) as writer:
            for event in part:
                writer.write(event.system["EventID"], event.strings, time=event.time)
    return path.parent


def _stretches(events: Sequence[Event]) -> Iterable[tuple[list[Event], int]]:
    """Events whose numbers follow each other, and the first number."""
    stretch: list[Event] = []
    for event in events:
        number = event.system["EventRecordID"]
        if stretch and number != stretch[-1].system["EventRecordID"] + 1:
            yield stretch, stretch[0].system["EventRecordID"]
            stretch = []
        stretch.append(event)
    if stretch:
        yield stretch, stretch[0].system["EventRecordID"]


def write_counters(
    path: Path,
    logs: Logs,
    *,
    header: str = HEADER,
    between: str = ",",
    cell: Callable[[str], str] = str,
    rename: Callable[[str], str] = str,
    late: timedelta = timedelta(),
    encoding: str = "utf-8",
) -> Path:
    """As perfmon writes them: `late` is local time less UTC."""
    lines = [(header, *map(rename, logs.columns))]
    for row in logs.rows:
        time = row.time + late
        stamp = f"{time:%m/%d/%Y %H:%M:%S}.{time.microsecond // 1000:03}"
        lines.append((stamp, *map(cell, row.cells)))
    text = "".join(between.join(f'"{each}"' for each in line) + "\r\n" for line in lines)
    path.write_bytes(text.encode(encoding))
    return path


def write(folder: Path, logs: Logs) -> list[str]:
    """Both logs in `folder`, a log without a record left out; their paths."""
    folder.mkdir(exist_ok=True)
    files = []
    if logs.events:
        files.append(write_events(folder / "events.jsonl", logs.events))
    if logs.rows:
        files.append(write_counters(folder / "counters.csv", logs))
    return [str(file) for file in files]


class Told(NamedTuple):
    """What the command printed."""

    status: int
    out: str
    error: str

    @property
    def advice(self) -> dict[str, Any]:
        """The object of the only database."""
        (line,) = self.out.splitlines()
        return read_json(line)

    @property
    def words(self) -> str:
        """All that is said to a person."""
        found = self.advice
        return " ".join([*found["reasons"], *(each["sentence"] for each in found["findings"])])


def told(configuration: Path | None, paths: Sequence[str], *options: str) -> Told:
    """`esewatch advise --format json` of these files, or what `options` make of it."""
    given = ["--config.file", str(configuration)] if configuration else []
    shape = options or ("--format", "json")
    return Told(*in_process.run(main, "advise", *shape, *given, *paths))


def read_json(line: str) -> dict[str, Any]:
    """One object. Raises ValueError for NaN and Infinity, which are not JSON."""
    found: dict[str, Any] = json.loads(line, parse_constant=_refuse)
    return found


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not JSON")
