"""A background scan that is switched off, which no event in the log reports (semantics.md 5)."""

import math

from esewatch.advice.base.finding import Finding, scan_off
from esewatch.advice.base.maintenance_model import is_worker
from esewatch.advice.base.time_at_work import at_work
from esewatch.advice.history.history import History
from esewatch.advice.history.ledger import DAY
from esewatch.fold.state.rollups import day_start

SILENT = 45 * DAY
"""Seconds at work without any event of a scan; the longest pause of a healthy one is shorter."""


def switched_off(history: History, now: float) -> Finding | None:
    """The finding of a database as of `now` (epoch seconds), None without one.

    Its size does not matter. Pages that counters show as read by a scan are evidence of a scan; the
    time before a gap in the events is unknown.
    """
    scanned = history.model == "background" or is_worker(history.process)
    if not scanned or history.tier != "watched" or not history.first_seen > 0:
        return None
    told = history.scan_told
    read = [day_start(each.day + 1) for each in history.days if each.scan_pages_read > 0]
    gaps = [end for begin, end, _ in history.event_gaps if begin < now]
    since = max([history.first_seen, *gaps, *read[-1:], *([told] if told is not None else [])])
    silent = at_work(history.off, since, now)
    if not SILENT <= silent < math.inf:
        return None
    return scan_off(silent, told)
