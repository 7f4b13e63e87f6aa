"""Merging of the pages of a tree: nothing is lost or put elsewhere, and no page is left over."""

import random
import struct
from itertools import pairwise

import pytest

from eselab.storage import node
from eselab.storage.btree import BTree, Merge, TreeError
from eselab.storage.store import Store
from tests.eselab.page_sizes import SIZES, each_page_size
from tests.eselab.trees import (
    NAME,
    Model,
    Pages,
    change,
    create,
    planted,
    respaced,
    some_key,
    some_value,
    spaced,
    verified,
)
from tests.support.each import of_each


def walked(store: Store, tree: BTree, begin: bytes = b"") -> int:
    """Merge from a key to the end, one transaction a step; the pages that were freed."""
    freed, key = 0, begin
    while True:
        with store.begin() as transaction:
            done = tree.merge(transaction, key)
        freed += done.freed
        if done.next is None:
            return freed
        assert done.next == key if done.freed else done.next > key
        key = done.next


def numbered(store: Store, tree: BTree, count: int, *, kept: int = 1, size: int = 100) -> None:
    """Keys 0 to `count`, of which every `kept`-th stays."""
    for begin in range(0, count, 200):
        with store.begin() as transaction:
            for number in range(begin, begin + 200):
                tree.insert(transaction, struct.pack(">I", number), bytes(size))
    for begin in range(0, count, 200):
        with store.begin() as transaction:
            for number in range(begin, begin + 200):
                if number % kept:
                    tree.delete(transaction, struct.pack(">I", number))


def levels(store: Store, tree: BTree) -> int:
    number, found = tree.root, 1
    while not node.flags(store.read(number)) & node.LEAF:
        (number,) = struct.unpack("<I", node.value(store.read(number), 0))
        found += 1
    return found


def used_bytes(store: Store, number: int) -> int:
    page = store.read(number)
    return store.page_size - node.header_size(store.page_size) - 4 - node.free_bytes(page)


@pytest.mark.slow
@each_page_size
@of_each(range(6))
def test_merging_loses_and_reorders_nothing(seed: int, page_size: int) -> None:
    chance = random.Random(seed)
    _, store = create(page_size, seed=seed)
    tree, model, total = planted(store), Model(), 0
    space = tree._space
    assert isinstance(space, Pages)
    for growth in (0.9, 0.2, 0.8, 0.1, 0.0):
        for step in range(50):
            model = change(tree, store, model, chance, growth)
            if step % 10 == 9:
                before, free = verified(tree, store), len(space.freed)
                freed = walked(store, tree, some_key(chance, model) if step % 20 == 9 else b"")
                after = verified(tree, store)
                assert len(space.freed) - free == len(before) - len(after) == freed
                assert after <= before
                assert list(tree.scan()) == sorted(model.items())
                total += freed
    assert total > 10


@pytest.mark.slow
@of_each(range(12))
def test_after_a_whole_walk_nothing_is_left_to_merge(seed: int) -> None:
    chance = random.Random(seed)
    _, store = create(4096)
    tree, keys = planted(store), [chance.randbytes(chance.choice([4, 200])) for _ in range(2500)]
    with store.begin() as transaction:
        for key in keys:
            tree.insert(transaction, key, bytes(chance.randrange(60)))
    for share in (0.5, 0.5, 0.9):
        with store.begin() as transaction:
            for key in keys:
                if chance.random() < share:
                    tree.delete(transaction, key)
        keys = [key for key, _ in tree.scan()]
        assert walked(store, tree) > 0
        verified(tree, store)
        assert [key for key, _ in tree.scan()] == keys
        assert walked(store, tree) == 0


def test_an_aborted_merge_changes_nothing() -> None:
    _, store = create()
    tree = planted(store)
    numbered(store, tree, 1000, kept=5)
    before = {number: store.read(number) for number in verified(tree, store)}
    transaction = store.begin()
    assert tree.merge(transaction, b"").freed == 1
    assert len(verified(tree, store, transaction)) == len(before) - 1
    transaction.abort()
    assert {number: store.read(number) for number in verified(tree, store)} == before


@pytest.mark.slow
@of_each(range(20))
def test_after_a_crash_merges_are_whole_or_not_there(seed: int) -> None:
    chance = random.Random(seed)
    disk, store = create(chance.choice(SIZES), seed=seed)
    tree, space = spaced(store)
    numbered(store, tree, 6000, kept=chance.choice([3, 9]))
    model = dict(tree.scan())
    store.flush()
    free, freed, key, crashes = [space.free_pages()], 0, b"", 0
    for _ in range(150):
        kind = chance.random()
        if kind < 0.8:
            with store.begin() as transaction:
                done = tree.merge(transaction, key)
            key, freed = done.next or b"", freed + done.freed
            free.append(free[-1] + done.freed)
        elif kind < 0.9:
            store.checkpoint(chance.choice([0, 20_000]))
            free = free[-1:]
        else:
            disk, crashes = disk.crash(), crashes + 1
            store = Store.open(disk, NAME, cache_pages=20, now=2e9)
            tree, space = respaced(store)
            assert space.free_pages() in free
            free = [space.free_pages()]
        assert space.free_pages() == free[-1]
    assert crashes
    assert freed
    assert dict(tree.scan()) == model
    assert verified(tree, store) == set(space.used())


@each_page_size
def test_a_leaf_may_take_over_several_and_keeps_a_tenth_free(page_size: int) -> None:
    _, store = create(page_size)
    tree = planted(store)
    numbered(store, tree, 4000, kept=10, size=page_size // 40)
    before = len(list(tree.leaves()))
    with store.begin() as transaction:
        first = tree.merge(transaction, b"")
        second = tree.merge(transaction, b"")
    assert (first, second) == (Merge(1, b""), Merge(1, b""))
    freed = 2 + walked(store, tree)
    leaves = list(tree.leaves())
    assert 2 < len(leaves) < before / 7
    assert freed >= before - len(leaves)
    full = page_size - node.header_size(page_size) - 4
    assert all(used_bytes(store, leaf) <= full - page_size // 10 for leaf in leaves)
    for left, right in pairwise(leaves):
        assert used_bytes(store, left) + used_bytes(store, right) > full - page_size // 10 - 4


def test_full_leaves_stay() -> None:
    _, store = create()
    tree = planted(store)
    numbered(store, tree, 3000)
    before = {number: store.read(number) for number in verified(tree, store)}
    assert walked(store, tree) == 0
    assert {number: store.read(number) for number in verified(tree, store)} == before


def test_the_next_key_is_the_lower_bound_of_the_next_leaf() -> None:
    _, store = create()
    tree = planted(store)
    numbered(store, tree, 3000)
    leaves, key = list(tree.leaves()), b""
    for leaf in leaves[1:]:
        with store.begin() as transaction:
            _, following = tree.merge(transaction, key)
        assert following is not None
        assert following > key
        assert tree._descend(following, None).number == leaf
        key = following
    with store.begin() as transaction:
        assert tree.merge(transaction, key) == Merge(0, None)


def test_branches_are_merged_and_the_tree_gets_lower() -> None:
    _, store = create()
    tree = planted(store)
    keys = [number.to_bytes(250, "big") for number in range(4000)]
    for begin in range(0, 4000, 500):
        with store.begin() as transaction:
            for key in keys[begin : begin + 500]:
                tree.insert(transaction, key, b"v")
    high = levels(store, tree)
    assert high == 4
    for every, expected in ((10, 3), (400, 1)):
        for at, key in enumerate(keys):
            if at % every and tree.get(key) is not None:
                with store.begin() as transaction:
                    tree.delete(transaction, key)
        walked(store, tree)
        used = verified(tree, store)
        assert levels(store, tree) == expected
        assert [key for key, _ in tree.scan()] == keys[::every]
    assert used == {tree.root}
    assert isinstance(tree._space, Pages)
    assert {tree.root, *tree._space.freed} == set(range(1, store.pages + 1))
    assert node.flags(store.read(tree.root)) & 7 == node.ROOT | node.LEAF


def test_a_tree_can_be_used_after_it_was_merged() -> None:
    chance = random.Random(4)
    _, store = create()
    tree, model = planted(store), Model()
    for _ in range(15):
        with store.begin() as transaction:
            for _ in range(100):
                key, value = some_key(chance, model), some_value(chance, store)
                if key not in model:
                    tree.insert(transaction, key, value)
                    model[key] = value
            for key in chance.sample(sorted(model), len(model) * 3 // 4):
                tree.delete(transaction, key)
                del model[key]
        walked(store, tree)
        verified(tree, store)
        assert list(tree.scan()) == sorted(model.items())


def test_an_empty_tree_has_nothing_to_merge() -> None:
    _, store = create()
    tree = planted(store)
    with store.begin() as transaction:
        assert tree.merge(transaction, b"") == Merge(0, None)
        assert tree.merge(transaction, b"k") == Merge(0, None)


def sparse() -> tuple[Store, BTree, list[int]]:
    _, store = create()
    tree = planted(store)
    numbered(store, tree, 1000, kept=10)
    return store, tree, list(tree.leaves())


def test_leaves_that_are_not_linked_to_each_other_are_named() -> None:
    store, tree, leaves = sparse()
    with store.begin() as transaction:
        node.set_previous(transaction.page(leaves[1]), 999)
    transaction = store.begin()
    with pytest.raises(TreeError, match=rf"pages {leaves[0]} and {leaves[1]} are not neighbours"):
        tree.merge(transaction, b"")


def test_a_child_that_comes_twice_is_named() -> None:
    store, tree, leaves = sparse()
    with store.begin() as transaction:
        node.replace(transaction.page(tree.root), 1, struct.pack("<I", leaves[0]))
    transaction = store.begin()
    with pytest.raises(TreeError, match=rf"pages {leaves[0]} and {leaves[0]} are not neighbours"):
        tree.merge(transaction, b"")


def test_a_right_neighbour_of_another_tree_is_named() -> None:
    store, tree, leaves = sparse()
    with store.begin() as transaction:
        other = BTree.create(store, Pages(), transaction, 8)
        node.replace(transaction.page(tree.root), 1, struct.pack("<I", other.root))
    transaction = store.begin()
    with pytest.raises(TreeError, match=rf"page {other.root} is not of tree 7"):
        tree.merge(transaction, b"")
    assert other.root not in leaves


def test_a_neighbour_behind_that_does_not_lead_back_is_named() -> None:
    store, tree, leaves = sparse()
    with store.begin() as transaction:
        node.set_previous(transaction.page(leaves[2]), 999)
    before = store.read(leaves[2])
    with (
        pytest.raises(TreeError, match=rf"pages {leaves[1]} and {leaves[2]} are not neighbours"),
        store.begin() as transaction,
    ):
        tree.merge(transaction, b"")
    assert store.read(leaves[2]) == before
    assert list(tree.leaves()) == leaves


def test_a_leaf_is_not_deleted_between_siblings_that_do_not_know_it() -> None:
    store, tree, leaves = sparse()
    with store.begin() as transaction:
        node.set_following(transaction.page(leaves[0]), leaves[2])
    keys = [node.key(store.read(leaves[1]), at) for at in range(node.count(store.read(leaves[1])))]
    with (
        pytest.raises(TreeError, match=rf"pages {leaves[0]} and {leaves[1]} are not neighbours"),
        store.begin() as transaction,
    ):
        for key in keys:
            tree.delete(transaction, key)
    assert list(tree.leaves()) == leaves
