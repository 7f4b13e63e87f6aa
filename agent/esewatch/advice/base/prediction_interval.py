"""Prediction interval of a quantity from a few past values, without assuming a normal one.

The next value falls into each of the n + 1 gaps between n past ones equally often; within a gap
it is spread evenly on a logarithmic scale. Past the largest the chance falls as a power of the
value, and the scarcer the values the slower it falls: the 90 % point of 2 to 9 values lies where
Student's prediction interval would have it.
"""

from bisect import bisect_right
from collections.abc import Iterable
from math import exp, log

_ALONE = log(2) / log(5)
"""Scale of both tails of a single value: the 90 % point is twice the value."""
_BLUR = 0.02
"""Range of logarithms that is added to that of the values."""
_LEAST_RANGE = 0.05
"""Of logarithms: values that happened to be equal are not certain."""
_FEW = 1.8
_FEWER = -1.3
_MANY = 0.12
"""Scale of a tail, in ranges of n logarithms: the larger of FEW * (n - 1) ** FEWER and MANY."""
_HIGHEST = 700.0
"""Logarithm of the largest number returned."""


class PredictionInterval:
    """The distribution of the next value after `values`, which are above 0. ValueError: there is
    none."""

    def __init__(self, values: Iterable[float]) -> None:
        logs = sorted(map(log, values))
        if not logs:
            raise ValueError("no values to predict the next one from")
        count = len(logs)
        self._logs = [at + _BLUR * ((place + 0.5) / count - 0.5) for place, at in enumerate(logs)]
        reach = max(self._logs[-1] - self._logs[0], _LEAST_RANGE)
        self._tail = reach * max(_FEW * (count - 1) ** _FEWER, _MANY) if count > 1 else _ALONE

    def quantile(self, share: float) -> float:
        """Quantile: the next value is below it with a probability of `share`, above 0 and below
        1."""
        return exp(min(self._log_at(share), _HIGHEST))

    def beyond(self, reached: float, share: float) -> float:
        """Quantile of a value that is known to be above `reached` (any number)."""
        if reached <= 0:
            return self.quantile(share)
        at = log(reached)
        if at >= self._logs[-1]:
            return exp(min(at - self._tail * log(1 - share), _HIGHEST))
        below = self._share_below(at)
        return max(reached, self.quantile(below + share * (1 - below)))

    def _log_at(self, share: float) -> float:
        logs = self._logs
        place = share * (len(logs) + 1)
        if place <= 1:
            return logs[0] + self._tail * log(place)
        if place >= len(logs):
            return logs[-1] - self._tail * log(len(logs) + 1 - place)
        index = int(place) - 1
        return logs[index] + (place - index - 1) * (logs[index + 1] - logs[index])

    def _share_below(self, at: float) -> float:
        logs = self._logs
        index = bisect_right(logs, at)
        if index == 0:
            place = exp((at - logs[0]) / self._tail)
        else:
            place = index + (at - logs[index - 1]) / (logs[index] - logs[index - 1])
        return place / (len(logs) + 1)
