"""A walk over all pages of one tree that trusts only what it has verified itself.

It shares no code with the walks of btree.py. Each page is visited once, so that a cycle ends;
an invalid page is reported, and the pages below it are left out.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from esefiles.pages.layout import NEW_FORMAT
from eselab.check.check_view import View
from eselab.storage import node
from eselab.storage.btree import LONGEST_KEY
from eselab.storage.structure import fault_of
from eselab.storage.tables.catalog import Entry

_CHILD: Final = struct.Struct("<I")
_KNOWN: Final = node.ROOT | node.LEAF | node.PARENT_OF_LEAF
_ALWAYS: Final = NEW_FORMAT | node.NEW_RECORDS


class _Visit(NamedTuple):
    """A page to come to: the bounds of its keys, and what the page above says of it."""

    number: int
    above: int
    """Page number of its parent, 0 of the root."""
    depth: int
    low: bytes
    high: bytes | None
    is_leaf: bool | None
    """None: the root may be either."""


class TreeWalk:
    """One walk. `owners` gets the object id of each page that is come to."""

    def __init__(
        self,
        view: View,
        name: str,
        entry: Entry,
        owners: dict[int, int],
        faults: list[str],
        *,
        flags: int = 0,
    ) -> None:
        self.pages: list[int] = []
        """Page numbers that were come to."""
        self.complete = True
        """True if all pages of the tree were come to, so far."""
        self._view = view
        self._name = name
        self._entry = entry
        self._owners = owners
        self._faults = faults
        self._flags = _ALWAYS | flags
        self._depth: int | None = None
        self._last: tuple[int, int] | None = (0, 0)
        """The leaf before and which one it says follows; (0, 0): none; None: not known."""

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values, in the order of the tree; its faults are known at the end."""
        waiting = [_Visit(self._entry.root, 0, 0, b"", None, None)]
        while waiting:
            visit = waiting.pop()
            page = self._page(visit)
            if page is None:
                self.complete, self._last = False, None
            elif node.flags(page) & node.LEAF:
                self._check_leaf(visit, page)
                for index in range(node.count(page)):
                    yield node.key(page, index), node.value(page, index)
            else:
                waiting += reversed(self._children(visit, page))
        if self._last is not None and self._last[1]:
            self._fault(self._last[0], f"page {self._last[1]} follows the last leaf")

    def _fault(self, number: int, what: str) -> None:
        self._faults.append(f"page {number}: {what} (table {self._name})")

    def _page(self, visit: _Visit) -> bytes | None:
        """The page, when it is one of this tree that can be walked."""
        number, object_id = visit.number, self._entry.object_id
        if not 1 <= number <= self._view.pages:
            self._fault(visit.above, f"leads to page {number} of {self._view.pages}")
            return None
        if number in self._owners:
            self._fault(number, f"is in tree {self._owners[number]} and again in tree {object_id}")
            return None
        self._owners[number] = object_id
        self.pages.append(number)
        page = self._view.content(number)
        # Errors inside are reported where all pages are checked.
        if page is None or (any(page) and fault_of(page) is not None):
            return None
        if not any(page) or node.flags(page) & node.EMPTY:
            self._fault(number, "is in the tree and empty")
            return None
        if node.object_id(page) != object_id:
            self._fault(number, f"is of tree {node.object_id(page)}, not {object_id}")
            return None
        return page if self._has_right_flags(visit, page) else None

    def _has_right_flags(self, visit: _Visit, page: bytes) -> bool:
        flags = node.flags(page)
        is_leaf = bool(flags & node.LEAF)
        wrong = (
            flags & ~_KNOWN != self._flags
            or bool(flags & node.ROOT) != (visit.above == 0)
            or (is_leaf and flags & node.PARENT_OF_LEAF)
            or visit.is_leaf not in (None, is_leaf)
        )
        if wrong:
            self._fault(visit.number, f"has the wrong flags {flags:#x}")
        return not wrong

    def _check_leaf(self, visit: _Visit, page: bytes) -> None:
        number, nodes = visit.number, node.count(page)
        if not nodes and visit.above:
            self._fault(number, "is a leaf without records")
        if nodes:
            first, last = node.key(page, 0), node.key(page, nodes - 1)
            self._check_bounds(visit, first, last)
            if not first or any(len(node.key(page, index)) > LONGEST_KEY for index in range(nodes)):
                self._fault(number, f"has a key that is not 1 to {LONGEST_KEY} bytes long")
        if self._depth not in (None, visit.depth):
            self._fault(number, f"is a leaf at level {visit.depth}, others at {self._depth}")
        self._depth = visit.depth
        self._check_siblings(number, page)

    def _check_siblings(self, number: int, page: bytes) -> None:
        if self._last is not None:
            before, following = self._last
            if node.previous(page) != before:
                self._fault(number, f"follows page {node.previous(page)}, not {before}")
            if before and following != number:
                self._fault(before, f"is followed by page {following}, not {number}")
        self._last = number, node.following(page)

    def _check_bounds(self, visit: _Visit, first: bytes, last: bytes) -> None:
        for key in (first, last):
            if key < visit.low or (visit.high is not None and key >= visit.high):
                self._fault(visit.number, f"has the key {key.hex()}, out of its bounds")
                return

    def _children(self, visit: _Visit, page: bytes) -> list[_Visit]:
        """The children of a branch, in order."""
        number, nodes = visit.number, node.count(page)
        if node.previous(page) or node.following(page):
            self._fault(number, "is a branch with siblings")
        keys = [node.key(page, index) for index in range(nodes)]
        if not nodes:
            self._fault(number, "is a branch without children")
            self.complete, self._last = False, None
        elif keys[-1] and (visit.high is None or keys[-1] > visit.high):
            self._fault(number, f"ends at the key {keys[-1].hex()}, out of its bounds")
        if nodes > 1:
            self._check_bounds(visit, keys[0], keys[-2])
        bounds = [visit.low, *keys[:-1], visit.high]
        is_parent = bool(node.flags(page) & node.PARENT_OF_LEAF)
        found = []
        for index in range(nodes):
            child = node.value(page, index)
            if len(child) != _CHILD.size:
                self._fault(number, f"has a node of {len(child)} bytes where a child belongs")
                self.complete, self._last = False, None
                continue
            found.append(
                _Visit(
                    _CHILD.unpack(child)[0], number, visit.depth + 1,
                    bounds[index] or b"", bounds[index + 1], is_parent,
                )
            )  # fmt: skip
        return found
