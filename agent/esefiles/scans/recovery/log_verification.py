"""Reads the logs of a series in their order and says of each whether a replay gets through it."""

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from esefiles.logs.log_header import FIRST_WITH_SEGMENTS, NEWEST, SEGMENT_BYTES, LogHeader
from esefiles.logs.segments import FIRST_SEGMENT, SegmentCheck, Segments
from esefiles.pages.header import Header
from esefiles.scans.open_errors import may_be_good, why_not_opened
from esefiles.scans.recovery.log_folder import (
    LogFile,
    LogFolders,
    LogSeries,
    needs_logs,
    replay_generations,
)
from esefiles.scans.recovery.log_reader import LogPart, LogReader

MOST = 10_000
"""Logs of a database that are counted, to choose between folders that are equally near."""


class LogCheck(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    fault: str = ""
    """A sentence: why no replay gets through it. Empty: one does."""
    doubt: str = ""
    """A sentence: why it cannot be said, or should not be relied on."""
    torn: bool = False
    """A write at its end did not finish; the engine repairs it from the shadow."""
    last: int = 0
    """The last valid segment."""
    is_read: bool = True
    """False: it was not read at all (no permission), and may be good."""


def verify_logs(
    series: LogSeries,
    generations: range,
    *,
    read: Callable[[int], bool] = lambda _: True,
    buffered: bool = False,
) -> dict[int, LogCheck]:
    """The logs of these generations that are there, in rising order. `read` hears of bytes that
    were read; false from it ends all. `buffered`: through the page cache."""
    found: dict[int, LogCheck] = {}
    before: _Before | None = None
    wanted = {number: log for number, log in series.logs.items() if number in generations}
    parts = [
        LogPart(log.path, FIRST_SEGMENT * SEGMENT_BYTES, log.header.file_bytes())
        for number, log in wanted.items()
        if log.header is not None and number not in series.faults and _has_segments(log.header)
    ]
    with contextlib.closing(LogReader(parts, buffered=buffered)) as reader:
        for generation, log in wanted.items():
            fault = series.faults.get(generation, "")
            if fault or log.header is None:
                doubt = "" if fault else log.reason
                found[generation] = LogCheck(fault=fault, doubt=doubt, is_read=log.is_read)
                before = None
                continue
            if before is not None and before.header.generation != generation - 1:
                before = None
            check, segments = _verified(log, log.header, before, reader)
            found[generation] = check
            if before is not None and not check.fault and _is_of_another(log.header, before):
                # Its end was lost, or it was read before it was closed.
                fault = f"log {generation} follows another content of it (checksum of all segments)"
                found[generation - 1] = msgspec.structs.replace(found[generation - 1], fault=fault)
            before = None if check.fault else _Before(log.header, segments)
            if not read(log.size):
                break
    return found


class _Before(NamedTuple):
    """The log before the one that is read; `segments` None: they were not verified."""

    header: LogHeader
    segments: Segments | None


class CheckedLogs(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The logs of one database: `series` None where none are here. `unsearched`: a sentence on each
    folder that cannot be listed and may have nearer ones."""

    series: LogSeries | None
    checks: dict[int, LogCheck]
    unsearched: list[str] = []


class LogVerifier:
    """Verifies the logs that databases need; those of one series once for all that share it."""

    def __init__(
        self,
        folders: LogFolders,
        *,
        read: Callable[[int], bool] = lambda _: True,
        buffered: bool = False,
    ) -> None:
        self._folders = folders
        self._read = read
        self._buffered = buffered
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
        unsearched = self._folders.nearer_unsearched(series, path)
        if series is None:
            return CheckedLogs(series=None, checks={}, unsearched=unsearched)
        needed = replay_generations(header, series)
        key = (series.folder, series.base, needed)
        if key not in self._known:
            self._known[key] = verify_logs(series, needed, read=self._read, buffered=self._buffered)
        return CheckedLogs(series=series, checks=self._known[key], unsearched=unsearched)

    def _series(self, header: Header, path: str) -> LogSeries | None:
        if not needs_logs(header):
            return None
        last = max(header.log_required.last, header.log_committed)
        needed = range(header.log_required.first, min(last, header.log_required.first + MOST) + 1)
        return self._folders.series_of(header.log_signature, path, needed)


def _verified(
    log: LogFile, header: LogHeader, before: _Before | None, reader: LogReader
) -> tuple[LogCheck, Segments | None]:
    if fault := _unlike(header, before):
        return LogCheck(fault=fault), None
    if not _has_segments(header):
        doubt = f"its records are of format {header.version}, and only its header is verified"
        return LogCheck(doubt=doubt), None
    doubt = ""
    try:
        content = SegmentCheck(header)
        while not content.is_over() and (data := reader.next_of(log.path)) is not None:
            content.add(data[: len(data) - len(data) % SEGMENT_BYTES])
        segments = content.result()
    except OSError as error:
        why = why_not_opened(log.path, error)
        unread = may_be_good(error)
        return LogCheck(doubt=why, is_read=False) if unread else LogCheck(fault=why), None
    if segments.corrected:
        listed = ", ".join(map(str, segments.corrected))
        doubt = f"a bit is flipped in segment {listed}; the engine corrects it by its checksum"
    if not header.is_known():
        newest = ".".join(map(str, NEWEST))
        doubt = f"its format {header.version} is newer than this program; read as {newest}, " + (
            segments.reason or doubt or "nothing is wrong"
        )
        return LogCheck(doubt=doubt), None
    check = LogCheck(
        fault=segments.reason, doubt=doubt, torn=segments.torn is not None, last=segments.last
    )
    return check, segments


def _unlike(header: LogHeader, before: _Before | None) -> str:
    """Reason why the log is not one that the engine wrote behind the one before."""
    if _has_segments(header) and header.sector_bytes != SEGMENT_BYTES:
        return f"its segments have {header.sector_bytes} bytes, which no engine writes"
    if before is None:
        return ""
    number = before.header.generation
    if header.previous_created_raw != before.header.created_raw:
        return f"it follows another log {number} than the one here (creation time)"
    return ""


def _is_of_another(header: LogHeader, before: _Before) -> bool:
    """True if the log before ended otherwise when this one was begun."""
    segments = before.segments if header.is_known() and header.has_previous_checksum() else None
    return segments is not None and header.previous_checksum != segments.checksum


def _has_segments(header: LogHeader) -> bool:
    return header.major >= FIRST_WITH_SEGMENTS
