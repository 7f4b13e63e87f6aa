"""Page zeroing: nothing that was deleted stays in the file, all else does, counts are exact."""

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from eselab.check.check import check
from eselab.disk.disk import SimDisk
from eselab.logs.reports import ScanSummary, ZeroingSummary
from eselab.maintenance.dbscan import TABLE as SCANS
from eselab.maintenance.dbscan import ScanState
from eselab.maintenance.zeroing import TABLE
from eselab.storage import node
from eselab.storage.pages import sealed
from eselab.storage.tables.system_tables import KEPT
from tests.eselab.databases import NAME, NOW, content, work
from tests.eselab.page_sizes import SIZES, each_page_size
from tests.eselab.zeroed import LONG, MARK, PAUSE, Bench, count_free, made, raw
from tests.support.each import of_each


def filled(page_size: int = 4096, *, records: int = 600, kept: int = 3) -> Bench:
    """With `records` marked records, of which every `kept`-th is there and defragmentation is
    done."""
    found = made(page_size)
    found.put(range(records))
    for first in range(1, kept):
        found.delete(range(first, records, kept))
    found.defragment()
    return found


@each_page_size
def test_after_a_pass_no_deleted_value_is_anywhere_in_the_file(page_size: int) -> None:
    found = filled(page_size)
    found.database.store.checkpoint()
    living = found.records()
    assert raw(found.disk).count(MARK) > len(living)
    found.run()
    assert raw(found.disk).count(MARK) == len(living)
    for value in living.values():
        assert value in raw(found.disk)
    assert found.records() == living
    assert check(found.disk.crash(), NAME).faults == []


def test_when_all_is_deleted_and_compacted_again_and_again_not_even_a_part_of_a_value_is_left() -> (
    None
):
    found = made(8192)
    chance = random.Random(4)
    for turn in range(8):
        numbers = range(turn, 2000, 8)
        found.put(numbers, size=chance.randrange(30, 400))
        found.delete(numbers[chance.randrange(5) :: chance.randrange(2, 9)])
        found.defragment()
    for at in sorted(found.records()):
        with found.database.store.begin() as transaction:
            found.tree().delete(transaction, at)
    found.run()
    assert MARK[:4] not in raw(found.disk)


def test_a_value_that_was_replaced_by_a_shorter_one_or_moved_by_a_split_is_gone_too() -> None:
    found = made()
    found.put(range(0, 300, 2), size=200)
    found.put(range(1, 300, 2), size=60)
    with found.database.store.begin() as transaction:
        for at in list(found.records()):
            found.tree().replace(transaction, at, b"short")
    assert found.completed().deleted == 0
    assert MARK not in raw(found.disk)
    assert set(found.records().values()) == {b"short"}


def test_what_is_filled_is_told_apart() -> None:
    found = made()
    found.put(range(20), size=100)
    found.delete(range(3, 20, 4))
    found.run()
    (leaf,) = found.tree().leaves()
    page = found.database.store.read(leaf)
    assert page.count(b"D" * (2 + 4 + 100)) == 4
    behind = node.header_size(4096) + node.first_free(page)
    assert set(page[behind : 4096 - 4 * (node.count(page) + 1)]) == {ord("Z")}


def test_a_free_page_is_filled_but_for_its_header() -> None:
    found = filled()
    once, _ = count_free(found.database)
    summary = found.completed()
    assert summary.unused == once > 5
    numbers = range(1, found.database.store.pages + 1)
    pages = [content(found.disk, at) for at in numbers if found.database.space.is_free(at)]
    assert sum(set(page[40:]) == {ord("U")} for page in pages) == once


@each_page_size
def test_the_counts_are_those_of_what_was_done(page_size: int) -> None:
    found = made(page_size)
    found.put(range(500))
    found.database.store.checkpoint()
    deleted = found.delete(range(0, 500, 5)) + found.delete(range(1, 500, 25))
    began = found.clock.now()
    told = found.run()
    _, blank = count_free(found.database)
    pages = found.database.store.pages
    trees = [tree for _, tree in found.database.tables()] + [*found.database.indexes.values()]
    steps = -(-pages * page_size // 327_680)
    scan = ScanSummary(
        started=began, ended=began + steps * PAUSE, seconds=steps * PAUSE, invocations=1,
        pages_seen=pages, bad_checksums=0, uninitialized=blank,
    )  # fmt: skip
    # In this database nothing was freed. The root of the file and trees of extents do not count.
    used = sum(len(list(tree.pages())) for tree in trees)
    with_space = len(trees) - len(KEPT)
    assert used == pages - blank - 3 - 2 * with_space
    summary = ZeroingSummary(scan=scan, unchanged=0, unused=0, used=used, deleted=deleted)
    assert told == [(718,), (722, summary)]
    assert found.counters.scan_pages_read == pages
    # Those of the trees have free space, so each was filled.
    assert found.counters.scan_pages_zeroed == summary.used


def test_records_that_went_with_their_page_are_not_counted_again() -> None:
    found = made()
    found.put(range(300))
    found.delete(range(300))
    summary = found.completed()
    assert (summary.deleted, summary.unused) == (0, count_free(found.database)[0])
    assert MARK not in raw(found.disk)


def test_the_second_pass_looks_at_what_the_first_one_changed_and_the_third_one_at_nothing() -> None:
    found = filled()
    first = found.completed()
    zeroed, log = found.counters.scan_pages_zeroed, found.database.store.log_position
    second = found.completed()
    assert (second.used, second.unused, second.deleted) == (first.used, 0, 0)
    # The page of the state alone: it changes all the time.
    assert found.counters.scan_pages_zeroed - zeroed <= 1
    assert found.database.store.log_position - log < 40_000
    third = found.completed()
    assert (third.used, third.unused, third.deleted) == (1, 0, 0)
    assert third.unchanged == second.used + first.unused - 1


def test_what_is_deleted_after_a_pass_is_zeroed_by_the_next() -> None:
    found = filled()
    for _ in range(3):
        found.run()
    deleted = found.delete(range(0, 600, 9))
    summary = found.completed()
    assert summary.deleted == deleted
    assert raw(found.disk).count(MARK) == len(found.records())


def test_what_is_deleted_behind_a_pass_on_pages_that_it_read_already_is_left_to_the_next() -> None:
    found = filled(records=3000)
    found.run(steps=1)
    found.delete(range(0, 30, 3))
    assert found.completed().deleted < 3000
    assert raw(found.disk).count(MARK) > len(found.records())
    assert found.completed().deleted == 10
    assert raw(found.disk).count(MARK) == len(found.records())


@pytest.mark.slow
def test_a_pass_goes_on_in_the_next_invocation_with_all_its_counts() -> None:
    whole, parts = filled(records=12_000), filled(records=12_000)
    deleted = [found.delete(range(0, 12_000, 60)) for found in (whole, parts)]
    expected = whole.completed()
    assert deleted == [expected.deleted] * 2
    assert parts.run(NOW + 2 * PAUSE) == [(718,), (726,)]
    parts.clock.begin(NOW + 86400)
    assert parts.run(NOW + 86400 + PAUSE) == [(720, NOW), (726,)]
    parts = parts.reopened()
    ((resumed, _), (_, summary)) = parts.run()
    assert resumed == 720
    assert isinstance(summary, ZeroingSummary)
    assert summary.scan.invocations == 3
    same = ("unchanged", "unused", "deleted")
    assert [getattr(summary, name) for name in same] == [getattr(expected, name) for name in same]
    assert summary.scan.pages_seen == expected.scan.pages_seen
    assert raw(parts.disk).count(MARK) == len(parts.records())


def test_a_pass_that_was_cut_off_behind_its_last_reading_is_completed_without_another() -> None:
    found = filled()
    found.run(steps=-(-found.database.store.pages // 80))
    assert found.state().page > found.database.store.pages
    found.database.store.flush()
    found = found.reopened(found.disk.crash())
    (resumed, (completed, _)) = found.run()
    assert resumed == (720, NOW)
    assert completed == 722
    assert found.counters.scan_pages_read == 0


def test_an_invocation_whose_time_is_over_does_nothing() -> None:
    found = filled()
    before = raw(found.disk)
    assert found.run(NOW) == []
    assert found.database.state(TABLE, ScanState) is None
    assert raw(found.disk) == before


def test_a_scan_that_does_not_zero_has_a_state_of_its_own() -> None:
    found = filled()
    found.run(steps=1)
    with found.database.store.begin() as transaction:
        found.database.set_state(transaction, SCANS, ScanState(completions=9, page=7))
    assert found.state().completions == 0
    assert found.completed().scan.invocations == 2


def damage(disk: SimDisk, number: int, change: Callable[[bytearray], None]) -> None:
    file, at = disk.open(NAME), (number + 1) * 4096
    page = bytearray(file.read(at, 4096))
    change(page)
    file.write(at, bytes(page))
    file.sync()


def flip(page: bytearray) -> None:
    page[200] ^= 1


def spoil(page: bytearray) -> None:
    page[200:203] = b"bad"


def leaves(found: Bench) -> list[int]:
    """Pages with marked values, deleted ones among them, that are on the disk alone."""
    wanted = [at for at in found.tree().leaves() if MARK in content(found.disk, at)]
    assert len(wanted) > 3
    return wanted


def test_a_bad_page_is_left_as_it_is_and_zeroed_once_it_is_good() -> None:
    found = filled(records=2000).reopened(cache_pages=4)
    bad = leaves(found)[2]
    file, at = found.disk.open(NAME), (bad + 1) * 4096
    good = file.read(at, 4096)
    damage(found.disk, bad, spoil)
    spoiled = file.read(at, 4096)
    told = found.run()
    assert told[:-1] == [(718,), ("checksum", bad)]
    summary = told[-1][1]
    assert isinstance(summary, ZeroingSummary)
    assert summary.scan.bad_checksums == 1
    assert file.read(at, 4096) == spoiled
    file.write(at, good)
    # It has the dbtime that it had before the pass, and is not taken for one that was zeroed.
    assert found.run()[0] == (718,)
    assert raw(found.disk).count(MARK) == len(found.records())
    assert check(found.disk.crash(), NAME).faults == []


def test_a_page_with_a_flipped_bit_is_corrected_and_zeroed() -> None:
    found = filled(records=2000).reopened(cache_pages=4)
    bad = leaves(found)[2]
    damage(found.disk, bad, flip)
    assert [event[0] for event in found.run()] == [718, "corrected", 722]
    assert raw(found.disk).count(MARK) == len(found.records())
    assert check(found.disk.crash(), NAME).bad == []


def test_a_bad_page_that_the_cache_has_whole_is_zeroed_there() -> None:
    found = filled(records=100)
    found.database.store.checkpoint()
    (bad, *_) = found.tree().leaves()
    damage(found.disk, bad, spoil)
    assert [event[0] for event in found.run()] == [718, "checksum", 722]
    assert raw(found.disk).count(MARK) == len(found.records())
    assert check(found.disk.crash(), NAME).bad == []


def test_a_page_that_verifies_and_makes_no_sense_is_not_touched() -> None:
    found = filled(records=2000).reopened(cache_pages=4)
    bad = leaves(found)[2]

    def break_tags(page: bytearray) -> None:
        page[34:36] = (9000).to_bytes(2, "little")
        page[:] = sealed(bytes(8) + bytes(page[8:]), bad)

    damage(found.disk, bad, break_tags)
    file, at = found.disk.open(NAME), (bad + 1) * 4096
    broken = file.read(at, 4096)
    found.run()
    assert file.read(at, 4096) == broken
    assert found.state().passed_over == 1


class Odd(msgspec.Struct):
    page: str = "one"


def test_a_state_that_is_none_is_told_as_a_corrupted_database() -> None:
    found = filled()
    with found.database.store.begin() as transaction:
        found.database.set_state(transaction, TABLE, Odd())
    assert found.run() == [(724, -1206, 0.0)]


def test_a_state_on_a_bad_page_is_told_and_what_was_to_be_zeroed_stays_as_it_is() -> None:
    found = filled(records=3000).reopened(cache_pages=4)
    found.run(steps=1)
    states = found.database.table("MSysState").root
    found = found.reopened(cache_pages=4)
    damage(found.disk, states, spoil)
    before = raw(found.disk)
    told = found.run()
    assert told[-1] == (724, -1018, 0.0)
    assert raw(found.disk)[3 * 4096 :] == before[3 * 4096 :]


def test_a_cache_smaller_than_one_reading_is_enough() -> None:
    found = filled(records=3000).reopened(cache_pages=4)
    living = found.records()
    reads = found.database.store.counts.pages_read
    summary = found.completed()
    # Once each, and those of the state, of the tree that it is in and of the catalog.
    seen = summary.scan.pages_seen
    assert found.database.store.counts.pages_read - reads < 1.3 * seen
    assert raw(found.disk).count(MARK) == len(living)
    assert found.reopened(cache_pages=4).records() == living


@pytest.mark.slow
@of_each(range(12))
def test_random_histories_with_passes_in_between_are_what_a_plain_dict_says(seed: int) -> None:
    chance = random.Random(seed)
    found = made(chance.choice(SIZES), seed=seed, cache_pages=chance.choice((4, 30)))
    model: dict[str, dict[bytes, bytes]] = {"mail": {}}
    for _ in range(chance.randrange(4, 9)):
        work(found.database, model, chance, chance.randrange(5, 40))
        if chance.random() < 0.5:
            found.defragment()
        found.run(found.clock.now() + chance.choice((0.1, PAUSE, LONG)))
        if chance.random() < 0.3:
            found = found.reopened(cache_pages=chance.choice((4, 30)))
        tables = dict(found.database.tables())
        assert {name: dict(tables[name].scan()) for name in model} == model
    found.run()
    checked = check(found.disk.crash(), NAME)
    assert (checked.faults, checked.bad) == ([], [])


def test_the_same_history_gives_the_same_bytes() -> None:
    files: list[Any] = []
    for _ in range(2):
        found = filled(records=2000)
        found.run()
        found.database.close(NOW)
        disk = found.disk
        files.append({name: disk.open(name).read(0, 1 << 30) for name in disk.names()})
    assert files[0] == files[1]
