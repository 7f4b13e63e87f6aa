"""Sums by day and by hour as rows of bytes: nothing is lost, and they stay small."""

import math
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.fold.state import rollups
from esewatch.fold.state.rollups import DAY_SECONDS, FIELDS, Day, Hour, Size

NAMES = tuple(FIELDS.values())


def stamp(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[arg-type, misc]


def test_a_night_is_in_one_day_from_noon_to_noon_utc() -> None:
    rows = bytearray()
    for at in (stamp(2007, 6, 16, 12), stamp(2007, 6, 17, 0), stamp(2007, 6, 17, 11, 59, 59)):
        rollups.add(rows, at, "pages_read", 1.0)
    rollups.add(rows, stamp(2007, 6, 17, 12), "pages_read", 7.0)

    night, next_one = rollups.days(rows)
    assert (night.pages_read, next_one.pages_read) == (3.0, 7.0)
    assert next_one.day == night.day + 1
    assert rollups.day_start(night.day) == stamp(2007, 6, 16, 12)


def test_the_days_before_1970_run_from_noon_to_noon_too() -> None:
    assert [rollups.day_of(at) for at in (-43201.0, -43200.0, 43199.0, 43200.0)] == [-1, 0, 0, 1]


def test_each_field_grows_by_itself() -> None:
    rows = bytearray()
    for number, field in enumerate(NAMES, 1):
        rollups.add(rows, DAY_SECONDS, field, float(number))
        rollups.add(rows, DAY_SECONDS, field, 0.5)

    assert rollups.days(rows) == [Day(1, 1.5, 2.5, 3.5, 4.5, 5.5)]


@given(
    st.lists(
        st.tuples(st.integers(-20, 20), st.sampled_from(NAMES), st.integers(0, 2**40)), max_size=60
    )
)
def test_late_samples_go_to_their_day_in_whatever_order(
    added: list[tuple[int, rollups.Field, int]],
) -> None:
    rows = bytearray()
    expected: Counter[tuple[int, str]] = Counter()
    for day, field, amount in added:
        rollups.add(rows, day * DAY_SECONDS, field, float(amount))
        expected[day, field] += amount

    found = rollups.days(rows)
    assert [each.day for each in found] == sorted({day for day, _, _ in added})
    for each in found:
        assert each[1:] == pytest.approx([expected[each.day, field] for field in NAMES], rel=1e-6)


def test_at_most_400_days_are_kept_and_the_oldest_leave() -> None:
    rows = bytearray()
    for day in range(450):
        rollups.add(rows, day * DAY_SECONDS, "pages_freed", 1.0)

    assert [each.day for each in rollups.days(rows)] == list(range(50, 450))
    assert len(rows) == 9_620


def test_a_day_older_than_400_kept_ones_is_left_out() -> None:
    rows = bytearray()
    for day in range(400):
        rollups.add(rows, day * DAY_SECONDS, "pages_freed", 1.0)
    before = bytes(rows)
    rollups.add(rows, -DAY_SECONDS, "pages_freed", 1.0)

    assert rows == before


def test_the_newest_day_is_exact_and_an_older_one_to_seven_digits() -> None:
    rows = bytearray()
    for _ in range(3):
        rollups.add(rows, DAY_SECONDS, "log_bytes", 2.0**40 + 1)
    assert [each.log_bytes for each in rollups.days(rows)] == [3 * 2.0**40 + 3]

    rollups.add(rows, 2 * DAY_SECONDS, "log_bytes", 1.0)
    rollups.add(rows, DAY_SECONDS, "log_bytes", 2.0**40)
    found = rollups.days(rows)
    assert found[0].log_bytes == pytest.approx(4 * 2.0**40 + 3, rel=1e-7)
    assert found[1].log_bytes == 1.0


@pytest.mark.parametrize("amount", [1e39, 1e308, math.inf])
def test_an_amount_that_cannot_be_is_cut_and_breaks_nothing(amount: float) -> None:
    rows, sizes = bytearray(), bytearray()
    for day in (1, 2, 1):
        rollups.add(rows, day * DAY_SECONDS, "pages_read", amount)
    rollups.set_size(sizes, DAY_SECONDS, amount)

    assert [each.pages_read for each in rollups.days(rows)] == [rollups.MOST, amount]
    assert rollups.sizes(sizes) == [Size(1, rollups.MOST)]


@pytest.mark.parametrize("pages", [1, 2**24 - 1])
def test_a_size_is_exact_up_to_16_million_pages(pages: int) -> None:
    rows = bytearray()
    rollups.set_size(rows, 0.0, pages * 32768.0)

    assert rollups.sizes(rows) == [Size(0, pages * 32768.0)]


def test_a_late_day_between_400_others_pushes_the_oldest_out() -> None:
    rows = bytearray()
    for day in range(0, 800, 2):
        rollups.add(rows, day * DAY_SECONDS, "pages_freed", 1.0)
    rollups.add(rows, 401 * DAY_SECONDS, "pages_freed", 9.0)

    found = rollups.days(rows)
    assert [each.day for each in found] == sorted({*range(2, 800, 2), 401})
    assert [each.pages_freed for each in found if each.day == 401] == [9.0]


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf, 1e300, -1e300, 4e12])
def test_a_time_that_cannot_be_has_no_row(time: float) -> None:
    rows = bytearray()
    rollups.add(rows, time, "pages_read", 1.0)
    rollups.set_size(rows, time, 1.0)
    rollups.add_sample(rows, time, 1.0)

    assert rows == b""


@pytest.mark.parametrize("time", [3.999e12, -3.999e12])
def test_the_furthest_times_fit_in_a_row(time: float) -> None:
    by_day, by_hour = bytearray(), bytearray()
    rollups.add(by_day, time, "pages_read", 1.0)
    rollups.add_sample(by_hour, time, 1.0)

    assert [each.day for each in rollups.days(by_day)] == [rollups.day_of(time)]
    assert [each.hour for each in rollups.hours(by_hour)] == [int(time // 3600)]


def test_the_last_size_of_a_day_is_kept_and_400_days_of_them() -> None:
    rows = bytearray()
    for day in range(401):
        rollups.set_size(rows, day * DAY_SECONDS, 1.0)
        rollups.set_size(rows, day * DAY_SECONDS + 60, 8192.0 * day)

    found = rollups.sizes(rows)
    assert (found[0], found[-1], len(found)) == (Size(1, 8192.0), Size(400, 8192.0 * 400), 400)
    assert len(rows) == 3_200


def test_a_latency_is_summed_by_hour_for_two_weeks() -> None:
    rows = bytearray()
    for hour in range(14 * 24 + 1):
        rollups.add_sample(rows, hour * 3600.0, 0.25)
        rollups.add_sample(rows, hour * 3600.0 + 3599, 0.5)

    found = list(rollups.hours(rows))
    assert (found[0], found[-1]) == (Hour(1, 0.75, 2), Hour(336, 0.75, 2))
    assert len(found) == 14 * 24
