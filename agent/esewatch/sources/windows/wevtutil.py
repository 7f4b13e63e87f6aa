"""Output of `wevtutil qe /f:XML`: events of a channel, and the bookmark behind them.

`<Event xmlns='…'><System>…<EventRecordID>4711</EventRecordID>…</System>…</Event>`, one
after the other and without a root, in UTF-16 (`/uni:true`) or a code page.
"""

import re
from typing import Final

from esewatch.model import Coverage, Heard, Record, SourceError, Unreadable
from esewatch.sources.files.encodings import Transcoder, detect, to_utf8
from esewatch.sources.logs.formats.event_builder import RECORD_LIMIT, EventOptions, Harvest, Maker
from esewatch.sources.logs.formats.prefilter import Prefilter
from esewatch.sources.logs.formats.times import Times, UnknownTimeError
from esewatch.sources.logs.formats.xml_events import CLOSE, Head, add_element, elements, head_of

CHANNEL_NOT_FOUND: Final = 15007
ACCESS_DENIED: Final = 5
"""Exit statuses of wevtutil: the error codes of Windows."""

_HEAD_BYTES: Final = 64
_STRAY_BYTES: Final = 200
_RECORD_ID = re.compile(rb"<EventRecordID>\s*(\d{1,19})\s*</EventRecordID>")
_BOOKMARK_ID = re.compile(r"(\bRecordId=(['\"]))(\d{1,19})\2")


class Output:
    """The output of one run of wevtutil over `channel`, decoded as it comes.

    Wanted events end up in `records`, each unbroken range of record ids in a
    `Coverage` behind them (`finish`). Memory is bounded by the wanted events.
    """

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
        """Unreadable events, with the record ids; at most 1,000 entries."""
        return [
            Unreadable(path=self.channel, place=f"record {number}" if number else "", reason=reason)
            for number, reason in self._harvest.unreadable
        ]

    def _take(self, data: bytes) -> int:
        """Take the whole events of `data`; returns the start of the first incomplete one."""
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

    def _time(self, head: Head) -> float | None:
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
