"""When a database was worked on: each run by itself, not the pass that several runs make.

A pass that is resumed night after night is open by day too, but nothing is read then.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from esewatch.fold.passes import COMPLETES, DETACH, FAILS, INTERRUPTS, OPENS, RESUMES
from esewatch.fold.state import Transition

DEFRAG = frozenset({"defrag"})
SCANS = frozenset({"checksum", "zeroing"})
"""Both read every page; on Exchange 2007 they are one scan."""

ABANDONED = {746: "checksum"}
"""A scan of a current engine that ends before its end and is not resumed."""

_BEGIN = OPENS | RESUMES
_END = INTERRUPTS | FAILS | ABANDONED


class Run(NamedTuple):
    """One stretch of work, epoch seconds. `end` is None while it goes on."""

    start: float
    end: float | None


def runs(
    transitions: Iterable[Transition], tasks: Collection[str], stops: Sequence[float] = ()
) -> list[Run]:
    """The runs of `tasks` (taken as one work), oldest first; only the last one may be open.

    `transitions` are sorted, `stops` the times at which the instance stopped. A run whose end
    was not logged before the next one began is left out: how long it was is not known.
    """
    begin = {event for event, task in _BEGIN.items() if task in tasks}
    end = {event for event, task in _END.items() if task in tasks} | {DETACH}
    end.update(event for event, ended in COMPLETES.items() if not set(ended).isdisjoint(tasks))
    edges = [
        (each.time, each.event_id in begin)
        for each in transitions
        if each.event_id in begin or each.event_id in end
    ]
    if stops:
        edges = sorted([*edges, *((stop, False) for stop in stops)], key=lambda edge: edge[0])
    found: list[Run] = []
    start: float | None = None
    for time, begins in edges:
        if begins:
            start = time
        elif start is not None:
            found.append(Run(start, time))
            start = None
    if start is not None:
        found.append(Run(start, None))
    return found
