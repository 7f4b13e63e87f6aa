"""Passes and invocations of online defragmentation: what they do, save, count and tell."""

import pytest

from esefiles.pages.layout import offset_of
from eselab.logs.reports import DefragSummary
from eselab.maintenance.defrag import TABLE
from eselab.storage import node
from eselab.storage.database import BAD_PAGE_LINK, DATABASE_CORRUPTED, STATES
from eselab.storage.tables.catalog import CATALOG_ROOT
from tests.eselab.databases import plain
from tests.eselab.defragging import NAME, PAUSE, START, Bench, at, filled, key, made
from tests.eselab.trees import verified

DAY = 86400.0
SMALL = 7
"""Leaves before `mail`: two of each catalog, one each of MSysObjids, MSysLocales, the states."""


def damage(found: Bench, number: int) -> None:
    """Change bytes of a page on disk; a second time that undoes it."""
    file = found.disk.open(NAME)
    at = offset_of(number, found.database.store.page_size) + 500
    file.write(at, bytes(byte ^ more for more, byte in enumerate(file.read(at, 8), 1)))


def damaged(found: Bench, number: int) -> Bench:
    """Opened again, with bytes of a page changed on disk meanwhile."""
    found.database.close(found.clock.now())
    damage(found, number)
    return found.reopened(found.disk)


def test_a_pass_in_one_invocation_is_begun_and_completed() -> None:
    found = filled(3000, kept=10)
    records, free = found.records(), found.free()
    leaves = len(list(found.tree().leaves()))
    steps = found.invocation()
    left = len(list(found.tree().leaves()))
    freed = found.free() - free
    assert freed >= leaves - left > 60
    ended = START + steps * PAUSE
    summary = DefragSummary(
        pages_freed=freed, started=START, ended=ended, seconds=ended - START,
        invocations=1, completions=1, first_started=START,
    )  # fmt: skip
    assert found.reports.told == [(700,), (701, summary)]
    assert found.counters.defrag_pages_freed == freed
    assert found.records() == records
    verified(found.tree(), found.database.store)


def test_the_next_pass_has_nothing_left_to_do_and_counts_on() -> None:
    found = filled(3000, kept=10)
    found.invocation()
    freed, second = found.state().total_freed, found.clock.now()
    free = found.free()
    found.invocation()
    (_, begun, (_, summary)) = found.reports.told[1:]
    assert begun == (700,)
    assert isinstance(summary, DefragSummary)
    assert (summary.pages_freed, summary.started, summary.first_started) == (0, second, START)
    assert (summary.invocations, summary.completions) == (1, 2)
    assert (found.free(), found.state().total_freed) == (free, freed)


def test_a_pass_goes_on_in_the_next_window_where_it_stopped() -> None:
    whole = filled(3000, kept=10)
    whole.invocation()
    found = filled(3000, kept=10)
    free, nights = found.free(), 0
    while not nights or found.state().is_open:
        found.clock.begin(START + nights * DAY)
        found.invocation(START + nights * DAY + 41.0)
        nights += 1
    assert nights > 2
    *told, (last, summary) = found.reports.told
    resumed = [(704,), (702, START)] * (nights - 1)
    assert [*told, (last,)] == [(700,), *resumed, (703,)]
    assert isinstance(summary, DefragSummary)
    assert (summary.started, summary.invocations, summary.completions) == (START, nights, 1)
    assert 41.0 * (nights - 1) < summary.seconds <= 41.0 * nights
    assert summary.ended == found.clock.now()
    assert summary.pages_freed == found.free() - free == whole.state().pages_freed
    assert found.state().pages_visited == whole.state().pages_visited
    assert found.records() == whole.records()


def test_an_invocation_ends_with_its_window_and_not_later() -> None:
    found = filled(3000, kept=10)
    found.invocation(START + 3 * PAUSE - 0.5)
    assert found.reports.ids() == [700, 704]
    assert found.clock.now() == START + 3 * PAUSE - 0.5
    assert found.state().pages_visited == 3


def test_the_end_of_the_window_may_come_while_it_runs() -> None:
    found = filled(3000, kept=10)
    ends = [START * 2]
    task = found.defrag.invocation(lambda: ends[0])
    assert next(task) == PAUSE
    ends[0] = 0.0
    assert list(task) == []
    assert found.reports.ids() == [700, 704]
    assert found.state().pages_visited == 1


def test_a_closed_window_lets_nothing_be_done() -> None:
    found = filled(3000, kept=10)
    free = found.free()
    assert found.invocation(START) == 0
    assert found.reports.ids() == [700, 704]
    assert (found.free(), found.state().pages_visited) == (free, 0)


def test_tables_of_one_leaf_cost_no_pause() -> None:
    found = made()
    with found.database.store.begin() as transaction:
        for number in range(20):
            found.database.create_table(transaction, plain(f"t{number}"))
    catalogs = [tree for name, tree in found.database.tables() if name.startswith("MSysObjects")]
    leaves = sum(len(list(tree.leaves())) for tree in catalogs)
    # The catalog and its shadow alone have several.
    assert found.invocation() == leaves > 2
    assert found.reports.ids() == [700, 701]
    assert found.state().pages_visited == leaves + len(found.database.tables()) - 2
    assert found.clock.now() == START + leaves * PAUSE


def test_every_table_is_visited() -> None:
    found = filled(1500, kept=10)
    with found.database.store.begin() as transaction:
        other = found.database.create_table(transaction, plain("other"))
    with found.database.store.begin() as transaction:
        for number in range(500):
            other.insert(transaction, key(number), bytes(100))
    with found.database.store.begin() as transaction:
        for number in range(500):
            if number % 10:
                other.delete(transaction, key(number))
    free = found.free()
    trees = [other, found.tree()]
    before = [len(list(tree.leaves())) for tree in trees]
    found.invocation()
    assert all(
        len(list(tree.leaves())) < count / 6 for tree, count in zip(trees, before, strict=True)
    )
    assert found.state().pages_freed == found.free() - free


def test_after_500_pages_the_position_is_saved_though_nothing_was_freed() -> None:
    found = filled(20_000)
    task = found.defrag.invocation(at(START * 2))
    for _ in range(499 - SMALL):
        next(task)
    assert found.state().pages_visited == 0
    for _ in range(20):
        next(task)
    assert found.state().pages_visited == 500
    assert found.state().key is not None


def test_what_is_told_is_durable() -> None:
    found = filled(3000, kept=10)
    found.invocation(START + 41.0)
    state, free = found.state(), found.free()
    again = found.reopened(found.disk.crash())
    assert (again.state(), again.free()) == (state, free)
    again.invocation()
    assert again.reports.told[0] == (702, START)
    again = again.reopened(again.disk.crash())
    assert not again.state().is_open
    assert again.state().completions == 1


def test_a_kill_costs_an_invocation_and_no_position_that_was_saved() -> None:
    found = filled(3000, kept=10)
    task = found.defrag.invocation(at(START * 2))
    for _ in range(10):
        next(task)
    found.database.store.flush()
    killed = found.state()
    assert killed.pages_freed > 0
    again = found.reopened(found.disk.crash())
    again.invocation(again.clock.now())
    assert again.reports.told == [(702, START), (704,)]
    state = again.state()
    assert (state.invocations, state.pages_freed) == (2, killed.pages_freed)
    assert (state.object_id, state.key) == (killed.object_id, killed.key)


def test_a_damaged_page_ends_the_invocation_and_the_next_one_tries_again() -> None:
    found = filled(3000, kept=10)
    victim = list(found.tree().leaves())[40]
    found = damaged(found, victim)
    free = found.free()
    found.invocation()
    assert found.reports.told == [(700,), (705, -1018)]
    state = found.state()
    assert state.is_open
    assert state.pages_freed == found.free() - free > 10
    found = damaged(found, victim)
    found.invocation()
    assert found.reports.ids() == [702, 703]
    assert found.state().pages_freed == found.free() - free > state.pages_freed
    verified(found.tree(), found.database.store)


def test_a_broken_link_is_told_and_nothing_is_merged_over_it() -> None:
    found = filled(3000, kept=10)
    victim, store = list(found.tree().leaves())[40], found.database.store
    with store.begin() as transaction:
        node.set_previous(transaction.page(victim), 1)
    found.invocation()
    assert found.reports.told == [(700,), (705, BAD_PAGE_LINK)]
    state = found.state()
    found.invocation()
    assert found.reports.told[2:] == [(702, START), (705, BAD_PAGE_LINK)]
    assert found.state().key == state.key
    assert len(found.records()) == 300


def test_after_an_error_the_position_is_saved_though_nothing_was_freed() -> None:
    found = filled(3000)
    victim, store = list(found.tree().leaves())[40], found.database.store
    with store.begin() as transaction:
        node.set_previous(transaction.page(victim), 1)
    found.invocation()
    assert found.reports.told == [(700,), (705, BAD_PAGE_LINK)]
    again = found.reopened(found.disk.crash())
    assert again.state().pages_visited == SMALL + 39
    assert again.state().is_open


def test_a_state_that_cannot_be_read_is_told_and_kept() -> None:
    found = filled(1000, kept=10)
    found.invocation(START + 10)
    (table,) = (tree for name, tree in found.database.tables() if name == "MSysState")
    found = damaged(found, table.root)
    file = found.disk.open(NAME)
    at = offset_of(table.root, found.database.store.page_size)
    before = file.read(at, found.database.store.page_size)
    found.invocation()
    assert found.reports.told == [(705, -1018)]
    assert file.read(at, len(before)) == before


def test_a_record_of_its_own_that_is_no_state_is_told() -> None:
    found = filled(1000, kept=10)
    (table,) = (tree for name, tree in found.database.tables() if name == "MSysState")
    with found.database.store.begin() as transaction:
        table.insert(transaction, STATES.key(TABLE.encode()), b"\x93nonsense")
    found.invocation()
    assert found.reports.told == [(705, DATABASE_CORRUPTED)]


def test_a_damaged_catalog_is_told_with_the_error_of_the_page() -> None:
    found = filled(1000, kept=10).reopened(cache_pages=2)
    found.database.store.checkpoint()
    assert len(found.records()) == 100
    damage(found, CATALOG_ROOT)
    found.invocation()
    assert found.reports.told == [(700,), (705, -1018)]


def test_counters_are_of_its_own_work_alone() -> None:
    found = filled(3000, kept=10).reopened(cache_pages=8)
    store = found.database.store
    task = found.defrag.invocation(at(START * 2))
    own = [0, 0, 0]
    for number in range(10_000):
        before, position = store.counts, store.log_position
        if next(task, None) is None:
            break
        after = store.counts
        own[0] += after.pages_read - before.pages_read
        own[1] += after.pages_dirtied - before.pages_dirtied
        own[2] += store.log_position - position
        with store.begin() as transaction:
            found.tree().replace(transaction, key(number % 300 * 10), bytes([number % 256] * 90))
        store.checkpoint()
    counted = found.counters
    reads, dirtied, log = own
    assert reads
    assert counted.defrag_pages_read - reads in range(5)
    assert counted.defrag_pages_dirtied - dirtied in range(5)
    assert 0 <= counted.defrag_log_bytes - log < 5000
    assert counted.defrag_pages_dirtied > counted.defrag_pages_freed > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kept", "low", "high"),
    [(10, 0.5, 5), (3, 1, 8), (2, 100, None)],
)
def test_pages_read_for_a_page_freed_tell_how_much_is_left_to_do(
    kept: int, low: float, high: float | None
) -> None:
    found = filled(20_000, kept=kept).reopened(cache_pages=20)
    found.invocation()
    read, freed = found.counters.defrag_pages_read, found.counters.defrag_pages_freed
    ratio = read / freed if freed else float("inf")
    assert read >= len(list(found.tree().leaves()))
    assert low < ratio
    assert high is None or ratio < high
