"""Absence: what did not happen, measured in the time in which it could have happened."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hard_histories import MINUTE, MONDAY, Copy, domain_controller, judged, numbered
from tests.oracle.history import DAY, HOUR, Logged

STORE = Copy()
WORKER = Copy(process="Microsoft.Exchange.Store.Worker")
DIRECTORY = domain_controller()
REPLICATION = Copy(
    "FS01.corp.example",
    r"\\.\E:\System Volume Information\DFSR\database_7B2C_11D9\dfsr.db",
    "",
    "DFSRs",
    "ESENT",
    brief=True,
)


def snapshots(copy: Copy, first: float, days: int, every: int = 1) -> Iterator[Logged]:
    """A shadow copy now and then: the instance is at work and its log is read."""
    for day in range(0, days, every):
        yield copy.log(first + day * DAY + HOUR, 2006, "1")


@pytest.mark.parametrize("copy", [STORE, WORKER], ids=["named store", "worker"])
@pytest.mark.parametrize("days", [50, 400])
def test_a_current_store_at_work_without_any_scan_has_its_scan_off(
    tmp_path: Path, days: int, copy: Copy
) -> None:
    events = [*copy.instance_start(MONDAY), *snapshots(copy, MONDAY, days, every=days // 50)]
    answers = judged(tmp_path, numbered(events))
    assert "scan_off" in answers.of(copy).findings
    assert answers.advice.status == 1


def test_a_store_whose_scans_ended_has_its_scan_off(tmp_path: Path) -> None:
    events = [
        *STORE.instance_start(MONDAY),
        STORE.maintenance_start(MONDAY + HOUR),
        STORE.maintenance_end(MONDAY + DAY, MONDAY + HOUR),
        *snapshots(STORE, MONDAY, 60),
    ]
    assert "scan_off" in judged(tmp_path, numbered(events)).of(STORE).findings


def test_a_store_without_a_scan_for_a_month_has_not_its_scan_off(tmp_path: Path) -> None:
    events = [*WORKER.instance_start(MONDAY), *snapshots(WORKER, MONDAY, 30)]
    assert "scan_off" not in judged(tmp_path, numbered(events)).of(WORKER).findings


@pytest.mark.parametrize("ended", ["stopped", "power lost"])
def test_a_store_that_was_off_for_a_year_has_not_its_scan_off(tmp_path: Path, ended: str) -> None:
    events = [*WORKER.instance_start(MONDAY), *snapshots(WORKER, MONDAY, 1)]
    if ended == "stopped":
        events.append(WORKER.instance_stop(MONDAY + DAY))
    events += [*WORKER.instance_start(MONDAY + 400 * DAY)]
    assert "scan_off" not in judged(tmp_path, numbered(events)).of(WORKER).findings


def test_a_scan_that_always_takes_14_days_is_not_overdue(tmp_path: Path) -> None:
    start = MONDAY
    events = [*STORE.instance_start(MONDAY - HOUR)]
    for _ in range(5):
        end = start + 14 * DAY
        events += [STORE.maintenance_start(start), STORE.maintenance_late_end(end, start)]
        start = end
    events.append(STORE.maintenance_start(start))
    events += [
        STORE.maintenance_running(start + quarter * DAY / 4, start, quarter * 3500)
        for quarter in range(1, 53)
    ]
    answers = judged(tmp_path, numbered(events))
    said = answers.of(STORE)
    assert (said.findings, said.deadline) == (frozenset(), start + 21 * DAY)
    assert answers.advice.status == 0


def test_the_time_for_a_scan_is_never_more_than_45_days(tmp_path: Path) -> None:
    start = MONDAY
    events = [*STORE.instance_start(MONDAY - HOUR)]
    for _ in range(5):
        end = start + 40 * DAY
        events += [STORE.maintenance_start(start), STORE.maintenance_late_end(end, start)]
        start = end
    assert judged(tmp_path, numbered(events)).of(STORE).deadline == start + 45 * DAY


def test_the_threshold_that_the_engine_names_is_time_enough(tmp_path: Path) -> None:
    end = MONDAY + 10 * DAY
    events = [
        STORE.maintenance_start(MONDAY),
        STORE.maintenance_late_end(end, MONDAY, threshold=9),
    ]
    assert judged(tmp_path, numbered(events)).of(STORE).deadline == end + 9 * DAY


def scanned(copy: Copy) -> list[Logged]:
    """A start, and a scan in its first day."""
    return [
        *copy.instance_start(MONDAY),
        copy.maintenance_start(MONDAY + HOUR),
        copy.maintenance_end(MONDAY + DAY, MONDAY + HOUR),
    ]


@pytest.mark.parametrize("ended", ["stopped", "power lost"])
def test_a_store_that_was_off_is_not_overdue_when_it_starts(tmp_path: Path, ended: str) -> None:
    events = scanned(STORE)
    if ended == "stopped":
        events.append(STORE.instance_stop(MONDAY + DAY + HOUR))
    back = MONDAY + 30 * DAY
    events += [*STORE.instance_start(back)]
    answers = judged(tmp_path, numbered(events))
    assert answers.of(STORE).findings == frozenset()
    assert (answers.of(STORE).deadline or back + DAY) > back + MINUTE


def test_a_store_that_was_at_work_is_overdue(tmp_path: Path) -> None:
    events = [*scanned(STORE), *snapshots(STORE, MONDAY + DAY, 29)]
    answers = judged(tmp_path, numbered(events))
    assert "verification_overdue" in answers.of(STORE).findings
    assert answers.advice.status == 1


def collections(copy: Copy, days: float, every: float = 12 * HOUR) -> Iterator[Logged]:
    """Online defragmentation as a directory runs it: after each garbage collection."""
    for turn in range(int(days * DAY / every)):
        start = MONDAY + HOUR + turn * every
        yield copy.defrag_start(start)
        yield copy.defrag_end(start + 5, start)


def test_a_healthy_domain_controller_needs_nobody(tmp_path: Path) -> None:
    events = [*DIRECTORY.instance_start(MONDAY), *collections(DIRECTORY, 25)]
    answers = judged(tmp_path, numbered(events))
    said = answers.of(DIRECTORY)
    assert (said.model, said.verified) == ("garbage_collection", {})
    assert answers.advice.status == 0


def test_that_no_directory_was_ever_verified_is_told_once_for_all(tmp_path: Path) -> None:
    copies = [domain_controller(f"DC{turn:02}.corp.example") for turn in range(3)]
    events = [
        event for copy in copies for event in (*copy.instance_start(MONDAY), *collections(copy, 10))
    ]
    answers = judged(tmp_path, numbered(events))
    assert sum("never_verified" in answers.of(copy).findings for copy in copies) <= 1
    assert answers.advice.status == 0


def test_a_directory_whose_defragmentation_stays_away_for_three_cycles_is_overdue(
    tmp_path: Path,
) -> None:
    last = MONDAY + 20 * DAY
    events = [
        *DIRECTORY.instance_start(MONDAY),
        *collections(DIRECTORY, 20),
        *(DIRECTORY.log(last + hour * HOUR, 2006, "1") for hour in range(6, 49, 6)),
    ]
    answers = judged(tmp_path, numbered(events))
    assert "defrag_overdue" in answers.of(DIRECTORY).findings
    assert answers.advice.status == 1


def test_a_directory_whose_defragmentation_is_interrupted_three_times_is_overdue(
    tmp_path: Path,
) -> None:
    last = MONDAY + 10 * DAY
    events = [*DIRECTORY.instance_start(MONDAY), *collections(DIRECTORY, 10)]
    for cycle in range(3):
        start = last + HOUR + cycle * 12 * HOUR
        first = last + HOUR
        events += [
            DIRECTORY.defrag_resume(start, first) if cycle else DIRECTORY.defrag_start(start),
            DIRECTORY.defrag_stop(start + MINUTE),
        ]
    assert "defrag_overdue" in judged(tmp_path, numbered(events)).of(DIRECTORY).findings


@pytest.mark.parametrize("ended", ["stopped", "power lost"])
def test_a_domain_controller_that_was_off_is_not_overdue_when_it_starts(
    tmp_path: Path, ended: str
) -> None:
    events = [*DIRECTORY.instance_start(MONDAY), *collections(DIRECTORY, 10)]
    if ended == "stopped":
        events.append(DIRECTORY.instance_stop(MONDAY + 10 * DAY))
    back = MONDAY + 40 * DAY
    events += [*DIRECTORY.instance_start(back)]
    answers = judged(tmp_path, numbered(events))
    said = answers.of(DIRECTORY)
    assert not said.findings & {"defrag_overdue", "verification_overdue"}
    assert (said.deadline or back + DAY) > back + MINUTE


def test_replication_that_spaces_its_passes_by_four_days_is_on_time_after_three(
    tmp_path: Path,
) -> None:
    passes = [*collections(REPLICATION, 32, every=4 * DAY)]
    judged_at = passes[-1].time + 3 * DAY
    events = [*REPLICATION.instance_start(MONDAY), *passes, REPLICATION.log(judged_at, 2006, "1")]
    answers = judged(tmp_path, numbered(events))
    said = answers.of(REPLICATION)
    assert said.model == "garbage_collection"
    assert not said.findings & {"defrag_overdue", "verification_overdue"}
    assert said.deadline is None or said.deadline > judged_at
    assert answers.advice.status == 0
