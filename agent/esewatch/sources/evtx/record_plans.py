"""Records of one chunk that are like one that was read before, taken many at once.

A plan knows where the fields of such a record stand. `_records.c` compares each record with the
plans of its template and takes its fields out where all agrees. Where nothing could be
compiled, `COMPILED` is false, and `record_reader.py` reads each record by itself, to the same end.
"""

import struct
from collections import Counter
from contextlib import suppress
from typing import Final, NamedTuple

from esewatch.ese.events.from_strings import Around
from esewatch.sources.evtx.shapes import (
    ALL_IN_ONE,
    BEGIN,
    CONTENT,
    INSTANCE_BYTES,
    TEMPLATE_INSTANCE,
)
from esewatch.sources.evtx.templates import FAILURES, Definitions, Template
from esewatch.sources.evtx.unfold import LEVELS

try:
    from esewatch.sources.evtx import _records
except ImportError:
    COMPILED = False
else:
    COMPILED = True

_NUMBERS: Final = struct.Struct("<8I")
_DESCRIPTOR_BYTES: Final = 4
_INNER: Final = struct.Struct("<10xI")
"""The last value of a record: the offset of the definition of its template."""
_LEVELS: Final = tuple(map(LEVELS.get, range(256)))
_LARGEST_AFTER: Final = 2**63 - 1
_MOST: Final = 8
"""Plans for the records of one template in a chunk; they differ in the sizes of values."""


class RecordPlan(NamedTuple):
    """Records that are alike in all but the values of their fields and strings."""

    shape: bytes
    """Eight numbers of 32 bits: the bytes of the definition of the template; the offsets of
    `Layouts.places`; place in the chunk and bytes of the definition of the inner template. Then
    the count of the values and the descriptors of all but the last.
    """
    provider: str
    computer: str
    channel: str


class RecordPlans:
    """The plans for one chunk."""

    def __init__(self, data: bytes, definitions: Definitions) -> None:
        self._data = data
        self._definitions = definitions
        self._plans: dict[int, tuple[RecordPlan, ...] | None] = {}
        """By the offset of a definition; None of a template of another provider."""
        self._tried: Counter[int] = Counter()

    def take(
        self, offsets: list[int], begin: int, after: int
    ) -> tuple[list[tuple[Around, list[str]]], int]:
        """Fields and strings of the records from offsets[`begin`] on whose id is above `after`.

        Ends at the first one that fits no plan; its index comes with them.
        """
        least = min(after, _LARGEST_AFTER)
        return _records.alike(self._data, offsets, begin, least, self._plans, _LEVELS)

    def is_unwanted(self, at: int, after: int) -> bool:
        """True of a record of another provider by its template; `take` then skips its like."""
        with suppress(*FAILURES):
            _, record_id, begin, definition = BEGIN.unpack_from(self._data, at + 4)
            if record_id > after and begin == TEMPLATE_INSTANCE:
                unwanted = self._definitions[definition].unwanted
                if unwanted:
                    self._plans[definition] = None
                return unwanted
        return False

    def learn(self, at: int) -> None:
        """Plan for records like the one at `at`, which was read by itself."""
        with suppress(*FAILURES):
            _, _, begin, definition = BEGIN.unpack_from(self._data, at + 4)
            template = self._definitions.get(definition)
            if begin != TEMPLATE_INSTANCE or template is None:
                return
            if template.wanted and self._tried[definition] < _MOST:
                self._tried[definition] += 1
                if (plan := self._plan(at, template, definition)) is not None:
                    self._plans[definition] = (*(self._plans.get(definition) or ()), plan)

    def _plan(self, at: int, template: Template, definition: int) -> RecordPlan | None:
        """The plan of a record whose strings are one array; None of any other."""
        shape = template.head
        if shape is None or shape.provider is None:
            return None
        if shape.computer is None or shape.channel is None:
            return None
        values = at + CONTENT + INSTANCE_BYTES
        values += template.size if definition == values else 0
        key = self._data[values : values + shape.key_bytes]
        places = shape.layouts.places(key)
        if places is None:
            return None
        last = values + shape.key_bytes + _DESCRIPTOR_BYTES + places[-1]
        (inner,) = _INNER.unpack_from(self._data, last)
        # `get`: what was not read for the record itself is not read for its plan.
        payload = self._definitions.get(inner)
        if payload is None or payload.string_slots != ALL_IN_ONE:
            return None
        if not (payload.holds_strings or template.wraps_strings):
            return None
        numbers = _NUMBERS.pack(template.size, *places, inner, payload.size)
        return RecordPlan(numbers + key, shape.provider, shape.computer, shape.channel)
