"""Time at work: when an instance was started and its log was read (semantics, section 5).

"Absence is measured in time at work (instance started and not stopped, log read; after a power
loss, which logs no 103, to the last record before the next 102), not on the calendar: a machine
that was off missed nothing."
"""

from bisect import bisect_left

from tests.oracle.chronicle import Event
from tests.oracle.passes import TASK

Spans = list[tuple[float, float]]


SILENCE = 86400.0
"""So long after the last record the log is taken to be read: a computer that is off logs none."""


def hour_end(time: float) -> float:
    """The end of its hour: what was heard of a computer is kept by the hour."""
    return (time // 3600 + 1) * 3600


def hour_begin(time: float) -> float:
    """The begin of its hour."""
    return time // 3600 * 3600


def spans(
    events: list[Event],
    times: list[float],
    own: list[float],
    until: float,
    since: float | None = None,
) -> Spans:
    """When one instance was at work: its events in order, and all that its computer logged.

    An instance whose start was not seen works since its first record, the first one of a database
    since `since`. `own` are the records of the database itself. `until` is when the log was read
    last. What is logged in the hour of a start may come from the same start of the computer.
    """
    found: Spans = []
    for event in events:
        if event.id == 102:
            if since is not None:
                earlier = times[: bisect_left(times, hour_begin(event.when))][-1:]
                heard = own[: bisect_left(own, event.when)][-1:]
                last = max([since, *map(hour_end, earlier), *heard])
                found.append((since, min(last, event.when)))
            since = event.when
        elif event.id in (103, 104):
            if since is not None:
                found.append((since, event.when))
            since = None
        elif since is None and (not found or event.id in TASK or event.id in (105, 302)):
            # It was started, though no 102 says when.
            since = event.when
    if since is not None:
        found.append((since, max(since, until)))
    return found


def worked(every: list[Spans], begin: float, end: float) -> float:
    """The seconds of `begin` to `end` in which any of the instances was at work."""
    total = 0.0
    reached = begin
    for start, stop in sorted(span for each in every for span in each):
        start, stop = max(start, reached), min(stop, end)
        if stop > start:
            total += stop - start
            reached = stop
    return total
