"""Space map of a database: map pages at fixed places, one bit a page, 1 = in use.

Page 1 is the first map page; it covers the pages from itself on, as many as it has bits
behind its header. The next one stands directly behind the last page that it covers, and so on.
Bit n of a map page is bit n % 8, lowest first, of byte n // 8 behind the header. There is
nothing in memory that an abort or a crash could make wrong: every answer is read from the map.
"""

from collections.abc import Iterator
from typing import Final

from eselab.storage.node import EMPTY, SPACE_TREE, flags, header_size, object_id, set_fields
from eselab.storage.store import Store, Transaction

EXTENT: Final = 16
"""Pages by which the file grows."""

MAP_ID: Final = 1
"""Object id of the map pages."""


class SpaceMap:
    """The free pages of a store that `create` was called for once.

    `covered` is the number of pages a map page covers, at least 2: all that it has bits for
    unless a test wants less; it is the same for the whole life of a database. Without a
    transaction the answers are of what is committed. Every method raises PageError where a
    page that it needs is damaged.
    """

    def __init__(self, store: Store, *, covered: int | None = None) -> None:
        bits = pages_covered(store.page_size)
        self.covered = bits if covered is None else covered
        if not 2 <= self.covered <= bits:
            raise ValueError(f"a map page covers 2 to {bits} pages, not {self.covered}")
        self._store = store

    @classmethod
    def create(
        cls, store: Store, transaction: Transaction, *, covered: int | None = None
    ) -> "SpaceMap":
        """Make page 1, the first map page. ValueError when the database has pages already."""
        if transaction.pages:
            raise ValueError(f"the database has {transaction.pages} pages already")
        made = cls(store, covered=covered)
        made._extend(transaction, 1)
        return made

    def allocate(self, transaction: Transaction, *, near: int = 0) -> int:
        """Take the first free page behind `near`, else the lowest; its content is what it was.

        When none is free, the file grows by an extent.
        """
        number = self._first_free(transaction, near + 1)
        if number is None and near > 0:
            number = self._first_free(transaction, 1)
        if number is None:
            number = self._first_free(transaction, self._extend(transaction, EXTENT))
        assert number is not None
        self._flip(transaction, number)
        return number

    def free(self, transaction: Transaction, number: int) -> None:
        """Give a page back. ValueError if it is free, a map page, or not in the database.

        Its header stays, but for siblings and tags, and gets the empty flag (cpage.hxx of the
        published engine). What was in its data area stays there as garbage.
        """
        if not 1 <= number <= transaction.pages:
            raise ValueError(f"page {number} of {transaction.pages}")
        if self.is_map(number):
            raise ValueError(f"page {number} is a map page")
        if self.is_free(number, transaction):
            raise ValueError(f"page {number} is free already")
        page = transaction.page(number)
        room = len(page) - header_size(len(page))
        set_fields(page, object_id(page), flags(page) | EMPTY, free=room)
        self._flip(transaction, number)

    def is_map(self, number: int) -> bool:
        """Whether this is the place of a map page."""
        return (number - 1) % self.covered == 0

    def is_free(self, number: int, transaction: Transaction | None = None) -> bool:
        """Whether a page is free. IndexError when the database has no such page."""
        view = transaction or self._store
        if not 1 <= number <= view.pages:
            raise IndexError(f"page {number} of {view.pages}")
        at = self._map_of(number)
        return bool(self._free_bits(view, at) >> (number - at) & 1)

    def free_pages(self, transaction: Transaction | None = None) -> int:
        """How many pages are free."""
        view = transaction or self._store
        return sum(self._free_bits(view, at).bit_count() for at in self._maps(view))

    def used(self, transaction: Transaction | None = None) -> Iterator[int]:
        """Numbers of the pages in use, the map pages among them, ascending."""
        view = transaction or self._store
        for at in self._maps(view):
            bits = self._free_bits(view, at)
            end = min(at + self.covered, view.pages + 1)
            yield from (number for number in range(at, end) if not bits >> (number - at) & 1)

    def _maps(self, view: Store | Transaction, first: int = 1) -> range:
        """The map pages of the database, from that of page `first` on."""
        return range(self._map_of(first), view.pages + 1, self.covered)

    def _map_of(self, number: int) -> int:
        return number - (number - 1) % self.covered

    def _free_bits(self, view: Store | Transaction, at: int) -> int:
        """Bit n is set when page `at` + n is there and free; `at` is a map page."""
        page = view.read(at)
        in_use = int.from_bytes(page[header_size(len(page)) :], "little")
        there = (1 << min(self.covered, view.pages + 1 - at)) - 1
        return there & ~in_use

    def _first_free(self, transaction: Transaction, begin: int) -> int | None:
        """The lowest free page from `begin` on, which is 1 or more."""
        for at in self._maps(transaction, begin):
            behind = max(0, begin - at)
            bits = self._free_bits(transaction, at) >> behind
            if bits:
                return at + behind + (bits & -bits).bit_length() - 1
        return None

    def _flip(self, transaction: Transaction, number: int) -> None:
        """Make a free page one in use, or the other way round."""
        at = self._map_of(number)
        page = transaction.page(at)
        byte, bit = divmod(number - at, 8)
        page[header_size(len(page)) + byte] ^= 1 << bit

    def _extend(self, transaction: Transaction, count: int) -> int:
        """Add free pages at the end, map pages where they belong; the number of the first."""
        first = transaction.extend(count)
        for number in range(first, first + count):
            if self.is_map(number):
                page = transaction.page(number)
                room = len(page) - header_size(len(page))
                set_fields(page, MAP_ID, SPACE_TREE, free=0, first_free=room)
                self._flip(transaction, number)
        return first


def pages_covered(page_size: int) -> int:
    """How many pages a map page has bits for: 32,448 with pages of 4 KiB."""
    return (page_size - header_size(page_size)) * 8
