"""Event log channels of this machine, through `wevtutil` and its bookmarks.

Each channel is read whole, without a filter, so that missing records show in the
record ids. The bookmark behind the last event of a run is the position, handed out
together with the events of that run. `wevtutil qe /f:XML` writes
`<Event xmlns='…'><System>…<EventRecordID>4711</EventRecordID>…</System>…</Event>`, one
after the other and without a root, in UTF-16 (`/uni:true`) or a code page.
"""

import contextlib
import logging
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from esewatch.config import Settings, WindowsLog
from esewatch.ese.raw_event import RawEvent
from esewatch.model import Batch, Coverage, Heard, Record, SourceError, Unreadable
from esewatch.sources.files.encodings import Transcoder, detect, to_utf8
from esewatch.sources.kind import EventOptions, RecordSelection
from esewatch.sources.logs.formats.event_builder import RECORD_LIMIT, Harvest, Maker
from esewatch.sources.logs.formats.prefilter import Prefilter
from esewatch.sources.logs.formats.times import Times, UnknownTimeError
from esewatch.sources.logs.formats.xml_events import CLOSE, add_element, elements, head_of
from esewatch.sources.process import Child, pause

CHANNEL_NOT_FOUND: Final = 15007
ACCESS_DENIED: Final = 5
"""Exit statuses of wevtutil: the error codes of Windows."""

_HEAD_BYTES: Final = 64
_STRAY_BYTES: Final = 200
_RECORD_ID = re.compile(rb"<EventRecordID>\s*(\d{1,19})\s*</EventRecordID>")
_BOOKMARK_ID = re.compile(r"(\bRecordId=(['\"]))(\d{1,19})\2")


class Output:
    """The output of one run of wevtutil over `channel`, decoded as it comes. Wanted events end up
    in `records`, each unbroken range of record ids in a `Coverage` behind them (`finish`). Memory
    is bounded by the wanted events."""

    def __init__(self, channel: str, options: EventOptions) -> None:
        self.channel = channel
        self.last_id: int | None = None
        """Record id of the last whole event."""
        self.stray = ""
        """The beginning of text before the first event that is no event."""
        self._options = options
        self._maker = Maker(options)
        self._times = Times()
        self._needles = Prefilter(options.providers, companions=options.companions)
        self._harvest = Harvest()
        self._ranges: list[Coverage] = []
        self._raw = b""
        self._transcoder: Transcoder | None = None
        self._rest = b""

    def feed(self, raw: bytes, *, final: bool = False) -> None:
        """Read the next bytes. Raises SourceError when this cannot be a list of events."""
        if self._transcoder is None:
            self._raw += raw
            if len(self._raw) < _HEAD_BYTES and not final:
                return
            raw, self._raw = self._raw, b""
            encoding, mark = detect(raw[:_HEAD_BYTES])
            self._transcoder, raw = Transcoder(encoding), raw[mark:]
        data = self._rest + self._transcoder.feed(raw)
        if not self.stray and self.last_id is None:
            before = data.partition(b"<Event")[0][:_STRAY_BYTES]
            self.stray = " ".join(before.decode("utf-8", "replace").split())
        self._rest = data[self._take(data) :]
        if len(self._rest) > RECORD_LIMIT:
            raise SourceError(f"{self.channel}: wevtutil wrote an event without an end")

    def finish(self) -> list[Record]:
        """All records, with their coverage. Raises SourceError when the last event is cut."""
        self.feed(b"", final=True)
        if self._rest:
            raise SourceError(f"{self.channel}: the output of wevtutil ends within an event")
        return [*self._harvest.records, *self._ranges]

    def heard(self) -> list[Heard]:
        return self._harvest.heard.taken()

    @property
    def unreadable(self) -> list[Unreadable]:
        return [
            Unreadable(path=self.channel, place=f"record {number}" if number else "", reason=reason)
            for number, reason in self._harvest.unreadable
        ]

    def _take(self, data: bytes) -> int:
        for start, end in elements(data, 0):
            element = data[start:end]
            if element.endswith(CLOSE):
                self._event(element)
            elif end == len(data):
                return start
            else:
                self._harvest.complain(0, "an <Event> element that does not end")
        # `<Event` itself may be cut in two.
        cut = data.rfind(b"<", max(0, len(data) - len(b"<Event")))
        return cut if cut >= 0 and b"<Event".startswith(data[cut:]) else len(data)

    def _event(self, element: bytes) -> None:
        found = _RECORD_ID.search(element)
        if found is None:
            self._harvest.complain(0, "an event without a record id")
            return
        head = head_of(element)
        channel = head.channel
        if channel and channel.lower() != self.channel.lower():
            # Its number is that of another log: neither bookmark nor coverage would hold.
            raise SourceError(
                f"{self.channel}: it has events that were forwarded from {channel}. Export it with "
                f"wevtutil epl {self.channel} FILE.evtx, and read the file with a source evtx"
            )
        self.last_id = int(found[1])
        time = self._time(head)
        wanted = self._needles.any_in(element) and add_element(
            element, self.last_id, self._maker, self._harvest
        )
        if time is not None:
            computer = head.computer or self._options.computer
            if not wanted:
                self._harvest.heard.note(computer, channel or self.channel, time)
            self._cover(self.last_id, computer, channel or self.channel, time)

    def _cover(self, record_id: int, computer: str, channel: str, time: float) -> None:
        """The record belongs to the running range, or begins the next."""
        first, first_time = record_id, time
        if self._ranges:
            running = self._ranges[-1]
            same = (running.computer, running.channel) == (computer, channel)
            if same and record_id == running.last + 1:
                first, first_time = running.first, running.first_time
                self._ranges.pop()
        self._ranges.append(
            Coverage(
                computer=computer,
                channel=channel,
                first=first,
                last=record_id,
                first_time=first_time,
                last_time=time,
            )
        )

    def _time(self, head: RawEvent) -> float | None:
        try:
            return self._times.read(head.time) if head.time else None
        except UnknownTimeError:
            return None


def bookmark_id(bookmark: bytes) -> int | None:
    """Record id that a bookmark of wevtutil names; None when it is none."""
    found = _BOOKMARK_ID.search(to_utf8(bookmark, detect(bookmark)[0]).decode("utf-8", "replace"))
    return int(found[3]) if found else None


def bookmark_at(bookmark: bytes, record_id: int) -> bytes:
    """A saved bookmark, standing at `record_id`, in the encoding it was saved in. No document says
    whether a run with `/c` leaves it at the last event it wrote."""
    encoding, mark = detect(bookmark)
    text = to_utf8(bookmark, encoding).decode("utf-8", "replace")
    moved = _BOOKMARK_ID.sub(rf"\g<1>{record_id}\g<2>", text, count=1)
    return bookmark[:mark] + moved.encode(encoding)


log = logging.getLogger(__name__)

_RUN_EVENTS: Final = 5000
"""Events of one run, and so the most records of one batch."""

_SILENCE_SECONDS: Final = 120.0
_MISSING_SECONDS: Final = 300.0
"""Interval of the searches for a channel that this machine does not have."""

_OF_SOME: Final = "directory service"
"""The channel of domain controllers, which is looked for everywhere: most servers lack it."""
_WEVTUTIL: Final = ("wevtutil",)
_DENIED = (
    "access denied: add the account of esewatch to the group Event Log Readers "
    "(net localgroup), then restart it"
)


def open(entry: WindowsLog, settings: Settings, wanted: RecordSelection) -> "WindowsLogSource":
    options = EventOptions.of(entry, settings, wanted)
    return WindowsLogSource(entry.name, entry.channels, options, interval=entry.interval)


class WindowsLogSource:
    """A source over `channels`, polled every `interval` seconds. Implements `model.Source`.

    `options` say which events are wanted. A poll never waits: wevtutil runs in the background and
    is ended when it is silent for `silence_seconds`. `program` is how it is called. A channel that
    does not exist is unreadable once, but for that of domain controllers; any other failure is a
    SourceError of every poll until a run succeeds.
    """

    def __init__(
        self,
        name: str,
        channels: Sequence[str],
        options: EventOptions,
        *,
        interval: float = 15.0,
        program: Sequence[str] = _WEVTUTIL,
        silence_seconds: float = _SILENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._clock = clock
        self._folder = _Folder()
        self._readers = [
            _ChannelReader(
                channel,
                options,
                program,
                (self._folder, f"{number}"),
                interval=interval,
                silence_seconds=silence_seconds,
            )
            for number, channel in enumerate(dict.fromkeys(channels))
        ]

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """Restore the bookmarks of the journal; one that cannot be read means the oldest record."""
        for reader in self._readers:
            reader.restore(positions.get(reader.channel, b""))

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        """Hand out the runs that have ended, and start those that are due. A log of a running
        machine is never `final`. Raises SourceError as said above, after the other channels were
        read."""
        for reader in self._readers:
            batch = reader.advance(self._clock())
            if batch is not None:
                yield batch
        yield Batch(caught_up=all(reader.caught_up for reader in self._readers))
        problems = [reader.problem for reader in self._readers if reader.problem]
        if all(reader.missing for reader in self._readers):
            problems = [f"{reader.channel}: no such channel" for reader in self._readers]
        if problems:
            raise SourceError("; ".join(dict.fromkeys(problems)))

    def close(self) -> None:
        for reader in self._readers:
            reader.close()
        self._folder.close()


class _Folder:
    def __init__(self) -> None:
        self._made: tempfile.TemporaryDirectory[str] | None = None

    def path(self, name: str) -> Path:
        """Path of a file. Raises OSError when the folder cannot be made."""
        if self._made is None:
            self._made = tempfile.TemporaryDirectory(prefix="esewatch-")
        folder = Path(self._made.name)
        # Windows may clean up temporary files under a program that runs for months.
        folder.mkdir(exist_ok=True)
        return folder / name

    def close(self) -> None:
        if self._made is not None:
            with contextlib.suppress(OSError):
                self._made.cleanup()
            self._made = None


class _ChannelReader:
    """Reads one channel: first its newest record, and when that is new, everything behind it. The
    newest record also shows that a log was cleared: its id is then below the bookmark."""

    def __init__(
        self,
        channel: str,
        options: EventOptions,
        program: Sequence[str],
        place: tuple[_Folder, str],
        *,
        interval: float,
        silence_seconds: float,
    ) -> None:
        self.channel = channel
        self.caught_up = False
        self.missing = False
        self.problem = ""
        """Reason why the channel cannot be read now; empty when it can."""
        self._options = options
        self._program = program
        self._place = place
        self._interval = interval
        self._silence_seconds = silence_seconds
        self._bookmark = b""
        self._due = 0.0
        self._failures = 0
        self._refused = False
        """The last bookmark was refused, and none was accepted since."""
        self._told_absent = False
        self._newest: int | None = None
        self._child: Child | None = None
        self._step: Literal["newest", "events"] = "newest"
        self._output = Output(channel, options)
        self._heard = 0.0

    def restore(self, bookmark: bytes) -> None:
        self._bookmark = bookmark if bookmark_id(bookmark) is not None else b""

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def advance(self, now: float) -> Batch | None:
        """Continue as far as possible without waiting; the batch of a run that has ended."""
        if self._child is None and now < self._due:
            return None
        try:
            if self._child is None:
                self._start("newest", now)
            if not self._ended(now):
                return None
            return self._newest_read(now) if self._step == "newest" else self._events_read(now)
        except SourceError as error:
            self._failed(str(error), now)
            return None

    def _start(self, step: Literal["newest", "events"], now: float) -> None:
        """Start a run. It never raises: a batch in hand must not be lost with it."""
        self._step, self._heard = step, now
        self._output = Output(self.channel, self._options)
        try:
            self._child = Child(self._program, self._arguments(step))
        except SourceError as error:
            self._failed(str(error), now)
        except OSError as error:
            self._failed(f"{self.channel}: bookmark for wevtutil: {error}", now)

    def _arguments(self, step: Literal["newest", "events"]) -> list[str]:
        arguments = ["qe", self.channel, "/f:XML", "/uni:true"]
        if step == "newest":
            arguments += ["/rd:true", "/c:1"]
        else:
            saved = self._file("save.xml")
            saved.unlink(missing_ok=True)
            arguments += [f"/c:{_RUN_EVENTS}", f"/sbm:{saved}"]
            if self._bookmark:
                start = self._file("start.xml")
                start.write_bytes(self._bookmark)
                arguments.append(f"/bm:{start}")
        return arguments

    def _file(self, name: str) -> Path:
        folder, number = self._place
        return folder.path(f"{number}-{name}")

    def _ended(self, now: float) -> bool:
        """Read the output; True when the run has ended. Raises SourceError."""
        if self._child is None:
            return False
        written = self._child.read()
        self._output.feed(written)
        if written:
            self._heard = now
        ended = self._child.ended
        if not ended and now - self._heard > self._silence_seconds:
            silence = f"{self._silence_seconds:g} s"
            raise SourceError(f"{self.channel}: wevtutil was silent for {silence} and was ended")
        return ended

    def _newest_read(self, now: float) -> Batch | None:
        failure = self._failure()
        if self.missing:
            return self._absent(now)
        if failure:
            raise SourceError(failure)
        self._output.finish()
        self._newest = self._output.last_id
        here = bookmark_id(self._bookmark)
        if self._newest is None or self._newest == here:
            self._idle(now)
            return None
        if here is not None and self._newest < here:
            self._bookmark = b""
        self._start("events", now)
        return None

    def _events_read(self, now: float) -> Batch | None:
        failure = self._failure()
        if self.missing:
            return self._absent(now)
        last = self._output.last_id
        if last is None and self._bookmark:
            return self._start_over(failure, now)
        if failure:
            raise SourceError(failure)
        records = self._output.finish()
        if last is None:
            self._idle(now)
            return None
        here = bookmark_id(self._bookmark)
        self._refused = self._refused and here is None
        self._bookmark = bookmark_at(self._saved(), last)
        batch = Batch(
            records=records,
            heard=self._output.heard(),
            unreadable=self._output.unreadable,
            positions={self.channel: self._bookmark},
        )
        if last == here or (self._newest is not None and last >= self._newest):
            self._idle(now)
        else:
            self.problem, self._failures = "", 0
            self._start("events", now)
        return batch

    def _failure(self) -> str:
        child, self._child = self._child, None
        if child is None:
            return ""
        child.close()
        self._output.feed(b"", final=True)
        words = child.complaint or self._output.stray
        self.missing = child.status == CHANNEL_NOT_FOUND or (
            child.status != 0 and "specified channel could not be found" in words
        )
        if child.status == 0 and (self._output.last_id is not None or not words):
            return ""
        if child.status == ACCESS_DENIED or "Access is denied" in words:
            return f"{self.channel}: {_DENIED}"
        return f"{self.channel}: wevtutil: {words} (exit status {child.status})"

    def _saved(self) -> bytes:
        try:
            saved = self._file("save.xml").read_bytes()
        except OSError:
            saved = b""
        if bookmark_id(saved) is None:
            raise SourceError(f"{self.channel}: wevtutil saved no bookmark (/sbm)")
        return saved

    def _start_over(self, failure: str, now: float) -> Batch:
        """The log can be read, but not from this bookmark on: start at the oldest record."""
        reason = failure or f"{self.channel}: no events after the bookmark"
        if self._refused:
            raise SourceError(f"{reason}; a bookmark that wevtutil saved itself was refused")
        place = f"bookmark at record {bookmark_id(self._bookmark)}"
        self._refused = True
        self._bookmark = b""
        self._start("events", now)
        reason = f"{reason}; reading from the oldest record"
        return Batch(unreadable=[Unreadable(path=self.channel, place=place, reason=reason)])

    def _absent(self, now: float) -> Batch | None:
        self._idle(now)
        self._due = now + max(self._interval, _MISSING_SECONDS)
        if self._told_absent:
            return None
        self._told_absent = True
        reason = "this machine has no such channel"
        if self.channel.lower() == _OF_SOME:
            log.info("%s: %s", self.channel, reason)
            return None
        return Batch(unreadable=[Unreadable(path=self.channel, place="", reason=reason)])

    def _idle(self, now: float) -> None:
        self.caught_up, self.problem, self._failures = True, "", 0
        self._due = now + self._interval

    def _failed(self, reason: str, now: float) -> None:
        self.close()
        self.caught_up, self.problem = False, reason
        self._failures += 1
        self._due = now + pause(self._interval, self._failures)
