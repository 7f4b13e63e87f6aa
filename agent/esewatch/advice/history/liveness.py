"""Liveness: evidence that an engine is at work, and that its log is read."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from esewatch.fold.identity.roles import family
from esewatch.fold.state.state import Channel, Instance, Pass, Transition

LOG = "application"
"""Channel in which ESE and ESENT log (ese-facts 1.1)."""
NOTICE = 744
"""Progress of a scan: every six hours, where the level of logging is medium or more."""
_SCAN_EVENTS = frozenset({*range(717, 727), *range(732, 739), *range(744, 748)})
_SCAN_COUNTERS = ("|database maintenance pages read", "|online maintenance (db scan) pages read")


class Liveness(NamedTuple):
    """Times are epoch seconds; None is unknown."""

    heard: Sequence[float] = ()
    """Times of records read of its computer's log, one an hour (fold/channels/hours_heard.py)."""
    told: float | None = None
    """Last time at which the running scan reported progress (744)."""
    role: str = ""
    """Role of the copies whose scans log like the running one did last: active or passive."""
    sampled: float | None = None
    """The last sample of the pages that scans of its instance read."""


def liveness(
    transitions: Sequence[Transition],
    begun: float | None,
    channels: Iterable[Channel],
    instance: Instance | None,
) -> Liveness:
    """The liveness of a database: its kept transitions, its running scan, and its computer.

    `begun` is when the running scan began, or the one before it ended; None where none runs.
    """
    told, role = _told(transitions, begun) if begun is not None else (None, "")
    return Liveness(
        heard=[time for each in channels if each.channel == LOG for time in each.heard],
        told=told,
        role=role,
        sampled=_sampled(instance) if instance is not None else None,
    )


def scan_told(transitions: Sequence[Transition], passes: Iterable[Sequence[Pass]]) -> float | None:
    """Last report of any scan by an event: among the kept ones, else those of the `passes`.

    The last event of a pass may be a stop of its instance: that is no report of a scan.
    """
    kept = [each.time for each in transitions if each.event_id in _SCAN_EVENTS]
    older = [each.last_event for of_task in passes for each in of_task[-1:]]
    return kept[-1] if kept else max(older, default=None)


def _told(transitions: Sequence[Transition], begun: float) -> tuple[float | None, str]:
    told, role = None, ""
    for each in transitions:
        if each.time < begun:
            continue
        if each.event_id == NOTICE:
            told = each.time
        role = family(each.event_id) or role
    return told, role


def _sampled(instance: Instance) -> float | None:
    last = [
        column.last_time
        for key, column in instance.counters.items()
        if any(name in key for name in _SCAN_COUNTERS)
    ]
    return max(last, default=None)
