"""Reads the logs of a series in their order and says of each whether a replay gets through it."""

import mmap
from collections.abc import Callable

import msgspec

from esewatch.ese.logs.log_header import FIRST_WITH_SEGMENTS, SEGMENT_BYTES, LogHeader
from esewatch.ese.logs.segments import FIRST_SEGMENT, SegmentCheck, Segments
from esewatch.ese.pages.header import Header
from esewatch.scan.open_errors import why_not_opened
from esewatch.scan.reading.reading import DatabaseFile
from esewatch.scan.recovery.log_folder import LogFile, LogFolders, Series
from esewatch.scan.recovery.needed_logs import needs_logs, replay_generations

READ_BYTES = 1 << 20


class LogCheck(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the content of one log says."""

    path: str
    fault: str = ""
    """A sentence: why no replay gets through it. Empty: one does."""
    doubt: str = ""
    """A sentence: why it cannot be said, or should not be relied on."""
    torn: bool = False
    """A write at its end did not finish; the engine mends it from the shadow."""
    last: int = 0
    """The last valid segment."""


def verify_logs(
    series: Series,
    generations: range,
    *,
    read: Callable[[int], bool] = lambda _: True,
) -> dict[int, LogCheck]:
    """The logs of these generations that are there, in rising order.

    `read` is told of bytes that were read; false from it ends all.
    """
    found: dict[int, LogCheck] = {}
    before: tuple[int, LogHeader, Segments] | None = None
    for generation, log in series.logs.items():
        if generation not in generations:
            continue
        fault = series.faults.get(generation, "")
        if fault or log.header is None:
            found[generation] = LogCheck(path=log.path, fault=fault)
            before = None
            continue
        if before is not None and before[0] != generation - 1:
            before = None
        found[generation], segments = _verified(log, log.header, before)
        before = None if segments is None else (generation, log.header, segments)
        if not read(log.size):
            break
    return found


class CheckedLogs(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The logs of one database: `series` None where none are here."""

    series: Series | None
    checks: dict[int, LogCheck]


class LogVerifier:
    """Verifies the logs that databases need; those of one series once for all that share it."""

    def __init__(self, folders: LogFolders, *, read: Callable[[int], bool] = lambda _: True):
        self._folders = folders
        self._read = read
        self._known: dict[tuple[str, str, range], dict[int, LogCheck]] = {}

    def size(self, header: Header, path: str) -> int:
        """Bytes of the logs that `of` will read."""
        series = self._series(header, path)
        if series is None:
            return 0
        needed = replay_generations(header, series)
        return sum(log.size for number, log in series.logs.items() if number in needed)

    def of(self, header: Header, path: str) -> CheckedLogs:
        """The logs of the database at `path`; none where it needs none."""
        series = self._series(header, path)
        if series is None:
            return CheckedLogs(series=None, checks={})
        needed = replay_generations(header, series)
        key = (series.folder, series.base, needed)
        if key not in self._known:
            self._known[key] = verify_logs(series, needed, read=self._read)
        return CheckedLogs(series=series, checks=self._known[key])

    def _series(self, header: Header, path: str) -> Series | None:
        return self._folders.series_of(header.log_signature, path) if needs_logs(header) else None


def _verified(
    log: LogFile, header: LogHeader, before: tuple[int, LogHeader, Segments] | None
) -> tuple[LogCheck, Segments | None]:
    if before is not None and header.previous_created_raw != before[1].created_raw:
        fault = f"it follows another log {before[0]} than the one here (creation time)"
        return LogCheck(path=log.path, fault=fault), None
    if header.major < FIRST_WITH_SEGMENTS:
        doubt = f"its records are of format {header.version}, and only its header is verified"
        return LogCheck(path=log.path, doubt=doubt), None
    if header.sector_bytes != SEGMENT_BYTES:
        fault = f"its segments have {header.sector_bytes} bytes, which no engine writes"
        return LogCheck(path=log.path, fault=fault), None
    if not header.is_known():
        doubt = f"its format {header.version} is newer than this program"
        return LogCheck(path=log.path, doubt=doubt), None
    if before is not None and _breaks(header, before[2]):
        fault = f"it follows another content of log {before[0]} (checksum of all its segments)"
        return LogCheck(path=log.path, fault=fault), None
    try:
        segments = _segments(log.path, header)
    except OSError as error:
        return LogCheck(path=log.path, fault=why_not_opened(log.path, error)), None
    doubt = ""
    if segments.corrected:
        listed = ", ".join(map(str, segments.corrected))
        doubt = f"a bit is flipped in segment {listed}; the engine corrects it by its checksum"
    check = LogCheck(
        path=log.path,
        fault=segments.reason,
        doubt=doubt,
        torn=segments.torn is not None,
        last=segments.last,
    )
    return check, segments if segments.bad is None else None


def _breaks(header: LogHeader, before: Segments) -> bool:
    return header.has_previous_checksum() and header.previous_checksum != before.checksum


def _segments(path: str, header: LogHeader) -> Segments:
    """Raises OSError."""
    check = SegmentCheck(header)
    file = DatabaseFile(path)
    try:
        with mmap.mmap(-1, READ_BYTES) as buffer, memoryview(buffer) as view:
            at = FIRST_SEGMENT * SEGMENT_BYTES
            size = header.file_bytes()
            while at < size and not check.is_over():
                # The second read begins at a whole number of pieces, as the disk likes it.
                wanted = min(READ_BYTES - at % READ_BYTES, size - at)
                done = file.read_into(view[:wanted], at)
                check.add(view[: done - done % SEGMENT_BYTES])
                if done < wanted:
                    break
                at += done
    finally:
        file.close()
    return check.result()
