"""Records of whole objects: all counters of all instances, as the system keeps them. Names of
counters are numbers there; the log has the names in an event of its own."""

import struct
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from esewatch.sources.counters.blg.catalogue import LONGEST_NAME, Entry, string_at
from esewatch.sources.counters.blg.columns import ColumnBuilder, Taken, Values, parts_of
from esewatch.sources.counters.blg.counter_types import (
    OBJECT_TIMER,
    TIMER_100NS,
    WITH_BASE,
    Column,
    is_base,
)

_BLOCK: Final = struct.Struct("<8s12xIIIi20xqqq")
_SIGNATURE: Final = "PERF".encode("utf-16-le")
_OBJECT: Final = struct.Struct("<IIII16xIiiiqq")
_DEFINITION: Final = struct.Struct("<II20xIII")
_INSTANCE: Final = struct.Struct("<IIIiII")
_FREQUENCY_100NS: Final = 10_000_000
_DEFAULT_SIZES: Final = (4, 8)
_MOST_DEFINITIONS: Final = 10_000
_SPARE: Final = 1000
"""Instances that are gone, above which their columns are forgotten."""


class DamagedError(Exception):
    """A record of a whole object is damaged."""


class _Counter(NamedTuple):
    name: str
    type: int
    size: int
    offset: int
    base: "tuple[int, int] | None"
    """Size and offset of its base."""


class _Value(NamedTuple):
    """One wanted value of an instance, and where it stands in the block of the instance."""

    column: Column
    size: int
    offset: int
    clock: int
    """Its number in `_Clocks`."""
    base: "tuple[int, int] | None"


class _Clocks(NamedTuple):
    """Of the data block, of the object, and that of 100 ns: what they show, units a second."""

    now: tuple[int, int, int]
    rates: tuple[int, int, int]


class ObjectReader:
    """Reads the records of one catalogue entry."""

    def __init__(self, entry: Entry, names: Mapping[int, str], columns: ColumnBuilder) -> None:
        self._entry = entry
        self._names = names
        self._columns = columns
        self._definitions = b""
        self._counters: list[_Counter] = []
        self._wanted = False
        self._page = 0
        self._stored: list[tuple[Column, int, int]] = []
        self._clocks = _Clocks((0, 0, 0), (0, 0, 0))
        self._instances: dict[tuple[bytes, int], list[_Value]] = {}
        self.exposed: list[str] = []
        """Names of all its counters."""
        self.nameless = 0
        """Counters whose number has no name in the log."""

    def read(self, data: bytes, at: int, end: int, taken: Taken) -> None:
        """Take the wanted values of the data block from `at` to `end`. Raises DamagedError."""
        if at + _BLOCK.size > end:
            raise DamagedError("data block is cut short")
        signature, total, head, types, _, ticks, rate, utc = _BLOCK.unpack_from(data, at)
        if signature != _SIGNATURE or total > end - at or not _BLOCK.size <= head <= total:
            raise DamagedError("data block has no valid head")
        taken.utc.append(utc)
        if types:
            self._clocks = _Clocks((ticks, 0, utc), (rate, 0, _FREQUENCY_100NS))
            self._stored = []
            self._object(data, at + head, at + total)
            taken.groups.append(
                Values(
                    parts_of(column.labels for column, _, _ in self._stored),
                    [column.value(first, second) for column, first, second in self._stored],
                    [first for _, first, _ in self._stored],
                )
            )

    def _object(self, data: bytes, at: int, end: int) -> None:
        if at + _OBJECT.size > end:
            raise DamagedError("object is cut short")
        total, length, head, _, count, _, instances, self._page, ticks, rate = _OBJECT.unpack_from(
            data, at
        )
        if not _OBJECT.size <= head <= length <= total <= end - at:
            raise DamagedError("object has no valid head")
        if count > _MOST_DEFINITIONS:
            raise DamagedError(f"object claims {count} counters")
        end = at + total
        if data[at + head : at + length] != self._definitions:
            self._define(data, at + head, at + length, count)
        if not self._wanted:
            return
        now, rates = self._clocks
        self._clocks = _Clocks((now[0], ticks, now[2]), (rates[0], rate, rates[2]))
        place = at + length
        if instances == -1:
            values = self._instances.get((b"", 0))
            if values is None:
                values = self._instances[b"", 0] = self._values("")
            self._take(data, place, end, values)
        else:
            self._each_instance(data, place, end, instances)

    def _define(self, data: bytes, at: int, end: int, count: int) -> None:
        """Read the definitions; equal ones are not read again."""
        found: list[tuple[int, int, int, int]] = []
        place = at
        for _ in range(count):
            if place + _DEFINITION.size > end:
                raise DamagedError("counter definitions are cut short")
            length, title, kind, size, offset = _DEFINITION.unpack_from(data, place)
            if length < _DEFINITION.size or place + length > end:
                raise DamagedError("counter definition has no valid length")
            found.append((title, kind, size, offset))
            place += length
        self._definitions = data[at:end]
        self._instances = {}
        self._counters = []
        self.exposed = []
        self.nameless = 0
        for number, (title, kind, size, offset) in enumerate(found):
            base = None
            if kind in WITH_BASE:
                if number + 1 == len(found):
                    continue
                base = found[number + 1][2:]
                if base[0] not in _DEFAULT_SIZES:
                    continue
            name = self._names.get(title, "")
            self.nameless += not name and not is_base(kind)
            if name:
                self.exposed.append(name)
            if name and size in _DEFAULT_SIZES:
                self._columns.add_total(self._entry.machine, self._entry.object, name)
                self._counters.append(_Counter(name, kind, size, offset, base))
        wants, entry = self._columns.wants, self._entry
        self._counters = [each for each in self._counters if wants(entry.object, each.name)]
        self._wanted = bool(self._counters)

    def _each_instance(self, data: bytes, at: int, end: int, count: int) -> None:
        seen: dict[bytes, int] = {}
        blocks: list[tuple[tuple[bytes, int], int, int]] = []
        for _ in range(count):
            if at + _INSTANCE.size > end:
                raise DamagedError("instances are cut short")
            length, _, _, number, place, size = _INSTANCE.unpack_from(data, at)
            if length < _INSTANCE.size or at + length + 4 > end or place + size > length:
                raise DamagedError("instance has no valid head")
            name = data[at + place : at + place + min(size, LONGEST_NAME)]
            if not name:
                name = str(number).encode("utf-16-le")
            at += length
            (block,) = struct.unpack_from("<I", data, at)
            if block < 4 or at + block > end:
                raise DamagedError("counter block has no valid length")
            nth = seen[name] = seen.get(name, -1) + 1
            blocks.append(((name, nth), at, at + block))
            at += block
        self._add_new(key for key, _, _ in blocks if key not in self._instances)
        for key, begin, behind in blocks:
            self._take(data, begin, behind, self._instances[key])
        if len(self._instances) > 2 * count + _SPARE:
            there = {(name, nth) for name, most in seen.items() for nth in range(most + 1)}
            self._instances = {key: self._instances[key] for key in there}

    def _add_new(self, keys: Iterable[tuple[bytes, int]]) -> None:
        names = {key: self._text(key[0]) for key in keys}
        self._columns.add_instances(self._entry.machine, names.values())
        asked = self._entry.instance
        for key, text in names.items():
            self._instances[key] = []
            if asked in ("", "*") or asked.lower() == text.lower():
                self._instances[key] = self._values(f"{text}#{key[1]}" if key[1] else text)

    def _text(self, name: bytes) -> str:
        if not self._page:
            return string_at(name, 0)
        try:
            text = name.decode(f"cp{self._page}", "replace")
        except LookupError:
            text = name.decode("cp1252", "replace")
        return text.split("\0", 1)[0]

    def _values(self, instance: str) -> list[_Value]:
        found = []
        entry = self._entry
        for each in self._counters:
            clock = 2 if each.type & TIMER_100NS else 1 if each.type & OBJECT_TIMER else 0
            column = self._columns.make(
                entry, instance, each.name, each.type, self._clocks.rates[clock]
            )
            if column is not None:
                found.append(_Value(column, each.size, each.offset, clock, each.base))
        return found

    def _take(self, data: bytes, at: int, end: int, values: list[_Value]) -> None:
        for column, size, offset, clock, base in values:
            first = at + offset
            if first + size > end:
                raise DamagedError("value lies beyond its counter block")
            second = self._clocks.now[clock]
            if base is not None:
                if at + base[1] + base[0] > end:
                    raise DamagedError("base lies beyond its counter block")
                second = _number(data, at + base[1], base[0])
            self._stored.append((column, _number(data, first, size), second))


def _number(data: bytes, at: int, size: int) -> int:
    # The 32 bits of a counter have no sign, those of a large one do.
    return int.from_bytes(data[at : at + size], "little", signed=size == 8)
