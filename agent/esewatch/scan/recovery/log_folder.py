"""The series of logs in folders: which files are there, and which belong to a database."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from esewatch.ese.logs.checkpoint import CHECKPOINT_BYTES, Checkpoint, parse_checkpoint
from esewatch.ese.logs.log_header import LOG_HEADER_BYTES, LogHeader, NotLog, parse_log_header
from esewatch.ese.logs.log_names import LogName, parse_log_name
from esewatch.ese.pages.header_fields import Signature
from esewatch.scan.open_errors import why_not_opened
from esewatch.scan.reading.reading import DatabaseFile


class LogFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file that is named like a log. `header` None: `reason` says why."""

    path: str
    name: LogName
    size: int
    header: LogHeader | None
    reason: str = ""


class CheckpointFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A checkpoint. `content` None: `reason` says why it cannot be read."""

    path: str
    base: str
    content: Checkpoint | None
    reason: str = ""


class Series(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
    """The logs and checkpoints in some folders. Raises OSError where a folder cannot be read."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._logs: dict[tuple[str, str], list[LogFile]] = {}
        self._checkpoints: dict[tuple[str, str], CheckpointFile] = {}
        for folder in dict.fromkeys(folders):
            self._look(folder)

    def series_of(self, signature: Signature, database: str) -> Series | None:
        """The logs of a database: of all that have its log signature, the nearest to it."""
        found = [
            key
            for key, logs in self._logs.items()
            if any(log.header and log.header.signature == signature for log in logs)
        ]
        if not found:
            return None
        place = str(Path(database).parent)
        key = min(found, key=lambda key: (_distance(key[0], place), key))
        return _series(key, signature, self._logs[key], self._checkpoints.get(key))

    def _look(self, folder: str) -> None:
        with os.scandir(folder) as entries:
            files = sorted(entry.path for entry in entries if entry.is_file())
        for path in files:
            name = parse_log_name(Path(path).name)
            if name is not None and name.kind != "reserved":
                log = _log(path, name)
                if log is not None:
                    self._logs.setdefault((folder, name.base), []).append(log)
            elif path.lower().endswith(".chk"):
                base = Path(path).stem.lower()
                if (checkpoint := _checkpoint(path, base)) is not None:
                    self._checkpoints[folder, base] = checkpoint


def _distance(folder: str, place: str) -> int:
    """Steps from the one folder to the other."""
    ours, theirs = Path(folder).parts, Path(place).parts
    same = next(
        (at for at, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other),
        min(len(ours), len(theirs)),
    )
    return len(ours) + len(theirs) - 2 * same


def _read(path: str, size: int) -> tuple[bytes, int]:
    file = DatabaseFile(path)
    try:
        return file.read(0, size), file.size()
    finally:
        file.close()


def _log(path: str, name: LogName) -> LogFile | None:
    """None: the file is named like a log, and is none of the engine's."""
    try:
        data, size = _read(path, LOG_HEADER_BYTES)
    except OSError as error:
        return LogFile(
            path=path, name=name, size=0, header=None, reason=why_not_opened(path, error)
        )
    header = parse_log_header(data)
    if isinstance(header, LogHeader):
        return LogFile(path=path, name=name, size=size, header=header)
    if name.kind == "current" and not header.damaged and any(data):
        return None
    return LogFile(path=path, name=name, size=size, header=None, reason=header.reason)


def _checkpoint(path: str, base: str) -> CheckpointFile | None:
    try:
        data, _ = _read(path, CHECKPOINT_BYTES)
    except OSError as error:
        return CheckpointFile(
            path=path, base=base, content=None, reason=why_not_opened(path, error)
        )
    content = parse_checkpoint(data)
    if isinstance(content, NotLog):
        return CheckpointFile(path=path, base=base, content=None, reason=content.reason)
    return CheckpointFile(path=path, base=base, content=content)


def _series(
    key: tuple[str, str],
    signature: Signature,
    files: Sequence[LogFile],
    checkpoint: CheckpointFile | None,
) -> Series:
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
    return Series(
        folder=key[0],
        base=key[1],
        signature=signature,
        logs=dict(sorted(logs.items())),
        faults=faults,
        checkpoint=checkpoint,
        has_current=any(log.name.kind != "complete" for log in files),
    )


def _fault(log: LogFile, signature: Signature, generation: int) -> str:
    """Why the file is no usable log of this generation; empty: its header is as it must be."""
    header = log.header
    if header is None:
        return log.reason
    if header.signature != signature:
        return "it is of another series of logs (log signature)"
    if header.generation != generation:
        return f"it is log {header.generation} by its header: it was renamed"
    if header.file_bytes() != log.size:
        return f"the file has {log.size} bytes, its header says {header.file_bytes()}"
    return ""
