"""Scheduler of the tasks: one step at a time, in an order that depends on time alone."""

import heapq
import math
from collections.abc import Generator
from contextlib import ExitStack

from eselab.base.clock import StepClock

Task = Generator[float, None, None]
"""Each `yield` of seconds: do my next step so much later (0: as soon as the others had their
turn). A step should be short: what it spends on a device lets others of that device wait."""


class Schedule:
    """Runs the task whose turn is the earliest; of those with the same time the first to ask."""

    def __init__(self, clock: StepClock) -> None:
        self._clock = clock
        self._waiting: list[tuple[float, int, Task]] = []
        self._asked = 0
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """True if `stop` was called."""
        return self._stopped

    def start(self, task: Task, *, after: float = 0.0) -> None:
        """Let `task` begin in `after` seconds. A step of another task may do this."""
        self._asked += 1
        heapq.heappush(self._waiting, (self._clock.now() + after, self._asked, task))

    def run(self, until: float | None = None) -> None:
        """Do steps until no task is left, the next would begin at or after `until`, or `stop`.

        Tasks that are left go on with the next call, unless it was stopped. What a task raises
        comes through: that task is gone, the others go on with the next call. The clock stays
        where the last step left it. ValueError: a task yielded less than 0 or no number.
        """
        waiting, clock = self._waiting, self._clock
        end = math.inf if until is None else until
        while waiting and not self._stopped and waiting[0][0] < end:
            if not clock.begin(waiting[0][0]):
                continue
            task = heapq.heappop(waiting)[2]
            seconds = next(task, None)
            if seconds is None:
                continue
            if not seconds >= 0:
                raise ValueError(f"a task asked for its next step {seconds} s later")
            self._asked += 1
            heapq.heappush(waiting, (clock.now() + seconds, self._asked, task))

    def stop(self) -> None:
        """Let `run` return after the step in hand, for good. A signal handler may do so.

        The tasks stay as they are, so that their owners can end them in their own way.
        """
        self._stopped = True
        self._clock.wakeup()

    def close(self) -> None:
        """Close the tasks that are left, in the order of their turns.

        All are closed even where one raises; the last exception comes through.
        """
        with ExitStack() as closing:
            for _, _, task in sorted(self._waiting, reverse=True):
                closing.callback(task.close)
            self._waiting.clear()
