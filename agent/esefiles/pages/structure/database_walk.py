"""All trees of a database, from its root and its catalogue: structure, space, long values.

Sources: the fixed places of the root and of the catalogue in daeconst.hxx and cat.hxx,
ErrREPAIRCheckOneTable, ErrREPAIRCheckSpace and ErrREPAIRCheckGlobalSpaceTree in repair.cxx of
the published engine.
"""

from typing import Final, NamedTuple

from esefiles.pages.structure.long_values import LongValue
from esefiles.pages.structure.nodes import INDEX, LONG_VALUE, ROOT, SPACE_TREE
from esefiles.pages.structure.page_digest import CATALOGUE, SHADOW, Digest, Row
from esefiles.pages.structure.page_table import KEPT, PageTable
from esefiles.pages.structure.records import LONG_VALUES, SECONDARY_INDEX, TABLE
from esefiles.pages.structure.report import StructureReport, TreeFigures
from esefiles.pages.structure.space import Extent, SpaceHeader, space_header, split_buffer
from esefiles.pages.structure.space_use import SpaceUse
from esefiles.pages.structure.tree_walk import Tree, TreeWalk, space_tree

MOST_ROWS: Final = 1_000_000
"""Rows of the catalogue, beyond which the rest of the trees is not walked."""
MOST_LONG_VALUES: Final = 2_000_000
"""Long values of one table, beyond which references to them are not checked."""

MOST_EXTENTS: Final = 4_000_000
"""Extents of one tree, beyond which its space is not checked."""

ROOT_PAGE: Final = 1
_ROOT_ID: Final = 1
_CATALOGUE_ROOT: Final = 4
_SHADOW_ROOT: Final = 24
_TREES: Final = (TABLE, SECONDARY_INDEX, LONG_VALUES)
"""Kinds of rows that name the root of a tree."""
_SHADOW_ROW: Final = Row(b"", SHADOW, TABLE, SHADOW, _SHADOW_ROOT, "MSysObjectsShadow")


class _Values(NamedTuple):
    """Ids of long values, and the page of a record that refers to each."""

    referred: dict[bytes, int]
    held: set[bytes]


class DatabaseWalk:
    """One check of a database that was shut down cleanly."""

    def __init__(self, table: PageTable, report: StructureReport, page_size: int) -> None:
        self._table = table
        self._page_size = page_size
        self._report = report
        self._space = SpaceUse(table.pages, report)
        self._rows: dict[bytes, Row] = {}
        self._shadow: dict[bytes, tuple[int, Row]] = {}
        self._all_rows = True
        """True if all rows of the catalogue were read."""
        self._all_shadow = True
        self._trees: dict[int, str] = {}
        """Names of the trees that were walked, by object id."""
        self._values: dict[int, _Values] = {}
        self._incomplete: list[tuple[int, str]] = []
        """Pages and sentences on long values of the walked tree that go over several pages."""
        self._unknown: set[int] = set()
        """Objects whose own space is not known: what others take from it is not judged."""

    def run(self) -> int | None:
        """Walk and compare; the number of lost pages, None where that is not known."""
        root = Tree("root of the database", ROOT_PAGE, _ROOT_ID, 0)
        self._walk(root, "root", parent_page=0, parent=0)
        catalogue = Tree("table MSysObjects", _CATALOGUE_ROOT, CATALOGUE, 0)
        self._walk(catalogue, "table", parent_page=ROOT_PAGE, parent=_ROOT_ID)
        self._walk_tables()
        self._compare_with_shadow()
        if self._all_rows:
            names = {row.object_id: row.name for row in self._rows.values() if row.kind == TABLE}
            for table, values in self._values.items():
                self._compare_values(names.get(table, str(table)), values)
        else:
            self._space.complete = False
        if not self._space.complete:
            self._report.remark("Which pages are used, free and lost was not compared.")
        return self._space.compare(self._table, self._trees)

    def _walk_tables(self) -> None:
        """The tables of the catalogue, each with its indexes and its long values."""
        rows = list(self._rows.values())
        tables = {row.object_id: row for row in rows if row.kind == TABLE}
        if SHADOW not in tables and self._is_root(_SHADOW_ROOT, SHADOW):
            tables[SHADOW] = _SHADOW_ROW
        others: dict[int, list[Row]] = {}
        for row in rows:
            if row.kind in (SECONDARY_INDEX, LONG_VALUES):
                others.setdefault(row.table, []).append(row)
        for object_id, row in tables.items():
            if object_id != CATALOGUE:
                tree = Tree(f"table {row.name}", row.root, object_id, 0)
                self._walk(tree, "table", parent_page=ROOT_PAGE, parent=_ROOT_ID)
            for other in others.pop(object_id, ()):
                self._walk_of_table(row, other)
        for left in others.values() if self._all_rows else ():
            what = f"its row of {left[0].name} is of table {left[0].table}, which is not there"
            self._report.error(_CATALOGUE_ROOT, "catalogue", f"the catalogue: {what}")

    def _walk_of_table(self, table: Row, row: Row) -> None:
        """An index or the long values; the primary index is the table itself."""
        if row.kind == SECONDARY_INDEX and row.root == table.root:
            return
        if row.kind == LONG_VALUES:
            tree = Tree(f"long values of table {table.name}", row.root, row.object_id, LONG_VALUE)
            kind = "long values"
        else:
            name = f"index {row.name} of table {table.name}"
            tree, kind = Tree(name, row.root, row.object_id, INDEX), "index"
        self._walk(
            tree, kind, parent_page=table.root, parent=table.object_id, table=table.object_id
        )

    def _walk(
        self, tree: Tree, kind: str, *, parent_page: int, parent: int, table: int = 0
    ) -> None:
        self._own_space(tree, parent_page, parent)
        walk = TreeWalk(self._table, self._report, tree)
        pending: LongValue | None = None
        for number, digest in walk.leaves():
            pending = self._take(tree, number, digest, table or tree.object_id, pending)
        if pending is not None:
            self._end_long_value(number, pending)
        for number, why in self._incomplete if walk.complete else ():
            self._report.error(number, "long_value", f"{why} ({tree.name})")
        self._incomplete.clear()
        self._trees[tree.object_id] = tree.name
        if not walk.complete:
            self._leave_out(tree, walk)
            self._all_rows &= tree.object_id != CATALOGUE
            self._all_shadow &= tree.object_id != SHADOW
            if kind == "long values":
                self._values.pop(table, None)  # not all are known, so none of them is missed
        self._report.tree(
            TreeFigures(
                name=tree.name, kind=kind, object_id=tree.object_id, root=tree.root,
                pages=walk.pages, records=walk.records,
            )
        )  # fmt: skip

    def _leave_out(self, tree: Tree, walk: TreeWalk) -> None:
        """Say that a tree was not walked to its end."""
        self._space.complete = False
        first, others = walk.stops[0], len(walk.stops) - 1
        pages = f"page {first}" + (f" and {others} more" if others else "")
        self._report.remark(f"Not all of {tree.name} was checked, because of {pages}.")

    def _own_space(self, tree: Tree, parent_page: int, parent: int) -> None:
        """Read the space header of a root, and the space trees that it leads to."""
        header, object_id = self._space_header(tree), tree.object_id
        if header is None:
            self._lose_space(object_id)
            return
        if header.parent != parent_page:
            what = f"its space is that of page {header.parent}, not of page {parent_page}"
            self._report.error(tree.root, "space", f"{what} ({tree.name})")
        if header.owned_root:
            owned = self._extents(space_tree(tree, header.owned_root))
            available = self._extents(space_tree(tree, header.owned_root + 1))
        else:
            owned = [Extent(tree.root + header.pages - 1, header.pages)]
            available = [Extent(tree.root + at, 1) for at in header.available if at < header.pages]
        if parent in self._unknown:
            self._lose_space(object_id)
            return
        if owned is not None:
            self._space.own(owned, object_id=object_id, parent=parent)
        if owned is None or available is None:
            self._lose_space(object_id)
        else:
            self._space.make_available(available, object_id=object_id)
        if header.owned_root and object_id not in self._unknown:
            for at in (header.owned_root, header.owned_root + 1):
                held = split_buffer(self._table.digest(at).external)
                self._space.hold(held, object_id=object_id, parent=parent)

    def _lose_space(self, object_id: int) -> None:
        self._unknown.add(object_id)
        self._space.complete = False

    def _space_header(self, tree: Tree) -> SpaceHeader | None:
        """None where the root is not one, which the walk tells."""
        if not self._is_root(tree.root, tree.object_id):
            return None
        return space_header(self._table.digest(tree.root).external)

    def _is_root(self, number: int, object_id: int) -> bool:
        """True if the page is the root of this object, and no root of its space."""
        table = self._table
        if not 1 <= number <= table.pages or table.states[number] != KEPT:
            return False
        flags = table.flags[number]
        return table.object_ids[number] == object_id and flags & (ROOT | SPACE_TREE) == ROOT

    def _extents(self, tree: Tree) -> list[Extent] | None:
        """The extents of a space tree; None: not all of them are known."""
        walk = TreeWalk(self._table, self._report, tree)
        found: list[Extent] = []
        for _, digest in walk.leaves():
            if len(found) < MOST_EXTENTS:
                found += digest.extents
        if len(found) >= MOST_EXTENTS:
            self._report.remark(f"{tree.name}: too many extents for a check.")
            return None
        if not walk.complete:
            self._leave_out(tree, walk)
            return None
        return found

    def _take(
        self, tree: Tree, number: int, digest: Digest, table: int, before: LongValue | None
    ) -> LongValue | None:
        """Keep what a leaf says beyond its tree; the last long value on it, which may go on."""
        if tree.object_id in (CATALOGUE, SHADOW):
            for row in digest.rows:
                if len(self._rows) + len(self._shadow) >= MOST_ROWS:
                    self._all_rows = False
                    self._report.remark(f"The catalogue has more than {MOST_ROWS} rows.")
                elif tree.object_id == CATALOGUE:
                    self._rows[row.key] = row
                else:
                    self._shadow[row.key] = number, row
            return None
        if not digest.values and not digest.orphans:
            return before
        values = self._values.setdefault(table, _Values({}, set()))
        if tree.flags & LONG_VALUE:
            return self._take_long_values(tree, number, digest, before, values)
        for value in digest.values:
            if len(values.referred) < MOST_LONG_VALUES:
                values.referred.setdefault(value, number)
            else:
                self._report.remark(f"{tree.name}: only some references were checked.")
        return None

    def _take_long_values(
        self,
        tree: Tree,
        number: int,
        digest: Digest,
        before: LongValue | None,
        values: _Values,
    ) -> LongValue | None:
        for at, value in enumerate(digest.orphans):
            if at or before is None or value != before.id:
                what = f"a piece of long value {value.hex()} has no root before it ({tree.name})"
                self._report.error(number, "long_value", what)
        if len(values.held) < MOST_LONG_VALUES:
            values.held.update(digest.values)
        else:
            values.referred.clear()
            self._report.remark(f"{tree.name}: so many that references were not checked.")
        if before is not None and digest.orphans[:1] == [before.id]:
            for each in digest.pieces:
                before.add(each)
        for why in digest.incomplete:
            self._report.error(number, "long_value", f"{why} ({tree.name})")
        if digest.unended is None:
            return before
        if before is not None:
            self._end_long_value(number, before)
        return digest.unended

    def _end_long_value(self, number: int, value: LongValue) -> None:
        if why := value.end(self._page_size):
            self._incomplete.append((number, why))

    def _compare_values(self, name: str, values: _Values) -> None:
        for value, number in values.referred.items():
            if value not in values.held:
                what = f"a record refers to long value {value.hex()}, which is not there"
                self._report.error(number, "long_value", f"{what} (table {name})")

    def _compare_with_shadow(self) -> None:
        """Every row of the catalogue stands in its shadow, where that has any."""
        if not self._all_rows:
            self._count_left_out()
        elif not self._rows:
            # It has at least the rows of itself.
            what = f"the catalogue has no rows, and its shadow has {len(self._shadow)}"
            self._report.error(_CATALOGUE_ROOT, "catalogue", what)
            self._all_rows = False
        if not self._shadow or not self._all_rows or not self._all_shadow:
            # A database that was compacted has a shadow without rows.
            return
        for key, (number, row) in self._shadow.items():
            other = self._rows.get(key)
            if other is None:
                what = f"the shadow catalogue has {row.name}, and the catalogue does not"
                self._report.error(number, "catalogue", what)
            elif other != row:
                what = f"the shadow catalogue says otherwise of {row.name} than the catalogue"
                self._report.error(number, "catalogue", what)
        for key, row in self._rows.items():
            if key not in self._shadow:
                what = f"the catalogue has {row.name}, and its shadow does not"
                self._report.error(_CATALOGUE_ROOT, "catalogue", what)

    def _count_left_out(self) -> None:
        """Say how many trees only the shadow names, where not all of the catalogue was read."""
        known = {row.root for row in self._rows.values()} | {_CATALOGUE_ROOT}
        rows = (row for _, row in self._shadow.values() if row.kind in _TREES)
        number = len({row.root for row in rows} - known)
        what = f"{number} {'tree was' if number == 1 else 'trees were'} not checked"
        if not self._shadow or not self._all_shadow:
            what = "Trees that only the rest of it names were not checked"
        elif not number:
            return
        self._report.remark(f"{what}: not all of the catalogue can be read.")
