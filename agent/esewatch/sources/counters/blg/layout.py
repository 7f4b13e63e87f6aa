"""The places of all wanted values of many records, while the samples are alike.

Samples differ in their values alone until an instance comes or goes. So they are compared with
the sample before, and unpacked, as a whole.
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from esewatch.sources.counters.blg.columns import ColumnGroup, Values, picker
from esewatch.sources.counters.blg.counter_types import Column


class ValueSlot(NamedTuple):
    """One wanted value, and where it stands."""

    column: Column
    place: int
    size: int
    """4 or 8 bytes."""
    second: tuple[int, int] | None
    """Place and size of its second number; None where that is a clock of the sample."""
    clock: int = 0


class Layout:
    """Reads samples that are alike but for their values."""

    def __init__(
        self, heads: Sequence[tuple[int, int]], slots: Sequence[ValueSlot], data: bytes, at: int
    ) -> None:
        """`heads`: (place, size) of what must not change, such as names, behind `at` in `data`;
        the places of `slots` are behind `at` too.

        Raises ValueError where values lie across each other: they are not unpacked as a whole.
        """
        slots = sorted(slots, key=lambda slot: slot.place)
        stored = {(slot.place, slot.size) for slot in slots}
        stored |= {slot.second for slot in slots if slot.second is not None}
        ordered = sorted(stored)
        number = {each: index for index, each in enumerate(ordered)}
        self._heads = _struct_of([(*head, f"{head[1]}s") for head in heads])
        self._values = _struct_of([(*each, "I" if each[1] == 4 else "q") for each in ordered])
        self._known = self._heads.unpack_from(data, at)
        self._firsts = picker([number[slot.place, slot.size] for slot in slots])
        # The clocks stand behind the values.
        self._seconds = picker(
            [
                len(ordered) + slot.clock if slot.second is None else number[slot.second]
                for slot in slots
            ]
        )
        self._group = ColumnGroup([slot.column for slot in slots])

    def values(self, data: bytes, at: int, end: int, clocks: tuple[int, ...] = ()) -> Values | None:
        """The values of the sample behind `at`; None where it is not like the one before."""
        if max(self._heads.size, self._values.size) > end - at:
            return None
        if self._heads.unpack_from(data, at) != self._known:
            return None
        numbers = self._values.unpack_from(data, at)
        seconds = self._seconds(numbers + clocks if clocks else numbers)
        return self._group.values(self._firsts(numbers), seconds)

    def part(self) -> None:
        """Put what was stored into the columns."""
        self._group.part()


def _struct_of(pieces: Sequence[tuple[int, int, str]]) -> struct.Struct:
    """Of (place, size, form), by place. Raises ValueError when they lie across each other."""
    form, at = ["<"], 0
    for place, size, code in pieces:
        if place < at:
            raise ValueError("values lie across each other")
        form.append(f"{place - at}x{code}")
        at = place + size
    return struct.Struct("".join(form))
