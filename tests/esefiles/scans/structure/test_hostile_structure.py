"""Databases made to waste time or memory: the check ends, and says what is wrong."""

import tracemalloc
from pathlib import Path

from esefiles.pages.structure.report import MOST_ERRORS
from esefiles.scans.structure.structure_check import Structure, check_structure
from tests.support.ese_database import (
    LEAF,
    NEW_RECORD,
    PARENT,
    ROOT,
    SMALL,
    TABLE,
    EseDatabase,
    Page,
    child,
    database,
    extent,
    multiple,
    single,
)

MEMORY = 64 << 20


def checked(made: EseDatabase, folder: Path) -> Structure:
    path = made.write(folder / "a.edb")
    tracemalloc.start()
    try:
        result = check_structure(str(path))
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    assert len(result.errors) <= MOST_ERRORS
    return result


def test_a_tree_as_deep_as_the_file(tmp_path: Path) -> None:
    made = database()
    first, made.count = made.count + 1, made.count + 500
    made.pages[SMALL] = Page(11, ROOT | NEW_RECORD, [child(b"", first)], single(1, 1))
    for number in range(first, made.count):
        flags = PARENT if number == made.count - 1 else 0
        made.pages[number] = Page(11, flags | NEW_RECORD, [child(b"", number + 1)])
    made.pages[made.count] = Page(11, LEAF | NEW_RECORD, [(b"\1", bytes([0, 127, 4, 0]), 0)])
    result = checked(made, tmp_path)

    (small,) = (tree for tree in result.trees if tree.name == "table small")
    assert small.pages == 501
    assert {error.kind for error in result.errors} == {"space"}


def test_every_child_of_every_branch_is_the_root(tmp_path: Path) -> None:
    made = database()
    keys = [number.to_bytes(2, "big") for number in range(1, 200)]
    for number in (TABLE, 34, 35, 36):
        nodes = [child(key, TABLE) for key in keys]
        flags = made.pages[number].flags & ROOT | NEW_RECORD
        made.pages[number] = Page(8, flags, nodes, made.pages[number].external * (flags & ROOT))
    result = checked(made, tmp_path)

    assert result.checked
    assert (TABLE, "double_use") in {(error.page_number, error.kind) for error in result.errors}


def test_space_trees_that_lead_to_each_other(tmp_path: Path) -> None:
    made = database()
    made.pages[TABLE].external = multiple(1, TABLE)
    assert "page_flags" in {error.kind for error in checked(made, tmp_path).errors}


def test_extents_of_the_largest_counts(tmp_path: Path) -> None:
    made = database()
    made.pages[SMALL].external = single(0x7FFFFFFF, 1)
    made.pages[2].nodes.append(extent(0xFFFFFFFF, 0xFFFFFFF0))
    kinds = {error.kind for error in checked(made, tmp_path).errors}
    assert kinds & {"beyond_end", "space"}


def test_all_pages_claimed_again_and_again(tmp_path: Path) -> None:
    """Work is bounded by a multiple of the pages, not by extents times pages."""
    made = database()
    made.count = 3000
    made.pages[2].nodes = [extent(made.count, made.count)]
    made.pages[33].nodes = [extent(2990 - at, 2900) for at in reversed(range(80))]
    result = checked(made, tmp_path)
    assert {error.kind for error in result.errors} >= {"space"}
    assert len(result.errors) + result.unlisted < 80


def test_more_errors_than_are_listed_are_counted(tmp_path: Path) -> None:
    made = database()
    first, made.count = made.count + 1, made.count + 1100
    for number in range(first, made.count + 1):
        made.pages[number] = Page(8, LEAF | NEW_RECORD, [])
    result = checked(made, tmp_path)
    assert (len(result.errors), result.unlisted) == (MOST_ERRORS, 100)
