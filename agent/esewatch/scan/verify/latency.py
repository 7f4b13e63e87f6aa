"""Read latency: percentiles of any number of reads in bounded memory."""

import math
from bisect import bisect_left
from collections import Counter
from itertools import accumulate

from esewatch.scan.results import Latency

_STEPS = 20
"""Classes for each factor of e: a percentile is right within 2.5 %."""

_SHORTEST = 1e-7


class Latencies:
    """Counts seconds in classes of equal ratio."""

    def __init__(self) -> None:
        self._classes: Counter[int] = Counter()

    def add(self, seconds: float) -> None:
        """Take one read."""
        self._classes[round(math.log(max(seconds, _SHORTEST)) * _STEPS)] += 1

    def percentiles(self) -> Latency | None:
        """Median and 99th percentile; None without a read."""
        if not self._classes:
            return None
        return Latency(p50=self._at(0.5), p99=self._at(0.99))

    def _at(self, share: float) -> float:
        ordered = sorted(self._classes)
        counted = list(accumulate(self._classes[at] for at in ordered))
        return math.exp(ordered[bisect_left(counted, share * counted[-1])] / _STEPS)
