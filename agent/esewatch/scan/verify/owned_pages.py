"""The last page that a database owns: behind it nothing is lost, before it the file was cut.

The root of the database has the extents of the whole file (SPACE_HEADER in space.hxx,
pgnoSystemRoot in daeconst.hxx of the published engine).
"""

from typing import Final

from esewatch.ese.pages.kernels import classify
from esewatch.ese.pages.layout import GOOD
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


def last_owned_page(file: DatabaseFile, page_size: int) -> int:
    """Number of the last page that the database owns; 0: a damaged page does not tell it.

    Where a page that leads to it lies behind the end of the file, the number of that page. Raises
    OSError where the device is gone.
    """
    number = _ROOT_PAGE
    try:
        space = space_header(_taken_apart(file, number, page_size, 0)[0])
        if not space.owned_root:
            return _ROOT_PAGE + space.pages - 1
        number = space.owned_root
        for _ in range(_MOST_LEVELS):
            _, nodes, is_leaf = _taken_apart(file, number, page_size, SPACE_TREE)
            if is_leaf:
                return max((extent.last for extent in extents(nodes)), default=0)
            number = int.from_bytes(nodes.data[-1], "little")
    except EOFError:
        return number
    except PageDamageError:
        pass
    return 0


def _taken_apart(
    file: DatabaseFile, number: int, page_size: int, kind: int
) -> tuple[bytes, Nodes, bool]:
    """External header and nodes of a page, and whether it is a leaf.

    Raises EOFError where the file has no such page, PageDamageError where it is damaged or another
    one than that of the root or, by `kind`, of its space.
    """
    page = read_pages(file, number, 1, page_size)
    if len(page) < page_size:
        raise EOFError
    header = page_header(page)
    of_root = header.object_id == _ROOT_ID and header.flags & SPACE_TREE == kind
    if classify(page, page_size, number) != bytes([GOOD]) or not of_root:
        raise PageDamageError("space", f"page {number} is not of the root of the database")
    return *page_nodes(page, header), bool(header.flags & LEAF)
