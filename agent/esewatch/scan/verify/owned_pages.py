"""The pages that a file must have: those that lead to what the database owns, and the last of it.

The root of the database has the extents of the whole file (SPACE_HEADER in space.hxx,
pgnoSystemRoot in daeconst.hxx of the published engine). An interrupted copy lacks them: its file
ends before, or it was made in its full size and is blank from there on.
"""

from typing import Final

from esewatch.ese.pages.kernels import classify
from esewatch.ese.pages.layout import BLANK, GOOD
from esewatch.ese.pages.structure.nodes import (
    LEAF,
    SPACE_TREE,
    Nodes,
    PageDamageError,
    page_header,
    page_nodes,
)
from esewatch.ese.pages.structure.space import extents, space_header
from esewatch.scan.reading.page_reading import read_pages
from esewatch.scan.reading.reading import DatabaseFile

_ROOT_PAGE: Final = 1
_ROOT_ID: Final = 1
_MOST_LEVELS: Final = 8


class _MissingPageError(Exception):
    """The page of this number is behind the end of the file, or blank."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def missing_page(file: DatabaseFile, page_size: int, end: int) -> int:
    """Number of a page that the database must have and that the file lacks.

    `end`: number of the first page behind the end of the file. 0: none is missing, or a damaged
    page does not tell. Raises OSError where the device is gone.
    """
    try:
        last = _last_owned_page(file, page_size)
    except _MissingPageError as missing:
        return min(missing.number, end)
    except PageDamageError:
        return 0
    return end if last >= end else 0


def _last_owned_page(file: DatabaseFile, page_size: int) -> int:
    """Number of the last page that the database owns, 0 if that is not found.

    Raises _MissingPageError, PageDamageError.
    """
    space = space_header(_taken_apart(file, _ROOT_PAGE, page_size, 0)[0])
    number = space.owned_root
    if not number:
        return _ROOT_PAGE + space.pages - 1
    for _ in range(_MOST_LEVELS):
        _, nodes, is_leaf = _taken_apart(file, number, page_size, SPACE_TREE)
        if is_leaf:
            return max((extent.last for extent in extents(nodes)), default=0)
        number = int.from_bytes(nodes.data[-1], "little")
    return 0


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
