"""Windows as time intervals of Alertmanager: open there exactly when the window is open."""

import datetime
import zoneinfo
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esewatch.config import Window
from esewatch.config.calendar import opening_at
from esewatch.config.mute import time_intervals
from esewatch.config.settings import DAYS

YEAR = 2026
BERLIN = "Europe/Berlin"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
ZONES = (
    *("UTC", BERLIN, "Europe/Dublin", "America/New_York", "America/Santiago", "Asia/Beirut"),
    *("Australia/Lord_Howe", "Africa/Cairo", "America/Nuuk", "Asia/Jerusalem", "Asia/Kolkata"),
    *("Antarctica/Troll", "Pacific/Chatham", "Africa/Casablanca", "Asia/Gaza"),
)
WITHOUT_A_RULE = {"Africa/Casablanca", "Asia/Gaza"}
"""Clocks that follow Ramadan: right for ten years."""


def contains(interval: dict[str, Any], moment: float) -> bool:
    """What ContainsTime of Alertmanager says (timeinterval.go, 0.25)."""
    local = datetime.datetime.fromtimestamp(moment, zoneinfo.ZoneInfo(interval["location"]))
    minute = local.hour * 60 + local.minute
    if not any(
        minutes(each["start_time"]) <= minute < minutes(each["end_time"])
        for each in interval["times"]
    ):
        return False
    days = whole_days_of_month(local)
    return (
        named("weekdays", WEEKDAYS[local.weekday()], interval)
        and named("months", MONTHS[local.month - 1], interval)
        and within("years", local.year, interval, 9999)
        and within("days_of_month", local.day, interval, days)
    )


def whole_days_of_month(local: datetime.datetime) -> int:
    """As daysInMonth of Alertmanager: one less in a month that loses an hour."""
    first = local.replace(day=1, hour=0, minute=0, second=0, microsecond=0, fold=0)
    following = (first + datetime.timedelta(days=32)).replace(day=1)
    return int((following.timestamp() - first.timestamp()) // 86400)


def minutes(clock: str) -> int:
    hour, minute = clock.split(":")
    return int(hour) * 60 + int(minute)


def named(key: str, name: str, interval: dict[str, Any]) -> bool:
    return name in interval.get(key, [name])


def within(key: str, number: int, interval: dict[str, Any], most: int) -> bool:
    for text in interval.get(key, [str(number)]):
        first, _, last = text.partition(":")
        if int(first) <= most and int(first) <= number <= min(int(last or first), most):
            return True
    return key not in interval


def muted(window: Window, moment: float) -> bool:
    (printed,) = time_intervals({"w": window}, YEAR)
    return any(contains(each, moment) for each in printed["time_intervals"])


def window(start: str, hours: float, **more: Any) -> Window:
    return Window(start=datetime.time.fromisoformat(start), duration=hours * 3600, **more)


def at(text: str) -> float:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC).timestamp()


WINDOWS = st.builds(
    Window,
    start=st.times().map(lambda time: time.replace(second=0, microsecond=0)),
    duration=st.integers(15, 1440).map(lambda number: number * 60.0),
    days=st.lists(st.sampled_from(DAYS), min_size=1, max_size=7, unique=True),
    timezone=st.sampled_from(ZONES),
)


@cache
def changes(zone: str) -> list[float]:
    """Days in which the clocks change, as noon UTC."""
    last_year = 2034 if zone in WITHOUT_A_RULE else 2052
    info, found = zoneinfo.ZoneInfo(zone), []
    day = datetime.datetime(YEAR, 1, 3, tzinfo=datetime.UTC)
    while day.year <= last_year:
        after = day + datetime.timedelta(days=1)
        if day.astimezone(info).utcoffset() != after.astimezone(info).utcoffset():
            found.append((day + datetime.timedelta(hours=12)).timestamp())
        day = after
    return found


@settings(max_examples=60, deadline=None)
@given(WINDOWS, st.data())
def test_a_moment_is_muted_exactly_if_the_window_is_open(window: Window, data: Any) -> None:
    last = 2034 if window.timezone in WITHOUT_A_RULE else 2052
    (printed,) = time_intervals({"w": window}, YEAR)
    any_time = st.integers(int(at("2026-01-03")), int(at(f"{last}-12-20")))
    change = st.sampled_from(changes(window.timezone) or [at("2027-03-01")])
    near = st.builds(lambda noon, shift: noon + shift, change, st.integers(-172800, 172800))

    for moment in data.draw(st.lists(any_time | near, min_size=60, max_size=60)):
        found = any(contains(each, moment) for each in printed["time_intervals"])
        assert found == (opening_at(window, moment) is not None)


@pytest.mark.parametrize("night", ["2027-03-28", "2027-10-31"])
@pytest.mark.parametrize("start", ["01:00", "02:30", "03:00", "22:00"])
@pytest.mark.parametrize("hours", [1, 1.5, 4, 24])
def test_every_minute_around_a_change_of_the_clocks_is_right(
    night: str, start: str, hours: float
) -> None:
    nightly = window(start, hours, timezone=BERLIN)
    (printed,) = time_intervals({"w": nightly}, YEAR)

    for minute in range(-1440, 2880):
        moment = at(night) + minute * 60
        found = any(contains(each, moment) for each in printed["time_intervals"])
        assert found == (opening_at(nightly, moment) is not None), minute


def test_the_last_day_of_a_month_that_loses_an_hour_is_not_forgotten() -> None:
    """Alertmanager takes October 2027 of Lord Howe Island for 30 days."""
    nightly = window("01:00", 13, days=["sun"], timezone="Australia/Lord_Howe")

    assert opening_at(nightly, at("2027-10-30 23:47"))
    assert muted(nightly, at("2027-10-30 23:47"))


def test_a_window_that_no_change_of_the_clocks_touches_is_one_interval() -> None:
    weekday = window("01:00", 4, days=["mon", "fri"], timezone=BERLIN)

    assert time_intervals({"nightly": weekday}, YEAR) == [
        {
            "name": "nightly",
            "time_intervals": [
                {
                    "times": [{"start_time": "01:00", "end_time": "05:00"}],
                    "weekdays": ["monday", "friday"],
                    "location": BERLIN,
                }
            ],
        }
    ]


def test_a_window_over_midnight_is_two_intervals_the_second_a_day_later() -> None:
    (printed,) = time_intervals({"w": window("22:00", 8, days=["fri", "sun"])}, YEAR)

    first, second = printed["time_intervals"]
    assert first["times"] == [{"start_time": "22:00", "end_time": "24:00"}]
    assert first["weekdays"] == ["friday", "sunday"]
    assert second["times"] == [{"start_time": "00:00", "end_time": "06:00"}]
    assert second["weekdays"] == ["monday", "saturday"]


def test_a_window_that_ends_at_midnight_is_one_interval() -> None:
    (printed,) = time_intervals({"w": window("22:00", 2)}, YEAR)

    assert [each["times"] for each in printed["time_intervals"]] == [
        [{"start_time": "22:00", "end_time": "24:00"}]
    ]


def test_the_end_of_a_window_is_rounded_up_to_a_minute() -> None:
    (printed,) = time_intervals({"w": window("01:00", 1 + 1 / 3600)}, YEAR)

    assert printed["time_intervals"][0]["times"] == [{"start_time": "01:00", "end_time": "02:01"}]


def test_a_rule_of_the_clocks_needs_no_years_and_ramadan_ten() -> None:
    def years(zone: str) -> set[str]:
        (printed,) = time_intervals({"w": window("01:00", 4, timezone=zone)}, YEAR)
        return {year for each in printed["time_intervals"] for year in each.get("years", [])}

    assert years(BERLIN) == set()
    assert {"2026", "2035", "1970:2025", "2036:9999"} <= years("Asia/Gaza")
