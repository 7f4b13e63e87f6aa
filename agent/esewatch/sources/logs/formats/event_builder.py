"""Builds an `Event` from the fields of a record: the one way for all formats."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from esewatch.ese.events.from_strings import event_from_strings, has_fields
from esewatch.ese.events.from_text import (
    TextFrame,
    event_from_text,
    event_in_frame,
    split_joined,
    text_frame,
)
from esewatch.ese.providers import PATTERNS, is_ese_provider
from esewatch.ese.raw_event import RawEvent
from esewatch.model import Event, Record
from esewatch.sources.files.decoder import NO_YEAR, NO_ZONE, Fed
from esewatch.sources.files.record_times import HeardTimes, KnownLogs
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.formats.lines import undone
from esewatch.sources.logs.formats.prefilter import PREFIX, Prefilter
from esewatch.sources.logs.formats.tables import ColumnNames, Table
from esewatch.sources.logs.formats.times import Times, TimesState, UnknownTimeError

RECORD_LIMIT = 1 << 20
"""Longest record in bytes. An event of Windows has at most 64 KiB of text."""

NOT_UTF8 = (
    "bytes that are not UTF-8: names with them are wrong here, so a database of such a name is "
    "taken for another one; export the log as UTF-8 or UTF-16"
)
MAX_EVENT_ID = 0xFFFFFFFF
"""The widest form of an id, with qualifiers and severity (InstanceId)."""

_UNREADABLE_LIMIT = 1_000
_LONGEST_HEAD = 256
_LONGEST_NAMING = 8_192
_STARTS = re.compile(
    r"[\s<\[(\"']{0,4}(?:\d|[A-Z][a-z]{2} [ \d]\d |[A-Z][A-Za-z]{3,10}[\s\]:|,]+\d)"
)
"""A line that begins with a time, a priority or a level."""

Format = Literal["json", "xml", "csv", "text"]


class Harvest:
    """Records and complaints of one feed; the complaints are bounded."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.heard = HeardTimes()
        self.remarks: list[str] = []
        self.unreadable: list[tuple[int, str]] = []
        self._left_out = 0

    def fed(self, data: bytes, end: int) -> tuple[Fed, int]:
        """The outcome when the data is taken up to `end`, and how far that is within its line.
        Positions are at line ends: the whole line is fed again, and the decoder passes over the
        part of it that is taken."""
        line = len(data) if end >= len(data) else data.rfind(b"\n", 0, end) + 1
        places = [(min(offset, line), reason) for offset, reason in self.unreadable]
        fed = Fed(
            records=self.records,
            unreadable=places,
            remarks=self.remarks,
            consumed=line,
            heard=self.heard.taken(),
        )
        return fed, end - line

    @property
    def said(self) -> int:
        return len(self.records) + len(self.unreadable) + self._left_out

    def remark(self, text: str, *, said: bool) -> None:
        if said and text not in self.remarks:
            self.remarks.append(text)

    def take(self, fed: Fed, offset: int, complete: Callable[[Event], Event]) -> None:
        """Take the outcome for a text within the record at `offset`."""
        self.records += [
            complete(each) if isinstance(each, Event) else each for each in fed.records
        ]
        for _, reason in fed.unreadable:
            self.complain(offset, reason)
        for remark in fed.remarks:
            self.remark(remark, said=True)

    def take_stretch(self, fed: Fed, offset: int) -> None:
        """Take the outcome for a part of the data, which begins at `offset`."""
        self.records += fed.records
        for place, reason in fed.unreadable:
            self.complain(offset + place, reason)
        for remark in fed.remarks:
            self.remark(remark, said=True)

    def complain(self, offset: int, reason: str) -> None:
        if len(self.unreadable) < _UNREADABLE_LIMIT:
            self.unreadable.append((offset, reason))
            return
        self._left_out += 1
        self.unreadable[-1] = (offset, f"{self._left_out + 1} more places that cannot be read")


class MakerState(msgspec.Struct):
    times: TimesState = msgspec.field(default_factory=TimesState)
    told: list[str] = []
    """Remarks already made about this file."""


class DecoderState(msgspec.Struct, omit_defaults=True):
    """Context of a position: choices and facts learnt before it."""

    format: Format
    maker: MakerState = msgspec.field(default_factory=MakerState)
    layout: ColumnNames | None = None
    """Columns of the running table of separated values."""
    table: Table | None = None
    """Columns of the console table the position is in."""
    heading: str = ""
    """Provider that a heading named for the next console table."""
    broken_at: int | None = None
    """Indent of a broken JSON object, of which deeper lines are still a part."""
    taken: int = 0
    """Bytes of the next line that are already taken."""


def read_decoder_state(saved: bytes) -> DecoderState | None:
    """The context kept by `LogDecoder.save`; None when there is none to be read."""
    try:
        return msgspec.json.decode(saved, type=DecoderState)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


class Maker:
    """Makes events of the records found in one file."""

    def __init__(self, options: EventOptions) -> None:
        self.options = options
        self.foreign = False
        """The last record that was added or heard is one of another provider."""
        self.times = Times(options.timezone, options.date_order)
        self._told: list[str] = []

    def save(self) -> MakerState:
        return MakerState(times=self.times.state, told=self._told)

    def restore(self, state: MakerState) -> None:
        self.times.state, self._told = state.times, state.told

    def begin(self, head: str) -> None:
        """Begin with another file, of which nothing but its head is known."""
        self.restore(MakerState())
        self.times.learn(head)

    def add(self, raw: RawEvent, offset: int, harvest: Harvest, *, certain: bool = True) -> bool:
        """Add the event of `raw` to the harvest. False when its provider is not wanted. Only text
        that is `certain` to be an event and cannot be read is complained of."""
        if raw.broken:
            harvest.complain(offset, raw.broken)
            return False
        ours = is_ese_provider(raw.provider, self.options.providers)
        self.foreign = bool(raw.provider) and not ours
        if not (ours or self.options.companions or not raw.provider):
            self.hear(raw, harvest)
            return False
        _clean(raw)
        if len(raw.strings) == 1:
            raw.strings = split_joined(undone(raw.strings[0]), raw.event_id) or raw.strings
        written, raw.time, unknown = raw.time, None, ""
        if written is not None and written != "":
            try:
                raw.time = self.times.read(written)
            except UnknownTimeError as error:
                unknown = str(error)
        raw.computer = raw.computer or self.options.computer
        event = self._event(raw)
        if event is None or (event.companion and not self.options.companions):
            if ours and certain and event is None:
                harvest.complain(offset, f"an event of {raw.provider} without an event id")
            elif not ours and raw.provider:
                self.hear_at(raw.computer, raw.channel, written, harvest)
            return False
        if unknown.endswith("has no year"):
            self.remark(offset, "dates without a year: the times are unknown", harvest)
        elif unknown:
            harvest.complain(offset, f"{unknown}: the time of this event is unknown")
        if "\ufffd" in event.database:
            self.remark(offset, NOT_UTF8, harvest)
        for note in self.times.notes:
            harvest.complain(offset, note)
        self.times.notes.clear()
        harvest.remark(NO_ZONE, said=self.times.assumed)
        harvest.remark(NO_YEAR, said=self.times.yearless)
        harvest.records.append(event)
        return True

    def tell_unread(self, text: bytes, offset: int, harvest: Harvest, said: int) -> None:
        """Complain of a record of an ESE provider of which nothing was `said`."""
        if harvest.said == said and not self.foreign:
            provider = named_provider(text.decode("utf-8", "replace"), self.options.providers)
            if provider:
                harvest.complain(offset, unread(provider))

    def completed_by(self, beside: RawEvent, *, timed: bool = False) -> Callable[[Event], Event]:
        """Gives an event the time, computer, channel and number that stand beside its text, where
        that has none. `timed`: the time beside it goes first."""

        def complete(event: Event) -> Event:
            try:
                time = self.times.read(beside.time) if beside.time else None
            except UnknownTimeError:
                time = None
            return msgspec.structs.replace(
                event,
                time=time if event.time is None or (timed and time is not None) else event.time,
                computer=event.computer or beside.computer,
                channel=event.channel or beside.channel,
                record_id=beside.record_id if event.record_id is None else event.record_id,
            )

        return complete

    def hear(self, raw: RawEvent, harvest: Harvest) -> None:
        self.hear_at(raw.computer, raw.channel, raw.time, harvest)

    def hear_at(self, computer: str, channel: str, time: object, harvest: Harvest) -> float | None:
        """Note it; returns the time in epoch seconds, None where it cannot be read."""
        try:
            moment = self.times.read(time) if time else None
        except UnknownTimeError:
            return None
        if moment is not None:
            harvest.heard.note(computer or self.options.computer, channel, moment)
        return moment

    def frame_of(self, raw: RawEvent) -> TextFrame | None:
        """The frame of log lines that begin with `raw`, whose message is a process; or None."""
        head, bracket, rest = raw.message.partition(")")
        return self._framed(raw, head) if bracket and not rest else None

    def in_frame(self, frame: TextFrame, time: str, rest: str) -> Event | None:
        """The event of a log line like one read before; None where `add` must decide."""
        moment = self.times.quick(time)
        if moment is None or self.times.notes:
            return None
        return event_in_frame(frame, rest, moment, None, self.options.date_order)

    def _framed(self, raw: RawEvent, head: str) -> TextFrame | None:
        ours = is_ese_provider(raw.provider, self.options.providers)
        if raw.event_id is None or len(head) > _LONGEST_HEAD or not ours:
            return None
        computer = raw.computer or self.options.computer
        return text_frame((raw.provider, raw.event_id, computer, raw.channel, raw.level), head)

    def remark(self, offset: int, text: str, harvest: Harvest) -> None:
        if text not in self._told:
            self._told.append(text)
            harvest.complain(offset, text)

    def _event(self, raw: RawEvent) -> Event | None:
        by_strings = by_text = None
        if raw.event_id is not None and (raw.strings or not raw.message):
            by_strings = event_from_strings(raw, self.options.providers, self.options.date_order)
        # The rendered text is read where it could contain more than the strings.
        lacking = (
            by_strings is None
            or not by_strings.database
            or (not by_strings.fields and has_fields(by_strings.event_id))
        )
        if raw.message and lacking:
            # The event of the message is that of its frame where one like it was read.
            head, _, rest = raw.message.partition(") ")
            frame, order = self._framed(raw, head), self.options.date_order
            by_text = frame and event_in_frame(frame, rest, raw.time, raw.record_id, order)
            by_text = by_text or event_from_text(raw, self.options.providers, order)
        if by_strings is None or by_text is None or by_strings.event_id != by_text.event_id:
            return by_strings or by_text
        return _completed(by_strings, by_text)


def _clean(raw: RawEvent) -> None:
    """Half characters (`\\ud800` in JSON, invalid bytes) become U+FFFD; no id is no id."""
    if raw.event_id is not None and raw.event_id > MAX_EVENT_ID:
        raw.event_id = None
    time = raw.time if isinstance(raw.time, str) else ""
    parts = (raw.provider, raw.computer, raw.channel, time, *raw.strings)
    if not (raw.message.isascii() and "".join(parts).isascii()):
        raw.provider, raw.computer, raw.channel, raw.message = map(
            _valid, (raw.provider, raw.computer, raw.channel, raw.message)
        )
        raw.time = _valid(time) if time else raw.time
        raw.strings = tuple(map(_valid, raw.strings))


def _valid(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _completed(event: Event, by_text: Event) -> Event:
    """`event` with the facts that only its rendered text contains."""
    gained: dict[str, object] = {
        name: getattr(by_text, name)
        for name in ("process", "instance_state", "engine_version", "ese_instance", "database")
        if not getattr(event, name)
    }
    if not gained and not by_text.fields:
        return event
    return msgspec.structs.replace(event, fields={**by_text.fields, **event.fields}, **gained)


@lru_cache(maxsize=8)
def _places(providers: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    names = "|".join(sorted({*PATTERNS, *map(re.escape, providers)}, key=len, reverse=True))

    def name(group: str) -> str:
        return rf"(?P<{group}>(?<![\w.\\/-])(?:{names})(?![\w\\-]|\.\w))"

    closed = r"[\"'\\\])]{0,3}\s*(?:$|[,;|\r\n\t\0}<>/]| \S[^:=\n]{0,40}[:=])"
    in_place = [
        rf"[:=]\s*[\"'\\\[(]{{0,3}}{name('value')}{closed}",
        rf"\[{name('brackets')}\]",
        rf">\s?{name('element')}\s?<",
        rf"['\"]{name('quotes')}\\?['\"]\s*[,;:}}\]\t/>]",
        rf"(?<=[\t,;|]){name('cell')}(?=[\t,;|])",
    ]
    return (
        re.compile("|".join(in_place), re.MULTILINE),
        re.compile(
            rf"{name('numbered')}"
            r"(?P<number>[\s:\[(/#-]+(?:[Ee]vent ?I[Dd]\W{0,3})?\d{1,5}\b)?"
        ),
    )


def named_provider(text: str, providers: Sequence[str] = ()) -> str:
    """The ESE provider, or one of `providers`, that stands in a provider's place in this record, or
    before a process; empty where it is only a word. Case counts."""
    text = text[:_LONGEST_NAMING]
    in_place, named = _places(tuple(providers))
    if (found := in_place.search(text)) is not None:
        return found[found.lastgroup or 0]
    for line in text.split("\n"):
        if (found := named.search(line)) is None:
            continue
        process = PREFIX.search(line.encode("utf-8", "replace"), found.end("numbered"))
        if process is not None or (found["number"] and _STARTS.match(line)):
            return found["numbered"]
    return ""


def unread(provider: str) -> str:
    """The complaint on a record of an ESE provider that no reader understands."""
    return (
        f"a record of {provider} in no form that is read, or without its event id; export the log"
        " as EVTX (wevtutil epl Application ex01.evtx) or as JSON (Get-WinEvent | ConvertTo-Json)"
    )


class LogDecoder:
    """The common part of the decoders of all formats: their state is the saved context."""

    def __init__(
        self,
        maker: Maker,
        needles: Prefilter,
        state: DecoderState,
        logs: KnownLogs | None = None,
    ) -> None:
        self._maker = maker
        self._needles = needles
        self._state = state
        self._logs = logs or KnownLogs(maker.options.computer)

    def save(self) -> bytes:
        self._state.maker = self._maker.save()
        return msgspec.json.encode(self._state)
