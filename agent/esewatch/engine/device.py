"""A disk whose requests take time: one at a time, with a seek unless they go on where one ended."""

import itertools
from collections.abc import Iterator

from esewatch.engine.clock import Clock


class Device:
    """`seek`: seconds, rotation included; `rate`: bytes a second.

    With seek 0 and an infinite rate only what `slow` asks for takes time.
    """

    def __init__(self, clock: Clock, *, seek: float, rate: float) -> None:
        self._clock = clock
        self._seek = seek
        self._rate = rate
        self._free_at = 0.0
        self._last: tuple[object, int] | None = None
        self._slower: Iterator[float] = iter(())

    def use(self, file: object, offset: int, length: int) -> None:
        """A request of the step in hand: wait for its turn and for its end.

        `file` says which bytes of the device these are: equal for the same file, and only then.
        """
        now = self._clock.now()
        cost = length / self._rate + next(self._slower, 0.0)
        if self._last != (file, offset):
            cost += self._seek
        self._last = (file, offset + length)
        self._free_at = max(now, self._free_at) + cost
        self._clock.spend(self._free_at - now)

    def slow(self, seconds: float, count: int) -> None:
        """The next `count` requests take so much longer, after those of earlier calls."""
        self._slower = itertools.chain(self._slower, itertools.repeat(seconds, count))
