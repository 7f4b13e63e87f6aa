"""Time for the engine: real, or virtual where a month passes in seconds.

A step of a task begins at a time that the schedule sets; what the step spends on devices is
added to it. So steps of tasks on different devices may overlap in virtual time, and now() may
go back from a step of one task to the next of another, by less than the earlier step took.
For one task it never does. Times are epoch seconds; a float tells 0.24 µs apart there.
"""

import queue
import time
from typing import Final, Protocol

_LONGEST_WAIT: Final = 1.0
"""Seconds: on Windows no signal is handled before a wait is over."""


class Clock(Protocol):
    """Epoch seconds."""

    def now(self) -> float:
        """The time within the step in hand."""

    def spend(self, seconds: float) -> None:
        """Extend the current step by this many seconds."""


class StepClock(Clock, Protocol):
    """A clock that a schedule leads from step to step."""

    def begin(self, time: float) -> bool:
        """A step begins at `time`, or now if that is past. False: woken up before, it does not."""

    def wakeup(self) -> None:
        """End the wait of `begin` that is on, else the next one. A signal handler may do so."""


class VirtualClock(StepClock):
    """Stands still but for `begin` and `spend`, and never waits."""

    def __init__(self, start: float) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def spend(self, seconds: float) -> None:
        self._now += seconds

    def begin(self, time: float) -> bool:
        """See StepClock. It is that time now, even if it was later in another task's step."""
        self._now = time
        return True

    def wakeup(self) -> None:
        """See StepClock."""


class _Waiting:
    """Waits for the system's time; it cannot be set back, and a wait can be ended."""

    def __init__(self) -> None:
        self._start = time.time() - time.monotonic()
        # Unlike an Event it may be filled by a signal handler in the middle of a wait for it.
        self._wakeups: queue.SimpleQueue[None] = queue.SimpleQueue()

    def now(self) -> float:
        return self._start + time.monotonic()

    def until(self, time: float) -> bool:
        """Wait until that time; True: it has come, False: woken up before."""
        while (left := time - self.now()) > 0:
            try:
                self._wakeups.get(timeout=min(left, _LONGEST_WAIT))
            except queue.Empty:
                continue
            return False
        return True

    def end(self) -> None:
        self._wakeups.put(None)


class PacedClock(VirtualClock):
    """Virtual time that hurries to the system's time and never runs ahead of it.

    A step has the time that was set for it, however late the machine comes to it: what happens
    does not depend on how fast or busy it is.
    """

    def __init__(self, start: float) -> None:
        super().__init__(start)
        self._waiting = _Waiting()

    def behind(self) -> float:
        """Seconds that it has to hurry yet."""
        return max(0.0, self._waiting.now() - self._now)

    def begin(self, time: float) -> bool:
        """See StepClock. Waits until the system's time is `time`."""
        return self._waiting.until(time) and super().begin(time)

    def wakeup(self) -> None:
        self._waiting.end()


class RealClock(StepClock):
    """The system's time when it was made, and what has passed since: it cannot be set back.

    What a step spends is added to the true time until the next step begins. Nothing waits in
    `spend`: the schedule lets that task's next step wait.
    """

    def __init__(self) -> None:
        self._waiting = _Waiting()
        self._spent = 0.0

    def now(self) -> float:
        return self._waiting.now() + self._spent

    def spend(self, seconds: float) -> None:
        self._spent += seconds

    def begin(self, time: float) -> bool:
        """See StepClock. Waits until `time`; a step that is late begins at once."""
        self._spent = 0.0
        return self._waiting.until(time)

    def wakeup(self) -> None:
        self._waiting.end()
