"""A ratio that is no longer what it was (semantics.md 7): pages read to pages freed of the last 7
days against the 28 days before, as ratios of sums over whole days."""

from collections.abc import Iterable

from esewatch.advice.base.detail import Detail
from esewatch.advice.history.history import History
from esewatch.fold.state.rollups import DAY_SECONDS, Day, day_of

LATEST, BEFORE = 7, 28
"""Days that are compared."""
LEAST_FREED = 1000
"""Pages freed in both, so that neither is chance."""
LESS, MORE = 0.5, 2.0
"""A ratio that is between these times what it was has not changed."""


def ratio_drift(history: History, now: float) -> Detail | None:
    """The detail of a database as of `now` (epoch seconds), None without one.

    Nothing is said where one of the counters was not sampled at some time of these days: a ratio
    of what is not of the same time would drift by itself.
    """
    if history.model != "window" or history.tier != "watched":
        return None
    today = day_of(now)
    since = now - (LATEST + BEFORE + 1) * DAY_SECONDS
    if any(end > since for _, end in history.sampled_alone):
        return None
    latest = _ratio(each for each in history.days if today - LATEST <= each.day < today)
    first = today - LATEST - BEFORE
    before = _ratio(each for each in history.days if first <= each.day < today - LATEST)
    if latest is None or before is None or LESS * before <= latest <= MORE * before:
        return None
    return Detail(
        "defrag_ratio_drift",
        "info",
        f"in {LATEST} days online defragmentation read {latest:,.1f} pages for each page it freed,"
        f" {latest / before:.2f} times the {before:,.1f} of the {BEFORE} days before",
    )


def _ratio(days: Iterable[Day]) -> float | None:
    """None where too little was freed, or nothing read."""
    read = freed = 0.0
    for each in days:
        read += each.pages_read
        freed += each.pages_freed
    return read / freed if freed >= LEAST_FREED and read > 0 else None
