"""Databases of SQL Server: judged as alerts do, with the figures of the metrics."""

from typing import Any

import pytest

from esewatch.advice.checkdb import KNOWN_FOR, CheckdbJudgement, judged_checks, last_checks
from esewatch.config import DatabaseRule, Settings
from esewatch.expose.metrics.families import families
from esewatch.fold.state.checkdb_results import Checks, SqlDatabase
from esewatch.fold.state.state import SourceState
from tests.expose.examples import DAY, NOW
from tests.support.sql_databases import sql, state_of

WITHIN = 8 * DAY


def judged(entry: SqlDatabase, settings: Settings | None = None) -> CheckdbJudgement:
    (found,) = judged_checks(state_of([entry]), settings or Settings(), NOW)
    return found


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
        ({"physical": Checks(aborted=NOW - DAY)}, "ok"),
        ({"physical": Checks(aborted=NOW - DAY / 2)}, "broken_off"),
        (
            {
                "full": Checks(aborted=NOW - WITHIN),
                "first_seen": NOW - WITHIN,
            },
            "broken_off",
        ),
        (
            {
                "full": Checks(aborted=NOW - WITHIN - 1),
                "first_seen": NOW - WITHIN - 1,
            },
            "unknown",
        ),
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

    found = judged_checks(state, Settings(), NOW)

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
    found = [each.database for each in judged_checks(state, Settings(), NOW)]

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


def test_the_last_check_of_a_computer_is_never_later_than_now() -> None:
    found = last_checks([sql(), sql("other", last_seen=NOW + DAY)], NOW)

    assert found == {"sql01": NOW}
