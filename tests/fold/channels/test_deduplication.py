import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.fold.channels import deduplication
from esewatch.fold.channels.deduplication import (
    MAX_GAPS,
    MAX_INTERVALS,
    STEP,
    add,
    admit,
    claim_gaps,
    contains,
    cover,
)
from esewatch.fold.channels.hearing import MAX_HEARD
from esewatch.fold.passes.transitions import count
from esewatch.fold.state.state import Channel
from esewatch.model import Batch, Coverage, Record
from tests.support.records import DAY, EPOCH, HOUR, event, folder_of, the_database


def channel() -> Channel:
    return Channel(computer="ex01", channel="application")


def covered(first: int, last: int, start: float = 0.0) -> Coverage:
    return Coverage(
        computer="EX01",
        channel="Application",
        first=first,
        last=last,
        first_time=start + first,
        last_time=start + last,
    )


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 20)), max_size=40))
def test_intervals_hold_what_was_added_and_nothing_else(ranges: list[tuple[int, int]]) -> None:
    intervals: list[tuple[int, int]] = []
    expected: set[int] = set()
    for first, length in ranges:
        add(intervals, first, first + length)
        expected |= set(range(first, first + length + 1))
    assert {number for number in range(230) if contains(intervals, number)} == expected
    assert all(a[1] + 1 < b[0] for a, b in pairwise(intervals))


def test_a_record_is_admitted_once() -> None:
    found = channel()
    assert [admit(found, 5, 5.0), admit(found, 5, 5.0), admit(found, 4, 4.0)] == [True, False, True]


@given(st.randoms(use_true_random=False))
def test_order_of_arrival_makes_no_difference_within_one_life(rng: random.Random) -> None:
    records = [(number, float(number)) for number in range(1, 30)] * 2
    found = channel()
    admitted = [admit(found, *record) for record in rng.sample(records, len(records))]
    assert sum(admitted) == 29
    assert len(found.epochs) == 1


@given(st.lists(st.floats(0, 200 * HOUR), max_size=300), st.randoms(use_true_random=False))
def test_the_last_record_of_each_hour_is_kept_in_any_order(
    times: list[float], rng: random.Random
) -> None:
    found = channel()
    for number, time in rng.sample(list(enumerate(times)), len(times)):
        admit(found, number, time)
    hours = {time // HOUR: time for time in sorted(times)}
    assert found.heard == [hours[hour] for hour in sorted(hours)][-MAX_HEARD:]


def test_of_a_range_the_ends_are_heard_and_all_of_it_where_records_are_dense() -> None:
    def heard(last: int, hours: float) -> list[float]:
        found = channel()
        cover(
            found,
            Coverage(
                computer="EX01",
                channel="Application",
                first=1,
                last=last,
                first_time=0.0,
                last_time=hours * HOUR,
            ),
        )
        return found.heard

    assert heard(600, 60) == [0.0, 60 * HOUR]
    assert heard(600, 10) == [0.0, 10 * HOUR]
    assert heard(601, 10) == [hours * HOUR for hours in range(11)]
    assert len(heard(10**9, 10_000)) == MAX_HEARD
    for damaged in (math.nan, math.inf, -math.inf, 1e300):
        assert heard(10**9, damaged) == [0.0]


def test_a_cleared_log_starts_a_new_life_and_is_no_gap() -> None:
    found = channel()
    cover(found, covered(1, 500))
    assert admit(found, 1, 10_000.0)
    assert admit(found, 2, 10_001.0)
    cover(found, covered(1, 60, start=10_000))
    assert not admit(found, 60, 10_060.0)
    assert not admit(found, 400, 400.0)
    assert claim_gaps(found) == 0


def test_an_archive_of_an_older_life_read_later_loses_nothing() -> None:
    found = channel()
    cover(found, covered(1, 50, start=10_000))
    assert all(admit(found, number, float(number)) for number in range(1, 501))
    assert not admit(found, 30, 10_030.0)


def test_a_gap_is_claimed_once_and_only_when_nothing_more_comes() -> None:
    found = channel()
    cover(found, covered(1, 100))
    cover(found, covered(151, 200))
    assert claim_gaps(found) == 50
    assert claim_gaps(found) == 0
    assert found.gaps == [(100.0, 151.0, 50)]


def test_a_file_that_fills_the_hole_before_the_end_leaves_no_gap() -> None:
    found = channel()
    cover(found, covered(151, 200))
    cover(found, covered(1, 100))
    cover(found, covered(101, 150))
    assert claim_gaps(found) == 0


def test_many_sparse_ids_stay_bounded_and_the_oldest_are_forgotten() -> None:
    found = channel()
    for number in range(0, 4 * MAX_INTERVALS, 2):
        assert admit(found, number, float(number))
    assert len(found.epochs[0].seen) == MAX_INTERVALS
    assert found.forgotten == MAX_INTERVALS
    assert not admit(found, 4 * MAX_INTERVALS - 2, 4.0 * MAX_INTERVALS - 2)


def test_beyond_the_limit_a_whole_step_is_merged_or_forgotten_at_once() -> None:
    found = channel()
    numbers = [number for number in range(4 * MAX_INTERVALS) if number % 8 in (0, 1, 4)]
    for number in numbers[: MAX_INTERVALS + 1]:
        assert admit(found, number, float(number))
    seen = found.epochs[0].seen
    merged = sum(each.first < each.last for each in seen)
    assert len(seen) == MAX_INTERVALS + 1 - STEP
    assert merged + found.forgotten >= STEP
    assert not admit(found, numbers[MAX_INTERVALS], float(numbers[MAX_INTERVALS]))


def test_of_many_sparse_ids_in_any_order_no_record_is_taken_for_known() -> None:
    found = channel()
    numbers = list(range(0, 8 * MAX_INTERVALS, 3))
    random.Random(19).shuffle(numbers)
    assert all(admit(found, number, 60.0 * number) for number in numbers)


def test_the_fold_counts_each_record_once_and_reports_missing_ones() -> None:
    folder = folder_of([event(700, 0, 7), covered(1, 10, EPOCH)], caught_up=False)
    again: list[Record] = [event(700, 0, 7), covered(1, 10, EPOCH)]
    again += [covered(21, 30, EPOCH), event(701, HOUR, 25)]
    folder.fold("logs", Batch(records=again, caught_up=True))
    source = folder.state.sources["logs"]
    assert folder.state.hosts["ex01"].events == {"ESE": {700: 1, 701: 1}}
    assert (source.duplicates, source.missed) == (1, 10)


def test_records_without_an_id_are_left_to_the_position() -> None:
    folder = folder_of([event(704, DAY), event(704, DAY)])
    assert folder.state.hosts["ex01"].events == {"ESE": {704: 2}}
    assert count(the_database(folder).transitions) == 2


@pytest.mark.parametrize("seed", range(6))
def test_a_record_behind_all_others_is_admitted_as_any_other(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short way of the usual record leaves the same channel as the careful one."""
    rng = random.Random(seed)
    records, number, time = list[tuple[int, float, int]](), 0, 0.0
    for _ in range(200):
        number += rng.choice([*[1, 2, 5] * 20, 0, -number])
        time += rng.choice([*[0.0, 60.0, 3600.0] * 9, -59.0, -60.0, -61.0, -7201.0])
        records.append((number, time, rng.choice([0, 0, 9])))
    quick, careful = channel(), channel()
    for each in (quick, careful):
        for number, time, read_whole in records:
            admit(each, number, time)
            if read_whole:
                cover(each, covered(max(0, number - read_whole), number, time))
        monkeypatch.setattr(deduplication, "_continued", lambda *_: None)
    assert quick == careful


def test_of_too_many_gaps_the_longest_are_kept() -> None:
    log = channel()
    starts = [0.0, *(5 * DAY + number * HOUR for number in range(2 * MAX_GAPS))]
    for number, start in enumerate(starts):
        cover(log, covered(10 * number, 10 * number + 3, start))
    claim_gaps(log)
    assert len(log.gaps) == MAX_GAPS
    assert max(end - begin for begin, end, _ in log.gaps) > 4 * DAY
