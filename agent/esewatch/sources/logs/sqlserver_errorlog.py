"""The ERRORLOG of SQL Server: the result of each DBCC CHECKDB.

The log is UTF-16 with a byte order mark, a new one begins at each start (ERRORLOG becomes
ERRORLOG.1), and it is written in local time. Its head has the offset from UTC and its own path,
which has the name of the instance. `CHECKDB for database '...' finished without errors on ...` at a
start is the date of an old check, not a new one.
"""

import re

import msgspec

from esewatch.config import Settings, SqlserverLogs
from esewatch.ese.companions.companion_table import companion_event
from esewatch.ese.programs.checkdb import check_in_text
from esewatch.ese.raw_event import RawEvent
from esewatch.model import Event, Source, SourceError
from esewatch.sources.files.decoder import NO_ZONE, Fed
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.kind import Described, EventOptions, RecordSelection
from esewatch.sources.logs.event_stream import first_time
from esewatch.sources.logs.formats.times import Times, TimesState, UnknownTimeError, leading_time

HEAD_LINES = 200
"""The offset and the path stand among the first lines."""
_LONGEST = 8192
_FARTHEST = 14 * 3600
_CHECK = b"DBCC CHECKDB"
_LINE = re.compile(
    rb"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d\d\s+(?:spid\d{1,9}s?|[A-Z]\w{2,20})\s", re.MULTILINE
)
_OFFSET = re.compile(rb"\bUTC\b[^:\r\n]{0,40}:\s*([+-]?)(\d{1,2}):(\d\d)\b")
_PATH = re.compile(rb"\\MSSQL\d{2}(?:_\d\d)?\.([A-Za-z_#][\w#$]{0,15})\\MSSQL\\", re.IGNORECASE)
_DEFAULT = "MSSQLSERVER"


def open(entry: SqlserverLogs, _settings: Settings, wanted: RecordSelection) -> Source:
    """Events 8957 and 5235; without `companions` nothing comes out. Raises SourceError without a
    computer, or when the time zone is unknown."""
    name, paths, timezone = entry.name, entry.paths, entry.timezone
    if not entry.computer:
        where = name if name in paths else f"{name}: {paths[0]}"
        raise SourceError(
            f"{where}: a log of SQL Server does not name its computer: give it as "
            "--computer, or as computer: in the configuration"
        )
    Times(timezone)  # raises for an unknown zone

    def decoder(_path: str, head: bytes, saved: bytes) -> ErrorlogDecoder:
        times = Times(timezone, entry.date_order)
        times.learn(head.decode("utf-8", "replace"))
        return ErrorlogDecoder(
            saved, times, computer=entry.computer, instance=entry.instance or "",
            told_zone=timezone is None, companions=wanted.companions,
        )  # fmt: skip

    order = first_time(EventOptions(timezone=timezone, date_order=entry.date_order))
    return FollowedFiles(name, paths, decoder, order=order)


def recognise(head: bytes, _stored: bytes) -> bool:
    return _LINE.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


def describe(entry: SqlserverLogs, _path: str, head: bytes) -> Described:
    offset = any(_offset_of(line) is not None for line in head.split(b"\n")[:HEAD_LINES])
    return Described([] if entry.timezone or offset else [NO_ZONE])


def _offset_of(line: bytes) -> int | None:
    """Seconds that local time is ahead of UTC; None where this line has no offset."""
    match = _OFFSET.search(line[:_LONGEST])
    if match is None:
        return None
    seconds = int(match[2]) * 3600 + int(match[3]) * 60
    if seconds > _FARTHEST:
        return None
    return -seconds if match[1] == b"-" else seconds


class _Context(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Context kept with the position: lines seen, up to the end of the head, and its facts."""

    lines: int = 0
    offset: int | None = None
    """Seconds that local time is ahead of UTC."""
    instance: str = ""
    times: TimesState = msgspec.field(default_factory=TimesState)


class ErrorlogDecoder:
    """Decodes the lines of one log. Implements `decoder.Decoder`."""

    def __init__(
        self,
        saved: bytes,
        times: Times,
        *,
        computer: str,
        instance: str = "",
        told_zone: bool = True,
        companions: bool = True,
    ) -> None:
        """`told_zone`: the offset in the log counts."""
        self._times = times
        self._computer = computer
        self._instance = instance
        self._told_zone = told_zone
        self._companions = companions
        self._context = _Context()
        if saved:
            self._context = msgspec.msgpack.decode(saved, type=_Context)
            times.state = self._context.times

    def save(self) -> bytes:
        self._context.times = self._times.state
        return msgspec.msgpack.encode(self._context)

    def feed(self, data: bytes, *, final: bool) -> Fed:
        fed = Fed(consumed=len(data))
        at = 0
        while at < len(data) and self._context.lines < HEAD_LINES:
            end = data.find(b"\n", at) + 1 or len(data)
            self._learn(data[at : min(end, at + _LONGEST)])
            self._line(fed, at, data[at : min(end, at + _LONGEST)])
            self._context.lines += 1
            at = end
        while (found := data.find(_CHECK, at)) >= 0:
            begin = data.rfind(b"\n", 0, found) + 1
            at = data.find(b"\n", found) + 1 or len(data)
            self._line(fed, begin, data[begin : min(at, begin + _LONGEST)])
        return fed

    def _learn(self, line: bytes) -> None:
        context = self._context
        if context.offset is None:
            context.offset = _offset_of(line)
        if not context.instance and (match := _PATH.search(line)) is not None:
            context.instance = match[1].decode()

    def _line(self, fed: Fed, begin: int, line: bytes) -> None:
        if not self._companions or _CHECK not in line:
            return
        text = line.decode("utf-8", "replace").strip("\ufeff\r\n")
        written, rest = leading_time(text)
        check = check_in_text(rest)
        if check is None:
            if _has_result(rest):
                fed.unreadable.append((begin, "the result of a check that cannot be read"))
            return
        try:
            time = self._times.read(written)
        except UnknownTimeError as error:
            fed.unreadable.append((begin, str(error) if written else "a check without a time"))
            return
        if self._told_zone:
            time -= self._context.offset or 0
            if self._times.assumed and self._context.offset is None:
                fed.remarks = [NO_ZONE]
        fed.records.append(self._event(check.event_id, time, rest))

    def _event(self, event_id: int, time: float, text: str) -> Event:
        instance = self._instance or self._context.instance
        named = instance and instance.upper() != _DEFAULT
        provider = f"MSSQL${instance}" if named else _DEFAULT
        raw = RawEvent(provider, event_id, time, self._computer, level="information")
        event = companion_event(raw, (), text)
        assert event is not None
        return event


def _has_result(text: str) -> bool:
    """True if a check of a database is named, with a number behind it."""
    _, named, behind = text.partition("DBCC CHECKDB (")
    return bool(named) and any(map(str.isdigit, behind.partition(")")[2]))
