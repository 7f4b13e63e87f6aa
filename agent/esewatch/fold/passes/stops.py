"""Stops of the work on a database: its instance stopped, or detached it outside replay.

A start, and a recovery, replays logs until the instance came up: what they detach in it was
detached long ago (semantics.md 5). Starts, stops, attaches and detaches are ordered by record
number where the clock was set back between them.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from esewatch.fold.identity.identity import PASSIVE_FAMILY
from esewatch.fold.identity.owners import instance_label, stays
from esewatch.fold.passes.transitions import ATTACHMENT, name_number
from esewatch.fold.state.record_ranges import MOST_RECORDS, MOST_SECONDS
from esewatch.fold.state.state import (
    START,
    STOP_EVENTS,
    Database,
    Lived,
    State,
    Transition,
)

DETACH = 327
SIGN, RUNNING, ATTACHED, READ, REPLAYED = range(5)
"""In the place of an event id: a scan of a passive copy; other maintenance, which no replay has;
the database was attached; an error of a page, which a tool may have met; it was detached in
replay."""
DETACHED = -DETACH
STOPPED = frozenset(-each for each in STOP_EVENTS)
"""Ends are below zero: they come first in a second that no number divides."""
_REPLAY_BEGINS = frozenset({START, 300})
_REPLAY_ENDS = frozenset({105, 302, 304})
"""Not every engine logs 105."""
_TELLS = STOP_EVENTS | _REPLAY_BEGINS | _REPLAY_ENDS


def life_of(state: State, entry: Database) -> Sequence[Lived]:
    found = [
        lived
        for stay in stays(entry)
        if (instance := state.instances.get(stay.key)) is not None
        for lived in instance.life
        if lived[2] in _TELLS and stay.since <= lived[0] < stay.until
    ]
    return found if len(entry.instances) < 2 else sorted(found)


def stops_in(
    entry: Database, transitions: Sequence[Transition], life: Sequence[Lived]
) -> list[float]:
    """Sorted times at which its instance stopped or it was detached. `transitions` are sorted."""
    stops = [time for time, _, event in life if event in STOP_EVENTS]
    if any(each.event_id == DETACH for each in transitions):
        rows = edges(entry, life, transitions)
        stops = sorted([*stops, *(time for time, _, code in rows if code == DETACHED)])
    return stops


def edges(entry: Database, life: Iterable[Lived], transitions: Iterable[Transition]) -> list[Lived]:
    """The facts that show whether the database is at work, in their order: ids of the life of its
    instance, those of stops below zero, and codes."""
    names = ("", instance_label(entry), *entry.instances)
    own = {name_number(each) for each in names}
    ordered = [
        (time, number, -event if event in STOP_EVENTS else event) for time, number, event in life
    ]
    signs = []
    for each in transitions:
        event = each.event_id
        if event not in ATTACHMENT:
            code = SIGN if event in PASSIVE_FAMILY else RUNNING
            signs.append((each.time, each.record_id, code))
        elif each.fields.get("instance") in own:
            code = DETACHED if event == DETACH else ATTACHED
            ordered.append((each.time, each.record_id, code))
    errors = {time for span in entry.page_error_spans for time in span if time}
    errors.difference_update(entry.io_error_times)
    errors.update(entry.page_error_last.values())
    signs += [(time, 0, READ) for time in errors]
    return _without_replay(sorted([*_by_number(ordered), *signs]))


def _without_replay(rows: list[Lived]) -> list[Lived]:
    """The same rows, those of what replay detached marked as that."""
    replaying = False
    for at, (time, number, code) in enumerate(rows):
        if code == DETACHED and replaying:
            rows[at] = (time, number, REPLAYED)
        elif code in _REPLAY_BEGINS:
            replaying = True
        elif code in STOPPED or code in _REPLAY_ENDS or code == RUNNING:
            replaying = False
    return rows


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
