"""The records of one chunk that are of a wanted provider: their fields and their strings.

Of a record of another provider nothing is read but its template. The usual record gives
its fields by one look at the values of its template (`shapes.py`); any other takes the
careful way (`unfold.py`), with the same result. Records like one that was read before are
taken many at once (`record_plans.py`), where that could be compiled.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from esewatch.ese.companions.companion_row import Envelope
from esewatch.ese.events.from_strings import Around
from esewatch.sources.evtx.chunks import CHUNK_BYTES
from esewatch.sources.evtx.record_plans import COMPILED, RecordPlans
from esewatch.sources.evtx.shapes import (
    ALL_IN_ONE,
    BEGIN,
    CONTENT,
    INSTANCE_BYTES,
    TEMPLATE_INSTANCE,
    VALUES,
)
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

_DESCRIPTORS: Final = struct.Struct("<HBx")
_BARE: Final = struct.Struct("<IIHB")
"""The offset of a definition, then `VALUES`."""


class RecordReader:
    """Reads the records of one chunk. Those that cannot be read are in `failures`."""

    def __init__(self, data: bytes, templates: Templates) -> None:
        self.failures: list[str] = []
        self._data = data
        self._is_wanted = templates.is_wanted
        self._definitions = Definitions(data, templates)
        self._unfolder = Unfolder(data, self._definitions)

    def wanted(self, offsets: list[int], after: int) -> Iterator[tuple[Around, list[str]]]:
        """Fields and strings of the records at `offsets` whose id is greater than `after`."""
        if not COMPILED:
            yield from self._one_by_one(offsets, after)
            return
        plans, done, wanted = RecordPlans(self._data, self._definitions), 0, 0
        while done < len(offsets):
            found, done = plans.take(offsets, done, after)
            wanted += len(found)
            yield from found
            for at in offsets[done : done + 1]:
                if not plans.is_unwanted(at, after):
                    wanted += 1
                    yield from self._one_by_one((at,), after)
                    # Of few records among many others a plan costs more than it saves.
                    if wanted * 4 > done:
                        plans.learn(at)
            done += 1

    def _one_by_one(self, offsets: Iterable[int], after: int) -> Iterator[tuple[Around, list[str]]]:
        data, definitions, begin_of = self._data, self._definitions, BEGIN.unpack_from
        for at in offsets:
            try:
                size, record_id, begin, definition = begin_of(data, at + 4)
                if record_id <= after:
                    continue
                found, wanted = None, False
                if begin == TEMPLATE_INSTANCE:
                    template = definitions[definition]
                    if template.unwanted:
                        continue
                    wanted = template.wanted
                    found = self._quick(at, size, template, definition)
                found = found or self.careful(at)
            except FAILURES as error:
                self.failures.append(f"record at offset {at}: {why(error)}")
            else:
                if wanted or self._is_wanted(found[0][0]):
                    yield found

    def head(self, at: int) -> Envelope:
        """The fields of a record. Raises one of `FAILURES` where it is damaged, as the next two."""
        found = self.quick(at)
        around = found[0] if found else self._unfolder.head(self._unfolder.event(at + CONTENT))
        return Envelope(*around)

    def quick(self, at: int) -> tuple[Around, list[str]] | None:
        """Fields and strings of a usual record of a wanted provider; None of another."""
        size, _, begin, definition = BEGIN.unpack_from(self._data, at + 4)
        if begin != TEMPLATE_INSTANCE:
            return None
        return self._quick(at, size, self._definitions[definition], definition)

    def careful(self, at: int) -> tuple[Around, list[str]]:
        """Fields and strings of any record."""
        event = self._unfolder.event(at + CONTENT)
        return self._unfolder.head(event), self._unfolder.strings(event)

    def _quick(
        self, at: int, size: int, template: Template, definition: int
    ) -> tuple[Around, list[str]] | None:
        """Fields of a usual record, and its strings if it is wanted; None of another."""
        shape = template.head
        if shape is None:
            return None
        provider, channel, computer, _, key_bytes, layouts = shape
        data, values = self._data, at + CONTENT + INSTANCE_BYTES
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
        if begin != TEMPLATE_INSTANCE:
            if begin[0] != TEMPLATE_INSTANCE[-1]:
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
        if first_kind == STRINGS and slots == ALL_IN_ONE:
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
