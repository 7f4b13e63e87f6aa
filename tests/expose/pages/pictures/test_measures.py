"""What used the window, and how the ratio went."""

import datetime
import math

import msgspec
import pytest

from esewatch.advice.window.window import WindowAdvice
from esewatch.expose.pages.pictures.nights import Use, ratio_days, window_use
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import Day, day_of
from tests.advice.histories import DAY, HOUR, NOON, opening, store, window
from tests.expose.pages.pictures.examples import MORNING, background, backup, exchange

SHRINK = WindowAdvice(
    action="shrink", rule="ratio_high", configured_seconds=4 * HOUR, recommended_seconds=2.75 * HOUR
)


def test_the_window_and_the_median_of_what_used_it() -> None:
    use = window_use(exchange(), SHRINK, MORNING)
    assert use is not None
    assert (use.axis, use.start, use.after) == (datetime.time(12), datetime.time(1), 13 * HOUR)
    assert (use.configured, use.recommended) == (4 * HOUR, 2.75 * HOUR)
    assert use.openings == 14
    assert use.used == (Use("defrag", 0.0, 2 * HOUR), Use("scan", 2 * HOUR, 600.0))


def test_only_what_lies_in_the_window_counts_and_the_median_leaves_out_the_odd_night() -> None:
    backups = [backup(opening(n) - HOUR, opening(n) + HOUR) for n in reversed(range(30))]
    runs = [Run(opening(n) + HOUR, opening(n) + (2 if n else 9) * HOUR) for n in reversed(range(9))]
    use = window_use(exchange(backups=backups, defrag_runs=runs, scan_runs=[]), None, MORNING)
    assert use is not None
    assert use.used == (Use("defrag", HOUR, HOUR), Use("backup", 0.0, HOUR))
    assert use.recommended is None


def test_openings_with_missing_events_do_not_count() -> None:
    gap = (opening(3) + HOUR, opening(2) + HOUR, 9)
    use = window_use(exchange(event_gaps=[gap], first_seen=opening(5) - 1), None, MORNING)
    assert use is not None
    assert use.openings == 4


def test_openings_that_nobody_read_do_not_count() -> None:
    use = window_use(exchange(unread_since=opening(3) - HOUR), None, MORNING)
    assert use is not None
    assert use.openings == 14
    late = window_use(exchange(unread_since=MORNING - 50 * DAY), None, MORNING)
    assert late is not None
    assert (late.openings, late.used) == (6, ())


def test_a_window_over_noon_has_an_axis_of_its_own() -> None:
    morning = msgspec.structs.replace(window(6), start=datetime.time(10))
    use = window_use(store(window=morning), None, MORNING)
    assert use is not None
    assert (use.axis, use.after) == (datetime.time(10), 0.0)


def test_other_models_and_no_window_have_none() -> None:
    assert window_use(background(window=window()), None, MORNING) is None
    assert window_use(store(window=None), None, MORNING) is None


@pytest.mark.parametrize("now", [math.nan, math.inf, 0.0, 1e300])
def test_a_damaged_present_has_no_use_and_no_ratio(now: float) -> None:
    use = window_use(exchange(), SHRINK, now)
    assert use is not None
    assert (use.openings, use.used) == (0, ())
    assert ratio_days(exchange(), now) == []


def test_a_damaged_recommendation_is_none() -> None:
    for seconds in (math.nan, -1.0, 1e9):
        advice = msgspec.structs.replace(SHRINK, recommended_seconds=seconds)
        use = window_use(exchange(), advice, MORNING)
        assert use is not None
        assert use.recommended is None


def test_the_ratio_is_of_the_sums_of_seven_days() -> None:
    rows = [Day(day_of(MORNING) - n, 1000.0 * (n + 1), 10.0, 0, 0, 0) for n in reversed(range(9))]
    found = ratio_days(store(days=rows), MORNING)
    assert len(found) == 28
    assert found[-1] == (NOON, 28_000.0, 70.0)
    assert found[-1].ratio == 400.0
    assert found[-2].ratio == 35_000 / 70
    assert found[0].ratio is None


def test_nothing_freed_is_an_infinite_ratio_and_before_the_first_sample_is_none() -> None:
    rows = [Day(day_of(MORNING), 1000.0, 0.0, 0, 0, 0)]
    found = ratio_days(store(days=rows, sampled_since=MORNING - 3 * DAY), MORNING)
    assert [day.ratio for day in found] == [None, None, None, math.inf]
    assert ratio_days(store(days=rows, sampled_since=None), MORNING) == []


def test_a_damaged_day_is_left_out() -> None:
    today = day_of(MORNING)
    rows = [
        Day(today - 2, math.nan, 10.0, 0, 0, 0),
        Day(today - 1, 1e300, 10.0, 0, 0, 0),
        Day(today, 500.0, 10.0, 0, 0, 0),
    ]
    assert ratio_days(store(days=rows), MORNING)[-1][1:] == (500.0, 10.0)
