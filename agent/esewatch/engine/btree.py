"""A B+tree of keys of 1 to 255 bytes: branches lead to leaves, leaves have the values.

A node of a branch has the number of a child as its value (u32) and the child's lower bound as
its key; the first key of a branch is empty, so its first child begins where the branch does.
Deletes never merge leaves: only a leaf that is empty goes; `merge` is for online
defragmentation. Errors of reading a page
(PageError) and of the space come through; the transaction is to be aborted then.
"""

import struct
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, NamedTuple, Protocol

from esewatch.engine import node
from esewatch.engine.store import Store, Transaction

LONGEST_KEY: Final = 255

_CHILD: Final = struct.Struct("<I")
_DEEPEST: Final = 32
"""Levels that no tree of a file of 2^31 pages has: a path this long goes in a circle."""


_ROOM: Final = 10
"""Pages are merged when a tenth of the one that stays is free then: out of a full page the next
insert would make two again, and what was moved would have been moved for nothing."""


class TreeError(Exception):
    """The tree leads to a page that is not of it: a write was lost, or it is no root."""


class Space(Protocol):
    """Where the pages of a tree come from."""

    def allocate(self, transaction: Transaction, *, near: int = 0) -> int:
        """A page that nobody has, if possible close behind page `near`; any content."""

    def free(self, transaction: Transaction, number: int) -> None:
        """Give a page back. From then on it has the flag of an empty page."""


class Merge(NamedTuple):
    """What `BTree.merge` did: pages that it freed, and the key to go on from, None at the end."""

    freed: int
    next: bytes | None


class _Step(NamedTuple):
    """A page on the way down, and which of its nodes was taken."""

    number: int
    at: int


class _Place(NamedTuple):
    """A leaf, the way to it from the root, and the lower bound of what lies right of it."""

    path: tuple[_Step, ...]
    number: int
    page: bytes
    end: bytes | None


class BTree:
    """A tree by the page number of its root, which never changes."""

    def __init__(self, store: Store, space: Space, root: int, object_id: int) -> None:
        self.root = root
        self.object_id = object_id
        self._store = store
        self._space = space

    @classmethod
    def create(
        cls, store: Store, space: Space, transaction: Transaction, object_id: int
    ) -> "BTree":
        """A new, empty tree."""
        root = space.allocate(transaction)
        node.init(transaction.page(root), object_id, node.ROOT | node.LEAF)
        return cls(store, space, root, object_id)

    def get(self, key: bytes, transaction: Transaction | None = None) -> bytes | None:
        """The value of a key. Without a transaction: what is committed. Raises TreeError."""
        page = self._descend(key, transaction).page
        index, found = node.find(page, key)
        return node.value(page, index) if found else None

    def scan(
        self,
        start: bytes = b"",
        end: bytes | None = None,
        transaction: Transaction | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values from `start` to before `end`, in order. Raises TreeError.

        A leaf is read when it is come to: a change behind that place is seen, one before is not.
        """
        for bound, place in self._places(start, transaction):
            page = place.page
            for index in range(node.find(page, bound)[0], node.count(page)):
                key = node.key(page, index)
                if end is not None and key >= end:
                    return
                yield key, node.value(page, index)

    def leaves(self, transaction: Transaction | None = None) -> Iterator[int]:
        """Page numbers of the leaves in the order of their keys. Raises TreeError.

        A leaf that takes over the keys of a freed neighbour meanwhile may come again.
        """
        for _, place in self._places(b"", transaction):
            yield place.number

    def insert(self, transaction: Transaction, key: bytes, value: bytes) -> None:
        """A new key. KeyError when it is there, ValueError for sizes, TreeError."""
        self._verify(key, value)
        place = self._descend(key, transaction)
        index, found = node.find(place.page, key)
        if found:
            raise KeyError(key)
        self._put(transaction, (*place.path, _Step(place.number, index)), key, value)

    def replace(self, transaction: Transaction, key: bytes, value: bytes) -> None:
        """Another value for a key. KeyError when it is not there, ValueError, TreeError."""
        self._verify(key, value)
        place, index = self._existing(transaction, key)
        page = transaction.page(place.number)
        if node.fits_instead(page, index, value):
            node.replace(page, index, value)
            return
        node.remove(page, index)
        self._put(transaction, (*place.path, _Step(place.number, index)), key, value)

    def delete(self, transaction: Transaction, key: bytes) -> None:
        """Take a key out. KeyError when it is not there, TreeError."""
        place, index = self._existing(transaction, key)
        page = transaction.page(place.number)
        node.remove(page, index)
        if node.count(page) == 0 and place.number != self.root:
            self._unlink(transaction, place.number, page)
            self._space.free(transaction, place.number)
            self._drop(transaction, place.path)

    def merge(self, transaction: Transaction, key: bytes) -> Merge:
        """Merge the leaf where `key` belongs with its right neighbour, if one page holds both.

        Only leaves under the same branch are: at its last leaf the branch itself is merged with
        a neighbour in the same way, and so on upwards; a root that has only one child left takes
        over what the child has. Where something was freed `next` is the same key. Walked so from
        b"" to the end, a tree has nothing left to merge. Raises TreeError.
        """
        place = self._descend(key, transaction)
        if place.path and node.count(transaction.read(self.root)) == 1:
            self._lift(transaction)
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
            raise ValueError(f"a key of {len(key)} bytes")
        if len(value) > self._store.page_size // 4:
            raise ValueError(f"a value of {len(value)} bytes in a page of {self._store.page_size}")

    def _read(self, number: int, transaction: Transaction | None) -> bytes:
        try:
            page = (self._store if transaction is None else transaction).read(number)
        except IndexError as error:
            raise TreeError(f"tree {self.object_id} leads to {error}") from error
        if node.object_id(page) != self.object_id or node.flags(page) & node.EMPTY:
            raise TreeError(f"page {number} is not of tree {self.object_id}")
        return page

    def _descend(self, key: bytes, transaction: Transaction | None) -> _Place:
        """The leaf where `key` belongs."""
        path: list[_Step] = []
        number, end = self.root, None
        page = self._read(number, transaction)
        while not node.flags(page) & node.LEAF:
            index, found = node.find(page, key)
            index = max(0, index if found else index - 1)
            if len(path) >= _DEEPEST or not node.count(page):
                raise TreeError(f"page {number} is not a branch of tree {self.object_id}")
            if index + 1 < node.count(page):
                end = node.key(page, index + 1)
            path.append(_Step(number, index))
            (number,) = _CHILD.unpack(node.value(page, index))
            page = self._read(number, transaction)
        return _Place(tuple(path), number, page, end)

    def _places(
        self, start: bytes, transaction: Transaction | None
    ) -> Iterator[tuple[bytes, _Place]]:
        """The leaves from the one where `start` belongs, each found anew by its lower bound.

        The bound comes with it: a leaf that took over its neighbour's keys has lesser ones too.
        """
        bound: bytes | None = start
        while bound is not None:
            place = self._descend(bound, transaction)
            yield bound, place
            bound = place.end

    def _existing(self, transaction: Transaction, key: bytes) -> tuple[_Place, int]:
        place = self._descend(key, transaction)
        index, found = node.find(place.page, key)
        if not found:
            raise KeyError(key)
        return place, index

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
        if index == node.count(page) and self._is_last(transaction, path):
            node.insert(right, 0, key, value)
        else:
            _split(page, right, index, key, value)
        if node.flags(page) & node.LEAF:
            self._link(transaction, number, new)
            bound = _separator(node.key(page, node.count(page) - 1), node.key(right, 0))
        else:
            bound = node.key(right, 0)
            _clear_first_key(right)
        above = path[-1]
        way = (*path[:-1], _Step(above.number, above.at + 1))
        self._put(transaction, way, bound, _CHILD.pack(new))

    def _is_last(self, transaction: Transaction, path: list[_Step]) -> bool:
        """Whether the way keeps to the right edge of the tree."""
        return all(step.at + 1 == node.count(transaction.read(step.number)) for step in path)

    def _push_down(self, transaction: Transaction) -> int:
        """Move what the root has to a new page, its only child then."""
        number = self._space.allocate(transaction, near=self.root)
        root, child = transaction.page(self.root), transaction.page(number)
        kind = node.flags(root) & node.LEAF
        node.init(child, self.object_id, node.flags(root) & ~node.ROOT)
        node.split(root, child, 0)
        above = node.PARENT_OF_LEAF if kind else 0
        node.init(root, self.object_id, node.ROOT | above)
        node.insert(root, 0, b"", _CHILD.pack(number))
        return number

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
        bound = b"" if is_leaf else node.key(parent, at + 1)
        self._verify_neighbours((left, into), (right, page))
        nodes = node.count(into)
        if not _fits_both(into, page, len(bound)):
            return 0
        target = transaction.page(left)
        if is_leaf:
            node.append(target, page, 0)
            self._unlink(transaction, right, page)
        else:
            node.insert(target, nodes, bound, node.value(page, 0))
            node.append(target, page, 1)
        self._space.free(transaction, right)
        node.remove(transaction.page(above), at + 1)
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

    def _lift(self, transaction: Transaction) -> None:
        """The root takes over what its only child has: the tree is one level lower then."""
        root = transaction.page(self.root)
        (number,) = _CHILD.unpack(node.value(root, 0))
        child = self._read(number, transaction)
        node.init(root, self.object_id, node.flags(child) | node.ROOT)
        node.append(root, child, 0)
        self._space.free(transaction, number)

    def _drop(self, transaction: Transaction, path: tuple[_Step, ...]) -> None:
        """The child at the end of the way is gone: so is a branch that had no other."""
        for step in reversed(path):
            page = transaction.page(step.number)
            node.remove(page, step.at)
            if node.count(page):
                if step.at == 0:
                    _clear_first_key(page)
                return
            if step.number != self.root:
                self._space.free(transaction, step.number)
        node.init(transaction.page(self.root), self.object_id, node.ROOT | node.LEAF)


def _split(left: bytearray, right: bytearray, index: int, key: bytes, value: bytes) -> None:
    """Half of the nodes and of the new one, by bytes, go to `right`, which is empty."""
    sizes = [node.size(left, at) for at in range(node.count(left))]
    sizes.insert(index, node.size_of(key, value))
    sums = list(accumulate(sizes))
    at = min(range(1, len(sizes)), key=lambda at: abs(sums[-1] - 2 * sums[at - 1]))
    if index < at:
        node.split(left, right, at - 1)
        node.insert(left, index, key, value)
    else:
        node.split(left, right, at)
        node.insert(right, index - at, key, value)


def _fits_both(left: bytes, right: bytes, more: int) -> bool:
    """Whether one page holds the nodes of both and `more` bytes, and leaves room for others."""
    used = len(right) - node.header_size(len(right)) - node.free_bytes(right)
    nodes = node.count(left) + node.count(right)
    return node.free_bytes(left) - used - more >= len(left) // _ROOM and nodes + 1 < node.MOST_TAGS


def _separator(left: bytes, right: bytes) -> bytes:
    """The shortest beginning of `right` that is greater than `left`."""
    same = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
    return right[: (len(left) if same is None else same) + 1]


def _clear_first_key(page: bytearray) -> None:
    """The first child of a branch has no lower bound of its own."""
    child = node.value(page, 0)
    node.remove(page, 0)
    node.insert(page, 0, b"", child)
