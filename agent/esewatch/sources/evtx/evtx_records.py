"""ESE events of one chunk of an event log."""

import contextlib
import struct
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import msgspec

from esewatch.ese.companions.companion_row import Envelope
from esewatch.ese.companions.companion_table import PROVIDER_WORDS
from esewatch.ese.dates import DateOrder
from esewatch.ese.events.from_strings import Around, event_of_strings
from esewatch.ese.providers import is_ese_provider
from esewatch.model import Coverage, Event, Heard
from esewatch.sources.evtx.binxml import INSTANCE_HEADER_BYTES
from esewatch.sources.evtx.chunks import CHUNK_BYTES, CHUNK_HEADER_BYTES, Chunk, salvage, walk
from esewatch.sources.evtx.shapes import VALUES
from esewatch.sources.evtx.templates import FAILURES, Definitions, Template, Templates, why
from esewatch.sources.evtx.unfold import LEVELS, Unfolder
from esewatch.sources.evtx.values import (
    BINXML,
    STRING,
    STRINGS,
    seconds_of,
    strings_of,
    text_of,
    texts_of,
)
from esewatch.sources.files.heard_times import HOUR, HeardTimes

_CONTENT: Final = 24
"""Offset in a record at which its content begins."""
_BEGIN: Final = struct.Struct("<IQ8x5s5xI")
"""A record from its size on: that, its id, the begin of its content, offset of its template."""
_LOGGED: Final = struct.Struct("<Q")
_TEMPLATE_INSTANCE: Final = b"\x0f\x01\x01\0\x0c"
_INSTANCE_BYTES: Final = 4 + INSTANCE_HEADER_BYTES
"""Of an instance with the header of its fragment, up to its values."""
_ALL_IN_ONE: Final = (0,)
"""The slots of the strings where they are one array."""
_DESCRIPTORS: Final = struct.Struct("<HBx")
_BARE: Final = struct.Struct("<IIHB")
"""The offset of a definition, then `VALUES`."""


class RecordReader:
    """Reads the records of one chunk that are of a wanted provider: their fields and strings. Those
    that cannot be read are in `failures`.

    Of a record of another provider nothing is read but its template. The usual record gives its
    fields by one look at the values of its template (`shapes.py`); any other takes the careful way
    (`unfold.py`), with the same result.
    """

    def __init__(self, data: bytes, templates: Templates) -> None:
        self.failures: list[str] = []
        self.others: list[int] = []
        """Offsets of the records of other providers."""
        self._data = data
        self._is_wanted = templates.is_wanted
        self._definitions = Definitions(data, templates)
        self._unfolder = Unfolder(data, self._definitions)

    def wanted(self, offsets: list[int], after: int) -> Iterator[tuple[Around, list[str]]]:
        """Fields and strings of the records at `offsets` whose id is greater than `after`."""
        data, definitions, begin_of = self._data, self._definitions, _BEGIN.unpack_from
        for at in offsets:
            try:
                size, record_id, begin, definition = begin_of(data, at + 4)
                if record_id <= after:
                    continue
                found, wanted = None, False
                if begin == _TEMPLATE_INSTANCE:
                    template = definitions[definition]
                    if template.unwanted:
                        self.others.append(at)
                        continue
                    wanted = template.wanted
                    found = self._quick(at, size, template, definition)
                found = found or self.careful(at)
            except FAILURES as error:
                self.failures.append(f"record at offset {at}: {why(error)}")
            else:
                if wanted or self._is_wanted(found[0][0]):
                    yield found
                else:
                    self.others.append(at)

    def logged(self, at: int) -> float | None:
        """The time before the content of a record."""
        return seconds_of(*_LOGGED.unpack_from(self._data, at + 16))

    def head(self, at: int) -> Envelope:
        """The fields of a record. Raises one of `FAILURES` where it is damaged, as the next two."""
        found = self.quick(at)
        around = found[0] if found else self._unfolder.head(self._unfolder.event(at + _CONTENT))
        return Envelope(*around)

    def quick(self, at: int) -> tuple[Around, list[str]] | None:
        """Fields and strings of a usual record of a wanted provider; None of another."""
        size, _, begin, definition = _BEGIN.unpack_from(self._data, at + 4)
        if begin != _TEMPLATE_INSTANCE:
            return None
        return self._quick(at, size, self._definitions[definition], definition)

    def careful(self, at: int) -> tuple[Around, list[str]]:
        """Fields and strings of any record."""
        event = self._unfolder.event(at + _CONTENT)
        return self._unfolder.head(event), self._unfolder.strings(event)

    def _quick(
        self, at: int, size: int, template: Template, definition: int
    ) -> tuple[Around, list[str]] | None:
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
            provider = text_of(STRING, name)
        if channel is None:
            channel = text_of(STRING, log)
        if computer is None:
            computer = text_of(STRING, machine)
        time = seconds_of(ticks)
        head = (provider, event_id, time, computer, channel, record_id, LEVELS.get(level))
        if length and kind != BINXML:
            return None
        if not (length and (template.wanted or self._is_wanted(provider))):
            return head, []
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
        if first_kind == STRINGS and slots == _ALL_IN_ONE:
            start = place + 4 + 4 * count
            behind = start + first
            return (head, strings_of(data[start:behind])) if behind <= at + size else None
        strings = self._strings(slots, place, count, at + size)
        return None if strings is None else (head, strings)

    def _strings(self, slots: tuple[int, ...], at: int, count: int, end: int) -> list[str] | None:
        """The texts of these of the `count` values at `at`; None when they reach beyond `end`."""
        data = self._data
        start = at + 4 + 4 * count
        if start > end:
            return None
        values = []
        for size, kind in _DESCRIPTORS.iter_unpack(data[at + 4 : start]):
            values.append((kind, data[start : start + size]))
            start += size
            if start > end or kind == BINXML:
                return None
        if slots and max(slots) >= count:
            return None
        return [text for slot in slots for text in texts_of(*values[slot])]


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
    """Decodes chunks; remembers their templates.

    `providers` are further event sources of ESE, `companions` asks for the events of semantics.md 4
    too, `computer` stands in where a record names none.
    """

    def __init__(
        self,
        *,
        providers: Collection[str] = (),
        companions: bool = False,
        date_order: DateOrder | None = None,
        computer: str = "",
    ) -> None:
        self._providers = tuple(providers)
        self._companions = companions
        self._date_order = date_order
        self._computer = computer
        self._words = tuple(word.lower() for word in PROVIDER_WORDS) if companions else ()
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
        self._take(reader.wanted(offsets, after), result)
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
                        times.note(head.computer or self._computer, head.channel, head.time)
        else:
            few = whole.last_time - whole.first_time < HOUR
            for at in reader.others[:: max(1, len(reader.others) - 1)] if few else reader.others:
                time = reader.logged(at)
                if time is not None:
                    times.note(whole.computer, whole.channel, time)
        return times.taken()

    def _is_wanted(self, provider: str) -> bool:
        name = provider.lower()
        return is_ese_provider(name, self._providers) or any(word in name for word in self._words)

    def _take(self, found: Iterable[tuple[Around, list[str]]], result: Decoded) -> None:
        for head, strings in found:
            if not head[3] and self._computer:
                head = (*head[:3], self._computer, *head[4:])
            event = event_of_strings(head, tuple(strings), self._providers, self._date_order)
            if event is not None and (self._companions or not event.companion):
                result.events.append(event)

    def _coverage(self, chunk: Chunk, reader: RecordReader, offsets: list[int]) -> Coverage | None:
        """The range of `EventRecordID` the chunk covers, from its first and last record.

        None unless both name the same log and the numbers between them are as many as the chunk has
        records: a filtered export or a collector's log of forwarded events leaves ids out.
        """
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
            computer=first.computer or self._computer,
            channel=first.channel,
            first=first.record_id,
            last=last.record_id,
            first_time=first.time,
            last_time=last.time,
        )
