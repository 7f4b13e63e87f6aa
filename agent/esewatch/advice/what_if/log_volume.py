"""Log volume of a night's maintenance: logs that are shipped to copies, and held by a backup."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Final

from esewatch.advice.base.estimate import Estimate, WhatIfChange, middle, ranged
from esewatch.advice.base.finding import counted
from esewatch.advice.history.history import History
from esewatch.fold.state.rollups import Day, day_of

LATEST_DAYS = 28
LEAST_DAYS = 7
MOST_BYTES: Final = 1e15
"""A day: damage beyond."""
FIRST_ZEROING = (2.0, 5.0)
"""Factor on the logs of online defragmentation (published facts P1); later passes about as many."""


def defrag_log(history: History, change: WhatIfChange, now: float) -> Estimate:
    """Bytes that online defragmentation would log in a night on which it runs."""
    days = _logged(history, now)
    if len(days) < LEAST_DAYS:
        return Estimate(
            sentence="Online Defrag Log Bytes/sec was sampled on"
            f" {counted(len(days), 'day', 'days')} on which it ran; {LEAST_DAYS} are needed"
        )
    low, likely, high = middle([day.log_bytes for day in days])
    said = f"from {counted(len(days), 'day', 'days')}{_files(days)}{_shared(history)}"
    if change.window is None:
        return ranged((low, likely, high), said, said)
    if history.window is None or history.window.duration <= 0:
        return Estimate(sentence="no window is configured")
    times = change.window / history.window.duration
    said += (
        f"; published figures are proportional to the window, {times:.2g} times as much, but work"
        " may move to another night: the range goes from no change to all of it"
    )
    low, high = low * min(1.0, times), high * max(1.0, times)
    return ranged((low, likely * math.sqrt(times), high), said, said)


def zeroing_log(history: History, change: WhatIfChange, now: float) -> Estimate:
    """Bytes that a scan which zeroes pages would log in a night, beside online defragmentation."""
    today = defrag_log(history, WhatIfChange(window=change.window), now)
    if today.values is None:
        return today
    low, likely, high = today.values
    if change.zeroing == "first":
        least, most = FIRST_ZEROING
        times = f"the first pass logs {least:g} to {most:g} times as much as online defragmentation"
        factors = (low * least, likely * math.sqrt(least * most), high * most)
    else:
        times = "later passes log about as much as online defragmentation"
        factors = (low, likely, high)
    said = f"published, not measured here: {times}; {today.sentence}"
    return ranged(factors, said, said)


def _logged(history: History, now: float) -> list[Day]:
    """The whole days of the last four weeks on which it logged something."""
    if not math.isfinite(now):
        return []
    today = day_of(now)
    return [
        day
        for day in history.days
        if today - LATEST_DAYS <= day.day < today and 0 < day.log_bytes <= MOST_BYTES
    ]


def _files(days: Sequence[Day]) -> str:
    files = [day.log_generations for day in days if 0 < day.log_generations <= MOST_BYTES]
    return f" (median of all log files written: {median(files):,.0f} per day)" if files else ""


def _shared(history: History) -> str:
    others = history.shares_instance
    return f"; for the {others} databases of its instance together" if others > 1 else ""
