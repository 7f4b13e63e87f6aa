"""The columns of a binary performance log: what feeds which series, and as what."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby, repeat
from operator import itemgetter, sub, truediv
from typing import Any, Final, NamedTuple

import msgspec

from esewatch.ese.counters.counter_feeds import feed_of, kind_of, may_feed
from esewatch.model import Kind
from esewatch.sources.counters.blg.catalogue import Entry
from esewatch.sources.counters.blg.counter_types import (
    FORMULAS,
    TOTALS,
    Column,
    Formula,
    has_32_bits,
    is_base,
)
from esewatch.sources.counters.counter_row import Parts, parts_of

MOST_TOLD: Final = 100

_Pair = tuple[Sequence[int], Sequence[int]]
"""The first and the second stored numbers of a sample."""


class Values(NamedTuple):
    """Of columns: labels, value, not a number where it has none, and the first one stored."""

    labels: Parts
    values: Sequence[float]
    firsts: Sequence[int]


class _Part(NamedTuple):
    """Neighbours in a group that have one formula and one frequency."""

    formula: Formula
    frequency: float
    begin: int
    end: int


def alike(column: Column) -> tuple[Formula, float]:
    """The sort key of columns: neighbours with one formula and one frequency cost least."""
    return column.formula, column.frequency


class Group:
    """Columns that are sampled together, with what was stored of them in the sample before.

    While they are, it stands here; it is put into the columns where they part.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self._labels = parts_of(column.labels for column in columns)
        self._before: tuple[Sequence[int], Sequence[int]] | None = None
        self._parts: list[_Part] = []
        begin = 0
        for (formula, frequency), neighbours in groupby(columns, alike):
            end = begin + len(list(neighbours))
            self._parts.append(_Part(formula, frequency, begin, end))
            begin = end

    def values(self, firsts: Sequence[int], seconds: Sequence[int]) -> Values:
        """The values of this sample, which is the one before from then on."""
        before, self._before = self._before, (firsts, seconds)
        if before is None:
            trios = zip(self.columns, firsts, seconds, strict=True)
            found = [column.value(first, second) for column, first, second in trios]
            return Values(self._labels, found, firsts)
        found = []
        for part in self._parts:
            own = slice(part.begin, part.end)
            found += self._cooked(
                part, (firsts[own], seconds[own]), (before[0][own], before[1][own])
            )
        return Values(self._labels, found, firsts)

    def _cooked(self, part: _Part, now: _Pair, before: _Pair) -> list[float]:
        if part.formula is Formula.RAW:
            return list(map(float, now[0]))
        if part.formula is Formula.RATE and _is_one(now[1]) and _is_one(before[1]):
            passed = now[1][0] - before[1][0]
            if passed > 0:
                return self._rates(part, now, before, passed / part.frequency)
        return self._each(part, now, before, range(part.end - part.begin))

    def _rates(self, part: _Part, now: _Pair, before: _Pair, seconds: float) -> list[float]:
        """Of columns with one clock: most counters of a log by far."""
        grown = list(map(sub, now[0], before[0]))
        found = list(map(truediv, grown, repeat(seconds)))
        if min(grown) < 0:
            fell = [number for number, each in enumerate(grown) if each < 0]
            for number, value in zip(fell, self._each(part, now, before, fell), strict=True):
                found[number] = value
        return found

    def _each(self, part: _Part, now: _Pair, before: _Pair, numbers: Sequence[int]) -> list[float]:
        """Of some columns of a part, one by one."""
        (firsts, seconds), (earlier, then) = now, before
        columns = self.columns
        return [
            columns[part.begin + number].between(
                firsts[number], seconds[number], earlier[number], then[number]
            )
            for number in numbers
        ]

    def part(self) -> None:
        """The next sample may have others of these columns."""
        if self._before is not None:
            for column, first, second in zip(self.columns, *self._before, strict=True):
                column.first, column.second, column.known = first, second, True
            self._before = None


def picker(numbers: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Takes the items of these numbers, at least one, out of a sequence."""
    if len(numbers) == 1:
        return lambda values: [values[numbers[0]]]
    return itemgetter(*numbers)


def _is_one(numbers: Sequence[int]) -> bool:
    return numbers.count(numbers[0]) == len(numbers)


class Taken(NamedTuple):
    """What was taken from a sample."""

    groups: list[Values]
    """Of the wanted columns."""
    unusable: Counter[int]
    """Status -> wanted values that have it."""
    utc: list[int]
    """The time in UTC, 100 ns since 1601, as counters with such a clock have it."""
    broken: list[str]
    """What of its records cannot be read."""


class Columns:
    """Makes the columns of one log.

    `ese_only`: only those that feed a metric. Where a running total and its rate are both there
    (`add_totals`), the total feeds the series and the rate stays one.
    """

    def __init__(self, computer: str, *, ese_only: bool) -> None:
        self._computer = computer
        self._ese_only = ese_only
        self._totals: set[tuple[str, str, tuple[str, ...]]] = set()
        self.unknown: dict[int, str] = {}
        """Counter types that have no formula here, each with a counter that has it."""

    def add_total(self, machine: str, object_name: str, counter: str) -> None:
        """Note a counter of the log: a rate beside the total of its series stays a rate."""
        if kind_of(object_name, counter) == "total":
            feed = feed_of(object_name, "process/instance", counter)
            if feed is not None:
                self._totals.add((self.computer(machine), feed.metric, feed.labels))

    def computer(self, machine: str) -> str:
        """The computer of an entry."""
        return machine or self._computer

    def wants(self, object_name: str, counter: str) -> bool:
        """Can some instance of this counter be wanted?"""
        return not self._ese_only or may_feed(object_name, counter)

    def make(
        self, entry: Entry, instance: str, counter: str, kind: int, frequency: int
    ) -> Column | None:
        """The column of a counter of the type `kind`; None when it is not wanted or not shown."""
        object_name = entry.object
        feed = feed_of(object_name, instance, counter)
        if (feed is None and self._ese_only) or is_base(kind):
            return None
        formula = FORMULAS.get(kind)
        if formula is None:
            if len(self.unknown) < MOST_TOLD:
                self.unknown.setdefault(kind, f"{object_name}\\{counter}")
            return None
        computer = self.computer(entry.machine)
        wraps = has_32_bits(kind)
        named = kind_of(object_name, counter)
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
