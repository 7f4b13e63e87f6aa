"""Databases of SQL Server on the pages: last check and result of each."""

from esewatch.config import Settings
from esewatch.expose.pages.overview import overview
from esewatch.expose.pages.rendering import MAX_CHECKS, render_computer, render_status
from esewatch.expose.pages.report.report_page import build_report, render_report
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.fold.state.checkdb_results import Checks
from esewatch.fold.state.state import State
from tests.expose.examples import DAY, HOSTILE, NOW, example
from tests.expose.html import Page, assert_self_contained
from tests.support.sql_databases import sql, state_of


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
