"""Passes: which pages a pass has proven good, and which it has not."""

from pathlib import Path

import pytest

from tests.hard_histories import MONDAY, PAGES, Copy, date_time, judged, numbered, old_store
from tests.oracle.history import DAY, HOUR, Logged

ACTIVE = Copy()
PASSIVE = Copy("EX02.corp.example")
OLD = old_store()


def test_a_page_that_failed_between_an_unseen_start_and_the_resume_stays_bad(
    tmp_path: Path,
) -> None:
    events = [
        ACTIVE.bad_page(MONDAY + DAY, 17),
        ACTIVE.maintenance_resume(MONDAY + 2 * DAY, MONDAY),
        ACTIVE.maintenance_end(MONDAY + 3 * DAY, MONDAY, run=50_000),
    ]
    said = judged(tmp_path, numbered(events)).of(ACTIVE)
    assert (said.bad, said.verified) == (1, {})
    assert "investigate" in said.findings


def test_a_page_that_failed_in_an_earlier_run_stays_bad_though_the_last_run_read_all_pages(
    tmp_path: Path,
) -> None:
    events = [
        ACTIVE.bad_page(MONDAY + DAY, 17),
        ACTIVE.maintenance_resume(MONDAY + 2 * DAY, MONDAY),
        ACTIVE.maintenance_end(MONDAY + 3 * DAY, MONDAY),
    ]
    said = judged(tmp_path, numbered(events)).of(ACTIVE)
    assert (said.bad, said.verified) == (1, {})


def test_a_pass_of_which_only_the_last_run_is_known_verifies_and_clears_nothing(
    tmp_path: Path,
) -> None:
    events = [
        ACTIVE.bad_page(MONDAY - DAY, 17),
        ACTIVE.maintenance_resume(MONDAY + 2 * DAY, MONDAY),
        ACTIVE.maintenance_end(MONDAY + 3 * DAY, MONDAY, run=50_000),
    ]
    said = judged(tmp_path, numbered(events)).of(ACTIVE)
    assert (said.bad, said.verified) == (1, {})


@pytest.mark.parametrize("resumed", [False, True])
def test_a_pass_of_unseen_start_whose_last_run_read_all_pages_verifies(
    tmp_path: Path, resumed: bool
) -> None:
    end = MONDAY + 3 * DAY
    events = [ACTIVE.bad_page(MONDAY - DAY, 17), ACTIVE.maintenance_end(end, MONDAY, run=PAGES - 1)]
    if resumed:
        events.append(ACTIVE.maintenance_resume(MONDAY + 2 * DAY, MONDAY))
    said = judged(tmp_path, numbered(events)).of(ACTIVE)
    assert (said.bad, said.verified) == (0, {"online_scan": end})


@pytest.mark.parametrize("day", ["1/31/2024", "2/1/2024", "01.02.2024", "2024-02-01", "?"])
def test_a_page_that_failed_before_the_resume_of_a_2007_pass_stays_bad(
    tmp_path: Path, day: str
) -> None:
    start = MONDAY + 17 * DAY - HOUR * day.startswith("1/31")
    resume = OLD.scan_resume(start + 2 * DAY, start)
    strings = (*resume.strings[:4], day, *resume.strings[5:])
    events = [
        OLD.bad_page(start + DAY, 17),
        resume._replace(strings=strings),
        OLD.checksum_end(start + 3 * DAY, start, days=3, day=day),
    ]
    said = judged(tmp_path, numbered(events)).of(OLD)
    assert (said.bad, said.verified) == (1, {})


def test_a_2007_pass_of_unseen_start_clears_what_failed_before_it(tmp_path: Path) -> None:
    end = MONDAY + 3 * DAY
    events = [
        OLD.bad_page(MONDAY - 3 * DAY, 17),
        OLD.scan_resume(MONDAY + 2 * DAY, MONDAY),
        OLD.checksum_end(end, MONDAY),
    ]
    said = judged(tmp_path, numbered(events)).of(OLD)
    assert (said.bad, said.verified) == (0, {"online_scan": end})


@pytest.mark.parametrize("seen", [False, True], ids=["start unseen", "start seen"])
def test_a_resumed_scan_of_a_passive_copy_proves_nothing_about_pages_read_before_its_start(
    tmp_path: Path, seen: bool
) -> None:
    start = MONDAY + 2 * DAY
    events = [
        PASSIVE.passive_end(MONDAY, MONDAY - DAY),
        PASSIVE.bad_page(MONDAY + DAY, 17),
        PASSIVE.scan_resume(start + DAY, start),
        PASSIVE.passive_end(start + 2 * DAY, start, run=5000),
    ]
    if seen:
        events += [PASSIVE.scan_start(MONDAY - DAY), PASSIVE.scan_start(start)]
    said = judged(tmp_path, numbered(events)).of(PASSIVE)
    assert said.bad == 1
    assert said.verified.get("online_scan", 0) <= MONDAY


@pytest.mark.parametrize("stop", [False, True], ids=["resumed", "aborted"])
def test_a_resumed_scan_of_a_passive_copy_without_an_earlier_completion_verifies_nothing(
    tmp_path: Path, stop: bool
) -> None:
    events = [
        PASSIVE.scan_start(MONDAY),
        PASSIVE.scan_resume(MONDAY + DAY, MONDAY),
        PASSIVE.passive_end(MONDAY + 2 * DAY, MONDAY, run=5000),
    ]
    if stop:
        events.append(PASSIVE.passive_abort(MONDAY + DAY / 2))
    said = judged(tmp_path, numbered(events)).of(PASSIVE)
    assert said.verified == {}


def test_a_resumed_scan_of_a_passive_copy_verifies_where_all_was_good_since_the_last_completion(
    tmp_path: Path,
) -> None:
    start, end = MONDAY + 2 * DAY, MONDAY + 4 * DAY
    events = [
        PASSIVE.scan_start(MONDAY - DAY),
        PASSIVE.passive_end(MONDAY, MONDAY - DAY),
        PASSIVE.scan_start(start),
        PASSIVE.scan_resume(start + DAY, start),
        PASSIVE.passive_end(end, start, run=5000),
    ]
    said = judged(tmp_path, numbered(events)).of(PASSIVE)
    assert said.verified == {"online_scan": end}


def test_an_unbroken_scan_of_a_passive_copy_clears_what_failed_before_it(tmp_path: Path) -> None:
    events = [
        PASSIVE.bad_page(MONDAY - DAY, 17),
        PASSIVE.scan_start(MONDAY),
        PASSIVE.passive_end(MONDAY + DAY, MONDAY),
    ]
    said = judged(tmp_path, numbered(events)).of(PASSIVE)
    assert (said.bad, said.verified) == (0, {"online_scan": MONDAY + DAY})


def test_a_pass_with_a_time_as_passive_copy_in_it_verifies_and_clears_nothing(
    tmp_path: Path,
) -> None:
    events = [
        ACTIVE.bad_page(MONDAY - DAY, 17),
        ACTIVE.maintenance_start(MONDAY),
        ACTIVE.scan_start(MONDAY + DAY),
        ACTIVE.maintenance_resume(MONDAY + 2 * DAY, MONDAY),
        ACTIVE.maintenance_end(MONDAY + 3 * DAY, MONDAY, run=50_000),
    ]
    said = judged(tmp_path, numbered(events)).of(ACTIVE)
    assert (said.bad, said.verified) == (1, {})


def switchover(run: int) -> list[Logged]:
    """A pass that one server began and another one ended."""
    return [
        PASSIVE.scan_start(MONDAY - 2 * DAY),
        PASSIVE.passive_end(MONDAY - DAY, MONDAY - 2 * DAY),
        PASSIVE.bad_page(MONDAY - HOUR, 17),
        ACTIVE.maintenance_start(MONDAY),
        ACTIVE.scan_start(MONDAY + DAY + HOUR),
        PASSIVE.maintenance_resume(MONDAY + DAY, MONDAY),
        PASSIVE.maintenance_end(MONDAY + 3 * DAY, MONDAY, run=run),
    ]


def test_after_a_switchover_neither_copy_is_verified_by_the_pass_that_both_shared(
    tmp_path: Path,
) -> None:
    answers = judged(tmp_path, numbered(switchover(run=50_000)))
    assert answers.of(ACTIVE).verified == {}
    said = answers.of(PASSIVE)
    assert (said.bad, said.verified) == (1, {"online_scan": MONDAY - DAY})


def test_after_a_switchover_a_run_that_read_all_pages_verifies_the_copy_that_it_read(
    tmp_path: Path,
) -> None:
    answers = judged(tmp_path, numbered(switchover(run=PAGES)))
    assert answers.of(ACTIVE).verified == {}
    said = answers.of(PASSIVE)
    assert (said.bad, said.verified) == (0, {"online_scan": MONDAY + 3 * DAY})


def test_a_pass_as_active_copy_after_an_incomplete_scan_as_passive_copy_is_another_one(
    tmp_path: Path,
) -> None:
    events = [
        PASSIVE.scan_resume(MONDAY, MONDAY - DAY),
        PASSIVE.log(MONDAY + HOUR, 746, PASSIVE.database, date_time(MONDAY - DAY)),
        PASSIVE.maintenance_resume(MONDAY + 2 * HOUR, MONDAY + HOUR),
        PASSIVE.maintenance_end(MONDAY + DAY, MONDAY + HOUR, run=PAGES),
    ]
    said = judged(tmp_path, numbered(events)).of(PASSIVE)
    assert said.verified == {"online_scan": MONDAY + DAY}


def test_a_copy_that_another_one_took_over_in_the_second_of_the_start_is_not_verified(
    tmp_path: Path,
) -> None:
    events = [
        ACTIVE.maintenance_start(MONDAY),
        PASSIVE.maintenance_resume(MONDAY, MONDAY - HOUR),
        ACTIVE.maintenance_end(MONDAY + DAY, MONDAY, run=50_000),
    ]
    assert judged(tmp_path, numbered(events)).of(ACTIVE).verified == {}


def test_a_pass_across_a_restart_in_the_same_role_verifies(tmp_path: Path) -> None:
    slow = ("8192 (0x0000000000002000)", "32768 (0x00008000)", "20", "1", "100")
    back = MONDAY + 9 * HOUR
    events = [
        ACTIVE.maintenance_start(MONDAY),
        ACTIVE.instance_stop(MONDAY + 8 * HOUR),
        *ACTIVE.instance_start(back),
        ACTIVE.log(back + 1.5, 509, ACTIVE.database, *slow, level="warning", state="R"),
        ACTIVE.maintenance_resume(MONDAY + 10 * HOUR, MONDAY),
        ACTIVE.maintenance_end(MONDAY + DAY, MONDAY, run=50_000),
    ]
    said = judged(tmp_path, numbered(events)).of(ACTIVE)
    assert said.verified == {"online_scan": MONDAY + DAY}


def test_a_start_while_a_pass_is_open_ends_that_pass_without_result_and_without_failure(
    tmp_path: Path,
) -> None:
    again = MONDAY + 2 * DAY
    events = [
        ACTIVE.maintenance_start(MONDAY),
        ACTIVE.bad_page(MONDAY + DAY, 17),
        ACTIVE.maintenance_start(again),
        ACTIVE.maintenance_end(again + DAY, again),
    ]
    answers = judged(tmp_path, numbered(events))
    said = answers.of(ACTIVE)
    assert (said.bad, said.verified) == (0, {"online_scan": again + DAY})
    names = ("started", "completed", "interrupted", "failed")
    totals = [
        answers.metrics.total(f"ese_passes_{name}_total", task="checksum", computer="ex01")
        for name in names
    ]
    assert totals == [2, 1, 0, 0]


@pytest.mark.parametrize("seen", [False, True], ids=["start unseen", "start seen"])
@pytest.mark.parametrize("before", [0.0, 0.4, 0.9])
def test_pages_skipped_in_the_second_before_the_resume_leave_a_passive_copy_unverified(
    tmp_path: Path, seen: bool, before: float
) -> None:
    start = MONDAY + 2 * DAY
    resume = start + DAY
    events = [
        PASSIVE.scan_start(MONDAY - DAY),
        PASSIVE.passive_end(MONDAY, MONDAY - DAY),
        PASSIVE.scan_skipped(resume - before),
        PASSIVE.scan_resume(resume, start),
        PASSIVE.passive_end(start + 2 * DAY, start),
    ]
    if seen:
        events.append(PASSIVE.scan_start(start))
    said = judged(tmp_path, numbered(events)).of(PASSIVE)
    assert said.verified == {"online_scan": MONDAY}


def test_pages_skipped_in_the_second_before_the_resume_leave_an_active_copy_unverified(
    tmp_path: Path,
) -> None:
    resume = MONDAY + DAY
    events = [
        ACTIVE.scan_skipped(resume - 0.5),
        ACTIVE.maintenance_resume(resume, MONDAY),
        ACTIVE.maintenance_end(MONDAY + 2 * DAY, MONDAY),
    ]
    said = judged(tmp_path, numbered(events)).of(ACTIVE)
    assert said.verified == {}


def test_a_resume_after_skipped_pages_does_not_make_the_pass_whole_again(tmp_path: Path) -> None:
    start = MONDAY + 2 * DAY
    events = [
        PASSIVE.scan_start(MONDAY - DAY),
        PASSIVE.passive_end(MONDAY, MONDAY - DAY),
        PASSIVE.scan_skipped(start + DAY - 0.5),
        PASSIVE.scan_resume(start + DAY, start),
        PASSIVE.scan_resume(start + 1.5 * DAY, start),
        PASSIVE.passive_end(start + 2 * DAY, start),
    ]
    said = judged(tmp_path, numbered(events)).of(PASSIVE)
    assert said.verified == {"online_scan": MONDAY}


@pytest.mark.parametrize("event_id", [516, 539, 541, 557, 559, 560])
def test_a_pass_in_which_the_copy_was_found_to_differ_verifies_nothing(
    tmp_path: Path, event_id: int
) -> None:
    events = [
        PASSIVE.scan_start(MONDAY),
        PASSIVE.log(MONDAY + HOUR, event_id, PASSIVE.database, "17", "1", "2", level="error"),
        PASSIVE.passive_end(MONDAY + DAY, MONDAY),
    ]
    said = judged(tmp_path, numbered(events)).of(PASSIVE)
    assert said.verified == {}
