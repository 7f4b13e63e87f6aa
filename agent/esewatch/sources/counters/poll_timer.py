"""Poll timer for sources that poll a running total every few seconds: interval and clock."""

import math
import struct
import time
from collections.abc import Callable, Mapping

from esewatch.fold.channels.clock_guard import latest

STEP = 0.001
"""Seconds between two samples while the wall clock stands behind the last one."""

_POSITION = "clock"
_TIME = struct.Struct("<d")


class PollTimer:
    """Poll timer: the next sample is due at once, then every `interval` seconds."""

    def __init__(self, interval: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._interval = interval
        self._monotonic = monotonic
        self._next = -math.inf

    def due(self) -> bool:
        """True once an interval. Missed intervals are not made up for."""
        now = self._monotonic()
        if now < self._next:
            return False
        late = now - self._next
        self._next = (now if late >= self._interval else self._next) + self._interval
        return True

    def again(self) -> None:
        """The sample failed: the next call of `due` returns True."""
        self._next = -math.inf


class SampleClock:
    """Wall clock for the times of samples: it does not go back, not even over restarts. Only where
    the last sample is later than the fold believes, it was ahead, and goes back."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._last = -math.inf

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """Restore the time of the last sample from the journal, if there is one."""
        saved = positions.get(_POSITION, b"")
        if len(saved) == _TIME.size and math.isfinite(last := float(_TIME.unpack(saved)[0])):
            self._last = last

    def next(self) -> float:
        """Time of a new sample: now, or a millisecond after the last one if that is later."""
        now = self._wall()
        self._last = now if self._last > latest(now) else max(now, self._last + STEP)
        return self._last

    def positions(self) -> dict[str, bytes | None]:
        return {_POSITION: _TIME.pack(self._last)}
