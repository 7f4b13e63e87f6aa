"""Defragmentation of trees in the background: what it does, saves and tells."""

import random

import msgspec
import pytest

from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY
from eselab.logs.counters import Counters
from eselab.logs.reports_current import CurrentReports, TreeSummary
from eselab.maintenance.defrag import Defrag
from eselab.maintenance.tree_defrag import STATE, TreeDefrag, TreeState
from eselab.storage.database import Database
from tests.eselab.defragging import NAME, PAUSE, START, Bench, filled
from tests.eselab.maintenance.test_defrag import damage
from tests.eselab.trees import verified

LONG = START * 2


class Odd(msgspec.Struct):
    """No state of a round."""

    object_id: str = "one"


class Recorder(CurrentReports):
    """Keeps its events; others are not expected."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def tree_defragmented(self, summary: TreeSummary) -> None:
        self.told.append(summary)

    def defrag_failed(self, error: int) -> None:
        self.told.append(error)


class Life:
    """A database while it is open, and the work on it."""

    def __init__(self, found: Bench, now: float = START) -> None:
        self.found, self.clock = found, VirtualClock(now)
        self.reports, self.counters = Recorder(), Counters()
        self.work = TreeDefrag(found.database, self.reports, self.counters, self.clock, pause=PAUSE)

    def run(self, until: float = LONG, *, steps: int | None = None) -> list[object]:
        """An invocation in virtual time, or its first steps; what was logged."""
        for step, seconds in enumerate(self.work.invocation(lambda: until), 1):
            self.clock.begin(self.clock.now() + seconds)
            if step == steps:
                break
        told, self.reports.told = self.reports.told, []
        return told

    def crashed(self) -> "Life":
        """The next life, after a crash."""
        disk = self.found.disk.crash()
        database = Database.open(disk, NAME, cache_pages=50, now=self.clock.now())
        return Life(self.found._replace(disk=disk, database=database), self.clock.now())

    def state(self) -> TreeState:
        return self.found.database.state(STATE, TreeState) or TreeState()


def told_of(told: list[object]) -> TreeSummary:
    (summary,) = told
    assert isinstance(summary, TreeSummary)
    return summary


def test_a_round_merges_what_can_be_and_tells_of_the_tree() -> None:
    life = Life(filled(3000, kept=10))
    found = life.found
    records, free = found.records(), found.free()
    leaves = len(list(found.tree().leaves()))
    summary = told_of(life.run())
    left = len(list(found.tree().leaves()))
    assert summary.table == "mail"
    assert summary.pages_freed == found.free() - free >= leaves - left > 60
    assert summary.pages_visited == left + summary.pages_freed
    assert life.counters.defrag_pages_freed == summary.pages_freed
    assert life.counters.defrag_pages_dirtied > left
    assert life.counters.defrag_log_bytes > 0
    assert found.records() == records
    verified(found.tree(), found.database.store)


def test_a_tree_of_a_few_leaves_is_not_told() -> None:
    life = Life(filled(60, kept=1))
    assert len(list(life.found.tree().leaves())) < 8
    assert life.run() == []


def test_a_second_round_frees_nothing_more() -> None:
    life = Life(filled(3000, kept=10))
    life.run()
    summary = told_of(life.run())
    assert (summary.pages_freed, summary.pages_visited) == (
        0,
        len(list(life.found.tree().leaves())),
    )


def test_a_round_goes_on_after_a_stop_where_it_was() -> None:
    life = Life(filled(3000, kept=10))
    assert life.run(START + 20 * PAUSE) == []
    state = life.state()
    assert (state.is_open, state.begun, state.pages_visited > 15) == (True, START, True)
    assert life.work.due(DAY) == 0.0
    life.clock.begin(START + DAY)
    summary = told_of(life.run())
    # The catalog and its shadow came first.
    assert summary.started == state.started == START + 4 * PAUSE
    assert summary.pages_visited > state.pages_visited
    assert not life.state().is_open
    assert life.work.due(DAY) == START + DAY


def test_an_invocation_whose_time_is_over_does_nothing() -> None:
    life = Life(filled(300, kept=10))
    assert life.run(START) == []
    assert life.state() == TreeState()
    assert life.work.due(DAY) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_round_through_any_kills_counts_each_page_that_it_freed_once(seed: int) -> None:
    chance, life = random.Random(seed), Life(filled(3000, kept=10))
    found, freed = life.found, 0
    records, before = found.records(), found.free()
    told: list[object] = []
    for _ in range(6):
        told = life.run(steps=chance.randrange(1, 13))
        assert told == []
        life.found.database.store.flush()
        life = life.crashed()
    summary = told_of(life.run())
    freed = summary.pages_freed
    assert freed == life.found.free() - before > 60
    assert life.found.records() == records
    verified(life.found.tree(), life.found.database.store)


def test_a_bad_page_is_told_and_the_round_stays_open() -> None:
    life = Life(filled(3000, kept=10))
    found = life.found
    found.database.close(START)
    leaf = list(filled(3000, kept=10).tree().leaves())[5]
    damage(found, leaf)
    again = Life(found.reopened(found.disk))
    assert again.run() == [-1018]
    # Merges up to there were saved with their counts.
    assert again.state().pages_visited > 0


def test_a_state_that_is_none_is_told() -> None:
    life = Life(filled(300, kept=10))
    with life.found.database.store.begin() as transaction:
        life.found.database.set_state(transaction, STATE, Odd())
    assert life.work.due(DAY) == 0.0
    assert life.run() == [-1206]


def test_both_generations_leave_the_same_tree() -> None:
    life = Life(filled(3000, kept=10))
    old = filled(3000, kept=10)
    life.run()
    assert isinstance(old.defrag, Defrag)
    old.invocation()
    sizes = [len(list(found.tree().leaves())) for found in (life.found, old)]
    assert sizes[0] == sizes[1]
