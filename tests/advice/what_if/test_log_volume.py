"""Logs of a night: what was seen, times the window, and the published share of zeroing."""

from typing import Any

import pytest

from esewatch.advice.history.history import History
from esewatch.advice.what_if.estimate import WhatIfChange
from esewatch.advice.what_if.what_if import defrag_log, zeroing_log
from esewatch.fold.state.rollups import Day, day_of
from tests.advice.histories import HOUR, NOON, store

MB = 1e6


def logged(*amounts: float, **changes: Any) -> History:
    """So many megabytes on the days before NOON, oldest first."""
    last = day_of(NOON) - 1
    days = [
        Day(last - back, 1.0, 1.0, amount * MB, 0.0, 800.0)
        for back, amount in zip(reversed(range(len(amounts))), amounts, strict=True)
    ]
    return store(days=days, **changes)


def test_half_the_window_logs_from_half_to_as_much() -> None:
    history = logged(*[100.0] * 20)

    assert defrag_log(history, WhatIfChange(), NOON).values == (100 * MB,) * 3
    found = defrag_log(history, WhatIfChange(window=2 * HOUR), NOON)
    assert found.values == pytest.approx((50 * MB, 70.7 * MB, 100 * MB), rel=1e-3)
    assert found.sentence == (
        "from 20 days (median of all log files written: 800 per day); published figures are"
        " proportional to the window, 0.5 times as much, but work may move to another night: the"
        " range goes from no change to all of it"
    )


def test_twice_the_window_logs_from_as_much_to_twice() -> None:
    found = defrag_log(logged(*[100.0] * 20), WhatIfChange(window=8 * HOUR), NOON)

    assert found.values == pytest.approx((100 * MB, 141.4 * MB, 200 * MB), rel=1e-3)


def test_the_range_is_that_of_eight_days_in_ten() -> None:
    found = defrag_log(logged(*range(1, 22)), WhatIfChange(), NOON)

    assert found.values == pytest.approx((3 * MB, 11 * MB, 19 * MB))


def test_days_without_a_log_and_damaged_ones_do_not_count() -> None:
    amounts = [0.0, float("nan"), -5.0, float("inf"), *[10.0] * 6]
    found = defrag_log(logged(*amounts), WhatIfChange(), NOON)

    assert found.values is None
    assert "sampled on 6 days on which it ran; 7 are needed" in found.sentence


def test_the_first_zeroing_pass_logs_two_to_five_times_as_much() -> None:
    history = logged(*[100.0] * 20)

    first = zeroing_log(history, WhatIfChange(zeroing="first"), NOON)
    assert first.values == pytest.approx((200 * MB, 316.2 * MB, 500 * MB), rel=1e-3)
    assert "published, not measured here: the first pass" in first.sentence
    assert zeroing_log(history, WhatIfChange(zeroing="on"), NOON).values == (100 * MB,) * 3


def test_logs_of_databases_that_share_an_instance_are_said_to_be_of_all() -> None:
    found = defrag_log(logged(*[100.0] * 20, shares_instance=3), WhatIfChange(), NOON)

    assert "for the 3 databases of its instance together" in found.sentence


def test_without_a_window_another_length_has_no_answer() -> None:
    found = defrag_log(logged(*[100.0] * 20, window=None), WhatIfChange(window=HOUR), NOON)

    assert (found.values, found.sentence) == (None, "no window is configured")
