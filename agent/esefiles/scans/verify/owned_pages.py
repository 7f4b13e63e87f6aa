"""The pages that a file must have: those that lead to what the database owns, and the last of it.

The root of the database has the extents of the whole file (SPACE_HEADER in space.hxx,
pgnoSystemRoot in daeconst.hxx of the published engine). An interrupted copy lacks them: its file
ends before, or it was made in its full size and is blank from there on.
"""

from typing import Final

from esefiles.pages.kernels import classify
from esefiles.pages.layout import BLANK, GOOD, LARGEST_NUMBER
from esefiles.pages.structure.nodes import (
    LEAF,
    SPACE_TREE,
    Nodes,
    PageDamageError,
    page_header,
    page_nodes,
)
from esefiles.pages.structure.space import Extent, extents, space_header
from esefiles.scans.reading.reading import DatabaseFile, read_pages
from esefiles.scans.results import MissingPages

_ROOT_PAGE: Final = 1
_ROOT_ID: Final = 1
_MOST_LEVELS: Final = 8


class _MissingPageError(Exception):
    """The page of this number is behind the end of the file, or blank."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def missing_pages(file: DatabaseFile, page_size: int, end: int) -> MissingPages | None:
    """Pages that the database must have and that the file lacks.

    `end`: number of the first page behind the end of the file. None: none is missing, or a damaged
    page does not tell. Raises OSError where the device is gone.
    """
    try:
        last = _last_owned_page(file, page_size)
    except _MissingPageError as missing:
        is_blank = missing.number < end
        return MissingPages(first=min(missing.number, end), how="blank" if is_blank else "ends")
    except PageDamageError:
        return None
    return MissingPages(first=end, last=last) if last >= end else None


def _last_owned_page(file: DatabaseFile, page_size: int) -> int:
    """Number of the last page that the database owns, 0 if that is not found. Raises
    _MissingPageError, PageDamageError."""
    space = space_header(_taken_apart(file, _ROOT_PAGE, page_size, 0)[0])
    number = space.owned_root
    if not number:
        return _ROOT_PAGE + space.pages - 1
    for _ in range(_MOST_LEVELS):
        _, nodes, is_leaf = _taken_apart(file, number, page_size, SPACE_TREE)
        if is_leaf:
            return _last_of(extents(nodes))
        number = int.from_bytes(nodes.data[-1], "little")
    return 0


def _last_of(owned: list[Extent]) -> int:
    """The last page of extents of the root, which follow each other without a gap. Raises
    PageDamageError where these do not, or end with a page that cannot be."""
    last = owned[0].last - owned[0].pages if owned else 0
    for extent in owned:
        if extent.last - extent.pages != last or extent.last > LARGEST_NUMBER:
            raise PageDamageError("space", f"no extent of the root ends with page {extent.last}")
        last = extent.last
    return last


def _taken_apart(
    file: DatabaseFile, number: int, page_size: int, kind: int
) -> tuple[bytes, Nodes, bool]:
    """External header and nodes of a page, and whether it is a leaf.

    Raises _MissingPageError, and PageDamageError where the page is damaged or another one than
    that of the root or, by `kind`, of its space.
    """
    page = read_pages(file, number, 1, page_size)
    (what,) = classify(page, page_size, number) or (BLANK,)
    if what == BLANK:
        raise _MissingPageError(number)
    header = page_header(page)
    of_root = header.object_id == _ROOT_ID and header.flags & SPACE_TREE == kind
    if what != GOOD or not of_root:
        raise PageDamageError("space", f"page {number} is not of the root of the database")
    return *page_nodes(page, header), bool(header.flags & LEAF)
