"""A walk over one tree: every page once, so that a cycle ends; what is wrong is reported.

Checked is what the engine's own check does: ErrREPAIRICheck, ErrREPAIRCheckInternal and
ErrREPAIRCheckLeaf in repair.cxx of the published engine.
"""

from collections.abc import Iterator
from typing import NamedTuple

from esefiles.pages.structure.nodes import LEAF, OF_TREE, PARENT_OF_LEAF, ROOT, SPACE_TREE
from esefiles.pages.structure.page_digest import Digest
from esefiles.pages.structure.page_table import BLANK, FREED, KEPT, PageTable
from esefiles.pages.structure.report import StructureReport


class Tree(NamedTuple):
    name: str
    """As a sentence names it: `table MSysObjects`."""
    root: int
    object_id: int
    flags: int
    """Those of OF_TREE that its pages have."""


class _Visit(NamedTuple):
    """A page to come to, and what the page above says of it."""

    number: int
    lower: bytes
    upper: bytes
    """Empty: no bound."""
    is_leaf: bool | None
    """None: the root may be either."""


class TreeWalk:
    """One walk. The caller goes through `leaves` to the end; then the counts are right."""

    def __init__(self, table: PageTable, report: StructureReport, tree: Tree) -> None:
        self.stops: list[int] = []
        """Pages of the tree that could not be taken: what lies below them was not come to."""
        self.pages = 0
        self.records = 0
        self._table = table
        self._report = report
        self._tree = tree
        self._last: tuple[int, int] | None = (0, 0)
        """The leaf before, and which one it says follows; (0, 0): none; None: not known."""

    @property
    def complete(self) -> bool:
        """True if all pages of the tree were come to."""
        return not self.stops

    def leaves(self) -> Iterator[tuple[int, Digest]]:
        """Number and digest of each leaf, in the order of keys."""
        table, waiting = self._table, list[_Visit]()
        if self._claim(0, self._tree.root):
            waiting.append(_Visit(self._tree.root, b"", b"", None))
        while waiting:
            visit = waiting.pop()
            digest = self._digest(visit)
            if digest is None:
                self._last = None
                if visit.number:
                    self.stops.append(visit.number)
                continue
            self.pages += 1
            if table.flags[visit.number] & LEAF:
                self._check_leaf(visit, digest)
                self.records += digest.records
                yield visit.number, digest
            else:
                waiting += reversed(self._children(visit, digest))
        if self._last is not None and self._last[1]:
            self._error(self._last[0], "page_link", f"page {self._last[1]} follows the last leaf")

    def _error(self, number: int, kind: str, what: str) -> None:
        self._report.error(number, kind, f"{what} ({self._tree.name})")

    def _claim(self, above: int, number: int) -> bool:
        """Take a page for the tree; False where that cannot be."""
        if not 1 <= number <= self._table.pages:
            what = f"it leads to page {number}, but the file ends with page {self._table.pages}"
            if above:
                self._error(above, "page_link", what)
            else:
                self._error(number, "page_link", "it is the root of a tree, but not in the file")
        elif self._table.used[number]:
            place = f"page {above} leads to it" if above else "it is the root of a tree"
            self._error(number, "double_use", f"{place}, but a tree uses it already")
        else:
            self._table.used[number] = 1
            return True
        self.stops.append(number)
        return False

    def _digest(self, visit: _Visit) -> Digest | None:
        """The page where it is one of this tree."""
        table, number = self._table, visit.number
        if not number:
            return None
        state = table.states[number]
        if state == BLANK:
            self._error(number, "blank_page", "a tree uses it, but it was never written")
        elif state == FREED:
            self._error(number, "freed_page", "a tree uses it, but it is marked as free")
        if state != KEPT:
            return None
        if table.object_ids[number] != self._tree.object_id:
            what = f"it is of object {table.object_ids[number]}, not {self._tree.object_id}"
            self._error(number, "wrong_tree", what)
            return None
        flags = table.flags[number]
        is_root, is_leaf = bool(flags & ROOT), bool(flags & LEAF)
        if (
            flags & OF_TREE != self._tree.flags
            or is_root != (number == self._tree.root)
            or visit.is_leaf not in (None, is_leaf)
            or (is_leaf and flags & PARENT_OF_LEAF)
        ):
            self._error(number, "page_flags", f"its flags {flags:#x} are not those of its place")
            return None
        return table.digest(number)

    def _check_leaf(self, visit: _Visit, digest: Digest) -> None:
        number = visit.number
        if (digest.first and digest.first < visit.lower) or (
            visit.upper and digest.last >= visit.upper
        ):
            self._error(number, "parent_key", "its keys are not within the bounds of its parent")
        following = self._table.following[number]
        if bool(visit.upper) != bool(following) and self._last is not None:
            what = f"page {following}" if following else "no page"
            self._error(number, "page_link", f"{what} follows it, against what its parent says")
        if self._last is not None:
            before, after_before = self._last
            previous = self._table.previous[number]
            if previous != before:
                self._error(number, "page_link", f"it follows page {previous}, not {before}")
            if before and after_before != number:
                what = f"page {after_before} follows it, not {number}"
                self._error(before, "page_link", what)
        self._last = number, following

    def _children(self, visit: _Visit, digest: Digest) -> list[_Visit]:
        number, table = visit.number, self._table
        if table.previous[number] or table.following[number]:
            self._error(number, "page_link", "it is a branch and has neighbours")
        if digest.keys[-1] != visit.upper or (digest.keys[0] and digest.keys[0] < visit.lower):
            self._error(number, "parent_key", "its keys are not within the bounds of its parent")
        of_leaves = bool(table.flags[number] & PARENT_OF_LEAF)
        lower, found = visit.lower, []
        for child, upper in zip(digest.children, digest.keys, strict=True):
            if self._claim(number, child):
                found.append(_Visit(child, lower, upper, of_leaves))
            else:
                # The order of leaves has a gap here: it is not compared from here on.
                found.append(_Visit(0, lower, upper, of_leaves))
            lower = upper
        return found


def space_tree(tree: Tree, root: int) -> Tree:
    """The tree of owned or of available extents of a tree."""
    return Tree(f"space of {tree.name}", root, tree.object_id, tree.flags | SPACE_TREE)
