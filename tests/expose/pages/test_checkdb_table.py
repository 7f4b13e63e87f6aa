"""Databases of SQL Server on the pages: judged as alerts do, with the figures of the metrics."""

from collections.abc import Iterable
from typing import Any

import pytest

from esewatch.config import Settings
from esewatch.config.settings import DatabaseRule
from esewatch.expose.metrics.snapshot import families
from esewatch.expose.pages.checkdb_table import (
    KNOWN_FOR,
    MAX_CHECKS,
    CheckdbRow,
    checked_databases,
    last_checks,
)
from esewatch.expose.pages.overview import overview
from esewatch.expose.pages.rendering import render_computer, render_status
from esewatch.expose.pages.report.report_page import build_report, render_report
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.fold.state.checkdb_results import Checks, SqlDatabase
from esewatch.fold.state.state import SourceState, State
from tests.expose.examples import DAY, HOSTILE, NOW, example
from tests.expose.html import Page, assert_self_contained

WITHIN = 8 * DAY


def sql(database: str = "sales", computer: str = "sql01", **changes: Any) -> SqlDatabase:
    given: dict[str, Any] = {
        "first_seen": NOW - 60 * DAY,
        "last_seen": NOW - DAY,
        "full": Checks(completed=NOW - DAY, seconds=7200.0),
    }
    return SqlDatabase(computer=computer, database=database, **{**given, **changes})


def state_of(databases: Iterable[SqlDatabase]) -> State:
    return State(sql_databases={(each.computer, each.database): each for each in databases})


def judged(entry: SqlDatabase, settings: Settings | None = None) -> CheckdbRow:
    (found,) = checked_databases(state_of([entry]), settings or Settings(), NOW)
    return found


def status(state: State, settings: Settings | None = None) -> Page:
    view = overview(state, settings or Settings(), NOW)
    page = Page(render_status(view, [], (True, ""), Runbooks()))
    assert_self_contained(page)
    return page


def report(state: State, now: float = NOW) -> Page:
    page = Page(
        render_report(build_report(state, Settings(), now, inputs=[], unreadable=[], advised=[]))
    )
    assert_self_contained(page)
    return page


def test_a_check_in_time_without_errors_is_ok() -> None:
    found = judged(sql())

    assert (found.state, found.errors, found.seconds, found.age) == ("ok", 0, 7200, DAY)
    assert (found.allowed, found.by_pages, found.aborted) == (WITHIN, None, None)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"full": Checks(completed=NOW - WITHIN)}, "ok"),
        ({"full": Checks(completed=NOW - WITHIN - 1)}, "overdue"),
        ({"full": Checks(completed=NOW - WITHIN - 1), "first_seen": NOW - KNOWN_FOR}, "unknown"),
        ({"full": Checks(), "physical": Checks(completed=NOW - DAY)}, "overdue"),
        (
            {
                "full": Checks(),
                "physical": Checks(completed=NOW - DAY),
                "first_seen": NOW - DAY,
            },
            "unknown",
        ),
        ({"full": Checks(completed=NOW - 2 * DAY, aborted=NOW - DAY)}, "broken_off"),
        ({"full": Checks(completed=NOW - DAY, aborted=NOW - 2 * DAY)}, "ok"),
        ({"full": Checks(completed=NOW - DAY, aborted=NOW - DAY)}, "ok"),
        ({"full": Checks(completed=NOW - 90 * DAY, left=2.0)}, "errors"),
        (
            {
                "full": Checks(completed=NOW - 2 * DAY),
                "physical": Checks(completed=NOW - DAY, left=2.0),
            },
            "errors",
        ),
        (
            {
                "full": Checks(completed=NOW - DAY),
                "physical": Checks(completed=NOW - 2 * DAY, left=2.0),
            },
            "ok",
        ),
    ],
)
def test_the_worst_that_is_known_is_the_state(changes: dict[str, Any], state: str) -> None:
    assert judged(sql(**changes)).state == state


def test_where_no_check_is_asked_for_none_is_overdue() -> None:
    rule = DatabaseRule(match="sales", policy={"checkdb_within": float("inf")})
    settings = Settings(databases=[rule])

    for full in (Checks(completed=NOW - 300 * DAY), Checks()):
        found = judged(sql(full=full), settings)
        assert (found.state, found.allowed) == ("ok", None)


def test_a_check_that_may_be_unread_is_not_overdue_but_its_errors_stand() -> None:
    old = Checks(completed=NOW - 30 * DAY)
    damaged = Checks(completed=NOW - 30 * DAY, left=1.0)
    state = state_of([sql("late", full=old), sql("damaged", full=damaged)])
    state.sources["log"] = SourceState(name="log", up=False, computers=["sql01"])

    found = overview(state, Settings(), NOW).checks

    assert [(each.database, each.state) for each in found] == [
        ("damaged", "errors"),
        ("late", "blind"),
    ]


def test_the_worst_comes_first_then_the_one_longest_without_a_check() -> None:
    state = state_of(
        [
            sql("new", full=Checks(completed=NOW - DAY)),
            sql("older", full=Checks(completed=NOW - 3 * DAY)),
            sql("late", full=Checks(completed=NOW - 30 * DAY)),
            sql("damaged", full=Checks(completed=NOW - DAY, left=3.0)),
        ]
    )
    found = [each.database for each in checked_databases(state, Settings(), NOW)]

    assert found == ["damaged", "late", "older", "new"]


def test_the_figures_are_those_of_the_metrics() -> None:
    entry = sql(
        full=Checks(completed=NOW - 3 * DAY, seconds=5400.0, left=2.0),
        physical=Checks(completed=NOW - DAY, left=1.0, aborted=NOW - DAY / 2),
    )
    samples = {
        (each.name, each.labels.get("physical_only")): each.value
        for family in families(state_of([entry]), Settings(), NOW)
        for each in family.samples
    }
    found = judged(entry)
    full, physical = "false", "true"
    last = "sqlserver_checkdb_last"

    assert samples[f"{last}_completion_timestamp_seconds", full] == found.completed
    assert samples[f"{last}_completion_timestamp_seconds", physical] == found.by_pages
    assert samples[f"{last}_duration_seconds", full] == found.seconds
    assert samples[f"{last}_abort_timestamp_seconds", physical] == found.aborted
    assert max(samples[f"{last}_errors", kind] for kind in (full, physical)) == found.errors
    assert samples["esewatch_policy_checkdb_within_seconds", None] == found.allowed


def test_the_status_page_says_it_first_and_lists_each_database() -> None:
    state = example()
    state.sql_databases = state_of(
        [
            sql("late", full=Checks(completed=NOW - 30 * DAY, seconds=7200.0)),
            sql("prod\\sales", full=Checks(completed=NOW - DAY, left=3.0)),
            sql("stopped", full=Checks(completed=NOW - 2 * DAY, aborted=NOW - DAY)),
        ]
    ).sql_databases
    page = status(state)
    said = (
        "SQL Server: ✖ DBCC CHECKDB left errors in 1 database, "
        "▲ 1 database without a full check for too long."
    )

    assert said in page.text
    assert page.text.index(said) < page.text.index("Most urgent first")
    assert "✖ errors prod\\sales" in page.text
    assert "▲ overdue late sql01" in page.text
    assert "30 days ago, limit 8 days 2 h" in page.text
    assert "◇ aborted stopped aborted 2007-06-25 23:20" in page.text
    assert {"/runbooks/SqlserverCheckdbFailed", "/runbooks/SqlserverCheckdbOverdue"} <= set(
        page.urls
    )
    assert ("data", {"value": "3"}) in page.elements


def test_without_sql_server_no_page_speaks_of_it() -> None:
    assert "SQL Server" not in status(example()).text
    assert "SQL Server" not in report(example()).text


def test_databases_that_are_well_raise_no_alarm() -> None:
    text = status(state_of([sql()])).text

    assert "● ok sales" in text
    assert "SQL Server:" not in text


def test_a_hostile_name_is_shown_as_text() -> None:
    page = status(state_of([sql(HOSTILE)]))

    assert "<script>alert(1)</script>" in page.text


def test_many_databases_make_no_endless_page() -> None:
    page = status(state_of(sql(f"db{number:04}") for number in range(MAX_CHECKS + 7)))

    assert "7 less urgent databases not listed" in page.text
    assert page.text.count("● ok db") == MAX_CHECKS


def test_the_page_of_a_computer_has_its_databases_of_sql_server_alone() -> None:
    view = overview(state_of([sql(), sql("other", "sql02")]), Settings(), NOW)
    html = render_computer(view, "sql02")
    assert html is not None
    page = Page(html)
    assert_self_contained(page)

    assert "No ESE database of it is known" in page.text
    assert "● ok other" in page.text
    assert "sales" not in page.text
    assert render_computer(view, "sql03") is None


def test_a_report_of_old_logs_is_as_of_the_last_check_of_each_computer() -> None:
    state = state_of(
        [
            sql("fresh"),
            sql("late", last_seen=NOW - 20 * DAY, full=Checks(completed=NOW - 20 * DAY)),
            sql("alone", "sql02"),
        ]
    )
    page = report(state, NOW + 3000 * DAY)

    assert "● ok fresh" in page.text
    assert "● ok alone" in page.text
    assert "▲ overdue late" in page.text
    assert "SQL Server: ▲ 1 database without a full check for too long." in page.text
    assert not any(url.startswith("/") for url in page.urls)


def test_the_last_check_of_a_computer_is_never_later_than_now() -> None:
    found = last_checks([sql(), sql("other", last_seen=NOW + DAY)], NOW)

    assert found == {"sql01": NOW}
