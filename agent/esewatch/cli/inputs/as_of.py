"""The state of logs, and the moment as of which it is judged.

`advise` and `report` know nothing that came after it.
"""

import sys
import time
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import msgspec

from esefiles.base.names import visible
from esewatch.advice.findings.lone_instances import has_errors
from esewatch.advice.findings.silence import last_record
from esewatch.cli.inputs.reader import Reader
from esewatch.config import Settings
from esewatch.expose.pages.problems.source_problems import dropped_sentence, long_path_sentence
from esewatch.fold.databases.databases import is_dated
from esewatch.fold.folder import Folder
from esewatch.fold.identity.computers import label_of
from esewatch.fold.state.state import State
from esewatch.model import FileTold

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
    """The state that the inputs of `reader` make. Raises EsewatchError as `Reader.inputs`."""
    folder = Folder(State(), settings)
    files: list[FileTold] = []
    for name, batches in reader.inputs():
        folder.open_source(name, time.time()).baseline = False
        for batch in batches:
            folder.fold(name, batch, time.time())
            files += batch.files.values()
    folder.computers.settle()
    folder.state.clocks = _clocks(folder.state, settings, files)
    return folder.state


def as_of(state: State, now: float) -> Iterator[ComputerGroup]:
    """The computers by the last record of each: what came after it is not known.

    One whose last record is within a day of the youngest time in the files connected with its is
    judged as of that. Samples are no record, but a time of the computer (semantics.md 5a).
    Computers whose last records all lie within a day are judged
    together, as of the latest of these, for their copies; those without a time in any record are
    judged last, as of `now`.
    """
    ends: dict[str, float] = {}
    samples: dict[str, float] = {}
    for computer, time_ in _last_samples(state):
        samples[computer] = max(samples.get(computer, 0.0), min(time_, now))
    for computer, time_ in _last_events(state):
        ends[computer] = max(ends.get(computer, 0.0), min(time_, now))
    for computer, last in ends.items():
        clock = max(state.clocks.get(computer, 0.0), samples.get(computer, 0.0))
        ends[computer] = clock if last < clock <= min(last + DAY, now) else last
    ends = samples | ends
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


def moments(groups: Iterable[ComputerGroup]) -> dict[str, float]:
    """By computer, as of when it is judged."""
    return {computer: group.time for group in groups for computer in group.computers}


def _known(state: State) -> set[str]:
    """Computers with a database, or with backups or errors of an instance."""
    backed_up = {host.computer for host in state.hosts.values() if host.backup_sets}
    failed = {each.computer for each in state.instances.values() if has_errors(each)}
    return {computer for computer, _ in state.databases} | backed_up | failed


def _part(state: State, computers: Collection[str]) -> State:
    kept = {key: each for key, each in state.databases.items() if key[0] in computers}
    return msgspec.structs.replace(state, databases=kept)


def _last_events(state: State) -> Iterator[tuple[str, float]]:
    """Of each computer, the last record in the logs that its events come by."""
    for database in state.databases.values():
        if is_dated(database):
            yield database.computer, database.last_seen
            last = last_record(state, database.computer, {database.channel, ""})
            if last is not None:
                yield database.computer, last
    for host in state.hosts.values():
        if host.last_heard > 0.0:
            yield host.computer, host.last_heard
        yield from ((host.computer, each.ended) for each in host.backup_sets)


def _last_samples(state: State) -> Iterator[tuple[str, float]]:
    for instance in state.instances.values():
        for column in instance.counters.values():
            yield instance.computer, column.last_time


def _clocks(state: State, settings: Settings, files: Collection[FileTold]) -> dict[str, float]:
    """By computer, the youngest time in the files that are connected with its by shared ones."""
    group: dict[str, str] = {}

    def of(computer: str) -> str:
        while (leads := group.setdefault(computer, computer)) != computer:
            group[computer] = group[leads]
            computer = leads
        return computer

    found: dict[str, float] = {}
    told = [
        (sorted({label_of(name, state.hosts, settings) for name in each.computers}), each.youngest)
        for each in files
    ]
    for computers, _ in told:
        for computer in computers:
            group[of(computer)] = of(computers[0])
    for computers, youngest in told:
        if computers:
            key = of(computers[0])
            found[key] = max(found.get(key, 0.0), youngest)
    return {computer: found[of(computer)] for computer in state.hosts if of(computer) in found}
