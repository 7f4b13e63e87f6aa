"""Results of the agent for an engine's logs: its commands, and the JSON that they print."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

UNREADABLE = "esewatch: unreadable: "
"""Begin of the line in which the agent complains of a piece of a log."""
_FAILED = 2
"""Exit status of a command that could not do its work."""


class LabError(Exception):
    """An experiment could not be run: says why."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event that the engine logged."""

    event_id: int
    time: float
    """Epoch seconds."""
    ese_instance: str = ""
    fields: Mapping[str, str | int | float] = {}


class Reading(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A sample of one counter."""

    time: float
    """Epoch seconds."""
    computer: str
    instance: str
    counter: str
    value: float


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence on which the advice for a window rests."""

    pages_read: float
    pages_freed: float

    @property
    def ratio(self) -> float | None:
        """Pages read for each page freed, None where none was freed.

        The agent prints it with one digit behind the point, which is less than the lab shows.
        """
        return self.pages_read / self.pages_freed if self.pages_freed else None


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """Output of `esewatch advise` for the window of a database."""

    ese_instance: str
    action: str
    reasons: Sequence[str]
    evidence: Evidence | None = None

    @property
    def ratio(self) -> float | None:
        """Pages read for each page freed, None: not known."""
        return self.evidence.ratio if self.evidence else None


class _Event(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `esewatch events`."""

    time: datetime
    event_id: int
    ese_instance: str = ""
    fields: dict[str, str | int | float] = {}


class _Reading(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line of `esewatch counters`."""

    time: datetime
    counter: str
    value: float
    computer: str = ""
    instance: str = ""


_T = TypeVar("_T")


def events(log: Path) -> list[Event]:
    """All events of a log. Raises LabError, OSError."""
    return [
        Event(
            event_id=each.event_id,
            time=each.time.timestamp(),
            ese_instance=each.ese_instance,
            fields=each.fields,
        )
        for each in _told(_Event, "events", str(log))
    ]


def counters(log: Path) -> list[Reading]:
    """All samples of a counter log. Raises LabError, OSError."""
    return [
        Reading(
            time=each.time.timestamp(),
            computer=sys.intern(each.computer),
            instance=sys.intern(each.instance),
            counter=sys.intern(each.counter),
            value=each.value,
        )
        for each in _told(_Reading, "counters", str(log))
    ]


def advice(configuration: Mapping[str, Any], *logs: Path) -> list[Advice]:
    """As of the last record of the logs. Raises LabError, OSError.

    `configuration`: that of docs/configuration.md.
    """
    with tempfile.TemporaryDirectory(prefix="esewatch-lab-") as folder:
        file = Path(folder, "esewatch.yml")
        # What is JSON is YAML too.
        file.write_bytes(msgspec.json.encode(configuration))
        return list(_told(Advice, "advise", "--config.file", str(file), *map(str, logs)))


def _told(kind: type[_T], command: str, *words: str) -> Iterator[_T]:
    """The objects that a command of the agent prints. Raises LabError, OSError.

    That something is wrong with the data (exit status 1) is no failure, an unreadable log is.
    """
    decoder = msgspec.json.Decoder(kind)
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            [sys.executable, "-m", "esewatch", command, "--format", "json", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            yield decoder.decode(line)
        status = process.wait()
        complaints.seek(0)
        said = complaints.read().decode(errors="replace").splitlines()
    unreadable = [line for line in said if line.startswith(UNREADABLE)]
    if unreadable:
        piece = unreadable[0].removeprefix(UNREADABLE)
        raise LabError(f"the engine's log cannot be read: {piece}")
    if status >= _FAILED or status < 0:
        why = said[-1] if said else f"status {status}"
        raise LabError(f"esewatch {command} could not read the engine's log: {why}")
