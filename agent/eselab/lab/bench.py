"""The workbench of an experiment: folder, seed, the engine as a process, progress messages."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from esewatch.config import Settings
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import Batch, EsewatchError, Event, Reading, Source
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from esewatch.sources.logs.event_stream import event_stream_source

DAY: Final = 86400.0
SPARE: Final = 1 << 28
"""Bytes that an experiment leaves free on the file system."""

_LONGEST: Final = 1800.0
"""Real seconds of a run of the engine; then it is taken to hang."""


class LabError(EsewatchError):
    """An experiment could not be run: says why."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a workload on modelled drives. Latencies are seconds of a request."""

    name: str
    requests: int
    seconds: float
    """Until the last request was done."""
    bytes_per_second: float
    latency_mean: float
    latency_p99: float


class Run:
    """The output of a run of the engine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._events = str(folder / "events.jsonl")
        self._counters = str(folder / "counters.csv")

    def of(self, computer: str) -> "Run":
        """The output of the passive copies on a computer of its plan."""
        return Run(self._folder / computer)

    def events(self) -> list[Event]:
        """All that it logged. Raises LabError, SourceError."""
        return [
            record
            for batch in _batches(event_stream_source("events", [self._events]))
            for record in batch.records
            if isinstance(record, Event)
        ]

    def readings(self) -> list[Reading]:
        """All that it counted. Raises LabError, SourceError."""
        return [
            record
            for batch in _batches(perfmon_csv_source("counters", [self._counters]))
            for record in batch.records
            if isinstance(record, Reading)
        ]

    def state(self, settings: Settings) -> tuple[State, float]:
        """What the agent knows after its logs, and the time (epoch seconds) of the last record.

        Raises LabError, SourceError.
        """
        folder, last = Folder(State(), settings), 0.0
        sources = (
            event_stream_source("events", [self._events]),
            perfmon_csv_source("counters", [self._counters]),
        )
        for source in sources:
            folder.open_source(source.name, last)
            for batch in _batches(source):
                times = (getattr(record, "time", None) or 0.0 for record in batch.records)
                last = max(last, *times, 0.0)
                folder.fold(source.name, batch, last)
        return folder.state, last


class Bench:
    """For one experiment. `folder` is empty, or is made; `tell` is called after each part."""

    def __init__(self, folder: Path, seed: int, tell: Callable[[], object]) -> None:
        """Raises LabError, OSError."""
        self.folder = folder
        self.seed = seed
        self.tell = tell
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise LabError(f"{folder}: is not empty: an experiment begins in an empty folder")

    def engine(self, name: str, plan: Mapping[str, Any], seconds: float) -> Run:
        """A run of so many virtual seconds with a plan of docs/engine.md, in a folder `name`.

        Raises LabError, OSError.
        """
        folder = self.folder / name
        self._told(
            name, "run", "--dir", str(folder), "--plan", self._written(name, plan),
            "--days", repr(seconds / DAY), "--until-eof",
        )  # fmt: skip
        return Run(folder)

    def disks(self, name: str, plan: Mapping[str, Any]) -> dict[str, Load]:
        """Workloads of a plan of docs/engine.md on modelled drives, by their names.

        Raises LabError, OSError.
        """
        said = self._told(name, "disks", self._written(name, plan))
        found = [msgspec.json.decode(line, type=Load) for line in said.splitlines()]
        return {each.name: each for each in found}

    def _written(self, name: str, plan: Mapping[str, Any]) -> str:
        file = self.folder / f"{name}.json"
        file.write_bytes(msgspec.json.encode(plan, order="sorted"))
        return str(file)

    def _told(self, name: str, *words: str) -> str:
        """Start the engine with these words: what it prints. Raises LabError, OSError."""
        folder = self.folder / name
        command = [sys.executable, "-m", "esewatch", "engine", *words, "--seed", str(self.seed)]
        # Nothing is ever written: the engine ends when this end of the pipe goes, with us.
        reader, writer = os.pipe()
        try:
            done = subprocess.run(
                command,
                stdin=reader,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise LabError(f"{folder}: the engine did not end within {_LONGEST:g} s") from None
        finally:
            os.close(reader)
            os.close(writer)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise LabError(f"{folder}: the engine could not run: {said[-1]}")
        self.tell()
        return done.stdout

    def need(self, size: int) -> None:
        """Be sure that so many bytes can be written. Raises LabError, OSError."""
        free = shutil.disk_usage(self.folder).free
        if free < size + SPARE:
            raise LabError(
                f"{self.folder}: {(size + SPARE) >> 20} MiB are needed, {free >> 20} are free"
            )


def _batches(source: Source) -> Iterator[Batch]:
    try:
        for batch in source.poll(final=True):
            for piece in batch.unreadable:
                raise LabError(f"the engine's log cannot be read: {piece}")
            yield batch
    finally:
        source.close()
