"""Databases of real instances: no wrong error, and what two other readers say of their trees."""

import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from esefiles.pages.structure.report import TreeFigures
from esefiles.scans.structure.structure_check import check_structure
from tests.support import ese_database
from tests.support.edb import seal
from tests.support.samples import unpacked

CLEAN = [
    "chainsaw-SRUDB.dat",
    "dissect-SRUDB-16-bad-pages.dat",
    "dissect-basic-4k.edb",
    "dissect-large-32k.edb",
    "dissect-multi-4k.edb",
    "dissect-text-4k.edb",
    "goese-ual-hyperv-SystemIdentity.mdb",
    "plaso-Catalog1.edb",
    "plaso-ual-C519A76A.mdb",
    "strozfriedberg-decompress_test-8k.edb",
    "strozfriedberg-test-v1.edb",
    "velociraptor-SystemIdentity-rev0xb4.mdb",
]


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_database_has_no_error(name: str, tmp_path: Path) -> None:
    result = check_structure(str(unpacked(f"db/{name}.gz", tmp_path)))

    assert (result.checked, result.errors, result.remarks) == (True, [], [])
    assert result.lost_pages in (0, None)


def test_a_dirty_database_has_no_error(tmp_path: Path) -> None:
    path = unpacked("db/goese-ual-hyperv-Current-dirty.mdb.gz", tmp_path)
    result = check_structure(str(path))

    assert (result.checked, result.errors) == (False, [])
    assert result.pages == 53


class Copy:
    """A copy of a real database, whose pages can be changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = bytearray(path.read_bytes())
        self.size = 8192 if "8k" in path.name else 32768 if "32k" in path.name else 4096

    def numbers(self, on: int, off: int) -> Iterator[int]:
        """Pages with these flags, without those, that have nodes."""
        for number in range(1, len(self.data) // self.size - 1):
            (flags,) = self.fields(number, "<I", 36)
            tags = self.fields(number, "<H", 34)[0] & 0xFFF
            if flags & on == on and not flags & (off | 0x8) and tags > 2:
                yield number

    def fields(self, number: int, form: str, at: int) -> tuple[int, ...]:
        return struct.unpack_from(form, self.data, (number + 1) * self.size + at)

    def put(self, number: int, form: str, at: int, *values: int) -> None:
        begin = (number + 1) * self.size
        struct.pack_into(form, self.data, begin + at, *values)
        self.data[begin : begin + self.size] = seal(
            bytes(self.data[begin : begin + self.size]), number
        )

    def emptied(self, number: int) -> None:
        """A root as it was when it was made: a leaf without records, with its space as it is."""
        object_id, flags = self.fields(number, "<I", 24)[0], self.fields(number, "<I", 36)[0]
        large = self.size > 8192
        size, place = self.fields(number, "<HH", self.size - 4)
        mask, base = (0x7FFF, 80) if large else (0x1FFF, 40)
        begin = (number + 1) * self.size + base + (place & mask)
        external = bytes(self.data[begin : begin + (size & mask)])
        flags = flags & ~0x4 | LEAF
        page = ese_database.Page(object_id, flags, [], external).bytes(number, self.size)
        self.data[(number + 1) * self.size : (number + 2) * self.size] = page

    def kinds(self) -> set[tuple[int, str]]:
        self.path.write_bytes(self.data)
        errors = check_structure(str(self.path)).errors
        return {(error.page_number, error.kind) for error in errors}


ROOT, LEAF, PARENT, SPACE, DELETED = 0x1, 0x2, 0x4, 0x20, 0x2
CATALOGUE, SHADOW = 4, 24
LARGE = "dissect-large-32k.edb"
WHOLE = [
    pytest.param(name, marks=pytest.mark.slow) if "large" in name else name
    for name in CLEAN
    if "bad-pages" not in name
]
"""Databases without a bad page."""


def extents(of: Copy) -> Iterator[tuple[int, int]]:
    """Leaves of space trees, and where in each the number of pages of the first extent is."""
    for number in of.numbers(ROOT | SPACE | LEAF, 0):
        large = of.size > 8192
        (size, place) = of.fields(number, "<HH", of.size - 8)
        begin = (80 if large else 40) + (place & (0x7FFF if large else 0x1FFF))
        flags = of.fields(number, "<BB", begin)[1] >> 5 if large else place >> 13
        if not flags & DELETED:
            yield number, begin + (size & 0x1FFF) - 4


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *((name, 100) for name in CLEAN if "bad-pages" not in name and name != LARGE),
        pytest.param(LARGE, 100, marks=pytest.mark.slow),
    ],
)
def test_damage_with_a_right_checksum_is_found_in_a_real_database(
    name: str, most: int, tmp_path: Path
) -> None:
    path = unpacked(f"db/{name}.gz", tmp_path)

    def copy() -> Copy:
        path.write_bytes(whole)
        return Copy(path)

    whole = path.read_bytes()
    leaves = list(copy().numbers(LEAF, ROOT | SPACE))
    places = dict.fromkeys((len(leaves) // 2, 0, len(leaves) - 1)) if leaves else ()
    for number in (leaves[place] for place in islice(places, most)):
        made = copy()
        made.put(number, "<I", 16, made.fields(number, "<I", 16)[0] + 1)
        assert (number, "page_link") in made.kinds()

        made = copy()
        made.put(number, "<I", 24, made.fields(number, "<I", 24)[0] + 1)
        assert (number, "wrong_tree") in made.kinds()

        made = copy()
        made.put(number, "<I", 36, made.fields(number, "<I", 36)[0] | 0x8)
        assert (number, "freed_page") in made.kinds()

        made = copy()
        tags = made.size - 12
        first, second = made.fields(number, "<I", tags)[0], made.fields(number, "<I", tags + 4)[0]
        made.put(number, "<II", tags, second, first)
        assert (number, "key_order") in made.kinds()

    for number, at in islice(extents(copy()), most):
        made = copy()
        made.put(number, "<I", at, made.fields(number, "<I", at)[0] + 1)
        assert {kind for _, kind in made.kinds()} & {"space", "double_use", "beyond_end"}


@pytest.mark.parametrize("name", WHOLE)
def test_an_emptied_root_is_found_in_a_real_database(name: str, tmp_path: Path) -> None:
    path = unpacked(f"db/{name}.gz", tmp_path)
    whole = path.read_bytes()
    made = Copy(path)
    made.emptied(CATALOGUE)
    assert made.kinds() == {(CATALOGUE, "catalogue")}

    path.write_bytes(whole)
    roots = set(Copy(path).numbers(ROOT | PARENT, SPACE)) - {CATALOGUE, SHADOW}
    for number in sorted(roots)[:3]:
        path.write_bytes(whole)
        made = Copy(path)
        made.emptied(number)
        assert "unreached" in {kind for _, kind in made.kinds()}, number


@pytest.mark.parametrize("name", WHOLE)
def test_a_bit_of_the_catalogue_that_can_be_corrected_hides_nothing(
    name: str, tmp_path: Path
) -> None:
    path = unpacked(f"db/{name}.gz", tmp_path)
    trees = check_structure(str(path)).trees
    made = Copy(path)
    for number in range(1, len(made.data) // made.size - 1):
        if made.fields(number, "<I", 24)[0] == 2:
            made.data[(number + 1) * made.size + 1000] ^= 1
    path.write_bytes(made.data)
    result = check_structure(str(path))
    assert (result.errors, result.remarks, result.trees) == ([], [], trees)


@pytest.mark.parametrize("name", WHOLE)
def test_a_page_of_the_catalogue_that_is_lost_gives_a_remark_and_no_wrong_error(
    name: str, tmp_path: Path
) -> None:
    path = unpacked(f"db/{name}.gz", tmp_path)
    whole = path.read_bytes()
    made = Copy(path)
    leaves = [at for at in made.numbers(LEAF, SPACE) if made.fields(at, "<I", 24)[0] == 2]
    for number in {leaves[0], leaves[len(leaves) // 2], leaves[-1]}:
        made.data = bytearray(whole)
        made.data[(number + 1) * made.size + 1000] ^= 3
        path.write_bytes(made.data)
        result = check_structure(str(path))
        assert result.errors == [], number
        assert result.remarks, number


def tables(path: Path) -> dict[str, TreeFigures]:
    found = [tree for tree in check_structure(str(path)).trees if tree.kind == "table"]
    return {tree.name.removeprefix("table "): tree for tree in found}


@pytest.mark.parametrize("name", CLEAN)
def test_tables_and_records_are_those_of_libesedb(name: str, tmp_path: Path) -> None:
    pyesedb = pytest.importorskip("pyesedb", reason="libesedb-python is not installed")
    path = unpacked(f"db/{name}.gz", tmp_path)
    theirs: dict[str, int] = {}
    database: Any = pyesedb.file()
    database.open(str(path))
    try:
        for at in range(database.get_number_of_tables()):
            table = database.get_table(at)
            theirs[table.get_name()] = table.get_number_of_records()
    finally:
        database.close()

    assert {name: tree.records for name, tree in tables(path).items()} == theirs


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if "large" in name else name for name in CLEAN],
)
def test_tables_records_and_pages_are_those_of_dissect(name: str, tmp_path: Path) -> None:
    esedb = pytest.importorskip("dissect.esedb", reason="dissect.esedb is not installed")
    path = unpacked(f"db/{name}.gz", tmp_path)
    with path.open("rb") as file:
        database: Any = esedb.EseDB(file)
        theirs = {table.name: _counts(database, table.root) for table in database.tables()}

    ours = {name: (tree.pages, tree.records) for name, tree in tables(path).items()}
    assert ours == theirs


def _counts(database: Any, root: Any) -> tuple[int, int]:
    """Pages of a tree, and nodes of its leaves that are not deleted."""
    waiting, pages, records = [root], 0, 0
    while waiting:
        page = waiting.pop()
        pages += 1
        nodes = [page.node(at) for at in range(page.node_count)]
        if page.is_leaf:
            records += sum(not node.tag.flags & 0x2 for node in nodes)
        else:
            waiting += [database.page(node.child) for node in nodes]
    return pages, records
