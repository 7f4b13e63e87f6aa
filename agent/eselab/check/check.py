"""Consistency check of a database: header, log, pages, catalog, trees, space. Read-only.

Every page must be exactly one of: in one tree, available to one, waiting for a split. The
shadow of the catalog must have what the catalog has, and its indexes an entry of each record.
"""

from collections.abc import Iterator

import msgspec

from eselab.check.check_space import Spaces
from eselab.check.check_tree import TreeWalk
from eselab.check.check_view import View, viewed
from eselab.disk.disk import Disk
from eselab.storage import node
from eselab.storage.database import STATES, DatabaseError
from eselab.storage.database_header import CLEAN
from eselab.storage.structure import fault_of
from eselab.storage.tables.catalog import (
    CATALOG,
    CATALOG_ID,
    CATALOG_ROOT,
    INDEXES,
    LAST_OWN_ID,
    SHADOW,
    CatalogError,
    Entry,
    Index,
    entries_of,
    object_of,
    table_of,
)
from eselab.storage.tables.space import SYSTEM_ROOT
from eselab.storage.tables.system_tables import OBJECT_IDS
from eselab.storage.transaction_log.change import dbtime_of


class CheckedDatabase(msgspec.Struct, kw_only=True):
    """The result of a check. A sound database has no `faults`."""

    pages: int = 0
    free: int = 0
    """Pages that are available."""
    blank: int = 0
    """Pages that were never written."""
    tables: dict[str, int] = {}
    """Records of each table, those of the system among them, in the order of object ids."""
    faults: list[str] = []
    """One clear line each."""
    bad: list[int] = []
    """Numbers of the pages that differ from what was written, corrected ones included."""

    @property
    def records(self) -> int:
        """Of all tables."""
        return sum(self.tables.values())


def check(disk: Disk, name: str) -> CheckedDatabase:
    """Look at all of a database that is not open. Raises FileNotFoundError, OSError.

    Memory grows with the number of pages (a few dozen bytes each), not with their content.
    """
    checked = CheckedDatabase()
    with viewed(disk, name, checked.faults) as view:
        if view is not None:
            checked.pages = view.pages
            trees = _Trees(view, checked.faults)
            checked.tables = trees.count()
            _Census(view, trees, checked).take()
            checked.bad = sorted(view.bad)
    return checked


def records(disk: Disk, name: str) -> Iterator[tuple[str, bytes, bytes]]:
    """(table, key, value) of all tables but the catalog, in the order of object ids and keys.

    Of a database that is not open; as `check`, it changes nothing and redoes the log in memory.
    Raises DatabaseError at the first tree that is not sound, FileNotFoundError, OSError.
    """
    faults: list[str] = []
    with viewed(disk, name, faults) as view:
        trees = None if view is None else _Trees(view, faults)
        _raise_first(faults)
        assert trees is not None
        for table, entry in trees.tables:
            if table == CATALOG.name:
                continue
            for key, value in trees.walk(table, entry):
                yield table, key, value
            _raise_first(faults)


def _raise_first(faults: list[str]) -> None:
    if faults:
        raise DatabaseError(faults[0])


class _Trees:
    """The catalog and the trees that it leads to."""

    def __init__(self, view: View, faults: list[str]) -> None:
        self.owners: dict[int, int] = {}
        """Object id of the tree that each page is in."""
        self.incomplete: set[int] = set()
        """Object ids of the trees that could not be walked wholly."""
        self.knows_all = True
        """True if the catalog is whole."""
        self._view = view
        self._faults = faults
        self._catalog: list[tuple[bytes, bytes]] = []
        self.spaces = Spaces(view, self.owners, faults)
        self.tables = self._entries()

    def walk(
        self, name: str, entry: Entry, *, within: Entry | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values of a tree; what is in its space is known at the end.

        `within`: it is an index of that table.
        """
        flags = node.INDEX if within else 0
        tree = TreeWalk(self._view, name, entry, self.owners, self._faults, flags=flags)
        yield from tree.records()
        self.spaces.look(name, entry, within=within)
        if not tree.complete:
            self.incomplete.add(entry.object_id)
        self.spaces.check_owner(entry.root, entry.object_id, tree.pages)

    def count(self) -> dict[str, int]:
        root = Entry(SYSTEM_ROOT, SYSTEM_ROOT)
        if self._view.pages >= CATALOG_ROOT:
            for _ in TreeWalk(self._view, "root", root, self.owners, self._faults).records():
                self._faults.append(f"page {SYSTEM_ROOT}: has a record")
            self.spaces.look("root", root, of_file=True)
            for index in INDEXES:
                self._compare_index(index)
        counted = {CATALOG.name: len(self._catalog)}
        for name, entry in self.tables:
            if name == SHADOW.name:
                counted[name] = self._compare(entry)
            elif name == OBJECT_IDS.name:
                counted[name] = self._compare_objects(entry)
            elif name != CATALOG.name:
                counted[name] = sum(1 for _ in self.walk(name, entry))
        return counted

    def _compare_objects(self, objects: Entry) -> int:
        """The number of records of MSysObjids, which should be the objects of the catalog."""
        found = list(self.walk(OBJECT_IDS.name, objects))
        if self.knows_all and objects.object_id not in self.incomplete:
            page_size = self._view.header.page_size
            rows = (object_of(record, page_size) for _, record in self._catalog)
            if found != sorted(row for row in rows if row is not None):
                self._faults.append(f"catalog: {OBJECT_IDS.name} has other objects")
        return len(found)

    def _compare(self, shadow: Entry) -> int:
        """The number of records of the shadow, which should be those of the catalog."""
        found = list(self.walk(SHADOW.name, shadow))
        whole = self.knows_all and shadow.object_id not in self.incomplete
        if whole and found != self._catalog:
            self._faults.append("catalog: its shadow has other records")
        return len(found)

    def _compare_index(self, index: Index) -> None:
        """Check that an index of the catalog leads to all its records."""
        name = f"{CATALOG.name}, index {index.name}"
        found = list(self.walk(name, index.entry, within=Entry(CATALOG_ID, CATALOG_ROOT)))
        if not self.knows_all or index.entry.object_id in self.incomplete:
            return
        expected = sorted(
            (index_key, key)
            for key, record in self._catalog
            for other, index_key in entries_of(record)
            if other is index
        )
        if found != expected:
            self._faults.append(f"catalog: its index {index.name} has other entries")

    def _entries(self) -> list[tuple[str, Entry]]:
        """Tables by object id."""
        found: dict[int, tuple[str, Entry]] = {}
        for key, record in self.walk(CATALOG.name, Entry(CATALOG_ID, CATALOG_ROOT)):
            self._catalog.append((key, record))
            try:
                table = table_of(key, record)
            except CatalogError as error:
                self._lose(f"catalog: {error}")
                continue
            if table is None:
                continue
            name, entry = table
            if entry.object_id in found:
                other = found[entry.object_id][0]
                self._lose(f"catalog: {other} and {name} have object id {entry.object_id}")
                continue
            found[entry.object_id] = name, entry
        if CATALOG_ID in self.incomplete:
            self.knows_all = False
        elif STATES.name not in {name for name, _ in found.values()}:
            self._lose(f"catalog: it has no {STATES.name}")
        self._check_last(max(found, default=LAST_OWN_ID))
        return [found[object_id] for object_id in sorted(found)]

    def _lose(self, fault: str) -> None:
        self._faults.append(fault)
        self.knows_all = False

    def _check_last(self, largest: int) -> None:
        header = self._view.header
        if header.state == CLEAN and header.last_object_id < largest:
            self._faults.append(
                f"header: the last object id is {header.last_object_id}, the catalog has {largest}"
            )


class _Census:
    """The use of each page, against the map and the trees."""

    def __init__(self, view: View, trees: _Trees, checked: CheckedDatabase) -> None:
        self._view = view
        self._trees = trees
        self._checked = checked

    def take(self) -> None:
        """Look at every page once."""
        for number in range(1, self._view.pages + 1):
            page = self._view.content(number)
            self._look_inside(number, page)
            self._check_use(number, page)

    def _fault(self, number: int, what: str) -> None:
        self._checked.faults.append(f"page {number}: {what}")

    def _look_inside(self, number: int, page: bytes | None) -> None:
        if page is None:
            return
        if not any(page):
            self._checked.blank += 1
            return
        if fault := fault_of(page):
            self._fault(number, fault)
        if dbtime_of(page) > self._view.dbtime:
            self._fault(number, f"its dbtime {dbtime_of(page)} is beyond {self._view.dbtime}")

    def _check_use(self, number: int, page: bytes | None) -> None:
        spaces, owner = self._trees.spaces, self._trees.owners.get(number)
        is_free = number in spaces.free
        if is_free or number in spaces.waiting:
            self._checked.free += is_free
            if owner is not None:
                self._fault(number, f"is in tree {owner} and available")
            elif page is not None and any(page) and not node.flags(page) & node.EMPTY:
                self._fault(number, "is available and not empty")
            if is_free and number in spaces.waiting:
                self._fault(number, "is available and waits for a split")
        elif owner is None and self._is_lost(page):
            self._fault(number, "is in no tree and not available")

    def _is_lost(self, page: bytes | None) -> bool:
        """True if a page that no walk came to cannot be behind one that could not be walked."""
        trees = self._trees
        incomplete = trees.incomplete | trees.spaces.incomplete
        if not trees.knows_all:
            return False
        if page is None or not any(page) or node.flags(page) & node.EMPTY:
            return not incomplete
        return node.object_id(page) not in incomplete
