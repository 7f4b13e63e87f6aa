"""Databases with random histories against plain dicts: helpers of the tests of databases."""

import random
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from esefiles.pages.layout import offset_of
from eselab.check.check import check, records
from eselab.disk.disk import Disk, SimDisk
from eselab.storage import node
from eselab.storage.btree import BTree
from eselab.storage.database import Database
from eselab.storage.pages import sealed, stamped, unsealed
from eselab.storage.store import Transaction
from eselab.storage.tables.catalog import CATALOG
from eselab.storage.tables.record import Layout

NAME = "a.edb"
NOW = 1.5e9
Model = dict[str, dict[bytes, bytes]]
"""Records by key, by table; only what was committed and flushed."""


def created(
    page_size: int = 4096, *, seed: int = 1, cache_pages: int = 30
) -> tuple[SimDisk, Database]:
    """A new database on a simulated disk."""
    disk, chance = SimDisk(random.Random(seed)), random.Random(seed)
    database = Database.create(
        disk, NAME, page_size=page_size, cache_pages=cache_pages, now=NOW, chance=chance
    )
    return disk, database


def reopened(disk: Disk, *, cache_pages: int = 30) -> Database:
    """The database on the disk."""
    return Database.open(disk, NAME, cache_pages=cache_pages, now=NOW)


def plain(name: str) -> Layout:
    """A table without columns, whose keys and values are any bytes."""
    return Layout(name, [], key=0)


def row(object_id: int, root: int, name: bytes | None = b"a") -> tuple[bytes, bytes]:
    """A record of a table in the catalog."""
    values = [object_id, 1, object_id, root, 80, 0, 0, 255, *[None] * 4, name, *[None] * 15]
    return CATALOG.key(object_id, 1, object_id), CATALOG.record(4096, *values)


def work(database: Database, model: Model, chance: random.Random, transactions: int) -> None:
    """Random transactions, some of them aborted, all flushed at the end."""
    for _ in range(transactions):
        transaction = database.store.begin()
        new = {name: dict(rows) for name, rows in model.items()}
        if not new or (len(new) < 4 and chance.random() < 0.1):
            name = f"table {chance.randrange(1_000_000)}"
            database.create_table(transaction, plain(name))
            new[name] = {}
        for name, rows in new.items():
            if name in model:
                change(database.table(name), transaction, rows, chance)
        if chance.random() < 0.15:
            transaction.abort()
        else:
            transaction.commit()
            model.clear()
            model.update(new)
    database.store.flush()


def change(
    tree: BTree, transaction: Transaction, rows: dict[bytes, bytes], chance: random.Random
) -> None:
    """Random changes of one table."""
    for _ in range(chance.randrange(1, 15)):
        known = sorted(rows)
        if known and chance.random() < 0.4:
            key = chance.choice(known)
            del rows[key]
            tree.delete(transaction, key)
        else:
            key = chance.randbytes(chance.randrange(1, 40))
            value = chance.randbytes(chance.randrange(400))
            (tree.replace if key in rows else tree.insert)(transaction, key, value)
            rows[key] = value


def stored(disk: Disk) -> Model:
    """What `records` finds on the disk, without the tables of the system."""
    found: Model = {}
    for table, key, value in records(disk, NAME):
        if not table.startswith("MSys"):
            found.setdefault(table, {})[key] = value
    return found


def filled(page_size: int = 4096, *, count: int = 1000, clean: bool = True) -> SimDisk:
    """A sound database with two tables, "one" of three levels at 4 KiB, and free pages."""
    disk, database = created(page_size, cache_pages=500)
    with database.store.begin() as transaction:
        one = database.create_table(transaction, plain("one"))
        two = database.create_table(transaction, plain("two"))
    for begin in range(0, count, 20):
        with database.store.begin() as transaction:
            for number in range(begin, begin + 20):
                one.insert(transaction, key_of(number), bytes(500))
                two.insert(transaction, key_of(number), bytes(30))
    with database.store.begin() as transaction:
        for number in range(count // 10):
            one.delete(transaction, key_of(number))
    if clean:
        database.close(NOW)
    else:
        database.store.flush()
    return disk


def key_of(number: int) -> bytes:
    """A key whose separators are long, so that there are many branches."""
    return bytes(150) + number.to_bytes(4, "big")


@contextmanager
def changed(disk: Disk, number: int, page_size: int = 4096) -> Iterator[bytearray]:
    """The content of a page, to be changed; it is sealed again with the flush type that it had."""
    file = disk.open(NAME)
    page = file.read(offset_of(number, page_size), page_size)
    flush_type = page[37] >> 7 | (page[38] & 1) << 1
    content = bytearray(unsealed(page))
    yield content
    file.write(offset_of(number, page_size), sealed(stamped(content, number), number, flush_type))
    file.close()


def bytes_of(disk: Disk) -> dict[str, bytes]:
    """The content of each file."""
    found = {}
    for name in disk.names():
        with closing(disk.open(name)) as file:
            found[name] = file.read(0, 1 << 30)
    return found


def content(disk: Disk, number: int, page_size: int = 4096) -> bytes:
    """The content of a page on disk."""
    return unsealed(disk.open(NAME).read(offset_of(number, page_size), page_size))


def pages_where(disk: Disk, wanted: Callable[[bytes], object], page_size: int = 4096) -> list[int]:
    """Numbers of the pages on disk whose content is as wanted."""
    pages = disk.open(NAME).size() // page_size - 2
    return [at for at in range(1, pages + 1) if wanted(content(disk, at, page_size))]


def of_tree(disk: Disk, object_id: int, flag: int) -> list[int]:
    """Numbers of the pages in use of a tree that have a flag, and are not its root."""

    def wanted(page: bytes) -> bool:
        flags = node.flags(page)
        return (
            node.object_id(page) == object_id
            and bool(flags & flag)
            and not flags & (node.EMPTY | node.ROOT | node.SPACE_TREE)
        )

    return pages_where(disk, wanted)


def set_flags(page: bytearray, flags: int) -> None:
    """Give a page other flags."""
    struct.pack_into("<I", page, 36, flags)


def faults(disk: Disk) -> list[str]:
    """What a check says."""
    return check(disk, NAME).faults
