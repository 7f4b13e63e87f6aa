"""What is stated of databases of SQL Server (semantics.md 7).

These are the records' half of the cases that `tests/rules/moved_cases.yml` lists.
"""

from typing import Any

import pytest

from esewatch.advice.advise import advise
from esewatch.advice.alerts import ENDS
from esewatch.advice.checkdb import judged_checks
from esewatch.advice.statements import restate
from esewatch.config import DatabaseRule, Settings
from esewatch.ese.programs.checkdb import ABORTED
from esewatch.expose.metrics.advice_families import advice_families
from esewatch.fold.commands import forget
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import STATED_SECONDS, SourceState, Stated
from esewatch.model import Event
from tests.support.records import DAY, EPOCH, HOUR, checkdb, event, folder_of
from tests.support.stated import assert_stated, configured, restarted

MINUTE = 60.0
WITHIN = 8 * DAY
FAILED, ABANDONED, LATE = (
    "checkdb_failed critical",
    "checkdb_aborted warning",
    "checkdb_overdue warning",
)
KEY = ("sql01", "sales")


def aborted(time: float, *, full: bool = True, **changes: Any) -> Event:
    fields = {"command": "CHECKDB", "physical_only": int(not full)}
    return checkdb(time, full=full, **{"event_id": ABORTED, "fields": fields, **changes})


def test_errors_stand_over_a_restart_until_a_check_finds_none() -> None:
    told = {"sales": FAILED}
    assert_stated(
        (50 * MINUTE, [checkdb(0), checkdb(0, full=False)], {}),
        (HOUR, [checkdb(HOUR, errors=1)], told),
        (160 * MINUTE, [restarted], told),
        (230 * MINUTE, [], told),
        (4 * HOUR, [checkdb(4 * HOUR)], {}),
    )


def test_errors_of_a_physical_check_stand_until_it_or_a_full_one_finds_none() -> None:
    begun = (HOUR, [checkdb(HOUR, errors=15, full=False)], {"sales": FAILED})
    assert_stated(begun, (2 * HOUR, [checkdb(2 * HOUR, full=False)], {}))
    assert_stated(begun, (2 * HOUR, [checkdb(2 * HOUR)], {}))
    full = (HOUR, [checkdb(HOUR, errors=15)], {"sales": FAILED})
    assert_stated(full, (2 * HOUR, [checkdb(2 * HOUR, full=False)], {"sales": FAILED}))


def test_a_check_that_was_aborted_is_a_ticket_until_one_of_its_kind_completes() -> None:
    told = {"sales": ABANDONED}
    assert_stated(
        (50 * MINUTE, [checkdb(0), checkdb(0, full=False)], {}),
        (HOUR, [aborted(HOUR, full=False)], told),
        (290 * MINUTE, [], told),
        (5 * HOUR, [checkdb(5 * HOUR, full=False)], {}),
    )


def test_one_that_was_aborted_by_the_second_in_which_another_completed_is_over() -> None:
    assert_stated(
        (110 * MINUTE, [checkdb(0), aborted(HOUR)], {"sales": ABANDONED}),
        (2 * HOUR, [checkdb(HOUR)], {}),
    )


def test_a_physical_one_that_was_aborted_ends_with_a_full_one_and_not_the_other_way() -> None:
    crm: dict[str, Any] = {"database": "crm"}
    begun = [aborted(HOUR, full=False), aborted(HOUR, **crm)]
    ends = [checkdb(5 * HOUR), checkdb(5 * HOUR, full=False, **crm)]
    assert_stated(
        (290 * MINUTE, begun, {"sales": ABANDONED, "crm": ABANDONED}),
        (5 * HOUR, ends, {"crm": ABANDONED}),
    )


@pytest.mark.parametrize("at", [0.0, 10 * HOUR])
def test_one_that_was_aborted_is_told_until_the_policy_is_over(at: float) -> None:
    told = {"sales": ABANDONED}
    assert_stated(
        (at, [aborted(at)], told),
        (at + 2 * DAY, [restarted], told),
        (at + WITHIN, [], told),
        (at + WITHIN + 1, [], {}),
    )


def test_a_full_check_that_is_older_than_its_policy_is_overdue_until_one_completes() -> None:
    checks = [checkdb(-20 * DAY), checkdb(-669600), checkdb(0, full=False)]
    told = {"sales": LATE}
    assert_stated(
        (0, checks, {}),
        (6 * HOUR, [], {}),
        (6 * HOUR + 1, [], told),
        (11 * HOUR, [restarted], told),
        (12 * HOUR, [checkdb(12 * HOUR)], {}),
    )


def test_physical_checks_alone_do_not_count_and_a_database_is_known_for_14_days_first() -> None:
    months = Settings(databases=[DatabaseRule(match="*", policy={"checkdb_within": 31 * DAY})])
    checks = [checkdb(time, full=False) for time in (-1195200, 0)]
    assert_stated(
        (4 * HOUR, checks, {}),
        (4 * HOUR + 1, [], {"sales": LATE}),
        (6 * HOUR, [configured(months)], {}),
    )


def test_each_database_is_judged_by_its_own_policy_and_none_without_one() -> None:
    settings = Settings(
        databases=[
            DatabaseRule(match="stock", policy={"checkdb_within": 35 * DAY}),
            DatabaseRule(match="scratch", policy={"checkdb_within": float("inf")}),
        ]
    )
    checks = [
        checkdb(time * DAY, database=name)
        for name in ("sales", "stock", "scratch")
        for time in (-20, -12)
    ]
    assert_stated((2 * HOUR, checks, {"sales": LATE}), settings=settings)


def test_an_aborted_check_and_one_that_is_overdue_stand_beside_errors() -> None:
    checks = [checkdb(-20 * DAY, errors=1), aborted(-HOUR)]
    assert_stated((0, checks, {"sales": f"{FAILED}, {LATE}, {ABANDONED}"}))


def stated(folder: Folder, *, up: bool) -> Stated:
    folder.state.sources["logs"] = SourceState(
        name="logs", up=up, caught_up=up, computers=["sql01"]
    )
    checks = judged_checks(folder.state, Settings(), EPOCH)
    list(restate(folder.state, Settings(), [], {}, 60.0, checks=checks))
    return folder.state.stated.get(KEY, Stated())


def test_what_a_completed_check_would_end_is_neither_told_nor_over_while_logs_are_behind() -> None:
    late = [checkdb(-20 * DAY, errors=1), aborted(-HOUR)]
    folder = folder_of(late)
    assert stated(folder, up=False).standing == [FAILED]
    everything = [ABANDONED, FAILED, LATE]
    assert stated(folder, up=True).standing == everything
    assert stated(folder, up=False) == Stated(standing=everything)


def test_what_stands_is_1_in_the_metrics_and_0_once_it_is_over() -> None:
    folder = folder_of([checkdb(-HOUR, errors=1)])

    def shown() -> list[tuple[dict[str, str], float]]:
        checks = judged_checks(folder.state, Settings(), EPOCH)
        list(restate(folder.state, Settings(), [], {}, 60.0, checks=checks))
        made = advice_families([], {}, folder.state, checks=checks)
        return [(each.labels, each.value) for family in made for each in family.samples]

    labels = {
        "computer": "sql01",
        "database": "sales",
        "finding": "checkdb_failed",
        "severity": "critical",
    }
    assert shown() == [(labels, 1)]
    forget(folder, *KEY, ENDS)
    assert (labels, 0) in shown()


def test_a_forgotten_database_states_what_it_had_and_nothing_of_other_databases() -> None:
    folder = folder_of([checkdb(-HOUR, errors=1)])
    stated(folder, up=True)
    assert forget(folder, *KEY, ENDS)
    assert ("stated", *KEY) in folder.changed
    ends = dict.fromkeys((FAILED, ABANDONED), STATED_SECONDS)
    assert folder.state.stated[KEY] == Stated(over=ends)


def test_what_is_not_known_is_stated_to_be_over_of_either_kind() -> None:
    folder = folder_of([])
    assert not forget(folder, *KEY, ENDS)
    assert {FAILED, ABANDONED, "known_bad_page critical"} <= folder.state.stated[KEY].over.keys()


def test_a_forgotten_ese_database_states_nothing_of_sql_server() -> None:
    folder = folder_of([event(700, 0)])
    (entry,) = advise(folder.state, Settings(), EPOCH)
    assert forget(folder, entry.computer, entry.database, ENDS)
    over = folder.state.stated[entry.computer, entry.database].over
    assert "known_bad_page critical" in over
    assert FAILED not in over


def test_a_database_of_sql_server_that_is_dropped_says_nothing() -> None:
    folder = folder_of([checkdb(-HOUR, errors=1)])
    stated(folder, up=True)
    folder.forget(*KEY)
    assert stated(folder, up=True) == Stated()
