"""Each kind of broken structure is found on the page where it is; no undamaged file has one."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from esefiles.scans.structure.structure_check import Structure, check_structure
from tests.support.edb import seal
from tests.support.ese_database import (
    EMPTY,
    INDEX,
    INDEX_LEAVES,
    INDEX_TREE,
    LEAF,
    LEAVES,
    LOST,
    PARENT,
    ROOT,
    SMALL,
    TABLE,
    VALUES,
    EseDatabase,
    Page,
    catalogue_node,
    child,
    database,
    extent,
    key_of,
    multiple,
    record,
    reference,
    single,
)

SIZES = [4096, 8192, 16384, 32768]
Damage = Callable[[EseDatabase], object]
FIRST, MIDDLE, LAST = LEAVES


def checked(made: EseDatabase, folder: Path) -> Structure:
    return check_structure(str(made.write(folder / "a.edb")))


def found(result: Structure) -> set[tuple[int, str]]:
    return {(error.page_number, error.kind) for error in result.errors}


@pytest.mark.parametrize("page_size", SIZES)
def test_an_undamaged_database_has_no_error(tmp_path: Path, page_size: int) -> None:
    result = checked(database(page_size), tmp_path)

    assert (result.checked, result.reason, result.errors, result.remarks) == (True, "", [], [])
    assert result.lost_pages == 1
    assert {(tree.name, tree.kind, tree.pages, tree.records) for tree in result.trees} == {
        ("root of the database", "root", 1, 0),
        ("table MSysObjects", "table", 1, 9),
        ("table MSysObjectsShadow", "table", 1, 9),
        ("table mail", "table", 4, 27),
        ("index by date of table mail", "index", 3, 4),
        ("long values of table mail", "long values", 1, 2),
        ("table small", "table", 1, 1),
    }


def put(number: int, **fields: object) -> Damage:
    """Set fields of a page."""

    def damage(made: EseDatabase) -> None:
        for name, value in fields.items():
            setattr(made.pages[number], name, value)

    return damage


def node(number: int, at: int, key: bytes | None = None, data: bytes | None = None) -> Damage:
    """Another key or other data of a node."""

    def damage(made: EseDatabase) -> None:
        old = made.pages[number].nodes[at]
        new = (old[0] if key is None else key, old[1] if data is None else data, old[2])
        made.pages[number].nodes[at] = new

    return damage


def flag(number: int, *, on: int = 0, off: int = 0) -> Damage:
    def damage(made: EseDatabase) -> None:
        made.pages[number].flags = made.pages[number].flags & ~off | on

    return damage


def add(number: int, *nodes: tuple[bytes, bytes, int]) -> Damage:
    return lambda made: made.pages[number].nodes.extend(nodes)


def drop(number: int, at: int) -> Damage:
    return lambda made: made.pages[number].nodes.pop(at)


def move_root(made: EseDatabase) -> None:
    """A row of the catalogue, and that of its shadow, lead to a page of another tree."""
    for catalogue in (4, 24):
        made.pages[catalogue].nodes[-1] = catalogue_node(11, 1, 11, FIRST, "small")


def forget_table(made: EseDatabase) -> None:
    for catalogue in (4, 24):
        del made.pages[catalogue].nodes[3]


OTHER = b"\x00\x00\x00\x09"
VALUES_LEAVES = (45, 46)
VALUE = struct.pack(">I", 1)


def spread(made: EseDatabase, offsets: list[int]) -> None:
    """The long value of 1,500 bytes, in pieces of 300, lies on two pages."""
    pieces = [(VALUE + struct.pack(">I", at), b"x" * 300, 0) for at in offsets]
    root = (VALUE, struct.pack("<II", 3, 1500), 0)
    first, second = VALUES_LEAVES
    flags = made.pages[VALUES].flags
    bare = flags & ~ROOT
    made.pages[first] = Page(10, bare, [root, *pieces[:2]], following=second)
    made.pages[second] = Page(10, bare, pieces[2:], previous=first)
    children = [child(pieces[2][0], first), child(b"", second)]
    made.pages[VALUES].flags = flags & ~LEAF | PARENT
    made.pages[VALUES].nodes = children
    made.pages[VALUES].external = single(3, TABLE)


def test_a_long_value_may_lie_on_several_pages(tmp_path: Path) -> None:
    made = database()
    spread(made, [0, 300, 600, 900, 1200])
    result = checked(made, tmp_path)
    assert (result.checked, result.errors) == (True, [])


DAMAGES: dict[str, tuple[Damage, set[tuple[int, str]]]] = {
    "a leaf follows another page": (put(MIDDLE, previous=36), {(MIDDLE, "page_link")}),
    "another page follows a leaf": (put(MIDDLE, following=34), {(MIDDLE, "page_link")}),
    "a page follows the last leaf": (put(LAST, following=34), {(LAST, "page_link")}),
    "no page follows a leaf": (put(FIRST, following=0), {(FIRST, "page_link")}),
    "a branch has a neighbour": (put(TABLE, following=34), {(TABLE, "page_link")}),
    "a child out of the file": (node(TABLE, 1, data=struct.pack("<I", 99)), {(TABLE, "page_link")}),
    "a child of 0": (node(TABLE, 1, data=bytes(4)), {(TABLE, "page_link")}),
    "a cycle": (node(TABLE, 1, data=struct.pack("<I", TABLE)), {(TABLE, "double_use")}),
    "a child twice": (node(TABLE, 1, data=struct.pack("<I", 34)), {(34, "double_use")}),
    "a child that is blank": (node(TABLE, 1, data=struct.pack("<I", 38)), {(38, "blank_page")}),
    "a child of another tree": (
        node(TABLE, 1, data=struct.pack("<I", INDEX_LEAVES[0])),
        {(INDEX_LEAVES[0], "wrong_tree"), (INDEX_LEAVES[0], "double_use")},
    ),
    "a leaf marked as free": (flag(MIDDLE, on=EMPTY), {(MIDDLE, "freed_page")}),
    "a leaf of another object": (put(MIDDLE, object_id=9), {(MIDDLE, "wrong_tree")}),
    "a leaf with the flag of an index": (flag(MIDDLE, on=INDEX), {(MIDDLE, "page_flags")}),
    "a root without its flag": (flag(SMALL, off=0x1), {(SMALL, "page_flags")}),
    "a leaf in place of a branch": (
        flag(TABLE, off=PARENT), {(number, "page_flags") for number in LEAVES}
    ),
    "keys not in order": (node(MIDDLE, 2, key=key_of(18)), {(MIDDLE, "key_order")}),
    "a key twice": (node(MIDDLE, 2, key=key_of(11)), {(MIDDLE, "key_order")}),
    "keys of a branch not in order": (node(TABLE, 0, key=key_of(25)), {(TABLE, "key_order")}),
    "a branch without bound in the middle": (node(TABLE, 0, key=b""), {(TABLE, "key_order")}),
    "a key above its parent's": (node(FIRST, 9, key=key_of(10)), {(FIRST, "parent_key")}),
    "a key below its parent's": (node(MIDDLE, 0, key=key_of(9)), {(MIDDLE, "parent_key")}),
    "data of an index not in order": (node(42, 0, data=key_of(0)), {(42, "parent_key")}),
    "a branch without children": (put(TABLE, nodes=[]), {(TABLE, "node")}),
    "a child of 5 bytes": (node(TABLE, 0, data=bytes(5)), {(TABLE, "node")}),
    "a leaf without records": (put(MIDDLE, nodes=[]), {(MIDDLE, "node")}),
    "a root without a space header": (put(SMALL, external=b""), {(SMALL, "space")}),
    "another parent of space": (put(SMALL, external=single(1, 4)), {(SMALL, "space")}),
    "an extent out of the file": (
        put(SMALL, external=single(40, 1)), {(65, "beyond_end"), (49, "space")}
    ),
    "an extent of another tree": (
        put(SMALL, external=single(2, 1)), {(49, "space")}
    ),
    "no owner": (drop(32, 1), {(number, "space") for number in (40, 43, 44, 45, 46, 47)}),
    "used and available": (add(3, extent(48, 1)), {(3, "key_order")}),
    "a used page among the available": (
        put(33, nodes=[extent(36, 1), extent(39, 2), extent(47, 1)]), {(36, "double_use")}
    ),
    "available twice": (
        put(33, nodes=[extent(38, 1), extent(39, 2), extent(47, 1)]), {(38, "double_use")}
    ),
    "a free bit of a used page": (
        put(INDEX_TREE, external=single(4, TABLE, 0b110)), {(42, "double_use")}
    ),
    "an extent that is none": (add(33, (b"12", b"3", 0)), {(33, "space")}),
    "an extent before the first page": (add(33, extent(60, 70)), {(33, "space")}),
    "pages for splits that are none": (put(33, external=b"123"), {(33, "space")}),
    "a space tree elsewhere": (
        put(TABLE, external=multiple(1, 33)), {(34, "page_flags"), (34, "double_use")}
    ),
    "a root that is another page": (
        move_root, {(FIRST, "double_use")}
    ),
    "a table that the catalogue forgot": (forget_table, {(4, "catalogue")}),
    "a row that the shadow has not": (drop(24, 4), {(4, "catalogue")}),
    "a row that the catalogue has not": (drop(4, 4), {(24, "catalogue")}),
    "a row that the shadow has otherwise": (
        lambda made: made.pages[24].nodes.__setitem__(
            4, catalogue_node(8, 2, 1, 10, "a column")
        ),
        {(24, "catalogue")},
    ),
    "a row that is cut": (node(4, 4, data=b"\4\x7f"), {(4, "catalogue")}),
    "a long value that is not there": (
        lambda made: node(
            FIRST, 5, data=record(b"", 0, tagged=reference(OTHER, small=made.page_size <= 8192))
        )(made),
        {(FIRST, "long_value")},
    ),
    "a long value without its root": (
        drop(VALUES, 0), {(VALUES, "long_value"), (FIRST, "long_value")}
    ),
    "a long value of more bytes than are there": (
        node(VALUES, 0, data=struct.pack("<II", 3, 1_000_000)), {(VALUES, "long_value")}
    ),
    "a long value of fewer bytes than are there": (
        node(VALUES, 0, data=struct.pack("<II", 3, 19)), {(VALUES, "long_value")}
    ),
    "a long value without its pieces": (drop(VALUES, 1), {(VALUES, "long_value")}),
    "a long value without a piece in the middle": (
        lambda made: spread(made, [0, 300, 900, 1200]), {(VALUES_LEAVES[1], "long_value")}
    ),
    "a long value without its last piece": (
        lambda made: spread(made, [0, 300, 600, 900]), {(VALUES_LEAVES[1], "long_value")}
    ),
    "a key that is no long value": (node(VALUES, 1, key=b"\0\0\0\1\0"), {(VALUES, "long_value")}),
}  # fmt: skip


@pytest.mark.parametrize("page_size", SIZES)
@pytest.mark.parametrize("each", sorted(DAMAGES))
def test_each_damage_is_found_where_it_is(page_size: int, tmp_path: Path, each: str) -> None:
    damage, expected = DAMAGES[each]
    made = database(page_size)
    damage(made)
    result = checked(made, tmp_path)

    assert result.checked
    assert found(result) == expected
    for error in result.errors:
        assert error.sentence.startswith(f"Page {error.page_number}: ")
        assert error.sentence.endswith(".")


def test_an_index_has_a_key_more_than_once_and_a_table_does_not(tmp_path: Path) -> None:
    made = database()
    made.pages[INDEX_LEAVES[0]].nodes[1] = (b"A", key_of(7), 0)
    assert found(checked(made, tmp_path)) == set()


def test_a_page_that_does_not_verify_is_the_scans_to_tell(tmp_path: Path) -> None:
    path = database().write(tmp_path / "a.edb")
    flipped(path, MIDDLE, 0b11)
    result = check_structure(str(path))

    assert (result.checked, result.errors) == (True, [])
    assert result.lost_pages is None


@pytest.mark.parametrize("state", [1, 2, 5, 7])
def test_of_a_database_in_use_only_single_pages_are_checked(tmp_path: Path, state: int) -> None:
    for each, (damage, expected) in DAMAGES.items():
        made = database()
        made.state = state
        damage(made)
        result = checked(made, tmp_path)

        inside = {one for one in expected if one[1] in ("key_order", "node", "tags")}
        assert inside <= found(result), each
        assert not result.checked
        assert "only single pages" in result.reason
        assert not {error.kind for error in result.errors} & {
            "page_link", "double_use", "parent_key", "wrong_tree", "blank_page", "freed_page",
            "page_flags", "beyond_end",
        }  # fmt: skip


def test_tags_that_overlap_or_leave_the_data_are_found(tmp_path: Path) -> None:
    for at, kind in ((0, "tags"), (2, "tags")):
        made = database()
        content = bytearray(made.pages[MIDDLE].bytes(MIDDLE, 4096))
        # The tag of node 2: a size and a place that are not its own.
        place = 4096 - 4 * 4 + at
        struct.pack_into("<H", content, place, struct.unpack_from("<H", content, place)[0] + 3)
        path = made.write(tmp_path / "a.edb")
        with path.open("r+b") as file:
            file.seek((MIDDLE + 1) * 4096)
            file.write(seal(bytes(content), MIDDLE))
        assert (MIDDLE, kind) in found(check_structure(str(path)))


@pytest.mark.parametrize(("at", "value"), [(28, 5), (30, 4000), (32, 4090), (34, 0), (34, 4000)])
def test_a_page_header_that_cannot_be_is_found(tmp_path: Path, at: int, value: int) -> None:
    made = database()
    content = bytearray(made.pages[MIDDLE].bytes(MIDDLE, 4096))
    struct.pack_into("<H", content, at, value)
    path = made.write(tmp_path / "a.edb")
    with path.open("r+b") as file:
        file.seek((MIDDLE + 1) * 4096)
        file.write(seal(bytes(content), MIDDLE))
    assert found(check_structure(str(path))) == {(MIDDLE, "page_header")}


def test_a_shadow_without_rows_is_not_compared(tmp_path: Path) -> None:
    """As a database has it that was compacted."""
    made = database()
    made.pages[24].nodes = []
    assert checked(made, tmp_path).errors == []


def test_a_page_lost_is_counted_and_no_error(tmp_path: Path) -> None:
    made = database()
    made.pages[LOST - 1] = Page(8, EMPTY, [])
    made.pages[3].nodes[2] = extent(58, 10)
    result = checked(made, tmp_path)
    assert (result.errors, result.lost_pages) == ([], 2)


def test_a_damaged_header_leaves_single_pages(tmp_path: Path) -> None:
    path = database().write(tmp_path / "a.edb")
    with path.open("r+b") as file:
        for at in (100, 4196):
            file.seek(at)
            file.write(b"\7")
    result = check_structure(str(path))
    assert (result.checked, result.errors) == (False, [])
    assert "Both headers are damaged" in result.reason


def test_a_file_that_is_no_database_is_not_checked(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 9000)
    result = check_structure(str(tmp_path / "a"))
    assert (result.checked, result.reason) == (False, f"{tmp_path / 'a'}: not an ESE database")


def test_progress_ends_with_the_whole_file(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    path = database().write(tmp_path / "a.edb")
    check_structure(str(path), progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told[-1] == (size, size)


def test_pieces_of_a_file_that_ends_within_its_trees(tmp_path: Path) -> None:
    made = database()
    made.count = 45
    result = checked(made, tmp_path)
    assert result.checked
    assert (46, "beyond_end") in found(result)


def emptied(made: EseDatabase, number: int) -> None:
    """A root as it was when it was made: a leaf without records, with its space as it is."""
    flags = made.pages[number].flags & ~PARENT | LEAF
    made.pages[number] = Page(made.pages[number].object_id, flags, [], made.pages[number].external)


@pytest.mark.parametrize("page_size", SIZES)
def test_a_catalogue_without_rows_is_an_error(page_size: int, tmp_path: Path) -> None:
    made = database(page_size)
    emptied(made, 4)
    result = checked(made, tmp_path)

    assert [error.sentence for error in result.errors] == [
        "Page 4: the catalogue has no rows, and its shadow has 9."
    ]
    assert result.lost_pages is None


def test_a_catalogue_and_a_shadow_without_rows_are_an_error(tmp_path: Path) -> None:
    made = database()
    emptied(made, 4)
    emptied(made, 24)
    assert found(checked(made, tmp_path)) == {(4, "catalogue")}


def test_a_catalogue_that_lacks_the_row_of_its_shadow_is_compared_all_the_same(
    tmp_path: Path,
) -> None:
    made = database()
    made.pages[4].nodes = made.pages[4].nodes[:2]
    result = checked(made, tmp_path)
    assert {error.kind for error in result.errors} == {"catalogue"}
    assert len(result.errors) == 7


@pytest.mark.parametrize(("root", "pages"), [(TABLE, LEAVES), (INDEX_TREE, INDEX_LEAVES)])
@pytest.mark.parametrize("page_size", SIZES)
def test_leaves_with_records_that_nothing_leads_to_are_no_lost_pages(
    page_size: int, root: int, pages: tuple[int, ...], tmp_path: Path
) -> None:
    made = database(page_size)
    emptied(made, root)
    result = checked(made, tmp_path)

    assert found(result) == {(pages[0], "unreached")}
    assert f"{len(pages) - 1} more up to page {pages[-1]}" in result.errors[0].sentence
    assert result.lost_pages == 1


def test_lost_pages_of_deleted_records_or_of_a_deleted_tree_are_no_error(tmp_path: Path) -> None:
    """An interrupted deletion leaves them."""
    made = database()
    deleted = [(key, data, 0x2) for key, data, _ in made.pages[MIDDLE].nodes]
    made.pages[LOST] = Page(8, made.pages[MIDDLE].flags, deleted)
    assert (checked(made, tmp_path).errors, checked(made, tmp_path).lost_pages) == ([], 1)
    made.pages[LOST] = Page(12, made.pages[MIDDLE].flags, made.pages[MIDDLE].nodes)
    assert (checked(made, tmp_path).errors, checked(made, tmp_path).lost_pages) == ([], 1)


def flipped(path: Path, number: int, bits: int) -> None:
    """Flip bits of a page in place: one can be corrected."""
    with path.open("r+b") as file:
        file.seek((number + 1) * 4096 + 2000)
        (old,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([old ^ bits]))


def two_leaves_of_catalogue(made: EseDatabase) -> None:
    """The rows of the catalogue on pages 5 and 6, which were its available ones."""
    rows = made.pages[4].nodes
    flags = made.pages[4].flags & ~0x1
    made.pages[4] = Page(
        2, 0x1 | PARENT | flags & ~0x2, [(rows[5][0], struct.pack("<I", 5), 0),
        (b"", struct.pack("<I", 6), 0)], single(3, 1),
    )  # fmt: skip
    made.pages[5] = Page(2, flags, rows[:5], following=6)
    made.pages[6] = Page(2, flags, rows[5:], previous=5)


@pytest.mark.parametrize("leaf", [5, 6])
def test_what_an_unreadable_page_of_the_catalogue_leaves_out_is_said(
    leaf: int, tmp_path: Path
) -> None:
    made = database()
    two_leaves_of_catalogue(made)
    assert checked(made, tmp_path).errors == []
    flipped(tmp_path / "a.edb", leaf, 0b11)
    result = check_structure(str(tmp_path / "a.edb"))

    assert (result.checked, result.errors, result.lost_pages) == (True, [], None)
    assert result.remarks == [
        f"Not all of table MSysObjects was checked, because of page {leaf}.",
        f"{1 if leaf == 5 else 3} {'tree was' if leaf == 5 else 'trees were'} not checked:"
        " not all of the catalogue can be read.",
        "Which pages are used, free and lost was not compared.",
    ]


def test_what_an_unreadable_page_of_a_table_leaves_out_is_said(tmp_path: Path) -> None:
    path = database().write(tmp_path / "a.edb")
    flipped(path, MIDDLE, 0b11)
    result = check_structure(str(path))
    assert result.remarks == [
        f"Not all of table mail was checked, because of page {MIDDLE}.",
        "Which pages are used, free and lost was not compared.",
    ]


def test_below_a_page_with_a_bit_that_can_be_corrected_all_is_checked(tmp_path: Path) -> None:
    made = database()
    two_leaves_of_catalogue(made)
    made.pages[MIDDLE].previous = 36
    path = made.write(tmp_path / "a.edb")
    flipped(path, 6, 0b1)
    result = check_structure(str(path))

    assert found(result) == {(MIDDLE, "page_link")}
    assert (result.remarks, result.lost_pages) == ([], 1)
