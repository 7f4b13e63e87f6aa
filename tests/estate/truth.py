"""What must be reported: written beside what happens, from semantics.md and from nothing else."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Key = tuple[str, str]
"""Computer and database, as labels."""

WORST_FIRST = ("bad_pages", "writes_at_risk", "blind", "unverified", "look", "unproven", "ok")
"""Section 5a: "Verdicts, worst first"."""


BY_TIME = 300.0


class Told(NamedTuple):
    """One thing that must be reported of a database from `begin` to `end`."""

    kind: str
    """Of the incident."""
    key: Key
    finding: str
    """Empty: the verdict alone."""
    verdict: str
    """At least this one, while it stands."""
    begin: float
    end: float = math.inf
    loose_begin: float = 0.0
    """Seconds before `begin` in which it may be reported already."""
    loose_end: float = 0.0
    """Seconds after `end` in which it may be reported still."""
    by_time: bool = False
    """No record brings it or ends it: it has five minutes."""

    @property
    def due(self) -> float:
        """From then on it must be reported."""
        return self.begin + (BY_TIME if self.by_time else 0.0)

    @property
    def over(self) -> float:
        """From then on it must not be reported any more."""
        return self.end + self.loose_end + (BY_TIME if self.by_time else 0.0)

    def must(self, now: float) -> bool:
        return self.due <= now < self.end

    def may(self, now: float) -> bool:
        return self.begin - self.loose_begin <= now < self.over


class Truth(NamedTuple):
    """Of a whole month."""

    told: Sequence[Told]
    verified: dict[Key, float]
    """When every page of a database was first proven good; those that nothing proves are absent."""
    known: dict[Key, float]
    """When the first record of each database comes."""

    def of(self, key: Key) -> list[Told]:
        return [each for each in self.told if each.key == key]

    def verdicts(self, key: Key, now: float) -> set[str]:
        """Those that may be given: the worst of what must be reported, or one of what may be."""
        told = self.of(key)
        least = worst([self.base(key, now), *(each.verdict for each in told if each.must(now))])
        may = [each.verdict for each in told if each.may(now)]
        return {least, *(each for each in may if worst([least, each]) == each)}

    def base(self, key: Key, now: float) -> str:
        """Of a database that nothing is wrong with."""
        return "ok" if self.verified.get(key, math.inf) <= now else "unproven"


def worst(verdicts: Iterable[str]) -> str:
    return min(verdicts, key=WORST_FIRST.index)
