"""The workbench of an experiment: folder, seed, the engine as a process, progress messages."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from eselab.lab import agent
from eselab.lab.agent import Advice, Event, LabError, Reading

DAY: Final = 86400.0
SPARE: Final = 1 << 28
"""Bytes that an experiment leaves free on the file system."""

_LONGEST: Final = 1800.0
"""Real seconds of a run of the engine; then it is taken to hang."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a workload on modelled drives. Latencies are seconds of a request."""

    name: str
    requests: int
    seconds: float
    """Until the last request was done."""
    bytes_per_second: float
    latency_mean: float
    latency_p99: float
    latency_read: float | None = None
    """The mean of the reads of an `update`."""


class Run:
    """Files that a run of the engine left behind, as the agent reads them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._events = folder / "events.jsonl"
        self._counters = folder / "counters.csv"

    def of(self, computer: str) -> "Run":
        """The output of the passive copies on a computer of its plan."""
        return Run(self._folder / computer)

    def events(self) -> list[Event]:
        """All that it logged. Raises LabError, OSError."""
        return agent.events(self._events)

    def readings(self) -> list[Reading]:
        """All that it counted. Raises LabError, OSError."""
        return agent.counters(self._counters)

    def advice(self, configuration: Mapping[str, Any]) -> list[Advice]:
        """Advice after its logs. Raises LabError, OSError.

        `configuration`: that of docs/configuration.md.
        """
        return agent.advice(configuration, self._events, self._counters)


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
