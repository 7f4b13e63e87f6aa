"""Logs of NTBACKUP (`backup01.log` …): size and duration of each storage group's backup.

They are UTF-16 or in a code page, in local time and in the language of Windows. The program keeps
ten of them and writes a new job over the oldest, so a name comes back with another text.
"""

import msgspec

from esewatch.config import NtbackupLogs, Settings
from esewatch.ese.programs import ntbackup
from esewatch.fold.instances.backups import follows
from esewatch.model import SetBackedUp, Source
from esewatch.sources.files.decoder import NO_ZONE, Fed
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.kind import Described, RecordSelection
from esewatch.sources.logs.formats.times import Times, TimesState, UnknownTimeError

CODE_PAGE = "cp1252"
"""Encoding of bytes that are not UTF-8, where none is configured."""
_LONGEST = 4096
_SAYS = 200
_APART = 7200.0
"""The duration of a set may differ this much from its start and end: clocks are set forward and
back in between. Where it differs more, day and month were mistaken."""


def open(entry: NtbackupLogs, _settings: Settings, _wanted: RecordSelection) -> Source:
    """Raises SourceError when the time zone is unknown."""
    Times(entry.timezone)  # raises for an unknown zone

    def decoder(_path: str, head: bytes, saved: bytes) -> NtbackupDecoder:
        times = Times(entry.timezone, entry.date_order)
        code_page = entry.encoding or CODE_PAGE
        lines = map(ntbackup.line_of, _text(head, code_page).splitlines())
        dates = (line.text for line in lines if isinstance(line, ntbackup.LocalTime))
        times.learn("\n".join(dates))
        return NtbackupDecoder(saved, times, computer=entry.computer or "", code_page=code_page)

    return FollowedFiles(entry.name, entry.paths, decoder)


def recognise(head: bytes, _stored: bytes) -> bool:
    return ntbackup.is_log(_text(head, CODE_PAGE))


def describe(entry: NtbackupLogs, _path: str, _head: bytes) -> Described:
    return Described([] if entry.timezone else [NO_ZONE])


def _text(data: bytes, code_page: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode(code_page, "replace")


class _Set(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    computer: str
    group: str
    """Empty for what is no storage group."""
    backup: bool | None
    name: str
    started: str = ""
    ended: str = ""
    bytes: int | None = None
    logs_only: bool = False
    trouble: str = ""


class _Context(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    open: _Set | None = None
    job: str = ""
    """Empty before its first set has ended."""
    last: float = 0.0
    """End of the last set of the job."""
    times: TimesState = msgspec.field(default_factory=TimesState)


class NtbackupDecoder:
    """Decodes the lines of one log. Implements `decoder.Decoder`."""

    def __init__(
        self, saved: bytes, times: Times, *, computer: str = "", code_page: str = CODE_PAGE
    ) -> None:
        self._times = times
        self._computer = computer
        self._code_page = code_page
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
        while at < len(data):
            end = data.find(b"\n", at) + 1 or len(data)
            if end - at <= _LONGEST:
                self._line(fed, at, _text(data[at:end], self._code_page))
            at = end
        return fed

    def _line(self, fed: Fed, at: int, text: str) -> None:
        context, told = self._context, ntbackup.line_of(text)
        if isinstance(told, ntbackup.Heading):
            self._break_off(fed, at)
            context.open = _Set(told.computer, told.group, told.backup, told.name)
        elif isinstance(told, ntbackup.Rule):
            self._break_off(fed, at)
            context.job = ""
        elif context.open is not None and isinstance(told, ntbackup.Took):
            self._finish(fed, at, context.open, told.seconds)
            context.open = None
        elif context.open is not None and told is not None:
            _note(context.open, told)

    def _break_off(self, fed: Fed, at: int) -> None:
        """Drop the open set: another set or job begins before it has ended."""
        left, self._context.open = self._context.open, None
        if left is not None and left.group and left.backup and left.started:
            fed.unreadable.append((at, f"the backup of {left.name} does not end"))

    def _finish(self, fed: Fed, at: int, done: _Set, seconds: int | None) -> None:
        """Finish the set; sets of other things show how far the job goes."""
        try:
            started, ended = self._span(done, seconds)
        except UnknownTimeError as error:
            if done.group and done.backup is not False:
                fed.unreadable.append((at, f"{done.name}: {error}"))
            return
        if self._times.assumed:
            fed.remarks = [NO_ZONE]
        context = self._context
        if not context.job or not follows(context.last, started):
            context.job = f"{started:.0f} {done.name}"
        context.last = ended
        if not done.group or done.backup is False:
            return
        if why := _fault(done):
            fed.unreadable.append((at, f"the backup of {done.name} {why}"))
            return
        fed.records.append(
            SetBackedUp(
                time=ended, computer=self._computer or done.computer, ese_instance=done.group,
                kind="ntbackup_logs" if done.logs_only else "ntbackup", started=started,
                seconds=float(seconds or 0), bytes=done.bytes or 0, job=context.job,
            )
        )  # fmt: skip

    def _span(self, done: _Set, seconds: int | None) -> tuple[float, float]:
        """Start and end, epoch seconds. Raises UnknownTimeError."""
        if not done.started or not done.ended or seconds is None:
            raise UnknownTimeError("start, end or duration of the backup cannot be read")
        self._times.learn(f"{done.started}\n{done.ended}")
        if self._times.state.order is None and not done.started.endswith("M"):
            # Only a clock of twelve hours goes with dates that have the month first.
            self._times.state.order = "dmy"
        started, ended = self._times.read(done.started), self._times.read(done.ended)
        if abs(ended - started - seconds) > _APART:
            raise UnknownTimeError(
                f"from {done.started} to {done.ended} is not the {seconds:,} s that it took: "
                "set date_order"
            )
        return started, ended


def _note(
    of: _Set,
    told: ntbackup.LocalTime
    | ntbackup.LabelledCount
    | ntbackup.Took
    | ntbackup.LabelledText
    | ntbackup.BackupTrouble,
) -> None:
    if isinstance(told, ntbackup.LocalTime) and not of.started:
        of.started = told.text
    elif isinstance(told, ntbackup.LocalTime):
        of.ended = told.text
    elif isinstance(told, ntbackup.LabelledCount):
        of.bytes = told.value
    elif isinstance(told, ntbackup.LabelledText) and not of.started:
        of.logs_only = of.logs_only or told.logs_only
    elif isinstance(told, ntbackup.BackupTrouble):
        of.trouble = of.trouble or told.text[:_SAYS]


def _fault(done: _Set) -> str:
    """Reason why a set of a storage group is left out, empty when it is not."""
    if done.trouble:
        return f"is incomplete: {done.trouble}"
    if done.bytes is None:
        return "does not have its number of bytes in a form that can be read"
    if not done.bytes:
        return "copied nothing"
    return "is in a language that is not known" if done.backup is None else ""
