"""A database: a store, its space map, and tables by name that a catalog leads to.

Page 1 is the first map page, page 2 the root of the catalog: a tree from the name of a table
to its object id and the page of its root. Tables never go, and their roots never move.
"""

import random
import struct
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, NamedTuple, TypeVar

import msgspec

from eselab.base.trouble import ERRORS, Watcher
from eselab.disk.disk import Disk
from eselab.storage.btree import LONGEST_KEY, BTree, TreeError
from eselab.storage.pages import PageError
from eselab.storage.space import SpaceMap
from eselab.storage.store import Store, Transaction

CATALOG: Final = "MSysObjects"
CATALOG_ID: Final = 2
CATALOG_ROOT: Final = 2

STATES: Final = "MSysState"
"""The table of what the maintenance tasks keep: a record each, by name."""

BAD_PAGE_LINK: Final = -327
"""The engine's error of a page that leads to a wrong one (jethdr.w of the published engine)."""

DATABASE_CORRUPTED: Final = -1206
"""Its error of a catalog, or of a record in it, that cannot be right."""

_ENTRY: Final = struct.Struct("<II")

_State = TypeVar("_State", bound=msgspec.Struct)


class DatabaseError(TreeError):
    """The catalog, or a record of the system, is not what was written: says which and why."""


class Entry(NamedTuple):
    """What the catalog says of a table."""

    object_id: int
    root: int
    """Page number."""


class Database:
    """Tables in one file. The space map and all trees are of `store`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.space = SpaceMap(store)
        self._catalog = BTree(store, self.space, CATALOG_ROOT, CATALOG_ID)
        self._tables = {CATALOG: self._catalog}

    @classmethod
    def create(
        cls,
        disk: Disk,
        name: str,
        *,
        page_size: int,
        cache_pages: int,
        now: float,
        chance: random.Random,
        watcher: Watcher | None = None,
    ) -> "Database":
        """A new database, durable, without tables but those of the system."""
        store = Store.create(
            disk, name, page_size=page_size, cache_pages=cache_pages, now=now, chance=chance,
            watcher=watcher,
        )  # fmt: skip
        with store.begin() as transaction:
            space = SpaceMap.create(store, transaction)
            BTree.create(store, space, transaction, CATALOG_ID)
            store.header.last_object_id = CATALOG_ID
            made = cls(store)
            made.create_table(transaction, STATES)
        store.flush()
        return made

    @classmethod
    def open(
        cls,
        disk: Disk,
        name: str,
        *,
        cache_pages: int,
        now: float,
        watcher: Watcher | None = None,
        hold: Callable[[], int] | None = None,
    ) -> "Database":
        """Open a database, as `Store.open` does; what that raises, and DatabaseError."""
        store = Store.open(disk, name, cache_pages=cache_pages, now=now, watcher=watcher, hold=hold)
        with ExitStack() as opened:
            opened.callback(store.close, now)
            found = cls(store)
            try:
                found._load()
            except DatabaseError:
                raise
            except (PageError, TreeError) as error:
                raise DatabaseError(f"the catalog is damaged: {error}") from error
            opened.pop_all()
        return found

    def table(self, name: str) -> BTree:
        """The tree of a table that is committed. Raises KeyError, and as `tables` does."""
        if name not in self._tables:
            self._load()
        return self._tables[name]

    def tables(self) -> list[tuple[str, BTree]]:
        """All tables that are committed, in the order of their object ids.

        Raises PageError, TreeError, DatabaseError where tables were made since the opening
        and the catalog was damaged since.
        """
        found = sorted(self._tables.items(), key=lambda item: item[1].object_id)
        if found[-1][1].object_id == self.store.header.last_object_id:
            return found
        self._load()
        return sorted(self._tables.items(), key=lambda item: item[1].object_id)

    def create_table(self, transaction: Transaction, name: str) -> BTree:
        """A new, empty table. KeyError when the name is taken, ValueError when it is no name.

        An object id is not given again, even if the transaction is aborted.
        """
        key = name.encode()
        if not 1 <= len(key) <= LONGEST_KEY:
            raise ValueError(f"a name of {len(key)} bytes")
        if name == CATALOG or self._catalog.get(key, transaction) is not None:
            raise KeyError(name)
        self.store.header.last_object_id += 1
        number = self.store.header.last_object_id
        tree = BTree.create(self.store, self.space, transaction, number)
        self._catalog.insert(transaction, key, _ENTRY.pack(number, tree.root))
        return tree

    def state(self, name: str, type: type[_State]) -> _State | None:
        """What `set_state` last kept under this name and is committed.

        Raises PageError, TreeError, DatabaseError.
        """
        kept = self.table(STATES).get(name.encode())
        if kept is None:
            return None
        try:
            return msgspec.msgpack.decode(kept, type=type)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DatabaseError(f"the record {name} of {STATES} is damaged: {error}") from error

    def set_state(self, transaction: Transaction, name: str, kept: msgspec.Struct) -> None:
        """Keep a small record. Raises PageError, TreeError.

        ValueError when it takes more than a quarter of a page.
        """
        tree, key, value = self.table(STATES), name.encode(), msgspec.msgpack.encode(kept)
        if tree.get(key, transaction) is None:
            tree.insert(transaction, key, value)
        else:
            tree.replace(transaction, key, value)

    def keep_state(self, name: str, kept: msgspec.Struct) -> None:
        """`set_state` in a transaction of its own. Raises LogError too."""
        with self.store.begin() as transaction:
            self.set_state(transaction, name, kept)

    def close(self, now: float) -> None:
        """Shut down cleanly. An open transaction is aborted."""
        self.store.close(now)

    def _load(self) -> None:
        """Bring `_tables` up to what the catalog says."""
        for name, entry in self._entries().items():
            if name not in self._tables:
                self._tables[name] = BTree(self.store, self.space, entry.root, entry.object_id)
        last = max(tree.object_id for tree in self._tables.values())
        header = self.store.header
        header.last_object_id = max(header.last_object_id, last)

    def _entries(self) -> dict[str, Entry]:
        if self.store.pages < CATALOG_ROOT:
            raise DatabaseError("the database has no catalog: its making was cut off")
        found = dict(entry_of(key, value) for key, value in self._catalog.scan())
        if STATES not in found:
            raise DatabaseError(f"the catalog is damaged: it has no {STATES}")
        if len({entry.object_id for entry in found.values()}) < len(found):
            raise DatabaseError("the catalog is damaged: two tables have one object id")
        return found


def error_of(error: PageError | TreeError) -> int:
    """The number of the engine's error that an event names."""
    if isinstance(error, PageError):
        return ERRORS[error.trouble.kind]
    return DATABASE_CORRUPTED if isinstance(error, DatabaseError) else BAD_PAGE_LINK


def entry_of(key: bytes, value: bytes) -> tuple[str, Entry]:
    """A table's name and place, of a record of the catalog. Raises DatabaseError."""
    if len(value) != _ENTRY.size:
        raise DatabaseError(f"the catalog is damaged: record {key!r} has {len(value)} bytes")
    try:
        name, entry = key.decode(), Entry(*_ENTRY.unpack(value))
    except UnicodeDecodeError as error:
        raise DatabaseError(f"the catalog is damaged: record {key!r} is not UTF-8") from error
    if entry.object_id <= CATALOG_ID or entry.root <= CATALOG_ROOT:
        place = f"object id {entry.object_id} and root {entry.root}"
        raise DatabaseError(f"the catalog is damaged: {name} has {place}")
    return name, entry
