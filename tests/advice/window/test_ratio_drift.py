"""A ratio of 7 days that is no longer that of the 28 days before (semantics.md 7).

These are the records' half of the cases that `tests/rules/moved_cases.yml` lists.
"""

from typing import Any

import pytest

from esewatch.advice.window.ratio import ratio_drift
from tests.advice.histories import DAY, HOUR, NOON, days, store


def drift(
    latest: tuple[float, float], before: tuple[float, float], now: float = NOON, **changes: Any
) -> str:
    """(read, freed) of each day, of the last 7 whole ones and of the 28 before."""
    known = [*days(28, *before, ago=8), *days(7, *latest, ago=1), *days(1, 9e9, 500)]
    found = ratio_drift(store(days=known, **changes), now)
    assert found is None or (found.finding, found.severity) == ("defrag_ratio_drift", "info")
    return "" if found is None else found.sentence


AT = NOON - HOUR
"""In the day that is not over, which the first day before NOON is then."""


def test_less_than_half_and_more_than_twice_of_what_it_was_is_told_with_its_figures() -> None:
    assert drift((350, 150), (1430, 150), AT) == (
        "in 7 days online defragmentation read 2.3 pages for each page it freed, 0.24 times the"
        " 9.5 of the 28 days before"
    )
    assert "4.09 times" in drift((1430, 150), (350, 150), AT)


def test_half_and_twice_of_what_it_was_is_none() -> None:
    assert drift((700, 150), (1400, 150), AT) == ""
    assert drift((699, 150), (1400, 150), AT)
    assert drift((2800, 150), (1400, 150), AT) == ""
    assert drift((2801, 150), (1400, 150), AT)


@pytest.mark.parametrize(("latest", "before"), [(142, 150), (150, 35)])
def test_less_than_a_thousand_pages_freed_in_either_is_chance(latest: int, before: int) -> None:
    assert drift((350, latest), (14300, before), AT) == ""
    assert drift((350, 143), (14300, 36), AT)


def test_the_day_that_is_not_over_does_not_count() -> None:
    assert drift((1430, 150), (1430, 150), AT) == ""
    assert "in 7 days" in drift((1430, 150), (1430, 150), AT + DAY)


def test_of_another_model_or_of_what_is_only_observed_nothing_is_told() -> None:
    for change in ({"model": "background"}, {"model": "application"}, {"tier": "observed"}):
        assert drift((350, 150), (1430, 150), AT, **change) == ""


def test_counters_that_are_hidden_tell_nothing() -> None:
    assert ratio_drift(store(days=[]), AT) is None
    assert drift((0, 150), (1430, 150), AT) == ""


def test_a_ratio_of_which_one_counter_was_missing_for_a_time_tells_nothing() -> None:
    alone = [(AT - 10 * DAY, AT - 9 * DAY)]
    assert drift((350, 150), (1430, 150), AT, sampled_alone=alone) == ""
    long_ago = [(AT - 60 * DAY, AT - 50 * DAY)]
    assert drift((350, 150), (1430, 150), AT, sampled_alone=long_ago)
