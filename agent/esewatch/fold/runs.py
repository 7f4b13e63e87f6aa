"""When a database was scanned: each run by itself, not the pass that several runs make.

A pass that is resumed night after night is open by day too, but nothing is read then.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from esewatch.fold.passes import COMPLETES, DETACH, FAILS, INTERRUPTS, OPENS, RESUMES
from esewatch.fold.state import Transition

SCANS = frozenset({"checksum", "zeroing"})
"""Both read every page; on Exchange 2007 they are one scan."""

ABANDONED = 746
"""A scan of a current engine that ends before its end and is not resumed."""

_BEGIN = frozenset(event for event, task in (OPENS | RESUMES).items() if task in SCANS)
_END = frozenset(
    {
        *(event for event, task in (INTERRUPTS | FAILS).items() if task in SCANS),
        *(event for event, tasks in COMPLETES.items() if SCANS.intersection(tasks)),
        ABANDONED,
        DETACH,
    }
)


class Run(NamedTuple):
    """One stretch of scanning, epoch seconds. `end` is None while it goes on."""

    start: float
    end: float | None


def scan_runs(transitions: Iterable[Transition], stops: Sequence[float] = ()) -> list[Run]:
    """The runs of `transitions` (sorted), oldest first; only the last one may be open.

    `stops` are the times at which the instance stopped. A run whose end was not logged
    before the next one began is left out: how long it was is not known.
    """
    edges = [
        (each.time, each.event_id in _BEGIN)
        for each in transitions
        if each.event_id in _BEGIN or each.event_id in _END
    ]
    if stops:
        edges = sorted([*edges, *((stop, False) for stop in stops)], key=lambda edge: edge[0])
    runs: list[Run] = []
    start: float | None = None
    for time, begins in edges:
        if begins:
            start = time
        elif start is not None:
            runs.append(Run(start, time))
            start = None
    if start is not None:
        runs.append(Run(start, None))
    return runs
