import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.advice.window.past_windows import Used
from esewatch.advice.window.window import fitted, least_length

HOUR = 3600.0


@pytest.mark.parametrize(
    ("hours", "factor", "expected"),
    [(4, 100 / 143.2, 2.75), (4, 0.1, 2), (1.5, 0.1, 1), (2.25, 0.1, 1.25), (1, 0.5, 1)],
)
def test_a_shorter_window_is_rounded_down_and_never_less_than_half(
    hours: float, factor: float, expected: float
) -> None:
    assert fitted(hours * HOUR, "shrink", factor, HOUR) == expected * HOUR


@pytest.mark.parametrize(
    ("hours", "factor", "expected"), [(4, 1.01, 4.25), (4, 9, 8), (20, 2, 24), (24, 2, 24)]
)
def test_a_longer_window_is_rounded_up_and_never_more_than_double_or_a_day(
    hours: float, factor: float, expected: float
) -> None:
    assert fitted(hours * HOUR, "grow", factor, HOUR) == expected * HOUR


def test_a_window_that_is_under_the_least_length_is_not_made_longer_by_shrinking() -> None:
    assert fitted(2 * HOUR, "shrink", 0.5, 3 * HOUR) == 2 * HOUR


@given(
    st.integers(900, 86400),
    st.floats(min_value=0, allow_infinity=True, allow_nan=False),
    st.floats(3600, 200_000),
)
def test_every_length_is_between_half_and_double_and_at_most_a_day(
    configured: int, factor: float, least: float
) -> None:
    shorter = fitted(configured, "shrink", min(factor, 1.0), least)
    longer = fitted(configured, "grow", max(factor, 1.0), least)

    assert configured / 2 <= shorter <= configured <= longer <= min(2 * configured, 86400)


def test_the_least_length_has_room_for_twice_the_usual_scan_and_the_other_tasks() -> None:
    def nights(*scanned: float) -> list[Used]:
        return [Used(0, 1, True, None, seconds, 0) for seconds in scanned]

    assert least_length(nights()) == HOUR
    assert least_length(nights(0, 0)) == HOUR
    assert least_length(nights(0, 600)) == HOUR
    assert least_length(nights(*[HOUR] * 9, 4 * HOUR)) == 2.25 * HOUR
    assert least_length(nights(*[HOUR] * 8, 4 * HOUR, 4 * HOUR)) == 8.25 * HOUR
