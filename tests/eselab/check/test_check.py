"""What a check says of sound databases, and that it changes nothing."""

import random
from pathlib import Path

import pytest

from eselab.check.check import check, records
from eselab.disk.disk import RealDisk, SimDisk
from eselab.storage import node
from eselab.storage.database import Database, DatabaseError
from eselab.storage.transaction_log.log import Log
from tests.eselab.databases import (
    NAME,
    NOW,
    Model,
    bytes_of,
    content,
    created,
    faults,
    filled,
    key_of,
    of_tree,
    plain,
    reopened,
    stored,
    work,
)
from tests.eselab.page_sizes import each_page_size
from tests.support.each import of_each

SYSTEM = {
    "MSysObjects": 76,
    "MSysObjectsShadow": 76,
    "MSysObjids": 7,
    "MSysLocales": 7,
    "MSysState": 0,
}
"""Records of a database without tables of its own: the columns of the catalog, twice."""


@pytest.mark.slow
@each_page_size
@of_each(range(5))
def test_databases_of_random_histories_are_sound_even_after_crashes(
    seed: int, page_size: int
) -> None:
    chance = random.Random(seed)
    disk, database = created(page_size, seed=seed, cache_pages=chance.choice([3, 10, 100]))
    model: Model = {}
    for _ in range(4):
        work(database, model, chance, chance.randrange(1, 25))
        if chance.random() < 0.5:
            database.store.checkpoint(chance.choice([0, 20_000]))
        if chance.random() < 0.3:
            database.close(NOW)
        else:
            disk = disk.crash()
        before = bytes_of(disk)
        found = check(disk, NAME)
        assert found.faults == []
        assert found.bad == []
        assert {name: found.tables[name] for name in model} == {
            name: len(rows) for name, rows in model.items()
        }
        assert stored(disk) == {name: rows for name, rows in model.items() if rows}
        assert bytes_of(disk) == before
        database = reopened(disk)
        assert (found.pages, found.free) == (database.store.pages, database.space.free_pages())


def test_a_database_whose_making_was_flushed_is_sound_after_a_crash() -> None:
    disk, _ = created()
    found = check(disk.crash(), NAME)
    assert (found.faults, found.tables) == ([], SYSTEM)


def test_a_real_folder_is_checked_and_left_as_it_is(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    database = Database.create(
        disk, NAME, page_size=8192, cache_pages=9, now=NOW, chance=random.Random(1)
    )
    with database.store.begin() as transaction:
        database.create_table(transaction, plain("one")).insert(transaction, b"key", b"value")
    database.store.flush()
    before = bytes_of(disk)
    found = check(disk, NAME)
    assert (found.faults, found.records, found.pages) == ([], sum(SYSTEM.values()) + 4, 64)
    assert [row for row in records(disk, NAME) if row[0] == "one"] == [("one", b"key", b"value")]
    assert bytes_of(disk) == before
    database.close(NOW)


def test_the_counts_are_those_of_the_database() -> None:
    found = check(filled(), NAME)
    catalog = SYSTEM["MSysObjects"] + 2
    of_system = {
        **SYSTEM,
        **dict.fromkeys(("MSysObjects", "MSysObjectsShadow"), catalog),
        "MSysObjids": SYSTEM["MSysObjids"] + 2,
    }
    assert found.tables == {**of_system, "one": 900, "two": 1000}
    assert found.records == sum(of_system.values()) + 1900
    assert found.free > 10


def test_a_file_that_is_missing_is_a_file_not_found_error() -> None:
    with pytest.raises(FileNotFoundError):
        check(SimDisk(random.Random(1)), NAME)


@pytest.mark.parametrize("length", [0, 1, 100, 4096, 10_000])
def test_a_file_that_is_no_database_says_so(length: int) -> None:
    disk = SimDisk(random.Random(1))
    disk.open(NAME, create=True).write(0, random.Random(1).randbytes(length))
    (fault,) = faults(disk)
    assert fault.startswith("header: ")


@pytest.mark.parametrize(
    ("at", "fault"),
    [(300, "header: the first copy is damaged"), (4396, "header: its shadow is damaged")],
)
def test_a_damaged_copy_of_the_header_is_told_and_the_other_one_used(at: int, fault: str) -> None:
    disk = filled(count=20)
    disk.open(NAME).write(at, b"\x01\x02")
    assert faults(disk) == [fault]


def test_a_header_with_too_small_a_last_object_id_is_told() -> None:
    disk, database = created()
    with database.store.begin() as transaction:
        database.create_table(transaction, plain("one"))
    database.store.header.last_object_id = 3
    database.close(NOW)
    assert faults(disk) == ["header: the last object id is 3, the catalog has 9"]


def test_a_file_that_ends_within_a_page_is_told() -> None:
    disk = filled(count=20)
    file = disk.open(NAME)
    file.write(file.size(), b"behind")
    assert faults(disk) == ["file: 6 bytes behind the last page"]


def test_a_file_that_was_cut_off_is_told_of_each_page_that_is_led_to() -> None:
    disk = filled()
    file = disk.open(NAME)
    file.truncate(file.size() - 4096 * 20)
    pages = file.size() // 4096 - 2
    found = faults(disk)
    assert any(f" of {pages} (table " in fault for fault in found)
    assert f"page 1: owns {pages + 20} pages of {pages}" in found


def test_a_checkpoint_that_is_missing_is_told() -> None:
    disk = filled(count=20)
    disk.remove("E00.chk")
    assert faults(disk) == ["checkpoint: E00.chk is missing"]


def test_a_log_that_is_missing_is_told_of_a_database_that_needs_it() -> None:
    disk = filled(count=20, clean=False)
    for name in disk.names():
        if name.endswith(".log"):
            disk.remove(name)
    (fault,) = faults(disk)
    assert fault.startswith("the log cannot be redone: generation 0x1 of the log")
    with pytest.raises(DatabaseError, match="the log cannot be redone"):
        list(records(disk, NAME))


def test_a_record_of_the_log_that_makes_no_sense_is_told() -> None:
    disk = filled(count=20, clean=False)
    database = reopened(disk)
    signature, end = database.store.header.signature, database.store._log.position
    log = Log.open(disk, signature=signature, after=end)
    log.append(b"sense")
    log.flush()
    (fault,) = faults(disk)
    assert fault.startswith("the log cannot be redone: ")


def test_a_page_that_recovery_needs_and_is_damaged_is_told_as_bad() -> None:
    disk = filled(count=20, clean=False)
    database = reopened(disk)
    tree = database.table("two")
    for value in (b"a", b"b"):
        with database.store.begin() as transaction:
            tree.replace(transaction, key_of(5), value)
        database.store.flush()
        if value == b"a":
            # From here on the log has pieces of the page, and the page on disk is gone.
            database.store._checkpoint.write(database.store._log.position, 1 << 20)
    database.store._file._file.write(4096 * (tree.root + 1) + 200, b"damage")
    found = check(disk, NAME)
    assert any(f"page {tree.root} is damaged" in fault for fault in found.faults)
    assert found.pages == 0


@pytest.mark.parametrize("bit", [400 * 8, 4095 * 8 + 7])
def test_a_flipped_bit_is_told_and_the_rest_goes_on_with_the_corrected_page(bit: int) -> None:
    disk = filled()
    number = of_tree(disk, 9, node.LEAF)[5]
    file = disk.open(NAME)
    offset = (number + 1) * 4096 + bit // 8
    file.write(offset, bytes([file.read(offset, 1)[0] ^ 1 << bit % 8]))
    found = check(disk, NAME)
    assert found.faults == [f"page {number}: bit {bit} is flipped; the checksum can correct it"]
    assert found.bad == [number]
    assert found.tables["one"] == 900


@pytest.mark.parametrize("page_size", [4096, 32768])
def test_a_damaged_page_is_told_and_the_trees_are_walked_around_it(page_size: int) -> None:
    disk = filled(page_size)
    pages = disk.open(NAME).size() // page_size - 2
    (number, *_) = [
        at
        for at in range(4, pages + 1)
        if node.object_id(page := content(disk, at, page_size)) == 9
        and node.flags(page) & (node.LEAF | node.EMPTY | node.ROOT) == node.LEAF
    ]
    disk.open(NAME).write((number + 1) * page_size + 100, b"damaged")
    found = check(disk, NAME)
    assert found.faults == [f"page {number}: the checksum is wrong"]
    assert found.bad == [number]
    assert 0 < found.tables["one"] < 900
    with pytest.raises(DatabaseError, match=f"page {number}: the checksum is wrong"):
        list(records(disk, NAME))
