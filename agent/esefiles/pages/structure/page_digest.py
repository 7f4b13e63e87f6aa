"""Digest of a page for the second look at it: keys at its ends, children, extents, rows. A page is
read once, in the order of the file; trees are walked over the digests."""

import msgspec

from esefiles.pages.layout import LARGEST_SMALL
from esefiles.pages.structure import records, space
from esefiles.pages.structure.long_values import LongValue, Piece, long_value, piece
from esefiles.pages.structure.nodes import (
    DELETED,
    INDEX,
    LEAF,
    LONG_VALUE,
    NEW_RECORD,
    NON_UNIQUE,
    ROOT,
    SPACE_TREE,
    Nodes,
    PageDamageError,
    PageHeader,
    page_nodes,
)

CATALOGUE: int = 2
"""Object id of MSysObjects, whose root is page 4 (cat.hxx)."""
SHADOW: int = 3
"""Object id of MSysObjectsShadow, whose root is page 24."""


class Row(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A row of the catalogue and the key that it stands under."""

    key: bytes
    table: int
    kind: int
    object_id: int
    root: int
    name: str


class Digest(msgspec.Struct, array_like=True, gc=False):
    """Of a leaf all but `children` and `keys`, of a branch these."""

    external: bytes = b""
    """The external header of a root."""
    records: int = 0
    """Nodes that are not deleted."""
    first: bytes = b""
    """Key of the first node; in an index with its data, as the keys of branches go on into it."""
    last: bytes = b""
    """Key of the last node."""
    children: list[int] = []
    keys: list[bytes] = []
    """Upper bound of each child, which does not reach it; empty: none."""
    extents: list[space.Extent] = []
    """Of a space tree."""
    rows: list[Row] = []
    """Of the catalogue and its shadow."""
    values: list[bytes] = []
    """Of a tree of long values their ids, of other leaves those that records refer to."""
    orphans: list[bytes] = []
    """Ids of pieces of long values that do not stand behind their root on this page."""
    pieces: list[Piece] = []
    """Those of the first of `orphans`, before any root on this page."""
    incomplete: list[str] = []
    """Sentences on long values that are wholly on this page and are not what their root says."""
    unended: LongValue | None = None
    """The last one with its root on this page: the next page may go on with it."""


def digest_of(page: bytes, header: PageHeader) -> Digest:
    """Take a page with nodes apart, check it, keep what is needed. Raises PageDamageError."""
    external, nodes = page_nodes(page, header)
    flags = header.flags
    made = Digest(external=external if flags & ROOT else b"")
    if flags & ROOT:
        if flags & SPACE_TREE:
            space.split_buffer(external)
        else:
            space.space_header(external)
    if not flags & LEAF:
        made.children = [int.from_bytes(data, "little") for data in nodes.data]
        made.keys = nodes.keys
        return made
    if nodes.keys:
        first, own = nodes.keys[0], flags & (INDEX | NON_UNIQUE)
        made.first, made.last = first + nodes.data[0] if own else first, nodes.keys[-1]
    deleted = [at for at, of_node in enumerate(nodes.flags) if of_node & DELETED]
    made.records = len(nodes.keys) - len(deleted)
    _content(made, nodes, deleted, page, header)
    return made


def _content(
    made: Digest, nodes: Nodes, deleted: list[int], page: bytes, header: PageHeader
) -> None:
    """Contents of the nodes of a leaf, by the kind of its tree."""
    flags = header.flags
    if flags & SPACE_TREE:
        made.extents = space.extents(nodes)
    elif flags & LONG_VALUE:
        _long_values(made, nodes, len(page))
    elif flags & INDEX or header.object_id == 1:
        return
    elif header.object_id in (CATALOGUE, SHADOW):
        made.rows = [
            Row(key, *records.catalogue_row(data))
            for key, data, of_node in zip(*nodes, strict=True)
            if not of_node & DELETED
        ]
    elif flags & NEW_RECORD:
        data = nodes.data
        if deleted:
            data = [each for at, each in enumerate(data) if not nodes.flags[at] & DELETED]
        made.values = records.references(data, small=len(page) <= LARGEST_SMALL)


def _long_values(made: Digest, nodes: Nodes, page_size: int) -> None:
    """A deleted root counts as one: what is deleted goes piece by piece."""
    current = b""
    for key, data, flags in zip(*nodes, strict=True):
        value, offset = records.long_value_of(key)
        if offset is None:
            if made.unended is not None and (why := made.unended.end(page_size)):
                made.incomplete.append(why)
            made.unended = long_value(value, data, deleted=bool(flags & DELETED))
            made.values.append(value)
        else:
            if value != current and not flags & DELETED:
                made.orphans.append(value)
            if made.unended is not None and made.unended.id == value:
                made.unended.is_judged &= not flags & DELETED
                made.unended.add(piece(offset, data))
            elif made.unended is None and made.orphans[:1] == [value]:
                made.pieces.append(piece(offset, data))
        current = value


def why_damaged(page: bytes, header: PageHeader) -> PageDamageError | None:
    """The damage within a page with nodes, None: none."""
    try:
        digest_of(page, header)
    except PageDamageError as damage:
        return damage
    return None
