"""Windows as time intervals of Alertmanager: open there when the window is open."""

import datetime
import zoneinfo
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esewatch.config import DAYS, Window
from esewatch.config.calendar import opening_at, time_intervals

BERLIN = "Europe/Berlin"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WINDOWS = st.builds(
    Window,
    start=st.times().map(lambda time: time.replace(second=0, microsecond=0)),
    duration=st.integers(15, 1440).map(lambda number: number * 60.0),
    days=st.lists(st.sampled_from(DAYS), min_size=1, max_size=7, unique=True),
    timezone=st.sampled_from(["UTC", BERLIN, "America/New_York", "Asia/Kolkata"]),
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


def window(start: str, hours: float, **more: Any) -> Window:
    return Window(start=datetime.time.fromisoformat(start), duration=hours * 3600, **more)


def at(text: str) -> float:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC).timestamp()


@settings(max_examples=60, deadline=None)
@given(WINDOWS, st.lists(st.integers(int(at("2026-05-03")), int(at("2026-09-27")))))
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
    nightly = window("01:00", 4, timezone=BERLIN)
    minutes = [at(night) - 7200 + 60 * minute for minute in range(600)]

    (only,) = intervals_of(nightly)
    assert max(filter(lambda each: contains(only, each), minutes)) == at(end) - 60
    assert max(filter(lambda each: opening_at(nightly, each), minutes)) == at(window_end) - 60


def test_a_window_within_a_day_is_one_interval() -> None:
    assert intervals_of(window("01:00", 4, days=["mon", "fri"], timezone=BERLIN)) == [
        {
            "times": [{"start_time": "01:00", "end_time": "05:00"}],
            "weekdays": ["monday", "friday"],
            "location": BERLIN,
        }
    ]


def test_a_window_over_midnight_is_two_intervals_the_second_a_day_later() -> None:
    first, second = intervals_of(window("22:00", 8, days=["fri", "sun"]))

    assert first["times"] == [{"start_time": "22:00", "end_time": "24:00"}]
    assert first["weekdays"] == ["friday", "sunday"]
    assert second["times"] == [{"start_time": "00:00", "end_time": "06:00"}]
    assert second["weekdays"] == ["monday", "saturday"]


def test_a_window_that_ends_at_midnight_is_one_interval() -> None:
    assert [each["times"] for each in intervals_of(window("22:00", 2))] == [
        [{"start_time": "22:00", "end_time": "24:00"}]
    ]


def test_the_end_of_a_window_is_rounded_up_to_a_minute() -> None:
    (only,) = intervals_of(window("01:00", 1 + 1 / 3600))

    assert only["times"] == [{"start_time": "01:00", "end_time": "02:01"}]
