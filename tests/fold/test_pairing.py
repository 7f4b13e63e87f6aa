"""Pages read and freed: in the sums is only what both counters saw."""

from collections.abc import Iterable
from itertools import chain

import pytest

from esewatch.fold.readings import MAX_HOURS, fold_reading, paired_days, sampled_alone
from esewatch.fold.state.rollups import PAGES_FREED, PAGES_READ
from esewatch.fold.state.state import Instance
from esewatch.model import Feed, Kind, Reading
from tests.support.records import DAY, HOUR

FEEDS = {metric: Feed(metric=metric, name="SG06") for metric in (PAGES_READ, PAGES_FREED)}
STEP = 900.0


def sampled(metric: str, time: float, kind: Kind = "rate", per_second: float = 0.0) -> Reading:
    rate = per_second or (95.0 if metric == PAGES_READ else 1.0)
    value = rate if kind == "rate" else rate * time
    return Reading(
        time=time,
        computer="EX01",
        object="MSExchange Database ==> Instances",
        counter=f"Online Defrag Pages {metric.split('_')[3]}",
        instance="Information Store/SG06",
        value=value,
        kind=kind,
        feed=FEEDS[metric],
    )


def column(
    metric: str, without: Iterable[tuple[float, float]] = (), kind: Kind = "rate"
) -> list[Reading]:
    """Ten days of samples, but those in the gaps `without`."""
    times = [number * STEP for number in range(int(10 * DAY / STEP) + 1)]
    gaps = list(without)
    kept = [time for time in times if not any(low < time <= high for low, high in gaps)]
    return [sampled(metric, time, kind) for time in kept]


def sums(readings: Iterable[Reading]) -> tuple[Instance, float, float]:
    instance = Instance(computer="ex01", ese_instance="SG06")
    for each in readings:
        assert each.feed is not None
        fold_reading(instance, each, each.feed)
    days = paired_days(instance)
    return instance, sum(day.pages_read for day in days), sum(day.pages_freed for day in days)


def by_rows(*columns: list[Reading]) -> list[Reading]:
    return sorted((each for column in columns for each in column), key=lambda each: each.time)


ALL = 10 * DAY
GAPS = {
    "two days": [(3 * DAY, 5 * DAY)],
    "from the middle of a night on": [(3 * DAY + 2 * HOUR + 1, 4 * DAY)],
    "at the end": [(8 * DAY, 11 * DAY)],
    "often": [(day * DAY + HOUR, day * DAY + 3 * HOUR) for day in range(10)],
}


@pytest.mark.parametrize("kind", ["rate", "total"])
@pytest.mark.parametrize("missing", [PAGES_READ, PAGES_FREED])
@pytest.mark.parametrize("gaps", GAPS.values(), ids=GAPS)
@pytest.mark.parametrize("together", [True, False], ids=["one file", "a file each"])
def test_what_one_counter_alone_saw_is_in_no_sum(
    kind: Kind, missing: str, gaps: list[tuple[float, float]], *, together: bool
) -> None:
    columns = [
        column(metric, gaps if metric == missing else (), kind)
        for metric in (PAGES_READ, PAGES_FREED)
    ]
    instance, read, freed = sums(by_rows(*columns) if together else chain(*columns))
    assert read / freed == pytest.approx(95.0, rel=0.001)
    lost = sum(min(high, ALL) - low for low, high in gaps)
    assert ALL - lost - (2 * len(gaps) + 1) * HOUR <= freed <= ALL - lost + len(gaps)
    assert len(instance.unpaired) < 80
    alone = sum(high - low for low, high in sampled_alone(instance) if high < 20 * DAY)
    assert abs(alone - lost) <= 10 * HOUR or max(high for _, high in gaps) > ALL


def test_both_missing_at_once_leave_the_rest() -> None:
    gap = [(3 * DAY, 5 * DAY)]
    instance, read, freed = sums(by_rows(column(PAGES_READ, gap), column(PAGES_FREED, gap)))
    assert (read, freed) == (95.0 * (8 * DAY - STEP), 8 * DAY - STEP)
    assert sampled_alone(instance) == []


def test_a_counter_without_the_other_is_in_no_sum_and_takes_bounded_room() -> None:
    count = 2 * MAX_HOURS
    alone = [sampled(PAGES_READ, number * STEP) for number in range(4 * count)]
    instance, read, freed = sums(alone)
    assert (read, freed) == (0.0, 0.0)
    assert len(instance.unpaired) <= MAX_HOURS + 1
    assert sampled_alone(instance) != []
    # The other one comes later: what was dropped of the first is in neither sum.
    late = [sampled(PAGES_FREED, number * STEP) for number in range(4 * count)]
    _, read, freed = sums([*alone, *late])
    assert read / freed == pytest.approx(95.0)


def test_a_count_that_is_missed_for_less_than_two_hours_is_bridged() -> None:
    gap = [(3 * DAY, 3 * DAY + 1.5 * HOUR)]
    rows = by_rows(column(PAGES_READ, (), "total"), column(PAGES_FREED, gap, "total"))
    instance, read, freed = sums(rows)
    assert (read, freed) == (95.0 * ALL, ALL)
    assert sampled_alone(instance) == []
