"""The pictures: their bars stand where the values are, and their text says the same."""

import datetime
import math

import msgspec
import pytest

from esewatch.advice.forecast.forecast import Forecast
from esewatch.config import Policy, Window
from esewatch.expose.pages.pictures.draw import (
    LANES,
    ROW,
    TOP,
    forecast_bar,
    ratio_sparkline,
    timeline,
    window_bar,
)
from esewatch.expose.pages.pictures.nights import RatioDay, Use, WindowUse, nights
from esewatch.fold.passes.runs import Run
from tests.advice.histories import DAY, HOUR, NOON, opening, store
from tests.expose.pages.pictures.drawn import bars, check_sound, names, shapes, table, ticks, words
from tests.expose.pages.pictures.examples import BERLIN, MORNING, exchange, garbage_collection, utc

LAST = TOP + 13 * ROW


def test_each_kind_has_its_lane_and_its_times() -> None:
    drawn = timeline(nights(exchange(), MORNING))
    check_sound(drawn)
    assert bars(drawn, "window")[-1] == (LAST + 2, 542, 708)
    assert bars(drawn, "defrag")[-1] == (LAST + LANES["defrag"], 542, 625)
    assert bars(drawn, "scan")[-1] == (LAST + LANES["scan"], 625, 632)
    assert bars(drawn, "backup")[-1] == (LAST + LANES["backup"], 417, 500)
    assert ticks(drawn, "stop")[-1] == (LAST + LANES["defrag"] - 5, 625)
    assert ticks(drawn, "now") == [(LAST, 833)]
    assert shapes(drawn, "unknown") == ""
    assert {kind: len(bars(drawn, kind)) for kind in ("window", "defrag", "scan", "backup")} == {
        "window": 14, "defrag": 14, "scan": 14, "backup": 14,
    }  # fmt: skip


def test_the_table_has_the_same_times_as_the_bars() -> None:
    drawn = timeline(nights(exchange(failures=[opening(0) + 2 * HOUR]), MORNING))
    rows = table(drawn)
    assert len(rows) == 15
    assert rows[0] == ["Night", "Window", "Defragmentation", "Scan", "Backup", "Stopped"]
    times = ["01:00–05:00", "01:00–03:00", "03:00–03:10", "22:00–00:00"]
    assert rows[1] == ["Sun 17/18 Jun", *times, "03:00"]
    assert rows[-1] == ["Sat 30/1 Jul", *times, "03:00 failed"]
    assert names(drawn) == ["The 14 nights to 1 July 2007, noon to noon, times in UTC"]


def test_a_night_of_23_hours_says_so_and_its_bars_keep_their_length() -> None:
    drawn = timeline(nights(store(window=BERLIN, defrag_runs=[]), utc(2007, 3, 25, 8)))
    assert bars(drawn, "window")[-1][1:] == (round(1000 * 13 / 23), round(1000 * 17 / 23))
    assert table(drawn)[-1][:2] == ["Sat 24/25 Mar (23 h)", "01:00–06:00"]
    assert "23 h, 24/25 Mar" in words(drawn)
    assert "times in Europe/Berlin" in words(drawn)
    midnight = [at for y, at in ticks(drawn, "grid") if y == LAST][2]
    assert midnight == round(1000 * 12 / 23)


def test_work_of_a_second_can_be_seen() -> None:
    drawn = timeline(nights(garbage_collection(), MORNING))
    assert {right - left for _, left, right in bars(drawn, "defrag")} == {5}
    at_noon = store(window=None, defrag_runs=[Run(NOON - 1, NOON)], defrag_passes=[])
    assert bars(timeline(nights(at_noon, NOON - 0.5)), "defrag")[0][1:] == (995, 1000)


def test_a_kind_that_never_was_has_no_column_and_no_key() -> None:
    drawn = timeline(nights(garbage_collection(), MORNING))
    assert table(drawn)[0] == ["Night", "Defragmentation"]
    assert "backup" not in words(drawn)
    assert "window" not in words(drawn)


def test_many_runs_are_told_together() -> None:
    runs = [Run(NOON - 20 * HOUR + n * 1200, NOON - 20 * HOUR + n * 1200 + 600) for n in range(30)]
    drawn = timeline(nights(store(defrag_runs=runs, defrag_passes=[]), MORNING))
    row = table(drawn)[-1]
    assert row[2] == "16:00–01:50 (30 runs, 5 h)"
    assert row[-1] == "30 times, last 01:50"
    assert len(bars(drawn, "defrag")) == 6
    assert len(ticks(drawn, "stop")) == 6


def test_a_usual_timeline_is_under_6_kb() -> None:
    assert len(timeline(nights(exchange(), MORNING)).encode()) < 6000


USE = WindowUse(
    zone="Europe/Berlin",
    axis=datetime.time(12),
    start=datetime.time(1),
    after=13 * HOUR,
    configured=4 * HOUR,
    recommended=2.75 * HOUR,
    openings=14,
    used=(Use("defrag", 0.0, 2 * HOUR), Use("scan", 2 * HOUR, 600.0)),
)


def test_the_window_stands_beside_the_recommended_one_and_its_use() -> None:
    drawn = window_bar(USE)
    check_sound(drawn)
    assert [each[1:] for each in bars(drawn, "window")] == [(542, 708)]
    assert [each[1:] for each in bars(drawn, "advised")] == [(542, 656)]
    assert [each[1:] for each in bars(drawn, "defrag")] == [(542, 625)]
    assert [each[1:] for each in bars(drawn, "scan")] == [(625, 632)]
    said = (
        "Configured 4 h from 01:00, recommended 2 h 45 min. Median use of the last 14 windows:"
        " defragmentation 2 h and scan 10 min"
    )
    assert names(drawn) == [said]
    assert f"{said}." in words(drawn)
    assert "times in Europe/Berlin" in words(drawn)


def test_a_window_without_use_or_advice_is_a_bar_alone() -> None:
    changes = {"used": (), "recommended": None}
    drawn = window_bar(msgspec.structs.replace(USE, **changes))
    assert "Median use of the last 14 windows: nothing ran." in words(drawn)
    assert shapes(drawn, "advised") == ""
    never = window_bar(msgspec.structs.replace(USE, **changes, openings=0))
    assert "Median use" not in words(never)


def days(*values: tuple[float, float]) -> list[RatioDay]:
    first = NOON - (len(values) - 1) * DAY
    return [RatioDay(first + n * DAY, read, freed) for n, (read, freed) in enumerate(values)]


def test_the_ratio_stands_on_a_log_scale_beside_its_band() -> None:
    drawn = ratio_sparkline(days((4e6, 2e5), (8e6, 1e5), (1.6e7, 1e5)), Policy())
    check_sound(drawn)
    points = [tuple(map(int, each.split())) for each in shapes(drawn, "curve")[1:].split("L")]
    assert [x for x, _ in points] == [0, 500, 1000]
    heights = [y for _, y in points]
    assert heights[0] - heights[1] == pytest.approx(2 * (heights[1] - heights[2]), abs=2)
    top = bars(drawn, "band")[0][0]
    assert heights[2] < top < heights[1]
    assert names(drawn) == ["Pages read for each one freed: 160.0 (in the last 7 days)"]
    assert "16,000,000 pages read and 100,000 freed" in words(drawn)
    assert "29 Jun: 20.0, 30 Jun: 80.0, 1 Jul: 160.0" in words(drawn)
    assert "band is 50 to 100" in words(drawn)


def test_days_without_a_page_read_break_the_curve() -> None:
    drawn = ratio_sparkline(days((4e6, 2e5), (0.0, 0.0), (8e6, 0.0), (0.0, 5.0)), Policy())
    check_sound(drawn)
    assert shapes(drawn, "curve").count("M") == 2
    assert "none freed (in the 7 days to 30 June 2007)" in words(drawn)


def test_too_few_pages_are_said_to_be() -> None:
    drawn = ratio_sparkline(days((4e3, 1.0)), Policy())
    assert "4,000 pages read and 1 freed in these 7 days, too few to be judged" in words(drawn)
    huge = ratio_sparkline(days((1e11, 1e-9)), Policy())
    check_sound(huge)
    assert "over 1,000,000" in words(huge)


def test_a_forecast_stands_on_the_axis_of_its_deadline() -> None:
    told = Forecast(
        task="defrag", p50=NOON + DAY, p90=NOON + 2 * DAY, progress=0.425, deadline=NOON + 4 * DAY
    )
    drawn = forecast_bar((told, Forecast(task="checksum", reason="no pass is running")), NOON)
    check_sound(drawn)
    assert bars(drawn, "likely") == [(12, 0, 250)]
    assert bars(drawn, "late") == [(12, 250, 500)]
    assert ticks(drawn, "due") == [(0, 1000)]
    assert ticks(drawn, "now") == [(2, 0)]
    assert names(drawn) == ["Defragmentation: in time, on an axis of 4 d"]
    said = words(drawn)
    assert "done by 2007-07-02 12:00 (50 %) or 2007-07-03 12:00 (90 %), 42 % done now" in said
    assert "deadline 2007-07-05 12:00: in time" in said
    assert "Scan: no pass is running." in said


@pytest.mark.parametrize(
    ("deadline", "word"),
    [
        (2.0, "in time"),
        (1.5, "▲ may be late"),
        (0.5, "▲ late"),
        (-0.5, "▲ the deadline has passed"),
    ],
)
def test_a_forecast_is_judged_in_words(deadline: float, word: str) -> None:
    told = Forecast(
        task="checksum", p50=NOON + DAY, p90=NOON + 2 * DAY, deadline=NOON + deadline * DAY
    )
    drawn = forecast_bar((told,), NOON)
    check_sound(drawn)
    assert word in words(drawn)


@pytest.mark.parametrize("deadline", [None, math.nan, math.inf, 1e300])
def test_without_a_deadline_none_is_drawn(deadline: float | None) -> None:
    told = Forecast(task="checksum", p50=NOON, p90=NOON, deadline=deadline)
    drawn = forecast_bar((told,), NOON)
    check_sound(drawn)
    assert ticks(drawn, "due") == []
    assert names(drawn) == ["Scan: no deadline, on an axis of 24 h"]


def test_a_window_over_noon_begins_its_own_axis() -> None:
    over = Window(start=datetime.time(10, 30), duration=6 * HOUR)
    use = msgspec.structs.replace(
        USE, axis=over.start, start=over.start, after=0.0, configured=over.duration
    )
    drawn = window_bar(use)
    check_sound(drawn)
    assert [each[1:] for each in bars(drawn, "window")] == [(0, 250)]
    assert "10:30 16:30 22:30 04:30 10:30" in " ".join(words(drawn).replace("30", "30 ").split())
