"""A tree against a plain dict, over random histories with aborts and crashes."""

import random
import struct

import pytest

from eselab.storage import node
from eselab.storage.btree import BTree, TreeError
from eselab.storage.store import Store
from tests.eselab.page_sizes import SIZES, each_page_size
from tests.eselab.trees import (
    NAME,
    Model,
    Pages,
    change,
    create,
    planted,
    some_key,
    verified,
)
from tests.support.each import of_each


def ranges_hold(tree: BTree, model: Model, chance: random.Random) -> None:
    items = sorted(model.items())
    assert list(tree.scan()) == items
    for _ in range(5):
        start, end = sorted([some_key(chance, model), some_key(chance, model)])
        assert list(tree.scan(start)) == [item for item in items if item[0] >= start]
        assert list(tree.scan(start, end)) == [item for item in items if start <= item[0] < end]
        assert tree.get(start) == model.get(start)


@pytest.mark.slow
@each_page_size
@of_each(range(6))
def test_a_random_history_is_that_of_a_dict(seed: int, page_size: int) -> None:
    chance = random.Random(seed)
    _, store = create(page_size, seed=seed)
    tree, model, most = planted(store), Model(), 0
    for growth in (0.8, 0.3, 0.7, 0.0):
        for step in range(60):
            model = change(tree, store, model, chance, growth)
            most = max(most, store.pages)
            if step % 20 == 19:
                assert isinstance(tree._space, Pages)
                used = verified(tree, store)
                assert used | set(tree._space.freed) == set(range(1, store.pages + 1))
        ranges_hold(tree, model, chance)
    assert most > 5


@pytest.mark.slow
@of_each(range(20))
def test_after_a_crash_the_tree_is_that_of_whole_transactions(seed: int) -> None:
    chance = random.Random(seed)
    disk, store = create(chance.choice(SIZES), seed=seed)
    tree = planted(store)
    store.flush()
    states, flushed, crashes = [Model()], 0, 0
    for _ in range(120):
        kind = chance.random()
        if kind < 0.8:
            growth = chance.choice([0.8, 0.8, 0.2])
            states.append(change(tree, store, states[-1], chance, growth))
        elif kind < 0.95:
            store.checkpoint(chance.choice([0, 20_000]))
            flushed = len(states) - 1
        else:
            disk = disk.crash()
            store = Store.open(disk, NAME, cache_pages=20, now=2e9)
            crashes += 1
            pages = Pages()
            tree = BTree(store, pages, tree.root, tree.object_id)
            found, used = dict(tree.scan()), verified(tree, store)
            assert found in states[flushed:]
            pages.freed = sorted(set(range(1, store.pages + 1)) - used)
            states, flushed = [found], 0
    assert crashes
    assert dict(tree.scan()) == states[-1]
    verified(tree, store)


@each_page_size
def test_sequential_inserts_leave_full_pages(page_size: int) -> None:
    _, store = create(page_size)
    tree = planted(store)
    with store.begin() as transaction:
        for number in range(3000):
            tree.insert(transaction, struct.pack(">I", number), bytes(100))
    verified(tree, store)
    *full, _ = tree.leaves()
    assert full
    assert all(node.free_bytes(store.read(number)) < 4 + 2 + 4 + 100 for number in full)


def test_a_full_leaf_within_the_tree_is_halved() -> None:
    _, store = create()
    tree = planted(store)
    with store.begin() as transaction:
        for number in range(200):
            tree.insert(transaction, struct.pack(">I", number), bytes(100))
    first, behind, *_ = tree.leaves()
    last = node.key(store.read(first), node.count(store.read(first)) - 1)
    with store.begin() as transaction:
        tree.insert(transaction, last + b"a", bytes(100))
    verified(tree, store)
    halves = list(tree.leaves())
    assert (halves[0], halves[2]) == (first, behind)
    assert all(1500 < node.free_bytes(store.read(number)) < 2500 for number in halves[:2])


def test_a_tree_grows_deep_and_is_deleted_to_an_empty_root() -> None:
    _, store = create()
    tree, chance = planted(store), random.Random(1)
    keys = [number.to_bytes(250, "big") for number in range(1500)]
    for order in ("forwards", "backwards", "random"):
        with store.begin() as transaction:
            for key in keys:
                tree.insert(transaction, key, b"v")
        used = verified(tree, store)
        assert len(used) > 100
        assert not node.flags(store.read(tree.root)) & node.PARENT_OF_LEAF
        assert [key for key, _ in tree.scan()] == sorted(keys)
        going = {"forwards": sorted(keys), "backwards": sorted(keys)[::-1]}.get(order, keys)
        if order == "random":
            chance.shuffle(going)
        with store.begin() as transaction:
            for key in going[:-1]:
                tree.delete(transaction, key)
        verified(tree, store)
        assert [key for key, _ in tree.scan()] == going[-1:]
        with store.begin() as transaction:
            tree.delete(transaction, going[-1])
        assert verified(tree, store) == {tree.root}
        assert isinstance(tree._space, Pages)
        assert {tree.root, *tree._space.freed} == set(range(1, store.pages + 1))
        assert node.flags(store.read(tree.root)) & 7 == node.ROOT | node.LEAF
        chance.shuffle(keys)


def test_deletes_leave_partly_filled_leaves() -> None:
    _, store = create()
    tree = planted(store)
    with store.begin() as transaction:
        for number in range(1000):
            tree.insert(transaction, struct.pack(">I", number), bytes(100))
    leaves = list(tree.leaves())
    with store.begin() as transaction:
        for number in range(1000):
            if number % 10:
                tree.delete(transaction, struct.pack(">I", number))
    verified(tree, store)
    assert list(tree.leaves()) == leaves
    assert len(list(tree.scan())) == 100


def test_a_scan_goes_on_behind_its_place_when_the_tree_changes() -> None:
    _, store = create()
    tree = planted(store)
    keys = [struct.pack(">I", number) for number in range(500)]
    with store.begin() as transaction:
        for key in keys:
            tree.insert(transaction, key, bytes(100))
    scan = tree.scan()
    first = next(scan)[0]
    with store.begin() as transaction:
        for key in keys[1:400]:
            tree.delete(transaction, key)
    seen = [first, *(key for key, _ in scan)]
    assert seen == sorted(set(seen))
    assert set(seen) >= set(keys[400:])
    assert len(seen) < 200


def test_two_trees_share_a_file() -> None:
    _, store = create()
    pages, chance = Pages(), random.Random(2)
    with store.begin() as transaction:
        trees = [BTree.create(store, pages, transaction, number) for number in (7, 8)]
    models = [Model(), Model()]
    for _ in range(200):
        which = chance.randrange(2)
        models[which] = change(trees[which], store, models[which], chance, 0.6)
    assert [dict(tree.scan()) for tree in trees] == models
    assert not verified(trees[0], store) & verified(trees[1], store)


def test_what_cannot_be_done_is_refused_and_changes_nothing() -> None:
    _, store = create()
    tree = planted(store)
    with store.begin() as transaction:
        tree.insert(transaction, b"k" * 255, bytes(1024))
        before = transaction.read(tree.root)
        with pytest.raises(KeyError):
            tree.insert(transaction, b"k" * 255, b"")
        with pytest.raises(KeyError):
            tree.replace(transaction, b"other", b"")
        with pytest.raises(KeyError):
            tree.delete(transaction, b"other")
        for key in (b"", bytes(256)):
            with pytest.raises(ValueError, match="a key of"):
                tree.insert(transaction, key, b"")
        with pytest.raises(ValueError, match="a value of 1025 bytes"):
            tree.replace(transaction, b"k" * 255, bytes(1025))
        assert transaction.read(tree.root) == before
    assert tree.get(b"other") is None
    assert tree.get(b"k" * 255) == bytes(1024)


def branched() -> tuple[Store, BTree]:
    """A root with a few leaves."""
    _, store = create()
    tree = planted(store)
    with store.begin() as transaction:
        for number in range(100):
            tree.insert(transaction, struct.pack(">I", number), bytes(100))
    return store, tree


def lead_to(store: Store, tree: BTree, child: int) -> None:
    with store.begin() as transaction:
        node.replace(transaction.page(tree.root), 0, struct.pack("<I", child))


def test_a_page_of_another_tree_is_named() -> None:
    store, tree = branched()
    other = BTree(store, Pages(), tree.root, 99)
    with pytest.raises(TreeError, match=rf"page {tree.root} is not of tree 99"):
        other.get(b"k")


def test_a_page_that_was_freed_is_named() -> None:
    store, tree = branched()
    first = next(tree.leaves())
    with store.begin() as transaction:
        Pages().free(transaction, first)
    with pytest.raises(TreeError, match=rf"page {first} is not of tree 7"):
        list(tree.scan())


def test_a_child_beyond_the_file_is_named() -> None:
    store, tree = branched()
    lead_to(store, tree, 4000)
    with pytest.raises(TreeError, match="tree 7 leads to page 4000"):
        tree.get(b"\0")


def test_a_way_that_goes_in_a_circle_ends() -> None:
    store, tree = branched()
    lead_to(store, tree, tree.root)
    with pytest.raises(TreeError, match="is not a branch"):
        tree.get(b"\0")


def test_the_same_seed_gives_the_same_bytes() -> None:
    contents = []
    for _ in range(2):
        disk, store = create(8192, seed=3)
        tree, model, chance = planted(store), Model(), random.Random(3)
        for _ in range(80):
            model = change(tree, store, model, chance, 0.6)
        store.close(2e9)
        contents.append({name: disk.open(name).read(0, 1 << 24) for name in disk.names()})
    assert contents[0] == contents[1]
