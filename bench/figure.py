"""What a bench hands out, and how measurements are repeated."""

import statistics
import time
from collections.abc import Callable
from typing import Literal, NamedTuple


class Figure(NamedTuple):
    """One comparison. `measured` and `limit` are plain numbers of the same unit.

    `what` is the comparison in words, `details` the two sides it was made of. A figure
    without a limit is reported beside another one and judged by nobody.
    """

    what: str
    measured: float
    unit: str
    must_be: Literal["at least", "under", ""] = ""
    limit: float = 0.0
    details: str = ""

    @property
    def holds(self) -> bool:
        """Whether the limit is kept."""
        match self.must_be:
            case "at least":
                return self.measured >= self.limit
            case "under":
                return self.measured < self.limit
        return True


def paired(
    ours: Callable[[], object],
    peer: Callable[[], object],
    rounds: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float, float]:
    """Median seconds of ours, of the peer, and the median of peer/ours taken pair by pair.

    One round of each to warm up; then ours, peer, ours, peer, so that a machine that
    changes its speed changes both. With `time.process_time` of work in this process, what others
    do on the machine matters less.
    """
    ours()
    peer()
    pairs = [(_seconds(ours, clock), _seconds(peer, clock)) for _ in range(rounds)]
    return (
        statistics.median(pair[0] for pair in pairs),
        statistics.median(pair[1] for pair in pairs),
        statistics.median(pair[1] / pair[0] for pair in pairs),
    )


def _seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    begin = clock()
    work()
    return clock() - begin
