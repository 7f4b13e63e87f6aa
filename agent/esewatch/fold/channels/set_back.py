"""Clocks that were set back: a later record of a log is a later event, whatever its time says.

A record is taken to be no earlier than those with lower numbers (semantics.md 2). Where one of
these is read after it, the facts already known are corrected: transitions and events of backups by
their numbers; errors, which are kept without one, by the numbers of the records of their time.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from esewatch.fold.databases import bad_pages
from esewatch.fold.passes import transitions
from esewatch.fold.state.record_ranges import MOST_RECORDS, MOST_SECONDS, Range, find
from esewatch.fold.state.state import Channel, Database, Epoch, State
from esewatch.model import Event

LEAST_SECONDS = 60.0
"""Times of one log jitter: a clock that is set back by less makes no difference."""
MAX_TURNS = 64


def note(epoch: Epoch, new: Range) -> None:
    """Keep where the clock was set back, as `new` and the records beside it show."""
    at = bisect_left(epoch.seen, new.first, key=_first)
    beside = epoch.seen[max(0, at - 1) : at + 2]
    for before, after in pairwise(beside):
        turn = (before.last, before.late)
        if (
            before.late - after.early >= LEAST_SECONDS
            and after.first - before.last <= MOST_RECORDS
            and turn not in epoch.turns
        ):
            epoch.turns = sorted([*epoch.turns, turn], key=lambda each: each[1])[-MAX_TURNS:]


def has_turns(channel: Channel) -> bool:
    for epoch in channel.epochs:  # noqa: SIM110 - a frame of `any` costs as much as all the rest
        if epoch.turns:
            return True
    return False


def in_order(
    state: State, channel: Channel, event: Event
) -> tuple[Event, set[tuple[str, str, str]]]:
    """Return the event, known to its channel, with the time that the records before it allow.

    Also returns the changed rows of the journal, where the event shows that known records came
    after it.
    """
    number, time = event.record_id, event.time
    changed: set[tuple[str, str, str]] = set()
    if number is None or time is None:
        return event, changed
    if behind := set_back_behind(channel, number, time):
        for key, entry in state.databases.items():
            if key[0] == channel.computer and entry.channel in ("", channel.channel):
                put_right(entry, number, behind, time)
                changed.add(("database", *key))
        for key, instance in state.instances.items():
            if key[0] == channel.computer:
                known = instance.backup_events
                for at, each in enumerate(known):
                    if each.record_id > number and time - MOST_SECONDS <= each.time < time:
                        known[at] = msgspec.structs.replace(each, time=time)
                known.sort(key=lambda each: (each.time, each.record_id))
                changed.add(("instance", *key))
    logged = time_of(channel, number, time)
    return event if logged == time else msgspec.structs.replace(event, time=logged), changed


def time_of(channel: Channel, record_id: int, time: float) -> float:
    """The time of a known record, as far as the records before it show."""
    found = time
    for epoch in channel.epochs:
        own = find(epoch.seen, record_id) if epoch.turns else None
        if own is None or not own.early <= time <= own.late:
            continue
        for number, turn in epoch.turns:
            if number < record_id and time < turn <= time + MOST_SECONDS:
                found = max(found, turn)
    return found


def set_back_behind(channel: Channel, record_id: int, time: float) -> list[Range]:
    """The known later records of an earlier time, where the clock was set back behind this one."""
    for epoch in channel.epochs:
        if (record_id, time) in epoch.turns:
            at = bisect_right(epoch.seen, record_id, key=_first)
            return [each for each in epoch.seen[at:] if each.early < time]
    return []


def put_right(entry: Database, record_id: int, behind: Sequence[Range], late: float) -> None:
    """Correct the known records after this one, `behind`: they came at `late` or after."""

    def came_after(time: float) -> bool:
        return time < late and any(each.early <= time <= each.late for each in behind)

    transitions.raise_times(entry.transitions, record_id, late - MOST_SECONDS, late)
    if any(came_after(last) for _, last in entry.page_error_spans):
        bad_pages.note_error(entry, late)
    for bad in [bad for bad in entry.bad_pages if came_after(bad.last)]:
        bad_pages.latch_found(entry, bad.page, bad.kind, late, bad.age)


def _first(each: Range) -> int:
    return each.first
