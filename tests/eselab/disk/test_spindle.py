"""One drive: its times are those of the data sheet, and follow from the times of the requests."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eselab.base.plan import ModelName
from eselab.disk.spindle import MODELS, DiskModel, Seek, Spindle

NAMES: list[ModelName] = sorted(MODELS)
BATCH = 320 * 1024


def read(spindle: Spindle, at: float, begin: int, length: int) -> float:
    """Seconds of a read that meets an idle drive."""
    return spindle.serve(at, at, begin, begin + length, write=False) - at


def write(spindle: Spindle, at: float, begin: int, length: int) -> float:
    return spindle.serve(at, at, begin, begin + length, write=True) - at


@pytest.mark.parametrize("name", NAMES)
def test_seeks_are_as_the_data_sheet_has_them(name: ModelName) -> None:
    for seek in (MODELS[name].read, MODELS[name].write):
        steps = 400
        places = [(at + 0.5) / steps for at in range(steps)]
        mean = sum(seek.seconds(abs(a - b)) for a in places for b in places) / steps**2
        assert seek.seconds(0.0) == seek.track
        assert seek.seconds(1.0) == pytest.approx(seek.full)
        assert mean == pytest.approx(seek.average, rel=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_a_longer_seek_takes_longer(name: ModelName) -> None:
    for seek in (MODELS[name].read, MODELS[name].write):
        times = [seek.seconds(step / 1000) for step in range(1001)]
        assert times == sorted(times)


def test_the_curve_of_seeks_goes_through_the_three_figures() -> None:
    seek = Seek(0.001, 0.008, 0.016)
    assert seek.seconds(0.25) == pytest.approx(0.001 + 0.010 * 0.5 + 0.005 * 0.25)


def scattered(model: DiskModel, request: Callable[[Spindle, float, int, int], float]) -> float:
    """The mean seconds of requests of 8 KB all over an idle drive."""
    spindle, chance, at, total, count = Spindle(model), random.Random(7), 0.0, 0.0, 4000
    for _ in range(count):
        seconds = request(spindle, at, chance.randrange(model.capacity // 8192) * 8192, 8192)
        total += seconds
        at += seconds + chance.random() / 10
    return total / count


@pytest.mark.parametrize("name", NAMES)
def test_a_random_request_takes_the_overhead_a_mean_seek_and_half_a_turn(name: ModelName) -> None:
    model = MODELS[name]
    turned = model.overhead + 30 / model.rpm
    reads, writes = scattered(model, read), scattered(model, write)

    assert reads == pytest.approx(turned + model.read.average, rel=0.05)
    assert writes == pytest.approx(turned + model.write.average, rel=0.05)
    between = model.write.average - model.read.average
    assert writes - reads == pytest.approx(between, abs=between / 2)


@pytest.mark.parametrize("name", NAMES)
def test_a_sequential_read_comes_to_the_sustained_rates_outside_and_inside(
    name: ModelName,
) -> None:
    model, length, count = MODELS[name], 320 * 1024, 500
    for begin, rate in ((0, model.outer), (model.capacity - length * count, model.inner)):
        spindle = Spindle(model)
        read(spindle, 0.0, begin, length)
        since = spindle.free_at
        for number in range(1, count):
            read(spindle, spindle.free_at, begin + number * length, length)
        reached = (count - 1) * length / (spindle.free_at - since)
        assert reached <= rate * 1.0001
        assert reached == pytest.approx(rate, rel=0.02)


def test_what_was_read_ahead_is_there_at_once_and_what_lies_behind_is_not() -> None:
    model = MODELS["sas-10k-2006"]
    spindle = Spindle(model)
    first = read(spindle, 0.0, 10_000_000, 65536)
    ahead = read(spindle, first + 0.010, 10_000_000 + 65536, 65536)
    behind = read(spindle, 1.0, 10_000_000 - 655360, 65536)

    assert ahead == pytest.approx(model.overhead + 65536 / model.interface)
    assert behind > ahead + 65536 / model.outer


def test_reading_ahead_ends_where_its_part_of_the_buffer_is_full() -> None:
    model = MODELS["sas-10k-2006"]
    part = model.buffer // 16
    spindle = Spindle(model)
    read(spindle, 0.0, 0, 65536)

    assert read(spindle, 60.0, 65536, part) == pytest.approx(
        model.overhead + part / model.interface
    )
    spindle = Spindle(model)
    read(spindle, 0.0, 0, 65536)
    assert read(spindle, 60.0, 65536, part + 65536) > 65536 / model.outer


def test_what_was_read_long_ago_is_no_longer_in_the_buffer() -> None:
    spindle = Spindle(MODELS["sas-10k-2006"])
    for number in range(20):
        read(spindle, spindle.free_at, number * BATCH, BATCH)
    assert read(spindle, spindle.free_at, 19 * BATCH, 4096) < 0.0005
    assert read(spindle, spindle.free_at, 0, 4096) > 0.0005


@given(
    st.floats(0.0, 0.99),
    st.lists(
        st.tuples(
            st.floats(0.0, 0.02),
            st.integers(0, 40).map(lambda part: part * 65536),
            st.integers(1, 20).map(lambda part: part * 32768),
            st.booleans(),
        )
    ),
)
def test_the_head_transfers_only_what_passes_under_it(
    phase: float, requests: list[tuple[float, int, int, bool]]
) -> None:
    turn = 60 / MODELS["sas-10k-2006"].rpm
    spindle, at = Spindle(MODELS["sas-10k-2006"], phase=phase), 0.0
    for pause, begin, length, is_write in requests:
        done = spindle.serve(at, at, begin, begin + length, write=is_write)
        assert done > at
        at = done + pause
        time, byte = spindle._end
        since, x = spindle._from
        for when, where in ((time, spindle._surface.place(byte)), (since, x)):
            off = (where - phase - when / turn) % 1.0
            assert when == 0.0 or min(off, 1 - off) < 1e-6


def test_what_lies_before_the_first_byte_is_not_in_the_buffer() -> None:
    spindle = Spindle(MODELS["sas-10k-2006"])
    read(spindle, 0.0, 1 << 20, 4096)
    assert read(spindle, spindle.free_at, (1 << 20) - 4096, 4096) > 0.0005


def test_the_buffer_holds_the_latest_sixteen_runs() -> None:
    places = [number << 30 for number in range(17)]
    for number, held in ((0, False), (1, True), (16, True)):
        spindle = Spindle(MODELS["sas-10k-2006"])
        for place in places:
            read(spindle, spindle.free_at, place, 4096)
        assert (read(spindle, spindle.free_at, places[number], 4096) < 0.0005) is held


def test_what_is_read_again_stays_in_the_buffer() -> None:
    spindle = Spindle(MODELS["sas-10k-2006"])
    for number in range(40):
        read(spindle, spindle.free_at, number << 30, 4096)
        assert read(spindle, spindle.free_at, 0, 4096) < 0.0005


def test_who_reads_a_byte_again_loses_nothing_of_what_is_read_ahead() -> None:
    model = MODELS["sas-10k-2006"]
    spindle = Spindle(model)
    read(spindle, 0.0, 0, 65536)
    read(spindle, spindle.free_at, 0, 4096)
    assert read(spindle, 1.0, 65536 + model.buffer // 16 - 4096, 4096) < 0.0005


def test_a_write_ends_reading_ahead_but_what_is_in_the_buffer_stays() -> None:
    model = MODELS["sas-10k-2006"]
    spindle = Spindle(model)
    read(spindle, 0.0, 0, 65536)
    write(spindle, 0.5, 1 << 30, 4096)
    hit = read(spindle, 1.0, 65536, 65536)
    miss = read(spindle, 60.0, 65536 + model.buffer // 16, 65536)

    assert hit < 0.001
    assert miss > 0.001


def test_what_is_written_is_not_read_from_the_buffer() -> None:
    spindle = Spindle(MODELS["sas-10k-2006"])
    read(spindle, 0.0, 0, 65536)
    write(spindle, 1.0, 65536, 4096)
    assert read(spindle, 2.0, 65536, 4096) > 0.001


@pytest.mark.parametrize("name", NAMES)
def test_a_write_that_goes_on_where_the_last_ended_waits_for_a_turn(name: ModelName) -> None:
    model, length = MODELS[name], 4096
    spindle = Spindle(model)
    write(spindle, 0.0, 0, length)
    turn = 60 / model.rpm
    for number in range(1, 20):
        seconds = write(spindle, spindle.free_at, number * length, length)
        assert seconds == pytest.approx(turn + length / model.outer, abs=1e-6)


def test_within_a_track_nothing_is_sought() -> None:
    spindle = Spindle(MODELS["sas-10k-2006"])
    write(spindle, 0.0, 0, 4096)
    assert write(spindle, spindle.free_at, 40960, 4096) == pytest.approx(40960 / 69.3e6, rel=0.01)


def test_a_write_that_waited_goes_on_without_a_turn() -> None:
    model, length = MODELS["sas-10k-2006"], 65536
    spindle = Spindle(model)
    first = spindle.serve(0.0, 0.0, 0, length, write=True)
    second = spindle.serve(first, 0.0, length, 2 * length, write=True)

    assert second - first == pytest.approx(length / model.outer)


def test_times_do_not_depend_on_how_late_it_is() -> None:
    model = MODELS["sas-10k-2006"]
    turn, early, late = 60 / model.rpm, Spindle(model), Spindle(model)
    chance = random.Random(3)
    for number in range(200):
        begin = chance.randrange(model.capacity // 4096) * 4096
        seconds = read(early, number * turn * 50, begin, 4096)
        later = read(late, 1.2e9 + number * turn * 50, begin, 4096)
        assert seconds == pytest.approx(later, abs=1e-5) or abs(abs(seconds - later) - turn) < 1e-5


def test_positioning_tells_how_long_the_first_byte_is_away_and_changes_nothing() -> None:
    model = MODELS["sas-10k-2006"]
    spindle, twin = Spindle(model), Spindle(model)
    for one in (spindle, twin):
        read(one, 0.0, 1 << 30, 8192)
    spindle.advance(5.0)
    away = spindle.positioning(5.0, 9 << 30, (9 << 30) + 8192, write=False)
    near = spindle.positioning(5.0, (1 << 30) + 8192, (1 << 30) + 16384, write=False)
    took = read(spindle, 5.0, 9 << 30, 8192)

    assert near == 0.0
    assert took == read(twin, 5.0, 9 << 30, 8192)
    assert (
        away - model.overhead - 60 / model.rpm <= took <= away + model.overhead + 2 * 60 / model.rpm
    )
