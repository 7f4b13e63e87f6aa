import pytest

from esewatch.advice.forecast.forecast import rest_of_scan
from esewatch.advice.history.passes import Mark

HOUR = 3600.0


def marks(*pages: float) -> list[Mark]:
    return [Mark(6 * HOUR * (index + 1), each) for index, each in enumerate(pages)]


def test_without_marks_whole_passes_tell_from_the_start_on() -> None:
    rest = rest_of_scan(100.0, [500.0, 500.0], [], 1000)
    assert rest is not None
    assert (rest.since, rest.seen) == (100, None)
    assert rest.left.quantile(0.5) == pytest.approx(500)


def test_the_pages_left_go_at_its_own_pace_when_most_were_seen() -> None:
    rest = rest_of_scan(0.0, [100 * HOUR], marks(30, 60, 90), 100)
    assert rest is not None
    assert rest.seen == 0.9
    assert rest.since == 18 * HOUR
    # 0.2 h a page of its own, 1 h of the past.
    assert rest.left.quantile(0.5) == pytest.approx(10 * 0.2**0.9 * HOUR)


def test_the_first_pass_goes_by_its_own_pace_after_a_day() -> None:
    assert rest_of_scan(0.0, [], marks(10, 20, 30), 100) is None
    rest = rest_of_scan(0.0, [], marks(10, 20, 30, 40), 100)
    assert rest is not None
    assert rest.left.quantile(0.5) == pytest.approx(36 * HOUR)


def test_a_pass_whose_start_was_not_seen_goes_by_its_marks() -> None:
    rest = rest_of_scan(None, [60 * HOUR], marks(10, 20), 100)
    assert rest is not None
    assert rest.seen == 0.2
    # From the first mark on: 10 pages in 6 hours of its own, 0.6 h a page of the past as well.
    assert rest.left.quantile(0.5) == pytest.approx(80 * 0.6 * HOUR)
    assert rest_of_scan(None, [60 * HOUR], marks(10), 100) is None


def test_an_uneven_pace_reaches_further() -> None:
    even = rest_of_scan(0.0, [], marks(10, 20, 30, 40), 100)
    uneven = rest_of_scan(0.0, [], marks(2, 20, 24, 40), 100)
    assert even is not None
    assert uneven is not None
    assert uneven.left.quantile(0.9) > even.left.quantile(0.9)


@pytest.mark.parametrize("pages", [None, 0.0, -5.0, float("nan"), float("inf")])
def test_marks_need_a_size(pages: float | None) -> None:
    assert rest_of_scan(0.0, [], marks(10, 20, 30, 40), pages) is None
    rest = rest_of_scan(0.0, [100.0], marks(10, 20), pages)
    assert rest is not None
    assert rest.seen is None


def test_more_pages_seen_than_there_are_leave_one() -> None:
    rest = rest_of_scan(0.0, [100 * HOUR], marks(500, 1500), 1000)
    assert rest is not None
    assert rest.seen is not None
    assert 0.99 < rest.seen < 1
    assert rest.left.quantile(0.9) > 0


@pytest.mark.parametrize("damaged", [float("nan"), float("inf"), -3.0, 0.0])
def test_damaged_marks_are_left_out(damaged: float) -> None:
    rest = rest_of_scan(0.0, [100 * HOUR], [Mark(HOUR, damaged), *marks(10, 20)], 100)
    assert rest is not None
    assert rest.seen == 0.2


def test_marks_that_go_back_tell_nothing() -> None:
    rest = rest_of_scan(None, [100.0], marks(50, 20), 100)
    assert rest is None
