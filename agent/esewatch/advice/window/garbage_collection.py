"""Online defragmentation that is part of garbage collection, and when it is overdue.

A directory collects garbage every 12 hours or each night; DFSR has no fixed interval, so that its
own history decides (semantics.md 5). Time is time at work.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from esewatch.advice.base.finding import Finding, cycles_torn, defrag_overdue
from esewatch.advice.base.time_at_work import at_work
from esewatch.advice.history.history import History
from esewatch.advice.history.ledger import KNOWN_LONG, NEVER
from esewatch.fold.state.state import Pass

CYCLES = 3
LEAST = CYCLES * 12 * 3600.0
"""Seconds in which it should complete."""
LEAST_INTERVALS = 2
LATEST = 8


class Cycles(NamedTuple):
    silent: float
    """Seconds at work without a completion; since events were last missing."""
    allowed: float | None
    """Seconds; None where the expected interval is unknown."""
    completed: float | None
    lost: bool
    """Events are missing since."""
    torn: int
    """Cycles in a row, up to the last one, that were interrupted or resumed (passes/runs.py)."""
    known: bool
    """It is watched and known for long: what is missing is reported."""
    logged: bool
    """Its log has an event of a pass (704 alone, too), or a start of its instance: it would have
    shown a completion."""

    @property
    def late(self) -> bool:
        overdue = self.allowed is not None and self.silent > self.allowed
        return self.known and self.logged and overdue


def cycles(history: History, now: float) -> Cycles:
    completed = _completions(history.defrag_passes, now)[-1:]
    since = completed[0] if completed else history.first_seen or math.inf
    gaps = [end for begin, end, _ in history.event_gaps if end > since and begin < now]
    known_long = history.first_seen > 0 and now - history.first_seen >= KNOWN_LONG
    return Cycles(
        silent=at_work(history.off, max([since, *gaps]), now),
        allowed=allowed_seconds(history, now),
        completed=completed[0] if completed else None,
        lost=bool(gaps),
        torn=history.defrag_torn,
        known=known_long and history.tier == "watched",
        logged=bool(history.defrag_passes or history.defrag_torn) or history.started is not None,
    )


def allowed_seconds(history: History, now: float = math.inf) -> float | None:
    if not _is_dfsr(history):
        return LEAST
    ends = _completions(history.defrag_passes, now)[-LATEST:]
    between = [at_work(history.off, one, two) for one, two in pairwise(ends)]
    return max(LEAST, CYCLES * median(between)) if len(between) >= LEAST_INTERVALS else None


def overdue_defrag(history: History, now: float) -> Finding | None:
    if history.model != "garbage_collection" or history.tier != "watched" or history.off == NEVER:
        return None
    found = cycles(history, now)
    if found.late and found.allowed is not None:
        return defrag_overdue(found.completed, found.silent, found.allowed)
    return cycles_torn(found.torn) if found.torn >= CYCLES else None


def _is_dfsr(history: History) -> bool:
    label = history.database.lower()
    return history.process.lower().startswith("dfsr") or label.endswith("dfsr.db")


def _completions(passes: Sequence[Pass], now: float) -> list[float]:
    ends = (each.ended for each in passes if each.outcome == "completed")
    return sorted(end for end in ends if end is not None and -math.inf < end <= now)
