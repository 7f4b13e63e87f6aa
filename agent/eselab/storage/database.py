"""A database: a store, its space, and tables by name that a catalog leads to.

Page 1 is the root from which the whole file is owned, page 4 that of the catalog, page 24 that
of its shadow. Tables never go, and their roots never move.
"""

import random
import struct
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Final, TypeVar

import msgspec

from eselab.base.trouble import ERRORS, Watcher
from eselab.disk.disk import Disk
from eselab.storage import node
from eselab.storage.btree import BTree, TreeError
from eselab.storage.pages import PageError
from eselab.storage.store import Store, Transaction
from eselab.storage.tables.catalog import (
    CATALOG,
    CATALOG_ID,
    CATALOG_PAGES,
    CATALOG_ROOT,
    INDEXES,
    LAST_OWN_ID,
    ROOT_OBJECTS,
    SHADOW,
    SHADOW_ID,
    SHADOW_PAGES,
    CatalogError,
    Entry,
    entries_of,
    key_of_table,
    name_of,
    object_of,
    rows_of,
    table_of,
)
from eselab.storage.tables.record import BINARY, LONG_BINARY, Column, Layout
from eselab.storage.tables.space import EXTENT, SYSTEM_ROOT, OnePage, Space, Survey
from eselab.storage.tables.system_tables import KEPT, LOCALES, OBJECT_IDS, rows_of_locales

STATES: Final = Layout("MSysState", [Column("Name", BINARY), Column("State", LONG_BINARY)], key=1)
"""The table of what the maintenance tasks keep: a record each, by name."""

AT_FIRST: Final = 2 * EXTENT
"""Pages of a new database."""

BAD_PAGE_LINK: Final = -327
"""The engine's error of a page that leads to a wrong one (jethdr.w of the published engine)."""

DATABASE_CORRUPTED: Final = -1206
"""Its error of a catalog, or of a record in it, that cannot be right."""

_State = TypeVar("_State", bound=msgspec.Struct)


class DatabaseError(TreeError):
    """The catalog, or a record of the system, is not what was written: says which and why."""


class Database:
    """Tables in one file. The space map and all trees are of `store`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._root = Space(store, SYSTEM_ROOT, SYSTEM_ROOT)
        self._spaces = {SYSTEM_ROOT: self._root}
        self._tables: dict[str, BTree] = {}
        self.space = Survey(store, self._all_spaces)
        self._catalog = self._tree(CATALOG.name, Entry(CATALOG_ID, CATALOG_ROOT))
        self._shadow = self._tree(SHADOW.name, Entry(SHADOW_ID, SHADOW_PAGES.start))
        self.indexes = {
            index.name: self._tree_at(index.entry, self._spaces[CATALOG_ROOT]) for index in INDEXES
        }
        """Of the catalog, by name."""

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
            transaction.extend(AT_FIRST)
            root = Space.create(store, transaction, range(1, AT_FIRST + 1), SYSTEM_ROOT)
            _plant(transaction, root, SYSTEM_ROOT, AT_FIRST)
            made = cls(store)
            store.header.last_object_id = LAST_OWN_ID
            for layout, number, pages in (
                (CATALOG, CATALOG_ID, CATALOG_PAGES),
                (SHADOW, SHADOW_ID, SHADOW_PAGES),
            ):
                root.claim(transaction, pages)
                made._plant(transaction, layout, number, pages)
            made._plant_indexes(transaction)
            for layout, number, pages in (
                (CATALOG, CATALOG_ID, CATALOG_PAGES),
                (SHADOW, SHADOW_ID, SHADOW_PAGES),
            ):
                made._enter(transaction, layout, Entry(number, pages.start), len(pages))
            made._make_system_tables(transaction)
            made.create_table(transaction, STATES)
        store.checkpoint()
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
        lossy: bool = False,
    ) -> "Database":
        """Open a database, as `Store.open` does; what that raises, and DatabaseError."""
        store = Store.open(
            disk, name, cache_pages=cache_pages, now=now, watcher=watcher, hold=hold, lossy=lossy
        )
        with ExitStack() as opened:
            opened.callback(store.close, now)
            found = cls(store)
            try:
                found._load()
                if OBJECT_IDS.name not in found._tables:
                    with store.begin() as transaction:
                        found._make_system_tables(transaction)
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

    def create_table(self, transaction: Transaction, layout: Layout) -> BTree:
        """A new, empty table. KeyError when the name is taken, ValueError when it is no name.

        An object id is not given again, even if the transaction is aborted.
        """
        taken = self.indexes[ROOT_OBJECTS.name]
        if taken.get(key_of_table(name_of(layout.name)), transaction) is not None:
            raise KeyError(layout.name)
        number = self.store.header.last_object_id + 1
        pages = self._root.extent(transaction, EXTENT)
        self._enter(transaction, layout, Entry(number, pages.start), len(pages))
        self.store.header.last_object_id = number
        return self._plant(transaction, layout, number, pages)

    def _make_system_tables(self, transaction: Transaction) -> None:
        """The tables MSysObjids and MSysLocales, with the objects that there are."""
        made: list[tuple[str, Entry]] = []
        for layout in (OBJECT_IDS, LOCALES):
            self.store.header.last_object_id += 1
            pages = self._root.extent(transaction, 1)
            made.append((layout.name, Entry(self.store.header.last_object_id, pages.start)))
            self._enter(transaction, layout, made[-1][1], 0)
        objects, locales = (self._tree(name, entry) for name, entry in made)
        for _, entry in made:
            _plant(transaction, self._spaces[entry.root], entry.object_id, 1)
        for _, record in self._catalog.scan(transaction=transaction):
            if (row := object_of(record, self.store.page_size)) is not None:
                objects.insert(transaction, *row)
        for row in rows_of_locales(self.store.page_size):
            locales.insert(transaction, *row)

    def _plant(self, transaction: Transaction, layout: Layout, number: int, pages: range) -> BTree:
        """A new tree on these pages."""
        space = Space.create(self.store, transaction, pages, number, self._root)
        return _plant(transaction, space, number, len(pages))

    def _plant_indexes(self, transaction: Transaction) -> None:
        """New trees for the indexes of the catalog, of its own pages."""
        catalog = self._spaces[CATALOG_ROOT]
        for index in INDEXES:
            number = index.entry.object_id
            catalog.claim(transaction, index.pages)
            space = Space.create(
                self.store, transaction, index.pages, number, catalog, flags=node.INDEX
            )
            _plant(transaction, space, number, len(index.pages), flags=node.INDEX)

    def _enter(self, transaction: Transaction, layout: Layout, entry: Entry, pages: int) -> None:
        """Put a table in the catalog, its shadow and its indexes, and in MSysObjids."""
        for key, record in rows_of(layout, entry, pages, self.store.page_size):
            self._catalog.insert(transaction, key, record)
            self._shadow.insert(transaction, key, record)
            for index, index_key in entries_of(record):
                self.indexes[index.name].insert(transaction, index_key, key)
            row = object_of(record, self.store.page_size)
            if row is not None and OBJECT_IDS.name in self._tables:
                self._tables[OBJECT_IDS.name].insert(transaction, *row)

    def state(self, name: str, type: type[_State]) -> _State | None:
        """State that `set_state` last kept under this name, as committed.

        Raises PageError, TreeError, DatabaseError.
        """
        record = self.table(STATES.name).get(STATES.key(name.encode()))
        if record is None:
            return None
        try:
            _, kept = STATES.values(record)
            return msgspec.msgpack.decode(kept if isinstance(kept, bytes) else b"", type=type)
        except (msgspec.DecodeError, ValueError, struct.error) as error:
            fault = f"the record {name} of {STATES.name} is damaged: {error}"
            raise DatabaseError(fault) from error

    def set_state(self, transaction: Transaction, name: str, kept: msgspec.Struct) -> None:
        """Keep a small record. Raises PageError, TreeError.

        ValueError when it takes more than a quarter of a page.
        """
        tree, key = self.table(STATES.name), STATES.key(name.encode())
        value = STATES.record(self.store.page_size, name.encode(), msgspec.msgpack.encode(kept))
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

    def _all_spaces(self) -> Iterable[Space]:
        self.tables()
        return self._spaces.values()

    def _tree(self, name: str, entry: Entry) -> BTree:
        """The tree of a table."""
        kind = OnePage if name in KEPT else Space
        self._tables[name] = self._tree_at(entry, self._root, kind)
        return self._tables[name]

    def _tree_at(self, entry: Entry, parent: Space, kind: type[Space] = Space) -> BTree:
        space = kind(self.store, entry.root, entry.object_id, parent)
        self._spaces[entry.root] = space
        return BTree(self.store, space, entry.root, entry.object_id)

    def _load(self) -> None:
        """Bring `_tables` up to what the catalog says."""
        for name, entry in self._entries(None).items():
            if name not in self._tables:
                self._tree(name, entry)
        last = max(tree.object_id for tree in self._tables.values())
        header = self.store.header
        header.last_object_id = max(header.last_object_id, last, LAST_OWN_ID)

    def _entries(self, transaction: Transaction | None) -> dict[str, Entry]:
        """All tables. Raises DatabaseError where the catalog has none of the system."""
        pages = self.store.pages if transaction is None else transaction.pages
        if pages < CATALOG_ROOT:
            raise DatabaseError("the database has no catalog: its making was cut off")
        found: dict[str, Entry] = {}
        try:
            for key, record in self._catalog.scan(transaction=transaction):
                if (table := table_of(key, record)) is not None:
                    _verify(*table)
                    found[table[0]] = table[1]
        except CatalogError as error:
            raise DatabaseError(f"the catalog is damaged: {error}") from error
        if transaction is None and STATES.name not in found:
            raise DatabaseError(f"the catalog is damaged: it has no {STATES.name}")
        if len({entry.object_id for entry in found.values()}) < len(found):
            raise DatabaseError("the catalog is damaged: two tables have one object id")
        return found


def _plant(
    transaction: Transaction, space: Space, number: int, pages: int, *, flags: int = 0
) -> BTree:
    """A new tree at the root of a new space, which began with so many pages."""
    header = space.external_header(pages)
    return BTree.create(
        space.store, space, transaction, number, root=space.root, flags=flags, header=header
    )


def _verify(name: str, entry: Entry) -> None:
    """Raises CatalogError."""
    if entry.object_id < CATALOG_ID or entry.root < CATALOG_ROOT:
        place = f"object id {entry.object_id} and root {entry.root}"
        raise CatalogError(f"{name} has {place}")


def error_of(error: PageError | TreeError) -> int:
    """The number of the engine's error that an event names."""
    if isinstance(error, PageError):
        return ERRORS[error.trouble.kind]
    return DATABASE_CORRUPTED if isinstance(error, DatabaseError) else BAD_PAGE_LINK
