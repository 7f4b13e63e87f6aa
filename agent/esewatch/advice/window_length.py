"""From the wish for a longer or shorter window to a length (semantics.md 6.3)."""

import math
from collections.abc import Sequence
from typing import Literal

from esewatch.advice.openings import Used

STEP = 900.0
"""Lengths are whole quarters of an hour."""
LEAST = 3600.0
OTHER_TASKS = 900.0
"""What the tasks of a window other than defragmentation and scan take (published facts P1)."""
LONGEST = 86400.0


def least_length(openings: Sequence[Used]) -> float:
    """The length in seconds that a window must keep, by what the scan took in `openings`.

    One hour; with a scan, whose half of the window it is, twice its usual need and what the
    other tasks take. Usual: nine of ten openings took no more.
    """
    needs = sorted(each.scanned for each in openings if each.scanned > 0)
    if not needs:
        return LEAST
    usual = needs[math.ceil(0.9 * len(needs)) - 1]
    return max(LEAST, _up(OTHER_TASKS + 2 * usual))


def fitted(
    configured: float, direction: Literal["shrink", "grow"], factor: float, least: float
) -> float:
    """The length nearest to `configured` x `factor` that is allowed; `configured` if none is.

    At most half as long or twice as long, never under `least`, never over a day.
    """
    if direction == "shrink":
        wanted = max(_down(configured * factor), _up(configured / 2), least)
        return min(configured, wanted)
    wanted = min(_up(configured * min(factor, 2.0)), _down(configured * 2), LONGEST)
    return max(configured, wanted)


def _down(seconds: float) -> float:
    return math.floor(seconds / STEP) * STEP


def _up(seconds: float) -> float:
    return math.ceil(seconds / STEP) * STEP
