"""The columns of a binary performance log: what feeds which series, and as what."""

from collections import Counter
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


class Taken(NamedTuple):
    """What was taken from a sample."""

    values: list[tuple[Column, int, int]]
    """Wanted columns with the two values that are stored of them."""
    unusable: Counter[int]
    """Status -> wanted values that have it."""
    utc: list[int]
    """The time in UTC, 100 ns since 1601, as counters with such a clock have it."""


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
            frequency=frequency,
            wraps=wraps,
            is_total=shown == "total",
        )
