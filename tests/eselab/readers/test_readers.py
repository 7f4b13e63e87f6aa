"""Databases of the engine are opened by dissect.esedb and libesedb, with all that was written."""

import io
import random
import subprocess
import sys
from pathlib import Path

import pytest
from dissect.esedb import EseDB

from esefiles.pages.layout import offset_of
from esefiles.scans.structure.structure_check import check_structure
from eselab.base.plan import DAY, CopyPlan, DatabasePlan, FaultPlan, MailPlan, Plan, WindowPlan
from eselab.check.check import check
from eselab.disk.disk import Disk, RealDisk
from eselab.storage import node
from eselab.storage.tables.catalog import CATALOG, INDEXES
from tests.eselab.mailing import MIDNIGHT, NAME, PLAN, Life, SimLife, built, made
from tests.eselab.page_sizes import each_page_size
from tests.eselab.readers.reading import (
    KNOWN,
    by_dissect,
    by_libesedb,
    indexes_by_dissect,
    leaves_of,
    tables_by_libesedb,
    without_nulls,
    written,
)
from tests.eselab.running import run

NAME_AT = [column.name for column in CATALOG.columns].index("Name")
COLUMNS = {name: [column.name for column in layout.columns] for name, layout in KNOWN.items()}


def file_of(disk: Disk, folder: Path) -> Path:
    """The file of a database as it lies on a disk."""
    path = folder / "read.edb"
    file = disk.open(NAME)
    path.write_bytes(file.read(0, file.size()))
    file.close()
    return path


def expect_read(path: Path, disk: Disk, name: str) -> None:
    """Both readers have all tables, and every record as it was written."""
    expected = written(disk, name)
    assert len(expected["Msg"]) > 50
    assert tables_by_libesedb(path) == COLUMNS
    assert by_dissect(path.read_bytes()) == expected
    assert by_libesedb(path) == without_nulls(expected)


@each_page_size
def test_all_records_of_a_database_that_was_shut_down_are_read(
    page_size: int, tmp_path: Path
) -> None:
    life = built(80, page_size=page_size)
    life.days(1)
    life.database.keep_state("MSysDefrag2", PLAN)
    life.database.close(life.clock.now())
    expect_read(file_of(life.disk, tmp_path), life.disk, NAME)


@pytest.mark.slow
def test_pages_of_2_kib_are_read_too(tmp_path: Path) -> None:
    # No plan has them: the messages of the mail work need a quarter of a larger page.
    life = made(MailPlan(kept=10.0, body=100), 200, page_size=2048)
    life.days(1)
    life.database.close(life.clock.now())
    path = file_of(life.disk, tmp_path)
    expect_read(path, life.disk, NAME)
    found = check_structure(str(path))
    assert (found.checked, found.errors) == (True, [])


@each_page_size
def test_all_records_of_a_database_that_is_open_are_read_as_of_its_checkpoint(
    page_size: int, tmp_path: Path
) -> None:
    life = built(80, page_size=page_size)
    life.days(1)
    life.database.keep_state("MSysDefrag2", PLAN)
    life.database.store.checkpoint()
    expect_read(file_of(life.disk, tmp_path), life.disk, NAME)


@each_page_size
def test_all_records_are_read_after_crashes_that_were_recovered(
    page_size: int, tmp_path: Path
) -> None:
    chance, life = random.Random(page_size), built(80, page_size=page_size)
    for _ in range(5):
        life.days(chance.uniform(0.05, 0.5))
        disk, now = life.disk.crash(), life.clock.now()
        life = SimLife(disk, plan=PLAN, now=now, seed=chance.randrange(99))
    life.database.keep_state("MSysDefrag2", PLAN)
    life.database.close(life.clock.now())
    expect_read(file_of(life.disk, tmp_path), life.disk, NAME)


@pytest.mark.slow
@each_page_size
def test_the_tables_of_a_database_are_listed_after_any_crash(
    page_size: int, tmp_path: Path
) -> None:
    chance, life = random.Random(page_size), built(40, page_size=page_size, cache_pages=20)
    life.database.store.checkpoint()
    for _ in range(25):
        life.days(chance.uniform(0.01, 0.1))
        disk, now = life.disk.crash(), life.clock.now()
        path = file_of(disk, tmp_path)
        assert tables_by_libesedb(path) == COLUMNS
        life = SimLife(disk, plan=PLAN, now=now, seed=chance.randrange(99), cache_pages=20)


@pytest.mark.slow
@each_page_size
def test_defragmented_and_zeroed_databases_and_copies_are_read(
    page_size: int, tmp_path: Path
) -> None:
    database = DatabasePlan(
        name="a",
        page_size=page_size,
        pages=max(60, (1 << 20) // page_size),
        window=WindowPlan(offset=3600.0, length=6 * 3600.0),
        mail=MailPlan(kept=6.0),
        zero=True,
        defrag_pause=0.5,
        copies=[CopyPlan(computer="EX02")],
    )
    slow = FaultPlan(at=DAY, database="a", kind="slow", seconds=20.0)
    run(tmp_path, Plan(databases=[database], faults=[slow], sample=600.0), 4.0)
    disk, copy = RealDisk(tmp_path / "a"), tmp_path / "EX02" / "a"
    assert check(disk, "a.edb").faults == []
    assert check(RealDisk(copy), "a.edb").faults == []
    expect_read(tmp_path / "a" / "a.edb", disk, "a.edb")
    # The last logs that were replayed are not all in its file.
    assert tables_by_libesedb(copy / "a.edb") == COLUMNS
    assert (
        by_dissect((copy / "a.edb").read_bytes()).keys()
        == by_dissect((tmp_path / "a" / "a.edb").read_bytes()).keys()
    )


@pytest.mark.slow
def test_a_life_that_goes_on_is_read_each_day(tmp_path: Path) -> None:
    life = built(100, page_size=4096)
    disk, now = life.disk, MIDNIGHT
    for _ in range(4):
        life.days(1)
        now = life.clock.now()
        life.database.keep_state("MSysDefrag2", PLAN)
        life.database.close(now)
        expect_read(file_of(disk, tmp_path), disk, NAME)
        life = Life(disk, plan=PLAN, now=now)  # type: ignore[assignment]


@pytest.mark.slow
def test_the_check_of_the_structure_finds_trees_of_three_levels_sound(tmp_path: Path) -> None:
    life = built(700, page_size=4096)
    life.days(1)
    life.database.close(life.clock.now())
    root = life.database.table("Msg").root
    path = file_of(life.disk, tmp_path)
    top = life.disk.open(NAME).read(offset_of(root, 4096), 4096)
    assert not node.flags(top) & (node.LEAF | node.PARENT_OF_LEAF)
    done = subprocess.run(
        [sys.executable, "-m", "esewatch", "check", "--deep", "--format", "json", str(path)],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@each_page_size
def test_the_indexes_of_the_catalog_lead_to_each_record_by_its_name(
    page_size: int, tmp_path: Path
) -> None:
    life = built(40, page_size=page_size)
    life.database.close(life.clock.now())
    path = file_of(life.disk, tmp_path)
    catalog = written(life.disk, NAME)[CATALOG.name]
    tables = {row[NAME_AT]: row[0] for row in catalog if row[1] == 1}
    assert indexes_by_dissect(path.read_bytes()) == {
        "Id": [2, 3],
        "Name": [2],
        "RootObjects": [2],
        "KeyPrimary": [tables.pop(b"MSysLocales")],
        "primary": sorted(number for number in tables.values() if number > 3),
    }
    found = EseDB(io.BytesIO(path.read_bytes()))
    keys = {
        index.name: [(bytes(each.key), bytes(each.data)) for each in leaves_of(found, root)]
        for index in INDEXES
        if (root := index.entry.root)
    }
    names = [row[NAME_AT].upper() for row in catalog if row[1] == 1]
    assert [key for key, _ in keys["RootObjects"]] == [
        b"\x7f\xff\x7f" + name + b"\0" for name in sorted(names)
    ]
    assert len(keys["Name"]) == len(catalog)
    by_key = {CATALOG.key(*row[:3]): row for row in catalog}
    for key, record in keys["Name"]:
        object_id, kind = by_key[record][:2]
        parts = CATALOG.key(object_id, kind, 0)[:8]
        assert key == parts + b"\x7f" + by_key[record][NAME_AT].upper() + b"\0"
    assert keys["Name"] == sorted(keys["Name"])
