"""A tree against a plain dict: helpers of the tests of trees."""

import random
import struct
from itertools import pairwise

import pytest

from eselab.disk.disk import SimDisk
from eselab.storage import node
from eselab.storage.btree import BTree
from eselab.storage.store import Store, Transaction
from eselab.storage.tables.space import Space, Survey

NAME = "a.edb"
Model = dict[bytes, bytes]


class Pages:
    """Extends the file, and gives freed pages again, the last one first."""

    def __init__(self) -> None:
        self.freed: list[int] = []

    def allocate(self, transaction: Transaction, *, near: int = 0) -> int:
        return self.freed.pop() if self.freed else transaction.extend(1)

    def free(self, transaction: Transaction, number: int) -> None:
        page = transaction.page(number)
        struct.pack_into("<I", page, 36, node.flags(page) | node.EMPTY)
        self.freed.append(number)


def create(page_size: int = 4096, *, seed: int = 1) -> tuple[SimDisk, Store]:
    disk = SimDisk(random.Random(seed))
    store = Store.create(
        disk, NAME, page_size=page_size, cache_pages=20, now=1e9, chance=random.Random(seed)
    )
    return disk, store


def planted(store: Store, object_id: int = 7) -> BTree:
    with store.begin() as transaction:
        return BTree.create(store, Pages(), transaction, object_id)


def spaced(store: Store, object_id: int = 7) -> tuple[BTree, Survey]:
    """A tree whose root owns the whole file, and the use of its pages."""
    with store.begin() as transaction:
        transaction.extend(16)
        space = Space.create(store, transaction, range(1, 17), object_id)
        tree = BTree.create(
            store, space, transaction, object_id, root=1, header=space.external_header(16)
        )
    return tree, Survey(store, lambda: [space])


def respaced(store: Store, object_id: int = 7) -> tuple[BTree, Survey]:
    """The same after an opening."""
    space = Space(store, 1, object_id)
    return BTree(store, space, 1, object_id), Survey(store, lambda: [space])


def verified(tree: BTree, store: Store, transaction: Transaction | None = None) -> set[int]:
    """Fails where the tree is not in order; the page numbers that it has."""
    reader = store if transaction is None else transaction
    seen: set[int] = set()
    chain: list[tuple[int, int, int]] = []
    depths: set[int] = set()

    def visit(number: int, low: bytes, high: bytes | None, depth: int) -> None:
        page = reader.read(number)
        flags, keys = node.flags(page), [node.key(page, at) for at in range(node.count(page))]
        assert number not in seen
        seen.add(number)
        assert node.object_id(page) == tree.object_id
        assert bool(flags & node.ROOT) == (number == tree.root)
        bounded = keys if flags & node.LEAF else keys[:-1]
        assert all(a < b for a, b in pairwise(bounded))
        assert keys or number == tree.root
        if flags & node.LEAF:
            assert not flags & node.PARENT_OF_LEAF
            assert all(low <= key and (high is None or key < high) for key in keys)
            chain.append((number, node.previous(page), node.following(page)))
            depths.add(depth)
            return
        assert not keys[-1] or (high is not None and keys[-1] <= high)
        assert node.previous(page) == node.following(page) == 0
        bounds = [low, *bounded, high]
        assert all(low < key and (high is None or key < high) for key in bounded)
        for at, (begin, end) in enumerate(pairwise(bounds)):
            (child,) = struct.unpack("<I", node.value(page, at))
            under = node.flags(reader.read(child)) & node.LEAF
            assert bool(flags & node.PARENT_OF_LEAF) == bool(under)
            visit(child, begin or b"", end, depth + 1)

    visit(tree.root, b"", None, 0)
    numbers = [0, *(number for number, _, _ in chain), 0]
    expected = zip(numbers[1:-1], numbers, numbers[2:], strict=False)
    assert chain == list(expected)
    assert len(depths) == 1
    assert list(tree.leaves(transaction)) == numbers[1:-1]
    return seen


def some_key(chance: random.Random, model: Model) -> bytes:
    """A new key, often close to others, sometimes of the greatest length."""
    if model and chance.random() < 0.3:
        return (chance.choice(list(model)) + chance.randbytes(2))[:255]
    if chance.random() < 0.3:
        return bytes([1] * 240) + chance.randbytes(3)
    return chance.randbytes(chance.choice([1, 3, 3, 8, 40, 255]))


def some_value(chance: random.Random, store: Store) -> bytes:
    return chance.randbytes(chance.choice([0, 10, 100, chance.randrange(store.page_size // 4 + 1)]))


def change(tree: BTree, store: Store, model: Model, chance: random.Random, growth: float) -> Model:
    """One random transaction, sometimes aborted; the model after it."""
    space = tree._space
    assert isinstance(space, Pages)
    freed, after, transaction = list(space.freed), dict(model), store.begin()
    for _ in range(chance.randrange(1, 12)):
        kind = chance.random()
        if kind < growth or not after:
            key, value = some_key(chance, after), some_value(chance, store)
            if key in after:
                with pytest.raises(KeyError):
                    tree.insert(transaction, key, value)
            else:
                tree.insert(transaction, key, value)
                after[key] = value
        elif kind < growth + 0.1:
            key, value = chance.choice(list(after)), some_value(chance, store)
            tree.replace(transaction, key, value)
            after[key] = value
        else:
            key = chance.choice(list(after))
            tree.delete(transaction, key)
            del after[key]
    if chance.random() < 0.15:
        assert dict(tree.scan(transaction=transaction)) == after
        assert dict(tree.scan()) == model
        transaction.abort()
        space.freed = freed
        return model
    transaction.commit()
    return after
