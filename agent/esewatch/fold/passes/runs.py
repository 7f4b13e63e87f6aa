"""Runs of work on a database: each by itself, not the pass that several runs make.

A pass that is resumed night after night is open by day too, but nothing is read then.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from esewatch.fold.passes.passes import COMPLETES, FAILS, INTERRUPTS, OPENS, RESUMES
from esewatch.fold.state.state import Transition

DEFRAG = frozenset({"defrag"})
SCANS = frozenset({"checksum", "zeroing"})
"""Both read every page; on Exchange 2007 they are one scan."""

ABANDONED = {746: "checksum"}
"""A scan of a current engine that ends before its end and is not resumed."""

IN_ONE_RUN, RESUMED = 701, 703
"""Completions of online defragmentation: in the run that began it, and in a later one."""
MOST_RUNS = 1000
_OF_DEFRAG = frozenset(range(700, 706))
_STOP = 0

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

    `transitions` are sorted, `stops` those of `stops_in`. A run whose end was
    not logged before the next one began is left out: its length is unknown.
    """
    begin = {event for event, task in _BEGIN.items() if task in tasks}
    end = {event for event, task in _END.items() if task in tasks}
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


def torn_runs(transitions: Iterable[Transition], stops: Sequence[float]) -> int:
    """The number of last runs of online defragmentation that were resumed or interrupted in a row.

    A run that 701 ends was neither, where 702 did not begin it. For a pass whose start was not
    seen, 703 gives the number of runs before. `transitions` are sorted, `stops` as in `runs`.
    """
    edges = [each for each in transitions if each.event_id in _OF_DEFRAG]
    stopped = [Transition(stop, 0, _STOP) for stop in stops]
    torn = 0
    begun: int | None = None
    start_seen = False
    for edge in sorted([*edges, *stopped], key=lambda each: each.time):
        event, unseen = edge.event_id, not start_seen
        start_seen = event in OPENS or (start_seen and event not in COMPLETES)
        if event in _BEGIN:
            if begun is not None:
                torn = torn + 1 if begun in RESUMES else 0
            begun = event
        elif event != _STOP or begun is not None:
            before = edge.fields.get("invocations", 1) - 1 if event == RESUMED and unseen else 0
            whole = event == IN_ONE_RUN and begun not in RESUMES
            torn = 0 if whole else torn + 1 + int(min(max(before, 0), MOST_RUNS))
            begun = None
    return torn
