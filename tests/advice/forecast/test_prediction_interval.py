import math
import random

import pytest

from esewatch.advice.forecast.forecast import PredictionInterval


def test_the_middle_of_values_is_their_median() -> None:
    assert PredictionInterval([100, 200, 400]).quantile(0.5) == pytest.approx(200)


def test_between_two_values_it_goes_evenly_on_a_logarithmic_scale() -> None:
    assert PredictionInterval([100, 400]).quantile(0.5) == pytest.approx(200)


def test_a_single_value_may_double() -> None:
    spread = PredictionInterval([100])
    assert spread.quantile(0.5) == pytest.approx(100)
    assert spread.quantile(0.9) == pytest.approx(200)


def test_equal_values_are_not_certain() -> None:
    spread = PredictionInterval([100] * 5)
    assert 100 < spread.quantile(0.9) < 110


def test_fewer_values_reach_further() -> None:
    reach = [
        PredictionInterval([100, *[120] * (count - 2), 140]).quantile(0.9)
        for count in (2, 3, 6, 16)
    ]
    assert reach == sorted(reach, reverse=True)


def test_no_values_tell_nothing() -> None:
    with pytest.raises(ValueError, match="no values"):
        PredictionInterval([])


@pytest.mark.parametrize("reached", [-1.0, 0.0, 1.0, 50.0, 100.0, 150.0, 399.0, 400.0, 1e6])
def test_what_was_reached_is_never_undone(reached: float) -> None:
    spread = PredictionInterval([100, 200, 250, 400])
    found = [spread.beyond(reached, share / 100) for share in range(1, 100)]
    assert found == sorted(found)
    assert found[0] >= reached
    assert found[-1] > reached


def test_knowing_that_little_was_reached_changes_little() -> None:
    spread = PredictionInterval([100, 200, 400])
    assert spread.beyond(1.0, 0.5) == pytest.approx(spread.quantile(0.5), rel=0.01)


def test_huge_values_stay_finite() -> None:
    spread = PredictionInterval([1e-300, 1e300])
    assert math.isfinite(spread.quantile(0.99))
    assert math.isfinite(spread.beyond(1e300, 0.99))


@pytest.mark.parametrize("count", [2, 3, 5, 8, 16])
@pytest.mark.parametrize("sigma", [0.2, 0.5])
def test_the_next_value_keeps_to_the_shares(count: int, sigma: float) -> None:
    chance = random.Random(f"{count} {sigma}")
    under = {0.5: 0, 0.9: 0}
    for _ in range(2000):
        *seen, following = (chance.lognormvariate(5, sigma) for _ in range(count + 1))
        spread = PredictionInterval(seen)
        for share in under:
            under[share] += following <= spread.quantile(share)
    assert under[0.5] / 2000 == pytest.approx(0.5, abs=0.04)
    assert 0.87 <= under[0.9] / 2000 <= 0.95


def test_two_values_that_are_close_by_chance_are_not_trusted() -> None:
    chance = random.Random("close")
    under = 0
    for _ in range(2000):
        first, second, following = (chance.lognormvariate(5, 0.02) for _ in range(3))
        under += following <= PredictionInterval([first, second]).quantile(0.9)
    assert under / 2000 > 0.95
