"""Check of the space of a tree: owned, available, and reserved for splits."""

from collections.abc import Callable

from eselab.check.check_tree import TreeWalk
from eselab.check.check_view import View
from eselab.storage import node
from eselab.storage.btree import TreeError
from eselab.storage.tables.catalog import Entry
from eselab.storage.tables.space import (
    SYSTEM_ROOT,
    extent_of,
    is_one_page,
    root_of_extents,
    waiting_of,
)
from eselab.storage.tables.system_tables import KEPT


class Spaces:
    """The space of all trees of a database, as far as it could be read."""

    def __init__(self, view: View, owners: dict[int, int], faults: list[str]) -> None:
        self.free: dict[int, int] = {}
        """The root of the tree to which each available page is available."""
        self.waiting: set[int] = set()
        """Pages that wait for splits of trees of extents."""
        self.incomplete: set[int] = set()
        """Object ids of the trees whose space could not be read wholly."""
        self._view = view
        self._owners = owners
        self._faults = faults
        self._owned: dict[int, int] = {}
        """The root of the tree that owns each page, that of the file left out."""

    def look(
        self, name: str, entry: Entry, *, of_file: bool = False, within: Entry | None = None
    ) -> None:
        """Walk both trees of extents of a tree.

        `of_file`: that of the root of the database. `within`: it is an index of that table,
        which was looked at, and owns its pages too.
        """
        flags = node.INDEX if within else 0
        root = self._view.content(entry.root)
        if name in KEPT and root is not None and is_one_page(root, SYSTEM_ROOT):
            self._claim(entry.root, [range(entry.root, entry.root + 1)], None)
            return
        begin = 0 if root is None else root_of_extents(root)
        if begin != entry.root + 1:
            if root is not None:
                self._fault(entry.root, f"has no header that leads to its space (table {name})")
            self.incomplete.add(entry.object_id)
            return
        owned = self._extents(f"{name}: owned", entry, begin, flags)
        available = self._extents(f"{name}: available", entry, begin + 1, flags)
        if owned is None or available is None:
            self.incomplete.add(entry.object_id)
            return
        there = {number for pages in owned for number in pages}
        if of_file and there != set(range(1, self._view.pages + 1)):
            self._fault(entry.root, f"owns {len(there)} pages of {self._view.pages}")
        if not of_file:
            self._claim(entry.root, owned, within)
        waiting = [pages for at in (begin, begin + 1) for pages in self._waiting(at) if pages]
        self.waiting.update(number for pages in waiting for number in pages)
        for pages in (*available, *waiting):
            if not any(own.start <= pages.start and pages.stop <= own.stop for own in owned):
                self._fault(entry.root, f"has page {pages.start} to give and does not own it")
        for number in (number for pages in available for number in pages):
            if number in self.free:
                self._fault(number, f"is available to page {self.free[number]} and {entry.root}")
            self.free[number] = entry.root

    def check_owner(self, root: int, object_id: int, pages: list[int]) -> None:
        """Report the pages of a tree that another one owns, or none."""
        if object_id in self.incomplete:
            return
        for number in pages:
            if self._owned.get(number) != root:
                self._fault(number, f"is in the tree of page {root}, which does not own it")

    def _claim(self, root: int, owned: list[range], within: Entry | None) -> None:
        parent = within.root if within else 0
        known = within is None or within.object_id not in self.incomplete
        for number in (number for pages in owned for number in pages):
            other = self._owned.get(number, 0)
            if other not in (0, parent):
                self._fault(number, f"is owned by page {other} and {root}")
            elif other != parent and known:
                self._fault(number, f"is owned by page {root}, but not by page {parent} above it")
            self._owned[number] = root

    def _extents(self, what: str, entry: Entry, root: int, flags: int) -> list[range] | None:
        """The extents of a tree, None where it could not be walked wholly."""
        walk = TreeWalk(
            self._view, what, Entry(entry.object_id, root), self._owners, self._faults,
            flags=flags | node.SPACE_TREE,
        )  # fmt: skip
        found: list[range] = []
        sound = self._each(root, lambda: found.extend(extent_of(*row) for row in walk.records()))
        last = 0
        for pages in found:
            if pages.start <= last or pages[-1] > self._view.pages:
                self._fault(root, f"has an extent from {pages.start} to {pages[-1]}")
            last = pages[-1]
        return found if sound and walk.complete else None

    def _waiting(self, root: int) -> list[range]:
        found: list[range] = []
        page = self._view.content(root)
        if page is not None:
            self._each(root, lambda: found.extend(waiting_of(page)))
        return found

    def _each(self, number: int, read: Callable[[], None]) -> bool:
        try:
            read()
        except TreeError as error:
            self._fault(number, str(error))
            return False
        return True

    def _fault(self, number: int, what: str) -> None:
        self._faults.append(f"page {number}: {what}")
