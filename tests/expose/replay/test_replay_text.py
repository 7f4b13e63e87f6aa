"""The files are strict OpenMetrics, and hold a sample at each step and at each change."""

import math
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_fd_to_metric_families

from esewatch.expose.metrics.metric_catalogue import CATALOGUE
from esewatch.expose.replay.replay_files import (
    Grid,
    Placed,
    family_of,
    month_text,
    number,
    timestamp,
)
from esewatch.expose.replay.series_changes import GONE, Series

LABELS = '{computer="ex01",database="e:\\\\a.edb"}'
STARTED = Series("ese_passes_started_total", 'ese_passes_started_total{task="defrag"}')
SIZE = Series("ese_database_size_bytes", f"ese_database_size_bytes{LABELS}")
FREE = Series("ese_database_free_bytes", f"ese_database_free_bytes{LABELS}")
ALL = [STARTED, SIZE, FREE]


def placed(series: int, time: int, value: float) -> Placed:
    return (family_of(ALL[series]), series, time, value)


def text_of(changes: list[Placed], carried: dict[int, float], grid: Grid) -> str:
    return "".join(month_text(ALL, sorted(changes, key=lambda it: it[:3]), carried, grid))


def samples(text: str) -> dict[str, list[tuple[float, float]]]:
    """Strictly parsed: name -> (time, value)."""
    found: dict[str, list[tuple[float, float]]] = {}
    for family in text_fd_to_metric_families(StringIO(text)):  # type: ignore[no-untyped-call]
        for sample in family.samples:
            assert sample.timestamp is not None
            found.setdefault(sample.name, []).append(
                (round(float(sample.timestamp), 3), sample.value)
            )
    return found


def test_a_value_is_repeated_at_each_step_until_it_changes() -> None:
    text = text_of([placed(1, 250, 1.0), placed(1, 1500, 2.5)], {}, Grid(250, 3000, 1000))

    assert text == (
        f"# HELP ese_database_size_bytes {CATALOGUE['ese_database_size_bytes'].help}\n"
        "# TYPE ese_database_size_bytes gauge\n"
        "# UNIT ese_database_size_bytes bytes\n"
        f"{SIZE.text} 1 0.250\n"
        f"{SIZE.text} 1 1\n"
        f"{SIZE.text} 2.5 1.500\n"
        f"{SIZE.text} 2.5 2\n"
        f"{SIZE.text} 2.5 3\n"
        "# EOF\n"
    )


def test_a_change_at_a_step_is_one_sample() -> None:
    found = samples(text_of([placed(1, 0, 1.0), placed(1, 2000, 3.0)], {}, Grid(0, 2999, 1000)))

    assert found == {"ese_database_size_bytes": [(0, 1), (1, 1), (2, 3)]}


def test_a_series_that_ends_has_no_more_samples_and_may_begin_again() -> None:
    changes = [placed(1, 0, 1.0), placed(1, 1500, GONE), placed(1, 3500, 7.0)]

    assert samples(text_of(changes, {}, Grid(0, 4000, 1000))) == {
        "ese_database_size_bytes": [(0, 1), (1, 1), (3.5, 7), (4, 7)]
    }


def test_a_month_begins_with_the_values_of_the_one_before_and_leaves_its_own() -> None:
    carried = {0: 5.0, 1: 6.0}
    text = text_of([placed(1, 1000, GONE), placed(2, 1500, 9.0)], carried, Grid(0, 2000, 1000))

    assert samples(text) == {
        "ese_passes_started_total": [(0, 5), (1, 5), (2, 5)],
        "ese_database_size_bytes": [(0, 6)],
        "ese_database_free_bytes": [(1.5, 9), (2, 9)],
    }
    assert carried == {0: 5.0, 2: 9.0}


def test_two_entities_with_the_same_labels_make_one_sample_for_one_time() -> None:
    text = text_of([placed(1, 500, 1.0), placed(1, 500, 2.0)], {}, Grid(0, 1000, 1000))

    assert samples(text) == {"ese_database_size_bytes": [(0.5, 1), (1, 1)]}


def test_a_file_without_samples_is_still_a_file() -> None:
    assert text_of([], {}, Grid(0, 1000, 1000)) == "# EOF\n"


@given(
    changes=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.integers(0, 20_000),
            st.one_of(st.just(GONE), st.floats(0, allow_infinity=False), st.integers(0)),
        ),
        unique_by=lambda it: it[:2],
    ),
    carried=st.dictionaries(st.integers(0, 2), st.floats(0, 1e9)),
    step=st.sampled_from([1000, 3000, 7000]),
)
def test_at_each_step_stands_the_latest_change(
    changes: list[tuple[int, int, float]], carried: dict[int, float], step: int
) -> None:
    grid = Grid(0, 20_000, step)
    before = dict(carried)
    text = text_of([placed(*change[:2], float(change[2])) for change in changes], carried, grid)
    found = samples(text)

    for series, one in enumerate(ALL):
        own = sorted((time, float(value)) for index, time, value in changes if index == series)
        expected = {}
        for time in range(0, 20_001, step):
            past = [value for when, value in own if when <= time]
            expected[time] = past[-1] if past else before.get(series, math.nan)
        expected |= dict(own)
        kept = [(time / 1000, value) for time, value in sorted(expected.items())]
        assert found.get(one.name, []) == [(t, v) for t, v in kept if not math.isnan(v)]


@given(st.integers(0, 253_370_764_800_000))
def test_prometheus_reads_the_millisecond_that_was_written(time: int) -> None:
    text = timestamp(time)

    assert int(float(text) * 1000) == time
    assert abs(float(text) - time / 1000) < 0.000_1


def test_a_millisecond_that_binary_fractions_lose_is_written_longer() -> None:
    # int(1093000000.003 * 1000) is ...002 for some times of 2004.
    lost = next(t for t in range(1_090_000_000_001, 1_090_000_001_000) if _cut(t) != t)

    assert timestamp(lost) == f"{lost / 1000:.3f}0005"


def _cut(time: int) -> int:
    return int(float(f"{time / 1000:.3f}") * 1000)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_value_is_read_back_as_it_was(value: float) -> None:
    assert float(number(value)) == value


def test_a_policy_that_is_a_whole_number_is_a_value_like_any_other() -> None:
    assert number(1_048_576_000) == "1048576000"
    assert number(0.5) == "0.5"
