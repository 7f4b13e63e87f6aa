"""The write-back cache of a storage controller: data written that is not on the drives yet."""

from bisect import bisect_left, insort
from typing import Final

LINE: Final = 4096
"""Bytes that are kept, counted and written as one."""

_RUN: Final = 64
"""Lines that are written to a drive at once, at most: 256 KiB."""
_RUNS: Final = 8
"""Candidates for the next to write."""
_CROWDED: Final = 0.75
"""Share of the cache from which on writing it out no longer waits for an idle drive."""


def lines_of(begin: int, end: int) -> range:
    """The lines of a drive in which these bytes lie."""
    return range(begin // LINE, -(-end // LINE))


class WriteCache:
    """Lines of several drives, in all at most `size` bytes.

    A line that is written again before it goes to its drive takes no more room; one that is on
    its way does, and goes there once more, later. So each drive has of each byte what was
    written last.
    """

    def __init__(self, size: int, drives: int) -> None:
        self.limit = size // LINE
        self._used = 0
        self._waiting: list[set[int]] = [set() for _ in range(drives)]
        self._sorted: list[list[int]] = [[] for _ in range(drives)]
        self._since = [0.0] * drives

    @property
    def is_crowded(self) -> bool:
        """True if it is time to write out, whatever else is asked of the drives."""
        return self._used >= _CROWDED * self.limit

    def put(self, at: float, drive: int, line: int) -> bool:
        """Take a line, or say that there is no room for it."""
        waiting = self._waiting[drive]
        if line in waiting:
            return True
        if self._used >= self.limit:
            return False
        if not waiting:
            self._since[drive] = at
        waiting.add(line)
        insort(self._sorted[drive], line)
        self._used += 1
        return True

    def has(self, drive: int, lines: range) -> bool:
        """True if all these lines are cached: they can be read from here then."""
        return self._waiting[drive].issuperset(lines)

    def since(self, drive: int) -> float | None:
        """The time from which there is something to write to a drive, None: there is nothing."""
        return self._since[drive] if self._waiting[drive] else None

    def runs(self, drive: int, position: int) -> list[range]:
        """The next runs of lines behind this byte of a drive, round from its end to its begin."""
        lines = self._sorted[drive]
        first = bisect_left(lines, position // LINE)
        runs: list[range] = []
        for at in range(first, first + len(lines)):
            line = lines[at % len(lines)]
            if runs and runs[-1].stop == line and len(runs[-1]) < _RUN:
                runs[-1] = range(runs[-1].start, line + 1)
            elif len(runs) == _RUNS:
                break
            else:
                runs.append(range(line, line + 1))
        return runs

    def take(self, drive: int, run: range) -> None:
        """This run is on its way to its drive; its room is not free yet."""
        lines = self._sorted[drive]
        first = bisect_left(lines, run.start)
        del lines[first : first + len(run)]
        self._waiting[drive].difference_update(run)

    def written(self, run: range) -> None:
        """It is there: its room is free."""
        self._used -= len(run)
