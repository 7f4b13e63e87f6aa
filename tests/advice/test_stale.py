from typing import Any

import pytest

from esewatch.advice.stale import stale_seconds, two_windows
from esewatch.config import DatabaseRule, Settings, Window
from esewatch.config.units import parse_clock
from esewatch.fold.state import Database
from tests.support.records import DAY


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (["mon", "tue", "wed", "thu", "fri", "sat", "sun"], 2 * DAY + 14400),
        (["mon", "tue", "wed", "thu", "fri"], 4 * DAY + 14400),
        (["sat"], 14 * DAY + 14400),
        (["sun", "sat"], 7 * DAY + 14400),
    ],
)
def test_silence_is_two_windows_where_one_is_configured(days: list[Any], expected: float) -> None:
    window = Window(start=parse_clock("01:00"), duration=14400.0, days=days)
    settings = Settings(
        windows={"nightly": window}, databases=[DatabaseRule(match="*priv*", window="nightly")]
    )
    watched = Database(computer="ex01", database="e:\\mdb06\\priv06.edb")

    assert two_windows(window) == expected
    assert stale_seconds(watched, settings) == expected
    assert stale_seconds(Database(computer="ex01", database="c:\\app.edb"), settings) == 7 * DAY
