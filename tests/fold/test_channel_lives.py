"""Every record counts once: logs of several lives, cut into files that come in any order."""

import random
from itertools import pairwise

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from esewatch.fold.channels.deduplication import (
    EXACT_INTERVALS,
    MAX_EPOCHS,
    MAX_INTERVALS,
    STEP,
    admit,
    claim_gaps,
    cover,
)
from esewatch.fold.state.state import Channel
from esewatch.model import Coverage
from tests.support.records import DAY, EPOCH, HOUR

Found = tuple[int, float]
"""Record id, time."""
MINUTE = 60.0
SEEDS = st.integers(0, 1 << 32)


def channel() -> Channel:
    return Channel(computer="ex01", channel="application")


def read(found: Channel, records: list[Found]) -> list[bool]:
    return [admit(found, *record) for record in records]


def read_whole(found: Channel, records: list[Found]) -> int:
    """A piece of a log with all its records; how many were admitted."""
    admitted = sum(read(found, records))
    (first, first_time), (last, last_time) = records[0], records[-1]
    cover(
        found,
        Coverage(
            computer="EX01",
            channel="Application",
            first=first,
            last=last,
            first_time=first_time,
            last_time=last_time,
        ),
    )
    return admitted


def life(count: int, start: float = EPOCH, seconds: float = MINUTE, first: int = 1) -> list[Found]:
    """All records of a log from one clearing to the next."""
    return [(first + number, start + number * seconds) for number in range(count)]


def bounded(found: Channel) -> bool:
    lists = [ranges for epoch in found.epochs for ranges in (epoch.seen, epoch.covered)]
    return len(found.epochs) <= MAX_EPOCHS and all(
        len(ranges) <= MAX_INTERVALS
        and all(a.first <= a.last < b.first for a, b in pairwise(ranges))
        for ranges in lists
    )


def lives(rng: random.Random, *, dense: bool) -> list[list[Found]]:
    """Up to five lives of one log: times jitter, a clock is set back, pauses are long or short."""
    made: list[list[Found]] = []
    time = EPOCH
    for _ in range(rng.randint(1, 5)):
        number, jitter = 0, rng.choice([0.0, 2.0, 90.0])
        step = rng.choice([1.0, 60.0, 3600.0])
        back = rng.choice([None, rng.randrange(200)])
        records: list[Found] = []
        for place in range(rng.randint(1, 200)):
            number += 1 if dense else rng.randint(1, 40)
            time += rng.uniform(2.0, 3.0) * step
            time -= HOUR if place == back else 0.0
            records.append((number, time + rng.uniform(-jitter, jitter)))
        # Nobody tells two records of one number and one second apart.
        known = {
            number: [at for life in made for n, at in life if n == number] for number, _ in records
        }
        records = [(n, at) for n, at in records if all(abs(at - other) > 1.5 for other in known[n])]
        made.append(records)
        # The clearing comes behind what was logged, whatever the clock said before.
        time = max(at for _, at in records) + rng.choice([2.0, HOUR, 30 * DAY]) + 2 * jitter
    return made


def pieces(rng: random.Random, made: list[list[Found]]) -> list[list[Found]]:
    """Files: each life cut into runs, which overlap now and then, some of them twice."""
    found: list[list[Found]] = []
    for records in made:
        at = 0
        while at < len(records):
            end = at + rng.randint(1, 60)
            found.append(records[max(0, at - rng.choice([0, 0, 5])) : end])
            at = end
    return found + rng.sample(found, len(found) // 2)


@given(SEEDS, st.booleans())
def test_each_record_is_admitted_once_in_any_order_of_files(seed: int, dense: bool) -> None:
    rng = random.Random(seed)
    made = lives(rng, dense=dense)
    files = pieces(rng, made)
    rng.shuffle(files)
    found = channel()

    admitted = sum(sum(read(found, file)) for file in files)

    assert admitted == sum(map(len, made))
    assert not any(admit(found, *record) for file in files for record in file)
    assert bounded(found)


@given(SEEDS)
def test_each_record_of_a_complete_log_is_admitted_once_and_none_is_missing(seed: int) -> None:
    rng = random.Random(seed)
    made = lives(rng, dense=True)
    files = pieces(rng, made)
    rng.shuffle(files)
    found = channel()

    admitted = sum(read_whole(found, file) for file in files)

    assert admitted == sum(map(len, made))
    assert claim_gaps(found) == 0
    assert not any(admit(found, *record) for file in files for record in file)
    assert bounded(found)


@pytest.mark.slow
@given(SEEDS)
def test_each_record_is_admitted_once_when_records_come_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    made = lives(rng, dense=False)
    records = [record for each in made for record in each]
    found = channel()

    assert all(read(found, rng.sample(records, len(records))))
    assert not any(read(found, rng.sample(records, len(records))))
    assert bounded(found)


def test_the_same_number_at_another_time_is_another_record() -> None:
    found = channel()
    assert read(found, [(5, EPOCH), (5, EPOCH + 90), (5, EPOCH), (5, EPOCH + 90)]) == [
        True,
        True,
        False,
        False,
    ]


def test_whole_seconds_of_an_export_are_the_time_of_the_record() -> None:
    found = channel()
    assert read(found, [(5, EPOCH + 0.75), (5, EPOCH)]) == [True, False]


def test_a_log_that_is_cleared_twice_within_a_minute_loses_nothing() -> None:
    found = channel()
    records = [(number, EPOCH + begin + number) for begin in (0, 20, 40) for number in (1, 2, 3)]
    assert all(read(found, records))
    assert not any(read(found, records))


def test_a_clock_that_is_set_back_begins_no_other_epoch() -> None:
    found = channel()
    before = life(100)
    after = life(200, before[-1][1] - HOUR, first=101)
    assert all(read(found, [*before, *after]))
    assert not any(read(found, [*after, *before]))
    assert len(found.epochs) == 1


@pytest.mark.parametrize("reverse", [False, True])
def test_a_clock_set_back_before_the_log_was_cleared_loses_nothing(reverse: bool) -> None:
    first = life(300, seconds=30)
    second = life(300, first[-1][1] - HOUR + 7, seconds=30)
    found = channel()
    files = [first, second]
    for file in reversed(files) if reverse else files:
        assert read_whole(found, file) == 300
    assert claim_gaps(found) == 0
    assert not any(read(found, [*first, *second]))


def test_the_files_of_three_lives_read_newest_first_are_whole() -> None:
    made = [life(4000, EPOCH + number * 100 * DAY, 600) for number in range(3)]
    found = channel()
    for records in reversed(made):
        for at in range(0, 4000, 150):
            piece = records[at : at + 150]
            assert read_whole(found, piece) == len(piece)
    assert claim_gaps(found) == 0
    assert len(found.epochs) == 3
    assert [epoch.start for epoch in found.epochs] == [records[0][1] for records in made]
    assert all(len(epoch.seen) <= EXACT_INTERVALS + 2 * STEP for epoch in found.epochs)


def test_the_tail_of_a_life_and_the_archive_of_the_one_before_leave_no_gap() -> None:
    older, newer = life(150), life(300, EPOCH + 10 * DAY)
    found = channel()
    for piece in (newer[199:], older, newer[:199]):
        read_whole(found, piece)
    assert claim_gaps(found) == 0


def test_what_is_missing_in_an_archive_of_an_earlier_life_is_a_gap() -> None:
    older, newer = life(300), life(300, EPOCH + 10 * DAY)
    found = channel()
    for piece in (newer, older[200:], older[:100]):
        read_whole(found, piece)
    assert claim_gaps(found) == 100
    assert claim_gaps(found) == 0
    assert found.gaps == [(older[99][1], older[200][1], 100)]


def test_a_gap_whose_numbers_another_life_has_is_one() -> None:
    older, newer = life(300), life(300, EPOCH + 10 * DAY)
    found = channel()
    for piece in (older, newer[:100], newer[200:]):
        read_whole(found, piece)
    assert claim_gaps(found) == 100


@pytest.mark.slow
def test_archives_of_more_lives_than_are_kept_are_read_whole() -> None:
    made = [life(20, EPOCH + number * DAY) for number in range(3 * MAX_EPOCHS)]
    for order in (made, made[::-1]):
        found = channel()
        assert all(all(read(found, records)) for records in order)
        assert bounded(found)
        assert not any(read(found, [each for records in made[-5:] for each in records]))


def test_files_in_the_middle_are_read_whole_where_intervals_are_forgotten() -> None:
    records = [(20 * number, EPOCH + 100.0 * number) for number in range(1, 6000)]
    blocks = [records[at : at + 1000] for at in range(0, 6000, 1000)]
    found = channel()
    for place in (5, 3, 0, 4, 1, 2):
        assert all(read(found, blocks[place])), place
    assert bounded(found)
    assert found.forgotten > 0


@pytest.mark.parametrize("record_id", [10**30, 1 << 63, -1])
def test_a_damaged_number_is_a_record_and_is_not_kept(record_id: int) -> None:
    found = channel()
    assert admit(found, record_id, EPOCH)
    assert found.epochs == []


@pytest.mark.parametrize("time", [None, float("nan"), float("inf"), -1e300])
def test_a_record_without_a_time_is_known_by_its_number(time: float | None) -> None:
    found = channel()
    assert [admit(found, number, time) for number in (7, 7, 8)] == [True, False, True]
    assert admit(found, 7, EPOCH)
    assert not admit(found, 7, time)
    for number in range(10, 4 * MAX_INTERVALS, 2):
        assert admit(found, number, time)
    assert len(found.timeless) == MAX_INTERVALS
    assert all(admit(found, number, time) for number in range(11, 99, 2))


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**70), 2**70) | st.integers(0, 50),
            st.floats() | st.sampled_from([EPOCH, EPOCH + 60]),
            st.integers(-(2**70), 2**70) | st.integers(0, 50),
            st.floats() | st.sampled_from([EPOCH, EPOCH + 60]),
        ),
        max_size=60,
    )
)
@example([(5, EPOCH, 3, EPOCH), (3, float("nan"), 5, EPOCH), (3, EPOCH + 60, 5, EPOCH)])
def test_whatever_is_told_does_no_harm(told: list[tuple[int, float, int, float]]) -> None:
    found = channel()
    for first, first_time, last, last_time in told:
        admit(found, first, first_time)
        cover(
            found,
            Coverage(
                computer="EX01",
                channel="Application",
                first=first,
                last=last,
                first_time=first_time,
                last_time=last_time,
            ),
        )
        claim_gaps(found)
    assert bounded(found)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=Channel) == found
