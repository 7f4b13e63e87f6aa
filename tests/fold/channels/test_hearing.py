"""The hours in which a log has a record."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.fold.channels.hearing import MAX_DAYS, first_after, last_before, note_hour, note_hours
from tests.support.records import DAY, HOUR

TIMES = st.lists(st.floats(-300 * DAY, 300 * DAY), max_size=200)


@given(TIMES, st.floats(-300 * DAY, 300 * DAY), st.randoms(use_true_random=False))
def test_the_hours_before_and_after_with_a_record_are_known_in_any_order(
    times: list[float], asked: float, rng: random.Random
) -> None:
    rows, again = bytearray(), bytearray()
    for time in times:
        note_hour(rows, time)
    for time in rng.sample(times, len(times)):
        note_hour(again, time)
    kept = sorted({time // DAY for time in times})[-MAX_DAYS:]
    hours = {time // HOUR for time in times if time // DAY in kept}
    before = [hour for hour in hours if hour < asked // HOUR]

    assert rows == again
    assert last_before(rows, asked) == (max(before) * HOUR + HOUR if before else None)
    after = [hour for hour in hours if hour > asked // HOUR]
    assert first_after(rows, asked) == (min(after) * HOUR + HOUR if after else math.inf)


def test_all_hours_of_a_range_are_noted_and_no_more_than_are_kept() -> None:
    rows = bytearray()
    note_hours(rows, 5.5 * HOUR, 50.5 * HOUR)

    assert [last_before(rows, hour * HOUR) for hour in (5, 6, 30, 51, 90)] == [
        None,
        *(hour * HOUR for hour in (6, 30, 51, 51)),
    ]
    note_hours(rows, 0, 1000 * DAY)
    assert len(rows) == 8 * MAX_DAYS
    assert last_before(rows, 900 * DAY) is None


@pytest.mark.parametrize("damaged", [math.nan, math.inf, -math.inf, 1e300])
def test_a_time_that_cannot_be_is_no_hour(damaged: float) -> None:
    rows = bytearray()
    note_hour(rows, damaged)
    note_hours(rows, damaged, 0)
    note_hours(rows, 0, damaged)

    assert rows == bytearray()
    assert last_before(rows, damaged) is None
    assert first_after(rows, damaged) == math.inf
