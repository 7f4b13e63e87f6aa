"""The space of trees against plain sets of pages, through aborts and crashes."""

import random
import struct
from pathlib import Path

import pytest

from esefiles.pages.checksum import diagnose
from esefiles.pages.layout import offset_of
from eselab.disk.disk import Disk, RealDisk, SimDisk
from eselab.storage import node
from eselab.storage.btree import BTree, TreeError
from eselab.storage.node import EMPTY, SPACE_TREE
from eselab.storage.store import Store, Transaction
from eselab.storage.tables.space import EXTENT, Space, Survey, extent_of, waiting_of
from tests.esefiles.scans.scanning import scan
from tests.eselab.page_sizes import SIZES
from tests.support.each import of_each

NAME = "a.edb"
AT_FIRST = 32
CHILD = 10


class Spaces:
    """The root of a database and one tree, each with its space."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.root = Space(store, 1, 1)
        self.child = Space(store, CHILD, 7, self.root)
        self.survey = Survey(store, lambda: [self.root, self.child])

    def free(self, transaction: Transaction | None = None) -> set[int]:
        """What is available to the tree."""
        return {number for pages in self.child.available(transaction) for number in pages}

    def verify(self) -> None:
        """Fails where owned, available and own pages do not go together."""
        owned = [number for pages in self.root.owned() for number in pages]
        assert owned == list(range(1, self.store.pages + 1))
        of_child = {number for pages in self.child.owned() for number in pages}
        of_root = {number for pages in self.root.available() for number in pages}
        assert not of_child & of_root
        assert self.free() < of_child
        assert not set(self.root.own_pages()) & (of_root | of_child)
        own = list(self.child.own_pages())
        assert len(own) == len(set(own))
        assert set(own) <= of_child - self.free()
        assert self.survey.free_pages() == len(of_root) + len(self.free())


def create(disk: Disk, *, page_size: int = 4096) -> Spaces:
    store = Store.create(
        disk, NAME, page_size=page_size, cache_pages=4, now=1e9, chance=random.Random(1)
    )
    with store.begin() as transaction:
        transaction.extend(AT_FIRST)
        root = Space.create(store, transaction, range(1, AT_FIRST + 1), 1)
        header = root.external_header(AT_FIRST)
        BTree.create(store, root, transaction, 1, root=1, header=header)
        pages = range(CHILD, CHILD + EXTENT)
        root.claim(transaction, pages)
        Space.create(store, transaction, pages, 7, root)
    return Spaces(store)


def work(
    spaces: Spaces, transaction: Transaction, before: frozenset[int], chance: random.Random
) -> frozenset[int]:
    """Random allocations and frees; the pages that are taken after them."""
    taken = set(before)
    for _ in range(chance.randrange(1, 30)):
        if taken and chance.random() < 0.48:
            number = chance.choice(sorted(taken))
            spaces.child.free(transaction, number)
            taken.discard(number)
            assert number in spaces.free(transaction)
            continue
        near = chance.choice([0, 0, chance.randrange(1, transaction.pages + 20)])
        free = sorted(spaces.free(transaction))
        number = spaces.child.allocate(transaction, near=near)
        if free:
            assert number == next((at for at in free if at > near), free[0])
        assert number not in taken
        taken.add(number)
        struct.pack_into("<I", transaction.page(number), 24, 7)
    assert not taken & spaces.free(transaction)
    return frozenset(taken)


@pytest.mark.slow
@pytest.mark.parametrize("page_size", SIZES)
@of_each(range(6))
def test_no_page_is_given_twice_or_lost_through_aborts_and_crashes(
    seed: int, page_size: int
) -> None:
    chance, disk = random.Random(seed), SimDisk(random.Random(seed))
    spaces = create(disk, page_size=page_size)
    spaces.store.flush()
    states, flushed = [frozenset[int]()], 0
    for _ in range(40):
        kind = chance.random()
        if kind < 0.75:
            transaction = spaces.store.begin()
            after = work(spaces, transaction, states[-1], chance)
            if chance.random() < 0.2:
                transaction.abort()
            else:
                transaction.commit()
                states.append(after)
        elif kind < 0.9:
            spaces.store.flush()
            flushed = len(states) - 1
        else:
            disk = disk.crash()
            spaces = Spaces(Store.open(disk, NAME, cache_pages=4, now=2e9))
            owned = {number for pages in spaces.child.owned() for number in pages}
            in_use = frozenset(owned - spaces.free() - {CHILD} - set(spaces.child.own_pages()))
            assert in_use in states[flushed:]
            states, flushed = [in_use], 0
        spaces.verify()


def scattered(spaces: Spaces, count: int) -> list[int]:
    """Have every second page of many available; those pages."""
    with spaces.store.begin() as transaction:
        taken = [spaces.child.allocate(transaction) for _ in range(2 * count)]
    freed = taken[::2]
    for number in freed:
        with spaces.store.begin() as transaction:
            spaces.child.free(transaction, number)
    return freed


def test_trees_of_extents_grow_and_shrink_by_pages_that_waited_for_it() -> None:
    spaces = create(SimDisk(random.Random(1)))
    freed = scattered(spaces, 1500)
    tree = CHILD + 2
    assert not node.flags(spaces.store.read(tree)) & node.LEAF
    assert any(waiting_of(spaces.store.read(tree)))
    spaces.verify()
    assert set(freed) <= spaces.free()
    with spaces.store.begin() as transaction:
        again = [spaces.child.allocate(transaction) for _ in freed]
    assert len(set(again)) == len(freed)
    spaces.verify()


def test_neighbours_are_one_extent_but_not_across_what_is_owned() -> None:
    spaces = create(SimDisk(random.Random(1)))
    with spaces.store.begin() as transaction:
        taken = [spaces.child.allocate(transaction) for _ in range(40)]
    with spaces.store.begin() as transaction:
        for number in taken:
            spaces.child.free(transaction, number)
    owned, available = list(spaces.child.owned()), list(spaces.child.available())
    assert [pages[-1] for pages in owned] == [pages[-1] for pages in available]
    assert [len(pages) for pages in owned] == [EXTENT] * len(owned)
    assert [len(pages) for pages in available] == [EXTENT - 3, *[EXTENT] * (len(owned) - 1)]


def test_the_trees_and_their_records_are_where_the_engine_has_them() -> None:
    spaces = create(SimDisk(random.Random(1)))
    with spaces.store.begin() as transaction:
        BTree.create(
            spaces.store, spaces.child, transaction, 7,
            root=CHILD, header=spaces.child.external_header(EXTENT),
        )  # fmt: skip
    # As of page 4 of a database of Windows: 14000000 01000000 01000000 05000000.
    assert struct.unpack("<4I", node.external_header(spaces.store.read(CHILD))) == (
        EXTENT, 1, 1, CHILD + 1,
    )  # fmt: skip
    owned = spaces.store.read(CHILD + 1)
    assert (node.flags(owned), node.object_id(owned)) == (0x2803 | SPACE_TREE, 7)
    # As of page 5: 0400 00000017 14000000.
    assert (node.key(owned, 0), node.value(owned, 0)) == (
        bytes([0, 0, 0, 25]),
        bytes([16, 0, 0, 0]),
    )
    available = spaces.store.read(CHILD + 2)
    assert extent_of(node.key(available, 0), node.value(available, 0)) == range(13, 26)


def test_pages_that_are_free_not_owned_or_not_there_are_not_freed() -> None:
    spaces = create(SimDisk(random.Random(1)))
    with spaces.store.begin() as transaction:
        number = spaces.child.allocate(transaction)
    before = spaces.free()
    transaction = spaces.store.begin()
    for wrong in (0, 1, CHILD - 1, number + 1, CHILD + EXTENT, AT_FIRST + 1, 1 << 31):
        with pytest.raises(ValueError, match=f"page {wrong} "):
            spaces.child.free(transaction, wrong)
    transaction.commit()
    assert spaces.free() == before
    with pytest.raises(IndexError):
        spaces.survey.is_free(AT_FIRST + 1)


def test_pages_that_are_not_available_are_not_claimed() -> None:
    spaces = create(SimDisk(random.Random(1)))
    transaction = spaces.store.begin()
    for pages in (range(1, 2), range(CHILD, CHILD + 1), range(CHILD - 1, CHILD + 1)):
        with pytest.raises(TreeError, match="are not available"):
            spaces.root.claim(transaction, pages)


@pytest.mark.parametrize("page_size", SIZES)
def test_a_freed_page_keeps_its_owner_and_garbage_and_is_marked_empty(page_size: int) -> None:
    spaces = create(SimDisk(random.Random(1)), page_size=page_size)
    with spaces.store.begin() as transaction:
        number = spaces.child.allocate(transaction)
        page = transaction.page(number)
        struct.pack_into("<IIIHHHHI", page, 16, 5, 6, 77, 100, 3, 50, 9, 0x2)
        page[200:204] = b"rest"
    with spaces.store.begin() as transaction:
        spaces.child.free(transaction, number)
    freed = spaces.store.read(number)
    room = page_size - node.header_size(page_size)
    assert struct.unpack_from("<IIIHHHHI", freed, 16) == (
        0, 0, 77, room, 0, 0, 0, 0x2 | EMPTY | 0x2000,
    )  # fmt: skip
    assert freed[200:204] == b"rest"


@pytest.mark.parametrize("page_size", SIZES)
def test_every_page_verifies_after_a_clean_shutdown(page_size: int, tmp_path: Path) -> None:
    spaces = create(RealDisk(tmp_path), page_size=page_size)
    freed = scattered(spaces, 100)
    pages, free = spaces.store.pages, spaces.free()
    spaces.store.close(2e9)
    data = (tmp_path / NAME).read_bytes()
    for number in range(1, pages + 1):
        page = data[offset_of(number, page_size) : offset_of(number + 1, page_size)]
        assert not any(page) or diagnose(page, number).fault is None
        assert not any(page) or bool(page[36] & EMPTY) == (number in free)
    assert set(freed) <= free
    done = scan(tmp_path / NAME)
    assert done.result.ended == "complete"
    assert (done.counts.pages_seen, done.counts.bad()) == (pages, 0)


def test_the_same_seed_gives_the_same_bytes() -> None:
    contents = []
    for _ in range(2):
        disk, chance = SimDisk(random.Random(3)), random.Random(3)
        spaces, now = create(disk), frozenset[int]()
        for _ in range(30):
            with spaces.store.begin() as transaction:
                now = work(spaces, transaction, now, chance)
        spaces.store.close(2e9)
        contents.append({name: disk.open(name).read(0, 1 << 24) for name in disk.names()})
    assert NAME in contents[0]
    assert contents[0] == contents[1]
