"""A sound page is never called broken, and each kind of break is found."""

import random
import struct
from collections.abc import Callable

import pytest

from eselab.disk.disk import SimDisk
from eselab.storage import node
from eselab.storage.pages import sealed, stamped
from eselab.storage.store import Store
from eselab.storage.structure import fault_of
from tests.eselab.page_sizes import SIZES
from tests.eselab.trees import spaced


def leaf(page_size: int, keys: list[bytes]) -> bytearray:
    page = bytearray(page_size)
    node.init(page, 5, node.LEAF)
    for index, key in enumerate(sorted(keys)):
        node.insert(page, index, key, b"value of " + key)
    return page


@pytest.mark.parametrize("page_size", SIZES)
def test_every_page_of_a_tree_that_grew_and_shrank_is_sound(page_size: int) -> None:
    chance, disk = random.Random(page_size), SimDisk(random.Random(1))
    store = Store.create(
        disk, "a.edb", page_size=page_size, cache_pages=500, now=1e9, chance=random.Random(1)
    )
    tree, _ = spaced(store)
    keys = [b"%06d" % number for number in range(page_size // 12)]
    for part in range(2):
        chance.shuffle(keys)
        for key in keys:
            with store.begin() as transaction:
                if part and chance.random() < 0.9:
                    tree.delete(transaction, key)
                elif not part:
                    tree.insert(transaction, key, chance.randbytes(chance.randrange(120)))
        assert [fault_of(store.read(at)) for at in range(1, store.pages + 1)] == [None] * (
            store.pages
        )
    kinds = {node.flags(store.read(at)) for at in range(1, store.pages + 1)}
    assert len(kinds) > 3


@pytest.mark.parametrize("page_size", SIZES)
def test_random_work_on_a_page_leaves_it_sound(page_size: int) -> None:
    chance, page, keys = random.Random(page_size), leaf(page_size, []), list[bytes]()
    for _ in range(600):
        kind = chance.random()
        if kind < 0.5:
            key, value = chance.randbytes(6), chance.randbytes(chance.randrange(200))
            index, found = node.find(page, key)
            if not found and node.fits(page, key, value):
                node.insert(page, index, key, value)
                keys.insert(index, key)
        elif keys and kind < 0.75:
            node.remove(page, at := chance.randrange(len(keys)))
            keys.pop(at)
        elif keys:
            at, value = chance.randrange(len(keys)), chance.randbytes(chance.randrange(200))
            if node.fits_instead(page, at, value):
                node.replace(page, at, value)
        assert fault_of(bytes(page)) is None
    assert fault_of(sealed(stamped(page, 9), 9, 3)) is None


Change = Callable[[bytearray], None]


def put(offset: int, value: int) -> Change:
    """Write a u16, from the end of the page where the offset is negative."""

    def change(page: bytearray) -> None:
        struct.pack_into("<H", page, offset % len(page), value)

    return change


def swap_tags(page: bytearray) -> None:
    page[-8:-4], page[-12:-8] = page[-12:-8], page[-8:-4]


def long_key(page: bytearray) -> None:
    struct.pack_into("<H", page, node.header_size(len(page)), 13)


BREAKS: dict[str, tuple[Change, str]] = {
    "no tags": (put(34, 0), "0 tags"),
    "a lost tag": (put(34, 3), "free bytes"),
    "free bytes": (put(28, 77), "77 free bytes, not"),
    "first free byte in the nodes": (put(32, 3), "behind the first free byte 3"),
    "first free byte in the tags": (put(32, 0xFFFF), "lies in the tags"),
    "an external header that is not of a root": (put(-4, 1), "an external header of 1 bytes"),
    "an external header behind others": (put(-2, 1), "an external header of 0 bytes at 1"),
    "a node in another": (put(-10, 1), "behind one that ends at"),
    "a node out of the page": (put(-6, 0xFFF0), "behind the first free byte"),
    "a short node": (put(-8, 1), "a node of 1 bytes"),
    "a long node": (put(-8, 0x7FFF), "behind one that ends at"),
    "order of keys": (swap_tags, "not behind the one before"),
    "a key beyond its node": (long_key, "with a key of 13"),
}


@pytest.mark.parametrize("page_size", SIZES)
@pytest.mark.parametrize("name", BREAKS)
def test_each_break_of_a_page_with_nodes_is_found(name: str, page_size: int) -> None:
    change, reason = BREAKS[name]
    page = leaf(page_size, [b"a", b"b", b"c"])
    assert fault_of(bytes(page)) is None
    change(page)
    assert reason in (fault_of(bytes(page)) or "")


@pytest.mark.parametrize("page_size", SIZES)
def test_more_tags_than_nodes_are_found(page_size: int) -> None:
    page = leaf(page_size, [b"a"])
    for tags in (3, 200, 0xFFF):
        put(34, tags)(page)
        assert fault_of(bytes(page)) is not None


@pytest.mark.parametrize("page_size", SIZES)
def test_a_root_has_an_external_header_before_its_nodes(page_size: int) -> None:
    page = bytearray(page_size)
    node.init(page, 5, node.ROOT | node.LEAF, b"sixteen bytes...")
    for at in range(3):
        node.insert(page, at, b"%d" % at, bytes(at))
    node.remove(page, 0)
    node.fill_gaps(page, b"D", b"Z")
    assert fault_of(bytes(page)) is None
    assert node.external_header(page) == b"sixteen bytes..."
    put(-8 - 2, 3)(page)
    assert "behind one that ends at 16" in (fault_of(bytes(page)) or "")


def test_the_last_node_of_a_branch_may_have_no_key() -> None:
    page = bytearray(4096)
    node.init(page, 5, node.PARENT_OF_LEAF)
    for at, key in enumerate([b"b", b"d", b""]):
        node.insert(page, at, key, bytes(4))
    assert fault_of(bytes(page)) is None
    node.set_last_key(page, b"e")
    assert fault_of(bytes(page)) is None
    node.set_last_key(page, b"c")
    assert fault_of(bytes(page)) == "node 2 has a key that is not behind the one before"


@pytest.mark.parametrize("page_size", SIZES)
def test_freed_pages_have_no_nodes(page_size: int) -> None:
    page, room = leaf(page_size, [b"a"]), page_size - node.header_size(page_size)
    node.set_fields(page, 5, node.LEAF | node.EMPTY, free=room)
    assert fault_of(bytes(page)) is None
    for change, reason in [(put(34, 1), "1 tags"), (put(28, 5), "5 free"), (put(16, 5), "sib")]:
        broken = bytearray(page)
        change(broken)
        assert reason in (fault_of(bytes(broken)) or "")


@pytest.mark.parametrize("page_size", SIZES)
def test_a_blank_page_is_sound(page_size: int) -> None:
    assert fault_of(bytes(page_size)) is None


def test_no_page_of_chance_makes_an_error() -> None:
    chance = random.Random(1)
    found = 0
    for _ in range(2000):
        page = leaf(4096, [b"a", b"bc", b"def"])
        for _ in range(chance.choice([1, 1, 2, 50])):
            at = chance.choice([chance.randrange(28, 80), chance.randrange(4076, 4096)])
            page[at] = chance.randrange(256)
        found += fault_of(bytes(page)) is not None
    assert found > 1000
