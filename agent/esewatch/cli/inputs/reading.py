"""Inputs that commands read: progress, complaints, exit status, and the state that they make.

`advise` and `report` judge it as of a moment, and know nothing that came after it.
"""

import argparse
import atexit
import contextlib
import gc
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from tqdm import tqdm

from esefiles.base.command import exit_status
from esefiles.base.names import visible
from esefiles.base.progress import progress_bar
from esewatch.advice.base.finding import counted
from esewatch.advice.findings.details import has_errors
from esewatch.advice.findings.silence import last_record
from esewatch.cli.output import tell
from esewatch.config import Settings
from esewatch.expose.pages.problems.source_problems import dropped_sentence, long_path_sentence
from esewatch.fold.databases.databases import is_dated
from esewatch.fold.folder import Folder
from esewatch.fold.identity.entities import label_of
from esewatch.fold.state.state import State
from esewatch.model import (
    Batch,
    EsewatchError,
    FileTold,
    Source,
    SourceError,
    Unreadable,
    UnsupportedError,
)
from esewatch.sources.detect_input import expand, open_inputs
from esewatch.sources.files.follow import FollowedFiles

SAID_ALIKE = 3
"""Pieces of one file with the same reason that have a line each."""


class _Alike:
    """Complaints of one file and reason: the first are said, the others are counted."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def is_new(self, piece: Unreadable) -> bool:
        self._counts[piece.path, piece.reason] += 1
        return self._counts[piece.path, piece.reason] <= SAID_ALIKE

    def summed_up(self) -> Iterator[str]:
        for (path, reason), count in self._counts.items():
            if count > SAID_ALIKE:
                yield f"{path}: {counted(count - SAID_ALIKE, 'more piece')}: {reason}"


STDIN = "-"


def _standard_input() -> str:
    """A file of what comes on standard input, until the process ends: readers go back in a file."""
    handle, name = tempfile.mkstemp(prefix="esewatch-standard-input-")
    atexit.register(Path(name).unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return name


class Reader:
    def __init__(
        self,
        options: argparse.Namespace,
        *,
        companions: bool,
        ese_only: bool,
        kinds: Collection[str] = (),
    ) -> None:
        """`kinds`: inputs of others are refused; empty for all."""
        self.unreadable: list[Unreadable] = []
        self.errors: list[str] = []
        """One line for each input that could not be read."""
        self._remarks: dict[str, dict[str, None]] = {}
        """Remark on times (`Batch.remarks`) -> the files."""
        self._read = False
        given = [_standard_input() if path == STDIN else path for path in options.paths]
        self.paths = expand(given)
        self._below = not set(self.paths) <= set(given)
        self._asked = {
            "paths": self.paths,
            "providers": options.provider,
            "computer": options.computer,
            "timezone": options.timezone,
            "date_order": options.date_order,
            "companions": companions,
            "ese_only": ese_only,
            "kinds": kinds,
        }

    def inputs(self) -> Iterator[tuple[str, Iterator[Batch]]]:
        """The name and the batches of each input that can be opened, by kind.

        For the others one line on stderr; on a terminal a progress bar of the bytes of all.
        """
        found = open_inputs(**self._asked)
        with (
            _seldom_collected(),
            progress_bar(total=_size_of(self.paths), unit="B", unit_scale=True) as bar,
        ):
            for error in found.errors:
                # In a folder of logs something else may lie about; what was named must be readable.
                if isinstance(error, UnsupportedError) and found.sources and self._below:
                    tell(f"left out: {error}")
                else:
                    self._fail(error)
            for source, files in zip(found.sources, found.files, strict=True):
                bar.set_description(visible(source.name))
                yield source.name, self._told(source, _size_of(files), bar)
        for remark in self.remarks:
            tell(remark)

    def _told(self, source: Source, size: int, bar: "tqdm[Any]") -> Iterator[Batch]:
        """The batches of one input; `bar` and stderr show them."""
        alike, before, read, told = _Alike(), bar.n, False, False
        try:
            for batch in source.poll(final=True):
                for path, remark in batch.remarks:
                    self._remarks.setdefault(remark, {})[path] = None
                for copy, other in batch.copies:
                    tell(f"{copy} is a copy: all of it is in {other} too, and counts once")
                bar.update(max(0, before + size - batch.backlog_bytes - bar.n))
                for piece in batch.unreadable:
                    told = isinstance(source, FollowedFiles)
                    self.unreadable.append(piece)
                    if alike.is_new(piece):
                        tell(f"unreadable: {piece}")
                read = read or bool(batch.records)
                self._read = self._read or read
                yield batch
            # Of a text of which nothing but complaints came, nothing was read.
            self._read = self._read or read or not told
        except SourceError as error:
            self._fail(error)
        finally:
            source.close()
            for line in alike.summed_up():
                tell(f"unreadable: {line}")

    def _fail(self, error: EsewatchError) -> None:
        tell(str(error))
        self.errors.append(str(error))

    @property
    def remarks(self) -> list[str]:
        """Sentences on times that are not certain, without a full stop."""
        found = []
        for remark, files in self._remarks.items():
            first, others = next(iter(files)), len(files) - 1
            more = f" and {counted(others, 'more file')}" if others else ""
            found.append(f"the times in {first}{more} {remark}")
        return found

    @property
    def nothing_read(self) -> bool:
        """True if none of the inputs could be read: then nothing is written."""
        return bool(self.errors) and not self._read

    def status(self, *, wrong: bool = False) -> int:
        """Exit status of the whole reading; the rest is done where some inputs cannot be read."""
        unreadable = bool(self.errors or self.unreadable)
        return exit_status(any_read=self._read, unreadable=unreadable, wrong=wrong)


def _size_of(paths: Iterable[str]) -> int:
    """Stored bytes of these files; 0 for one without access."""
    total = 0
    for path in paths:
        with contextlib.suppress(OSError):
            total += Path(path).stat().st_size
    return total


@contextlib.contextmanager
def _seldom_collected() -> Iterator[None]:
    """Records make no cycles: looking for some at each 700 objects is a twentieth of a report."""
    before = gc.get_threshold()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


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
    long; True if there are some."""
    if sentence := dropped_sentence(state):
        tell(f"{sentence}: set it higher in a configuration")
    if long := long_path_sentence(state):
        tell(long)
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
    Computers whose last records all lie within a day are judged together, as of the latest of
    these, for their copies; those without a time in any record are judged last, as of `now`.
    """
    ends: dict[str, float] = {}
    samples: dict[str, float] = {}
    for instance in state.instances.values():
        for column in instance.counters.values():
            before = samples.get(instance.computer, 0.0)
            samples[instance.computer] = max(before, min(column.last_time, now))
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
