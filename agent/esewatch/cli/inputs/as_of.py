"""The state of logs, and the moment as of which it is judged.

`advise` and `report` know nothing that came after it.
"""

import sys
import time
from bisect import bisect_left
from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec

from esewatch.advice.findings.lone_instances import has_errors
from esewatch.cli.inputs.reader import Reader
from esewatch.config import Settings
from esewatch.expose.pages.problems.source_problems import dropped_sentence, long_path_sentence
from esewatch.fold.databases.databases import is_dated
from esewatch.fold.databases.integrity import HISTORY_SECONDS
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.names import visible

DAY = 86400.0


class ComputerGroup(NamedTuple):
    """Computers whose records end at about the same time, and that time."""

    time: float
    computers: tuple[str, ...]
    state: State
    """Their databases only."""
    dated: bool = True
    """False: no record of theirs has a time, so that they are judged as of now."""


def tell_dropped(state: State) -> bool:
    """Tell on standard error of names beyond `max_databases` and of databases whose path is too
    long; True if there are some.
    """
    sentence = dropped_sentence(state)
    if sentence:
        print(f"esewatch: {visible(sentence)}: set it higher in a configuration", file=sys.stderr)
    long = long_path_sentence(state)
    if long:
        print(f"esewatch: {visible(long)}", file=sys.stderr)
    return bool(sentence or long)


def state_of(reader: Reader, settings: Settings) -> State:
    """The state that the inputs of `reader` make. Raises EsewatchError as `Reader.inputs`.

    Errors of the engine are history by the last record of their computer, not by the day on which
    the logs are read.
    """
    folder = Folder(State(), settings)
    for name, batches in reader.inputs():
        folder.open_source(name, time.time()).baseline = False
        for batch in batches:
            folder.fold(name, batch, time.time())
    folder.computers.settle()
    _close_old_errors(folder.state)
    return folder.state


def _close_old_errors(state: State) -> None:
    """Leave those open that an agent would find open that first read the logs when they ended."""
    for instance in state.instances.values():
        host = state.hosts.get(instance.computer)
        since = (host.last_heard if host is not None else 0.0) - HISTORY_SECONDS
        for times in instance.error_times.values():
            del times[: bisect_left(times, since)]


def as_of(state: State, now: float) -> Iterator[ComputerGroup]:
    """The computers by the last record of each: what came after it is not known.

    Samples that go on for more than a day after the last event do not count: what was not
    logged then may be missing. Computers whose last records all lie within a day are judged
    together, as of the latest of these, for their copies; those without a time in any record are
    judged last, as of `now`.
    """
    ends: dict[str, float] = {}
    for computer, time_ in _last_events(state):
        ends[computer] = max(ends.get(computer, 0.0), min(time_, now))
    heard = dict(ends)
    for computer, time_ in _last_samples(state):
        last = min(time_, now, heard.get(computer, now) + DAY)
        ends[computer] = max(ends.get(computer, 0.0), last)
    known = sorted(_known(state))
    undated = [computer for computer in known if computer not in ends]
    groups: list[list[str]] = []
    for computer in sorted(set(known) - set(undated), key=lambda each: ends[each]):
        if groups and ends[computer] - ends[groups[-1][0]] < DAY:
            groups[-1].append(computer)
        else:
            groups.append([computer])
    for group in groups:
        yield ComputerGroup(ends[group[-1]], tuple(sorted(group)), _part(state, group))
    if undated:
        yield ComputerGroup(now, tuple(undated), _part(state, undated), dated=False)


def _known(state: State) -> set[str]:
    """Computers with a database, or with backups or errors of an instance."""
    backed_up = {host.computer for host in state.hosts.values() if host.backup_sets}
    failed = {each.computer for each in state.instances.values() if has_errors(each)}
    return {computer for computer, _ in state.databases} | backed_up | failed


def _part(state: State, computers: Collection[str]) -> State:
    kept = {key: each for key, each in state.databases.items() if key[0] in computers}
    return msgspec.structs.replace(state, databases=kept)


def _last_events(state: State) -> Iterator[tuple[str, float]]:
    for database in state.databases.values():
        if is_dated(database):
            yield database.computer, database.last_seen
    for channel in state.channels.values():
        epochs = (epoch for epoch in channel.epochs if epoch.max_time > 0.0)
        yield from ((channel.computer, epoch.max_time) for epoch in epochs)
    for host in state.hosts.values():
        if host.last_heard > 0.0:
            yield host.computer, host.last_heard
        yield from ((host.computer, each.ended) for each in host.backup_sets)


def _last_samples(state: State) -> Iterator[tuple[str, float]]:
    for instance in state.instances.values():
        for column in instance.counters.values():
            yield instance.computer, column.last_time
