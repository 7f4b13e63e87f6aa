"""Builds an `Event` from the fields of a record: the one way for all formats."""

from collections.abc import Callable

import msgspec

from esewatch.ese.dates import DateOrder
from esewatch.ese.events.from_strings import (
    event_from_strings,
    event_of_strings,
    has_fields,
    logged_process,
)
from esewatch.ese.events.from_text import TextFrame, event_from_text, event_in_frame, text_frame
from esewatch.ese.events.joined import split_joined
from esewatch.ese.providers import is_ese_provider
from esewatch.model import Event, Level, Record
from esewatch.sources.files.decoder import NO_YEAR, NO_ZONE, Fed
from esewatch.sources.files.heard_times import HeardTimes
from esewatch.sources.logs.formats.fields import Found, level_of
from esewatch.sources.logs.formats.json.esewatch_json import OwnLine
from esewatch.sources.logs.formats.pairs import undone
from esewatch.sources.logs.formats.times import Times, TimesState, UnknownTimeError
from esewatch.sources.logs.formats.unread import named_provider, sentence

RECORD_LIMIT = 1 << 20
"""Longest record in bytes. An event of Windows has at most 64 KiB of text."""

NOT_UTF8 = (
    "bytes that are not UTF-8: names with them are wrong here, so a database of such a name is "
    "taken for another one; export the log as UTF-8 or UTF-16"
)

_UNREADABLE_LIMIT = 1_000
_LONGEST_HEAD = 256


class EventOptions(msgspec.Struct, frozen=True, kw_only=True):
    providers: tuple[str, ...] = ()
    computer: str = ""
    timezone: str | None = None
    date_order: DateOrder | None = None
    companions: bool = False


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

        Positions are at line ends: the whole line is fed again, and the decoder
        passes over the part of it that is taken.
        """
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
        """Records and complaints so far."""
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


MAX_EVENT_ID = 0xFFFFFFFF
"""The widest form of an id, with qualifiers and severity (InstanceId)."""


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

    def add(self, found: Found, offset: int, harvest: Harvest, *, certain: bool = True) -> bool:
        """Add the event of `found` to the harvest. False when its provider is not wanted. Only text
        that is `certain` to be an event and cannot be read is complained of."""
        ours = is_ese_provider(found.provider, self.options.providers)
        self.foreign = bool(found.provider) and not ours
        if not (ours or self.options.companions or not found.provider):
            self.hear(found, harvest)
            return False
        _clean(found)
        if len(found.strings) == 1:
            found.strings = split_joined(undone(found.strings[0]), found.event_id) or found.strings
        unknown = ""
        time = None
        if found.time is not None and found.time != "":
            try:
                time = self.times.read(found.time)
            except UnknownTimeError as error:
                unknown = str(error)
        event = self._event(found, time)
        if event is None or (event.companion and not self.options.companions):
            if ours and certain and event is None:
                harvest.complain(offset, f"an event of {found.provider} without an event id")
            elif not ours and found.provider:
                self.hear(found, harvest)
            return False
        if unknown:
            if unknown.endswith("has no year"):
                self.remark(offset, "dates without a year: the times are unknown", harvest)
            else:
                harvest.complain(offset, f"{unknown}: the time of this event is unknown")
        if "\ufffd" in event.database:
            self.remark(offset, NOT_UTF8, harvest)
        if self.times.notes:
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
                harvest.complain(offset, sentence(provider))

    def completed_by(self, beside: Found, *, timed: bool = False) -> Callable[[Event], Event]:
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

    def hear(self, found: Found, harvest: Harvest) -> None:
        """Note the time of a record of another provider."""
        self.hear_at(found.computer, found.channel, found.time, harvest)

    def hear_at(self, computer: str, channel: str, time: object, harvest: Harvest) -> float | None:
        """Note it; returns the time in epoch seconds, None where it cannot be read."""
        try:
            moment = self.times.read(time) if time else None
        except UnknownTimeError:
            return None
        if moment is not None:
            harvest.heard.note(computer or self.options.computer, channel, moment)
        return moment

    def frame_of(self, found: Found) -> TextFrame | None:
        """The frame of log lines that begin with `found`, whose message is a process; or None."""
        head, bracket, rest = found.message.partition(")")
        return self._framed(found, head) if bracket and not rest else None

    def in_frame(self, frame: TextFrame, time: str, rest: str) -> Event | None:
        """The event of a log line like one read before; None where `add` must decide."""
        moment = self.times.quick(time)
        if moment is None or self.times.notes:
            return None
        return event_in_frame(frame, rest, moment, None, self.options.date_order)

    def _framed(self, found: Found, head: str) -> TextFrame | None:
        provider, number = found.provider, found.event_id
        if number is None or len(head) > _LONGEST_HEAD:
            return None
        if not is_ese_provider(provider, self.options.providers):
            return None
        level = level_of(found.level) if found.level else None
        computer = found.computer or self.options.computer
        return text_frame((provider, number, None, computer, found.channel, None, level), head)

    def add_own(self, line: OwnLine, harvest: Harvest) -> None:
        """Add an event that was read back whole to the harvest, if its provider is wanted."""
        ours = is_ese_provider(line.provider, self.options.providers)
        if not ours and not self._is_companion(line):
            return
        state, version = line.instance_state, line.engine_version
        if ours and not (state and version):
            logged = logged_process(
                line.provider, line.event_id, line.strings, self.options.providers
            )
            state, version = state or logged[0], version or logged[1]
        harvest.records.append(
            Event(
                line.event_id, line.provider, line.epoch, line.computer or self.options.computer,
                line.channel, line.record_id, line.level, line.process, state, version,
                line.ese_instance, line.database, line.task, line.stage, line.fields, line.strings,
                not ours,
            )
        )  # fmt: skip

    def _is_companion(self, line: OwnLine) -> bool:
        told = self.options.companions and event_from_strings(
            provider=line.provider,
            event_id=line.event_id,
            strings=line.strings,
            extra_providers=self.options.providers,
        )
        return bool(told)

    def remark(self, offset: int, text: str, harvest: Harvest) -> None:
        if text not in self._told:
            self._told.append(text)
            harvest.complain(offset, text)

    def _event(self, found: Found, time: float | None) -> Event | None:
        options = self.options
        computer = found.computer or options.computer
        level = level_of(found.level) if found.level else None
        by_strings = by_text = None
        if found.event_id is not None and (found.strings or not found.message):
            number, channel, record_id = found.event_id, found.channel, found.record_id
            around = (found.provider, number, time, computer, channel, record_id, level)
            by_strings = event_of_strings(
                around, found.strings, options.providers, options.date_order
            )
        if found.message and (by_strings is None or lacks(by_strings)):
            by_text = self._by_text(found, time, computer, level)
        if by_strings is None or by_text is None or by_strings.event_id != by_text.event_id:
            return by_strings or by_text
        return completed(by_strings, by_text)

    def _by_text(
        self, found: Found, time: float | None, computer: str, level: Level | None
    ) -> Event | None:
        """The event of the message, which is that of its frame where one like it was read."""
        head, _, rest = found.message.partition(") ")
        frame, order = self._framed(found, head), self.options.date_order
        if frame is not None and (
            event := event_in_frame(frame, rest, time, found.record_id, order)
        ):
            return event
        return event_from_text(
            message=found.message,
            provider=found.provider,
            event_id=found.event_id,
            time=time,
            computer=computer,
            channel=found.channel,
            record_id=found.record_id,
            level=level,
            extra_providers=self.options.providers,
            date_order=order,
        )


def _clean(found: Found) -> None:
    """Half characters (`\\ud800` in JSON, invalid bytes) become U+FFFD; no id is no id."""
    if found.event_id is not None and found.event_id > MAX_EVENT_ID:
        found.event_id = None
    time = found.time if isinstance(found.time, str) else ""
    parts = (found.provider, found.computer, found.channel, time, *found.strings)
    if not (found.message.isascii() and "".join(parts).isascii()):
        found.provider, found.computer, found.channel, found.message = map(
            _valid, (found.provider, found.computer, found.channel, found.message)
        )
        found.time = _valid(time) if time else found.time
        found.strings = tuple(map(_valid, found.strings))


def _valid(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def lacks(event: Event) -> bool:
    """Could the rendered text contain more than the strings?"""
    return not event.database or (not event.fields and has_fields(event.event_id))


def completed(event: Event, by_text: Event) -> Event:
    """`event` with the facts that only its rendered text contains."""
    gained: dict[str, object] = {
        name: getattr(by_text, name)
        for name in ("process", "instance_state", "engine_version", "ese_instance", "database")
        if not getattr(event, name)
    }
    if not gained and not by_text.fields:
        return event
    return msgspec.structs.replace(event, fields={**by_text.fields, **event.fields}, **gained)
