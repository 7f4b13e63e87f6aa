"""Clocks: the virtual one stands where it was put, the real one waits and can be woken up."""

import math
import signal
import threading
import time

import pytest

from eselab.base.clock import PacedClock, RealClock, VirtualClock


def test_a_virtual_clock_stands_still_but_for_what_is_begun_and_spent() -> None:
    clock = VirtualClock(1000.0)

    clock.spend(2.5)
    spent = clock.now()
    begun = clock.begin(1001.0)

    assert (spent, begun, clock.now()) == (1002.5, True, 1001.0)


def test_waking_a_virtual_clock_changes_nothing() -> None:
    clock = VirtualClock(5.0)

    clock.wakeup()

    assert clock.begin(7.0)


def test_a_real_clock_tells_the_time_of_the_system() -> None:
    before = time.time()
    now = RealClock().now()
    assert before - 0.1 < now < time.time() + 0.1


def test_a_real_clock_waits_until_a_step_begins() -> None:
    clock = RealClock()
    begin = clock.now() + 0.05

    assert clock.begin(begin)
    assert begin <= clock.now() < begin + 5


def test_a_late_step_of_a_real_clock_begins_at_once_and_at_the_true_time() -> None:
    clock = RealClock()
    before = clock.now()

    assert clock.begin(before - 3600)
    assert before <= clock.now() < before + 5


def test_what_a_real_step_spends_is_not_waited_for_and_ends_with_the_step() -> None:
    clock = RealClock()
    before = clock.now()

    clock.spend(3600)
    within = clock.now()
    clock.begin(before)

    assert before + 3600 <= within < before + 3605
    assert clock.now() < before + 5


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no interval timers")
def test_a_signal_handler_ends_a_real_wait_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eselab.base.clock._LONGEST_WAIT", 3600.0)
    clock = RealClock()
    previous = signal.signal(signal.SIGALRM, lambda _signal, _frame: clock.wakeup())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        before = clock.now()
        begun = clock.begin(before + 3600)
        waited = clock.now() - before
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)

    assert not begun
    assert waited < 60


def test_another_thread_ends_a_wait_without_end() -> None:
    clock = RealClock()
    waker = threading.Timer(0.05, clock.wakeup)
    waker.start()

    begun = clock.begin(math.inf)
    waker.join()

    assert not begun


def test_a_wakeup_before_the_wait_ends_the_next_one() -> None:
    clock = RealClock()
    clock.wakeup()

    assert not clock.begin(clock.now() + 3600)
    assert clock.begin(clock.now() + 0.01)


def test_a_paced_clock_hurries_to_the_present_and_waits_there() -> None:
    now = time.time()
    clock = PacedClock(now - 86400)
    assert clock.begin(now - 10)
    assert clock.now() == now - 10
    assert 9 < clock.behind() < 70
    soon = time.time() + 0.05
    assert clock.begin(soon)
    assert time.time() >= soon - 0.01
    # The time of a step is the one that was set, however late it is.
    assert clock.now() == soon


def test_a_wakeup_ends_the_wait_of_a_paced_clock() -> None:
    clock = PacedClock(time.time())
    clock.wakeup()

    assert not clock.begin(time.time() + 3600)
