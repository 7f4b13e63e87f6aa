"""What is stated of databases: bad pages and repairs (semantics.md 3 and 7).

These are the records' half of the cases that `tests/rules/moved_cases.yml` lists.
"""

from typing import Any

import pytest

from esewatch.config import DatabaseRule, Settings
from esewatch.model import CopyChecked, Event, PageFault, VolumesSeen
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, LABEL, event
from tests.support.stated import Step, ack, assert_stated, configured, restarted

MINUTE = 60.0
OTHER = "e:\\mdb07\\priv07.edb"
APP: dict[str, Any] = {"provider": "ESENT", "process": "app", "ese_instance": "app"}
"""A database that nobody asked to watch."""
OBSERVED = Settings(databases=[DatabaseRule(match="*priv06.edb", tier="observed")])
IGNORED = Settings(databases=[DatabaseRule(match="*priv06.edb", tier="ignored")])
KNOWN = event(700, 0)
BESIDE = event(700, 0, database=OTHER, ese_instance="SG07")
BAD = {"uncorrectable": 474, "wrong_page": 475, "no_data": 476, "lost_flush": 530}
"""Kind -> an event that latches such a page."""
CRITICAL, WARNING = "known_bad_page critical", "known_bad_page warning"
TICKET, CALL = "corrected_page warning", "corrected_page critical"


def page(event_id: int, time: float, number: int = 17, **changes: Any) -> Event:
    return event(event_id, time, fields={"page_number": number}, **changes)


def corrected(time: float, *numbers: int, **changes: Any) -> list[Step]:
    return [page(399, time, number, **changes) for number in numbers]


def scan(time: float, bad: int = 0, **changes: Any) -> list[Step]:
    """A pass over all pages that begins then and takes half an hour."""
    fields = {"seconds": 60, "days": 1, "pages_seen": 5000, "bad_checksums": bad}
    return [event(717, time, **changes), event(721, time + HOUR / 2, fields=fields, **changes)]


def page_scan(
    time: float, *bad: tuple[int, PageFault], database: str = DATABASE, complete: bool = True
) -> CopyChecked:
    return CopyChecked(
        time=EPOCH + time,
        computer="EX01",
        database=database,
        by="page_scan",
        complete=complete,
        pages_seen=5000,
        bad=len(bad),
        bad_pages=bad,
    )


def on_devices(**devices: str) -> VolumesSeen:
    """Drives and their disks."""
    known = {f"{drive}:": device for drive, device in devices.items()}
    return VolumesSeen(time=EPOCH, computer="EX01", devices=known)


@pytest.mark.parametrize("kind", ["uncorrectable", "wrong_page"])
def test_a_fresh_bad_page_calls_at_once_and_is_over_when_all_pages_were_read_good(
    kind: str,
) -> None:
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, [page(BAD[kind], HOUR), page(BAD[kind], HOUR, 18)], {LABEL: CRITICAL}),
        (2 * DAY, [], {LABEL: CRITICAL}),
        (3 * DAY, scan(3 * DAY), {}),
    )


@pytest.mark.parametrize("kind", ["no_data", "lost_flush"])
def test_a_page_that_no_scan_sees_calls_at_once_until_it_is_repaired_or_acknowledged(
    kind: str,
) -> None:
    latched = [page(BAD[kind], HOUR), page(BAD[kind], HOUR, 18)]
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, latched, {LABEL: CRITICAL}),
        (2 * DAY, scan(DAY), {LABEL: CRITICAL}),
        (3 * DAY, [page(911, 3 * DAY)], {LABEL: f"{CRITICAL}, {TICKET}"}),
        (4 * DAY, [ack()], {}),
    )


def test_pages_of_the_history_are_a_ticket_and_a_fresh_one_beside_them_calls() -> None:
    found = [KNOWN, page(474, 0), page(474, HOUR, 18)]
    assert_stated(
        (30 * DAY, found, {LABEL: WARNING}),
        (31 * DAY, [page(474, 31 * DAY, 19)], {LABEL: CRITICAL}),
        (32 * DAY, [ack(LABEL, 19)], {LABEL: WARNING}),
        (33 * DAY, scan(32 * DAY), {}),
    )


def test_of_pages_that_are_read_at_first_those_of_the_last_week_call() -> None:
    assert_stated((30 * DAY, [KNOWN, page(474, 23 * DAY + 1)], {LABEL: CRITICAL}))
    assert_stated((30 * DAY, [KNOWN, page(474, 23 * DAY - 1)], {LABEL: WARNING}))


def test_three_bad_pages_of_which_one_is_old_call() -> None:
    found = [page(475, DAY), page(475, 29 * DAY, 18), page(475, 29 * DAY, 19)]
    assert_stated((30 * DAY, [KNOWN, *found], {LABEL: CRITICAL}))


@pytest.mark.parametrize("kind", BAD)
def test_a_lost_flush_or_another_page_of_the_history_is_a_ticket(kind: str) -> None:
    assert_stated((30 * DAY, [KNOWN, page(BAD[kind], DAY)], {LABEL: WARNING}))


@pytest.mark.parametrize("kind", BAD)
def test_a_database_that_is_only_observed_never_calls(kind: str) -> None:
    known = event(102, 0, database="c:\\app\\app.edb", **APP)
    bad = page(BAD[kind], HOUR, database="c:\\app\\app.edb", **APP)
    of_it = {"c:\\app\\app.edb": WARNING}
    assert_stated(
        (MINUTE, [known], {}),
        (HOUR, [bad], of_it),
        (2 * DAY, [], of_it),
        (3 * DAY, [ack("c:\\app\\app.edb")], {}),
    )
    assert_stated((30 * DAY, [known, bad], of_it))


def test_a_bad_page_makes_a_file_that_is_ignored_an_observed_one() -> None:
    place = "C:\\Users\\a\\AppData\\Local\\WebCache\\WebCacheV01.dat"
    assert_stated(
        (MINUTE, [event(102, 0, database=place, **APP)], {}),
        (HOUR, [page(474, HOUR, database=place, **APP)], {place.lower(): WARNING}),
    )
    assert_stated(
        (30 * DAY, [page(474, HOUR, database=place, **APP)], {place.lower(): WARNING}),
    )


def test_what_the_configuration_ignores_is_not_told() -> None:
    everything = [KNOWN, page(474, HOUR), *corrected(HOUR, 1, 2, 3), page(911, HOUR, 9)]
    assert_stated((2 * HOUR, everything, {}), settings=IGNORED)


def test_the_tier_of_the_configuration_holds_from_then_on() -> None:
    found = [KNOWN, page(474, HOUR)]
    assert_stated(
        (HOUR, found, {LABEL: WARNING}),
        (2 * HOUR, [configured(Settings())], {LABEL: CRITICAL}),
        (3 * HOUR, [configured(OBSERVED)], {LABEL: WARNING}),
        (4 * HOUR, [configured(IGNORED)], {}),
        settings=OBSERVED,
    )


def test_a_restart_changes_nothing_of_what_stands() -> None:
    found = [KNOWN, page(474, HOUR), page(530, HOUR, 18), *corrected(HOUR, 1, 2)]
    of_watched, of_observed = f"{CRITICAL}, {TICKET}", f"{WARNING}, {TICKET}"
    for settings, told in ((Settings(), of_watched), (OBSERVED, of_observed)):
        assert_stated(
            (2 * HOUR, found, {LABEL: told}),
            (3 * HOUR, [restarted], {LABEL: told}),
            (4 * HOUR, [], {LABEL: told}),
            settings=settings,
        )


def test_an_agent_that_only_scans_pages_states_what_it_found_and_that_it_is_over() -> None:
    assert_stated(
        (HOUR, [page_scan(HOUR, (17, "uncorrectable"))], {LABEL: CRITICAL}),
        (2 * DAY, [restarted], {LABEL: CRITICAL}),
        (3 * DAY, [page_scan(3 * DAY)], {}),
        (4 * DAY, [], {}),
        settings=Settings(databases=[DatabaseRule(match="*priv06.edb")]),
    )


def test_without_a_bad_page_nothing_is_stated() -> None:
    assert_stated((HOUR, [], {}), (2 * DAY, [KNOWN, *scan(DAY)], {}))


def test_a_corrected_page_is_a_ticket_and_three_call_until_a_day_is_over() -> None:
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, corrected(HOUR, 1), {LABEL: TICKET}),
        (2 * HOUR, corrected(2 * HOUR, 2, 3), {LABEL: CALL}),
        (25 * HOUR, [], {LABEL: TICKET}),
        (3 * DAY, scan(2 * DAY), {}),
    )


def test_a_corrected_page_of_the_history_is_a_ticket() -> None:
    found = [KNOWN, *corrected(DAY, 1, 2, 3, 4)]
    assert_stated((30 * DAY, found, {LABEL: TICKET}))


def test_pages_of_databases_without_a_known_device_count_together() -> None:
    found = [KNOWN, BESIDE, *corrected(HOUR, 1, 2)]
    more = corrected(HOUR, 1, database=OTHER, ese_instance="SG07")
    assert_stated(
        (HOUR, found, {LABEL: TICKET}),
        (2 * HOUR, more, {LABEL: CALL, OTHER: CALL}),
    )


@pytest.mark.parametrize(
    "devices", [{"e": "naa.1c", "f": "naa.1d"}, {"e": "naa.1c"}], ids=["two", "one is not known"]
)
def test_pages_on_different_devices_are_not_added_up(devices: dict[str, str]) -> None:
    there = "f:\\mdb07\\priv07.edb"
    beside = corrected(HOUR, 1, 2, database=there, ese_instance="SG07")
    assert_stated(
        (
            2 * HOUR,
            [KNOWN, on_devices(**devices), *corrected(HOUR, 1, 2), *beside],
            {LABEL: TICKET, there: TICKET},
        ),
        (3 * HOUR, [], {LABEL: TICKET, there: TICKET}),
    )


def test_three_pages_of_one_device_call_within_a_day_and_no_restart_ends_that() -> None:
    seventh = corrected(2 * HOUR, 1, database=OTHER, ese_instance="SG07")
    both = {LABEL: CALL, OTHER: CALL}
    assert_stated(
        (HOUR, [on_devices(e="naa.1c"), KNOWN, BESIDE, *corrected(HOUR, 1, 2)], {LABEL: TICKET}),
        (2 * HOUR, seventh, both),
        (5 * HOUR, [restarted], both),
        (25 * HOUR - 1, [], both),
        (26 * HOUR, [], {LABEL: TICKET, OTHER: TICKET}),
    )


def test_a_page_that_is_corrected_again_is_not_another_one() -> None:
    again = [each for at in range(1, 40) for each in corrected(at * HOUR / 4, 1, 2)]
    assert_stated(
        (HOUR, [KNOWN, *again[:8]], {LABEL: TICKET}),
        (10 * HOUR, again[8:], {LABEL: TICKET}),
    )


def test_pages_that_stood_before_do_not_count() -> None:
    assert_stated(
        (DAY, [KNOWN, *corrected(-2 * DAY, 1, 2, 3, 4, 5)], {LABEL: TICKET}),
        (DAY + HOUR, corrected(DAY + HOUR, 6, 7), {LABEL: TICKET}),
        (DAY + 2 * HOUR, corrected(DAY + 2 * HOUR, 8), {LABEL: CALL}),
    )


ENDS: dict[str, list[Step]] = {
    "ack": [ack()],
    "scan": scan(2 * DAY),
    "created": [event(325, 2 * DAY)],
}


@pytest.mark.parametrize("end", ENDS)
def test_a_page_counts_anew_once_it_was_dealt_with(end: str) -> None:
    found = [*corrected(HOUR, 1, 2, 3), *corrected(2 * HOUR, 1, 2, 3)]
    again = [*corrected(9 * DAY, 1, 2), *corrected(9 * DAY + MINUTE, 1, 2)]
    assert_stated(
        (2 * HOUR, [KNOWN, *found], {LABEL: CALL}),
        (3 * DAY, ENDS[end], {}),
        (9 * DAY + HOUR, again, {LABEL: TICKET}),
        (9 * DAY + HOUR, corrected(9 * DAY + HOUR, 3), {LABEL: CALL}),
        (10 * DAY, [], {LABEL: TICKET}),
    )


def test_pages_beyond_a_thousand_count_each() -> None:
    bad = [page(474, number, number) for number in range(1000)]
    told = {LABEL: f"{CRITICAL}, {TICKET}"}
    assert_stated(
        (HOUR, [KNOWN, *bad, *corrected(HOUR, 1001, 1002)], told),
        (2 * HOUR, corrected(2 * HOUR, 1003), {LABEL: f"{CRITICAL}, {CALL}"}),
    )


def test_pages_of_different_computers_are_not_added_up() -> None:
    away = corrected(HOUR, 1, 2, database=OTHER, computer="EX02")
    assert_stated(
        (HOUR, [KNOWN, *corrected(HOUR, 1, 2), *away], {LABEL: TICKET, OTHER: TICKET}),
    )


def test_pages_of_the_history_do_not_count_those_of_today_beside_them_do() -> None:
    old, new = corrected(DAY, 1, 2), corrected(29.5 * DAY, 3, 4, 5)
    assert_stated((30 * DAY, [KNOWN, *old, *new[:2]], {LABEL: TICKET}))
    assert_stated((30 * DAY, [KNOWN, *old, *new], {LABEL: CALL}))


def test_pages_of_logs_that_are_read_late_do_not_count() -> None:
    late = corrected(8 * DAY, 1, 2, 3)
    assert_stated(
        (9.5 * DAY, [KNOWN], {}),
        (9.5 * DAY, late, {LABEL: TICKET}),
    )
    assert_stated((8 * DAY, [KNOWN], {}), (8.5 * DAY, late, {LABEL: CALL}))


def test_pages_that_a_page_scan_found_count() -> None:
    found = page_scan(HOUR, *((number, "corrected") for number in (1, 2, 3)))
    assert_stated((HOUR, [KNOWN, found], {LABEL: CALL}))


def test_pages_that_are_acknowledged_do_not_count() -> None:
    assert_stated(
        (HOUR, [KNOWN, *corrected(HOUR, 1, 2, 3, 4)], {LABEL: CALL}),
        (2 * HOUR, [ack(LABEL, 1, 2)], {LABEL: TICKET}),
        (3 * HOUR, [ack()], {}),
        (4 * HOUR, corrected(4 * HOUR, 5), {LABEL: TICKET}),
    )


def test_pages_of_a_database_that_is_only_observed_do_not_count() -> None:
    beside = corrected(HOUR, 1, 2, 3, database=OTHER, ese_instance="SG07")
    two = [KNOWN, BESIDE, *corrected(HOUR, 1, 2), *beside]
    observed = Settings(databases=[DatabaseRule(match="*priv07.edb", tier="observed")])
    assert_stated(
        (2 * HOUR, two, {LABEL: TICKET, OTHER: TICKET}),
        (3 * HOUR, [configured(Settings())], {LABEL: CALL, OTHER: CALL}),
        settings=observed,
    )


def test_a_repair_is_a_ticket_until_all_pages_were_read_good() -> None:
    assert_stated(
        (MINUTE, [KNOWN, *scan(-DAY)], {}),
        (HOUR, [page(905, HOUR)], {LABEL: TICKET}),
        (5 * HOUR, [restarted], {LABEL: TICKET}),
        (20 * DAY, [], {LABEL: TICKET}),
        (21 * DAY, scan(20 * DAY), {}),
    )


@pytest.mark.parametrize("event_id", [905, 911])
def test_a_repair_is_over_when_it_is_acknowledged_and_another_is_told_again(event_id: int) -> None:
    assert_stated(
        (HOUR, [KNOWN, page(event_id, HOUR)], {LABEL: TICKET}),
        (3 * DAY, [ack()], {}),
        (4 * DAY, [page(event_id, 4 * DAY)], {LABEL: TICKET}),
    )


def test_a_repair_of_45_days_ago_is_history() -> None:
    assert_stated(
        (45 * DAY - 1, [KNOWN, page(905, 0)], {LABEL: TICKET}),
        (45 * DAY, [], {}),
    )


def test_a_repair_of_what_is_only_observed_is_told_of_what_is_ignored_not() -> None:
    repaired = [event(102, 0), page(905, HOUR)]
    assert_stated((2 * HOUR, repaired, {LABEL: TICKET}), settings=OBSERVED)
    place = "C:\\Windows\\Temp\\a.edb"
    in_temp = page(905, HOUR, database=place, **APP)
    assert_stated((2 * HOUR, [event(102, 0, database=place, **APP), in_temp], {}))
