"""As of when a pile of logs is judged: `advise` and `report` know nothing that came after it."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from esewatch.fold.state import State

DAY = 86400.0


class Group(NamedTuple):
    """Computers whose records end at about the same time, and that time."""

    time: float
    computers: tuple[str, ...]
    state: State
    """Their databases only."""


def as_of(state: State, now: float) -> Iterator[Group]:
    """The computers by the last record of each: what came after it is not known.

    Samples that go on for more than a day after the last event do not count: what was not
    logged then may be missing. Computers whose last records are less than a day apart are judged
    together, for their copies.
    """
    ends: dict[str, float] = {}
    for computer, time_ in _last_events(state):
        ends[computer] = max(ends.get(computer, 0.0), min(time_, now))
    heard = dict(ends)
    for computer, time_ in _last_samples(state):
        last = min(time_, now, heard.get(computer, now) + DAY)
        ends[computer] = max(ends.get(computer, 0.0), last)
    known = sorted({key[0] for key in state.databases}, key=lambda each: ends.get(each, 0.0))
    groups: list[list[str]] = []
    for computer in known:
        if groups and ends[computer] - ends[groups[-1][-1]] < DAY:
            groups[-1].append(computer)
        else:
            groups.append([computer])
    for group in groups:
        kept = {key: each for key, each in state.databases.items() if key[0] in group}
        part = msgspec.structs.replace(state, databases=kept)
        yield Group(ends[group[-1]], tuple(sorted(group)), part)


def _last_events(state: State) -> Iterator[tuple[str, float]]:
    for database in state.databases.values():
        yield database.computer, database.last_seen
    for channel in state.channels.values():
        yield from ((channel.computer, epoch.max_time) for epoch in channel.epochs)


def _last_samples(state: State) -> Iterator[tuple[str, float]]:
    for instance in state.instances.values():
        for column in instance.counters.values():
            yield instance.computer, column.last_time
