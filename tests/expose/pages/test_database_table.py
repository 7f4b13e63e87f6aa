"""The rows of the table and what is left out of it."""

import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.window.window import ACTIONS, WindowAdvice
from esewatch.config import default_settings
from esewatch.expose.pages.overview import DatabaseFigures, overview
from esewatch.expose.pages.rendering import (
    computer_link,
    database_link,
    folded,
    row_of,
    shown_verdict,
    window_rows,
)
from tests.expose.examples import DAY, NOW, PRIV06, example


def figures() -> DatabaseFigures:
    """SG06, last verified two days ago."""
    settings = default_settings()
    view = overview(example(), settings, NOW, advise(example(), settings, NOW))
    return next(each for each in view.databases if (each.computer, each.database) == PRIV06)


@pytest.mark.parametrize(("due", "overdue"), [(None, False), (NOW + DAY, False), (NOW - DAY, True)])
def test_a_verification_is_overdue_by_the_judgement(due: float | None, overdue: bool) -> None:
    of = figures()
    assert of.advice is not None
    ledger = msgspec.structs.replace(of.advice.ledger, due=due)
    advice = msgspec.structs.replace(of.advice, ledger=ledger)
    row = row_of(msgspec.structs.replace(of, advice=advice), NOW)
    assert row.age == pytest.approx(2 * DAY - 208)
    assert row.overdue is overdue
    assert row_of(msgspec.structs.replace(of, verified={}), NOW).age is None


def test_the_forecast_is_the_one_with_least_time_left_and_has_a_date() -> None:
    one = figures()
    assert one.advice is not None
    dated = Forecast(task="checksum", p50=NOW, p90=NOW + 2, deadline=NOW + 1)
    free = Forecast(task="defrag", p50=NOW, p90=NOW + 9)
    told = msgspec.structs.replace(one.advice, forecasts=(free, dated))
    row = row_of(msgspec.structs.replace(one, advice=told), NOW)
    assert row.forecast == dated
    assert row.late
    undated = msgspec.structs.replace(
        one.advice, forecasts=(Forecast(task="defrag", deadline=1.0),)
    )
    assert row_of(msgspec.structs.replace(one, advice=undated), NOW).forecast is None
    assert not row_of(msgspec.structs.replace(one, advice=None), NOW).late


def test_windows_that_call_for_a_change_come_first_and_other_models_not_at_all() -> None:
    one = figures()
    assert one.advice is not None
    rows = []
    for action in ACTIONS:
        window = WindowAdvice(action=action, rule="any")
        told = msgspec.structs.replace(one.advice, window=window)
        rows.append(row_of(msgspec.structs.replace(one, advice=told), NOW))
    rows.append(row_of(msgspec.structs.replace(one, advice=None), NOW))
    found = [row.figures.advice.window.action for row in window_rows(rows) if row.figures.advice]
    assert found == ["move", "grow", "shrink", "keep", "insufficient_evidence"]


def test_the_fold_is_by_computer_worst_verdict_first() -> None:
    one = figures()
    found = folded(
        msgspec.structs.replace(one, computer=computer, verdict=verdict)
        for computer, verdict in (("b", "ok"), ("a", "look"), ("b", "bad_pages"), ("b", "ok"))
    )
    assert [(each.computer, each.databases, list(each.verdicts.items())) for each in found] == [
        ("b", 3, [("bad_pages", 1), ("ok", 2)]),
        ("a", 1, [("look", 1)]),
    ]


def test_an_ignored_database_is_shown_by_its_damage() -> None:
    ignored = msgspec.structs.replace(figures(), verdict=None, status="bad")
    assert shown_verdict(ignored) == "bad_pages"
    assert shown_verdict(msgspec.structs.replace(ignored, status="attention")) == "look"


def test_links_hold_any_name() -> None:
    assert database_link("ex01", 'e:\\a&b="<é>') == (
        "/database?computer=ex01&database=e%3A%5Ca%26b%3D%22%3C%C3%A9%3E"
    )
    assert computer_link("a b&c") == "/computer?name=a+b%26c"
