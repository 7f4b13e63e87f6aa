"""Times kept as sorted, disjoint spans (first, last): a flood of them takes little room."""

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise

Span = tuple[float, float]


def holds(spans: Sequence[Span], start: float, end: float) -> bool:
    """True if a span has a part from `start` to `end`."""
    place = bisect_right(spans, (end, math.inf))
    return place > 0 and spans[place - 1][1] >= start


def add(spans: list[Span], time: float, *, within: float, most: int) -> None:
    """Add a time; times at most `within` seconds apart are one span, and of more than `most` spans
    the two that lie closest."""
    if not holds(spans, time, time):
        insort(spans, (time, time))
        place = bisect_left(spans, (time, time))
        for at in (place + 1, place):
            if 0 < at < len(spans) and spans[at][0] - spans[at - 1][1] <= within:
                _join(spans, at)
        if len(spans) > most:
            gaps = [after[0] - before[1] for before, after in pairwise(spans)]
            _join(spans, gaps.index(min(gaps)) + 1)


def _join(spans: list[Span], at: int) -> None:
    """Make one span of the one at this place and of the one before it."""
    spans[at - 1 : at + 1] = [(spans[at - 1][0], spans[at][1])]
