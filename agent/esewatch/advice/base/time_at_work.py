"""The time in which an instance was at work and its log was read (semantics.md 5).

What is missing is measured in it: a machine that was off missed nothing. A start (102) without a
stop (103, 104) before it follows a loss of power, which logs none: it was off from the last record
before it. A start that was not logged shows in the end of its recovery (105, 302) or in what the
database does. Where neither was logged it is taken to be at work, from the first record of its
computer's log to a day after the last one.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from esewatch.fold.channels.hours_heard import last_before
from esewatch.fold.state.rollups import FURTHEST
from esewatch.fold.state.state import Channel, Instance, Transition

Stretch = tuple[float, float]
"""From, to: epoch seconds."""

SILENCE = 86400.0
"""A log that is read has a record at least this often, in seconds."""
AFTER_STOP = 60.0
"""Events of a stop may be logged this many seconds after it."""
_STOP, _START, _MOUNTED, _SIGN = 0, 1, 2, 3


def not_at_work(
    instance: Instance | None,
    transitions: Sequence[Transition],
    channels: Iterable[Channel],
) -> list[Stretch]:
    """Times at which a database's instance was not at work, or not known to be; sorted, disjoint.

    `transitions` are the database's: each shows that it was at work then. `channels` are those of
    its computer; where they show nothing, the log is taken to be read up to now.
    """
    starts = instance.starts if instance is not None else []
    stops = instance.stops if instance is not None else []
    mounts = instance.mounts if instance is not None else []
    signs = [each.time for each in transitions]
    logs = list(channels)
    rows = [each.hours for each in logs]
    if instance is not None:
        rows.append(instance.hours)
    heard = _Heard(rows, sorted([*signs, *stops]))
    edges = sorted(
        [
            *((time, _STOP) for time in stops),
            *((time, _START) for time in starts),
            *((time, _MOUNTED) for time in (mounts if stops else ())),
            *((time, _SIGN) for time in (signs if stops else ())),
        ]
    )
    off: list[Stretch] = []
    if logged := [each.start for channel in logs for each in channel.epochs]:
        off.append((-math.inf, min([*logged, *signs[:1], *(time for time, _ in edges[:1])])))
    stopped: float | None = None
    begun = -math.inf
    for time, edge in edges:
        if edge == _STOP:
            stopped = time if stopped is None else stopped
        elif stopped is not None:
            if edge != _SIGN or time > stopped + AFTER_STOP:
                off.append((stopped, time))
                stopped, begun = None, time
        elif edge == _START:
            last = heard.before(time, begun)
            if math.isfinite(last):
                off.append((last, time))
            begun = time
    if stopped is not None:
        off.append((stopped, math.inf))
    elif any(each.hours for each in logs):
        off.append((heard.before(FURTHEST / 2, begun) + SILENCE, math.inf))
    return off


def at_work(off: Iterable[Stretch], since: float, until: float) -> float:
    """Seconds from `since` to `until` that are not in `off`, 0 where `until` is earlier."""
    lost = sum(max(0.0, min(end, until) - max(begin, since)) for begin, end in off)
    return max(0.0, until - since - lost)


class _Heard:
    """The known records of a computer: the rows of its channels and of the instance."""

    def __init__(self, rows: Sequence[bytearray], signs: Sequence[float]) -> None:
        self._rows = rows
        self._signs = signs

    def before(self, time: float, least: float) -> float:
        """The time of the last record before `time`, to the hour; `least` where that is later."""
        ends = [last_before(rows, time) for rows in self._rows]
        at = bisect_left(self._signs, time)
        known = [*(min(end, time) for end in ends if end is not None), *self._signs[:at][-1:]]
        return max([least, *known])
