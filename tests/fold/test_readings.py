from math import fsum
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.counters.counter_feeds import feed_of
from esewatch.fold.readings import (
    KEPT_COLUMNS,
    KEPT_GAPS,
    RANGE,
    current,
    fold_reading,
    grown,
    paired_days,
)
from esewatch.fold.state import rollups
from esewatch.fold.state.state import CounterState, Device, Host, Instance
from esewatch.model import Feed, Kind, Reading
from tests.support.records import DAY, HOUR

READ = "ese_defrag_pages_read_total"
FREED = "ese_defrag_pages_freed_total"
LOGGED = "ese_defrag_log_bytes_total"
SCAN = "ese_maintenance_pages_read_total"
DEPTH = "ese_checkpoint_depth_logs"


def instance() -> Instance:
    return Instance(computer="ex01", ese_instance="SG06")


def reading(
    time: float, value: float, kind: Kind = "rate", metric: str = READ, counter: str = "c"
) -> Reading:
    return Reading(
        time=time,
        computer="EX01",
        object="MSExchange Database ==> Instances",
        counter=counter,
        instance="Information Store/SG06",
        value=value,
        kind=kind,
        feed=Feed(metric=metric, name="SG06"),
    )


def fold(target: Instance, *readings: Reading) -> list[bool]:
    return [fold_reading(target, item, item.feed) for item in readings if item.feed]


def test_the_first_sample_is_a_baseline_and_later_ones_are_integrated() -> None:
    found = instance()
    fold(found, reading(0, 500), reading(15, 100), reading(30, 50))
    assert found.totals == {READ: 15 * 100 + 15 * 50}


def test_a_sample_that_is_not_younger_counts_nothing() -> None:
    found = instance()
    assert fold(found, reading(15, 1), reading(30, 2), reading(30, 2), reading(15, 1)) == [
        True,
        True,
        False,
        False,
    ]
    assert found.totals == {READ: 30}


def total(time: float, value: float) -> Reading:
    return reading(time, value, "total", SCAN, "Pages Read")


def level(time: float, value: float) -> Reading:
    return reading(time, value, "level", DEPTH, "Depth")


def test_a_sample_of_a_clock_ahead_loses_none_of_the_later_ones() -> None:
    found = instance()
    for at in range(0, 150, 15):
        fold(found, reading(at, 10), total(at, at), level(at, at))
    ahead = 150 + 4 * 3600
    fold(found, reading(ahead, 10), total(ahead, 150), level(ahead, 150))

    for at in range(165, 600, 15):
        samples = (reading(at, 10), total(at, at), level(at, at))
        assert fold(found, *samples) == [True, True, True]
    # The rates before and after that sample are not integrated.
    assert found.totals == {READ: (585 - 30) * 10, SCAN: 585}
    assert (found.levels[DEPTH].value, found.levels[DEPTH].time) == (585, 585)
    assert (found.gaps, found.gap_until) == ([(135, 165)], 165)


def test_a_clock_that_is_set_back_after_an_hour_ahead_is_a_new_baseline() -> None:
    found = instance()
    clock = [*range(0, 600, 15), *range(18_000, 21_600, 15), *range(4200, 8000, 15)]
    for count, at in enumerate(clock):
        samples = (reading(at, 10), total(at, count), level(at, count))
        assert fold(found, *samples) == [True, True, True]

    rates = (585 + 3585 + 3795) * 10
    assert found.totals == {READ: rates, SCAN: len(clock) - 1}
    assert found.levels[DEPTH].time == 7995


def test_a_log_with_a_sample_of_a_clock_ahead_counts_once_when_it_is_read_twice() -> None:
    found = instance()
    clock = [*range(0, 150, 15), 20_000, *range(165, 600, 15)]
    log = [
        each
        for count, at in enumerate(clock)
        for each in (reading(at, 10), total(at, count), level(at, count))
    ]
    fold(found, *log)
    once = dict(found.totals)

    fold(found, *log)
    assert found.totals == once


@pytest.mark.parametrize("missing", [range(2000, 4000, 15), range(6000, 8000, 15)])
def test_samples_of_a_gap_that_are_read_after_many_others_count_nothing(missing: range) -> None:
    found = instance()
    for at in [*range(0, 1005, 15), *range(10_005, 30_000, 15)]:
        fold(found, reading(at, 10), total(at, at), level(at, at))
    before = dict(found.totals)

    for at in missing:
        samples = (reading(at, 10), total(at, at), level(at, at))
        assert fold(found, *samples) == [False, False, False]
    assert found.totals == before
    assert found.gaps == [(990, 10_005)]


def test_a_last_sample_that_is_later_than_what_is_possible_is_of_a_clock_ahead() -> None:
    found = instance()
    for item in (reading(1e9, 10), total(1e9, 500), level(1e9, 5)):
        assert item.feed
        fold_reading(found, item, item.feed)

    for at, count in ((100, 20), (115, 30)):
        for item in (reading(at, 10), total(at, count), level(at, count)):
            assert item.feed
            assert fold_reading(found, item, item.feed, until=86_400.0)
    assert found.totals == {READ: 150, SCAN: 10}
    assert found.levels[DEPTH].value == 30


def test_a_long_interval_is_a_gap_whose_seconds_are_counted() -> None:
    found = instance()
    fold(found, *(reading(15 * index, 10) for index in range(10)), reading(135 + 901, 10))
    assert found.totals == {READ: 9 * 150}
    assert found.gap_seconds == 901


def test_slow_sampling_is_no_gap() -> None:
    found = instance()
    fold(found, *(reading(600 * index, 1) for index in range(4)), reading(1800 + 1800, 1))
    assert found.totals == {READ: 3600}
    assert found.gap_seconds == 0


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20))
def test_a_running_total_never_shrinks(values: list[int]) -> None:
    found = instance()
    last = 0.0
    for index, value in enumerate(values):
        fold(found, reading(index * 15.0, float(value), "total"))
        assert found.totals[READ] >= last
        last = found.totals[READ]


@pytest.mark.parametrize(
    ("before", "after", "growth"),
    [
        (100, 150, 50),
        (RANGE - 100, 50, 150),
        (1000, 10, 10),
        (RANGE * 0.5, 10, 10),
        (RANGE * 0.95, RANGE * 0.5, RANGE * 0.5),
        (RANGE * 8, 5, 5),
        (10, -5, 0),
    ],
)
def test_a_drop_is_a_wrap_only_from_the_top_of_the_range_to_its_bottom(
    before: float, after: float, growth: float
) -> None:
    assert grown(before, after) == growth


def test_a_running_total_outranks_the_formatted_rate_of_the_same_metric() -> None:
    found = instance()
    for index in range(5):
        time = 15.0 * index
        fold(found, reading(time, 10, metric=SCAN, counter="Pages Read/sec"))
        fold(found, reading(time, 1000 + 140 * index, "total", SCAN, "Pages Read"))
    assert found.totals == {SCAN: 4 * 140}


def rates(first: float, count: int) -> list[Reading]:
    """A sample of 10 pages a second each minute."""
    return [
        reading(first + 60 * n, 10, metric=SCAN, counter="Pages Read/sec") for n in range(count)
    ]


def test_where_a_running_total_is_missing_for_long_the_rates_count_again() -> None:
    found = instance()
    for at in range(0, 600, 60):
        fold(found, total(at, 10 * at), *rates(at, 1))
    assert found.totals == {SCAN: 9 * 600}
    fold(found, *rates(86400, 60))
    assert found.totals == {SCAN: (9 + 59) * 600}


def test_a_running_total_that_is_back_does_not_count_what_the_rates_counted() -> None:
    found = instance()
    fold(found, total(0, 0), total(60, 600), *rates(0, 181))
    assert found.totals[SCAN] == 600 + 58 * 600
    fold(found, total(10860, 108600), *rates(10860, 1), total(10920, 109200), *rates(10920, 1))
    assert found.totals[SCAN] == 600 + 58 * 600 + 600


@pytest.mark.parametrize("minutes", [20, 60, 120])
def test_a_running_total_that_is_read_seldom_is_whole_beside_rates_each_minute(
    minutes: int,
) -> None:
    found = instance()
    for at in range(0, 36_001, 60):
        if at % (minutes * 60) == 0:
            fold(found, total(at, 10 * at))
        fold(found, *rates(at + 1, 1))
    assert found.totals == {SCAN: 360_000}
    assert found.gaps == []


def test_what_lies_between_a_running_total_that_ends_and_the_rates_is_a_gap() -> None:
    found = instance()
    fold(found, *rates(-60, 1), total(0, 0), total(60, 600), *rates(0, 300))
    first = 60 + 2 * HOUR + 60
    assert found.totals == {SCAN: 600 + 10 * (299 * 60 - first)}
    assert found.gaps == [(60, first)]
    assert found.gap_seconds == first - 60


def test_the_growth_of_a_running_total_over_a_silence_of_both_is_kept() -> None:
    found = instance()
    for at in (0, 60, 86400, 86460):
        fold(found, *rates(at, 1), total(at, 10 * at))
    assert found.totals == {SCAN: 864600}
    assert found.gap_seconds == 0


def test_a_running_total_of_a_journal_of_an_earlier_version_may_be_gone() -> None:
    found = instance()
    fold(found, *rates(0, 2), total(0, 0), total(60, 600))
    found.total_times = {}
    fold(found, *rates(120, 180))
    assert found.totals[SCAN] > 600 + 50 * 600


def stored(time: float, raw: int, *, wraps: bool = True) -> Reading:
    """A sample of a binary log: what Windows would show is no number in the first one."""
    return Reading(
        time=time,
        computer="EX01",
        object="MSExchange Database ==> Instances",
        counter="c",
        instance="Information Store/SG06",
        value=float("nan"),
        kind="total",
        feed=Feed(metric=READ, name="SG06", wraps=wraps),
        raw=raw,
    )


def test_the_stored_total_of_a_binary_log_is_counted_and_not_the_rate_beside_it() -> None:
    found = instance()
    assert fold(found, stored(0, 100), stored(15, 700), stored(5000, 1000)) == [True] * 3
    assert found.totals == {READ: 900}
    assert (found.gap_seconds, found.running_totals) == (0, {READ})


@pytest.mark.parametrize(("wraps", "growth"), [(True, 150), (False, 50)])
def test_a_stored_total_of_32_bits_wraps_and_one_of_64_begins_again(
    wraps: bool, growth: int
) -> None:
    found = instance()
    fold(found, stored(0, 2**32 - 100, wraps=wraps), stored(15, 50, wraps=wraps))
    assert found.totals == {READ: growth}


def test_hours_that_a_text_log_and_a_binary_log_have_are_counted_once() -> None:
    text = [reading(15 * n, 10) for n in range(11)]
    binary = [stored(15 * n, 150 * n) for n in range(21)]
    first = instance()
    fold(first, *text, *binary)
    second = instance()
    fold(second, *binary[:11], *text, *binary[11:])

    assert first.totals == {READ: 1500 + 9 * 150}  # the text ends at 150, the total begins at 165
    assert second.totals == {READ: 3000}


def test_when_a_binary_log_is_not_written_any_more_the_rates_count_again() -> None:
    found = instance()
    fold(found, stored(0, 0), stored(15, 150))
    assert fold(found, reading(30, 10), reading(15 + 2 * HOUR, 10)) == [False, False]
    fold(found, reading(8000, 10), reading(8015, 10))
    assert found.totals == {READ: 300}
    assert found.running_totals == set()
    assert found.gaps == [(15, 8000)]


@pytest.mark.parametrize("minutes", [20, 60, 120])
def test_a_binary_log_with_a_sample_an_hour_is_whole_beside_a_text_log(minutes: int) -> None:
    found = instance()
    for at in range(0, 36_001, 60):
        if at % (minutes * 60) == 0:
            fold(found, stored(at, 10 * at))
        fold(found, reading(at + 1, 10))
    assert found.totals == {READ: 360_000}
    assert found.gaps == []


def test_the_growth_over_a_long_silence_of_a_running_total_is_kept() -> None:
    found = instance()
    fold(found, reading(0, 1000, "total", SCAN), reading(86400, 5000, "total", SCAN))
    assert found.totals == {SCAN: 4000}


def test_a_gap_of_several_columns_is_counted_once() -> None:
    found = instance()
    for at in (0, 15, 30, 30 + 1000, 30 + 1015):
        fold(found, reading(at, 10), reading(at, 10, metric="ese_log_io_total", counter="d"))
    assert found.gap_seconds == 1000
    assert found.totals == {READ: 45 * 10, "ese_log_io_total": 45 * 10}


def test_the_gaps_are_kept_with_their_place() -> None:
    found = instance()
    fold(found, *(reading(at, 10) for at in (0, 15, 1015, 1030, 9000)))
    assert found.gaps == [(15, 1015), (1030, 9000)]


def test_gaps_that_touch_are_one() -> None:
    found = instance()
    fold(found, *(reading(at, 10) for at in (0, 15, 30, 1030)))
    fold(found, *(reading(at, 10, counter="d") for at in (0, 15, 30, 2000, 2015)))
    assert found.gaps == [(30, 2000)]
    assert found.gap_seconds == 1970


def test_of_more_gaps_than_are_kept_the_oldest_become_one() -> None:
    found = instance()
    for number in range(KEPT_GAPS + 10):
        fold(found, *(reading(number * 100_000 + 15 * index, 1) for index in range(10)))
    last = KEPT_GAPS + 9
    assert len(found.gaps) == KEPT_GAPS
    assert found.gaps[0] == (135, 10 * 100_000)
    assert found.gaps[1] == (10 * 100_000 + 135, 11 * 100_000)
    assert found.gaps[-1] == ((last - 1) * 100_000 + 135, last * 100_000)
    assert found.gap_seconds == last * (100_000 - 135)


def test_many_pauses_by_day_leave_the_nights_between_them_sampled() -> None:
    found = instance()
    for minute in range(0, 60 * 24 * 60, 5):
        hour = minute // 60 % 24
        if hour < 8 or minute % 60 >= 20:
            fold(found, reading(60 * minute, 1))

    assert len(found.gaps) == KEPT_GAPS
    nights = [(day * DAY, day * DAY + 8 * HOUR) for day in range(30, 60)]
    assert not [a for a, b in nights for low, high in found.gaps if low < b - 300 and a < high]


@pytest.mark.parametrize("seed", range(3))
def test_no_time_without_samples_is_forgotten(seed: int) -> None:
    chance = Random(seed)
    found, at, gaps = instance(), 0, set()
    for _ in range(3 * KEPT_GAPS):
        for _ in range(chance.randint(5, 40)):
            at += 60
            fold(found, reading(at, 1))
            gaps.update(found.gaps[-1:])
        at += 60 * chance.randint(15, 900)

    assert len(gaps) > len(found.gaps) == KEPT_GAPS
    assert found.gaps == sorted(found.gaps)
    assert all(any(low <= a and b <= high for low, high in found.gaps) for a, b in gaps)


def test_gaps_after_an_impossible_time_are_not_lost_among_many() -> None:
    found, gaps = instance(), set()
    later = [day * DAY + at for day in range(1, KEPT_GAPS + 10) for at in range(0, 600, 15)]
    for at in (0, 15, 1e9, 1e9 + 15, 1e9 + DAY, *later):
        item = reading(at, 10)
        assert item.feed
        fold_reading(found, item, item.feed, until=5e8)
        gaps.update(found.gaps[-1:])

    assert len(found.gaps) == KEPT_GAPS
    assert all(any(low <= a and b <= high for low, high in found.gaps) for a, b in gaps)


def test_a_computer_and_a_device_keep_their_gaps_too() -> None:
    for found in (Host(computer="ex01"), Device(computer="ex01", device="sda")):
        for at in (0, 15, 1015):
            item = reading(at, 10)
            assert item.feed
            fold_reading(found, item, item.feed)
        assert found.gaps == [(15, 1015)]


def test_an_instance_is_sampled_since_both_counters_of_the_ratio_are() -> None:
    found = instance()
    fold(found, reading(10, 0, metric="ese_log_generations_total", counter="d"))
    fold(found, reading(100, 0), reading(115, 9), reading(130, 9))
    assert found.sampled_since is None
    fold(found, reading(130, 0, metric=FREED, counter="freed"), reading(145, 9))
    assert found.sampled_since == 130
    fold(found, reading(120, 0, "total", counter="late"))
    assert found.sampled_since == 120


def test_the_days_of_an_older_journal_begin_where_it_ends() -> None:
    found = instance()
    column = "msexchange database ==> instances|c|information store/sg06"
    found.counters = {column: CounterState(1000.0, 0.0, [15.0])}
    found.totals = {READ: 500.0, FREED: 5.0}
    fold(found, reading(1015, 0), reading(1030, 10), reading(1045, 10))
    assert found.sampled_since == 1015
    assert sum(found.unpaired[0]) == 300


def test_an_interval_counts_on_the_day_of_its_end() -> None:
    found = instance()
    noon = rollups.day_start(100)
    for number, at in enumerate((noon - 20, noon - 5, noon + 10)):
        fold(found, reading(at, 10 * (number > 0), metric=LOGGED, counter=LOGGED))
    assert [(day.day, day.log_bytes) for day in paired_days(found)] == [(99, 150), (100, 150)]


def test_a_day_without_growth_has_no_row() -> None:
    found = instance()
    fold(found, *(reading(900.0 * index, 0) for index in range(300)))
    assert paired_days(found) == []
    assert found.totals == {READ: 0.0}


def test_the_growth_of_other_series_is_in_no_day() -> None:
    found = instance()
    fold(found, *(reading(15 * index, 9, metric="ese_log_io_total") for index in range(9)))
    assert found.days == b""


@pytest.mark.parametrize(
    ("generations", "growth"),
    [
        ((0, 123_457, 123_460), 3),  # 0 is shown until the logs are open
        ((123_457, 0, 123_460), 3),
        ((123_457, 1, 3), 2),  # the logs were deleted
        ((2**32 - 5, 4), 0),
        ((7, 7, 9), 2),
    ],
)
def test_a_log_generation_is_a_position_and_no_count(
    generations: tuple[int, ...], growth: int
) -> None:
    feed = feed_of("Database ==> Instances", "lsass/NTDSA", "Log File Current Generation")
    assert feed
    found = instance()
    for number, value in enumerate(generations):
        item = reading(1000 + 15.0 * number, float(value), "total", feed.metric)
        fold_reading(found, item, feed)
    assert found.totals == {feed.metric: growth}
    assert sum(day.log_generations for day in paired_days(found)) == growth


def test_a_position_of_an_older_journal_that_was_none_is_no_growth() -> None:
    feed = feed_of("Database ==> Instances", "lsass/NTDSA", "Log File Current Generation")
    assert feed
    found = instance()
    column = "msexchange database ==> instances|c|information store/sg06"
    found.counters, found.totals = {column: CounterState(1000.0, 0.0)}, {feed.metric: 5.0}
    fold_reading(found, reading(1015.0, 123_457.0, "total", feed.metric), feed)
    assert found.totals == {feed.metric: 5.0}


def test_every_series_of_an_instance_has_its_field() -> None:
    found = instance()
    for number, metric in enumerate(rollups.FIELDS, 1):
        for at in (0, 15):
            fold(found, reading(at, float(number), metric=metric, counter=metric))
    assert paired_days(found) == [rollups.Day(0, 15, 30, 45, 60, 75)]
    assert set(rollups.FIELDS.values()) == set(get_args(rollups.Field))


SAMPLES = st.tuples(
    st.sampled_from(sorted(rollups.FIELDS)),
    st.sampled_from(["rate", "total"]),
    st.sampled_from([15.0, 60.0, 900.0, 3000.0, 40_000.0, 86_400.0 * 3]),
    st.integers(0, 2**32 - 1) | st.sampled_from([0, 5, 2**32 - 5]),
    st.booleans(),
)


@given(st.lists(SAMPLES, max_size=120))
def test_the_days_sum_up_to_the_totals(
    samples: list[tuple[str, Kind, float, int, bool]],
) -> None:
    found = instance()
    now = 1_182_000_000.0
    for metric, kind, step, value, late in samples:
        now += step
        at = now - 100_000.0 if late else now
        fold(found, reading(at, float(value), kind, metric, f"{metric} {kind}"))
    days = paired_days(found)
    for metric, field in rollups.FIELDS.items():
        if metric in rollups.RATIO:
            continue  # tests/fold/test_pairing.py
        by_day = fsum(getattr(day, field) for day in days)
        assert by_day == pytest.approx(found.totals.get(metric, 0.0), rel=1e-6)


def latency(time: float, seconds: float) -> Reading:
    return Reading(
        time=time,
        computer="EX01",
        object="MSExchangeIS",
        counter="RPC Averaged Latency",
        instance="",
        value=seconds * 1000,
        kind="level",
        feed=Feed(metric=rollups.LATENCY, owner="computer", scale=1e-3),
    )


def test_the_latency_of_requests_is_kept_by_hour() -> None:
    found = Host(computer="ex01")
    for item in (latency(7200, 0.25), latency(7260, 0.5), latency(7260, 9.0), latency(10800, 0.5)):
        assert item.feed
        fold_reading(found, item, item.feed)
    assert list(rollups.hours(found.rpc_latency)) == [
        rollups.Hour(2, 0.75, 2),
        rollups.Hour(3, 0.5, 1),
    ]


def test_log_generations_are_those_of_a_day() -> None:
    found = instance()
    for at, value in ((1000, 0), (1015, 2), (1030, 5)):
        fold(found, reading(at, value, metric="ese_log_generations_total", counter="d"))
    # 15 s at 2 a second, 15 s at 5.
    assert [day.log_generations for day in paired_days(found)] == [105.0]


def count(time: float, value: float) -> Reading:
    """A running count behind a rate, as an exporter has it."""
    return reading(time, value, "total")


def test_a_rate_beside_a_running_count_of_the_same_counter_is_not_taken_for_one() -> None:
    found = instance()
    for at in range(0, 105, 15):
        fold(found, count(at, 10_000_000 + 2 * at), reading(at + 7, 2))
    assert found.totals == {READ: 2 * 90}


def test_one_stray_rate_between_running_counts_adds_nothing() -> None:
    found = instance()
    fold(found, count(0, 5_000_000), count(15, 5_000_030), reading(20, 2), count(30, 5_000_060))
    assert found.totals == {READ: 60}


def test_rates_go_on_where_the_running_count_ends_and_the_hole_is_a_gap() -> None:
    found = instance()
    fold(found, reading(-15, 2), count(0, 5_000_000), count(15, 5_000_030))
    later = range(22, 9000, 15)
    fold(found, *(reading(at, 2) for at in later))
    first, last = next(at for at in later if at > 15 + 2 * HOUR), later[-1]
    assert found.totals == {READ: 30 + 2 * (last - first)}
    assert found.gaps == [(15, first)]


@pytest.mark.parametrize("kind", ["rate", "total"])
@pytest.mark.parametrize("value", [-1.0, -0.5, 1e300, 2.0**65])
def test_a_value_that_no_counter_can_have_is_no_sample(kind: Kind, value: float) -> None:
    found = instance()
    assert fold(found, reading(0, 5, kind), reading(15, value, kind)) == [True, False]
    fold(found, reading(30, 8, kind))
    assert found.totals.get(READ, 3) in {3, 8 * 30}


def test_an_owner_has_a_bounded_number_of_columns() -> None:
    found = instance()
    for number in range(KEPT_COLUMNS + 10):
        fold(found, reading(0, 5, counter=f"c{number}"))
    assert len(found.counters) == KEPT_COLUMNS


def test_a_level_after_a_silence_is_as_fresh_as_one_before_it() -> None:
    found = instance()
    for at in range(0, 150, 15):
        fold(found, level(at, 3))
    fold(found, level(3 * DAY, 90))
    assert current(found.levels[DEPTH], 3 * DAY + 800) == 90
    assert current(found.levels[DEPTH], 3 * DAY + HOUR) is None


def test_samples_that_become_rare_are_learnt_with_the_second() -> None:
    found = instance()
    for at in (0, 15, 30, 30 + HOUR, 30 + 2 * HOUR):
        fold(found, level(at, 3))
    assert current(found.levels[DEPTH], 30 + 4 * HOUR) == 3


def test_rates_read_late_are_no_clock_set_back_for_the_count_of_the_same_counter() -> None:
    found = instance()
    fold(found, reading(0, 2), count(1, 5_000_000), count(16, 5_000_030))
    fold(found, count(3616, 5_007_230), *(reading(at, 2) for at in range(15, 3600, 15)))
    fold(found, count(3631, 5_007_260))
    assert found.totals == {READ: 7260}


def test_a_count_read_late_adds_nothing_to_rates() -> None:
    found = instance()
    fold(found, reading(0, 2), reading(15, 2), reading(3615, 2), count(1800, 5_000_000))
    assert found.totals == {READ: 30}
    fold(found, count(1815, 5_000_030), count(1830, 5_000_060))
    assert found.totals == {READ: 60}


@pytest.mark.parametrize("minutes", [20, 60])
def test_counts_that_are_read_seldom_are_whole_beside_rates(minutes: int) -> None:
    found = instance()
    for at in range(0, 36_001, 60):
        if at % (minutes * 60) == 0:
            fold(found, count(at, 1_000_000 + 2 * at))
        fold(found, reading(at + 1, 2))
    assert found.totals == {READ: 72_000}
    assert found.gaps == []


def test_a_journal_of_an_earlier_version_has_counts_without_a_mark() -> None:
    found = instance()
    fold(found, count(0, 5_000_000))
    for column in found.counters.values():
        column.is_count = None
    fold(found, count(3600, 5_000_900))
    assert found.totals == {READ: 900}


def test_the_second_sample_of_a_level_after_weeks_is_not_current_for_months() -> None:
    found = instance()
    fold(found, level(0, 3), level(30 * DAY, 3))
    assert current(found.levels[DEPTH], 30 * DAY + 3 * HOUR) == 3
    assert current(found.levels[DEPTH], 31 * DAY) is None


def test_one_rate_is_not_taken_for_a_count_where_another_column_has_counts() -> None:
    found = instance()
    fold(found, reading(0, 100, "total", counter="other"), reading(15, 2), count(30, 5_000_000))
    assert found.totals == {READ: 0}


def test_a_count_of_a_clock_far_ahead_does_not_end_the_rates() -> None:
    found = instance()
    feed = Feed(metric=READ, name="SG06")
    fold_reading(found, count(400 * DAY, 5_000_000), feed)
    taken = [fold_reading(found, reading(at, 2), feed, until=DAY) for at in range(0, 60, 15)]
    assert taken[0]
    fold_reading(found, count(90, 5_000_100), feed, until=DAY)
    assert found.totals == {READ: 0}
