"""Backups that stop defragmentation, skipped nights, flips ahead of the scan, a directory."""

from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from eselab.base.clock import VirtualClock
from eselab.base.plan import (
    DAY,
    BackupPlan,
    DatabasePlan,
    FaultKind,
    FaultPlan,
    MailPlan,
    Plan,
    WindowPlan,
)
from eselab.machine.machine import Machine
from tests.eselab.running import START

HOUR = 3600.0
WINDOW = WindowPlan(offset=1 * HOUR, length=4 * HOUR)
A = DatabasePlan(
    name="a", pages=200, cache_pages=20, mail=MailPlan(kept=40.0), defrag_pause=60.0, window=WINDOW
)


def told(
    folder: Path, days: float, database: DatabasePlan, *faults: FaultPlan
) -> list[tuple[float, int]]:
    """(seconds since the start, event id) of a run."""
    plan = Plan(databases=[database], faults=list(faults), sample=300.0)
    machine = Machine(folder, plan, clock=VirtualClock(START), seed=1, computer="lab")
    machine.open()
    machine.run(START + days * DAY)
    machine.close()
    found = []
    for line in (folder / "events.jsonl").read_bytes().splitlines():
        system = msgspec.json.decode(line)["Event"]["System"]
        time = msgspec.convert(system["TimeCreated"]["#attributes"]["SystemTime"], datetime)
        found.append((time.timestamp() - START, system["EventID"]))
    return found


def of(found: list[tuple[float, int]], *wanted: int) -> list[tuple[float, int]]:
    """Those of these ids, at whole minutes."""
    return [(round(time / 60) * 60.0, event_id) for time, event_id in found if event_id in wanted]


def test_a_backup_stops_defragmentation_which_goes_on_behind_it(tmp_path: Path) -> None:
    backup = BackupPlan(offset=1.5 * HOUR, pause=360.0)
    found = told(tmp_path / "run", 0.25, msgspec.structs.replace(A, backup=backup))
    ends = [time for time, event_id in of(found, 213)]
    assert of(found, 210, 220, 221, 213) == [
        (1.5 * HOUR, 210), (1.5 * HOUR, 220), (ends[0], 221), (ends[0], 213)
    ]  # fmt: skip
    assert 1.5 * HOUR < ends[0] < 3 * HOUR
    first, stopped, resumed = of(found, 700, 702, 704)[:3]
    assert (first, stopped[1], resumed[1]) == ((1 * HOUR, 700), 704, 702)
    assert 0 <= stopped[0] - 1.5 * HOUR <= 120
    assert 0 <= resumed[0] - ends[0] <= 120


def test_a_backup_that_is_at_work_when_the_engine_ends_is_told_as_ended(tmp_path: Path) -> None:
    backup = BackupPlan(offset=1.5 * HOUR, pause=3600.0)
    found = told(tmp_path / "run", 0.08, msgspec.structs.replace(A, backup=backup))
    assert [event_id for _, event_id in found][-3:] == [215, 327, 103]


def test_a_bad_page_ends_a_backup(tmp_path: Path) -> None:
    backup = BackupPlan(offset=1.5 * HOUR, pause=60.0)
    fault = FaultPlan(at=1.4 * HOUR, database="a", kind="flip_two")
    found = told(tmp_path / "run", 0.1, msgspec.structs.replace(A, backup=backup), fault)
    ids = [event_id for _, event_id in found]
    assert ids.index(210) < ids.index(474) < ids.index(217) < ids.index(214)
    assert not {213, 221} & set(ids)


def test_a_skipped_night_ends_what_runs_and_the_next_night_is_as_ever(tmp_path: Path) -> None:
    fault = FaultPlan(at=1.5 * HOUR, database="a", kind="skip")
    found = of(told(tmp_path / "run", 1.5, A, fault), 700, 702, 704, 717)
    assert found[:2] == [(1 * HOUR, 700), (1.5 * HOUR, 704)]
    assert found[2] == (25 * HOUR, 702)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "event_id"), [("flip_one", 399), ("flip_two", 474)])
def test_a_flip_ahead_of_the_scan_is_found_by_its_next_read(
    tmp_path: Path, kind: FaultKind, event_id: int
) -> None:
    database = msgspec.structs.replace(A, pages=400, scan_throttle=600.0)
    at = 3 * HOUR + 900.0
    fault = FaultPlan(at=at, database="a", kind=kind, ahead=True)
    found = told(tmp_path / "run", 0.25, database, fault)
    times = [time for time, found_id in found if found_id == event_id]
    assert times
    assert at <= times[0] <= at + 600.0


def test_a_domain_controller_has_its_names(tmp_path: Path) -> None:
    database = msgspec.structs.replace(A, name="NTDSA", program="directory", scan=False)
    told(tmp_path / "run", 0.1, database)
    line = (tmp_path / "run" / "events.jsonl").read_bytes().splitlines()[-1]
    event = msgspec.json.decode(line)["Event"]
    assert event["System"]["Provider"]["#attributes"]["Name"] == "NTDS ISAM"
    assert event["System"]["Channel"] == "Directory Service"
    assert event["EventData"]["Data"]["#text"][::2][:2] == ["NTDS", "NTDSA: "]
    assert (tmp_path / "run" / "NTDSA" / "ntds.dit").is_file()
    header = (tmp_path / "run" / "counters.csv").read_text().splitlines()[0]
    assert r"\\lab\Database ==> Instances(lsass/NTDSA)\Online Defrag Pages Read/sec" in header
    truth = msgspec.json.decode((tmp_path / "run" / "truth.json").read_bytes())
    assert truth["events"]['event_id="102",provider="NTDS ISAM"'] == 1
