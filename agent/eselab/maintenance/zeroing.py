"""Page zeroing of Exchange 2007 SP1: the checksum scan also overwrites unused space.

In the pages that it reads it fills the space of deleted records, the other free space, and the
pages that are free. A page that was not changed since a pass began that completed has nothing
to fill and is passed over. What is filled is logged as any change, with the state of the pass
in the same transaction: no crash makes a count wrong, and who redoes the log has it too. At
the end of a pass the pages are written, so that the file has nothing of what was deleted before
the pass began. Sources: ese-facts 4.4 (scrub.cxx of the published engine), published-facts P1.
"""

import copy
from typing import ClassVar, Final

import msgspec

from eselab.logs.reports import ZeroingSummary
from eselab.maintenance.dbscan import DatabaseScan, ScanState, summary_of
from eselab.storage import node
from eselab.storage.database import Database
from eselab.storage.pages import Checked
from eselab.storage.store import Store
from eselab.storage.structure import fault_of
from eselab.storage.tables.space import SYSTEM_ROOT
from eselab.storage.transaction_log.change import dbtime_of

TABLE: Final = "MSysScan1"

DELETED: Final = b"D"
"""In the place of what was between the nodes of a page."""
FREE: Final = b"Z"
"""In the place of what was behind them."""
UNUSED: Final = b"U"
"""In the place of what was in a page that is free."""


class ZeroingState(ScanState, kw_only=True):
    """Stored state of a scan, and counts of the zeroed. Up to `deleted` all is of the pass."""

    dbtime: int = 0
    """That of the database when the pass began."""
    passed_over: int = 0
    """Pages that could not be read or make no sense: nothing was done to them."""
    unchanged: int = 0
    """Pages with a dbtime up to `zeroed`."""
    unused: int = 0
    """Free pages that were filled."""
    used: int = 0
    """Pages of trees that were visited."""
    deleted: int = 0
    """Deleted records whose space in them was filled."""
    zeroed: int = 0
    """A page with this dbtime or an older one has nothing to fill, 0: that is not known."""


class DatabaseZeroing(DatabaseScan):
    """A scan that zeroes. It reports 718 or 720, then 722, 726 or 724."""

    _keeps: ClassVar = True
    _table: ClassVar = TABLE
    _database: Database
    _store: Store
    _state: ZeroingState

    def _load(self) -> ZeroingState:
        return self._database.state(self._table, ZeroingState) or ZeroingState()

    def _new(self, before: ScanState) -> ZeroingState:
        assert isinstance(before, ZeroingState)
        return ZeroingState(
            is_open=True,
            started=self._began,
            dbtime=self._store.header.dbtime,
            completions=before.completions,
            completed=before.completed,
            zeroed=before.zeroed,
        )

    def _take(self, checked: Checked) -> None:
        """Zero what was read. That, its counts and where to go on hold together or not at all."""
        state, first, zeroed = copy.copy(self._state), self._state.page, 0
        # What is in the cache alone is blank on the disk.
        blank = sum(content is not None and not any(content) for content in checked.contents)
        self._count(state, msgspec.structs.replace(checked, uninitialized=blank))
        with self._store.begin() as transaction:
            for number, content in enumerate(checked.contents, first):
                filled = _filled(content, state)
                if content is not None and filled is not None:
                    transaction.known[number] = content
                    transaction.page(number)[:] = filled
                    zeroed += 1
            if zeroed:
                state.seconds = self._ran()
                self._database.set_state(transaction, self._table, state)
        if zeroed:
            self._unsaved = 0
        self._state = state
        self._counters.scan_pages_zeroed += zeroed

    def _complete(self) -> None:
        # Before the pass is closed: one that a crash ends here is open still, and logged later.
        self._store.checkpoint()
        if not self._state.passed_over:
            self._state.zeroed = self._state.dbtime
        super()._complete()

    def _tell_begun(self) -> None:
        self._reports.zeroing_begun()

    def _tell_resumed(self) -> None:
        self._reports.zeroing_resumed(self._state.started)

    def _tell_completed(self) -> None:
        state = self._state
        summary = ZeroingSummary(
            scan=summary_of(state),
            unchanged=state.unchanged,
            unused=state.unused,
            used=state.used,
            deleted=state.deleted,
        )
        self._reports.zeroing_completed(summary)

    def _tell_interrupted(self) -> None:
        self._reports.zeroing_interrupted()

    def _tell_failed(self, error: int) -> None:
        self._reports.zeroing_failed(error, self._ran())


def _filled(content: bytes | None, state: ZeroingState) -> bytearray | None:
    """A page with its free space filled, None where nothing is to be done; the page is counted.

    The tests are those of the engine, in its order (ese-facts 4.4).
    """
    if content is None:
        state.passed_over += 1
        return None
    if not any(content) or node.flags(content) & node.SPACE_TREE:
        return None
    if node.object_id(content) == SYSTEM_ROOT:
        return None
    if dbtime_of(content) <= state.zeroed:
        state.unchanged += 1
        return None
    if fault_of(content) is not None:
        state.passed_over += 1
        return None
    page = bytearray(content)
    if node.flags(content) & node.EMPTY:
        begin = node.header_size(len(page))
        page[begin:] = UNUSED * (len(page) - begin)
        state.unused += page != content
    else:
        state.used += 1
        state.deleted += node.deleted(page)
        node.fill_gaps(page, DELETED, FREE)
    return page if page != content else None
