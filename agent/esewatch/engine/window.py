"""When the maintenance window is open, and which half of it is whose."""

from typing import Final, NamedTuple

from esewatch.engine.plan import WindowPlan

ROUNDING: Final = 1e-3
"""Seconds: a time so shortly before an end is the end."""


class Opening(NamedTuple):
    """One opening of the window, in epoch seconds. `middle` is where the scan takes over."""

    begin: float
    middle: float
    end: float


def opening(window: WindowPlan, now: float, *, scan: bool) -> Opening:
    """The opening that `now` lies in, else the next one.

    Online defragmentation has all of it; with the scan on, the scan has the second half
    (published facts, P1).
    """
    phase = (now - window.offset) % window.period
    begin = now - phase if phase < window.length - ROUNDING else now - phase + window.period
    end = begin + window.length
    return Opening(begin, begin + window.length / 2 if scan else end, end)
