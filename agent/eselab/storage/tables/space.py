"""Space of a tree: the extents of pages that it owns, and those of them that are available.

Every tree has two trees of extents, at the two pages behind its root: of what it owns, and of
what is available. A record of them is an extent: its last page (u32, big-endian) is the key, its
number of pages (u32) the value. The external header of the root leads to them. A tree gets
extents from its parent, the root of the database, which has the file grow. What a tree frees
is available to it alone. Where a tree of extents is not far from a split, some pages wait for
that in the external header of its root. Sources: space.hxx and space.cxx of the published engine.

There is nothing in memory that an abort or a crash could make wrong: every answer is read from
the trees.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from eselab.storage import node
from eselab.storage.btree import BTree, TreeError
from eselab.storage.store import Store, Transaction

EXTENT: Final = 16
"""Pages by which a tree, or the file, grows."""

SYSTEM_ROOT: Final = 1
"""The page from which the whole file is owned, and the object id of its trees."""

_RESERVE: Final = 8
"""Pages that wait for splits of a tree of extents: more than one change of it can take."""

_NEAR: Final = 64
"""A tree of extents that is one page with this many free bytes is not split by one change."""

_KEY: Final = struct.Struct(">I")
_COUNT: Final = struct.Struct("<I")
_HEADER: Final = struct.Struct("<4I")
"""Pages at first, root of the parent, flags, root of the tree of what is owned."""
_MULTIPLE: Final = 1
_WAITING: Final = struct.Struct("<2i2I")
"""Of a tree of extents: two extents that wait for splits, pages of both, last pages of both."""


class Space:
    """The space of a tree by the page number of its root. `parent`: where extents come from.

    Without a transaction the answers are of what is committed. Every method raises PageError
    where a page that it needs is damaged, and TreeError where the trees make no sense.
    """

    def __init__(
        self, store: Store, root: int, object_id: int, parent: "Space | None" = None
    ) -> None:
        self.root = root
        self.store = store
        self._object_id = object_id
        self._parent = parent
        self._owned, self._available = (
            _Extents(store, page, object_id) for page in (root + 1, root + 2)
        )

    @classmethod
    def create(
        cls,
        store: Store,
        transaction: Transaction,
        pages: range,
        object_id: int,
        parent: "Space | None" = None,
        *,
        flags: int = 0,
    ) -> "Space":
        """A space of these pages: the first is for the root, the next two are in use then.

        `flags`: those of the pages of the tree.
        """
        made = cls(store, pages.start, object_id, parent)
        for tree in (made._owned, made._available):
            tree.plant(transaction, flags)
        made._owned.put(transaction, pages)
        if len(pages) > 3:
            made._available.put(transaction, pages[3:])
        return made

    def external_header(self, pages: int) -> bytes:
        """That of the root of a tree which began with so many pages."""
        parent = 0 if self._parent is None else self._parent.root
        return _HEADER.pack(pages, parent, _MULTIPLE, self.root + 1)

    def allocate(self, transaction: Transaction, *, near: int = 0) -> int:
        """Take the first available page behind `near`, else the lowest; its content is what it was.

        When none is available, the tree gets an extent.
        """
        self._prepare(transaction)
        found = self._available.following(transaction, near + 1)
        if found is None and near > 0:
            found = self._available.following(transaction, 1)
        if found is None:
            found = self._more(transaction, EXTENT)
            self._owned.put(transaction, found)
            self._available.put(transaction, found)
        number = max(found.start, near + 1) if near < found.stop - 1 else found.start
        self._take(transaction, found, range(number, number + 1))
        return number

    def extent(self, transaction: Transaction, count: int) -> range:
        """Take so many pages that lie together, for a child. The file grows where it has none."""
        self._prepare(transaction)
        for found in self._available.extents(transaction):
            if len(found) >= count:
                taken = found[:count]
                self._take(transaction, found, taken)
                return taken
        found = self._more(transaction, max(count, EXTENT))
        self._owned.put(transaction, found)
        if found[count:]:
            self._available.put(transaction, found[count:])
        return found[:count]

    def claim(self, transaction: Transaction, pages: range) -> None:
        """Take these pages, which are available. TreeError where they are not."""
        found = self._available.following(transaction, pages.start)
        if found is None or pages.start not in found or pages[-1] not in found:
            raise TreeError(f"pages {pages.start} to {pages[-1]} are not available")
        self._take(transaction, found, pages)

    def free(self, transaction: Transaction, number: int) -> None:
        """Give a page back. ValueError if it is free, or not one of this tree.

        Its header stays, but for siblings and tags, and gets the empty flag (cpage.hxx of the
        published engine). What was in its data area stays there as garbage.
        """
        own = self._owned.following(transaction, number)
        if own is None or number not in own:
            raise ValueError(f"page {number} is not of the tree of page {self.root}")
        behind = self._available.following(transaction, number)
        if behind is not None and number in behind:
            raise ValueError(f"page {number} is free already")
        self._prepare(transaction)
        _empty(transaction, number)
        self._give(transaction, number)

    def owned(self, transaction: Transaction | None = None) -> Iterator[range]:
        """The extents that the tree owns, ascending; those that it gave to children too."""
        return self._owned.extents(transaction)

    def available(self, transaction: Transaction | None = None) -> Iterator[range]:
        """The extents of pages that are free, ascending."""
        return self._available.extents(transaction)

    def own_pages(self, transaction: Transaction | None = None) -> Iterator[int]:
        """Page numbers of the trees of extents, and of what waits for their splits."""
        for tree in (self._owned, self._available):
            yield from tree.pages(transaction)
            for pages in tree.waiting(transaction):
                yield from pages

    def _take(self, transaction: Transaction, found: range, pages: range) -> None:
        """Make pages of an available extent unavailable."""
        before, behind = range(found.start, pages.start), range(pages.stop, found.stop)
        self._available.replace(transaction, found, behind)
        if before:
            self._available.put(transaction, before)
        self._settle(transaction)

    def _give(self, transaction: Transaction, number: int) -> None:
        """Make a page available, in one extent with its neighbours where they are, too."""
        own = self._owned.following(transaction, number)
        if own is None or number not in own:
            raise TreeError(f"page {number} is not of the tree of page {self.root}")
        first, stop = number, number + 1
        before = self._available.ending(transaction, number - 1) if number > own.start else None
        behind = self._available.following(transaction, stop) if stop in own else None
        if behind is not None and behind.start == stop:
            stop = behind.stop
        if before is not None:
            first = before.start
            self._available.replace(transaction, before, range(0))
        if stop > number + 1:
            assert behind is not None
            self._available.replace(transaction, behind, range(first, stop))
        else:
            self._available.put(transaction, range(first, stop))
        self._settle(transaction)

    def _settle(self, transaction: Transaction) -> None:
        """Make available what the trees of extents gave back meanwhile."""
        for tree in (self._owned, self._available):
            while tree.freed:
                number = tree.freed.pop()
                self._prepare(transaction)
                self._give(transaction, number)

    def _prepare(self, transaction: Transaction) -> None:
        """See to it that a change of the trees of extents has the pages that it may need."""
        for tree in (self._owned, self._available):
            tree.freed.clear()
        for tree in (self._owned, self._available):
            if tree.is_short(transaction):
                more = self._more(transaction, _RESERVE)
                tree.wait(transaction, more)
                self._owned.put(transaction, more)

    def _more(self, transaction: Transaction, count: int) -> range:
        """Pages that this tree did not own."""
        if self._parent is not None:
            return self._parent.extent(transaction, count)
        first = transaction.extend(count)
        return range(first, first + count)


class OnePage(Space):
    """The space of a tree that is one page and stays so: there are no trees of extents."""

    def external_header(self, pages: int) -> bytes:
        """See `Space`."""
        del pages
        assert self._parent is not None
        return _HEADER.pack(1, self._parent.root, 0, 0)

    def allocate(self, transaction: Transaction, *, near: int = 0) -> int:
        """There is no page to take: TreeError, and the transaction should be aborted."""
        del transaction, near
        raise TreeError(f"tree {self._object_id} is full: the engine has it on one page only")

    def owned(self, transaction: Transaction | None = None) -> Iterator[range]:
        """See `Space`."""
        del transaction
        yield range(self.root, self.root + 1)

    def available(self, transaction: Transaction | None = None) -> Iterator[range]:
        """See `Space`."""
        del transaction
        yield from ()

    def own_pages(self, transaction: Transaction | None = None) -> Iterator[int]:
        """See `Space`."""
        del transaction
        yield from ()


class _Extents:
    """A tree of extents. Its pages come from those that wait in the header of its root."""

    def __init__(self, store: Store, root: int, object_id: int) -> None:
        self.freed: list[int] = []
        """Pages that it has no use for any more, until the space takes them."""
        self._store = store
        self._root = root
        self._object_id = object_id
        self._tree = BTree(store, self, root, object_id)

    def plant(self, transaction: Transaction, flags: int) -> None:
        """Make the tree, empty; its pages have these flags, too."""
        BTree.create(
            self._store, self, transaction, self._object_id, root=self._root,
            flags=flags | node.SPACE_TREE, header=_WAITING.pack(0, 0, 0, 0),
        )  # fmt: skip

    def put(self, transaction: Transaction, pages: range) -> None:
        """A new extent. TreeError where there is one that ends so."""
        try:
            self._tree.insert(transaction, _KEY.pack(pages[-1]), _COUNT.pack(len(pages)))
        except KeyError as error:
            raise TreeError(f"an extent ends at page {pages[-1]} already") from error

    def replace(self, transaction: Transaction, old: range, new: range) -> None:
        """Another extent with the same end, or none, in the place of one."""
        key = _KEY.pack(old[-1])
        if new:
            self._tree.replace(transaction, key, _COUNT.pack(len(new)))
        else:
            self._tree.delete(transaction, key)

    def following(self, transaction: Transaction | None, number: int) -> range | None:
        """The extent that has page `number`, else the next one behind it."""
        start = _KEY.pack(number)
        return next(self._extents(self._tree.scan(start, transaction=transaction)), None)

    def ending(self, transaction: Transaction, number: int) -> range | None:
        """The extent whose last page it is."""
        key = _KEY.pack(number)
        value = self._tree.get(key, transaction)
        return None if value is None else extent_of(key, value)

    def extents(self, transaction: Transaction | None) -> Iterator[range]:
        """All, ascending."""
        return self._extents(self._tree.scan(transaction=transaction))

    def pages(self, transaction: Transaction | None) -> Iterator[int]:
        """Page numbers of the tree."""
        return self._tree.pages(transaction)

    def is_short(self, transaction: Transaction) -> bool:
        """True if a change might split a page and has not enough pages for that."""
        root = transaction.read(self._root)
        if node.flags(root) & node.LEAF and node.free_bytes(root) >= _NEAR:
            return False
        return sum(len(pages) for pages in self.waiting(transaction)) < _RESERVE

    def waiting(self, transaction: Transaction | None) -> list[range]:
        """Both extents that wait, which may be empty. TreeError where there are none."""
        page = (transaction or self._store).read(self._root)
        return waiting_of(page)

    def wait(self, transaction: Transaction, pages: range) -> None:
        """Let these pages wait, in the place of an extent that is used up."""
        first, second = self.waiting(transaction)
        both = (pages, second) if not first else (first, pages)
        self._set_waiting(transaction, *both)

    def allocate(self, transaction: Transaction, *, near: int = 0) -> int:
        """A page for a split: the first of the smaller extent, so that one is used up first."""
        first, second = self.waiting(transaction)
        if not first and not second:
            raise TreeError(f"no page waits for a split of the extents at page {self._root}")
        if first and (not second or len(first) <= len(second)):
            self._set_waiting(transaction, first[1:], second)
            return first.start
        self._set_waiting(transaction, first, second[1:])
        return second.start

    def free(self, transaction: Transaction, number: int) -> None:
        """Give a page back: it is free when the change is done."""
        _empty(transaction, number)
        self.freed.append(number)

    def _set_waiting(self, transaction: Transaction, first: range, second: range) -> None:
        ends = (pages[-1] if pages else 0 for pages in (first, second))
        header = _WAITING.pack(len(first), len(second), *ends)
        node.set_external_header(transaction.page(self._root), header)

    def _extents(self, records: Iterator[tuple[bytes, bytes]]) -> Iterator[range]:
        return (extent_of(key, value) for key, value in records)


class Survey:
    """The use of all pages of a database. `spaces`: those of its root and its tables."""

    def __init__(self, store: Store, spaces: Callable[[], Iterable[Space]]) -> None:
        self._store = store
        self._spaces = spaces

    def free_pages(self) -> int:
        return sum(len(pages) for pages in self._available())

    def is_free(self, number: int) -> bool:
        """True if a page is available. IndexError when the database has no such page."""
        if not 1 <= number <= self._store.pages:
            raise IndexError(f"page {number} of {self._store.pages}")
        return any(number in pages for pages in self._available())

    def used(self) -> Iterator[int]:
        """Numbers of the pages that tables have in use, without those of their space, ascending."""
        others = {number for pages in self._available() for number in pages}
        for space in self._spaces():
            others.update(space.own_pages())
        pages = range(1, self._store.pages + 1)
        return (number for number in pages if number not in others)

    def _available(self) -> Iterator[range]:
        for space in self._spaces():
            yield from space.available()


def extent_of(key: bytes, value: bytes) -> range:
    """The pages of a record of a tree of extents. TreeError where it makes no sense."""
    if len(key) == _KEY.size and len(value) == _COUNT.size:
        (last,), (count,) = _KEY.unpack(key), _COUNT.unpack(value)
        if 1 <= count <= last:
            return range(last - count + 1, last + 1)
    raise TreeError(f"an extent of {value.hex()} pages to page {key.hex()}")


def waiting_of(root: node.Page) -> list[range]:
    """The extents that wait for splits of the tree of extents with that root. TreeError."""
    header = node.external_header(root)
    if len(header) != _WAITING.size:
        raise TreeError(f"an external header of {len(header)} bytes")
    first, second, *ends = _WAITING.unpack(header)
    if min(first, second) < 0:
        raise TreeError(f"extents of {first} and {second} pages")
    return [
        range(last - count + 1, last + 1) if count else range(0)
        for count, last in zip((first, second), ends, strict=True)
    ]


def is_one_page(root: node.Page, parent: int) -> bool:
    """True if the external header of a root is that of `OnePage`. `parent`: the root above it."""
    return node.external_header(root) == _HEADER.pack(1, parent, 0, 0)


def root_of_extents(root: node.Page) -> int:
    """The page of the tree of what a tree owns, of its root; 0: its header has none."""
    header = node.external_header(root)
    if len(header) != _HEADER.size:
        return 0
    _, _, flags, owned = _HEADER.unpack(header)
    return int(owned) if flags & _MULTIPLE else 0


def _empty(transaction: Transaction, number: int) -> None:
    page = transaction.page(number)
    room = len(page) - node.header_size(len(page))
    flags = node.flags(page) | node.EMPTY
    node.set_fields(page, node.object_id(page), flags, free=room)
