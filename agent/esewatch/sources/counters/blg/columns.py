"""The columns of a binary performance log: what feeds which series, and as what."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

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

MOST_TOLD: Final = 100


class Values(NamedTuple):
    """Columns, the value of each, not a number where it has none, and the first one stored."""

    columns: Sequence[Column]
    values: Sequence[float]
    firsts: Sequence[int]


class Group:
    """Columns that are sampled together, with what was stored of them in the sample before.

    While they are, it stands here; it is put into the columns where they part.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self._before: tuple[Sequence[int], Sequence[int]] | None = None
        alike = {(column.formula, column.frequency) for column in columns}
        self._alike = alike.pop() if len(alike) == 1 else None
        """Formula and frequency where they are those of all, as in a record of all instances."""

    def values(self, firsts: Sequence[int], seconds: Sequence[int]) -> Values:
        """The values of this sample, which is the one before from then on."""
        before, self._before = self._before, (firsts, seconds)
        columns = self.columns
        if before is None:
            found = [c.value(f, s) for c, f, s in zip(columns, firsts, seconds, strict=True)]
            return Values(columns, found, firsts)
        if self._alike is not None:
            formula, frequency = self._alike
            if formula is Formula.RAW:
                return Values(columns, list(map(float, firsts)), firsts)
            if formula is Formula.RATE and _is_one(seconds) and _is_one(before[1]):
                passed = seconds[0] - before[1][0]
                if passed > 0:
                    return Values(columns, self._rates(firsts, before, passed / frequency), firsts)
        found = [
            column.between(first, second, earlier, then)
            for column, first, second, earlier, then in zip(
                columns, firsts, seconds, *before, strict=True
            )
        ]
        return Values(columns, found, firsts)

    def _rates(
        self, firsts: Sequence[int], before: tuple[Sequence[int], Sequence[int]], seconds: float
    ) -> list[float]:
        """Of columns with one clock: most counters of a log by far."""
        found = [
            (first - earlier) / seconds if first >= earlier else math.nan
            for first, earlier in zip(firsts, before[0], strict=True)
        ]
        if math.isnan(sum(found)):
            now, then = self._before or before, before[1][0]
            for number, value in enumerate(found):
                if math.isnan(value):
                    column, first = self.columns[number], firsts[number]
                    found[number] = column.between(first, now[1][number], before[0][number], then)
        return found

    def part(self) -> None:
        """The next sample may have others of these columns."""
        if self._before is not None:
            for column, first, second in zip(self.columns, *self._before, strict=True):
                column.first, column.second, column.known = first, second, True
            self._before = None


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
            computer=computer,
            object=object_name,
            instance=instance,
            counter=counter,
            kind=shown,
            feed=feed,
            formula=formula,
            frequency=frequency if frequency > 0 else math.nan,
            wraps=wraps,
            is_total=shown == "total",
        )
