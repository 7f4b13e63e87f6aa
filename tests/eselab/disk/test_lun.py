"""A LUN of modelled drives: what holds for all requests, and what the founding documents tell."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eselab.base.plan import LINK
from eselab.disk.lun import Link, Lun
from eselab.disk.spindle import MODELS
from eselab.disk.write_cache import LINE, lines_of
from tests.eselab.luns import SCAN, run, scattered, sequential, total

MODEL = MODELS["sas-10k-2006"]
LONGEST = MODEL.overhead + MODEL.write.full + 60 / MODEL.rpm
"""Seconds until any request that is next is over its first byte."""

Request = tuple[float, int, int, bool]

SPREAD = 1 << 30
REQUESTS = st.lists(
    st.tuples(
        st.floats(0.0, 0.2),
        st.integers(0, SPREAD // 512).map(lambda sector: sector * 512),
        st.integers(0, 640).map(lambda sectors: sectors * 512),
        st.booleans(),
    ),
    max_size=40,
)
LUNS = st.fixed_dictionaries(
    {
        "spindles": st.integers(1, 5),
        "stripe": st.sampled_from([4096, 65536, 1 << 20]),
        "write_cache": st.sampled_from([0, 4 * LINE, 1 << 20, 256 << 20]),
    }
)


def lun_of(**kept: Any) -> Lun:
    return Lun("sas-10k-2006", **kept)


def done(lun: Lun, requests: list[Request]) -> list[tuple[int, float]]:
    """What becomes of requests that are all handed in at the begin; tickets count from 1."""
    for at, offset, length, write in requests:
        lun.submit(at, offset, length, write=write)
    answers = []
    while (answer := lun.next_done()) is not None:
        answers.append(answer)
    return answers


class Watched:
    """Notes what the drives of a LUN do: (drive, begin, end, first byte, last, whether a write)."""

    def __init__(self, lun: Lun) -> None:
        self.served: list[tuple[int, float, float, int, int, bool]] = []
        for number, drive in enumerate(lun._drives):
            self._watch(number, drive.spindle)

    def _watch(self, number: int, spindle: Any) -> None:
        serve = spindle.serve

        def watched(at: float, arrived: float, begin: int, end: int, *, write: bool) -> float:
            over: float = serve(at, arrived, begin, end, write=write)
            self.served.append((number, at, over, begin, end, write))
            return over

        spindle.serve = watched


@given(REQUESTS, LUNS)
def test_each_request_is_done_once_after_it_came_in_the_order_of_time(
    requests: list[Request], kept: dict[str, int]
) -> None:
    answers = done(lun_of(**kept), requests)

    assert sorted(ticket for ticket, _ in answers) == list(range(1, len(requests) + 1))
    assert all(a[1] <= b[1] for a, b in pairwise(answers))
    for ticket, time in answers:
        at, _, length, _ = requests[ticket - 1]
        assert time >= at + length / LINK - 1e-9


@given(REQUESTS, LUNS)
def test_the_same_requests_are_done_at_the_same_times(
    requests: list[Request], kept: dict[str, int]
) -> None:
    assert done(lun_of(**kept), requests) == done(lun_of(**kept), requests)


@given(REQUESTS, LUNS)
def test_a_drive_does_one_thing_at_a_time(requests: list[Request], kept: dict[str, int]) -> None:
    lun = lun_of(**kept)
    watched = Watched(lun)
    done(lun, requests)
    for number in range(kept["spindles"]):
        of_one = [item for item in watched.served if item[0] == number]
        assert all(a[2] <= b[1] for a, b in pairwise(of_one))


@given(REQUESTS)
def test_no_drive_rests_while_a_read_waits_for_it(requests: list[Request]) -> None:
    lun = lun_of(spindles=1)
    watched = Watched(lun)
    answers = done(lun, [(0.0, offset, length, False) for _, offset, length, _ in requests])

    ends = [item[2] for item in watched.served]
    assert [item[1] for item in watched.served] == [0.0, *ends][: len(ends)]
    longest = sum(LONGEST + length / MODEL.inner + length / LINK for _, _, length, _ in requests)
    assert all(time <= longest for _, time in answers)


@given(st.integers(1, 5), st.integers(0, 3), st.integers(1, 8))
@settings(max_examples=30)
def test_no_more_comes_from_the_drives_than_the_data_sheet_allows(
    spindles: int, place: int, depth: int
) -> None:
    lun = lun_of(spindles=spindles, link=1e12)
    stream = sequential(lun.capacity // 4 // SCAN * SCAN * place, SCAN)
    reached = total(run(lun, [stream] * depth, 0.5)).rate
    assert reached <= spindles * MODEL.outer * 1.0001


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.01), st.integers(0, 1 << 20))))
def test_a_link_carries_one_thing_at_a_time_as_fast_as_it_can(
    loads: list[tuple[float, float, int]],
) -> None:
    link, taken = Link(1e8), []
    for earliest, later, length in loads:
        end = link.carry(earliest, earliest + later, length)
        assert end >= max(earliest + length / 1e8, earliest + later) - 1e-9
        taken.append((end - length / 1e8, end, length))
    busy = sorted((begin, end) for begin, end, length in taken if length)
    assert all(a[1] <= b[0] + 1e-9 for a, b in pairwise(busy))


@given(REQUESTS, LUNS)
def test_the_drives_have_last_what_was_written_last(
    requests: list[Request], kept: dict[str, int]
) -> None:
    """Each line goes to its drive after it was last put into the cache, and nothing is left."""
    lun = lun_of(**{**kept, "write_cache": max(kept["write_cache"], 4 * LINE)})
    watched = Watched(lun)
    put, taken = lun._cache.put, dict[tuple[int, int], float]()

    def watched_put(at: float, drive: int, line: int) -> bool:
        if there := put(at, drive, line):
            taken[drive, line] = at
        return there

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lun._cache, "put", watched_put)
        done(lun, requests)
        # Long after: all that waits in the cache is written out before this is read.
        done(lun, [(1000.0, lun.capacity - 4096, 4096, False)])

    written = {
        (drive, line): at
        for drive, at, _, begin, end, write in watched.served
        for line in lines_of(begin, end)
        if write
    }
    assert written.keys() == taken.keys()
    assert all(written[line] >= at for line, at in taken.items())


@pytest.mark.parametrize(
    ("offset", "length"), [(-1, 10), (0, -1), (0, 1 << 60), (1 << 60, 1), (8 * MODEL.capacity, 1)]
)
def test_what_is_not_within_the_lun_is_an_error(offset: int, length: int) -> None:
    with pytest.raises(ValueError, match="not within"):
        lun_of(spindles=8).submit(0.0, offset, length)


@pytest.mark.parametrize("at", [float("nan"), float("inf"), float("-inf")])
def test_a_time_that_is_none_is_an_error(at: float) -> None:
    with pytest.raises(ValueError, match="no request arrives at"):
        lun_of().submit(at, 0, 4096)


@pytest.mark.parametrize("kept", [{"stripe": 0}, {"stripe": 5000}, {"spindles": 0}])
def test_a_lun_that_cannot_be_is_an_error(kept: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="no LUN has"):
        lun_of(**kept)


def test_without_requests_nothing_is_done() -> None:
    assert lun_of().next_done() is None


def test_a_request_is_on_as_many_drives_as_its_stripes() -> None:
    lun = lun_of(spindles=4)
    watched = Watched(lun)
    done(lun, [(0.0, 65536 * 2, SCAN, False)])
    assert sorted((drive, begin, end) for drive, _, _, begin, end, _ in watched.served) == [
        (0, 65536, 131072),
        (1, 65536, 131072),
        (2, 0, 131072),
        (3, 0, 65536),
    ]


def test_a_drive_takes_what_is_near_first_but_leaves_nothing_for_ever() -> None:
    lun = lun_of()
    far, near = lun.capacity - 8192, 1 << 20
    answers = done(lun, [(0.0, 0, 8192, False), (0.0001, far, 8192, False)] + [
        (0.0002 + 0.0001 * number, near + number * 8192, 8192, False) for number in range(200)
    ])  # fmt: skip
    order = [ticket for ticket, _ in answers]
    assert order[0] == 1
    assert 20 < order.index(2) <= 40


@pytest.mark.parametrize("since", [0.0, 1.2e9])
def test_who_answers_at_once_is_in_time_for_the_drive(since: float) -> None:
    lun = lun_of()
    lun.submit(since, 0, 8192)
    far = lun.submit(since + 0.0001, lun.capacity // 2, 8192)
    for number in range(1, 20):
        answer = lun.next_done()
        assert answer is not None and answer[0] != far
        lun.submit(answer[1], number * 8192, 8192)


def test_writes_are_done_when_they_are_in_the_cache_until_that_is_full() -> None:
    cached = lun_of(write_cache=1 << 20)
    answers = done(cached, [(0.0, number << 20, 8192, True) for number in range(256)])
    waits = [time for _, time in answers]

    assert waits[127] < 0.004
    assert waits[-1] > 0.04
    assert [ticket for ticket, _ in answers] == list(range(1, 257))


def test_a_write_into_the_cache_takes_the_link_and_the_controller() -> None:
    ((_, time),) = done(lun_of(write_cache=1 << 20), [(0.0, 0, 65536, True)])
    assert time == pytest.approx(65536 / LINK + MODEL.overhead)


def test_a_crowded_cache_and_the_requests_take_turns() -> None:
    lun = lun_of(write_cache=1 << 20)
    reads, writes = run(lun, [scattered(lun, 1), scattered(lun, 2, write=True)], 10.0)
    assert reads.iops > 30
    assert writes.iops > 30


def test_what_lies_side_by_side_goes_from_the_cache_to_the_drive_without_a_pause() -> None:
    lun = lun_of(write_cache=4 << 20)
    written = total(run(lun, [sequential(0, 65536, write=True)], 5.0))
    assert 0.9 * MODEL.outer < written.rate < 1.1 * MODEL.outer


def test_the_drives_of_a_lun_do_not_turn_in_step() -> None:
    lun = lun_of(spindles=8)
    watched = Watched(lun)
    done(lun, [(0.0, 0, 8 * 65536, False)])
    assert len({round(over, 6) for _, _, over, *_ in watched.served}) == 8


def test_a_write_that_is_larger_than_the_cache_goes_through_it() -> None:
    ((_, time),) = done(lun_of(write_cache=8 * LINE), [(0.0, 0, 1 << 20, True)])
    assert (1 << 20) / MODEL.outer / 2 < time < 1.0


def test_what_waits_in_the_cache_is_read_from_there() -> None:
    lun = lun_of(write_cache=1 << 20)
    # A stream of reads elsewhere keeps the drive from writing out.
    stream = [(0.0, (9 << 30) + number * 65536, 65536, False) for number in range(10)]
    answers = dict(done(lun, [*stream, (0.0, 0, 8192, True), (0.001, 0, 8192, False)]))
    assert answers[12] == pytest.approx(0.001 + MODEL.overhead, abs=1e-4)


@pytest.mark.slow
def test_a_cache_turns_random_writes_into_sorted_ones() -> None:
    """Without: a seek and half a turn each. P4 of the facts: 300 IOPS with a cache, 50 without."""
    without = lun_of()
    slow = total(run(without, [scattered(without, 1, write=True)], 20.0))
    cached = lun_of(write_cache=16 << 20)
    fast = total(run(cached, [scattered(cached, 1, write=True)], 20.0))

    expected = 1 / (MODEL.overhead + MODEL.write.average + 30 / MODEL.rpm)
    assert slow.iops == pytest.approx(expected, rel=0.05)
    assert fast.iops > 2 * slow.iops


def test_a_log_waits_for_a_turn_without_a_cache_and_not_with_one() -> None:
    turn = 60 / MODEL.rpm
    slow = total(run(lun_of(), [sequential(0, 4096, write=True)], 5.0))
    fast = total(run(lun_of(write_cache=1 << 20), [sequential(0, 4096, write=True)], 5.0))

    assert slow.mean == pytest.approx(turn, rel=0.02)
    assert fast.mean < turn / 10


@pytest.mark.slow
def test_a_drive_does_about_a_hundred_random_reads_a_second() -> None:
    """P3 of the facts; more where it can choose among several, none lost in a stripe."""
    one = lun_of()
    alone = total(run(one, [scattered(one, 1)], 20.0))
    eight = lun_of(spindles=8)
    together = total(run(eight, [scattered(eight, 1)] * 8, 10.0))
    queued = total(run(lun_of(spindles=8), [scattered(eight, 1)] * 64, 10.0))

    assert 90 < alone.iops < 150
    assert 4 * alone.iops < together.iops < 8 * alone.iops
    assert queued.iops > together.iops


@pytest.mark.parametrize("spindles", [1, 4, pytest.param(8, marks=pytest.mark.slow)])
def test_two_scans_on_one_lun_hinder_each_other_and_on_two_they_do_not(spindles: int) -> None:
    """P1 of the facts: 250 MB/s at 3.5 ms alone, 67 MB/s at 7.2 ms for two."""
    alone = total(run(lun_of(spindles=spindles), [sequential(0, SCAN)], 5.0))
    shared = lun_of(spindles=spindles)
    half = shared.capacity // 2 // SCAN * SCAN
    both = total(run(shared, [sequential(0, SCAN), sequential(half, SCAN)], 5.0))
    other = total(run(lun_of(spindles=spindles), [sequential(half, SCAN)], 5.0))

    assert alone.rate <= min(LINK, spindles * MODEL.outer)
    assert both.rate < 0.95 * alone.rate
    assert both.mean > 2 * alone.mean
    assert other.rate > 0.8 * alone.rate


@pytest.mark.slow
def test_a_thousand_reads_at_once_starve_the_others_and_one_scan_does_not() -> None:
    """P1 of the facts: a checker's 1,024 reads of 64 KB against the 320 KB of the online task."""
    alone, kind, unkind = lun_of(spindles=8), lun_of(spindles=8), lun_of(spindles=8)
    before = total(run(alone, [scattered(alone, 1)] * 4, 10.0))
    beside = total(run(kind, [*[scattered(kind, 1)] * 4, sequential(0, SCAN)], 10.0)[:4])
    starved = run(unkind, [*[scattered(unkind, 1)] * 4, *[sequential(0, 65536)] * 1024], 10.0)

    assert beside.mean < 1.3 * before.mean
    assert total(starved[:4]).mean > 5 * before.mean
