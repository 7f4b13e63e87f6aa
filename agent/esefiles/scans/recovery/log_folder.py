"""The series of logs in folders: which files are there, which belong to a database, and which of
them it needs."""

import contextlib
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from esefiles.logs.checkpoint import CHECKPOINT_BYTES, Checkpoint, parse_checkpoint
from esefiles.logs.log_header import LOG_HEADER_BYTES, LogHeader, NotLog, parse_log_header
from esefiles.logs.log_names import (
    CHECKPOINT_ENDINGS,
    NEWER_LOG_ENDING,
    LogName,
    parse_log_name,
)
from esefiles.pages.header import Header
from esefiles.pages.header_fields import Signature
from esefiles.scans.open_errors import may_be_good, why_not_opened
from esefiles.scans.reading.reading import DatabaseFile

AT_ONCE: Final = 32
"""Files whose beginnings are asked for before the first of them is read."""

DIRTY: Final = ("dirty", "dirty_patched")

_BEGINNING: Final = max(LOG_HEADER_BYTES, CHECKPOINT_BYTES)


class LogFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file that is named like a log. `header` None: `reason` says why. `is_read` False: it was
    not read at all (no permission), and may be good."""

    path: str
    name: LogName
    size: int
    header: LogHeader | None
    reason: str = ""
    is_read: bool = True


class CheckpointFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A checkpoint. `content` None: `reason` says why it cannot be read. `is_read` False: it was
    not read at all (no permission), and may be good."""

    path: str
    content: Checkpoint | None
    reason: str = ""
    is_read: bool = True


class LogSeries(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Logs of one base name in one folder, as one database with `signature` sees them."""

    folder: str
    base: str
    signature: Signature
    logs: dict[int, LogFile]
    """By generation; one whose header cannot be read too, where its name tells the generation."""
    faults: dict[int, str]
    """Of logs that cannot be used: a sentence each."""
    checkpoint: CheckpointFile | None
    has_current: bool
    """There is a log without digits in its name, or one in the making that replaces it."""


class LogFolders:
    """The logs and checkpoints in some folders. `unsearched`: the folders that cannot be listed,
    and a sentence each on why."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._logs: dict[tuple[str, str], list[LogFile]] = {}
        self._checkpoints: dict[tuple[str, str], dict[str, CheckpointFile]] = {}
        """By their endings."""
        self.unsearched: dict[str, str] = {}
        for folder in dict.fromkeys(folders):
            try:
                self._look(folder)
            except OSError as error:
                self.unsearched[folder] = why_not_opened(folder, error)

    def series_of(
        self, signature: Signature, database: str, needed: Collection[int] = ()
    ) -> LogSeries | None:
        """The logs of a database: of all that have its log signature, the nearest to it. Of those
        that are equally near, the one that has most of the generations that are `needed`."""
        found = [
            key
            for key, logs in self._logs.items()
            if any(log.header and log.header.signature == signature for log in logs)
        ] or [key for key, logs in self._logs.items() if not any(log.is_read for log in logs)]
        if not found:
            return None
        place = str(Path(database).parent)
        key = min(
            found, key=lambda key: (_distance(key[0], place), self._lacking(key, needed), key)
        )
        logs = self._logs[key]
        return _series(key, signature, logs, _of_these_logs(logs, self._checkpoints.get(key, {})))

    def _lacking(self, key: tuple[str, str], needed: Collection[int]) -> int:
        here = {log.header.generation for log in self._logs[key] if log.header}
        return sum(generation not in here for generation in needed)

    def nearer_unsearched(self, series: LogSeries | None, database: str) -> list[str]:
        """Sentences on the folders that cannot be listed, and whose logs would be taken instead of
        those of `series`; None: there are no others."""
        place = str(Path(database).parent)
        most = math.inf if series is None else _distance(series.folder, place)
        return [why for folder, why in self.unsearched.items() if _distance(folder, place) <= most]

    def _look(self, folder: str) -> None:
        with os.scandir(folder) as entries:
            # An entry that cannot be examined may be a log: os.path.isdir never raises.
            files = sorted(each.path for each in entries if not os.path.isdir(each.path))  # noqa: PTH112
        wanted = [
            path for path in files if _name(path) or path.lower().endswith(CHECKPOINT_ENDINGS)
        ]
        for at in range(0, len(wanted), AT_ONCE):
            for path, beginning in _beginnings(wanted[at : at + AT_ONCE]):
                self._add(folder, path, beginning)

    def _add(self, folder: str, path: str, beginning: "_Beginning | OSError") -> None:
        name = _name(path)
        if name is None:
            base, ending = Path(path).stem.lower(), Path(path).suffix.lower()
            of_base = self._checkpoints.setdefault((folder, base), {})
            of_base[ending] = _checkpoint(path, beginning)
        elif (log := _log(path, name, beginning)) is not None:
            self._logs.setdefault((folder, name.base), []).append(log)


def _distance(folder: str, place: str) -> int:
    """Steps from the one folder to the other."""
    ours, theirs = Path(folder).parts, Path(place).parts
    same = next(
        (at for at, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other),
        min(len(ours), len(theirs)),
    )
    return len(ours) + len(theirs) - 2 * same


def _name(path: str) -> LogName | None:
    """None: the file is not named like a log that counts."""
    name = parse_log_name(Path(path).name)
    return None if name is None or name.kind == "reserved" else name


def _of_these_logs(
    logs: Sequence[LogFile], checkpoints: Mapping[str, CheckpointFile]
) -> CheckpointFile | None:
    """The checkpoint with the ending that belongs to that of the logs, else the other one."""
    theirs, other = CHECKPOINT_ENDINGS
    if any(log.path.lower().endswith(NEWER_LOG_ENDING) for log in logs):
        theirs, other = other, theirs
    return checkpoints.get(theirs) or checkpoints.get(other)


class _Beginning(NamedTuple):
    data: bytes
    size: int
    """Bytes of the whole file."""


def _beginnings(paths: Sequence[str]) -> Iterator[tuple[str, _Beginning | OSError]]:
    """The first bytes of each file, or why there are none. The disk is asked for all at once."""
    with contextlib.ExitStack() as opened:
        files: dict[str, DatabaseFile | OSError] = {}
        for path in paths:
            try:
                file = DatabaseFile(path, buffered=True)
            except OSError as error:
                files[path] = error
                continue
            opened.callback(file.close)
            file.ask_for(0, _BEGINNING)
            files[path] = file
        for path, found in files.items():
            yield path, found if isinstance(found, OSError) else _beginning(found)


def _beginning(file: DatabaseFile) -> _Beginning | OSError:
    buffer = bytearray(_BEGINNING)
    try:
        done = file.read_into(memoryview(buffer), 0)
        return _Beginning(bytes(buffer[:done]), file.size())
    except OSError as error:
        return error


def _log(path: str, name: LogName, beginning: _Beginning | OSError) -> LogFile | None:
    """None: the file is named like a log, and is none of the engine's."""
    if isinstance(beginning, OSError):
        reason = why_not_opened(path, beginning)
        is_read = not may_be_good(beginning)
        return LogFile(path=path, name=name, size=0, header=None, reason=reason, is_read=is_read)
    data, size = beginning.data[:LOG_HEADER_BYTES], beginning.size
    header = parse_log_header(data)
    if isinstance(header, LogHeader):
        return LogFile(path=path, name=name, size=size, header=header)
    if name.kind == "current" and not header.damaged and any(data):
        return None
    return LogFile(path=path, name=name, size=size, header=None, reason=header.reason)


def _checkpoint(path: str, beginning: _Beginning | OSError) -> CheckpointFile:
    if isinstance(beginning, OSError):
        reason, is_read = why_not_opened(path, beginning), not may_be_good(beginning)
        return CheckpointFile(path=path, content=None, reason=reason, is_read=is_read)
    content = parse_checkpoint(beginning.data[:CHECKPOINT_BYTES])
    if isinstance(content, NotLog):
        return CheckpointFile(path=path, content=None, reason=content.reason)
    return CheckpointFile(path=path, content=content)


def _series(
    key: tuple[str, str],
    signature: Signature,
    files: Sequence[LogFile],
    checkpoint: CheckpointFile | None,
) -> LogSeries:
    logs: dict[int, LogFile] = {}
    faults: dict[int, str] = {}
    for log in files:
        if log.name.kind == "complete":
            logs[log.name.generation] = log
            if fault := _fault(log, signature, log.name.generation):
                faults[log.name.generation] = fault
    current = [log for log in files if log.name.kind == "current"]
    for log in current:
        generation = log.header.generation if log.header else max(logs, default=0) + 1
        if generation in logs:
            # The engine opens the one with the digits.
            continue
        logs[generation] = log
        if fault := _fault(log, signature, generation):
            faults[generation] = fault
    return LogSeries(
        folder=key[0],
        base=key[1],
        signature=signature,
        logs=dict(sorted(logs.items())),
        faults=faults,
        checkpoint=checkpoint,
        has_current=any(log.name.kind != "complete" for log in files),
    )


def _fault(log: LogFile, signature: Signature, generation: int) -> str:
    """Fault of the file as a log of this generation; empty: its header is as it must be."""
    header = log.header
    if header is None:
        return log.reason if log.is_read else ""
    if header.signature != signature:
        return "it is of another series of logs (log signature)"
    if header.generation != generation:
        return f"it is log {header.generation} by its header: it was renamed"
    if header.file_bytes() != log.size:
        return f"the file has {log.size} bytes, its header says {header.file_bytes()}"
    return ""


def needs_logs(header: Header) -> bool:
    """True if the database mounts only after a replay of logs that its header names."""
    return header.state in DIRTY and header.log_required.first > 0


def replay_generations(header: Header, series: LogSeries) -> range:
    """The logs that a replay reads: from the checkpoint on, or from the lowest log without one.
    From the first that is required at the latest, up to the last that is there or committed."""
    first = header.log_required.first
    start = checkpoint_generation(series) or min(series.logs, default=first)
    end = max(max(series.logs, default=0), header.log_required.last, header.log_committed)
    return range(min(start, first), end + 1)


def checkpoint_generation(series: LogSeries) -> int | None:
    """The log at which a replay begins by the checkpoint; None: the checkpoint is not used."""
    file = series.checkpoint
    if file is None or file.content is None or file.content.signature != series.signature:
        return None
    position = file.content.position
    return position.generation if position and position.generation in series.logs else None
