from typing import Any

import pytest

from esewatch.advice.base.time_at_work import one_window, stale_seconds, two_windows
from esewatch.config import DatabaseRule, Settings, Window
from esewatch.config.units import parse_clock
from esewatch.fold.state.state import Database
from tests.support.records import DAY


@pytest.mark.parametrize(
    ("days", "one", "two"),
    [
        (["mon", "tue", "wed", "thu", "fri", "sat", "sun"], DAY, 2 * DAY),
        (["mon", "tue", "wed", "thu", "fri"], 3 * DAY, 4 * DAY),
        (["sat"], 7 * DAY, 14 * DAY),
        (["sun", "sat"], 6 * DAY, 7 * DAY),
    ],
)
def test_a_window_has_passed_after_the_longest_wait_for_it(
    days: list[Any], one: float, two: float
) -> None:
    window = Window(start=parse_clock("01:00"), duration=14400.0, days=days)
    settings = Settings(
        windows={"nightly": window}, databases=[DatabaseRule(match="*priv*", window="nightly")]
    )
    watched = Database(computer="ex01", database="e:\\mdb06\\priv06.edb")

    assert one_window(window) == one + 14400
    assert two_windows(window) == two + 14400
    assert stale_seconds(watched, settings) == two + 14400


def test_without_a_window_two_are_seven_days() -> None:
    unknown = Database(computer="ex01", database="c:\\app.edb")

    assert (one_window(None), two_windows(None)) == (3.5 * DAY, 7 * DAY)
    assert stale_seconds(unknown, Settings()) == 7 * DAY
