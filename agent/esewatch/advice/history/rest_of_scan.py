"""The running scan of a current engine (732 to 738, 744): what is left of it, signs of life."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import exp, log, sqrt
from statistics import fmean
from typing import NamedTuple

from esewatch.advice.base.prediction_interval import PredictionInterval
from esewatch.advice.history.rates import is_amount
from esewatch.fold.channels import hearing
from esewatch.fold.identity.identity import family
from esewatch.fold.state.rollups import DAY_SECONDS
from esewatch.fold.state.state import Channel, Instance, Pass, Transition

_MOST_STRETCHES = 28
"""With 744 every six hours, a week."""
_LEAST_STRETCHES = 4
"""Between marks of one pass, where no whole pass is known: with 744 every six hours, a day."""


class Mark(NamedTuple):
    """Progress of the running pass: the pages it had seen at `time` (epoch seconds)."""

    time: float
    pages: float


class Rest(NamedTuple):
    """The rest of a scan: `left` is the prediction interval of seconds from `since` to its end.
    `seen` is the share of the pages that it had seen then, None without marks."""

    since: float
    left: PredictionInterval
    seen: float | None


def rest_of_scan(
    started: float | None, totals: Sequence[float], marks: Sequence[Mark], pages: float | None
) -> Rest | None:
    """The rest of the scan that began at `started`; None where it is unknown.

    `totals` are the seconds whole passes would take at the present size of `pages`; `marks` are
    sorted. With marks the pages left are taken at the pass' own rate, and the fewer of them were
    seen, the more at that of whole passes; the first pass goes by its own rate alone. Its rate
    varies as much as it did between the marks.
    """
    usable = [
        mark for mark in marks if is_amount(mark.pages) and (started is None or mark.time > started)
    ]
    whole = (
        Rest(started, PredictionInterval(totals), None) if totals and started is not None else None
    )
    if not usable or pages is None or not is_amount(pages):
        return whole
    last = usable[-1]
    # A database that grew meanwhile, or a size that is a day old: something is left to see.
    pages = max(pages, last.pages + 1)
    seen = last.pages / pages
    first = Mark(started, 0.0) if started is not None else usable[0]
    if last.time <= first.time or last.pages <= first.pages:
        return whole
    own = (last.time - first.time) / (last.pages - first.pages)
    stretches = _stretches([first, *usable])
    if not totals and len(stretches) < _LEAST_STRETCHES:
        return None
    paces = [own**seen * (total / pages) ** (1 - seen) for total in totals] or [own]
    left = pages - last.pages
    swings = _swings(stretches, left * len(stretches) / (last.pages - first.pages))
    return Rest(
        last.time,
        PredictionInterval(left * pace * swing for pace in paces for swing in swings),
        seen,
    )


def _swings(paces: Sequence[float], ahead: float) -> list[float]:
    """Deviation of the mean rate of the `ahead` stretches to come from that of those seen. It
    follows the spread of the rates of the stretches, and falls with their number on both sides."""
    middle = fmean(map(log, paces))
    damped = sqrt(1 / max(1.0, ahead) + 1 / len(paces))
    return [exp(damped * (log(pace) - middle)) for pace in paces[-_MOST_STRETCHES:]]


def _stretches(marks: Sequence[Mark]) -> list[float]:
    """Seconds per page between marks."""
    return [
        (b.time - a.time) / (b.pages - a.pages)
        for a, b in pairwise(marks)
        if b.time > a.time and b.pages > a.pages
    ]


MARKS = {738: "resume_page", 744: "pages_seen"}
"""Events that report the progress of the running scan, and the number that holds it."""
LATE_END = 735


def marks(transitions: Iterable[Transition], began: float | None) -> list[Mark]:
    """Progress marks of the running scan: 744 has the pages seen, 738 the page it resumes from."""
    if began is None:
        return []
    found = []
    for each in transitions:
        if each.event_id in MARKS and each.time >= began:
            pages = each.fields.get(MARKS[each.event_id])
            if pages is not None:
                found.append(Mark(each.time, pages))
    return found


def begun(scans: Sequence[Pass]) -> float | None:
    """Start of the running scan: where that is not known, the end of the one before it."""
    if not scans or scans[-1].outcome != "open":
        return None
    if scans[-1].started is not None:
        return scans[-1].started
    return max((done.ended for done in scans[:-1] if done.ended is not None), default=-math.inf)


def engine_threshold(transitions: Sequence[Transition]) -> float | None:
    """Seconds in which its engine wants a scan to complete, as the last 735 reported."""
    for each in reversed(transitions):
        if each.event_id == LATE_END and each.fields.get("threshold_days"):
            return each.fields["threshold_days"] * DAY_SECONDS
    return None


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


def times_heard(
    channels: Iterable[Channel], instances: Iterable[Instance], last: float
) -> list[float]:
    """Times of the records read of a computer's log, one an hour, sorted. Where they have no
    numbers they are known by the hours of its instances; `last` is the last record of all."""
    numbered = [time for each in channels if each.channel == LOG for time in each.heard]
    hours = {end for each in instances for end in hearing.hour_ends(each.hours)}
    return numbered or sorted({min(end, last) for end in hours})


def liveness(
    transitions: Sequence[Transition],
    begun: float | None,
    heard: Sequence[float],
    instance: Instance | None,
) -> Liveness:
    """The liveness of a database: its kept transitions, its running scan, and its computer
    (`times_heard`). `begun` is when the running scan began, or the one before it ended; None where
    none runs."""
    told, role = _told(transitions, begun) if begun is not None else (None, "")
    return Liveness(
        heard=heard,
        told=told,
        role=role,
        sampled=_sampled(instance) if instance is not None else None,
    )


def scan_told(transitions: Sequence[Transition], passes: Iterable[Sequence[Pass]]) -> float | None:
    """Last report of any scan by an event: among the kept ones, else those of the `passes`. The
    last event of a pass may be a stop of its instance: that is no report of a scan."""
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
