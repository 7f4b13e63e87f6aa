"""Each kind of damage inside trees and space is reported, with its page and the error."""

import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from eselab.check.check import check
from eselab.disk.disk import SimDisk
from eselab.storage import node
from eselab.storage.tables.space import extent_of
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
    reopened,
    row,
    set_flags,
)

ONE = 9
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


def root_of(disk: SimDisk) -> int:
    """The root of table "one"."""
    (root,) = pages_where(
        disk,
        lambda page: (
            node.object_id(page) == ONE
            and node.flags(page) & (node.ROOT | node.SPACE_TREE) == node.ROOT
        ),
    )
    return root


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
    assert faults(disk) == [f"page {number}: is of tree 77, not 9 (table one)"]


@pytest.mark.parametrize("flags", [3, 6, 2 | 0x40, 2 | 0x20])
def test_wrong_flags_are_told(disk: SimDisk, flags: int) -> None:
    number = leaves(disk)[3]
    with changed(disk, number) as page:
        set_flags(page, flags | 0x2800)
    check_told(disk, f"page {number}: has the wrong flags {flags | 0x2800:#x} (table one)")


@pytest.mark.parametrize("flags", [0, 1, 4])
def test_a_leaf_without_its_flag_is_told(disk: SimDisk, flags: int) -> None:
    number = leaves(disk)[3]
    with changed(disk, number) as page:
        set_flags(page, flags | 0x2800)
    check_told(disk, f"page {number}: has the wrong flags {flags | 0x2800:#x} (table one)")


def test_a_root_without_its_flag_is_told(disk: SimDisk) -> None:
    root = root_of(disk)
    with changed(disk, root) as page:
        set_flags(page, node.flags(page) & ~node.ROOT)
    (fault,) = faults(disk)
    assert fault == f"page {root}: an external header of 16 bytes at 0"


def test_a_branch_that_leads_to_itself_ends_with_a_fault(disk: SimDisk) -> None:
    branch = of_tree(disk, ONE, node.PARENT_OF_LEAF)[0]
    with changed(disk, branch) as page:
        node.replace(page, 1, struct.pack("<I", branch))
    check_told(disk, f"page {branch}: is in tree 9 and again in tree 9 (table one)")


def test_a_branch_that_leads_upwards_ends_with_a_fault(disk: SimDisk) -> None:
    branch = of_tree(disk, ONE, node.PARENT_OF_LEAF)[0]
    above, _ = parent_of(disk, branch)
    with changed(disk, branch) as page:
        node.replace(page, 1, struct.pack("<I", above))
    check_told(disk, f"page {above}: is in tree 9 and again in tree 9 (table one)")


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
        check_told(disk, f"page {free}: is in tree 9 and available")


def test_a_page_of_two_trees_is_told(disk: SimDisk) -> None:
    other = of_tree(disk, ONE + 1, node.LEAF)[0]
    with lead_elsewhere(disk, leaves(disk)[3], struct.pack("<I", other)):
        check_told(disk, f"page {other}: is in tree 9 and again in tree 10 (table two)")
        check_told(disk, f"page {other}: is of tree 10, not 9 (table one)")


def test_a_page_of_extents_in_a_tree_is_told(disk: SimDisk) -> None:
    root = root_of(disk)
    with lead_elsewhere(disk, leaves(disk)[3], struct.pack("<I", root + 1)):
        check_told(disk, f"page {root + 1}: has the wrong flags 0x2823 (table one)")


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
        node.set_last_key(page, b"\xff" * 4)
        node.set_following(page, 3)
    check_told(disk, f"page {branch}: is a branch with siblings (table one)")
    fault = f"page {branch}: ends at the key ffffffff, out of its bounds (table one)"
    check_told(disk, fault)


def test_a_branch_whose_last_child_has_a_bound_is_told(disk: SimDisk) -> None:
    branch, _ = parent_of(disk, leaves(disk)[0])
    with changed(disk, branch) as page:
        node.set_last_key(page, b"\0")
    assert any(f"page {branch}: " in fault for fault in faults(disk))


def test_a_branch_without_children_is_told(disk: SimDisk) -> None:
    branch = of_tree(disk, ONE, node.PARENT_OF_LEAF)[1]
    with changed(disk, branch) as page:
        node.init(page, ONE, node.PARENT_OF_LEAF)
    assert faults(disk) == [f"page {branch}: is a branch without children (table one)"]


def test_an_endless_chain_of_branches_ends_with_one_line(disk: SimDisk) -> None:
    chain = of_tree(disk, ONE, node.LEAF)
    root = root_of(disk)
    for number, child in pairwise([root, *chain, root]):
        with changed(disk, number) as page:
            header = node.external_header(page) if number == root else b""
            node.init(page, ONE, node.ROOT if number == root else 0, header)
            node.insert(page, 0, b"", struct.pack("<I", child))
    check_told(disk, f"page {root}: is in tree 9 and again in tree 9 (table one)")


@pytest.mark.parametrize("at", [28, 32, 34, 4088, 4092])
def test_a_page_whose_inside_makes_no_sense_is_told(disk: SimDisk, at: int) -> None:
    number = leaves(disk)[3]
    with changed(disk, number) as page:
        page[at : at + 2] = b"\xff\xff"
    (fault,) = faults(disk)
    assert fault.startswith(f"page {number}: ")


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 24, 33, 34, 35, 49, 50, 51])
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


@contextmanager
def available(disk: SimDisk, at: int) -> Iterator[tuple[bytearray, range]]:
    """The root of what is available to table "one", and its extent of that index."""
    with changed(disk, root_of(disk) + 2) as page:
        yield page, extent_of(node.key(page, at), node.value(page, at))


def test_a_page_that_was_lost_to_no_tree_is_told(disk: SimDisk) -> None:
    with available(disk, 0) as (page, lost):
        node.remove(page, 0)
    assert faults(disk) == [f"page {number}: is in no tree and not available" for number in lost]


def test_a_page_that_is_in_a_tree_and_available_is_told(disk: SimDisk) -> None:
    number = leaves(disk)[3]
    with changed(disk, root_of(disk) + 2) as page:
        key = struct.pack(">I", number)
        node.insert(page, node.find(page, key)[0], key, struct.pack("<I", 1))
    check_told(disk, f"page {number}: is in tree 9 and available")


def test_a_page_that_is_available_twice_is_told(disk: SimDisk) -> None:
    root = root_of(disk)
    with available(disk, 0) as (_, pages):
        free = pages.start
    with changed(disk, 3) as page:
        key = struct.pack(">I", free)
        node.insert(page, node.find(page, key)[0], key, struct.pack("<I", 1))
    check_told(disk, f"page {free}: is available to page 1 and {root}")


def test_a_free_page_that_is_not_empty_is_told(disk: SimDisk) -> None:
    free = pages_where(disk, lambda page: node.flags(page) & node.EMPTY)[0]
    with changed(disk, free) as page:
        node.init(page, ONE, node.LEAF)
    assert faults(disk) == [f"page {free}: is available and not empty"]


def test_a_tree_that_does_not_own_its_pages_is_told(disk: SimDisk) -> None:
    root = root_of(disk)
    with changed(disk, root + 1) as page:
        lost = extent_of(node.key(page, 1), node.value(page, 1))
        node.remove(page, 1)
    told = check_told(disk, f"page {lost[5]}: is in the tree of page {root}, which does not own it")
    assert f"page {root}: has page {lost[0]} to give and does not own it" in told


def test_a_page_that_two_trees_own_is_told(disk: SimDisk) -> None:
    root = root_of(disk)
    with changed(disk, root + 1) as page:
        key = struct.pack(">I", 20)
        node.insert(page, 0, key, struct.pack("<I", 1))
    assert faults(disk) == [f"page 20: is owned by page 4 and {root}"]


def test_a_file_that_is_not_owned_wholly_is_told(disk: SimDisk) -> None:
    pages = check(disk, NAME).pages
    with changed(disk, 2) as page:
        node.remove(page, node.count(page) - 1)
    check_told(disk, f"page 1: owns {pages - 16} pages of {pages}")


@pytest.mark.parametrize("value", [b"", bytes(4), struct.pack("<I", 1 << 20)])
def test_an_extent_that_makes_no_sense_is_told(disk: SimDisk, value: bytes) -> None:
    root = root_of(disk)
    with changed(disk, root + 1) as page:
        key = node.key(page, 0)
        node.replace(page, 0, value)
    fault = f"page {root + 1}: an extent of {value.hex()} pages to page {key.hex()}"
    assert faults(disk) == [fault]


def test_a_root_that_leads_to_no_space_is_told(disk: SimDisk) -> None:
    root = root_of(disk)
    with changed(disk, root) as page:
        node.set_external_header(page, bytes(16))
    assert faults(disk) == [f"page {root}: has no header that leads to its space (table one)"]


def test_a_shadow_of_the_catalog_with_other_records_is_told(disk: SimDisk) -> None:
    (leaf, *_) = of_tree(disk, 3, node.LEAF)
    with changed(disk, leaf) as page:
        node.replace(page, 1, node.value(page, 1)[:-1] + b"?")
    assert faults(disk) == ["catalog: its shadow has other records"]


@pytest.mark.parametrize("name", ["Name", "RootObjects"])
def test_an_index_of_the_catalog_that_lacks_an_entry_is_told(disk: SimDisk, name: str) -> None:
    database = reopened(disk)
    index = database.indexes[name]
    with database.store.begin() as transaction:
        index.delete(transaction, next(index.scan())[0])
    database.close(NOW)
    assert faults(disk) == [f"catalog: its index {name} has other entries"]


def test_a_dbtime_beyond_that_of_the_database_is_told(disk: SimDisk) -> None:
    number = leaves(disk)[3]
    with changed(disk, number) as page:
        struct.pack_into("<Q", page, 8, 1 << 50)
    (fault,) = faults(disk)
    assert fault.startswith(f"page {number}: its dbtime {1 << 50} is beyond ")


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ((b"\xffa", b"short"), "catalog: record ff61: a record with columns to"),
        (row(9, 1000), "page 0: leads to page 1000 of 48 (table a)"),
        (row(9, 4), "page 4: is in tree 2 and again in tree 9 (table a)"),
        (row(9, 4, None), "has no name"),
    ],
)
def test_a_damaged_record_of_the_catalog_is_told(record: tuple[bytes, bytes], fault: str) -> None:
    disk, database = created()
    with database.store.begin() as transaction:
        for name in ("MSysObjects", "MSysObjectsShadow"):
            database.table(name).insert(transaction, *record)
    database.store.header.last_object_id = 9
    database.close(NOW)
    assert any(fault in told for told in faults(disk))


def test_a_damaged_catalog_leaves_the_pages_to_be_looked_at_without_calling_them_lost(
    disk: SimDisk,
) -> None:
    number = leaves(disk)[3]
    for at in (4, number):
        disk.open(NAME).write((at + 1) * 4096 + 100, b"damage")
    found = check(disk, NAME)
    assert sorted(found.faults) == [
        "page 4: the checksum is wrong",
        f"page {number}: the checksum is wrong",
    ]
    assert (found.bad, found.tables) == ([4, number], {"MSysObjects": 0})


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
