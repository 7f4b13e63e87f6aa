"""`header`: the header of a database, a transaction log, a checkpoint or a flush map."""

from typing import NamedTuple

from esefiles.logs.checkpoint import CHECKPOINT_BYTES, Checkpoint, parse_checkpoint
from esefiles.logs.log_header import LOG_HEADER_BYTES, LogHeader, is_log, parse_log_header
from esefiles.pages.file_types import foreign_type_of
from esefiles.pages.flush_map.map_header import (
    MapHeader,
    is_flush_map,
    is_whole,
    parse_map_header,
)
from esefiles.pages.header import Header
from esefiles.scans.open_errors import why_not_opened
from esefiles.scans.reading.header_reading import read_header
from esefiles.scans.reading.reading import DatabaseFile

AnyHeader = Header | LogHeader | Checkpoint | MapHeader


class HeaderError(Exception):
    """No header can be shown; the text is a sentence that names the file. `damaged`: it is a log, a
    checkpoint or a flush map; else it is no file of the engine, or cannot be read."""

    def __init__(self, path: str, reason: str, *, damaged: bool = False) -> None:
        super().__init__(reason if reason.startswith(f"{path}: ") else f"{path}: {reason}")
        self.damaged = damaged


class FileHeader(NamedTuple):
    path: str
    size_bytes: int
    """Of the file."""
    content: AnyHeader


def header(path: str) -> FileHeader:
    """The header of one file. Raises HeaderError."""
    try:
        file = DatabaseFile(path)
    except (OSError, ValueError) as error:
        raise HeaderError(path, why_not_opened(path, error)) from error
    try:
        found = read_header(file)
        if not isinstance(found, Header):
            other = _of_recovery(path, file.read(0, CHECKPOINT_BYTES))
            if other is None:
                raise HeaderError(path, found.reason)
            return FileHeader(path, file.size(), other)
        return FileHeader(path, file.size(), found)
    except (OSError, ValueError) as error:
        raise HeaderError(path, why_not_opened(path, error)) from error
    finally:
        file.close()


def _of_recovery(path: str, data: bytes) -> AnyHeader | None:
    """The header of a log, a checkpoint or a flush map; None: the file is none of them. Raises
    HeaderError."""
    log = parse_log_header(data)
    if isinstance(log, LogHeader):
        return log
    checkpoint = parse_checkpoint(data)
    if isinstance(checkpoint, Checkpoint):
        return checkpoint
    # A program may have in one place what a log has there.
    if foreign_type_of(data):
        return None
    if is_flush_map(data):
        flush_map = parse_map_header(data)
        if isinstance(flush_map, MapHeader):
            return flush_map
        raise HeaderError(path, flush_map, damaged=not is_whole(data))
    if checkpoint.damaged:
        raise HeaderError(path, checkpoint.reason, damaged=True)
    if log.damaged and (len(data) >= LOG_HEADER_BYTES or is_log(data)):
        raise HeaderError(path, log.reason, damaged=True)
    return None
