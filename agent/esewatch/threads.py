"""Threads that hold nobody up where memory is short.

`threading.Thread.start` waits for the first line of the new thread. Where that finds no memory for
it, it never comes, and who started it never continues.
"""

import _thread
import threading
import time
import weakref
from collections.abc import Callable

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


def _run(
    work: Callable[[], object], begun: threading.Event, ended: threading.Event, _: _Alive
) -> None:
    begun.set()
    try:
        work()
    finally:
        ended.set()
