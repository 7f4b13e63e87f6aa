"""Findings that were stated, and those that are stated to be over (semantics.md 7).

A finding that stands is stated with 1. One that stood and ended is stated with 0 for 24 hours in
which the agent runs: an alert that outlives its reporter ends by that alone.
"""

from collections.abc import Collection

import msgspec

STATED_SECONDS = 86400.0
STEP_SECONDS = 600.0
"""The rest of the 24 hours is stored in such steps: no journal is written each minute."""


class Stated(msgspec.Struct):
    """Of one database, in the order of their names. A name is `finding severity`."""

    standing: list[str] = []
    over: dict[str, float] = {}
    """Name -> seconds of running for which it is still stated to be over."""


def restated(known: Stated | None, standing: Collection[str], passed: float) -> Stated:
    """The statements now that these stand, `passed` seconds of running after `known`."""
    ended = dict.fromkeys(known.standing, STATED_SECONDS) if known is not None else {}
    before = known.over.items() if known is not None else ()
    over = {name: left - passed for name, left in before if left > passed} | ended
    return Stated(
        standing=sorted(standing),
        over={name: left for name, left in sorted(over.items()) if name not in standing},
    )


def is_news(known: Stated | None, now: Stated) -> bool:
    """True if it is to be stored: the rest of the 24 hours is stored in steps."""
    if known is None:
        return bool(now.standing or now.over)
    steps = [[int(left // STEP_SECONDS) for left in each.over.values()] for each in (known, now)]
    return (
        known.standing != now.standing
        or known.over.keys() != now.over.keys()
        or steps[0] != steps[1]
    )
