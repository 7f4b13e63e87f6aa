"""Random churn, invocations cut at any step, and crashes: the space map and OLD always agree."""

import random
from typing import NamedTuple

import pytest

from eselab.maintenance.schedule import Task
from tests.eselab.defragging import START, Bench, made
from tests.eselab.trees import Model, verified
from tests.support.campaign import some
from tests.support.each import of_each

DAY = 86400.0


class Moment(NamedTuple):
    """What a crash may lead back to: all of it is of one committed transaction."""

    records: Model
    free: int
    freed: int
    """Pages that defragmentation freed in the life of the database."""


class History:
    """One database, a plain dict beside it, and an invocation that may be on."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        page_size = self.chance.choice([4096, 4096, 8192, 16384, 32768])
        self.bench = made(
            page_size=page_size, cache_pages=self.chance.choice([4, 20, 200]), seed=seed
        )
        self.largest = page_size // 10
        self.moments = [Moment({}, self.bench.free(), 0)]
        self.task: Task | None = None
        self.until = START * 2
        self.crashes = self.cuts = self.passes = 0
        self.freed_before = 0
        """Pages freed when this life of the database began."""

    def churn(self) -> None:
        """One transaction of inserts and deletes; free pages that it took or gave are its own."""
        bench, chance, last = self.bench, self.chance, self.moments[-1]
        model, tree = dict(last.records), bench.tree()
        grows = chance.random() < (0.7 if len(model) < 300 else 0.3)
        with bench.database.store.begin() as transaction:
            for _ in range(chance.randrange(1, 16)):
                if grows or not model:
                    key = chance.randbytes(chance.choice([2, 3, 60, 200]))
                    if key not in model:
                        model[key] = chance.randbytes(chance.randrange(self.largest))
                        tree.insert(transaction, key, model[key])
                else:
                    key = chance.choice(list(model))
                    del model[key]
                    tree.delete(transaction, key)
        self.moments.append(Moment(model, bench.free(), last.freed))

    def step(self) -> None:
        """One step of the invocation that is on, else of the next one."""
        bench, last = self.bench, self.moments[-1]
        self.task = self.task or bench.defrag.invocation(lambda: self.until)
        seconds = next(self.task, None)
        freed = bench.state().total_freed
        moment = Moment(last.records, bench.free(), freed)
        assert moment.free - last.free == freed - last.freed >= 0
        assert bench.counters.defrag_pages_freed == freed - self.freed_before
        self.moments.append(moment)
        told = bench.reports.ids()
        if seconds is None:
            assert told[-1] in (701, 703)
            self.passes += 1
            self.task = None
            self.durable()
        else:
            assert told in ([], [700], [702])
            bench.clock.begin(bench.clock.now() + seconds)

    def cut(self) -> None:
        """The window closes."""
        if self.task is None:
            return
        self.until = 0.0
        assert list(self.task) == []
        # 701 and 703: behind the last leaf nothing is left to do.
        assert self.bench.reports.ids() in ([704], [701], [703])
        self.task, self.until = None, START * 2
        self.bench.clock.begin(self.bench.clock.now() + DAY)
        self.cuts += 1
        self.durable()

    def crash(self) -> None:
        self.task = None
        state = self.bench.state()
        self.bench = self.bench.reopened(
            self.bench.disk.crash(), cache_pages=self.chance.choice([4, 50])
        )
        after = self.bench.state()
        found = Moment(self.bench.records(), self.bench.free(), after.total_freed)
        assert found in self.moments
        assert after.completions <= state.completions
        self.moments, self.freed_before = [found], found.freed
        self.crashes += 1

    def durable(self) -> None:
        """A flush: nothing before this moment comes back."""
        self.moments = self.moments[-1:]

    def run(self, steps: int) -> None:
        for _ in range(steps):
            kind = self.chance.random()
            if kind < 0.35:
                self.churn()
            elif kind < 0.9:
                self.step()
            elif kind < 0.94:
                self.cut()
            elif kind < 0.97:
                self.bench.database.store.checkpoint(self.chance.choice([0, 20_000]))
                self.durable()
            else:
                self.crash()


def expect_order(bench: Bench, records: Model) -> None:
    """All records are there, in order, and the pages in use are those of tables and indexes."""
    assert list(bench.tree().scan()) == sorted(records.items())
    store, used = bench.database.store, {1}
    for tree in (*dict(bench.database.tables()).values(), *bench.database.indexes.values()):
        used |= verified(tree, store)
    assert used == set(bench.database.space.used())


@pytest.mark.slow
@of_each(range(16))
def test_the_space_map_grows_by_what_was_freed_through_cuts_and_crashes(seed: int) -> None:
    history = History(seed)
    for _ in range(4):
        history.run(120)
        expect_order(history.bench, history.moments[-1].records)
    assert history.crashes > 3
    assert history.cuts > 3
    assert history.moments[-1].freed > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_pass_after_all_churn_leaves_nothing_for_the_next(seed: int) -> None:
    history = History(seed + 100)
    history.run(300)
    history.cut()
    # The pass that is open may have left places behind it sparse.
    history.bench.invocation()
    history.bench.invocation()
    state, free = history.bench.state(), history.bench.free()
    history.bench.invocation()
    assert history.bench.state().total_freed == state.total_freed
    assert history.bench.state().completions == state.completions + 1
    assert history.bench.free() == free
    expect_order(history.bench, history.moments[-1].records)


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(1000, 1100), 15))
def test_a_hundred_more_histories_agree(seed: int) -> None:
    history = History(seed)
    history.run(600)
    expect_order(history.bench, history.moments[-1].records)
    assert history.crashes
