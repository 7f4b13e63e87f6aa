"""Scans of the engine that comes along, judged every six hours of what it logged by then."""

from itertools import groupby
from pathlib import Path

import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.config import Settings
from esewatch.expose.replay.series_changes import TIMELESS
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import Batch, Event, Record
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from esewatch.sources.logs.event_stream import event_stream_source
from tests.eselab.background import current_plan
from tests.eselab.running import run
from tests.support.records import DAY, HOUR

STEP = 6 * HOUR


def records(folder: Path) -> list[tuple[float, Record]]:
    """What the machine logged, sorted by time."""
    found: list[tuple[float, Record]] = []
    for source in (
        event_stream_source("events", [str(folder / "events.jsonl")]),
        perfmon_csv_source("counters", [str(folder / "counters.csv")]),
    ):
        for batch in source.poll(final=True):
            for record in batch.records:
                if not isinstance(record, TIMELESS) and record.time is not None:
                    found.append((record.time, record))
        source.close()
    return sorted(found, key=lambda each: each[0])


def stalled(folder: Path) -> list[float]:
    """When a scan was said to stand still, seconds since the first record, every six hours."""
    settings, told = Settings(), []
    folding = Folder(State(), settings)
    logged = records(folder)
    first = logged[0][0]
    folding.open_source("logs", first)
    known: list[Record] = [
        msgspec.structs.replace(each, time=first - 14 * DAY, record_id=None)
        for _, each in logged
        if isinstance(each, Event) and each.database
    ]
    folding.fold("logs", Batch(records=known[:1]))
    for number, batch in groupby(logged, key=lambda each: int((each[0] - first) // STEP)):
        now = first + (number + 1) * STEP
        folding.fold("logs", Batch(records=[record for _, record in batch], caught_up=True))
        for each in advise(folding.state, settings, now):
            if any(finding.finding == "scan_stalled" for finding in each.findings):
                told.append(now - first)
    return told


def test_a_machine_whose_scan_does_not_go_on_is_told_until_it_stops(tmp_path: Path) -> None:
    """It reads once in two weeks, and 744 goes on to report the same pages."""
    run(tmp_path, current_plan(scan_pace=0.05), 6.0)

    told = stalled(tmp_path)

    assert 2 * DAY < told[0] <= 3.75 * DAY
    assert told == [told[0] + n * STEP for n in range(len(told))]
    assert told[-1] == 6 * DAY


@pytest.mark.parametrize(("role", "pace"), [("active", 1.5), ("passive", 12.0)])
def test_a_scan_that_goes_on_is_never_accused(tmp_path: Path, role: str, pace: float) -> None:
    """With a pass of more than a week and one of 30 hours; the machine stops once."""
    for days in (1.3, 4.7):
        run(tmp_path, current_plan(role=role, scan_pace=pace), days)

    assert stalled(tmp_path) == []
