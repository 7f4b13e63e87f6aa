"""What is stated of requests that hang, and of errors of an instance (semantics.md 3 and 7).

These are the records' half of the cases that `tests/rules/moved_cases.yml` lists.
"""

from typing import Any

import pytest

from esewatch.advice.findings.details import OF_ENGINE
from esewatch.config import DatabaseRule, Settings
from esewatch.fold.instances.engine_errors import ENGINE_ERRORS, LASTING, OF_LOGS, REPORTED
from esewatch.fold.state.state import EngineErrorKind
from esewatch.model import Event
from tests.support.records import DAY, HOUR, LABEL, event
from tests.support.stated import ack, assert_stated, configured, restarted

MINUTE = 60.0
OTHER = "e:\\mdb07\\priv07.edb"
APP: dict[str, Any] = {"provider": "ESENT", "process": "app", "ese_instance": "app"}
OBSERVED = Settings(databases=[DatabaseRule(match="*", tier="observed")])
IGNORED = Settings(databases=[DatabaseRule(match="*", tier="ignored")])
KNOWN = event(700, 0)
BESIDE = event(700, 0, database=OTHER)
"""Another database of the same instance."""
WAITS, CALLS = "hung_io warning", "hung_io critical"


def hung(time: float, offset: int = 8192, event_id: int = 532, **changes: Any) -> Event:
    """A request that had taken 36 seconds by then."""
    return event(event_id, time, fields={"offset": offset, "seconds": 36}, **changes)


def done(event_id: int, time: float, took: float, offset: int = 8192, **changes: Any) -> Event:
    return event(event_id, time, fields={"offset": offset, "seconds": took}, **changes)


def failed(event_id: int, time: float, **changes: Any) -> Event:
    """An error of the instance that names no database."""
    return event(event_id, time, **{"database": "", "level": "error", **changes})


def came_up(time: float, event_id: int = 105, **changes: Any) -> Event:
    return event(event_id, time, **{"database": "", **changes})


@pytest.mark.parametrize("event_id", [507, 508, 509, 510, 481, 482])
def test_a_request_that_hangs_is_a_ticket_until_it_is_done(event_id: int) -> None:
    error = {"sg06": "io_error warning"} if event_id in (481, 482) else {}
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, [hung(HOUR)], {LABEL: WAITS}),
        (20 * HOUR, [], {LABEL: WAITS}),
        (21 * HOUR, [done(event_id, HOUR + 60, 96)], error),
    )


def test_a_request_of_another_place_or_that_began_later_ends_nothing() -> None:
    elsewhere, later = done(507, HOUR + 60, 96, 16384), done(507, HOUR + 90, 20)
    assert_stated(
        (2 * HOUR, [KNOWN, hung(HOUR), elsewhere, later], {LABEL: WAITS}),
        (3 * HOUR, [done(507, HOUR + 60, 96)], {}),
    )


def test_a_mount_an_acknowledgement_or_a_quiet_day_end_it() -> None:
    begun = (HOUR, [KNOWN, hung(HOUR)], {LABEL: WAITS})
    assert_stated(begun, (2 * HOUR, [came_up(2 * HOUR)], {}))
    assert_stated(begun, (2 * HOUR, [ack()], {}), (3 * HOUR, [hung(3 * HOUR)], {LABEL: WAITS}))
    assert_stated(
        begun,
        (20 * DAY, [], {LABEL: WAITS}),  # nothing was heard of it
        (20 * DAY, [event(701, 20 * DAY)], {}),
    )
    assert_stated(
        begun,
        (20 * HOUR, [event(701, 3 * HOUR)], {LABEL: WAITS}),
        (26 * HOUR, [], {}),
    )


def test_three_requests_within_five_minutes_call_reads_and_writes_together() -> None:
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, [hung(HOUR), hung(HOUR + 60, 1, 533)], {LABEL: WAITS}),
        (HOUR + 120, [hung(HOUR + 120, 2)], {LABEL: CALLS}),
        (6 * HOUR, [], {LABEL: CALLS}),
        (7 * HOUR, [done(508, HOUR + 130, 106, 1)], {LABEL: WAITS}),
        (8 * HOUR, [ack()], {}),
    )


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ((0, 150, 300), CALLS),
        ((0, 150, 301), WAITS),
        ((0, 360, 720), WAITS),
        ((0, 600, 700, 800, 900), CALLS),
        ((0, 60), WAITS),
    ],
    ids=["at the ends", "a second more", "over twelve minutes", "among others", "two"],
)
def test_requests_that_hang_count_within_five_minutes(times: tuple[float, ...], told: str) -> None:
    requests = [hung(HOUR + time, number) for number, time in enumerate(times)]
    assert_stated((MINUTE, [KNOWN], {}), (2 * HOUR, requests, {LABEL: told}))


def test_requests_that_are_the_first_records_of_a_database_are_told_however_late() -> None:
    requests = [hung(number * MINUTE, number) for number in range(5)]
    assert_stated((HOUR, requests, {LABEL: CALLS}))
    assert_stated((20 * HOUR, requests[:2], {LABEL: WAITS}))
    assert_stated((2 * DAY, [*requests, event(701, 2 * HOUR)], {}))


def test_requests_that_were_read_at_once_after_an_absence_call() -> None:
    requests = [hung(HOUR + number, number) for number in range(5)]
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, [restarted], {}),
        (HOUR + 15 * MINUTE, [*requests], {LABEL: CALLS}),
        (HOUR + 32 * MINUTE, [restarted], {LABEL: CALLS}),
    )


def test_requests_of_several_databases_are_of_each_alone() -> None:
    names = [f"e:\\{letter}.edb" for letter in "abdf"]
    counts = dict(zip(names, (4, 4, 4, 2), strict=True))
    records = [event(700, 0, database=name, ese_instance=f"S{name}") for name in names]
    records += [
        hung(HOUR, offset, database=name, ese_instance=f"S{name}")
        for name, count in counts.items()
        for offset in range(count)
    ]
    told = {name: CALLS if count > 2 else WAITS for name, count in counts.items()}
    assert_stated((2 * HOUR, records, told))


def test_a_request_to_a_log_is_of_all_databases_of_its_instance() -> None:
    log = {"file": "e:\\mdb06\\e06.log", "offset": 512, "seconds": 36}
    beside = event(700, 0, database="e:\\b.edb", ese_instance="SG08")
    assert_stated(
        (MINUTE, [KNOWN, BESIDE, beside], {}),
        (HOUR, [event(533, HOUR, database="", fields=log)], {LABEL: WAITS, OTHER: WAITS}),
        (2 * HOUR, [event(508, HOUR + 9, database="", fields={**log, "seconds": 45})], {}),
    )


def test_requests_of_what_is_only_observed_are_a_ticket_of_what_is_ignored_nothing() -> None:
    requests = [hung(HOUR, number) for number in range(5)]
    assert_stated((2 * HOUR, requests, {LABEL: WAITS}), settings=OBSERVED)
    assert_stated((2 * HOUR, requests, {}), settings=IGNORED)


def test_the_tier_of_the_configuration_holds_for_requests_from_then_on() -> None:
    requests = [hung(HOUR, number) for number in range(4)]
    assert_stated(
        (HOUR, [KNOWN, *requests], {LABEL: CALLS}),
        (2 * HOUR, [configured(OBSERVED)], {LABEL: WAITS}),
        (3 * HOUR, [configured(Settings())], {LABEL: CALLS}),
        (4 * HOUR, [configured(IGNORED)], {}),
    )


def test_a_failed_request_is_a_ticket_the_second_calls_until_the_instance_comes_up() -> None:
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, [event(481, HOUR)], {"sg06": "io_error warning"}),
        (2 * HOUR, [event(482, 2 * HOUR)], {"sg06": "io_error critical"}),
        (40 * DAY, [restarted], {"sg06": "io_error critical"}),
        (41 * DAY, [came_up(41 * DAY)], {}),
        (42 * DAY, [event(551, 42 * DAY)], {"sg06": "io_error warning"}),
        (43 * DAY, [ack()], {}),
    )


def test_failed_requests_of_what_is_only_observed_are_a_ticket_however_many() -> None:
    errors = [event(481, HOUR + number) for number in range(5)]
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (2 * HOUR, errors, {"sg06": "io_error warning"}),
        (3 * HOUR, [came_up(3 * HOUR)], {}),
        settings=OBSERVED,
    )


each_kind = pytest.mark.parametrize("kind", OF_ENGINE)


def stated_of(kind: EngineErrorKind, errors: int = 2) -> str:
    name, severity = OF_ENGINE[kind]
    return f"{name} {'warning' if kind == 'io' and errors == 1 else severity}"


def errors_of(kind: EngineErrorKind, time: float, **changes: Any) -> list[Event]:
    """Two of the kind."""
    event_id = min(ENGINE_ERRORS[kind])
    return [failed(event_id, time, **changes), failed(event_id, time + 1, **changes)]


@each_kind
def test_an_error_stands_until_the_instance_comes_up_or_it_is_acknowledged(
    kind: EngineErrorKind,
) -> None:
    told = {"sg06": stated_of(kind)}
    ended = {} if kind not in LASTING else told
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR + 2, errors_of(kind, HOUR), told),
        (40 * DAY, [restarted], told),
        (41 * DAY, [came_up(41 * DAY)], ended),
        (42 * DAY, [*errors_of(kind, 42 * DAY)], told),
        (43 * DAY, [ack()], {}),
        (44 * DAY, errors_of(kind, 44 * DAY), told),
    )


@each_kind
def test_a_database_that_the_instance_attaches_ends_errors_of_logs(kind: EngineErrorKind) -> None:
    told = {"sg06": stated_of(kind)}
    attached = [came_up(2 * HOUR, 102), event(326, 2 * HOUR)]
    assert_stated(
        (HOUR + 2, [KNOWN, *errors_of(kind, HOUR)], told),
        (3 * HOUR, attached, {} if kind in OF_LOGS else told),
    )


@each_kind
def test_an_error_of_what_is_only_observed_is_a_ticket(kind: EngineErrorKind) -> None:
    told = stated_of(kind)
    ticket = {"sg06": told.replace("critical", "warning")}
    assert_stated(
        (HOUR + 2, [KNOWN, *errors_of(kind, HOUR)], ticket),
        (2 * HOUR, [configured(Settings())], {"sg06": told}),
        (3 * HOUR, [configured(OBSERVED)], ticket),
        settings=OBSERVED,
    )


@each_kind
def test_of_an_instance_that_is_ignored_only_damaged_memory_is_told(kind: EngineErrorKind) -> None:
    assert_stated(
        (2 * HOUR, [KNOWN, *errors_of(kind, HOUR)], {"sg06": stated_of(kind)}),
        (
            3 * HOUR,
            [configured(IGNORED)],
            {"sg06": stated_of(kind)} if kind == "memory" else {},
        ),
    )


@each_kind
def test_where_no_database_is_known_an_instance_of_a_server_is_told(kind: EngineErrorKind) -> None:
    assert_stated((2 * HOUR, errors_of(kind, HOUR), {"sg06": stated_of(kind)}))


@each_kind
def test_of_another_process_without_a_known_database_what_the_engine_reports_is_told(
    kind: EngineErrorKind,
) -> None:
    told = {"app": stated_of(kind)} if kind in REPORTED else {}
    assert_stated((2 * HOUR, errors_of(kind, HOUR, **APP), told))


def test_the_highest_tier_of_its_databases_is_that_of_the_instance() -> None:
    rules = [DatabaseRule(match="*priv07.edb", tier="ignored"), *OBSERVED.databases]
    some = Settings(databases=[DatabaseRule(match="*priv07.edb", tier="observed")])
    told = {"sg06": "io_error critical"}
    assert_stated(
        (2 * HOUR, [KNOWN, BESIDE, event(481, 1), event(481, 2)], told),
        (3 * HOUR, [configured(Settings(databases=rules))], {"sg06": "io_error warning"}),
        (4 * HOUR, [configured(Settings(databases=rules[:1]))], told),
        (5 * HOUR, [configured(some)], told),
    )


def test_a_snapshot_is_no_database_of_an_instance() -> None:
    shadow = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7\\x.edb"
    observed = Settings(databases=[DatabaseRule(match="*priv06.edb", tier="observed")])
    bad = event(474, HOUR, database=shadow, fields={"page_number": 17})
    known = {"sg06": "io_error warning", shadow: "known_bad_page critical"}
    assert_stated((2 * HOUR, [KNOWN, bad, event(481, 1), event(481, 2)], known), settings=observed)


def test_what_was_acknowledged_stays_so_when_its_database_is_ignored() -> None:
    ignored = Settings(databases=[DatabaseRule(match="*priv06.edb", tier="ignored")])
    assert_stated(
        (HOUR, [KNOWN, BESIDE, failed(492, HOUR)], {"sg06": "log_sequence_halted critical"}),
        (2 * HOUR, [ack()], {}),
        (3 * HOUR, [configured(ignored)], {}),
    )


def test_damaged_memory_is_of_one_computer() -> None:
    away = {**APP, "computer": "EX02"}
    memory = "engine_failure warning"
    assert_stated(
        (HOUR, [KNOWN, failed(907, HOUR), failed(907, 1, **away)], {"sg06": memory, "app": memory}),
        (2 * HOUR, [ack()], {"app": memory}),
    )


def test_a_log_disk_that_is_low_is_told_beside_one_that_is_full() -> None:
    low, full = "log_disk_low warning", "disk_full critical"
    assert_stated(
        (HOUR, [KNOWN, failed(428, HOUR)], {"sg06": low}),
        (2 * HOUR, [failed(413, 2 * HOUR)], {"sg06": f"{low}, {full}"}),
        (3 * HOUR, [event(326, 3 * HOUR)], {"sg06": low}),
        (4 * HOUR, [came_up(4 * HOUR)], {}),
    )


def test_a_database_beyond_its_size_is_a_ticket_and_a_full_one_calls() -> None:
    assert_stated(
        (HOUR, [KNOWN, failed(755, HOUR)], {"sg06": "database_full warning"}),
        (2 * HOUR, [failed(445, 2 * HOUR)], {"sg06": "database_full critical"}),
        (3 * HOUR, [came_up(3 * HOUR)], {}),
    )


def test_failures_that_the_engine_reports_are_told_until_each_is_over() -> None:
    reported = "engine_failure warning"
    assert_stated(
        (MINUTE, [KNOWN], {}),
        (HOUR, [failed(3001, HOUR)], {"sg06": reported}),
        (2 * HOUR, [restarted], {"sg06": reported}),
        (3 * HOUR, [came_up(3 * HOUR)], {}),
        (4 * HOUR, [failed(3006, 4 * HOUR)], {"sg06": reported}),
        (5 * HOUR, [failed(907, 5 * HOUR, **APP)], {"sg06": reported, "app": reported}),
        (6 * HOUR, [came_up(6 * HOUR)], {"sg06": reported, "app": reported}),
        (7 * HOUR, [ack()], {}),
    )


def test_what_was_logged_before_and_is_read_after_an_acknowledgement_stands() -> None:
    assert_stated(
        (2 * HOUR, [KNOWN, failed(454, 2 * HOUR)], {"sg06": "recovery_failed critical"}),
        (3 * HOUR, [ack()], {}),
        (4 * HOUR, [failed(492, HOUR)], {"sg06": "log_sequence_halted critical"}),
    )


def page_error(time: float, error: int = -1018, event_id: int = 454) -> Event:
    """An error of the instance that is a page error, of a page and a database that it names not."""
    return failed(event_id, time, fields={"error": error})


FAILED = "recovery_failed critical"
BAD, OLD = "known_bad_page critical", "known_bad_page warning"


def test_a_page_error_that_names_no_database_is_of_the_only_one_or_of_the_instance() -> None:
    assert_stated(
        (2 * HOUR, [KNOWN, page_error(HOUR)], {LABEL: BAD, "sg06": FAILED}),
    )
    assert_stated(
        (2 * HOUR, [KNOWN, BESIDE, page_error(HOUR)], {"sg06": f"{BAD}, {FAILED}"}),
        (3 * HOUR, [came_up(3 * HOUR)], {"sg06": BAD}),
        (4 * HOUR, [restarted], {"sg06": BAD}),
        (5 * HOUR, [ack()], {}),
    )


def test_page_errors_of_an_instance_are_over_when_all_its_databases_were_read_good() -> None:
    fields = {"seconds": 60, "days": 1, "pages_seen": 5000, "bad_checksums": 0}

    def scan(at: float, **of: Any) -> list[Event]:
        return [event(717, at, **of), event(721, at + 60, fields=fields, **of)]

    assert_stated(
        (2 * HOUR, [KNOWN, BESIDE, page_error(HOUR, event_id=214)], {"sg06": BAD}),
        (DAY, scan(3 * HOUR), {"sg06": BAD}),
        (2 * DAY, scan(DAY, database=OTHER), {}),
    )


def test_page_errors_of_an_instance_that_are_history_or_of_what_is_observed_are_a_ticket() -> None:
    found = [KNOWN, BESIDE, page_error(HOUR, event_id=214)]
    assert_stated(
        (30 * DAY, found, {"sg06": OLD}),
        (31 * DAY, [page_error(31 * DAY, event_id=214)], {"sg06": BAD}),
    )
    assert_stated(
        (2 * HOUR, found, {"sg06": OLD}),
        (3 * HOUR, [configured(IGNORED)], {}),
        settings=OBSERVED,
    )


def test_corruption_that_an_error_reports_is_of_the_instance_until_it_is_acknowledged() -> None:
    told = {"sg06": "logical_damage critical"}
    begun = (2 * HOUR, [KNOWN, BESIDE, page_error(HOUR, -1206, 214)], told)
    assert_stated(begun, (3 * HOUR, [came_up(3 * HOUR)], told), (4 * HOUR, [ack()], {}))
    of_one = page_error(HOUR, -1206, 214)
    assert_stated((2 * HOUR, [KNOWN, of_one], {LABEL: "logical_damage critical"}))
    assert_stated(
        (2 * HOUR, [KNOWN, BESIDE, of_one], {"sg06": "logical_damage warning"}),
        (3 * HOUR, [configured(IGNORED)], {}),
        settings=OBSERVED,
    )


@pytest.mark.parametrize("error", [-1021, -1022, -1121])
@pytest.mark.parametrize(
    ("event_id", "others"), [(214, ""), (217, ""), (723, ""), (454, ", recovery_failed critical")]
)
def test_an_error_of_reads_and_writes_is_one_whatever_event_has_it(
    error: int, event_id: int, others: str
) -> None:
    found = [page_error(HOUR + number, error, event_id) for number in range(2)]
    assert_stated(
        (HOUR, [KNOWN, found[0]], {"sg06": f"io_error warning{others}"}),
        (2 * HOUR, [found[1]], {"sg06": f"io_error critical{others}"}),
        (3 * HOUR, [came_up(3 * HOUR)], {}),
    )


def test_an_error_of_reads_and_writes_of_a_named_file_is_of_its_instance() -> None:
    named = event(217, HOUR, level="error", fields={"error": -1022})
    of_log = failed(217, HOUR, fields={"error": -1022, "file": "e:\\mdb06\\e06.log"})
    for found in (named, of_log):
        assert_stated((2 * HOUR, [KNOWN, found], {"sg06": "io_error warning"}))
    # One event, one error.
    assert_stated(
        (
            2 * HOUR,
            [KNOWN, failed(481, HOUR, fields={"error": -1022})],
            {"sg06": "io_error warning"},
        )
    )


def test_a_page_error_beside_a_file_that_is_ignored_by_its_name_is_of_the_instance() -> None:
    cache = "c:\\users\\a\\webcache\\webcachev01.dat"
    page = failed(214, HOUR, fields={"error": -1018}, **APP)
    found = [event(326, 0, database=cache, **APP), page]
    assert_stated((2 * HOUR, found, {"app": OLD}))
    watched = Settings(databases=[DatabaseRule(match="*.dat", tier="watched")])
    assert_stated((2 * HOUR, found, {cache: BAD}), settings=watched)


def test_page_errors_where_no_database_is_known_are_of_the_instance() -> None:
    assert_stated((2 * HOUR, [page_error(HOUR, event_id=214)], {"sg06": BAD}))
    of_app = failed(214, HOUR, fields={"error": -1018}, **APP)
    assert_stated((2 * HOUR, [of_app], {"app": OLD}))
