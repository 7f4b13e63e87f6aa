"""Calls are counted: those of the work alone, in C and in threads begun meanwhile, too."""

import threading

from tests.support.calls import Calls


def work() -> None:
    for _ in range(100):
        len("")


def test_calls_of_the_work_are_counted_and_no_others() -> None:
    with Calls() as calls:
        work()
        found = [calls.of(work) for _ in range(3)]
    work()
    assert found == [found[0]] * 3
    assert 101 <= found[0] <= 103


def test_those_of_a_thread_that_is_begun_meanwhile_count_too() -> None:
    def in_a_thread() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    with Calls() as calls:
        assert calls.of(in_a_thread) > 101
