import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.fold.readings import RANGE, fold_reading, grown
from esewatch.fold.state import Instance
from esewatch.model import Feed, Kind, Reading

READ = "ese_defrag_pages_read_total"
SCAN = "ese_maintenance_pages_read_total"


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
