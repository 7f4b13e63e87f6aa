import math
from typing import Any

import pytest

from esewatch.advice.window.evidence import Evidence, Timeline, period_days
from esewatch.config import Policy
from esewatch.fold.passes.runs import Run
from tests.advice.histories import (
    DAY,
    HOUR,
    NOON,
    days,
    nightly_runs,
    opening,
    passes,
    sampled,
    store,
    window,
)


def evidence(now: float = NOON, **changes: Any) -> Evidence:
    history = store(**changes)
    return Timeline(history, Policy(), NOON).at(now)


def test_the_evidence_is_of_the_last_28_days() -> None:
    found = evidence(days=[*days(32, 1.0, 1.0, ago=28), *days(28, 100_000, 1_500)])

    assert (found.pages_read, found.pages_freed) == (28 * 100_000, 28 * 1_500)
    assert found.windows == 28
    assert found.days == pytest.approx(28)
    assert found.passes == 6
    assert found.counter_coverage == 1.0
    assert found.missing == ()


def test_an_earlier_moment_knows_nothing_of_what_came_later() -> None:
    rising = [*days(53, 100_000, 1_000, ago=7), *days(7, 100_000, 50_000)]

    assert evidence(NOON - 7 * DAY, days=rising).ratio == pytest.approx(100)
    assert evidence(NOON, days=rising).ratio == pytest.approx(28 * 100 / (21 + 7 * 50))


def test_windows_at_the_weekend_only_need_a_longer_time() -> None:
    weekly = window(days=["sun"])

    assert period_days(store(window=weekly), Policy()) == 56
    assert period_days(store(), Policy()) == 28
    assert period_days(store(), Policy(min_windows=10**12)) == 371


def test_the_day_on_which_sampling_began_is_not_counted() -> None:
    began = opening(9) + 2 * HOUR

    found = evidence(sampled_since=began)

    assert found.windows == 9
    assert found.pages_read == 9 * 100_000
    assert found.counter_coverage == 1.0


@pytest.mark.parametrize(
    ("changes", "coverage"),
    [
        ({}, 1.0),
        ({"sampled_until": NOON - 14 * DAY}, 0.5),
        ({"sampled_since": None}, 0.0),
        (sampled([(28, 27), (7, 6)]), 26 / 28),
        ({"defrag_runs": []}, 0.0),
    ],
)
def test_coverage_is_of_the_run_time_only(changes: dict[str, Any], coverage: float) -> None:
    assert evidence(**changes).counter_coverage == pytest.approx(coverage)


def test_a_run_that_goes_on_counts_up_to_now() -> None:
    now = opening(0) + HOUR
    runs = [*nightly_runs(59, ago=1), Run(opening(0), None)]
    gap = [(now - HOUR / 2, now)]
    history = store(defrag_runs=runs, unsampled=gap, sampled_until=now)

    found = Timeline(history, Policy(), now).at(now)

    assert found.windows == 28
    assert found.counter_coverage == pytest.approx(1 - 0.5 / (28 * 4 + 1))


def test_a_first_sample_at_an_impossible_time_takes_nothing_away() -> None:
    assert evidence(sampled_since=-math.inf).windows == 28
    assert evidence(sampled_since=math.nan).windows == 28


def test_runs_that_began_at_the_same_moment_are_taken_as_they_are() -> None:
    twice = [*nightly_runs(20), Run(opening(0), None), Run(opening(0), None)]

    assert evidence(defrag_runs=twice).windows == 20


def test_without_a_window_the_days_with_a_run_are_counted() -> None:
    twice = sorted([*nightly_runs(20), *(Run(r.start + 5 * HOUR, None) for r in nightly_runs(3))])

    assert evidence(window=None, defrag_runs=twice).windows == 20


def test_what_is_no_amount_of_pages_counts_as_none() -> None:
    broken = [*days(57, 100_000, 1_000, ago=3)]
    broken += days(1, float("nan"), -5, ago=2)
    broken += days(1, float("inf"), float("inf"), ago=1)

    found = evidence(days=broken)

    assert (found.pages_read, found.pages_freed) == (25 * 100_000, 25 * 1_000)


def test_passes_are_those_that_ended_within_the_evidence() -> None:
    assert evidence(defrag_passes=passes(5, 4, ago=27)).passes == 1
    assert evidence(defrag_passes=passes(5, 4, ago=29)).passes == 0
