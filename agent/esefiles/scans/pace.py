"""Read rate of one lane (the files of one device), and the time at which its reading ends."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from typing import Literal

import psutil

Over = Literal["", "time", "stopped"]
"""Cause of the end: the time is up, or a stop was requested; empty while it goes on."""


class Pace:
    """Throttle, rate limit and time limit of one lane. Thread-safe.

    `throttle`: seconds of pause before each read but the first. `rate`: bytes/s, kept from each
    read to the next, so that time not used is lost and never made up by a burst. `deadline`: the
    time.monotonic() of the end. `stop`, once set, ends it at once. `clock` is time.monotonic, and a
    pause is `stop.wait`. Raises ValueError for an impossible rate or pause.
    """

    def __init__(
        self,
        *,
        throttle: float = 0.0,
        rate: float | None = None,
        deadline: float | None = None,
        stop: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not throttle >= 0:
            raise ValueError(f"a pause between reads of {throttle} s")
        if rate is not None and not rate > 0:
            raise ValueError(f"a rate of {rate} bytes/s")
        self._throttle = throttle
        self._rate = rate
        self._deadline = deadline
        self._stop = threading.Event() if stop is None else stop
        self._clock = clock
        self._lock = threading.Lock()
        self._due = clock()
        self._began = False

    @property
    def waits(self) -> bool:
        """True if reads wait for a pause or a rate."""
        return self._throttle > 0 or self._rate is not None

    def over(self) -> Over:
        """Reason why no read may begin any more, empty while one may."""
        if self._stop.is_set():
            return "stopped"
        if self._deadline is not None and self._clock() >= self._deadline:
            return "time"
        return ""

    def wait(self, size: int) -> bool:
        """Sleep as long as needed before a read of `size` bytes. False: it is over, no read."""
        if not self.waits:
            return not self.over()
        with self._lock:
            now = self._clock()
            begin = max(self._due, now + (self._throttle if self._began else 0.0))
            self._due = begin + (size / self._rate if self._rate else 0.0)
            self._began = True
        return self.sleep(begin - now)

    def sleep(self, seconds: float) -> bool:
        """Sleep, but not past the end. False when it is over."""
        end = self._clock() + seconds
        while not self.over():
            now = self._clock()
            if now >= end:
                return True
            until = end if self._deadline is None else min(end, self._deadline)
            self._stop.wait(until - now)
        return False


def yield_the_disk() -> None:
    """Let every other process read first, from here on and in threads that start later.

    Linux: the idle I/O class (ioprio_set(2)), which works with the bfq scheduler and is without
    effect under `none`. Windows: low I/O priority. Elsewhere, and where it is forbidden: nothing.
    """
    with contextlib.suppress(OSError, psutil.Error):
        if sys.platform == "linux":
            psutil.Process().ionice(psutil.IOPRIO_CLASS_IDLE)
        elif sys.platform == "win32":
            psutil.Process().ionice(psutil.IOPRIO_LOW)
