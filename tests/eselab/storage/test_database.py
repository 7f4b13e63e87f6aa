"""Tables by name, and small records of the system, through aborts, crashes and damage."""

import random

import msgspec
import pytest

from eselab.disk.disk import SimDisk
from eselab.storage.database import Database, DatabaseError
from eselab.storage.store import Store
from eselab.storage.tables.catalog import CATALOG
from tests.eselab.databases import (
    NAME,
    NOW,
    Model,
    changed,
    created,
    plain,
    reopened,
    row,
    work,
)
from tests.eselab.page_sizes import SIZES

SYSTEM = ["MSysObjects", "MSysObjectsShadow", "MSysObjids", "MSysLocales", "MSysState"]


class Kept(msgspec.Struct, kw_only=True):
    page: int = 1
    seconds: float = 0.0


class Other(msgspec.Struct):
    page: str


def contents(database: Database) -> Model:
    return {
        name: dict(tree.scan()) for name, tree in database.tables() if not name.startswith("MSys")
    }


@pytest.mark.parametrize("page_size", SIZES)
def test_a_new_database_has_the_tables_of_the_system(page_size: int) -> None:
    _, database = created(page_size)
    names = [(name, tree.object_id, tree.root) for name, tree in database.tables()]
    assert names[:2] == [("MSysObjects", 2, 4), ("MSysObjectsShadow", 3, 24)]
    assert names[2:4] == [("MSysObjids", 6, 29), ("MSysLocales", 7, 30)]
    assert [name[:2] for name in names[4:]] == [("MSysState", 8)]


def test_a_table_is_found_by_its_name_at_once_and_after_an_opening() -> None:
    disk, database = created()
    with database.store.begin() as transaction:
        made = database.create_table(transaction, plain("Böxes"))
        made.insert(transaction, b"key", b"value")
    assert database.table("Böxes").root == made.root
    database.close(NOW)
    database = reopened(disk)
    assert database.table("Böxes").get(b"key") == b"value"
    assert [name for name, _ in database.tables()] == [*SYSTEM, "Böxes"]


def test_a_table_that_is_not_there_is_a_key_error() -> None:
    _, database = created()
    with pytest.raises(KeyError, match="nothing"):
        database.table("nothing")


@pytest.mark.parametrize("name", ["box", *SYSTEM])
def test_a_name_that_is_taken_is_a_key_error(name: str) -> None:
    _, database = created()
    with database.store.begin() as transaction:
        database.create_table(transaction, plain("box"))
    transaction = database.store.begin()
    with pytest.raises(KeyError, match=name):
        database.create_table(transaction, plain(name))


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_name_that_no_table_can_have_is_a_value_error(name: str) -> None:
    _, database = created()
    transaction = database.store.begin()
    with pytest.raises(ValueError, match=f"a name of {len(name)} bytes"):
        database.create_table(transaction, plain(name))


def test_an_aborted_table_is_not_there_and_its_object_id_is_not_given_again() -> None:
    _, database = created()
    transaction = database.store.begin()
    gone = database.create_table(transaction, plain("gone"))
    transaction.abort()
    with pytest.raises(KeyError):
        database.table("gone")
    assert "gone" not in dict(database.tables())
    with database.store.begin() as transaction:
        assert database.create_table(transaction, plain("there")).object_id == gone.object_id + 1


def test_object_ids_go_on_after_a_crash_from_those_of_the_catalog() -> None:
    disk, database = created()
    with database.store.begin() as transaction:
        made = [database.create_table(transaction, plain(name)) for name in ("b", "a")]
    database.store.flush()
    database = reopened(disk.crash())
    assert database.store.header.last_object_id == made[-1].object_id
    with database.store.begin() as transaction:
        assert database.create_table(transaction, plain("c")).object_id == made[-1].object_id + 1
    assert [name for name, _ in database.tables()] == [*SYSTEM, "b", "a", "c"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_tables_and_records_are_those_of_plain_dicts_through_aborts_and_crashes(seed: int) -> None:
    chance = random.Random(seed)
    disk, database = created(chance.choice(SIZES), seed=seed)
    model: Model = {}
    for _ in range(6):
        work(database, model, chance, chance.randrange(1, 25))
        if chance.random() < 0.5:
            database.store.checkpoint()
        if chance.random() < 0.7:
            disk = disk.crash()
        else:
            database.close(NOW)
        database = reopened(disk, cache_pages=chance.choice([2, 8, 100]))
        assert contents(database) == model


def test_a_state_is_what_was_kept_last_and_committed() -> None:
    disk, database = created()
    assert database.state("MSysDefrag2", Kept) is None
    with database.store.begin() as transaction:
        database.set_state(transaction, "MSysDefrag2", Kept(page=7, seconds=1.5))
        database.set_state(transaction, "other", Kept(page=1))
    with database.store.begin() as transaction:
        database.set_state(transaction, "MSysDefrag2", Kept(page=1 << 40, seconds=2.5))
    transaction = database.store.begin()
    database.set_state(transaction, "MSysDefrag2", Kept())
    transaction.abort()
    database.store.flush()
    database = reopened(disk.crash())
    assert database.state("MSysDefrag2", Kept) == Kept(page=1 << 40, seconds=2.5)
    assert database.state("other", Kept) == Kept(page=1)


def test_a_state_of_another_shape_is_a_database_error_that_names_it() -> None:
    _, database = created()
    with database.store.begin() as transaction:
        database.set_state(transaction, "MSysDefrag2", Kept(page=7))
    with pytest.raises(DatabaseError, match="record MSysDefrag2 of MSysState is damaged"):
        database.state("MSysDefrag2", Other)


def test_a_name_that_is_not_of_the_code_page_is_a_value_error() -> None:
    _, database = created()
    transaction = database.store.begin()
    with pytest.raises(ValueError, match="'メール' is not of code page 1252"):
        database.create_table(transaction, plain("メール"))


def with_catalog(key: bytes, value: bytes) -> SimDisk:
    """A database whose catalog has one more record, of any content."""
    disk, database = created()
    with database.store.begin() as transaction:
        database.table("MSysObjects").insert(transaction, key, value)
    database.close(NOW)
    return disk


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ((b"\xffa", b"no"), "record ff61: unpack"),
        ((b"\xffa", b"nothing"), "record ff61: a record with columns to 110 and 111"),
        ((b"\xffa", row(9, 9)[1]), "record ff61 has another key"),
        (row(9, 9, None), "has no name"),
        (row(1, 9), "a has object id 1 and root 9"),
        (row(9, 3), "a has object id 9 and root 3"),
    ],
)
def test_a_damaged_record_of_the_catalog_is_told_at_the_opening(
    record: tuple[bytes, bytes], reason: str
) -> None:
    with pytest.raises(DatabaseError, match=f"the catalog is damaged: .*{reason}") as caught:
        reopened(with_catalog(*record))
    assert "\n" not in str(caught.value)


def test_a_catalog_page_that_does_not_verify_is_a_database_error() -> None:
    disk, database = created()
    database.close(NOW)
    disk.open(NAME).write(4096 * 5 + 100, b"damage")
    with pytest.raises(DatabaseError, match="the catalog is damaged: page 4: checksum"):
        reopened(disk)


@pytest.mark.parametrize(
    ("at", "reason"), [(34, "page 4 of tree 2 makes no sense"), (24, "page 4 is not of")]
)
def test_a_catalog_page_without_sense_is_a_database_error(at: int, reason: str) -> None:
    disk, database = created()
    database.close(NOW)
    with changed(disk, 4) as page:
        page[at : at + 2] = b"\xff\xff"
    with pytest.raises(DatabaseError, match=f"the catalog is damaged: {reason}"):
        reopened(disk)


def test_a_database_that_was_never_made_wholly_says_so() -> None:
    disk, chance = SimDisk(random.Random(1)), random.Random(1)
    Store.create(disk, NAME, page_size=4096, cache_pages=9, now=NOW, chance=chance).close(NOW)
    with pytest.raises(DatabaseError, match="its making was cut off"):
        reopened(disk)


def test_a_catalog_without_the_table_of_the_system_says_so() -> None:
    disk, database = created()
    with database.store.begin() as transaction:
        database.table("MSysObjects").delete(transaction, CATALOG.key(8, 1, 8))
    database.close(NOW)
    with pytest.raises(DatabaseError, match="it has no MSysState"):
        reopened(disk)
