"""A B+tree of keys of 1 to 255 bytes: branches lead to leaves, leaves have the values.

A node of a branch has the number of a child as its value (u32) and the child's upper bound as
its key; the last key of a branch is the upper bound of the branch, empty at the right edge. A
search does not look at it: the last child ends where the branch does.
Deletes never merge leaves: only a leaf that is empty goes; `merge` is for online
defragmentation. After an error the transaction is to be aborted: PageError where a page cannot
be read, TreeError where what was read makes no sense, in the tree or in the space.
"""

import struct
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Concatenate, Final, NamedTuple, ParamSpec, Protocol, TypeVar

from eselab.storage import node
from eselab.storage.store import Store, Transaction

LONGEST_KEY: Final = 255

_CHILD: Final = struct.Struct("<I")
_DEEPEST: Final = 32
"""Levels that no tree of a file of 2^31 pages has: a path this long goes in a circle."""

_NONSENSE: Final = (struct.error, IndexError, ValueError)
"""Errors of a page that verifies and was written broken, or a map that lost a write."""


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class TreeError(Exception):
    """The tree leads to a page that is not of it, or that makes no sense: a write was lost,
    the page was written broken, or it is no root."""


class SizeError(ValueError):
    """A key or a value that no page has room for."""


class Space(Protocol):
    """Source of the pages of a tree."""

    def allocate(self, transaction: Transaction, *, near: int = 0) -> int:
        """A page that nobody has, if possible close behind page `near`; any content."""

    def free(self, transaction: Transaction, number: int) -> None:
        """Give a page back. From then on it has the flag of an empty page."""


class Merge(NamedTuple):
    """Result of `BTree.merge`: pages that it freed, and the key to go on from, None at the end."""

    freed: int
    next: bytes | None


class _Step(NamedTuple):
    """A page on the way down, and which of its nodes was taken."""

    number: int
    at: int


class _Place(NamedTuple):
    """Place of a key: a leaf, the way to it from the root, and a place in it."""

    path: tuple[_Step, ...]
    number: int
    page: bytes
    end: bytes | None
    """The lower bound of what lies right of the leaf."""
    at: int
    """Of the first node whose key is not less; `found`: it is the key."""
    found: bool

    @property
    def way(self) -> tuple[_Step, ...]:
        """The way with the leaf as its last step."""
        return (*self.path, _Step(self.number, self.at))


def _changing(
    change: Callable[Concatenate["BTree", _Arguments], _Result],
) -> Callable[Concatenate["BTree", _Arguments], _Result]:
    """A change that raises TreeError for nonsense on any page that it comes to."""

    @wraps(change)
    def guarded(tree: "BTree", /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return change(tree, *args, **kwargs)
        except SizeError:
            raise
        except _NONSENSE as error:
            raise TreeError(f"tree {tree.object_id} cannot be changed: {error}") from error

    return guarded


class BTree:
    """A tree by the page number of its root, which never changes."""

    def __init__(self, store: Store, space: Space, root: int, object_id: int) -> None:
        self.root = root
        self.object_id = object_id
        self._store = store
        self._space = space

    @classmethod
    def create(
        cls,
        store: Store,
        space: Space,
        transaction: Transaction,
        object_id: int,
        *,
        root: int = 0,
        flags: int = 0,
        header: bytes = b"",
    ) -> "BTree":
        """A new, empty tree; its root is on that page, 0: on one of the space.

        All its pages have the flags, its root the external header.
        """
        root = root or space.allocate(transaction)
        node.init(transaction.page(root), object_id, node.ROOT | node.LEAF | flags, header)
        return cls(store, space, root, object_id)

    def get(self, key: bytes, transaction: Transaction | None = None) -> bytes | None:
        """The value of a key. Without a transaction: what is committed. Raises TreeError."""
        place = self._descend(key, transaction)
        return node.value(place.page, place.at) if place.found else None

    def scan(
        self, start: bytes = b"", end: bytes | None = None, transaction: Transaction | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values from `start` to before `end`, in order. Raises TreeError.

        A leaf is read when it is come to: a change behind that place is seen, one before is not.
        """
        for place in self._places(start, transaction):
            page = place.page
            try:
                for index in range(place.at, node.count(page)):
                    key = node.key(page, index)
                    if end is not None and key >= end:
                        return
                    yield key, node.value(page, index)
            except _NONSENSE as error:
                raise self._nonsense(place.number) from error

    def leaves(self, transaction: Transaction | None = None) -> Iterator[int]:
        """Page numbers of the leaves in the order of their keys. Raises TreeError.

        A leaf that takes over the keys of a freed neighbour meanwhile may come again.
        """
        for place in self._places(b"", transaction):
            yield place.number

    def pages(self, transaction: Transaction | None = None) -> Iterator[int]:
        """Page numbers of the whole tree, its root first. Raises TreeError."""
        waiting = [(self.root, 0)]
        while waiting:
            number, depth = waiting.pop()
            page = self._read(number, transaction)
            yield number
            if depth > _DEEPEST:
                raise self._nonsense(number)
            if node.flags(page) & node.LEAF:
                continue
            try:
                children = [node.value(page, at) for at in range(node.count(page))]
                waiting += [(_CHILD.unpack(child)[0], depth + 1) for child in children]
            except _NONSENSE as error:
                raise self._nonsense(number) from error

    @_changing
    def insert(self, transaction: Transaction, key: bytes, value: bytes) -> None:
        """A new key. KeyError when it is there, SizeError, TreeError."""
        self._verify(key, value)
        place = self._descend(key, transaction)
        if place.found:
            raise KeyError(key)
        self._put(transaction, place.way, key, value)

    @_changing
    def replace(self, transaction: Transaction, key: bytes, value: bytes) -> None:
        """Another value for a key. KeyError when it is not there, SizeError, TreeError."""
        self._verify(key, value)
        place = self._existing(transaction, key)
        page = transaction.page(place.number)
        if node.fits_instead(page, place.at, value):
            node.replace(page, place.at, value)
            return
        node.remove(page, place.at)
        self._put(transaction, place.way, key, value)

    @_changing
    def delete(self, transaction: Transaction, key: bytes) -> None:
        """Take a key out. KeyError when it is not there, TreeError."""
        place = self._existing(transaction, key)
        page = transaction.page(place.number)
        node.remove(page, place.at)
        if self._store.counts_deleted:
            node.count_deleted(page)
        if node.count(page) == 0 and place.number != self.root:
            self._unlink(transaction, place.number, page)
            self._space.free(transaction, place.number)
            self._drop(transaction, place.path)

    @_changing
    def merge(self, transaction: Transaction, key: bytes) -> Merge:
        """Merge the leaf where `key` belongs with its right neighbour, if one page holds both.

        Only leaves under the same branch are: at its last leaf the branch itself is merged with
        a neighbour in the same way, and so on upwards; a root that has only one child left takes
        over what the child has. Where something was freed `next` is the same key. Walked so from
        b"" to the end, a tree has nothing left to merge. Raises TreeError.
        """
        place = self._descend(key, transaction)
        if place.path and self._lift(transaction):
            return Merge(1, key)
        bottom = len(place.path) - 1
        for depth in range(bottom, -1, -1):
            number, at = place.path[depth]
            freed = self._join(transaction, number, at)
            if not freed and depth < bottom and at:
                # Only now, when all under this branch was merged, it may fit into the one before.
                freed = self._join(transaction, number, at - 1)
            if freed:
                return Merge(freed, key)
            if at + 1 < node.count(transaction.read(number)):
                break
        return Merge(0, place.end)

    def _verify(self, key: bytes, value: bytes) -> None:
        if not 1 <= len(key) <= LONGEST_KEY:
            raise SizeError(f"a key of {len(key)} bytes")
        if len(value) > self._store.page_size // 4:
            raise SizeError(f"a value of {len(value)} bytes in a page of {self._store.page_size}")

    def _read(self, number: int, transaction: Transaction | None) -> bytes:
        try:
            page = (self._store if transaction is None else transaction).read(number)
        except IndexError as error:
            raise TreeError(f"tree {self.object_id} leads to {error}") from error
        if not node.is_sound_page_of(page, self.object_id):
            if node.object_id(page) == self.object_id and not node.flags(page) & node.EMPTY:
                raise self._nonsense(number)
            raise TreeError(f"page {number} is not of tree {self.object_id}")
        return page

    def _descend(self, key: bytes, transaction: Transaction | None) -> _Place:
        """Place of `key`."""
        path: list[_Step] = []
        number, end = self.root, None
        page = self._read(number, transaction)
        try:
            while not node.flags(page) & node.LEAF:
                if len(path) >= _DEEPEST or not node.count(page):
                    raise TreeError(f"page {number} is not a branch of tree {self.object_id}")
                index, bound, child = node.way_down(page, key)
                if bound is not None:
                    end = bound
                path.append(_Step(number, index))
                (number,) = _CHILD.unpack(child)
                page = self._read(number, transaction)
            at, found = node.find(page, key)
        except _NONSENSE as error:
            raise self._nonsense(number) from error
        if end is not None and end <= key:
            # A walk that goes on from there would not end.
            raise TreeError(f"a branch above page {number} of tree {self.object_id} is not sorted")
        return _Place(tuple(path), number, page, end, at, found)

    def _existing(self, transaction: Transaction, key: bytes) -> _Place:
        place = self._descend(key, transaction)
        if not place.found:
            raise KeyError(key)
        return place

    def _nonsense(self, number: int) -> TreeError:
        return TreeError(f"page {number} of tree {self.object_id} makes no sense")

    def _places(self, start: bytes, transaction: Transaction | None) -> Iterator[_Place]:
        """The leaves from the one where `start` belongs, each found anew by its lower bound.

        With its place: a leaf that took over its neighbour's keys has lesser ones too.
        """
        bound: bytes | None = start
        while bound is not None:
            place = self._descend(bound, transaction)
            yield place
            bound = place.end

    def _put(
        self, transaction: Transaction, way: tuple[_Step, ...], key: bytes, value: bytes
    ) -> None:
        """A new node at the end of the way; where there is no room the page is split."""
        *path, (number, index) = way
        page = transaction.page(number)
        if node.fits(page, key, value):
            node.insert(page, index, key, value)
            return
        if not path:
            number = self._push_down(transaction)
            page = transaction.page(number)
            path = [_Step(self.root, 0)]
        new = self._space.allocate(transaction, near=number)
        right = transaction.page(new)
        node.init(right, self.object_id, node.flags(page))
        is_leaf = node.flags(page) & node.LEAF
        behind = index == node.count(page) - (0 if is_leaf else 1)
        fits = is_leaf or node.free_bytes(page) >= len(key)
        if not (behind and fits and self._is_last(transaction, path)):
            node.split_with(page, right, index, key, value)
        elif is_leaf:
            node.insert(right, 0, key, value)
        else:
            # The new node takes the place of the last one, whose key is empty.
            node.insert(right, 0, b"", node.value(page, index))
            node.replace(page, index, value)
            node.set_last_key(page, key)
        last = node.key(page, node.count(page) - 1)
        if is_leaf:
            self._link(transaction, number, new)
            bound = node.separator(last, node.key(right, 0))
        else:
            bound = last
        above = path[-1]
        node.replace(transaction.page(above.number), above.at, _CHILD.pack(new))
        self._put(transaction, tuple(path), bound, _CHILD.pack(number))

    def _is_last(self, transaction: Transaction, path: list[_Step]) -> bool:
        """True if the way keeps to the right edge of the tree."""
        return all(step.at + 1 == node.count(transaction.read(step.number)) for step in path)

    def _push_down(self, transaction: Transaction) -> int:
        """Move what the root has to a new page, its only child then."""
        number = self._space.allocate(transaction, near=self.root)
        root, child = transaction.page(self.root), transaction.page(number)
        of_root = node.flags(root)
        node.init(child, self.object_id, of_root & ~node.ROOT)
        node.split(root, child, 0)
        above = node.PARENT_OF_LEAF if of_root & node.LEAF else 0
        self._init_root(root, of_root & ~(node.LEAF | node.PARENT_OF_LEAF) | above)
        node.insert(root, 0, b"", _CHILD.pack(number))
        return number

    def _init_root(self, root: bytearray, flags: int) -> None:
        node.init(root, self.object_id, flags, node.external_header(root))

    def _link(self, transaction: Transaction, left: int, new: int) -> None:
        """Put a new leaf behind `left`."""
        page, right = transaction.page(left), transaction.page(new)
        behind = node.following(page)
        node.set_previous(right, left)
        node.set_following(right, behind)
        node.set_following(page, new)
        if behind:
            node.set_previous(transaction.page(behind), new)

    def _unlink(self, transaction: Transaction, number: int, page: node.Page) -> None:
        """Let the siblings of leaf `number` follow each other."""
        before, behind = node.previous(page), node.following(page)
        if before:
            if node.following(self._read(before, transaction)) != number:
                raise TreeError(f"pages {before} and {number} are not neighbours")
            node.set_following(transaction.page(before), behind)
        if behind:
            if node.previous(self._read(behind, transaction)) != number:
                raise TreeError(f"pages {number} and {behind} are not neighbours")
            node.set_previous(transaction.page(behind), before)

    def _join(self, transaction: Transaction, above: int, at: int) -> int:
        """Move what child at + 1 of a branch has into child `at`, if both fit; pages freed.

        Of branches, the two children that become neighbours by it are joined too, if they fit.
        """
        parent = transaction.read(above)
        if at + 1 >= node.count(parent):
            return 0
        left, right = (_CHILD.unpack(node.value(parent, index))[0] for index in (at, at + 1))
        into, page = self._read(left, transaction), self._read(right, transaction)
        is_leaf = node.flags(page) & node.LEAF
        self._verify_neighbours((left, into), (right, page))
        nodes = node.count(into)
        if not node.fits_both(into, page):
            return 0
        target = transaction.page(left)
        if is_leaf:
            self._unlink(transaction, right, page)
        node.append(target, page, 0)
        self._space.free(transaction, right)
        above_both = transaction.page(above)
        node.replace(above_both, at + 1, _CHILD.pack(left))
        node.remove(above_both, at)
        return 1 if is_leaf else 1 + self._join(transaction, left, nodes - 1)

    def _verify_neighbours(self, left: tuple[int, bytes], right: tuple[int, bytes]) -> None:
        kinds = node.LEAF | node.PARENT_OF_LEAF
        (before, into), (behind, page) = left, right
        linked = (behind, before) if node.flags(page) & node.LEAF else (0, 0)
        if (
            before == behind
            or (node.flags(into) ^ node.flags(page)) & kinds
            or (node.following(into), node.previous(page)) != linked
        ):
            raise TreeError(f"pages {before} and {behind} are not neighbours")

    def _lift(self, transaction: Transaction) -> bool:
        """The root takes over what its only child has: the tree is one level lower then.

        Not where it has several, or has no room for that. Whether it did.
        """
        above = transaction.read(self.root)
        (number,) = _CHILD.unpack(node.value(above, 0))
        if node.count(above) > 1:
            return False
        child = self._read(number, transaction)
        header = node.external_header(above)
        if node.free_bytes(child) < len(header):
            return False
        root = transaction.page(self.root)
        node.init(root, self.object_id, node.flags(child) | node.ROOT, header)
        node.append(root, child, 0)
        self._space.free(transaction, number)
        return True

    def _drop(self, transaction: Transaction, path: tuple[_Step, ...]) -> None:
        """The child at the end of the way is gone: so is a branch that had no other."""
        for step in reversed(path):
            page = transaction.page(step.number)
            bound = node.key(page, step.at)
            node.remove(page, step.at)
            if node.count(page):
                if step.at == node.count(page):
                    self._set_bound(transaction, step.number, bound)
                return
            if step.number != self.root:
                self._space.free(transaction, step.number)
        root = transaction.page(self.root)
        self._init_root(root, node.flags(root) & ~node.PARENT_OF_LEAF | node.LEAF)

    def _set_bound(self, transaction: Transaction, number: int, bound: bytes) -> None:
        """A branch ends there, so its last child does, and so on downwards.

        Where a page has no room for a longer key it keeps the one that it has: nothing is lost.
        """
        while not node.flags(transaction.read(number)) & node.LEAF:
            page = transaction.page(number)
            last = node.count(page) - 1
            if len(bound) - len(node.key(page, last)) > node.free_bytes(page):
                return
            node.set_last_key(page, bound)
            (number,) = _CHILD.unpack(node.value(page, last))
