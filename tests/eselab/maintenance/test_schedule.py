"""The schedule: steps in the order of their times, and nothing else decides."""

import itertools
import math
import signal
from collections.abc import Callable, Generator

import pytest

from eselab.base.clock import RealClock, StepClock, VirtualClock
from eselab.maintenance.schedule import Schedule, Task

START = 1.7e9


def telling(
    clock: StepClock, name: str, pauses: list[float], said: list[tuple[str, float]]
) -> Task:
    """A task that says its name and the time since START at each step."""
    for pause in [*pauses, None]:
        said.append((name, clock.now() - START))
        if pause is not None:
            yield pause


def spending(clock: StepClock, seconds: float, times: list[float]) -> Task:
    """A task whose every step takes so long."""
    while True:
        times.append(clock.now() - START)
        clock.spend(seconds)
        yield 1.0


def once(act: Callable[[], object]) -> Task:
    """A task of one step."""
    act()
    yield 0.0


def failing() -> Task:
    yield 1.0
    raise LookupError("lost")


def made() -> tuple[VirtualClock, Schedule]:
    clock = VirtualClock(START)
    return clock, Schedule(clock)


def test_steps_are_done_in_the_order_of_their_times() -> None:
    clock, schedule = made()
    said: list[tuple[str, float]] = []
    schedule.start(telling(clock, "slow", [3, 3], said))
    schedule.start(telling(clock, "quick", [2, 2], said))
    schedule.run()

    slow, quick = [("slow", 0), ("slow", 3), ("slow", 6)], [("quick", 0), ("quick", 2)]
    assert said == [slow[0], quick[0], quick[1], slow[1], ("quick", 4), slow[2]]


def test_at_the_same_time_who_asked_first_is_first() -> None:
    clock, schedule = made()
    said: list[tuple[str, float]] = []
    for name in "abc":
        schedule.start(telling(clock, name, [0, 0], said))
    schedule.run()

    assert [name for name, _ in said] == list("abcabcabc")


def test_a_task_that_waits_for_nothing_lets_the_others_have_their_turn() -> None:
    clock, schedule = made()
    turns: list[float] = []
    schedule.start(telling(clock, "busy", [0.0] * 100, []))
    schedule.start(once(lambda: turns.append(clock.now())))
    schedule.run()

    assert turns == [START]


def test_what_a_step_spends_comes_before_the_pause_it_asks_for() -> None:
    clock, schedule = made()
    times: list[float] = []
    schedule.start(spending(clock, 0.5, times))
    schedule.run(START + 6)

    assert times == [0, 1.5, 3, 4.5]


def test_what_one_task_spends_does_not_hold_up_another() -> None:
    clock, schedule = made()
    slow: list[float] = []
    quick: list[float] = []
    schedule.start(spending(clock, 9.0, slow))
    schedule.start(spending(clock, 0.0, quick))
    schedule.run(START + 21)

    assert slow == [0, 10, 20]
    assert quick == list(range(21))


def test_a_run_ends_before_a_step_that_begins_at_its_end_and_the_next_goes_on_there() -> None:
    clock, schedule = made()
    said: list[tuple[str, float]] = []
    schedule.start(telling(clock, "a", [1, 1, 1], said))
    schedule.run(START + 2)
    first = len(said)
    schedule.run()

    assert first == 2
    assert [at for _, at in said] == [0, 1, 2, 3]


def test_a_task_may_start_another_one_later() -> None:
    clock, schedule = made()
    said: list[tuple[str, float]] = []
    other = telling(clock, "other", [], said)
    schedule.start(once(lambda: schedule.start(other, after=5)), after=2)
    schedule.run()

    assert said == [("other", 7)]


def test_an_exception_comes_through_and_the_other_tasks_go_on() -> None:
    clock, schedule = made()
    said: list[tuple[str, float]] = []
    schedule.start(failing())
    schedule.start(telling(clock, "other", [1, 1], said))
    with pytest.raises(LookupError, match="lost"):
        schedule.run()
    schedule.run()

    assert [at for _, at in said] == [0, 1, 2]


@pytest.mark.parametrize("seconds", [-1.0, math.nan])
def test_a_pause_that_is_no_length_of_time_is_refused(seconds: float) -> None:
    clock, schedule = made()
    schedule.start(telling(clock, "a", [seconds], []))

    with pytest.raises(ValueError, match="asked for its next step"):
        schedule.run()


def test_a_stop_from_a_step_ends_the_run_for_good_and_leaves_the_tasks_as_they_are() -> None:
    clock, schedule = made()
    said: list[tuple[str, float]] = []
    left = telling(clock, "left", [1, 1, 1, 1], said)
    schedule.start(left)
    schedule.start(once(schedule.stop), after=1.5)
    schedule.run()
    schedule.run()
    until = list(said)
    rest = list(left)

    assert until == [("left", 0), ("left", 1)]
    assert len(rest) == 2


def test_closing_ends_every_task_in_order_even_where_one_raises() -> None:
    _, schedule = made()
    closed: list[str] = []

    def closing(name: str) -> Generator[float, None, None]:
        try:
            yield 10.0
            yield 10.0
        finally:
            closed.append(name)
            if name == "b":
                raise LookupError(name)

    for name in "abc":
        schedule.start(closing(name))
    schedule.run(START + 5)
    with pytest.raises(LookupError, match="b"):
        schedule.close()

    assert closed == ["a", "b", "c"]


def test_in_real_time_a_step_waits_for_what_the_last_one_spent() -> None:
    clock = RealClock()
    schedule = Schedule(clock)
    times: list[float] = []

    def task() -> Task:
        for _ in range(3):
            times.append(clock.now())
            clock.spend(0.03)
            yield 0.02

    schedule.start(task())
    schedule.run()

    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert all(0.05 <= wait < 5 for wait in waits)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no interval timers")
def test_a_signal_handler_stops_a_real_run_in_the_middle_of_a_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("eselab.base.clock._LONGEST_WAIT", 3600.0)
    clock = RealClock()
    schedule = Schedule(clock)
    said: list[tuple[str, float]] = []
    schedule.start(telling(clock, "never", [], said), after=3600)
    previous = signal.signal(signal.SIGALRM, lambda _signal, _frame: schedule.stop())
    try:
        before = clock.now()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        schedule.run()
        waited = clock.now() - before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)

    assert not said
    assert waited < 60


def test_a_wakeup_without_a_stop_lets_the_run_go_on() -> None:
    clock = RealClock()
    schedule = Schedule(clock)
    turns: list[float] = []
    begin = clock.now() + 0.05
    schedule.start(once(lambda: turns.append(clock.now())), after=0.05)
    clock.wakeup()
    schedule.run()

    assert len(turns) == 1
    assert turns[0] >= begin
