"""The samples of a binary performance log: one record for each catalogue entry.

Most counters of a log are not asked for: they are passed over by the size of their records.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from esewatch.sources.counters.blg.buffers import Tell
from esewatch.sources.counters.blg.catalogue import Entry, string_at
from esewatch.sources.counters.blg.columns import Columns, Taken
from esewatch.sources.counters.blg.counter_types import TIMER_100NS, Column
from esewatch.sources.counters.blg.objects import DamagedError, ObjectReader

_HEAD: Final = struct.Struct("<II")
_SAMPLE: Final = 0x00034C42
"""`BL`, 3 and the kind of the record: 0 is a whole sample."""
_MAGIC: Final = 0x00FFFFFF
_ONE: Final = 0x01034C42
_ALL: Final = 0x02034C42
_OBJECT: Final = 0x05034C42
_SINGLE: Final = struct.Struct("<III12xqq8x")
_WILDCARD: Final = struct.Struct("<IIII8x")
_ITEM: Final = struct.Struct("<IIqq")
_UNUSABLE: Final = 0x80000000
_ASKED_FOR_TIME: Final = 3
"""Counters of a log whose clocks are asked for the time in UTC."""
_SPARE: Final = 1000


class _Instances(NamedTuple):
    """The instances of a wildcard record while they stay the same."""

    places: tuple[int, ...]
    names: bytes
    columns: list[tuple[int, Column]]
    """Place of each wanted one in the list of values, and its column."""


class _Wildcard:
    """Reads the records of one counter of all instances."""

    def __init__(self, entry: Entry, columns: Columns) -> None:
        self._entry = entry
        self._columns = columns
        self._made: dict[str, Column | None] = {}
        self._known = _Instances((), b"", [])

    def read(self, data: bytes, at: int, end: int, taken: Taken) -> None:
        """Take the values of the block from `at` to `end`. Raises DamagedError."""
        if at + _WILDCARD.size > end:
            raise DamagedError("list of instances is cut short")
        _, count, status, _ = _WILDCARD.unpack_from(data, at)
        items = at + _WILDCARD.size
        names = items + count * _ITEM.size
        if names > end:
            raise DamagedError(f"list of {count} instances does not fit in its record")
        if status & _UNUSABLE:
            taken.unusable[status] += 1
            return
        values = struct.unpack_from("<" + count * "IIqq", data, items)
        places = values[::4]
        known = self._known
        if places != known.places or data[names:end] != known.names:
            known = self._known = self._name(data, at, names, end, places)
        taken.values.extend(
            [(column, values[place], values[place + 1]) for place, column in known.columns]
        )

    def _name(
        self, data: bytes, at: int, names: int, end: int, places: tuple[int, ...]
    ) -> _Instances:
        seen: Counter[str] = Counter()
        columns = []
        for number, place in enumerate(places):
            name = string_at(data, at + place, end)
            nth = seen[name]
            seen[name] += 1
            column = self._column(f"{name}#{nth}" if nth else name)
            if column is not None:
                columns.append((4 * number + 2, column))
        if len(self._made) > 2 * len(places) + _SPARE:
            there = {column.instance for _, column in columns}
            self._made = {name: made for name, made in self._made.items() if name in there}
        return _Instances(places, data[names:end], columns)

    def _column(self, instance: str) -> Column | None:
        if instance not in self._made:
            entry = self._entry
            self._made[instance] = self._columns.make(
                entry, instance, entry.counter, entry.type, entry.frequency
            )
        return self._made[instance]


class _Step(NamedTuple):
    """A run of entries of single values, or one entry of another form."""

    begun: int
    entries: int
    is_run: bool
    wanted: list[tuple[int, Column]]
    """Of a run: offset of each wanted one, and its column."""
    clocks: list[int]
    """Of a run: offsets of those whose clock tells the time in UTC."""


class SampleReader:
    """Reads the samples of one catalogue."""

    def __init__(
        self, entries: Sequence[Entry], names: Mapping[int, str], columns: Columns
    ) -> None:
        self._entries = entries
        self._names = names
        self._columns = columns
        for entry in entries:
            columns.add_total(entry.machine, entry.object, entry.counter)
        timed = (n for n, entry in enumerate(entries) if _tells_time(entry))
        self._clocks = set(islice(timed, _ASKED_FOR_TIME))
        self._singles: dict[int, Column | None] = {}
        self._wildcards: dict[int, _Wildcard] = {}
        self._objects: dict[int, ObjectReader] = {}
        self._steps = self._plan()
        self.skipped: Counter[int] = Counter()
        """Kinds of records that are not known here, and how many there were."""

    @property
    def nameless(self) -> int:
        """Counters of whole objects without a name in the log."""
        return sum(reader.nameless for reader in self._objects.values())

    def read(self, data: bytes, at: int, end: int, tell: Tell) -> Taken:
        """Take the wanted values of the sample from `at` to `end`."""
        taken = Taken([], Counter(), [])
        if at + _HEAD.size > end:
            tell(at, "sample is cut short")
            return taken
        magic, size = _HEAD.unpack_from(data, at)
        if magic != _SAMPLE or not _HEAD.size <= size <= end - at:
            tell(at, f"no sample where one should be: mark 0x{magic:08x}, {size} bytes")
            return taken
        end = at + size
        at += _HEAD.size
        for step in self._steps:
            behind = at + step.entries * _SINGLE.size
            if step.is_run and _ends_well(data, behind, end):
                self._take_run(data, at, step, tell, taken)
                at = behind
                continue
            for number in range(step.begun, step.begun + step.entries):
                if at + _HEAD.size > end:
                    tell(at, f"sample ends before record {number + 1} of {len(self._entries)}")
                    return taken
                magic, size = _HEAD.unpack_from(data, at)
                if magic & _MAGIC != _SAMPLE or not _HEAD.size <= size <= end - at:
                    tell(at, f"record {number + 1} of the sample has no valid head")
                    return taken
                try:
                    self._record(number, data, at, at + size, taken)
                except DamagedError as error:
                    tell(at, f"record {number + 1} of the sample: {error}")
                at += size
        return taken

    def exposed(self) -> Iterator[tuple[str, str, str]]:
        """Machine, object and counter of all that was seen, wanted or not."""
        for number, entry in enumerate(self._entries):
            reader = self._objects.get(number)
            for counter in reader.exposed if reader is not None else [entry.counter]:
                yield entry.machine, entry.object, counter

    def _plan(self) -> list[_Step]:
        steps: list[_Step] = []
        begun = 0
        for number, entry in enumerate([*self._entries, None]):
            if entry is not None and entry.form == "single":
                continue
            if number > begun:
                steps.append(self._run(begun, number))
            if entry is not None:
                steps.append(_Step(number, 1, False, [], []))
            begun = number + 1
        return steps

    def _run(self, begun: int, end: int) -> _Step:
        found = ((number, self._single(number)) for number in range(begun, end))
        return _Step(
            begun,
            end - begun,
            True,
            [(_SINGLE.size * (n - begun), column) for n, column in found if column is not None],
            [_SINGLE.size * (n - begun) for n in sorted(self._clocks) if begun <= n < end],
        )

    def _single(self, number: int) -> Column | None:
        if number not in self._singles:
            entry = self._entries[number]
            self._singles[number] = self._columns.make(
                entry,
                entry.instance,
                entry.counter,
                entry.type,
                entry.frequency,
            )
        return self._singles[number]

    def _take_run(self, data: bytes, at: int, step: _Step, tell: Tell, taken: Taken) -> None:
        unpack = _SINGLE.unpack_from
        for offset, column in step.wanted:
            magic, size, status, first, second = unpack(data, at + offset)
            if magic != _ONE or size != _SINGLE.size:
                number = step.begun + offset // _SINGLE.size + 1
                tell(at + offset, f"record {number} of the sample has no valid head")
            elif status & _UNUSABLE:
                taken.unusable[status] += 1
            else:
                taken.values.append((column, first, second))
        for offset in step.clocks:
            magic, _, status, _, second = unpack(data, at + offset)
            if magic == _ONE and not status & _UNUSABLE:
                taken.utc.append(second)

    def _record(self, number: int, data: bytes, at: int, end: int, taken: Taken) -> None:
        """Take one record by its own form. Raises DamagedError."""
        (magic, _) = _HEAD.unpack_from(data, at)
        entry = self._entries[number]
        body = at + _HEAD.size
        if magic == _ONE:
            if end - at < _SINGLE.size:
                raise DamagedError("value is cut short")
            _, _, status, first, second = _SINGLE.unpack_from(data, at)
            column = self._single(number)
            if status & _UNUSABLE:
                taken.unusable[status] += column is not None
                return
            if column is not None:
                taken.values.append((column, first, second))
            if number in self._clocks:
                taken.utc.append(second)
        elif magic == _ALL:
            if self._columns.wants(entry.object, entry.counter):
                reader = self._wildcards.get(number)
                if reader is None:
                    reader = self._wildcards[number] = _Wildcard(entry, self._columns)
                reader.read(data, body, end, taken)
            if number in self._clocks and end - body >= _WILDCARD.size + _ITEM.size:
                taken.utc.append(_ITEM.unpack_from(data, body + _WILDCARD.size)[3])
        elif magic == _OBJECT:
            whole = self._objects.get(number)
            if whole is None:
                whole = self._objects[number] = ObjectReader(entry, self._names, self._columns)
            whole.read(data, body, end, taken)
        else:
            self.skipped[magic >> 24] += 1


def _tells_time(entry: Entry) -> bool:
    return bool(entry.type & TIMER_100NS) and entry.form in ("single", "wildcard")


def _ends_well(data: bytes, at: int, end: int) -> bool:
    """Does the sample end at `at`, or another record begin there?"""
    if at == end:
        return True
    return at + _HEAD.size <= end and _HEAD.unpack_from(data, at)[0] & _MAGIC == _SAMPLE
