"""Read to freed: when there is a verdict, and which."""

from typing import Any

import pytest

from esewatch.advice.window.ratio import defrag_ratio, ratio_drift
from esewatch.config import Policy
from esewatch.fold.state.rollups import PAGES_FREED, PAGES_READ
from esewatch.fold.state.state import Instance
from tests.advice.histories import DAY, HOUR, NOON, days, store


def instance(**totals: float) -> Instance:
    named = {
        {"read": PAGES_READ, "freed": PAGES_FREED}[name]: value for name, value in totals.items()
    }
    return Instance(computer="ex01", ese_instance="SG06", totals=named)


@pytest.mark.parametrize(
    ("read", "freed", "verdict"),
    [
        (6_119_542.0, 42_794.0, "above"),
        (1_000_000.0, 10_000.0, "within"),
        (1_000_000.0, 20_000.0, "within"),
        (1_000_000.0, 20_001.0, "below"),
        (1_000_001.0, 10_000.0, "above"),
    ],
)
def test_the_band_itself_is_within(read: float, freed: float, verdict: str) -> None:
    ratio = defrag_ratio(instance(read=read, freed=freed), Policy())
    assert ratio.verdict == verdict
    assert ratio.value == read / freed
    assert "50 to 100" in ratio.sentence


def test_nothing_freed_is_nothing_left_to_free() -> None:
    ratio = defrag_ratio(instance(read=5e6, freed=0.0), Policy())
    assert (ratio.verdict, ratio.value) == ("above", None)
    assert ratio.sentence == "nothing left to free (like over 100:1)"
    assert (ratio.pages_read, ratio.pages_freed) == (5_000_000, 0)


def test_nothing_read_gives_no_verdict() -> None:
    ratio = defrag_ratio(instance(read=0.0, freed=0.0), Policy())
    assert (ratio.verdict, ratio.value) == ("none", None)
    assert ratio.sentence.startswith("no verdict: ")


@pytest.mark.parametrize("found", [None, instance(), instance(read=5e6), instance(freed=5e6)])
def test_without_both_counters_there_is_no_verdict(found: Instance | None) -> None:
    ratio = defrag_ratio(found, Policy())
    assert (ratio.verdict, ratio.value, ratio.pages_read) == ("none", None, None)
    assert "not both in the input" in ratio.sentence


def test_too_few_pages_give_a_ratio_and_no_verdict() -> None:
    ratio = defrag_ratio(instance(read=99_999.0, freed=10.0), Policy())
    assert ratio.verdict == "none"
    assert ratio.value == pytest.approx(9999.9)
    assert ratio.sentence == "no verdict: fewer than 100,000 pages read"


def test_the_configured_band_counts() -> None:
    policy = Policy(ratio_high=20.0, ratio_low=5.0, min_pages_read=0)
    assert defrag_ratio(instance(read=210.0, freed=10.0), policy).verdict == "above"
    assert defrag_ratio(instance(read=40.0, freed=10.0), policy).sentence == (
        "below the band 5 to 20: much is left to free"
    )


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
