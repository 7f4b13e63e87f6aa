"""The time in which a database was at work: attached by a running instance whose log was read.

What is missing is measured in it, or in whole windows: a machine that was off missed nothing
(semantics.md 5). A start (102) without a stop (103, 104) before it follows a loss of power, which
logs none: it was off from the last record before it. A start that was not logged shows in any
record that names the instance. Where neither was logged it is taken to be at work, from the first
record of its computer's log to a day after the last one.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from esewatch.config import DAYS, Settings, Window, window_for
from esewatch.fold.channels.hearing import (
    first_after,
    last_before,
)
from esewatch.fold.instances.instances import LIFE
from esewatch.fold.passes.passes import DEFAULT_STALE_SECONDS
from esewatch.fold.passes.stops import ATTACHED, DETACHED, READ, RUNNING, SIGN, STOPPED, edges
from esewatch.fold.passes.transitions import ATTACHMENT
from esewatch.fold.state.rollups import FURTHEST, HOUR_SECONDS
from esewatch.fold.state.state import START, STOP_EVENTS, Channel, Database, Instance, Transition

DAY = 86400.0


def stale_seconds(database: Database, settings: Settings) -> float:
    """Silence after which an open pass no longer counts as running (semantics.md 2). Two windows
    where one is configured, else 7 days."""
    return two_windows(window_for(settings, database.database, database.computer))


def one_window(window: Window | None) -> float:
    """One window; half of the default for two where none is configured."""
    if window is None or not window.days:
        return DEFAULT_STALE_SECONDS / 2
    return max(_between(window)) * DAY + window.duration


def two_windows(window: Window | None) -> float:
    """Two windows; 7 days where none is configured."""
    if window is None or not window.days:
        return DEFAULT_STALE_SECONDS
    between = _between(window)
    following = [*between[1:], between[0]]
    pairs = [one + next_one for one, next_one in zip(between, following, strict=True)]
    return max(pairs) * DAY + window.duration


def _between(window: Window) -> list[int]:
    at = sorted({DAYS.index(day) for day in window.days})
    return [later - day for day, later in zip(at, [*at[1:], at[0] + len(DAYS)], strict=True)]


Stretch = tuple[float, float]
"""From, to: epoch seconds."""

SILENCE = 86400.0
"""A log that is read has a record at least this often, in seconds."""
AFTER_STOP = 60.0
"""Events of a stop or a detach may be logged this many seconds after it."""
_OWN_SIGNS = {"stopped": frozenset({SIGN, RUNNING}), "detached": frozenset({SIGN, RUNNING, READ})}
_ENDS_ALL = (LIFE | {ATTACHED}) - STOP_EVENTS - ATTACHMENT


class Presence(NamedTuple):
    off: list[Stretch]
    """Times at which the database was not at work, or not known to be; sorted, disjoint."""
    detached: float | None = None
    """Since when it is detached (epoch seconds) while its instance goes on. None: it is not."""


def presence(
    entry: Database,
    instance: Instance | None,
    transitions: Iterable[Transition],
    channels: Iterable[Channel] = (),
) -> Presence:
    """The presence of a database. `transitions` are its own, `channels` those of its computer;
    where they show nothing, the log is taken to be read up to now."""
    logs = list(channels)
    hours = [instance.hours] if instance is not None else []
    rows = edges(entry, instance.life if instance is not None else [], transitions)
    heard = _Heard([*(each.hours for each in logs), *hours], [time for time, _, _ in rows])
    off: list[Stretch] = []
    if logged := [each.start for channel in logs for each in channel.epochs]:
        off.append((-math.inf, min([*logged, *(time for time, _, _ in rows[:1])])))
    state: Literal["", "stopped", "detached"] = ""
    since = gone = 0.0
    begun = -math.inf
    for time, _, code in [*rows, (math.inf, 0, SIGN)]:
        if state == "stopped" and time - gone > HOUR_SECONDS:
            shown = min(first_after(each, gone) for each in hours)
            if shown < time:
                off.append((since, shown))
                state, begun = "", shown
        if code in (SIGN, READ) and not state:
            continue
        if code in STOPPED:
            since, gone = (since if state else time), (gone if state == "stopped" else time)
            state = "stopped"
        elif code == DETACHED:
            if not state or time - gone > AFTER_STOP:
                state, since, gone = "detached", (since if state else time), time
        elif state:
            # Of another database of its instance: it says that the instance was started.
            of_instance = state == "stopped" and code in ATTACHMENT
            of_database = code in _OWN_SIGNS[state] and gone + AFTER_STOP < time < math.inf
            if code in _ENDS_ALL or of_instance or of_database:
                off.append((since, time))
                state, begun = "", time
        elif code == START:
            last = heard.before(time, begun)
            if math.isfinite(last):
                off.append((last, time))
            begun = time
    if state:
        off.append((since, math.inf))
    elif any(each.hours for each in logs):
        off.append((heard.before(FURTHEST / 2, begun) + SILENCE, math.inf))
    return Presence(off, since if state == "detached" else None)


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
