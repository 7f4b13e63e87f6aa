"""ESE events of one chunk of an event log."""

import contextlib
import struct
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from esewatch.ese.companions.companion_table import PROVIDER_WORDS
from esewatch.ese.events.from_strings import event_from_strings
from esewatch.ese.providers import is_ese_provider
from esewatch.ese.raw_event import RawEvent
from esewatch.model import Coverage, Event, Heard, Level
from esewatch.sources.evtx import binxml
from esewatch.sources.evtx.chunks import CHUNK_BYTES, CHUNK_HEADER_BYTES, Chunk, salvage, walk
from esewatch.sources.evtx.templates import (
    BYTES,
    FAILURES,
    STRING_HOLDERS,
    VALUES,
    Definitions,
    Template,
    Templates,
    why,
)
from esewatch.sources.files.record_times import HOUR, HeardTimes
from esewatch.sources.kind import USUAL_OPTIONS, EventOptions

LEVELS: Final[Mapping[int | None, Level]] = {
    0: "information",
    1: "critical",
    2: "error",
    3: "warning",
    4: "information",
    5: "verbose",
}
_RECORD_MOST: Final = 1 << 18
_CHUNK_MOST: Final = 1 << 21
"""Characters and parts that one record, and all records of a chunk, can unfold to. 64 KiB hold far
less; a crafted template can repeat a value a thousand times."""
_DEEPEST: Final = 16


class ElementView(NamedTuple):
    """An element, the values that go into its slots, and how deep it lies."""

    element: binxml.Element
    values: list[binxml.TemplateValue]
    depth: int


class Unfolder:
    """Reads the records of one chunk. Raises one of `FAILURES` where one is damaged."""

    def __init__(self, data: bytes, definitions: Definitions) -> None:
        self._data = data
        self._definitions = definitions
        self._record_room = 0
        self._chunk_room = _CHUNK_MOST

    def event(self, at: int) -> dict[str, ElementView]:
        """The parts by name of the event whose record has its content at `at`."""
        self._record_room = _RECORD_MOST
        view = self._root(binxml.BinXmlParser(self._data, self._definitions.names, at), 0)
        parts = {} if view is None else self._parts(view)
        if view is None or view.element.name != "Event" or "System" not in parts:
            raise ValueError("not an event")
        return parts

    def head(self, event: Mapping[str, ElementView]) -> RawEvent:
        """The fields of the System part; id, time and computer stand in each that is whole."""
        parts = self._parts(event["System"])
        if not {"EventID", "TimeCreated", "Computer"} <= parts.keys():
            raise ValueError("an event without id, time or computer")
        return RawEvent(
            self._attribute(parts.get("Provider"), "Name"),
            self._integer(parts.get("EventID")) or 0,
            self._time(parts.get("TimeCreated")),
            self._text_in(parts.get("Computer")),
            self._text_in(parts.get("Channel")),
            self._integer(parts.get("EventRecordID")),
            LEVELS.get(self._integer(parts.get("Level")) or 0),
        )

    def strings(self, event: Mapping[str, ElementView]) -> list[str]:
        """The insertion strings in their order; an empty one keeps its place."""
        for name in STRING_HOLDERS:
            strings = self._strings(event[name]) if name in event else []
            if strings:
                return strings
        return []

    def _strings(self, view: ElementView) -> list[str]:
        children = self._children(view)
        if children:
            inner = (child for child in children if child.element.name != BYTES)
            return [text for child in inner for text in self._strings(child)]
        element = view.element
        if element.content:
            value = self._only_value(element.content, view.values)
            if value is not None:
                return binxml.texts_of(*value)  # of one that holds an array alone, each item
            return [self._text(element.content, view.values)]
        # What has only attributes holds no string, unless it is named as one.
        holds = element.name == "Data" or (
            not element.attributes and element.name not in STRING_HOLDERS
        )
        return [""] if holds else []

    def _root(self, parser: binxml.BinXmlParser, depth: int) -> ElementView | None:
        found = parser.fragment()
        if isinstance(found, binxml.TemplateInstance):
            return ElementView(self._definitions[found.definition].root, found.values, depth)
        return None if found is None else ElementView(found, [], depth)

    def _children(self, view: ElementView) -> list[ElementView]:
        """The elements in an element, those within its values too."""
        if view.depth == _DEEPEST:
            raise ValueError(f"values within each other deeper than {_DEEPEST}")
        found = []
        for part in view.element.content:
            self._spend(1)
            if isinstance(part, binxml.Element):
                found.append(ElementView(part, view.values, view.depth))
            elif isinstance(part, binxml.TemplateSlot) and part.number < len(view.values):
                kind, start, end = view.values[part.number]
                if kind == binxml.BINXML and start < end:
                    parser = binxml.BinXmlParser(self._data, self._definitions.names, start)
                    child = self._root(parser, view.depth + 1)
                    if child is not None:
                        found.append(child)
        return found

    def _parts(self, view: ElementView) -> dict[str, ElementView]:
        parts: dict[str, ElementView] = {}
        for child in self._children(view):
            parts.setdefault(child.element.name, child)
        return parts

    def _text(self, content: binxml.Content, values: list[binxml.TemplateValue]) -> str:
        texts = []
        for part in content:
            if isinstance(part, binxml.TemplateSlot) and part.number < len(values):
                texts.append(binxml.text_of(*self._value(values[part.number])))
            elif isinstance(part, str):
                self._spend(1 + len(part))
                texts.append(part)
        return "".join(texts)

    def _spend(self, amount: int) -> None:
        """Count what a record unfolds to. Raises ValueError when it is beyond all measure."""
        self._record_room -= amount
        self._chunk_room -= amount
        if self._record_room < 0 or self._chunk_room < 0:
            raise ValueError(f"a record that unfolds to more than {_RECORD_MOST} characters")

    def _value(self, value: binxml.TemplateValue) -> tuple[int, bytes]:
        kind, start, end = value
        if end > len(self._data):
            raise ValueError("a value that reaches beyond the chunk")
        self._spend(1 + end - start)
        return kind, self._data[start:end]

    def _only_value(
        self, content: binxml.Content, values: list[binxml.TemplateValue]
    ) -> tuple[int, bytes] | None:
        """The value that is all of the content, None if it is not one value."""
        if (
            len(content) == 1
            and isinstance(content[0], binxml.TemplateSlot)
            and content[0].number < len(values)
        ):
            return self._value(values[content[0].number])
        return None

    def _integer(self, view: ElementView | None) -> int | None:
        if view is None:
            return None
        value = self._only_value(view.element.content, view.values)
        if value is not None:
            return binxml.integer_of(*value)
        text = self._text(view.element.content, view.values)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None

    def _time(self, view: ElementView | None) -> float | None:
        if view is None:
            return None
        parts = dict(view.element.attributes).get("SystemTime", ())
        value = self._only_value(parts, view.values)
        if value is not None:
            return binxml.time_of(*value)
        return binxml.parsed_time(self._text(parts, view.values))

    def _attribute(self, view: ElementView | None, name: str) -> str:
        if view is None:
            return ""
        return self._text(dict(view.element.attributes).get(name, ()), view.values)

    def _text_in(self, view: ElementView | None) -> str:
        return "" if view is None else self._text(view.element.content, view.values)


_CONTENT: Final = 24
"""Offset in a record at which its content begins."""
_BEGIN: Final = struct.Struct("<IQ8x5s5xI")
"""A record from its size on: that, its id, the begin of its content, offset of its template."""
_LOGGED: Final = struct.Struct("<Q")
_TEMPLATE_INSTANCE: Final = b"\x0f\x01\x01\0\x0c"
_INSTANCE_BYTES: Final = 4 + binxml.INSTANCE_HEADER_BYTES
"""Of an instance with the header of its fragment, up to its values."""
_ALL_IN_ONE: Final = (0,)
"""The slots of the strings where they are one array."""
_DESCRIPTORS: Final = struct.Struct("<HBx")
_BARE: Final = struct.Struct("<IIHB")
"""The offset of a definition, then `VALUES`."""


class RecordReader:
    """Reads the records of one chunk that are of a wanted provider: their fields and strings. Those
    that cannot be read are in `failures`. Of a record of another provider nothing is read but its
    template. The usual record gives its fields by one look at the values of its template
    (`shapes.py`); any other takes the careful way (`unfold.py`), with the same result."""

    def __init__(self, data: bytes, templates: Templates) -> None:
        self.failures: list[str] = []
        self.others: list[int] = []
        """Offsets of the records of other providers."""
        self._data = data
        self._is_wanted = templates.is_wanted
        self._definitions = Definitions(data, templates)
        self._unfolder = Unfolder(data, self._definitions)

    def wanted(self, offsets: list[int], after: int) -> Iterator[RawEvent]:
        """The records at `offsets` whose id is greater than `after`."""
        data, definitions, begin_of = self._data, self._definitions, _BEGIN.unpack_from
        for at in offsets:
            try:
                size, record_id, begin, definition = begin_of(data, at + 4)
                if record_id <= after:
                    continue
                raw, wanted = None, False
                if begin == _TEMPLATE_INSTANCE:
                    template = definitions[definition]
                    if template.unwanted:
                        self.others.append(at)
                        continue
                    wanted = template.wanted
                    raw = self._quick(at, size, template, definition)
                raw = raw or self.careful(at)
            except FAILURES as error:
                self.failures.append(f"record at offset {at}: {why(error)}")
            else:
                if wanted or self._is_wanted(raw.provider):
                    yield raw
                else:
                    self.others.append(at)

    def logged(self, at: int) -> float | None:
        return binxml.seconds_of(*_LOGGED.unpack_from(self._data, at + 16))

    def head(self, at: int) -> RawEvent:
        """The fields of a record. Raises one of `FAILURES` where it is damaged, as the next two."""
        return self.quick(at) or self._unfolder.head(self._unfolder.event(at + _CONTENT))

    def quick(self, at: int) -> RawEvent | None:
        """A usual record, with its strings where its provider is wanted; None of another."""
        size, _, begin, definition = _BEGIN.unpack_from(self._data, at + 4)
        if begin != _TEMPLATE_INSTANCE:
            return None
        return self._quick(at, size, self._definitions[definition], definition)

    def careful(self, at: int) -> RawEvent:
        event = self._unfolder.event(at + _CONTENT)
        raw = self._unfolder.head(event)
        raw.strings = tuple(self._unfolder.strings(event))
        return raw

    def _quick(self, at: int, size: int, template: Template, definition: int) -> RawEvent | None:
        shape = template.head
        if shape is None:
            return None
        provider, channel, computer, _, key_bytes, layouts = shape
        data, values = self._data, at + _CONTENT + _INSTANCE_BYTES
        values += template.size if definition == values else 0
        place = values + key_bytes
        layout = layouts[data[values:place]]
        if layout is None or place + layout.size > CHUNK_BYTES:
            return None
        (
            length, kind, level, event_id, ticks, record_id, name, log, machine,
            begin, inner, count, first, first_kind,
        ) = layout.unpack_from(data, place)  # fmt: skip
        if provider is None:
            provider = binxml.text_of(binxml.STRING, name)
        if channel is None:
            channel = binxml.text_of(binxml.STRING, log)
        if computer is None:
            computer = binxml.text_of(binxml.STRING, machine)
        time = binxml.seconds_of(ticks)
        head = RawEvent(provider, event_id, time, computer, channel, record_id, LEVELS.get(level))
        if length and kind != binxml.BINXML:
            return None
        if not (length and (template.wanted or self._is_wanted(provider))):
            return head
        place += layout.size - VALUES.size
        if begin != _TEMPLATE_INSTANCE:
            if begin[0] != _TEMPLATE_INSTANCE[-1]:
                return None
            place -= 4  # an instance without the header of a fragment
            inner, count, first, first_kind = _BARE.unpack_from(data, place - 4)
        payload = self._definitions[inner]
        slots = payload.string_slots
        if slots is None or not (payload.holds_strings or template.wraps_strings):
            return None
        if inner == place:
            place += payload.size
            count, first, first_kind = VALUES.unpack_from(data, place)
        if first_kind == binxml.STRINGS and slots == _ALL_IN_ONE:
            start = place + 4 + 4 * count
            behind = start + first
            strings = binxml.strings_of(data[start:behind]) if behind <= at + size else None
        else:
            strings = self._strings(slots, place, count, at + size)
        if strings is None:
            return None
        head.strings = tuple(strings)
        return head

    def _strings(self, slots: tuple[int, ...], at: int, count: int, end: int) -> list[str] | None:
        data = self._data
        start = at + 4 + 4 * count
        if start > end:
            return None
        values = []
        for size, kind in _DESCRIPTORS.iter_unpack(data[at + 4 : start]):
            values.append((kind, data[start : start + size]))
            start += size
            if start > end or kind == binxml.BINXML:
                return None
        if slots and max(slots) >= count:
            return None
        return [text for slot in slots for text in binxml.texts_of(*values[slot])]


class Decoded(msgspec.Struct):
    """The result of a chunk: its events, its coverage when that is certain, its failures."""

    events: list[Event] = []
    coverage: Coverage | None = None
    heard: list[Heard] = []
    failed: int = 0
    """Records that could not be read."""
    reason: str = ""
    """Reason why the first of them could not."""


class ChunkDecoder:
    """Decodes chunks; remembers their templates. The order of dates is that of dates in strings."""

    def __init__(self, options: EventOptions = USUAL_OPTIONS) -> None:
        self._options = options
        self._words = [word.lower() for word in PROVIDER_WORDS if options.companions]
        self._templates = Templates(self._is_wanted)

    def decode(self, chunk: Chunk, *, after: int = -1) -> Decoded:
        """Events of `chunk` in records whose id is greater than `after`. What a record of another
        provider holds is not asked, so a failure in it is not told."""
        result = Decoded()
        if chunk.end <= CHUNK_HEADER_BYTES:
            return result
        offsets = None if chunk.problem else walk(chunk)
        if offsets is None:
            records = chunk.found if chunk.problem else salvage(chunk.data)
            offsets = [record.offset for record in records]
            if not chunk.problem:
                result.failed, result.reason = 1, "the records do not follow each other"
        reader = RecordReader(chunk.data, self._templates)
        options = self._options
        for raw in reader.wanted(offsets, after):
            raw.computer = raw.computer or options.computer
            event = event_from_strings(raw, options.providers, options.date_order)
            if event is not None and (options.companions or not event.companion):
                result.events.append(event)
        if reader.failures:
            result.failed += len(reader.failures)
            result.reason = result.reason or reader.failures[0]
        if not chunk.problem and not result.failed:
            result.coverage = self._coverage(chunk, reader, offsets)
        result.heard = self._heard(reader, result.coverage)
        return result

    def _heard(self, reader: RecordReader, whole: Coverage | None) -> list[Heard]:
        """The times of records of other providers. Where all are of one log, the time that stands
        before each of them will do."""
        times = HeardTimes()
        if whole is None:
            for at in reader.others:
                with contextlib.suppress(*FAILURES):
                    head = reader.head(at)
                    if head.time is not None:
                        times.note(head.computer or self._options.computer, head.channel, head.time)
        else:
            few = whole.last_time - whole.first_time < HOUR
            for at in reader.others[:: max(1, len(reader.others) - 1)] if few else reader.others:
                time = reader.logged(at)
                if time is not None:
                    times.note(whole.computer, whole.channel, time)
        return times.taken()

    def _is_wanted(self, provider: str) -> bool:
        name = provider.lower()
        ours = is_ese_provider(name, self._options.providers)
        return ours or any(word in name for word in self._words)

    def _coverage(self, chunk: Chunk, reader: RecordReader, offsets: list[int]) -> Coverage | None:
        """The range of `EventRecordID` the chunk covers, from its first and last record. None
        unless both name the same log and the numbers between them are as many as the chunk has
        records: a filtered export or a collector's log of forwarded events leaves ids out."""
        try:
            first, last = (reader.head(at) for at in (offsets[0], offsets[-1]))
        except FAILURES:
            return None
        if first.record_id is None or last.record_id is None:
            return None
        if last.record_id - first.record_id != chunk.last - chunk.first:
            return None
        if first.time is None or last.time is None or not first.channel:
            return None
        if (first.computer, first.channel) != (last.computer, last.channel):
            return None
        return Coverage(
            computer=first.computer or self._options.computer,
            channel=first.channel,
            first=first.record_id,
            last=last.record_id,
            first_time=first.time,
            last_time=last.time,
        )
