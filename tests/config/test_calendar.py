"""When windows are open: days, midnight, and the two nights on which clocks change."""

import datetime
import zoneinfo
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.config import DAYS, Window
from esewatch.config.calendar import Opening, next_opening, opening_at

BERLIN = "Europe/Berlin"
HOUR = 3600.0


def at(text: str, zone: str = "UTC") -> float:
    """Epoch seconds of a local time; the first one where it comes twice."""
    local = datetime.datetime.fromisoformat(text)
    return local.replace(tzinfo=zoneinfo.ZoneInfo(zone)).timestamp()


def window(start: str, hours: float, **more: Any) -> Window:
    return Window(start=datetime.time.fromisoformat(start), duration=hours * HOUR, **more)


def test_a_window_is_open_from_its_start_up_to_its_end() -> None:
    nightly = window("01:00", 4, timezone=BERLIN)
    begin, end = at("2026-06-10 01:00", BERLIN), at("2026-06-10 05:00", BERLIN)

    assert opening_at(nightly, begin - 0.001) is None
    assert opening_at(nightly, begin) == (begin, end)
    assert opening_at(nightly, end - 0.001) == (begin, end)
    assert opening_at(nightly, end) is None


def test_a_window_over_midnight_belongs_to_the_day_on_which_it_opens() -> None:
    friday = window("22:00", 8, days=["fri"])

    assert opening_at(friday, at("2026-06-12 21:59")) is None
    opening = (at("2026-06-12 22:00"), at("2026-06-13 06:00"))
    assert opening_at(friday, at("2026-06-13 05:59")) == opening
    assert opening_at(friday, at("2026-06-13 22:30")) is None


def test_the_next_opening_is_on_the_next_of_its_days() -> None:
    weekend = window("22:00", 2, days=["sat"])

    first = Opening(at("2026-06-13 22:00"), at("2026-06-14 00:00"))
    assert next_opening(weekend, at("2026-06-07 00:00")) == first
    assert next_opening(weekend, first.start - 1) == first
    assert next_opening(weekend, first.start).start == first.start + 7 * 24 * HOUR


def test_a_start_that_the_clocks_skip_is_an_hour_later() -> None:
    nightly = window("02:30", 1, timezone=BERLIN)

    begin = next_opening(nightly, at("2026-03-29 00:00", BERLIN)).start

    assert begin == at("2026-03-29 03:30", BERLIN)


def test_a_start_that_comes_twice_is_the_first() -> None:
    nightly = window("02:30", 1, timezone=BERLIN)
    begin = at("2026-10-25 02:30", BERLIN)

    assert next_opening(nightly, at("2026-10-25 00:00", BERLIN)).start == begin
    assert next_opening(nightly, begin).start == at("2026-10-26 02:30", BERLIN)
    assert opening_at(nightly, begin + HOUR) is None


@pytest.mark.parametrize("night", ["2026-03-29", "2026-10-25", "2026-06-10"])
def test_the_duration_is_elapsed_time_whatever_the_clocks_do(night: str) -> None:
    nightly = window("01:00", 4, timezone=BERLIN)
    begin = at(f"{night} 01:00", BERLIN)

    assert opening_at(nightly, begin + 4 * HOUR - 1) == (begin, begin + 4 * HOUR)
    assert opening_at(nightly, begin + 4 * HOUR) is None


def test_where_two_openings_overlap_the_later_one_counts() -> None:
    always = window("00:00", 24, timezone=BERLIN)
    monday = at("2026-03-30 00:00", BERLIN)

    # The day before had 23 hours, its window lasts 24.
    assert opening_at(always, monday + 60) == (monday, monday + 24 * HOUR)


@given(
    st.datetimes(datetime.datetime(2020, 1, 1), datetime.datetime(2037, 1, 1)),
    st.times().map(lambda time: time.replace(second=0, microsecond=0)),
    st.integers(15, 1440),
    st.sets(st.sampled_from(DAYS), min_size=1),
    st.sampled_from(["UTC", BERLIN, "America/New_York", "Pacific/Apia", "Australia/Lord_Howe"]),
)
def test_the_next_opening_is_ahead_and_open_at_its_start_and_nothing_opens_before(
    now: datetime.datetime, start: datetime.time, minutes: int, days: set[Any], zone: str
) -> None:
    some = Window(start=start, duration=minutes * 60.0, days=sorted(days), timezone=zone)
    moment = now.replace(tzinfo=datetime.UTC).timestamp()

    ahead = next_opening(some, moment)

    assert moment < ahead.start <= moment + 8 * 86400 + 7200
    assert opening_at(some, ahead.start) == ahead
    between = opening_at(some, (moment + ahead.start) / 2)
    assert between is None or between.start <= moment
