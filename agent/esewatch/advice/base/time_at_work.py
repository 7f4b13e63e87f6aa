"""The time in which a database was at work: attached by a running instance whose log was read.

What is missing is measured in it: a machine that was off missed nothing (semantics.md 5). A start
(102) without a stop (103, 104) before it follows a loss of power, which logs none: it was off from
the last record before it. A start that was not logged shows in any record that names the instance.
Where neither was logged it is taken to be at work, from the first record of its computer's log to a
day after the last one. Starts, stops, attaches and detaches are ordered by record number where the
clock was set back between them.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from esewatch.fold.channels.hours_heard import first_after, last_before
from esewatch.fold.channels.set_back import MOST_RECORDS, MOST_SECONDS
from esewatch.fold.identity.owners import instance_label
from esewatch.fold.identity.roles import PASSIVE_FAMILY
from esewatch.fold.instances.instances import LIFE
from esewatch.fold.passes.passes import DETACH
from esewatch.fold.passes.transitions import ATTACHMENT, name_number
from esewatch.fold.state.rollups import FURTHEST, HOUR_SECONDS
from esewatch.fold.state.state import (
    START,
    STOP_EVENTS,
    Channel,
    Database,
    Instance,
    Lived,
    Transition,
)

Stretch = tuple[float, float]
"""From, to: epoch seconds."""

SILENCE = 86400.0
"""A log that is read has a record at least this often, in seconds."""
AFTER_STOP = 60.0
"""Events of a stop or a detach may be logged this many seconds after it."""
_SIGN, _RUNNING, _ATTACHED, _READ = 0, 1, 2, 3
"""In the place of an event id: a scan of a passive copy; other maintenance, which no replay has;
the database was attached; an error of a page, which a tool may have met."""
_OWN_SIGNS = {
    "stopped": frozenset({_SIGN, _RUNNING}),
    "detached": frozenset({_SIGN, _RUNNING, _READ}),
}
_DETACHED = -DETACH
_STOPPED = frozenset(-each for each in STOP_EVENTS)
"""Ends are below zero: they come first in a second that no number divides."""
_REPLAY_BEGINS = frozenset({START, 300})
_REPLAY_ENDS = _STOPPED | {105, 302, 304, _RUNNING}
"""Not every engine logs 105."""
_ENDS_ALL = (LIFE | {_ATTACHED}) - STOP_EVENTS - ATTACHMENT


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
    edges = _edges(entry, instance.life if instance is not None else [], transitions)
    heard = _Heard([*(each.hours for each in logs), *hours], [time for time, _, _ in edges])
    off: list[Stretch] = []
    if logged := [each.start for channel in logs for each in channel.epochs]:
        off.append((-math.inf, min([*logged, *(time for time, _, _ in edges[:1])])))
    state: Literal["", "stopped", "detached"] = ""
    since = gone = 0.0
    begun, replaying = -math.inf, False
    for time, _, code in [*edges, (math.inf, 0, _SIGN)]:
        if state == "stopped" and time - gone > HOUR_SECONDS:
            shown = min(first_after(each, gone) for each in hours)
            if shown < time:
                off.append((since, shown))
                state, begun = "", shown
        if code in (_SIGN, _READ) and not state:
            continue
        if code in _STOPPED:
            since, gone = (since if state else time), (gone if state == "stopped" else time)
            state = "stopped"
        elif code == _DETACHED:
            if not replaying and (not state or time - gone > AFTER_STOP):
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
        replaying = code in _REPLAY_BEGINS or (replaying and code not in _REPLAY_ENDS)
    if state:
        off.append((since, math.inf))
    elif any(each.hours for each in logs):
        off.append((heard.before(FURTHEST / 2, begun) + SILENCE, math.inf))
    return Presence(off, since if state == "detached" else None)


def at_work(off: Iterable[Stretch], since: float, until: float) -> float:
    """Seconds from `since` to `until` that are not in `off`, 0 where `until` is earlier."""
    lost = sum(max(0.0, min(end, until) - max(begin, since)) for begin, end in off)
    return max(0.0, until - since - lost)


def _edges(
    entry: Database, life: Iterable[Lived], transitions: Iterable[Transition]
) -> list[Lived]:
    """The facts that show whether the database is at work, in their order."""
    names = ("", instance_label(entry), *entry.instances)
    own = {name_number(each) for each in names}
    ordered = [
        (time, number, -event if event in STOP_EVENTS else event) for time, number, event in life
    ]
    signs = []
    for each in transitions:
        event = each.event_id
        if event not in ATTACHMENT:
            code = _SIGN if event in PASSIVE_FAMILY else _RUNNING
            signs.append((each.time, each.record_id, code))
        elif each.fields.get("instance") in own:
            code = _DETACHED if event == DETACH else _ATTACHED
            ordered.append((each.time, each.record_id, code))
    errors = {time for span in entry.page_error_spans for time in span if time}
    errors.difference_update(entry.io_error_times)
    errors.update(entry.page_error_last.values())
    signs += [(time, 0, _READ) for time in errors]
    return sorted([*_by_number(ordered), *signs])


def _by_number(rows: list[Lived]) -> list[Lived]:
    """No row before one with a lower number of about its time: the clock was set back."""
    rows.sort()
    numbers = [number for _, number, _ in rows if number]
    if all(one <= other for one, other in pairwise(numbers)):  # as in most logs
        return rows
    for at, (time, number, code) in enumerate(rows):
        for after in range(at + 1, len(rows) if number else 0):
            late, before, _ = rows[after]
            if late - time > MOST_SECONDS:
                break
            if before and 0 < number - before <= MOST_RECORDS:
                rows[at] = (late, number, code)
    return rows


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
