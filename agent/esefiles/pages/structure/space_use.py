"""Owner of each page, free pages, and agreement of both with their use.

The file gives all pages to the root of the database; a tree owns extents of its parent's, an
index or the long values of a table extents of the table's. Each says which of its own are
available. Sources: ErrREPAIRInsertOERunIntoTT, ErrREPAIRInsertAERunIntoTT and
ErrREPAIRCheckSplitBuf in repair.cxx of the published engine.
"""

from array import array
from collections.abc import Iterable, Mapping

from esefiles.pages.structure.nodes import LEAF, SPACE_TREE
from esefiles.pages.structure.page_table import KEPT, PageTable
from esefiles.pages.structure.report import StructureReport
from esefiles.pages.structure.space import SHELVED, Extent

_PIECE = 1 << 16
"""Pages that are compared at once, however many an extent says it has."""

_CLAIMS = 8
"""Times that all pages may be claimed: by the root, a table, an index, and as available. What
claims more is damaged, and costs time that grows with the square of the file."""


class SpaceUse:
    """Owner and availability of each page; 5 bytes of memory a page."""

    def __init__(self, pages: int, report: StructureReport) -> None:
        self.complete = True
        """True if the space of all trees is known, so far."""
        self._pages = pages
        self._report = report
        self._owners = array("I", bytes(4 * (pages + 1)))
        self._available = bytearray(pages + 1)
        self._left = _CLAIMS * (pages + 1)

    def own(self, extents: Iterable[Extent], *, object_id: int, parent: int) -> None:
        """The tree owns these pages of its parent's (0: of the file)."""
        for first, last in self._pieces(extents, object_id):
            count = last - first + 1
            expected = array("I", [parent]) * count
            if self._owners[first : last + 1] != expected:
                number = next(at for at in range(first, last + 1) if self._owners[at] != parent)
                self._taken(number, object_id, self._owners[number])
            elif any(self._available[first : last + 1]):
                number = self._available.index(1, first)
                self._taken(number, object_id, parent, "as available ")
            else:
                self._owners[first : last + 1] = array("I", [object_id]) * count

    def hold(self, extents: Iterable[Extent], *, object_id: int, parent: int) -> None:
        """The tree holds these pages ready for splits of its space trees. They are its own or still
        its parent's."""
        for first, last in self._pieces(extents, object_id):
            for number in range(first, last + 1):
                owner = self._owners[number]
                if owner not in (object_id, parent) or self._available[number]:
                    self._taken(number, object_id, owner)
                    break
                self._owners[number], self._available[number] = object_id, 1

    def make_available(self, extents: Iterable[Extent], *, object_id: int) -> None:
        """The tree says that these pages of its own are not used."""
        usable = (extent for extent in extents if extent.pool != SHELVED)
        for first, last in self._pieces(usable, object_id):
            count = last - first + 1
            if self._owners[first : last + 1] != array("I", [object_id]) * count:
                number = next(at for at in range(first, last + 1) if self._owners[at] != object_id)
                self._taken(number, object_id, self._owners[number])
            elif any(self._available[first : last + 1]):
                number = self._available.index(1, first)
                what = f"object {object_id} has it twice among its available pages"
                self._error(number, "double_use", what)
            else:
                self._available[first : last + 1] = b"\1" * count

    def compare(self, table: PageTable, trees: Mapping[int, str]) -> int | None:
        """Judge the use of each page; how many are lost: owned, not available and not used.

        `trees`: names by object id. One of their leaves with records is no lost page, but one
        that its tree should lead to. None: not known, as not all trees or all space was come to.
        """
        lost, unreached = 0, dict[int, list[int]]()
        for number in range(1, self._pages + 1):
            owner, used = self._owners[number], table.used[number]
            if not used:
                if owner == 0 or self._available[number]:
                    continue
                if self.complete and _has_records(table, number, trees):
                    unreached.setdefault(table.object_ids[number], []).append(number)
                else:
                    lost += 1
            elif not self.complete:
                continue
            elif self._available[number]:
                what = f"a tree uses it, but it is among the available pages of object {owner}"
                self._error(number, "double_use", what)
            elif owner != table.object_ids[number]:
                what = f"object {table.object_ids[number]} uses it, and object {owner} owns it"
                self._error(number, "space", what)
        for object_id, pages in unreached.items():
            what = f"it has records of {trees[object_id]}, and nothing leads to it"
            more = f", nor to {len(pages) - 1} more up to page {pages[-1]}" if pages[1:] else ""
            self._error(pages[0], "unreached", what + more)
        return lost if self.complete else None

    def _error(self, number: int, kind: str, what: str) -> None:
        self._report.error(number, kind, what)

    def _taken(self, number: int, object_id: int, owner: int, how: str = "") -> None:
        self.complete = False
        whose = f"object {owner} has it {how}".rstrip() if owner else "nobody owns it"
        self._error(number, "space", f"object {object_id} claims it, and {whose}")

    def _pieces(self, extents: Iterable[Extent], object_id: int) -> Iterable[tuple[int, int]]:
        """First and last page of each piece that is in the file."""
        for extent in extents:
            if extent.pages <= 0:
                continue
            first, last = extent.last - extent.pages + 1, extent.last
            if first < 1 or last > self._pages:
                self.complete = False
                what = f"object {object_id} claims it, but the file ends with page {self._pages}"
                self._error(max(first, self._pages + 1), "beyond_end", what)
            for begin in range(max(1, first), min(last, self._pages) + 1, _PIECE):
                end = min(begin + _PIECE - 1, last, self._pages)
                if self._left < 0:
                    self.complete = False
                    return
                self._left -= end - begin + 1
                yield begin, end


def _has_records(table: PageTable, number: int, trees: Mapping[int, str]) -> bool:
    """True if the page is a leaf of one of the trees, with records that are not deleted.

    The engine marks a page as empty before it gives it back (NDEmptyPage in bt.cxx); the pages
    of a tree that was deleted are of an object that the catalogue has no more.
    """
    if table.states[number] != KEPT or table.object_ids[number] not in trees:
        return False
    if table.flags[number] & (LEAF | SPACE_TREE) != LEAF:
        return False
    return table.digest(number).records > 0
