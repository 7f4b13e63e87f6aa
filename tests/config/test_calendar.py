"""When windows are open: days, midnight, the nights on which clocks change; as time intervals of
Alertmanager they are open when the window is."""

import datetime
import zoneinfo
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esewatch.config import DAYS, Window
from esewatch.config.calendar import Opening, next_opening, opening_at, time_intervals

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


BERLIN_TIME = "Europe/Berlin"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WINDOWS = st.builds(
    Window,
    start=st.times().map(lambda time: time.replace(second=0, microsecond=0)),
    duration=st.integers(15, 1440).map(lambda number: number * 60.0),
    days=st.lists(st.sampled_from(DAYS), min_size=1, max_size=7, unique=True),
    timezone=st.sampled_from(["UTC", BERLIN_TIME, "America/New_York", "Asia/Kolkata"]),
)


def intervals_of(window: Window) -> list[dict[str, Any]]:
    ((name, found),) = (each.values() for each in time_intervals({"w": window}))
    assert name == "w"
    return list(found)


def contains(interval: dict[str, Any], moment: float) -> bool:
    """What ContainsTime of Alertmanager says (timeinterval.go, 0.25)."""
    local = datetime.datetime.fromtimestamp(moment, zoneinfo.ZoneInfo(interval["location"]))
    (times,) = interval["times"]
    inside = times["start_time"] <= f"{local:%H:%M}" < times["end_time"]
    return inside and WEEKDAYS[local.weekday()] in interval["weekdays"]


def berlin_window(start: str, hours: float, **more: Any) -> Window:
    return Window(start=datetime.time.fromisoformat(start), duration=hours * 3600, **more)


def local_at(text: str) -> float:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC).timestamp()


@settings(max_examples=60, deadline=None)
@given(WINDOWS, st.lists(st.integers(int(local_at("2026-05-03")), int(local_at("2026-09-27")))))
def test_a_moment_is_muted_exactly_if_the_window_is_open(
    window: Window, moments: list[int]
) -> None:
    intervals = intervals_of(window)
    for moment in moments:
        found = any(contains(each, moment) for each in intervals)
        assert found == (opening_at(window, moment) is not None)


@pytest.mark.parametrize(
    ("night", "end", "window_end"),
    [
        ("2027-03-28", "2027-03-28 03:00", "2027-03-28 04:00"),
        ("2027-10-31", "2027-10-31 04:00", "2027-10-31 03:00"),
    ],
)
def test_where_clocks_change_an_interval_ends_with_the_clock(
    night: str, end: str, window_end: str
) -> None:
    """01:00 to 05:00 in Berlin: an hour less in spring, an hour more in autumn."""
    nightly = berlin_window("01:00", 4, timezone=BERLIN_TIME)
    minutes = [local_at(night) - 7200 + 60 * minute for minute in range(600)]

    (only,) = intervals_of(nightly)
    assert max(filter(lambda each: contains(only, each), minutes)) == local_at(end) - 60
    assert max(filter(lambda each: opening_at(nightly, each), minutes)) == local_at(window_end) - 60


def test_a_window_within_a_day_is_one_interval() -> None:
    assert intervals_of(berlin_window("01:00", 4, days=["mon", "fri"], timezone=BERLIN_TIME)) == [
        {
            "times": [{"start_time": "01:00", "end_time": "05:00"}],
            "weekdays": ["monday", "friday"],
            "location": BERLIN_TIME,
        }
    ]


def test_a_window_over_midnight_is_two_intervals_the_second_a_day_later() -> None:
    first, second = intervals_of(berlin_window("22:00", 8, days=["fri", "sun"]))

    assert first["times"] == [{"start_time": "22:00", "end_time": "24:00"}]
    assert first["weekdays"] == ["friday", "sunday"]
    assert second["times"] == [{"start_time": "00:00", "end_time": "06:00"}]
    assert second["weekdays"] == ["monday", "saturday"]


def test_a_window_that_ends_at_midnight_is_one_interval() -> None:
    assert [each["times"] for each in intervals_of(berlin_window("22:00", 2))] == [
        [{"start_time": "22:00", "end_time": "24:00"}]
    ]


def test_the_end_of_a_window_is_rounded_up_to_a_minute() -> None:
    (only,) = intervals_of(berlin_window("01:00", 1 + 1 / 3600))

    assert only["times"] == [{"start_time": "01:00", "end_time": "02:01"}]
