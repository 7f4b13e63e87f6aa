"""What an alerting rule makes of the values of its expression: when it fires.

promtool does not evaluate alerts over the past, so this is done here as Prometheus does it;
test_quality_firing.py holds it against `promtool test rules`.
"""

from collections.abc import Collection
from typing import NamedTuple


class Firing(NamedTuple):
    """An alert fires at each evaluation from `start` to `end`, both included."""

    start: float
    end: float


def firing(
    present: Collection[float], times: Collection[float], hold: float, keep: float
) -> list[Firing]:
    """When an alert of one label set fires.

    `times` are those of the evaluations, ascending, `present` those of them at which the expression
    had a value, `hold` the seconds of `for` and `keep` those of `keep_firing_for`.
    """
    found: list[Firing] = []
    active = left = started = ended = None
    for time in times:
        if time in present:
            active = time if active is None else active
            left = None
        elif started is None:
            active = None
        else:
            left = time if left is None else left
            if time - left >= keep:
                found.append(Firing(started, ended or started))
                active = left = started = None
        if active is not None and time - active >= hold:
            started = time if started is None else started
            ended = time
    if started is not None:
        found.append(Firing(started, ended or started))
    return found
