"""Months that the engine does not make yet: written as event logs and read back.

A domain controller, a server of Exchange 2013 or later (its scan runs in the background, on
end), and Windows Search.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from esewatch.expose.replay.series_changes import TIMELESS
from esewatch.model import CopyChecked, Record
from esewatch.sources.detect_input import open_inputs
from tests.rules.quality.month import DAY, DAYS, END, HOUR, START, Month, at
from tests.support.evtx_writer import EvtxWriter

PAGES = 9_600_000
"""300 GB of 32 KB."""
PAGES_A_SECOND = 32.0
"""1 MB a second: what the background scan of a copy reads."""
SEARCH_DATABASE = "C:\\ProgramData\\Microsoft\\Search\\Data\\Applications\\Windows\\Windows.edb"


class Line(NamedTuple):
    """One event before it is written."""

    time: float
    event_id: int
    strings: Sequence[str]


def read_back(computer: str, channel: str, provider: str, lines: Sequence[Line]) -> list[Record]:
    """The lines as an event log, and the log as the agent reads it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.evtx"
        with EvtxWriter(path, f"{computer}.corp.example", channel) as writer:
            for line in sorted(lines):
                if START <= line.time <= END:
                    moment = datetime.fromtimestamp(line.time, UTC)
                    writer.write(line.event_id, line.strings, provider=provider, time=moment)
        sources, errors, _ = open_inputs([str(path)], companions=True)
        assert errors == []
        found: list[Record] = [
            record
            for source in sources
            for batch in source.poll(final=True)
            for record in batch.records
            if not isinstance(record, TIMELESS)
        ]
        for source in sources:
            source.close()
    assert len(found) >= len(lines)
    return found


def day_text(time: float) -> str:
    """A date as the engine writes it."""
    moment = datetime.fromtimestamp(time, UTC)
    return f"{moment.month}/{moment.day}/{moment.year}"


def checked(computer: str, database: str, time: float, pages: int) -> CopyChecked:
    """A snapshot of the database was read to its end and is good."""
    return CopyChecked(
        time=time,
        computer=computer,
        database=database,
        by="page_scan",
        complete=True,
        pages_seen=pages,
        bad=0,
        size_bytes=pages * 8192,
    )


def controller(computer: str, seed: int, *, scanned: bool = True) -> Month:
    """A domain controller: garbage collection twice a day; a page scan of a snapshot each week."""
    chance = random.Random(seed)
    database = "C:\\Windows\\NTDS\\ntds.dit"
    head = ["NTDS", "840,D,0", "NTDSA: ", database]
    first = START + chance.uniform(0.0, 12.0) * HOUR
    lines = []
    for number in range(2 * DAYS):
        time = first + number * DAY / 2 + chance.uniform(0.0, 20.0)
        if time < END:
            summary = ["0", day_text(time), "0", "1", "1", str(number + 1)]
            lines += [Line(time, 700, head), Line(time + 1.0, 701, [*head, *summary])]
    records = read_back(computer, "Directory Service", "NTDS ISAM", lines)
    if scanned:
        records += [
            checked(computer, database, at(day, 2.0), 300_000)
            for day in range(chance.randrange(3), DAYS, 6)
        ]
    return Month(computer, "domain controller", records)


def background(
    computer: str,
    seed: int,
    *,
    pages: int = PAGES,
    slow_from: float = DAYS,
    passive: bool = False,
    named: str = "",
) -> Month:
    """A copy of a mailbox database of Exchange 2013 or later: its scan starts again when it ends.

    A scan that begins on day `slow_from` or later takes four times as long. The database is that
    of the computer `named` where it is not this one.
    """
    chance = random.Random(seed)
    instance = f"{named or computer}-db"
    process = "Microsoft.Exchange.Store.Worker"
    state = "R" if passive else "D"
    path = f"F:\\{instance}\\{instance}.edb"
    head = [process, f"4711,{state},50,15.01.2507.012", f"{instance}: ", path]
    scans = _scans(head, chance, pages, at(slow_from))
    lines = list(_of_passive(scans) if passive else scans)
    for day in range(DAYS):
        begin = at(day, 20.0) + chance.uniform(0.0, 600.0)
        # A snapshot: event 2005 begins it, 2006 says that it is over.
        lines += [
            Line(begin, 2005, [process, "4711", f"{instance}: ", "1"]),
            Line(begin + 900.0, 2006, [process, "4711", f"{instance}: ", "1"]),
        ]
    records = read_back(computer, "Application", "ESE", lines)
    return Month(computer, "Exchange 2013 and later", records)


def _scans(head: list[str], chance: random.Random, pages: int, slow_from: float) -> Iterator[Line]:
    time = START + chance.uniform(0.0, 6.0) * HOUR
    restarted = at(chance.randrange(8, 20), 3.5)
    while time < END:
        begin = time
        yield Line(begin, 736, head)
        slower = 4.0 if begin >= slow_from else 1.0
        ends = begin + slower * pages / (PAGES_A_SECOND * chance.uniform(0.85, 1.15))
        stopped = False
        mark = begin + DAY
        while mark < min(ends, END):
            if not stopped and begin < restarted < mark:
                stopped = True
                done = int(pages * (restarted - begin) / (ends - begin))
                days = str(max(1, int((restarted - begin) / DAY)))
                yield Line(restarted, 738, [*head, str(done), day_text(begin), days])
            seen = str(int(pages * (mark - begin) / (ends - begin)))
            yield Line(mark, 744, [*head, day_text(begin), str(int((mark - begin) / HOUR)), seen])
            mark += DAY
        if ends < END:
            took = [day_text(begin), str(int(ends - begin)), str(pages), "0", "3", "0", "3", "0"]
            yield Line(ends, 737, [*head, *took])
        time = ends + 60.0


def _of_passive(lines: Iterable[Line]) -> Iterator[Line]:
    """What a passive copy says instead: 717 and 719 of a start and a resume, 732 of the end."""
    for line in lines:
        head, rest = line.strings[:4], line.strings[4:]
        if line.event_id == 736:
            yield Line(line.time, 717, head)
        elif line.event_id == 738:
            yield Line(line.time, 719, [*head, *rest[1:]])
        elif line.event_id == 737:
            begun, seconds, pages = rest[:3]
            days = str(max(1, int(seconds) // int(DAY)))
            yield Line(line.time, 732, [*head, begun, seconds, days, pages, ""])


def search(computer: str, seed: int) -> Month:
    """The index of Windows Search: attached at each start of the computer, worked on at night."""
    chance = random.Random(seed)
    head = ["SearchIndexer", "3120", "Windows: "]
    of_database = [*head, SEARCH_DATABASE]
    lines = []
    for day in range(DAYS):
        if day % 7 == 0:
            boot = at(day, 4.0)
            lines += [
                Line(boot, 102, [*head, "0", "10", "0", "19041", "0"]),
                Line(boot + 2.0, 105, [*head, "0", "2"]),
                Line(boot + 3.0, 326, [*head, "1", SEARCH_DATABASE, "0"]),
            ]
        night = at(day, 5.0) + chance.uniform(0.0, 1800.0)
        summary = ["12", day_text(night), "40", "1", "1", str(day + 1)]
        lines += [
            Line(night, 700, of_database),
            Line(night + 40.0, 701, [*of_database, *summary]),
        ]
    return Month(computer, "Windows Search", read_back(computer, "Application", "ESENT", lines))
