"""The last nights as values: what was at work, and when."""

import datetime
import math

import msgspec
import pytest

from esewatch.advice.window.window import WindowAdvice
from esewatch.expose.pages.pictures.nights import (
    MOST_SPANS,
    Night,
    Nights,
    Span,
    Stop,
    Use,
    nights,
    ratio_days,
    window_use,
)
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import Day, day_of
from tests.advice.histories import DAY, HOUR, NOON, one_pass, opening, store, window
from tests.expose.pages.pictures.examples import (
    BERLIN,
    MORNING,
    background,
    backup,
    exchange,
    garbage_collection,
    openings,
    utc,
)


def last(found: Nights) -> Night:
    return found.nights[-1]


def times(night: Night, kind: str) -> list[tuple[float, float]]:
    return [(span.start, span.end) for span in night.spans[kind]]  # type: ignore[index]


def test_a_night_lasts_from_noon_to_noon_and_now_is_in_the_last() -> None:
    found = nights(exchange(), MORNING)
    assert len(found.nights) == 14
    assert (last(found).start, last(found).end) == (NOON - DAY, NOON)
    assert found.nights[0].start == NOON - 14 * DAY
    assert last(nights(exchange(), NOON - 1)).end == NOON
    assert last(nights(exchange(), NOON)).start == NOON


def test_each_kind_has_its_own_times() -> None:
    night = last(nights(exchange(), MORNING))
    start = opening(0)
    assert times(night, "window") == [(start, start + 4 * HOUR)]
    assert times(night, "defrag") == [(start, start + 2 * HOUR)]
    assert times(night, "scan") == [(start + 2 * HOUR, start + 2 * HOUR + 600)]
    assert times(night, "backup") == [(start - 3 * HOUR, start - HOUR)]
    assert times(night, "unknown") == []
    assert night.share(start) == 13 / 24


def test_a_backup_that_the_advice_counts_is_shown() -> None:
    begin = NOON - 5 * HOUR
    found = nights(store(backup_spans=[(begin, begin + HOUR)]), MORNING)
    assert times(last(found), "backup") == [(begin, begin + HOUR)]


def test_a_run_over_noon_is_in_two_nights() -> None:
    found = nights(store(defrag_runs=[Run(NOON - DAY - HOUR, NOON - DAY + HOUR)]), MORNING)
    assert times(found.nights[-2], "defrag") == [(NOON - DAY - HOUR, NOON - DAY)]
    assert times(found.nights[-1], "defrag") == [(NOON - DAY, NOON - DAY + HOUR)]


def test_a_run_over_midnight_is_one() -> None:
    run = Run(NOON - 13 * HOUR, NOON - 11 * HOUR)
    assert times(last(nights(store(defrag_runs=[run]), MORNING)), "defrag") == [run]


def test_a_background_scan_fills_the_nights_until_now() -> None:
    found = nights(background(), MORNING)
    whole = [times(night, "scan") == [(night.start, night.end)] for night in found.nights[:-1]]
    assert all(whole)
    assert times(last(found), "scan") == [(NOON - DAY, MORNING)]
    assert found.zone == "UTC"
    assert not found.any_of("window")


def test_open_work_that_went_silent_ends_after_two_windows_or_seven_days() -> None:
    silent = one_pass(NOON - 12 * DAY, None, last_event=NOON - 12 * DAY)
    run = [Run(NOON - 12 * DAY, None)]
    without = store(window=None, defrag_runs=run, defrag_passes=[silent])
    ends = [end for night in nights(without, MORNING).nights for _, end in times(night, "defrag")]
    assert max(ends) == NOON - 5 * DAY
    within = store(defrag_runs=run, defrag_passes=[silent])
    ends = [end for night in nights(within, MORNING).nights for _, end in times(night, "defrag")]
    assert max(ends) == NOON - 10 * DAY + 4 * HOUR


def test_the_night_in_which_the_clocks_go_on_has_23_hours_and_back_25() -> None:
    spring = utc(2007, 3, 25, 8)
    summer = nights(store(window=BERLIN, defrag_runs=[], first_seen=0.0), spring)
    assert summer.zone == "Europe/Berlin"
    assert last(summer).end - last(summer).start == 23 * HOUR
    assert times(last(summer), "window") == [(utc(2007, 3, 25, 0), utc(2007, 3, 25, 4))]
    autumn = nights(store(window=BERLIN, defrag_runs=[]), utc(2007, 10, 28, 8))
    assert last(autumn).end - last(autumn).start == 25 * HOUR
    assert times(last(autumn), "window") == [(utc(2007, 10, 27, 23), utc(2007, 10, 28, 3))]


def test_what_overlaps_is_one_and_beyond_six_the_nearest_are_taken_together() -> None:
    pauses = [5, 50, 10, 60, 20, 70, 30, 80]
    at, runs = NOON - 20 * HOUR, []
    for pause in pauses:
        runs.append(Run(at, at + 600))
        at += 600 + pause * 60
    spans = last(nights(store(defrag_runs=runs), MORNING)).spans["defrag"]
    assert len(spans) == MOST_SPANS[0]
    assert [span.runs for span in spans] == [2, 2, 1, 1, 1, 1]
    assert sum(span.seconds for span in spans) == len(pauses) * 600
    assert spans[0] == Span(runs[0].start, runs[1].end or 0.0, 1200.0, 2)
    both = [backup(MORNING - 600, MORNING - 60), backup(MORNING - 300, MORNING)]
    assert times(last(nights(store(backups=both), MORNING)), "backup") == [(MORNING - 600, MORNING)]


def test_a_run_that_did_not_complete_its_pass_is_a_stop_or_failed() -> None:
    found = nights(exchange(defrag_passes=[], failures=[opening(1) + 2 * HOUR]), MORNING)
    assert last(found).stops == (Stop(opening(0) + 2 * HOUR, "defrag"),)
    assert found.nights[-2].stops == (Stop(opening(1) + 2 * HOUR, "defrag", failed=True),)
    done = [one_pass(opening(0), opening(0) + 2 * HOUR)]
    assert last(nights(exchange(defrag_passes=done), MORNING)).stops == ()


def test_missing_events_are_told_and_so_is_the_time_before_the_first() -> None:
    gap = (NOON - 20 * HOUR, NOON - 18 * HOUR, 7)
    found = nights(store(first_seen=NOON - 3 * DAY + HOUR, event_gaps=[gap]), MORNING)
    assert times(last(found), "unknown") == [gap[:2]]
    assert times(found.nights[-3], "unknown") == [(NOON - 3 * DAY, NOON - 3 * DAY + HOUR)]
    assert times(found.nights[0], "unknown") == [(NOON - 14 * DAY, NOON - 13 * DAY)]


def test_work_is_drawn_as_long_as_its_log_was_read() -> None:
    read = NOON - 40 * HOUR
    found = nights(background(unread_since=read), MORNING)
    assert times(found.nights[-2], "scan") == [(NOON - 2 * DAY, read)]
    assert times(found.nights[-2], "unknown") == [(read, NOON - DAY)]
    assert times(last(found), "scan") == []


def test_nights_that_nobody_read_are_unknown() -> None:
    end = NOON - 3 * DAY
    found = nights(exchange(unread_since=end), MORNING)
    assert times(last(found), "unknown") == [(NOON - DAY, MORNING)]
    assert times(found.nights[-3], "unknown") == [(end, end + DAY)]
    assert times(found.nights[-4], "unknown") == []


def test_other_models_have_no_window_though_one_is_configured() -> None:
    found = nights(garbage_collection(window=BERLIN), MORNING)
    assert not found.any_of("window")
    assert [len(night.spans["defrag"]) for night in found.nights] == [2] * 14


@pytest.mark.parametrize("now", [math.nan, math.inf, -1.0, 0.0, 1e300])
def test_a_damaged_present_has_no_nights(now: float) -> None:
    assert nights(exchange(), now).nights == ()


def test_damaged_times_are_left_out() -> None:
    runs = [
        Run(math.nan, NOON),
        Run(NOON, math.nan),
        Run(NOON - HOUR, NOON - DAY),
        Run(-math.inf, math.inf),
        Run(NOON + DAY, None),
    ]
    found = nights(store(defrag_runs=runs, event_gaps=[(math.nan, 1.0, 1)]), MORNING)
    assert times(found.nights[0], "defrag") == [(NOON - 14 * DAY, NOON - 13 * DAY)]
    assert times(last(found), "defrag") == [(NOON - DAY, MORNING)]


def test_the_openings_of_the_examples_are_those_of_the_calendar() -> None:
    found = nights(store(window=BERLIN), MORNING)
    expected = openings(BERLIN, MORNING, 14)
    assert [times(night, "window") for night in found.nights] == [[each] for each in expected]


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


def test_a_night_without_a_record_is_told_from_one_without_maintenance() -> None:
    heard = [(NOON - 14 * DAY, NOON - 5.5 * DAY), (NOON - 3.5 * DAY, MORNING)]
    found = nights(store(defrag_runs=[], heard=heard), MORNING)
    silent = [bool(night.spans["unknown"]) for night in found.nights]
    assert silent == [night.start == NOON - 5 * DAY for night in found.nights]
    assert not any(
        night.spans["unknown"] for night in nights(store(defrag_runs=[]), MORNING).nights
    )
