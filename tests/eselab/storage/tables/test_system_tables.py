"""MSysObjids and MSysLocales are as databases of Windows with the same format have them.

Bytes and rows are those of twelve of the thirteen databases of the samples (format 0x620.20,
Windows 6.2 to 10.0.20348); in the thirteenth, without a log, both begin four pages further on.
"""

import gzip
import io
import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from eselab.disk.disk import SimDisk
from eselab.storage import node
from eselab.storage.btree import TreeError
from eselab.storage.database import Database
from eselab.storage.tables.catalog import CATALOG
from eselab.storage.tables.record import Value
from eselab.storage.tables.system_tables import LOCALES, OBJECT_IDS
from tests.eselab.databases import NAME, NOW, Model, created, faults, plain, reopened, work
from tests.eselab.page_sizes import SIZES
from tests.support.samples import sample, unpacked

esedb = pytest.importorskip("dissect.esedb", reason="dissect.esedb is not installed")

OBJECTS = [(2, 2, 1), (3, 3, 1), (4, 2, 3), (5, 2, 3), (6, 6, 1), (7, 7, 1)]
"""Object id, that of its table, kind (1 a table, 3 a secondary index): without other tables."""


def objects(database: Database) -> list[tuple[Value, ...]]:
    """The rows of MSysObjids; its keys are those of its rows."""
    found: list[tuple[Value, ...]] = []
    for key, record in database.table("MSysObjids").scan():
        values = OBJECT_IDS.values(record)
        assert key == bytes([0x7F, 0x80]) + struct.pack(">I", values[0])[1:]
        found.append(tuple(values))
    return found


@pytest.mark.parametrize("page_size", SIZES)
def test_a_row_of_an_object_has_the_bytes_that_windows_writes(page_size: int) -> None:
    _, database = created(page_size)
    record = database.table("MSysObjids").get(bytes.fromhex("7f80000004"))
    small = "007f040000010c00010110000201140004000000020000000300"
    large = "007f040000010c00010111000201160000040000000002000000000300"
    assert record == bytes.fromhex(small if page_size <= 8192 else large)


def test_the_versions_of_locales_have_the_bytes_that_windows_writes() -> None:
    _, database = created()
    key, record = next(iter(database.table("MSysLocales").scan()))
    assert key.hex() == (
        "7f2e005300630068000965006d0061005c000945007800740065000972006e0061006c00095c004d0061006a00"
        "096f0072000000000006"
    )
    text = ".Schema\\External\\Major\0".encode("utf-16-le")
    assert record == bytes.fromhex("02800a000101000000fc2e00") + text


def system_rows(data: bytes) -> list[tuple[object, ...]]:
    """The rows of the catalog of both tables, with their pages."""
    rows: list[tuple[object, ...]] = []
    names = [column.name for column in CATALOG.columns]
    for record in esedb.EseDB(io.BytesIO(data)).table("MSysObjects").records():
        if record.get("ObjidTable") in (6, 7):
            rows.append(tuple((name, record.get(name)) for name in names))
    return rows


def test_the_catalog_says_of_both_what_that_of_windows_says() -> None:
    disk, database = created()
    database.close(NOW)
    file = disk.open(NAME)
    ours = system_rows(file.read(0, file.size()))
    assert len(ours) == 10
    assert ours == system_rows(gzip.decompress(sample("db/dissect-basic-4k.edb.gz").read_bytes()))


def test_the_catalog_itself_has_the_flags_of_the_system_and_of_columns_that_stay() -> None:
    _, database = created()
    flags = {
        values[12]: values[5]
        for _, record in database.table("MSysObjects").scan()
        if (values := CATALOG.values(record))[1] == 1
    }
    assert flags == {
        b"MSysObjects": -0x40000000,
        b"MSysObjectsShadow": -0x40000000,
        b"MSysObjids": -0x38000000,
        b"MSysLocales": -0x78000000,
        b"MSysState": -0x80000000,
    }


@pytest.mark.parametrize("page_size", SIZES)
def test_each_is_one_page_with_the_header_that_windows_writes(page_size: int) -> None:
    _, database = created(page_size)
    for number in (29, 30):
        header = node.external_header(database.store.read(number))
        assert header == struct.pack("<4I", 1, 1, 0, 0)


def test_all_rows_of_locales_are_those_of_windows() -> None:
    _, database = created()
    ours = [LOCALES.values(record) for _, record in database.table("MSysLocales").scan()]
    table = esedb.EseDB(
        io.BytesIO(gzip.decompress(sample("db/dissect-basic-4k.edb.gz").read_bytes()))
    ).table("MSysLocales")
    theirs = [[row.get(name) for name in ("Type", "iValue", "Key")] for row in table.records()]
    assert len(theirs) == 7
    assert ours == theirs


def test_objects_are_those_of_the_catalog_after_tables_were_made() -> None:
    _, database = created()
    assert objects(database) == [*OBJECTS, (8, 8, 1)]
    transaction = database.store.begin()
    database.create_table(transaction, plain("gone"))
    transaction.abort()
    with database.store.begin() as transaction:
        database.create_table(transaction, plain("there"))
    assert objects(database) == [*OBJECTS, (8, 8, 1), (10, 10, 1)]


@pytest.mark.parametrize("seed", range(4))
def test_objects_are_those_of_the_catalog_through_crashes(seed: int) -> None:
    chance = random.Random(seed)
    disk, database = created(chance.choice(SIZES), seed=seed)
    model: Model = {}
    for _ in range(5):
        work(database, model, chance, chance.randrange(1, 25))
        database = reopened(disk := disk.crash())
        tables = [tree.object_id for _, tree in database.tables()]
        assert [row[0] for row in objects(database) if row[2] == 1] == tables
    assert len(model) > 0


def without_both(monkeypatch: pytest.MonkeyPatch) -> SimDisk:
    """A database as this engine made them before, with a table."""
    with monkeypatch.context() as before:
        before.setattr(Database, "_make_system_tables", lambda *_: None)
        disk, database = created()
        with database.store.begin() as transaction:
            database.create_table(transaction, plain("box"))
        database.close(NOW)
    return disk


def test_a_database_without_them_gets_them_when_it_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = without_both(monkeypatch)
    database = reopened(disk)
    names = [name for name, _ in database.tables()]
    assert names == ["MSysObjects", "MSysObjectsShadow", "MSysState", "box", *names[-2:]]
    assert names[-2:] == ["MSysObjids", "MSysLocales"]
    assert [row[0] for row in objects(database)] == [2, 3, 4, 5, 6, 7, 8, 9]
    database.close(NOW)
    assert faults(disk) == []


def test_a_page_of_objects_that_is_full_is_an_error_that_says_so() -> None:
    disk, database = created(cache_pages=500)
    with pytest.raises(TreeError, match="tree 6 is full"):
        for number in range(200):
            with database.store.begin() as transaction:
                database.create_table(transaction, plain(f"table {number}"))
    assert len(objects(database)) > 100
    database.close(NOW)
    assert faults(disk) == []


def deleted(database: Database) -> None:
    with database.store.begin() as transaction:
        database.table("MSysObjids").delete(transaction, bytes.fromhex("7f80000008"))


def foreign(database: Database) -> None:
    with database.store.begin() as transaction:
        record = OBJECT_IDS.record(4096, 9, 9, 1)
        database.table("MSysObjids").insert(transaction, OBJECT_IDS.key(9), record)


@pytest.mark.parametrize("damage", [deleted, foreign])
def test_objects_that_are_not_those_of_the_catalog_are_a_fault(
    damage: Callable[[Database], None],
) -> None:
    disk, database = created()
    damage(database)
    database.close(NOW)
    assert faults(disk) == ["catalog: MSysObjids has other objects"]


@pytest.mark.slow
def test_every_real_database_of_the_format_has_both(tmp_path: Path) -> None:
    found_there = sorted((sample("README.md").parent / "db").glob("*.gz"))
    # A temporary database has no such tables.
    packed = [each for each in found_there if not each.name.endswith("temp.edb.gz")]
    assert len(packed) == 13
    places = {}
    for each in packed:
        found = esedb.EseDB(io.BytesIO(unpacked(f"db/{each.name}", tmp_path).read_bytes()))
        names = {table.name: table.record.get("ColtypOrPgnoFDP") for table in found.tables()}
        places[each.name] = (names["MSysObjids"], names["MSysLocales"])
    assert places.pop("plaso-Catalog1.edb.gz") == (33, 34)
    assert set(places.values()) == {(29, 30)}
