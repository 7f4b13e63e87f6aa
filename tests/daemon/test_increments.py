"""What is kept of a snapshot equals what is made anew, record by record and as time passes.

Histories are those of the oracle, which are hard to read, with counters beside them. After each
batch, and at the moments at which something falls due or has just fallen due, what was kept is
compared with what a start with nothing kept makes: lines of the exposition, judgements and figures.
"""

import math
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from esewatch.daemon import shown_groups
from esewatch.daemon.shown_groups import ShownGroups
from esewatch.fold.folder import Folder
from esewatch.model import Batch, Feed, Kind, Reading
from tests.oracle import product
from tests.oracle.generate import history
from tests.oracle.history import DAY, HOUR

SEEDS = 12
COUNTERS: tuple[tuple[str, Kind], ...] = (
    ("ese_defrag_pages_read_total", "rate"),
    ("ese_checkpoint_depth_logs", "level"),
)
BEFORE_AND_AFTER = (-0.002, 0.0, 0.002, 1.0)


def told(groups: ShownGroups) -> dict[object, object]:
    """All that is shown, without the time at which it was made."""
    return {
        group: (
            shown.lines,
            [msgspec.structs.replace(each, as_of=0.0) for each in shown.advice],
            shown.instances,
            shown.checks,
            {
                key: msgspec.structs.replace(each, advice=None)
                for key, each in shown.figures.items()
            },
        )
        for group, shown in groups.groups.items()
    }


class Watched(Folder):
    """A folder that compares after each batch, as of some moments."""

    rng: Random
    groups: ShownGroups
    last = 0.0
    """The moment of the last comparison."""

    def fold(self, name: str, batch: Batch, now: float = 0.0, *more: Any) -> None:
        super().fold(name, batch, now, *more)
        self.check(Watched.last or now)
        times: list[float] = [
            time for each in batch.records if (time := getattr(each, "time", 0.0))
        ]
        clock = max([*times, 0.0]) + self.rng.choice([0.0, 1.0, HOUR]) if times else now
        readings = [
            Reading(
                clock, computer, "o", feed.metric, instance, self.rng.uniform(0, 99), kind, feed
            )
            for (computer, instance) in self.state.instances
            for metric, kind in COUNTERS
            if self.rng.random() < 0.3
            for feed in [Feed(metric=metric, name=instance)]
        ]
        super().fold(name, Batch(records=[*readings], caught_up=batch.caught_up), now)
        self.compare(clock)

    def compare(self, clock: float) -> None:
        """At the moment of the last comparison, where time changes nothing; then as of this clock,
        which may be earlier, and of moments after it."""
        self.check(Watched.last or clock)
        self.check(clock)
        moments = [clock]
        for _ in range(2):
            until = min((each.until for each in self.groups.groups.values()), default=math.inf)
            if until < math.inf:
                moments += [until + each for each in BEFORE_AND_AFTER if until + each > moments[-1]]
            moments.append(max(moments) + self.rng.choice([1.0, HOUR, DAY, 9 * DAY]))
            for moment in moments[1:]:
                self.check(moment)
            moments = moments[-1:]

    def check(self, now: float) -> None:
        self.groups.show(self.state, self.settings, now, self.news())
        anew = ShownGroups()
        anew.show(self.state, self.settings, now)
        assert told(self.groups) == told(anew)
        Watched.last = now


@pytest.fixture(autouse=True)
def _exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is late: what moves with time is made anew each time, and all is judged."""
    monkeypatch.setattr(shown_groups, "OLD_SECONDS", 0.0)
    monkeypatch.setattr(shown_groups, "MOVING_SECONDS", 0.0)
    monkeypatch.setattr(shown_groups, "MOST", 10**6)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_is_kept_is_what_would_be_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    made = history(seed)
    Watched.rng, Watched.groups, Watched.last = Random(seed), ShownGroups(), 0.0
    monkeypatch.setattr(product, "Folder", Watched)
    product.told(made, product.settings_of(made, tmp_path))
    assert told(Watched.groups)
