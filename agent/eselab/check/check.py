"""Consistency check of a database: header, log, pages, catalog, trees, space. Read-only.

Every page must be exactly one of: a map page, in one tree, free in the map.
"""

from collections.abc import Iterator

import msgspec

from eselab.check.check_tree import TreeWalk
from eselab.check.check_view import View, viewed
from eselab.disk.disk import Disk
from eselab.storage import node
from eselab.storage.database import (
    CATALOG,
    CATALOG_ID,
    CATALOG_ROOT,
    STATES,
    DatabaseError,
    Entry,
    entry_of,
)
from eselab.storage.database_header import CLEAN
from eselab.storage.space import MAP_ID, pages_covered
from eselab.storage.structure import fault_of
from eselab.storage.transaction_log.change import dbtime_of


class CheckedDatabase(msgspec.Struct, kw_only=True):
    """The result of a check. A sound database has no `faults`."""

    pages: int = 0
    free: int = 0
    """Pages that are free in the map."""
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
        """Whether the catalog is whole."""
        self._view = view
        self._faults = faults
        self._of_catalog = 0
        self.tables = self._entries()

    def walk(self, name: str, entry: Entry) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values of a tree."""
        tree = TreeWalk(self._view, name, entry, self.owners, self._faults)
        yield from tree.records()
        if not tree.complete:
            self.incomplete.add(entry.object_id)

    def count(self) -> dict[str, int]:
        """Records of each table."""
        counted = {CATALOG: self._of_catalog}
        for name, entry in self.tables:
            counted[name] = sum(1 for _ in self.walk(name, entry))
        return counted

    def _entries(self) -> list[tuple[str, Entry]]:
        """Tables by object id, the catalog left out."""
        found: dict[int, tuple[str, Entry]] = {}
        for key, value in self.walk(CATALOG, Entry(CATALOG_ID, CATALOG_ROOT)):
            self._of_catalog += 1
            try:
                name, entry = entry_of(key, value)
            except DatabaseError as error:
                self._lose(str(error))
                continue
            if entry.object_id in found:
                other = found[entry.object_id][0]
                self._lose(f"catalog: {other} and {name} have object id {entry.object_id}")
                continue
            found[entry.object_id] = name, entry
        if CATALOG_ID in self.incomplete:
            self.knows_all = False
        elif STATES not in {name for name, _ in found.values()}:
            self._lose(f"catalog: it has no {STATES}")
        self._check_last(max(found, default=CATALOG_ID))
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
        self._covered = pages_covered(view.page_size)

    def take(self) -> None:
        """Look at every page once."""
        in_use: int | None = None
        for number in range(1, self._view.pages + 1):
            page = self._view.content(number)
            at = (number - 1) % self._covered
            if at == 0:
                in_use = self._bits(number, page)
            self._look_inside(number, page)
            is_free = None if in_use is None else not in_use >> at & 1
            if at == 0:
                self._check_map(number, page, is_free)
            else:
                self._check_use(number, page, is_free)

    def _fault(self, number: int, what: str) -> None:
        self._checked.faults.append(f"page {number}: {what}")

    def _bits(self, number: int, page: bytes | None) -> int | None:
        """The bits of a map page; None where it is none that can be read."""
        if page is None or not node.flags(page) & node.SPACE_TREE:
            return None
        bits = int.from_bytes(page[node.header_size(len(page)) :], "little")
        there = min(self._covered, self._view.pages + 1 - number)
        if bits >> there:
            self._fault(number, "the map has pages in use behind the end of the database")
        return bits

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

    def _check_map(self, number: int, page: bytes | None, is_free: bool | None) -> None:
        if page is not None and (
            not node.flags(page) & node.SPACE_TREE or node.object_id(page) != MAP_ID
        ):
            self._fault(number, "is not the map page that belongs here")
        if is_free:
            self._fault(number, "is a map page and free in the map")
        if number in self._trees.owners:
            self._fault(number, f"is a map page and in tree {self._trees.owners[number]}")

    def _check_use(self, number: int, page: bytes | None, is_free: bool | None) -> None:
        owner = self._trees.owners.get(number)
        if page is not None and node.flags(page) & node.SPACE_TREE:
            self._fault(number, "is a map page where none belongs")
        if is_free:
            self._checked.free += 1
            if owner is not None:
                self._fault(number, f"is in tree {owner} and free in the map")
            elif page is not None and any(page) and not node.flags(page) & node.EMPTY:
                self._fault(number, "is free in the map and not empty")
        elif is_free is False and owner is None and self._is_lost(page):
            self._fault(number, "is in use and in no tree")

    def _is_lost(self, page: bytes | None) -> bool:
        """Whether a page that no walk came to cannot be behind one that could not be walked."""
        trees = self._trees
        if not trees.knows_all:
            return False
        if page is None or not any(page):
            return not trees.incomplete
        return node.object_id(page) not in trees.incomplete
