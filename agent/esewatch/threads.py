"""Threads that hold nobody up where memory is short.

`threading.Thread.start` waits for the first line of the new thread. Where that finds no memory for
it, it never comes, and who started it never continues.
"""

import _thread
import queue
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_LOOK_SECONDS = 0.05
"""Seconds between two looks whether a thread that says nothing is still there."""


class _Alive:
    """Held by one thread alone: it is gone when the thread has ended, however it ended."""


class Worker:
    """Does `work` in a thread beside, at once; the process does not wait for it at its end.

    Raises RuntimeError where no thread is to be had, MemoryError where it found no memory for its
    first line.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        alive, begun, self._ended = _Alive(), threading.Event(), threading.Event()
        self._thread = weakref.ref(alive)
        _thread.start_new_thread(_run, (work, begun, self._ended, alive))
        del alive
        while not begun.wait(_LOOK_SECONDS):
            # It may have begun since, and ended.
            if not self.running and not begun.is_set():
                raise MemoryError("not enough memory for a thread")

    @property
    def running(self) -> bool:
        """True if the thread is still there."""
        return self._thread() is not None and not self._ended.is_set()

    def join(self, seconds: float) -> None:
        """Wait for its end, at most so long."""
        end = time.monotonic() + seconds
        while self.running and (left := end - time.monotonic()) > 0:
            self._ended.wait(min(left, _LOOK_SECONDS))


class Workers(ThreadPoolExecutor):
    """Does calls in `threads` threads, all of which are started at once, for an event loop.

    Raises as `Worker`. A pool of the library waits in `submit` for a thread that found no memory,
    for ever and with a lock that the end of the process wants.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._begun = 0
        try:
            for _ in range(threads):
                Worker(self._work)
                self._begun += 1
        except (RuntimeError, MemoryError):
            self.shutdown()
            raise

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The result of a call in one of the threads."""
        result: Future[T] = Future()
        self._calls.put(partial(_answer, result, partial(fn, *args, **kwargs)))
        return result

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads when they have done what was submitted; they are not waited for."""
        while self._begun:
            self._begun -= 1
            self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            del call


def _answer(result: Future[T], call: Callable[[], T]) -> None:
    if not result.set_running_or_notify_cancel():
        return
    try:
        found = call()
    except BaseException as error:  # who awaits the result gets it
        result.set_exception(error)
    else:
        result.set_result(found)


def _run(
    work: Callable[[], object], begun: threading.Event, ended: threading.Event, _: _Alive
) -> None:
    begun.set()
    try:
        work()
    finally:
        ended.set()
