"""Pace and clock of sources that are polled."""

import math
import struct

import pytest

from esewatch.fold.channels.clock_guard import AHEAD_SECONDS, EARLIEST_NOW
from esewatch.sources.counters.poll_timer import STEP, PollTimer, SampleClock


class Now:
    """A clock by hand."""

    def __init__(self, at: float = 1000.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


def test_the_first_sample_is_due_at_once_and_the_next_after_the_interval() -> None:
    now = Now()
    pace = PollTimer(15.0, now)

    assert pace.due()
    assert not pace.due()
    now.at += 14.9
    assert not pace.due()
    now.at += 0.1
    assert pace.due()


def test_a_late_look_does_not_move_the_samples_that_follow() -> None:
    now = Now()
    pace = PollTimer(15.0, now)
    pace.due()
    now.at += 16.0

    assert pace.due()
    now.at += 14.0
    assert pace.due()


def test_missed_intervals_are_not_made_up_for() -> None:
    now = Now()
    pace = PollTimer(15.0, now)
    pace.due()
    now.at += 3600.0

    assert [pace.due(), pace.due()] == [True, False]


def test_after_a_failure_the_next_look_is_due() -> None:
    pace = PollTimer(15.0, Now())
    pace.due()

    pace.again()

    assert [pace.due(), pace.due()] == [True, False]


def test_times_of_samples_never_go_back_when_the_clock_does() -> None:
    now = Now(5000.0)
    clock = SampleClock(now)
    first = clock.next()
    now.at = 1000.0

    later = [clock.next(), clock.next()]

    assert first == 5000.0
    assert later == pytest.approx([5000.001, 5000.002], abs=1e-6)
    now.at = 6000.0
    assert clock.next() == 6000.0


def test_times_of_samples_do_not_go_back_over_a_restart() -> None:
    before = SampleClock(Now(5000.0))
    before.next()
    saved = {key: value for key, value in before.positions().items() if value is not None}

    after = SampleClock(Now(1000.0))
    after.restore(saved)

    assert after.next() == pytest.approx(5000.001, abs=1e-6)


@pytest.mark.parametrize("restarted", [False, True])
def test_times_of_samples_follow_a_clock_that_was_more_than_a_day_ahead(*, restarted: bool) -> None:
    now = Now(EARLIEST_NOW + 3 * AHEAD_SECONDS)
    clock = SampleClock(now)
    clock.next()
    now.at = EARLIEST_NOW
    if restarted:
        saved = {key: value for key, value in clock.positions().items() if value is not None}
        clock = SampleClock(now)
        clock.restore(saved)

    assert clock.next() == EARLIEST_NOW
    assert clock.next() == pytest.approx(EARLIEST_NOW + STEP, abs=1e-6)


def test_times_of_samples_do_not_follow_a_clock_that_is_obviously_wrong() -> None:
    now = Now(EARLIEST_NOW)
    clock = SampleClock(now)
    clock.next()
    now.at = 0.0

    assert clock.next() == pytest.approx(EARLIEST_NOW + STEP, abs=1e-6)


@pytest.mark.parametrize(
    "saved", [b"", b"\0", struct.pack("<d", math.nan), struct.pack("<d", math.inf)]
)
def test_a_damaged_position_of_the_clock_is_left_aside(saved: bytes) -> None:
    clock = SampleClock(Now(1000.0))

    clock.restore({"clock": saved})

    assert clock.next() == 1000.0
