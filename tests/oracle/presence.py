"""Time at work: when an instance was started and its log was read (semantics, section 5).

"Absence is measured in time at work (instance started and not stopped, its database not detached,
log read; ... after a power loss, which logs no 103, to the last record before the next 102), not on
the calendar: a machine that was off missed nothing."
"""

from bisect import bisect_left
from collections.abc import Iterable

from tests.oracle.chronicle import FAR, TOLERANCE, Event
from tests.oracle.facts import (
    BEGINS_AGAIN,
    DIVERGENCE_OF_ACTIVE,
    IO_ERRORS,
    LOGICAL,
    NOT_AT_WORK,
    PAGE_AT,
    SPOILS,
)
from tests.oracle.passes import PASSIVE, TASK

Spans = list[tuple[float, float]]


COMES = frozenset({325, 326, 328})
"""A database comes: its instance was started."""
MINUTE = 60.0
SILENCE = 86400.0
"""So long after the last record the log is taken to be read: a computer that is off logs none."""


def hour_end(time: float) -> float:
    """The end of its hour: what was heard of a computer is kept by the hour."""
    return (time // 3600 + 1) * 3600


def hour_begin(time: float) -> float:
    """The begin of its hour."""
    return time // 3600 * 3600


def in_sequence(events: Iterable[Event]) -> list[Event]:
    """The events of an instance in order, its starts and stops by their numbers.

    "Starts and stops of one instance are ordered by record number ..., never by a clock that was
    set back between them", also where what else was logged then leaves them in two lives of the
    log: else a database would be detached that is at work.
    """
    ordered = sorted(events, key=lambda each: each.order)
    lives = [each for each in ordered if each.id in BEGINS_AGAIN | COMES | NOT_AT_WORK]
    placed = [
        event._replace(
            when=max(
                [
                    event.when,
                    *(
                        each.when
                        for each in lives
                        if 0 < event.number - each.number <= FAR
                        and each.number
                        and each.channel == event.channel
                        and event.when < each.when <= event.when + TOLERANCE
                    ),
                ]
            )
        )
        if event in lives
        else event
        for event in ordered
    ]
    return sorted(placed, key=lambda each: each.order)


def spans(
    events: list[Event],
    times: list[float],
    own: list[float],
    reads: list[float],
    until: float,
    *,
    since: float | None = None,
) -> Spans:
    """When one instance was at work: its events in order, and all that its computer logged.

    An instance whose start was not seen works since its first record, the first one of a database
    since `since`. `own` are the records of the database itself, `reads` those that a page of it was
    read. `until` is when the log was read last. What else is logged in the hour of a start may come
    from the same start of the computer. What else of the instance is logged after a stop shows it
    to the hour.
    """
    found: Spans = []
    exact = {*own}
    shown = sorted([*own, *reads])
    gone = float("-inf")
    for event in in_sequence(events):
        if event.id == 102:
            if since is not None:
                earlier = times[: bisect_left(times, hour_begin(event.when))][-1:]
                heard = shown[: bisect_left(shown, event.when)][-1:]
                last = max([since, *map(hour_end, earlier), *heard])
                found.append((since, min(last, event.when)))
            since = event.when
        elif event.id in (103, 104):
            if since is not None:
                found.append((since, event.when))
            since, gone = None, event.when
        elif event.id not in NOT_AT_WORK and (since is None or event.when < since):
            # "records of any kind that name the instance, 105, 302 and 326 too, but not 103, 104,
            # 327, show that it is at work"
            if event.id in BEGINS_AGAIN or event.id in COMES or event.when in exact:
                since = event.when
            elif since is None and hour_begin(event.when) > gone:
                since = hour_end(event.when)
    if since is not None:
        found.append((since, max(since, until)))
    return found


def in_replay(event: Event, life: Iterable[Event]) -> bool:
    """Whether it was logged in replay.

    "outside replay (`%2` R or U, or between a 102 or 300 and its 105: replay logs one on every
    passive copy)". Not every engine logs 105: 302 and 304 end it too, and maintenance of the
    database that no replay has.
    """
    ends = {103, 104, 105, 302, 304}
    before = [
        each.id in (102, 300)
        for each in life
        if each.instance == event.instance and each < event
        if each.id in {102, 300, *ends}
        or (each.database == event.database and each.id in TASK and each.id not in PASSIVE)
    ]
    return event.replays or (bool(before) and before[-1])


def detached(mine: Iterable[Event], life: list[Event]) -> Spans:
    """When the database was detached: `mine` are the events that name it, of no tool.

    "A 327 detaches only outside replay ... and at its own path ... A later 102, 105, 300-304, 326,
    328, scan or page event at that path ends it", and a 325: what is logged of a scan or a page
    within a minute comes of the detach. The last one goes on. Where its instance stopped, that is
    what counts.
    """
    found: Spans = []
    since: float | None = None
    own = {event for event in mine if not event.in_snapshot}
    places = {event.place for event in own}
    events = in_sequence({*own, *life})
    for event in events:
        if event.place in places and event.id == 327:
            if since is None and not in_replay(event, events):
                since = event.when
        elif since is not None and (
            event.id in BEGINS_AGAIN
            or event.id in (103, 104)
            or (
                event.place in places
                and (
                    event.id in COMES
                    or ((event.id in TASK or is_read(event)) and event.when > since + MINUTE)
                )
            )
        ):
            found.append((since, event.when))
            since = None
    return found if since is None else [*found, (since, float("inf"))]


def is_read(event: Event) -> bool:
    """Whether a page of its database was read: a page event, or another error of its content."""
    bad = event.id in SPOILS | LOGICAL | PAGE_AT.keys() or bool(event.page_error)
    return bad and event.id not in IO_ERRORS | DIVERGENCE_OF_ACTIVE


def without(every: Spans, gone: Spans) -> Spans:
    """The spans less those in which the database was detached."""
    for low, high in gone:
        every = [
            part
            for start, stop in every
            for part in ((start, min(stop, low)), (max(start, high), stop))
            if part[0] < part[1]
        ]
    return every


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
