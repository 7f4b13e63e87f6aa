"""The columns of a binary performance log: what feeds which series, and as what."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from operator import itemgetter, sub, truediv
from typing import Any, Final, NamedTuple

import msgspec

from esewatch.ese.counters.counter_feeds import OwnInstances, feed_of, kind_of, may_feed
from esewatch.model import Kind
from esewatch.sources.counters.blg.catalogue import Entry
from esewatch.sources.counters.blg.counter_types import (
    FORMULAS,
    TOTALS,
    Column,
    Formula,
    Labels,
    has_32_bits,
    is_base,
)

MOST_TOLD: Final = 100

Parts = tuple[Sequence[Any], ...]
"""The labels of all readings: all computers, all objects, ..."""


def parts_of(labels: Iterable[Labels]) -> Parts:
    """The same, part by part."""
    return tuple(zip(*labels, strict=True)) or ((),) * 6


class Values(NamedTuple):
    """Of columns: labels, value, not a number where it has none, and the first one stored."""

    labels: Parts
    values: Sequence[float]
    firsts: Sequence[int]


class _Stored(NamedTuple):
    """Stored values of the columns of a part."""

    firsts: Sequence[int]
    seconds: Sequence[int]
    clock: int | None
    """The second number of all of them, None where they differ or are not needed."""


class _Part(NamedTuple):
    """The columns of a group that have one formula and one frequency."""

    formula: Formula
    frequency: float
    columns: Sequence[Column]
    pick: Callable[[Sequence[Any]], Sequence[Any]]
    """Takes what belongs to them."""

    def stored(self, firsts: Sequence[int], seconds: Sequence[int]) -> _Stored:
        """Theirs of the numbers of all columns."""
        own = self.pick(seconds)
        is_one = self.formula is Formula.RATE and own.count(own[0]) == len(own)
        return _Stored(self.pick(firsts), own, own[0] if is_one else None)

    def values(self, now: _Stored, before: _Stored) -> list[float]:
        """The values of a sample behind another one."""
        if self.formula is Formula.RAW:
            return list(map(float, now.firsts))
        if now.clock is not None and before.clock is not None and now.clock > before.clock:
            return self._rates(now, before, (now.clock - before.clock) / self.frequency)
        return self._each(now, before, range(len(self.columns)))

    def _rates(self, now: _Stored, before: _Stored, seconds: float) -> list[float]:
        """Of columns with one clock: most counters of a log by far."""
        grown = list(map(sub, now.firsts, before.firsts))
        found = list(map(truediv, grown, repeat(seconds)))
        if min(grown) < 0:
            fell = [number for number, each in enumerate(grown) if each < 0]
            for number, value in zip(fell, self._each(now, before, fell), strict=True):
                found[number] = value
        return found

    def _each(self, now: _Stored, before: _Stored, numbers: Sequence[int]) -> list[float]:
        return [
            self.columns[number].between(
                now.firsts[number],
                now.seconds[number],
                before.firsts[number],
                before.seconds[number],
            )
            for number in numbers
        ]


class ColumnGroup:
    """Columns that are sampled together, with what was stored of them in the sample before. While
    they are, it stands here; it is put into the columns where they part."""

    def __init__(self, columns: Sequence[Column]) -> None:
        """`columns`: in the order of the log, which is that of what is stored and of the values."""
        self.columns = columns
        self._labels = parts_of(column.labels for column in columns)
        alike: dict[tuple[Formula, float], list[int]] = {}
        for number, column in enumerate(columns):
            alike.setdefault((column.formula, column.frequency), []).append(number)
        self._parts = [
            _Part(formula, frequency, [columns[number] for number in numbers], picker(numbers))
            for (formula, frequency), numbers in alike.items()
        ]
        order = [number for numbers in alike.values() for number in numbers]
        places = sorted(range(len(order)), key=order.__getitem__)
        self._ordered = picker(places) if len(self._parts) > 1 else None
        self._before: tuple[Sequence[int], Sequence[int], list[_Stored]] | None = None

    def values(self, firsts: Sequence[int], seconds: Sequence[int]) -> Values:
        """The values of this sample, which is the one before from then on."""
        stored = [part.stored(firsts, seconds) for part in self._parts]
        before, self._before = self._before, (firsts, seconds, stored)
        found: Sequence[float]
        if before is None:
            trios = zip(self.columns, firsts, seconds, strict=True)
            found = [column.value(first, second) for column, first, second in trios]
        else:
            found = list(chain.from_iterable(map(_Part.values, self._parts, stored, before[2])))
            if self._ordered is not None:
                found = self._ordered(found)
        return Values(self._labels, found, firsts)

    def part(self) -> None:
        """The next sample may have others of these columns."""
        if self._before is not None:
            firsts, seconds, _ = self._before
            for column, first, second in zip(self.columns, firsts, seconds, strict=True):
                column.first, column.second, column.known = first, second, True
            self._before = None


def picker(numbers: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Takes the items of these numbers, at least one, out of a sequence."""
    begin, end = numbers[0], numbers[-1] + 1
    step = max(1, numbers[1] - begin) if len(numbers) > 1 else 1
    if list(numbers) == list(range(begin, end, step)):
        return itemgetter(slice(begin, end, step))
    return itemgetter(*numbers)


class Taken(NamedTuple):
    """Values that were taken from a sample."""

    groups: list[Values]
    """Of the wanted columns."""
    unusable: Counter[int]
    """Status -> wanted values that have it."""
    utc: list[int]
    """The time in UTC, 100 ns since 1601, as counters with such a clock have it."""
    broken: list[str]
    """Parts of its records that cannot be read."""


class ColumnBuilder:
    """Makes the columns of one log.

    `ese_only`: only those that feed a metric. Where a running total and its rate are both there
    (`add_totals`), the total feeds the series and the rate stays one.
    """

    def __init__(self, computer: str, *, ese_only: bool) -> None:
        self._computer = computer
        self._ese_only = ese_only
        self._totals: set[tuple[str, str, tuple[str, ...]]] = set()
        self._named: dict[tuple[str, str], tuple[bool, Kind]] = {}
        self._own = OwnInstances()
        self.unknown: dict[int, str] = {}
        """Counter types that have no formula here, each with a counter that has it."""

    def add_total(self, machine: str, object_name: str, counter: str) -> None:
        """Note a counter of the log: a rate beside the total of its series stays a rate."""
        if kind_of(object_name, counter) == "total":
            feed = feed_of(object_name, "process/instance", counter)
            if feed is not None:
                self._totals.add((self.computer(machine), feed.metric, feed.labels))

    def add_instances(self, machine: str, instances: Iterable[str]) -> None:
        """Note instances of the log: no `_Total` stands for them."""
        for instance in instances:
            self._own.add(self.computer(machine), instance)

    def computer(self, machine: str) -> str:
        return machine or self._computer

    def wants(self, object_name: str, counter: str) -> bool:
        """Can some instance of this counter be wanted?"""
        return not self._ese_only or may_feed(object_name, counter)

    def make(
        self, entry: Entry, instance: str, counter: str, kind: int, frequency: int
    ) -> Column | None:
        """The column of a counter of the type `kind`; None when it is not wanted or not shown."""
        object_name = entry.object
        fed, named = self._name(object_name, counter)
        feed = feed_of(object_name, instance, counter) if fed else None
        if self._own.replace(self.computer(entry.machine), instance, feed):
            feed = None
        if (feed is None and self._ese_only) or is_base(kind):
            return None
        formula = FORMULAS.get(kind)
        if formula is None:
            if len(self.unknown) < MOST_TOLD:
                self.unknown.setdefault(kind, f"{object_name}\\{counter}")
            return None
        computer = self.computer(entry.machine)
        wraps = has_32_bits(kind)
        shown: Kind = "level"
        if formula == Formula.RAW:
            shown = named
        elif kind in TOTALS and (feed is None or named != "level"):
            beside = feed is not None and (computer, feed.metric, feed.labels) in self._totals
            shown = "rate" if beside else "total"
        if feed is not None and (shown == "level") != (named == "level"):
            feed = None  # a counter of that name and of another type: it is not the one known here
        if shown == "total" and feed is not None and feed.wraps != wraps:
            feed = msgspec.structs.replace(feed, wraps=wraps)
        return Column(
            labels=(computer, object_name, counter, instance, shown, feed),
            formula=formula,
            frequency=frequency if frequency > 0 else math.nan,
            wraps=wraps,
        )

    def _name(self, object_name: str, counter: str) -> tuple[bool, Kind]:
        """A counter by its name: whether it may feed a series, and its kind."""
        known = self._named.get((object_name, counter))
        if known is None:
            known = may_feed(object_name, counter), kind_of(object_name, counter)
            self._named[object_name, counter] = known
        return known
