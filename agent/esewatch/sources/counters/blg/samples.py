"""The samples of a binary performance log: one record for each catalogue entry. Most counters of a
log are not asked for: they are passed over by the size of their records."""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Final, NamedTuple

from esewatch.ese.counters.counter_feeds import is_stand_in
from esewatch.sources.counters.blg.buffers import Tell, silent
from esewatch.sources.counters.blg.catalogue import Entry, string_at
from esewatch.sources.counters.blg.columns import (
    ColumnBuilder,
    ColumnGroup,
    Taken,
    Values,
    parts_of,
)
from esewatch.sources.counters.blg.counter_types import TIMER_100NS, Column
from esewatch.sources.counters.blg.objects import DamagedError, ObjectReader

_HEAD: Final = struct.Struct("<II")
_SAMPLE: Final = 0x00034C42
"""`BL`, 3 and the kind of the record: 0 is a whole sample."""
_MAGIC: Final = 0x00FFFFFF
_ONE: Final = 0x01034C42
_ALL: Final = 0x02034C42
_OBJECT: Final = 0x05034C42
_VALUE: Final = "III12xqq8x"
_SINGLE: Final = struct.Struct("<" + _VALUE)
_WILDCARD: Final = struct.Struct("<IIII8x")
_ITEM: Final = struct.Struct("<IIqq")
_UNUSABLE: Final = 0x80000000
_ASKED_FOR_TIME: Final = 3
"""Counters of a log whose clocks are asked for the time in UTC."""
_SPARE: Final = 1000
_MOST_LISTS: Final = 100


class _Instances(NamedTuple):
    """The instances of a wildcard record while they stay the same."""

    places: tuple[bytes, ...]
    """The offsets of their names, the bytes of equal weight together."""
    names: bytes
    wanted: list[int] | None
    """Numbers of the wanted ones; None for all."""
    values: struct.Struct
    """The values of all of them."""
    group: ColumnGroup


_Lists = dict[tuple[tuple[bytes, ...], bytes], list[str]]
"""Offsets of the names of instances, and their bytes -> the names: an object has many counters."""


class _Wildcard:
    """Reads the records of one counter of all instances."""

    def __init__(self, entry: Entry, columns: ColumnBuilder, lists: _Lists) -> None:
        self._entry = entry
        self._columns = columns
        self._lists = lists
        self._made: dict[str, Column | None] = {}
        self._known = _Instances((), b"", None, struct.Struct(""), ColumnGroup([]))

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
        known = self._known
        # The four bytes of the offset of each name, without taking the items apart.
        places = tuple(data[items + byte : names : _ITEM.size] for byte in range(4))
        if places != known.places or data[names:end] != known.names:
            known.group.part()
            known = self._known = self._name(data, at, (items, names, end), places)
        values = known.values.unpack_from(data, items)
        firsts: Sequence[int] = values[::2]
        seconds: Sequence[int] = values[1::2]
        if known.wanted is not None:
            firsts = [firsts[number] for number in known.wanted]
            seconds = [seconds[number] for number in known.wanted]
        if firsts:
            taken.groups.append(known.group.values(firsts, seconds))

    def _name(
        self, data: bytes, at: int, span: tuple[int, int, int], places: tuple[bytes, ...]
    ) -> _Instances:
        items, names, end = span
        stored = data[names:end]
        instances = self._lists.get((places, stored))
        if instances is None:
            offsets = [place for place, _, _, _ in _ITEM.iter_unpack(data[items:names])]
            instances = _numbered([string_at(data, at + place, end) for place in offsets])
            if len(self._lists) >= _MOST_LISTS:
                self._lists.clear()
            self._lists[places, stored] = instances
        found: list[tuple[int, Column]] = []
        entry = self._entry
        self._columns.add_instances(entry.machine, instances)
        for number, instance in enumerate(instances):
            if instance not in self._made or is_stand_in(instance):
                self._made[instance] = self._columns.make(
                    entry, instance, entry.counter, entry.type, entry.frequency
                )
            if (column := self._made[instance]) is not None:
                found.append((number, column))
        if len(self._made) > 2 * len(instances) + _SPARE:
            there = {column.labels[3] for _, column in found}
            self._made = {name: made for name, made in self._made.items() if name in there}
        wanted = [number for number, _ in found]
        return _Instances(
            places,
            stored,
            None if wanted == list(range(len(instances))) else wanted,
            struct.Struct("<" + len(instances) * "8xqq"),
            ColumnGroup([column for _, column in found]),
        )


class _Run:
    """Entries of single values behind each other; their records have one size."""

    def __init__(self, begun: int, columns: Sequence[Column | None], clocks: Sequence[int]) -> None:
        """`clocks`: numbers of those whose clock tells the time in UTC."""
        self.begun = begun
        self.entries = len(columns)
        wanted = [(number, column) for number, column in enumerate(columns) if column is not None]
        self._wanted = [number for number, _ in wanted]
        self._every = self._wanted == list(range(self.entries))
        self._group = ColumnGroup([column for _, column in wanted])
        self._clocks = [_SINGLE.size * number for number in clocks]
        self._values = struct.Struct("<" + self.entries * _VALUE)
        # Where few are wanted the others are not even unpacked.
        self._all = 4 * len(self._wanted) >= self.entries

    def read(self, data: bytes, at: int, tell: Tell, taken: Taken) -> None:
        """Take the values of the records from `at` on."""
        for offset in self._clocks:
            magic, _, status, _, second = _SINGLE.unpack_from(data, at + offset)
            if magic == _ONE and not status & _UNUSABLE:
                taken.utc.append(second)
        if not self._wanted:
            return
        unpack, size = _SINGLE.unpack_from, _SINGLE.size
        if self._all:
            values = self._values.unpack_from(data, at)
            fields = [values[place::5] for place in range(5)]
        else:
            rows = [unpack(data, at + size * number) for number in self._wanted]
            fields = list(zip(*rows, strict=True))
        marks, sizes, statuses, firsts, seconds = fields
        if set(marks) == {_ONE} and set(sizes) == {size} and max(statuses) < _UNUSABLE:
            if self._all and not self._every:
                firsts = tuple(firsts[number] for number in self._wanted)
                seconds = tuple(seconds[number] for number in self._wanted)
            taken.groups.append(self._group.values(firsts, seconds))
        else:
            self._read_each(data, at, tell, taken)

    def part(self) -> None:
        """Put what was stored into the column."""
        self._group.part()

    def _read_each(self, data: bytes, at: int, tell: Tell, taken: Taken) -> None:
        """The same, where some of them have no value."""
        self._group.part()
        labels, values, firsts = [], [], []
        each_wanted = zip(self._wanted, self._group.columns, strict=True)
        for number, column in each_wanted:
            place = at + _SINGLE.size * number
            magic, size, status, first, second = _SINGLE.unpack_from(data, place)
            if magic != _ONE or size != _SINGLE.size:
                tell(place, f"record {self.begun + number + 1} of the sample has no valid head")
            elif status & _UNUSABLE:
                taken.unusable[status] += 1
            else:
                labels.append(column.labels)
                values.append(column.value(first, second))
                firsts.append(first)
        taken.groups.append(Values(parts_of(labels), values, firsts))


class _Step(NamedTuple):
    """A run of single values, or other entries behind each other that are wanted or not."""

    begun: int
    entries: int
    run: _Run | None
    wanted: bool


class SampleReader:
    """Reads the samples of one catalogue."""

    def __init__(
        self, entries: Sequence[Entry], names: Mapping[int, str], columns: ColumnBuilder
    ) -> None:
        self._entries = entries
        self._names = names
        self._columns = columns
        for entry in entries:
            columns.add_total(entry.machine, entry.object, entry.counter)
            columns.add_instances(entry.machine, [entry.instance])
        timed = (
            number
            for number, entry in enumerate(entries)
            if entry.type & TIMER_100NS and entry.form in ("single", "wildcard")
        )
        self._clocks = set(islice(timed, _ASKED_FOR_TIME))
        self._singles: dict[int, Column | None] = {}
        self._wildcards: dict[int, _Wildcard] = {}
        self._lists: _Lists = {}
        self._objects: dict[int, ObjectReader] = {}
        self._steps = self._plan()
        self.skipped: Counter[int] = Counter()
        """Kinds of records that are not known here, and how many there were."""

    @property
    def nameless(self) -> int:
        """Counters of whole objects without a name in the log."""
        return sum(reader.nameless for reader in self._objects.values())

    def exposed(self) -> Iterator[tuple[str, str, str]]:
        """Machine, object and counter of all that was seen, wanted or not."""
        for number, entry in enumerate(self._entries):
            reader = self._objects.get(number)
            for counter in reader.exposed if reader is not None else [entry.counter]:
                yield entry.machine, entry.object, counter

    def read(self, data: bytes, at: int, end: int, tell: Tell) -> Taken:
        """Take the wanted values of the sample from `at` to `end`."""
        taken = Taken([], Counter(), [], [])
        magic, size = _HEAD.unpack_from(data, at) if at + _HEAD.size <= end else (0, 0)
        if magic != _SAMPLE or not _HEAD.size <= size <= end - at:
            tell(at, f"no sample where one should be: mark 0x{magic:08x}, {size} bytes")
            return taken
        end = at + size
        at += _HEAD.size
        try:
            for step in self._steps:
                behind = at + step.entries * _SINGLE.size
                if step.run is not None and _ends_well(data, behind, end):
                    step.run.read(data, at, tell, taken)
                    at = behind
                elif step.wanted:
                    at = self._each(step, data, at, end, taken)
                else:
                    at = self._passed(step, data, at, end)
        except DamagedError as error:
            taken.broken.append(str(error))
        for reason in taken.broken:
            tell(at, reason)
        return taken

    def _each(self, step: _Step, data: bytes, at: int, end: int, taken: Taken) -> int:
        """Take the records of a step one by one; returns where they end. Raises DamagedError."""
        if step.run is not None:
            step.run.part()
        for number in range(step.begun, step.begun + step.entries):
            size = _size_at(data, at, end, number)
            try:
                self._record(number, data, at, at + size, taken)
            except DamagedError as error:
                taken.broken.append(f"record {number + 1} of the sample: {error}")
            at += size
        return at

    def _passed(self, step: _Step, data: bytes, at: int, end: int) -> int:
        """Pass the records of a step over; returns where they end. Raises DamagedError."""
        unpack, most = _HEAD.unpack_from, end - _HEAD.size
        for number in range(step.begun, step.begun + step.entries):
            if at > most:
                raise DamagedError(f"sample ends before record {number + 1}")
            magic, size = unpack(data, at)
            if magic & _MAGIC != _SAMPLE or not _HEAD.size <= size <= end - at:
                raise DamagedError(f"record {number + 1} of the sample has no valid head")
            at += size
        return at

    def _plan(self) -> list[_Step]:
        steps: list[_Step] = []
        for kind, entries in groupby(range(len(self._entries)), self._kind):
            numbers = list(entries)
            begun = numbers[0]
            run = None
            if kind == "single":
                clocks = [number - begun for number in numbers if number in self._clocks]
                run = _Run(begun, [self._single(number) for number in numbers], clocks)
            steps.append(_Step(begun, len(numbers), run, kind != "unwanted"))
        return steps

    def _kind(self, number: int) -> str:
        entry = self._entries[number]
        if entry.form == "single":
            return "single"
        counter = entry.counter
        asked = number in self._clocks or entry.form == "object"
        return "wanted" if asked or self._columns.wants(entry.object, counter) else "unwanted"

    def _single(self, number: int) -> Column | None:
        if number not in self._singles:
            entry = self._entries[number]
            self._singles[number] = self._columns.make(
                entry, entry.instance, entry.counter, entry.type, entry.frequency
            )
        return self._singles[number]

    def _record(self, number: int, data: bytes, at: int, end: int, taken: Taken) -> None:
        """Take one record by its own form. Raises DamagedError."""
        (magic, _) = _HEAD.unpack_from(data, at)
        entry = self._entries[number]
        body = at + _HEAD.size
        if magic == _ONE:
            if end - at < _SINGLE.size:
                raise DamagedError("value is cut short")
            column = self._single(number)
            if column is not None:
                run = _Run(number, [column], [])
                run.read(data, at, silent, taken)
                run.part()
            if number in self._clocks:
                taken.utc.append(_SINGLE.unpack_from(data, at)[4])
        elif magic == _ALL:
            if number in self._clocks and end - body >= _WILDCARD.size + _ITEM.size:
                taken.utc.append(_ITEM.unpack_from(data, body + _WILDCARD.size)[3])
            if self._columns.wants(entry.object, entry.counter):
                reader = self._wildcards.get(number)
                if reader is None:
                    reader = self._wildcards[number] = _Wildcard(entry, self._columns, self._lists)
                reader.read(data, body, end, taken)
        elif magic == _OBJECT:
            whole = self._objects.get(number)
            if whole is None:
                whole = self._objects[number] = ObjectReader(entry, self._names, self._columns)
            whole.read(data, body, end, taken)
        else:
            self.skipped[magic >> 24] += 1


def _size_at(data: bytes, at: int, end: int, number: int) -> int:
    """The size of the record at `at`. Raises DamagedError."""
    if at + _HEAD.size > end:
        raise DamagedError(f"sample ends before record {number + 1}")
    magic, size = _HEAD.unpack_from(data, at)
    if magic & _MAGIC != _SAMPLE or not _HEAD.size <= size <= end - at:
        raise DamagedError(f"record {number + 1} of the sample has no valid head")
    return int(size)


def _numbered(names: Sequence[str]) -> list[str]:
    """Equal names get a number, from the second one on."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        found.append(f"{name}#{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def _ends_well(data: bytes, at: int, end: int) -> bool:
    """Does the sample end at `at`, or another record begin there?"""
    if at == end:
        return True
    return at + _HEAD.size <= end and _HEAD.unpack_from(data, at)[0] & _MAGIC == _SAMPLE
