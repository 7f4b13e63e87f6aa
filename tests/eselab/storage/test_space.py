"""The space map against a plain set of the pages in use, through aborts and crashes."""

import random
import struct
from pathlib import Path

import pytest

from eselab.disk.disk import Disk, RealDisk, SimDisk
from eselab.storage.node import EMPTY, SPACE_TREE
from eselab.storage.space import EXTENT, SpaceMap, pages_covered
from eselab.storage.store import Store, Transaction
from esewatch.ese.pages.checksum import diagnose
from esewatch.ese.pages.layout import offset_of
from tests.scan.scanning import scan
from tests.support.each import of_each

NAME = "a.edb"
SIZES = [4096, 8192, 16384, 32768]
State = tuple[int, frozenset[int]]
"""How many pages the database has, and which are in use."""


def create(
    disk: Disk, *, page_size: int = 4096, covered: int | None = None
) -> tuple[Store, SpaceMap]:
    store = Store.create(
        disk, NAME, page_size=page_size, cache_pages=4, now=1e9, chance=random.Random(1)
    )
    with store.begin() as transaction:
        space = SpaceMap.create(store, transaction, covered=covered)
    return store, space


def state(store: Store, space: SpaceMap) -> State:
    """What the map says, asked in every way, which must agree."""
    used = frozenset(space.used())
    free = {number for number in range(1, store.pages + 1) if space.is_free(number)}
    assert used | free == set(range(1, store.pages + 1))
    assert not used & free
    assert space.free_pages() == len(free)
    return store.pages, used


def expected(pages: int, used: set[int], near: int, covered: int) -> tuple[int, int]:
    """The page that an allocation takes, and how many pages the database has after it."""
    free = sorted(set(range(1, pages + 1)) - used)
    if not free:
        free = [n for n in range(pages + 1, pages + EXTENT + 1) if (n - 1) % covered]
        return free[0], pages + EXTENT
    return next((number for number in free if number > near), free[0]), pages


def work(space: SpaceMap, transaction: Transaction, before: State, chance: random.Random) -> State:
    """Random allocations and frees, each checked against the set; the state after them."""
    pages, used = before[0], set(before[1])
    for _ in range(chance.randrange(1, 12)):
        taken = sorted(number for number in used if not space.is_map(number))
        if taken and chance.random() < 0.45:
            number = chance.choice(taken)
            space.free(transaction, number)
            used.discard(number)
            continue
        near = chance.choice([0, 0, chance.randrange(1, pages + 20)])
        wanted, pages = expected(pages, used, near, space.covered)
        assert space.allocate(transaction, near=near) == wanted
        used |= {wanted, *(n for n in range(1, pages + 1) if space.is_map(n))}
        struct.pack_into("<I", transaction.page(wanted), 24, 7)
    assert space.free_pages(transaction) == pages - len(used)
    assert set(space.used(transaction)) == used
    return pages, frozenset(used)


@pytest.mark.parametrize("page_size", SIZES)
@of_each(range(8))
def test_the_map_says_what_a_plain_set_says_through_aborts_and_crashes(
    seed: int, page_size: int
) -> None:
    chance, disk = random.Random(seed), SimDisk(random.Random(seed))
    covered = chance.choice([2, 5, 16, 17, 40, None])
    store, space = create(disk, page_size=page_size, covered=covered)
    store.flush()
    states, flushed, crashes = [state(store, space)], 0, 0
    for _ in range(60):
        kind = chance.random()
        if kind < 0.75:
            transaction = store.begin()
            after = work(space, transaction, states[-1], chance)
            if chance.random() < 0.2:
                transaction.abort()
            else:
                transaction.commit()
                states.append(after)
            assert state(store, space) == states[-1]
        elif kind < 0.9:
            store.flush()
            flushed = len(states) - 1
        else:
            disk, crashes = disk.crash(), crashes + 1
            store = Store.open(disk, NAME, cache_pages=4, now=2e9)
            space = SpaceMap(store, covered=covered)
            found = state(store, space)
            assert found in states[flushed:], f"after {crashes} crashes"
            states, flushed = [found], 0
    assert len(states[-1][1]) > 1


def test_a_new_database_has_one_page_which_is_its_map() -> None:
    store, space = create(SimDisk(random.Random(1)))
    assert state(store, space) == (1, frozenset({1}))
    assert struct.unpack_from("<IIIHHHHI", store.read(1), 16) == (
        0, 0, 1, 0, 0, 4056, 0, SPACE_TREE | 0x2000,
    )  # fmt: skip
    with pytest.raises(ValueError, match="has 1 pages already"), store.begin() as transaction:
        SpaceMap.create(store, transaction)


@pytest.mark.parametrize("page_size", SIZES)
def test_the_second_full_map_page_stands_behind_the_last_page_of_the_first(page_size: int) -> None:
    store, space = create(SimDisk(random.Random(1)), page_size=page_size)
    covered = pages_covered(page_size)
    header = 40 if page_size < 16384 else 80
    with store.begin() as transaction:
        # All pages up to three before the border are there and in use.
        transaction.extend(covered - 4)
        page, last = transaction.page(1), covered - 3
        bits = ((1 << last) - 1).to_bytes(page_size - header, "little")
        page[header:] = bits
    with store.begin() as transaction:
        taken = [space.allocate(transaction) for _ in range(5)]
    assert taken == [covered - 2, covered - 1, covered, covered + 2, covered + 3]
    assert store.pages == covered - 3 + EXTENT
    assert space.is_map(covered + 1)
    assert not space.is_free(covered + 1)
    assert struct.unpack_from("<I", store.read(covered + 1), 24) == (1,)
    assert sum(1 for _ in space.used()) == covered + 3
    assert space.free_pages() == store.pages - covered - 3
    with store.begin() as transaction:
        space.free(transaction, covered)
        assert space.allocate(transaction, near=covered + 3) == covered + 4
        assert space.allocate(transaction, near=store.pages) == covered


def test_4_kib_pages_have_32448_to_a_map_page() -> None:
    assert pages_covered(4096) == 32_448


@pytest.mark.parametrize("covered", [0, 1, 32_449])
def test_a_map_page_cannot_cover_what_it_has_no_bits_for(covered: int) -> None:
    with pytest.raises(ValueError, match="covers 2 to 32448 pages"):
        create(SimDisk(random.Random(1)), covered=covered)


def test_a_free_page_a_map_page_and_one_beyond_the_end_are_not_freed() -> None:
    store, space = create(SimDisk(random.Random(1)), covered=8)
    with store.begin() as transaction:
        assert space.allocate(transaction) == 2
    before = state(store, space)
    transaction = store.begin()
    for number in (-1, 0, 1, 3, 9, 17, 18, 1 << 40):
        with pytest.raises(ValueError, match=f"page {number} "):
            space.free(transaction, number)
    transaction.commit()
    assert state(store, space) == before
    with pytest.raises(IndexError):
        space.is_free(18)


@pytest.mark.parametrize("page_size", SIZES)
def test_a_freed_page_keeps_its_owner_and_garbage_and_is_marked_empty(page_size: int) -> None:
    store, space = create(SimDisk(random.Random(1)), page_size=page_size)
    with store.begin() as transaction:
        number = space.allocate(transaction)
        page = transaction.page(number)
        struct.pack_into("<IIIHHHHI", page, 16, 5, 6, 77, 100, 3, 50, 9, 0x2)
        page[200:204] = b"rest"
    with store.begin() as transaction:
        space.free(transaction, number)
    freed = store.read(number)
    room = pages_covered(page_size) // 8
    assert struct.unpack_from("<IIIHHHHI", freed, 16) == (
        0, 0, 77, room, 0, 0, 0, 0x2 | EMPTY | 0x2000,
    )  # fmt: skip
    assert freed[200:204] == b"rest"


@pytest.mark.parametrize("page_size", SIZES)
def test_every_page_verifies_after_a_clean_shutdown(page_size: int, tmp_path: Path) -> None:
    store, space = create(RealDisk(tmp_path), page_size=page_size, covered=50)
    chance, now = random.Random(page_size), (1, frozenset({1}))
    for _ in range(60):
        with store.begin() as transaction:
            now = work(space, transaction, now, chance)
    with store.begin() as transaction:
        taken = [space.allocate(transaction) for _ in range(60)]
        freed = set(taken[::3])
        for number in freed:
            space.free(transaction, number)
    pages = store.pages
    store.close(2e9)

    data = (tmp_path / NAME).read_bytes()
    for number in (*freed, *now[1]):
        page = data[offset_of(number, page_size) : offset_of(number + 1, page_size)]
        assert diagnose(page, number).fault is None
        assert bool(page[36] & EMPTY) or number not in freed
    done = scan(tmp_path / NAME)
    assert done.result.ended == "complete"
    assert (done.counts.pages_seen, done.counts.bad()) == (pages, 0)


def test_the_same_seed_gives_the_same_bytes() -> None:
    contents = []
    for _ in range(2):
        disk, chance = SimDisk(random.Random(3)), random.Random(3)
        store, space = create(disk, covered=20)
        now: State = (1, frozenset({1}))
        for _ in range(30):
            with store.begin() as transaction:
                now = work(space, transaction, now, chance)
        store.close(2e9)
        contents.append({name: disk.open(name).read(0, 1 << 24) for name in disk.names()})
    assert NAME in contents[0]
    assert contents[0] == contents[1]
