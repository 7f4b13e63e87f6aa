"""Each kind of damage inside trees and space is told, with the page and what is wrong."""

import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from eselab.check.check import check
from eselab.disk.disk import SimDisk
from eselab.storage import node
from eselab.storage.btree import BTree
from eselab.storage.database import CATALOG
from tests.eselab.databases import (
    NAME,
    NOW,
    bytes_of,
    changed,
    content,
    created,
    faults,
    filled,
    of_tree,
    pages_where,
    set_flags,
)

ONE = 4
"""Object id of the table "one"."""


@pytest.fixture(scope="module")
def sound() -> dict[str, bytes]:
    """The files of a database of three levels that is without faults."""
    disk = filled()
    assert faults(disk) == []
    assert len(of_tree(disk, ONE, node.PARENT_OF_LEAF)) > 3
    return bytes_of(disk)


@pytest.fixture
def disk(sound: dict[str, bytes]) -> SimDisk:
    """A copy of it that may be damaged."""
    disk = SimDisk(random.Random(1))
    for name, data in sound.items():
        disk.open(name, create=True).write(0, data)
    return disk


def leaves(disk: SimDisk) -> list[int]:
    """The leaves of table "one" that have a leaf on both sides, in order."""
    numbers = of_tree(disk, ONE, node.LEAF)
    numbers.sort(key=lambda at: node.key(content(disk, at), 0))
    return numbers[1:-1]


def parent_of(disk: SimDisk, number: int) -> tuple[int, int]:
    """Page number of the branch above a page of table "one", and the index of its node there."""
    child = struct.pack("<I", number)
    for above in pages_where(disk, lambda page: node.object_id(page) == ONE):
        page = content(disk, above)
        if node.flags(page) & (node.LEAF | node.EMPTY):
            continue
        for index in range(node.count(page)):
            if node.value(page, index) == child:
                return above, index
    raise AssertionError(f"no branch leads to page {number}")


@contextmanager
def lead_elsewhere(disk: SimDisk, number: int, child: bytes) -> Iterator[int]:
    """The branch above a page leads to `child` instead; the number of the branch."""
    above, index = parent_of(disk, number)
    with changed(disk, above) as page:
        node.replace(page, index, child)
    yield above


def check_told(disk: SimDisk, fault: str) -> list[str]:
    """All faults, `fault` among them."""
    found = faults(disk)
    assert fault in found
    assert len(found) == len(set(found))
    return found


def test_a_copy_of_a_sound_database_is_sound(disk: SimDisk) -> None:
    assert faults(disk) == []


def test_a_wrong_sibling_is_told_on_both_sides(disk: SimDisk) -> None:
    before, number, behind = leaves(disk)[4:7]
    with changed(disk, number) as page:
        node.set_previous(page, 9)
        node.set_following(page, 0)
    assert faults(disk) == [
        f"page {number}: follows page 9, not {before} (table one)",
        f"page {number}: is followed by page 0, not {behind} (table one)",
    ]


def test_a_sibling_behind_the_last_leaf_is_told(disk: SimDisk) -> None:
    last = node.following(content(disk, leaves(disk)[-1]))
    with changed(disk, last) as page:
        node.set_following(page, 7)
    assert faults(disk) == [f"page {last}: page 7 follows the last leaf (table one)"]


def test_a_key_out_of_the_bounds_of_its_page_is_told(disk: SimDisk) -> None:
    number = leaves(disk)[3]
    with changed(disk, number) as page:
        node.insert(page, node.count(page), b"\xff" * 9, b"")
    assert faults(disk) == [f"page {number}: has the key {'ff' * 9}, out of its bounds (table one)"]


def test_keys_that_do_not_ascend_are_told(disk: SimDisk) -> None:
    number = leaves(disk)[3]
    with changed(disk, number) as page:
        node.remove(page, node.count(page) - 1)
        node.insert(page, node.count(page), node.key(page, 0), b"")
    nodes = node.count(content(disk, number))
    check_told(disk, f"page {number}: node {nodes - 1} has a key that is not behind the one before")


def test_an_empty_key_in_a_leaf_is_told(disk: SimDisk) -> None:
    first = node.previous(content(disk, leaves(disk)[0]))
    with changed(disk, first) as page:
        node.insert(page, 0, b"", b"")
    assert faults(disk) == [f"page {first}: has a key that is not 1 to 255 bytes long (table one)"]


def test_a_leaf_without_records_is_told(disk: SimDisk) -> None:
    number = leaves(disk)[3]
    with changed(disk, number) as page:
        for index in reversed(range(node.count(page))):
            node.remove(page, index)
    assert faults(disk) == [f"page {number}: is a leaf without records (table one)"]


def test_a_page_of_another_tree_is_told_and_is_not_walked(disk: SimDisk) -> None:
    number = leaves(disk)[3]
    with changed(disk, number) as page:
        struct.pack_into("<I", page, 24, 77)
    assert faults(disk) == [f"page {number}: is of tree 77, not 4 (table one)"]


@pytest.mark.parametrize("flags", [0, 1, 3, 4, 6, 2 | 0x40])
def test_wrong_flags_are_told(disk: SimDisk, flags: int) -> None:
    number = leaves(disk)[3]
    with changed(disk, number) as page:
        set_flags(page, flags | 0x2000)
    check_told(disk, f"page {number}: has the wrong flags {flags | 0x2000:#x} (table one)")


def test_a_root_without_its_flag_is_told(disk: SimDisk) -> None:
    (root,) = pages_where(
        disk, lambda page: node.object_id(page) == ONE and node.flags(page) & node.ROOT
    )
    with changed(disk, root) as page:
        set_flags(page, node.flags(page) & ~node.ROOT)
    (fault,) = faults(disk)
    assert fault.startswith(f"page {root}: has the wrong flags")


def test_a_branch_that_leads_to_itself_ends_with_a_fault(disk: SimDisk) -> None:
    branch = of_tree(disk, ONE, node.PARENT_OF_LEAF)[0]
    with changed(disk, branch) as page:
        node.replace(page, 1, struct.pack("<I", branch))
    check_told(disk, f"page {branch}: is in tree 4 and again in tree 4 (table one)")


def test_a_branch_that_leads_upwards_ends_with_a_fault(disk: SimDisk) -> None:
    branch = of_tree(disk, ONE, node.PARENT_OF_LEAF)[0]
    above, _ = parent_of(disk, branch)
    with changed(disk, branch) as page:
        node.replace(page, 1, struct.pack("<I", above))
    check_told(disk, f"page {above}: is in tree 4 and again in tree 4 (table one)")


@pytest.mark.parametrize("child", [0, 1 << 31, 0xFFFFFFFF])
def test_a_child_that_the_database_does_not_have_is_told(disk: SimDisk, child: int) -> None:
    with lead_elsewhere(disk, leaves(disk)[3], struct.pack("<I", child)) as above:
        pages = check(disk, NAME).pages
        check_told(disk, f"page {above}: leads to page {child} of {pages} (table one)")


def test_a_child_that_is_no_page_number_is_told(disk: SimDisk) -> None:
    with lead_elsewhere(disk, leaves(disk)[3], b"abc") as above:
        check_told(disk, f"page {above}: has a node of 3 bytes where a child belongs (table one)")


def test_a_child_that_is_free_is_told_once_as_free_and_once_as_empty(disk: SimDisk) -> None:
    free = pages_where(disk, lambda page: node.flags(page) & node.EMPTY)[0]
    with lead_elsewhere(disk, leaves(disk)[3], struct.pack("<I", free)):
        check_told(disk, f"page {free}: is in the tree and empty (table one)")
        check_told(disk, f"page {free}: is in tree 4 and free in the map")


def test_a_page_of_two_trees_is_told(disk: SimDisk) -> None:
    other = of_tree(disk, ONE + 1, node.LEAF)[0]
    with lead_elsewhere(disk, leaves(disk)[3], struct.pack("<I", other)):
        check_told(disk, f"page {other}: is in tree 4 and again in tree 5 (table two)")
        check_told(disk, f"page {other}: is of tree 5, not 4 (table one)")


def test_a_map_page_in_a_tree_is_told(disk: SimDisk) -> None:
    with lead_elsewhere(disk, leaves(disk)[3], struct.pack("<I", 1)):
        check_told(disk, "page 1: is of tree 1, not 4 (table one)")
        check_told(disk, "page 1: is a map page and in tree 4")


def test_a_leaf_that_is_not_as_deep_as_others_is_told(disk: SimDisk) -> None:
    root, index = parent_of(disk, parent_of(disk, leaves(disk)[0])[0])
    between = pages_where(disk, lambda page: node.flags(page) & node.EMPTY)[0]
    behind = leaves(disk)[node.count(content(disk, parent_of(disk, leaves(disk)[0])[0])) - 1]
    with changed(disk, root) as page:
        child = node.value(page, index)
        node.replace(page, index, struct.pack("<I", between))
    with changed(disk, between) as page:
        node.init(page, ONE, 0)
        node.insert(page, 0, b"", child)
    check_told(disk, f"page {behind}: is a leaf at level 2, others at 3 (table one)")


def test_a_branch_key_out_of_bounds_and_siblings_of_a_branch_are_told(disk: SimDisk) -> None:
    branch, _ = parent_of(disk, leaves(disk)[0])
    with changed(disk, branch) as page:
        child = node.value(page, node.count(page) - 1)
        node.remove(page, node.count(page) - 1)
        node.insert(page, node.count(page), b"\xff" * 4, child)
        node.set_following(page, 3)
    check_told(disk, f"page {branch}: is a branch with siblings (table one)")
    check_told(disk, f"page {branch}: has the key ffffffff, out of its bounds (table one)")


def test_a_branch_whose_first_child_has_a_bound_is_told(disk: SimDisk) -> None:
    branch, _ = parent_of(disk, leaves(disk)[0])
    with changed(disk, branch) as page:
        child = node.value(page, 0)
        node.remove(page, 0)
        node.insert(page, 0, b"\0", child)
    assert faults(disk) == [f"page {branch}: is a branch without a first child (table one)"]


def test_a_branch_without_children_is_told(disk: SimDisk) -> None:
    branch = of_tree(disk, ONE, node.PARENT_OF_LEAF)[1]
    with changed(disk, branch) as page:
        node.init(page, ONE, node.PARENT_OF_LEAF)
    assert faults(disk) == [f"page {branch}: is a branch without a first child (table one)"]


def test_an_endless_chain_of_branches_ends_with_one_line(disk: SimDisk) -> None:
    chain = of_tree(disk, ONE, node.LEAF)
    root = 4
    for number, child in pairwise([root, *chain, root]):
        with changed(disk, number) as page:
            node.init(page, ONE, node.ROOT if number == root else 0)
            node.insert(page, 0, b"", struct.pack("<I", child))
    check_told(disk, f"page {root}: is in tree 4 and again in tree 4 (table one)")


@pytest.mark.parametrize("at", [28, 32, 34, 4088, 4092])
def test_a_page_whose_inside_makes_no_sense_is_told(disk: SimDisk, at: int) -> None:
    number = leaves(disk)[3]
    with changed(disk, number) as page:
        page[at : at + 2] = b"\xff\xff"
    (fault,) = faults(disk)
    assert fault.startswith(f"page {number}: ")


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(4))
def test_any_damage_of_a_page_that_others_depend_on_ends_with_faults(
    disk: SimDisk, number: int, seed: int
) -> None:
    chance = random.Random(seed * 100 + number)
    with changed(disk, number) as page:
        page[16:36] = chance.randbytes(20)
        page[40:] = chance.randbytes(4056)
    found = faults(disk)
    assert found
    assert all("\n" not in fault for fault in found)


def test_a_blank_page_in_a_tree_is_told(disk: SimDisk) -> None:
    number = leaves(disk)[3]
    disk.open(NAME).write((number + 1) * 4096, bytes(4096))
    assert faults(disk) == [f"page {number}: it is blank and was not"]
    disk.remove("a.jfm")
    assert faults(disk) == [f"page {number}: is in the tree and empty (table one)"]


def test_a_page_that_was_lost_to_no_tree_is_told(disk: SimDisk) -> None:
    number = leaves(disk)[3]
    free = pages_where(disk, lambda page: node.flags(page) & node.EMPTY)[0]
    with changed(disk, 1) as page:
        page[40 + (free - 1) // 8] |= 1 << (free - 1) % 8
        page[40 + (number - 1) // 8] &= ~(1 << (number - 1) % 8)
    assert sorted(faults(disk)) == sorted(
        [
            f"page {free}: is in use and in no tree",
            f"page {number}: is in tree 4 and free in the map",
        ]
    )


def test_a_free_page_that_is_not_empty_is_told(disk: SimDisk) -> None:
    free = pages_where(disk, lambda page: node.flags(page) & node.EMPTY)[0]
    with changed(disk, free) as page:
        node.init(page, ONE, node.LEAF)
    assert faults(disk) == [f"page {free}: is free in the map and not empty"]


def test_a_map_page_at_a_wrong_place_or_with_wrong_fields_is_told(disk: SimDisk) -> None:
    free = pages_where(disk, lambda page: node.flags(page) & node.EMPTY)[0]
    with changed(disk, free) as page:
        node.set_fields(page, 1, 0x20, free=0, first_free=4056)
    with changed(disk, 1) as page:
        struct.pack_into("<I", page, 24, 9)
    assert faults(disk)[:2] == [
        "page 1: is not the map page that belongs here",
        f"page {free}: is a map page where none belongs",
    ]


def test_bits_of_the_map_that_are_wrong_for_itself_and_beyond_the_end_are_told(
    disk: SimDisk,
) -> None:
    with changed(disk, 1) as page:
        page[40] &= 0xFE
        page[-1] |= 0x80
    assert faults(disk) == [
        "page 1: the map has pages in use behind the end of the database",
        "page 1: is a map page and free in the map",
    ]


def test_a_dbtime_beyond_that_of_the_database_is_told(disk: SimDisk) -> None:
    number = leaves(disk)[3]
    with changed(disk, number) as page:
        struct.pack_into("<Q", page, 8, 1 << 50)
    (fault,) = faults(disk)
    assert fault.startswith(f"page {number}: its dbtime {1 << 50} is beyond ")


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        (b"a", b"short", "the catalog is damaged: record b'a' has 5 bytes"),
        (b"\xff", bytes(8), "the catalog is damaged: record b'\\xff' is not UTF-8"),
        (b"a", struct.pack("<II", 2, 9), "the catalog is damaged: a has object id 2 and root 9"),
        (b"z", struct.pack("<II", 3, 9), "catalog: MSysState and z have object id 3"),
        (b"z", struct.pack("<II", 9, 3), "page 3: is in tree 3 and again in tree 9 (table z)"),
        (b"z", struct.pack("<II", 9, 900), "page 0: leads to page 900 of 17 (table z)"),
    ],
)
def test_a_damaged_record_of_the_catalog_is_told(key: bytes, value: bytes, fault: str) -> None:
    disk, database = created()
    with database.store.begin() as transaction:
        BTree(database.store, database.space, 2, 2).insert(transaction, key, value)
    database.store.header.last_object_id = 9
    database.close(NOW)
    (found,) = faults(disk)
    assert found.startswith(fault)


def test_a_damaged_catalog_leaves_the_pages_to_be_looked_at_without_calling_them_lost(
    disk: SimDisk,
) -> None:
    number = leaves(disk)[3]
    for at in (2, number):
        disk.open(NAME).write((at + 1) * 4096 + 100, b"damage")
    found = check(disk, NAME)
    assert sorted(found.faults) == [
        "page 2: the checksum is wrong",
        f"page {number}: the checksum is wrong",
    ]
    assert (found.bad, found.tables) == ([2, number], {CATALOG: 0})


def test_a_table_whose_key_order_is_lost_across_leaves_is_told(disk: SimDisk) -> None:
    low, high = leaves(disk)[3:5]
    with changed(disk, low) as one, changed(disk, high) as other:
        first, second = bytes(one[40:]), bytes(other[40:])
        one[40:], other[40:] = second, first
        for offset in (28, 32, 34):
            one[offset : offset + 2], other[offset : offset + 2] = (
                other[offset : offset + 2],
                one[offset : offset + 2],
            )
    found = faults(disk)
    assert [fault.partition(": ")[0] for fault in found] == [f"page {low}", f"page {high}"]
    assert all("out of its bounds" in fault for fault in found)
