"""Maintenance that stops before its window ends, and backups that run then."""

import datetime
from typing import Any

import pytest

from esewatch.advice.base.finding import Finding
from esewatch.advice.findings.maintenance import found_in_window
from esewatch.advice.history.copies import Model
from esewatch.fold.instances.backups import Backup
from esewatch.fold.passes.runs import Run
from tests.advice.histories import DAY, HOUR, NOON, nightly_runs, one_pass, opening, store, window


def found(rule: str = "otherwise", now: float = NOON, **changes: Any) -> list[Finding]:
    return list(found_in_window(store(**changes), rule, now))


def names(**changes: Any) -> list[str]:
    return [each.finding for each in found(**changes)]


def stopped(nights: int, hours: float, of: int = 20) -> list[Run]:
    """The last `nights` of `of` runs are stopped `hours` after the window opened."""
    return [*nightly_runs(of - nights, ago=nights), *nightly_runs(nights, hours)]


def backup(ago: int, begin: float, end: float) -> Backup:
    start = opening(ago)
    return Backup("full", start + begin * HOUR, start + end * HOUR, {}, verifying=True)


def test_three_stops_of_seven_are_told_with_their_figures() -> None:
    assert found(defrag_runs=stopped(3, 2.5)) == [
        Finding(
            "stops_early",
            "online defragmentation stopped before the pass was complete in 3 of the last 7"
            " windows, 1 h 30 min too early (median), last at 2007-07-01 03:30 UTC; the"
            " schedule seems to be 01:00-03:30",
        )
    ]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_nights_that_end_alike_show_their_schedule_in_local_time(zone: str) -> None:
    hours = {"UTC": 0, "America/New_York": 4}[zone]
    late = [
        Run(run.start + hours * HOUR, run.start + (hours + 2) * HOUR) for run in nightly_runs(9)
    ]
    (told,) = found(defrag_runs=late, window=window(timezone=zone))
    assert told.sentence.endswith("; the schedule seems to be 01:00-03:00")
    unlike = [*nightly_runs(6, 2, ago=1), *nightly_runs(1, 3)]
    (told,) = found(defrag_runs=unlike)
    assert "the schedule seems" not in told.sentence


def test_a_schedule_may_pass_midnight() -> None:
    runs = [Run(run.start - 3 * HOUR, run.start - 0.5 * HOUR) for run in nightly_runs(9)]
    (told,) = found(defrag_runs=runs, window=window(start=datetime.time(22)))
    assert told.sentence.endswith("; the schedule seems to be 22:00-00:30")


def test_two_stops_or_stops_of_half_an_hour_are_none() -> None:
    assert names(defrag_runs=stopped(2, 2.5)) == []
    assert names(defrag_runs=stopped(7, 3.5)) == []
    assert names(defrag_runs=stopped(7, 3.49)) == ["stops_early"]


def test_stops_of_more_than_seven_windows_ago_do_not_count() -> None:
    early = [*nightly_runs(9, 1, ago=5), *nightly_runs(5)]

    assert names(defrag_runs=early) == []
    assert names(defrag_runs=[*nightly_runs(9, 1, ago=4), *nightly_runs(4)]) == ["stops_early"]


def test_a_pass_that_completed_or_failed_is_no_stop() -> None:
    runs = stopped(7, 2)
    completed = [one_pass(run.start, run.end) for run in runs[-7:]]
    failed = [run.end for run in runs[-7:]]

    assert names(defrag_runs=runs, defrag_passes=completed) == []
    assert names(defrag_runs=runs, failures=failed) == []
    assert names(defrag_runs=runs) == ["stops_early"]


def test_a_scan_that_follows_has_its_half() -> None:
    halves = nightly_runs(10, 2)
    whole = [Run(run.end, run.start + 4 * HOUR) for run in halves if run.end]
    short = [Run(run.end, run.start + 3 * HOUR) for run in halves if run.end]

    assert names(defrag_runs=halves, scan_runs=whole) == []
    (told,) = found(defrag_runs=halves, scan_runs=short)
    assert told.finding == "stops_early"
    assert told.sentence.startswith(
        "the database scan stopped before the pass was complete in 7 of"
    )
    ends = [one_pass(run.start, run.end, task="checksum") for run in short]
    assert names(defrag_runs=halves, scan_runs=short, checksum_passes=ends) == []


def test_of_two_stops_in_one_window_the_earlier_against_its_time_counts() -> None:
    defrag = nightly_runs(10, 1)
    scans = [Run(run.end, run.start + 2.5 * HOUR) for run in defrag if run.end]

    (told,) = found(defrag_runs=defrag, scan_runs=scans)
    assert told.sentence.startswith(
        "the database scan and online defragmentation stopped before the pass was complete in 7 of"
        " the last 7 windows, 1 h 30 min too early (median)"
    )


def test_a_backup_that_runs_then_overlaps() -> None:
    backups = [backup(ago, 2.5, 6) for ago in (1, 0)]
    (told,) = found(defrag_runs=stopped(3, 2.5), backups=backups)

    assert told.finding == "backup_overlaps"
    assert told.sentence.endswith(
        "last at 2007-07-01 03:30 UTC; a backup was running in 2 of these windows"
    )
    assert names(defrag_runs=stopped(3, 2.5), backups=backups[1:]) == ["stops_early"]
    assert names(defrag_runs=stopped(3, 2.5), backups=[backup(0, 3, 4), backup(1, 3, 4)]) == [
        "stops_early"
    ]


def test_backups_that_decided_the_advice_overlap_too_and_are_told_once() -> None:
    backups = [backup(ago, 0, 2) for ago in (4, 2, 0)]
    waiting = [Run(opening(n) + 2 * HOUR, opening(n) + 4 * HOUR) for n in reversed(range(20))]

    assert found("backup", backups=backups, defrag_runs=waiting) == [
        Finding(
            "backup_overlaps",
            "backups stopped or delayed online maintenance in 3 of the last 7 windows, in each of"
            " which they ran for 2 h (median)",
        )
    ]
    assert found("backup", backups=backups) == []
    assert found(backups=backups, defrag_runs=waiting) == []
    both = found("backup", backups=backups, defrag_runs=stopped(7, 1.5))
    assert [each.finding for each in both] == ["stops_early", "backup_overlaps"]
    then = [backup(ago, 0, 2) for ago in (4, 3, 2, 1, 0)]
    once = found("backup", backups=then, defrag_runs=stopped(7, 1.5))
    assert [each.finding for each in once] == ["backup_overlaps"]


def test_the_opening_of_now_is_not_over_yet() -> None:
    runs = [*nightly_runs(10, ago=3), *nightly_runs(3, 1)]

    assert names(defrag_runs=runs, now=opening(0) + 3 * HOUR) == []
    assert names(defrag_runs=runs, now=opening(0) + 4 * HOUR) == ["stops_early"]


def test_a_window_of_one_day_a_week_is_judged_over_seven_weeks() -> None:
    sunday = window(days=["sun"])  # NOON is a Sunday
    early = [Run(opening(n), opening(n) + HOUR) for n in (42, 21, 0)]

    assert names(window=sunday, defrag_runs=early) == ["stops_early"]
    assert names(window=sunday, defrag_runs=early[1:]) == []


def test_without_a_window_nothing_is_said() -> None:
    early = stopped(7, 1)

    assert names(defrag_runs=early, window=None) == []
    assert names(defrag_runs=[]) == []
    assert names(defrag_runs=[Run(NOON - DAY, None)]) == []


@pytest.mark.parametrize("model", ["background", "garbage_collection", "application"])
def test_only_the_model_window_has_early_stops_and_overlapping_backups(model: Model) -> None:
    backups = [backup(ago, 2.5, 4) for ago in range(1, 8)]
    assert names(defrag_runs=stopped(7, 2.5), rule="backup", backups=backups)
    assert names(defrag_runs=stopped(7, 2.5), rule="backup", backups=backups, model=model) == []
