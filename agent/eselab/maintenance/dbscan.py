"""Online Maintenance Checksum of Exchange 2007 SP1: every page of the file is read and verified.

Sequential reads of 320 KB with a pause after each. A pass goes on where the last invocation
stopped; where it is and what it found are one record of the database, saved after 256 pages or
more, at each stop and at the end, so that a crash lets no page of a pass count twice.
Sources: ese-facts 4.3 (dbscan.cxx of the published engine), published-facts P1.
"""

from collections.abc import Generator
from typing import ClassVar, Final

import msgspec

from eselab.base.trouble import Kind
from eselab.logs.reports import ScanSummary
from eselab.maintenance.maintenance import Limit, Maintenance
from eselab.maintenance.schedule import Task
from eselab.storage.btree import TreeError
from eselab.storage.database import error_of
from eselab.storage.pages import Checked, PageError

TABLE: Final = "MSysDatabaseMaintenance"

READ_BYTES: Final = 327_680
"""Of one read."""

DISK_IO: Final = -1022
"""The engine's error of a read that failed (jethdr.w of the published engine)."""

_SAVE_AFTER: Final = 256
"""Pages."""

_COUNTED: Final[frozenset[Kind]] = frozenset({"checksum", "wrong_page", "correction_failed"})
"""-1018 and -1118: a scan counts no other errors (ese-facts 4.3)."""


class ScanState(msgspec.Struct, kw_only=True):
    """The position of a pass, and its counts. Times are epoch seconds."""

    is_open: bool = False
    """True if a pass was begun and not completed. Up to `uninitialized` all is of the pass."""
    started: float = 0.0
    seconds: float = 0.0
    """That it ran."""
    invocations: int = 0
    page: int = 1
    """The one to go on with."""
    pages_seen: int = 0
    bad_checksums: int = 0
    uninitialized: int = 0
    completions: int = 0
    """Passes completed in the life of the database."""
    completed: float = 0.0
    """Time of the last one, 0: never."""


class DatabaseScan(Maintenance):
    """The scan of one database; a pause after each read."""

    _table: ClassVar = TABLE
    """Table with the state."""
    _keeps: ClassVar = False
    """True if `_take` needs the contents of the pages."""
    _read_bytes: ClassVar = READ_BYTES
    _state: ScanState = ScanState()
    """Each invocation begins with what the database has of it."""

    def invocation(self, until: Limit) -> Task:
        """Go on with the open pass, else begin one; ends with it or at `until`.

        Reports 717 or 719, then 721, 725 or 723; nothing when that time has come already.
        What an event says is durable before it is told. Bad pages are told by the watcher of
        the store. A failed read, or a bad page where the state is kept, is told (723), not
        raised. Raises LogError, OSError where something cannot be written.
        """
        self._began, self._ran_before = self._clock.now(), 0.0
        if self._began >= until():
            return
        try:
            self._begin()
            done = yield from self._read_on(until)
        except (PageError, TreeError) as error:
            # It is the state that could not be saved: what was saved last holds.
            self._tell_failed(error_of(error))
            return
        except _ReadError:
            self._tell_failed(DISK_IO)
            return
        if done:
            self._tell_completed()
        else:
            self._tell_interrupted()

    def coming(self) -> range:
        """The pages of its next read; none while no pass is open."""
        pages = self._read_bytes // self._store.page_size
        state = self._state
        return range(state.page, state.page + pages) if state.is_open else range(0)

    def _load(self) -> ScanState:
        """The saved state in the database, or that of a scan that never ran."""
        return self._database.state(self._table, ScanState) or ScanState()

    def _new(self, before: ScanState) -> ScanState:
        """The state of a pass that begins now; `before` is what `_load` said."""
        return ScanState(
            is_open=True,
            started=self._began,
            completions=before.completions,
            completed=before.completed,
        )

    def _take(self, checked: Checked) -> None:
        """Count the pages read from `page` of the state on."""
        self._count(self._state, checked)

    def _tell_begun(self) -> None:
        self._reports.scan_begun()

    def _tell_resumed(self) -> None:
        self._reports.scan_resumed(self._state.started)

    def _tell_completed(self) -> None:
        self._reports.scan_completed(summary_of(self._state))

    def _tell_interrupted(self) -> None:
        self._reports.scan_interrupted()

    def _tell_failed(self, error: int) -> None:
        self._reports.scan_failed(error, self._ran())

    def _begin(self) -> None:
        """One more invocation of the pass, which is logged."""
        try:
            state = self._load()
        except OSError as error:
            raise _ReadError from error
        resumed = state.is_open
        if not resumed:
            state = self._new(state)
        state.invocations += 1
        self._state, self._ran_before = state, state.seconds
        self._save()
        self._store.flush()
        if resumed:
            self._tell_resumed()
        else:
            self._tell_begun()

    def _read_on(self, until: Limit) -> Generator[float, None, bool]:
        """Read to the end of the file, or until that time; whether the pass was completed."""
        while self._state.page <= self._store.pages:
            if self._clock.now() >= until():
                self._save()
                self._store.flush()
                return False
            self._take(self._checked())
            if self._unsaved >= _SAVE_AFTER:
                self._save()
            yield from self._wait(until)
        self._complete()
        return True

    def _wait(self, until: Limit) -> Task:
        """The pause after a read."""
        yield self._rest(until)

    def _checked(self) -> Checked:
        try:
            pages = self._read_bytes // self._store.page_size
            return self._store.check_pages(self._state.page, pages, keep=self._keeps)
        except OSError as error:
            self._save()
            self._store.flush()
            raise _ReadError from error

    def _count(self, state: ScanState, checked: Checked) -> None:
        pages = checked.pages
        self._counters.scan_pages_read += pages
        state.page += pages
        state.pages_seen += pages
        state.uninitialized += checked.uninitialized
        state.bad_checksums += sum(trouble.kind in _COUNTED for trouble in checked.troubles)
        self._unsaved += pages

    def _complete(self) -> None:
        state = self._state
        state.is_open = False
        state.completions += 1
        state.completed = self._clock.now()
        self._save()
        self._store.flush()

    def _save(self) -> None:
        self._state.seconds = self._ran()
        self._database.keep_state(self._table, self._state)
        self._unsaved = 0


def summary_of(state: ScanState) -> ScanSummary:
    """The event of a pass that is completed."""
    return ScanSummary(
        started=state.started,
        ended=state.completed,
        seconds=state.seconds,
        invocations=state.invocations,
        pages_seen=state.pages_seen,
        bad_checksums=state.bad_checksums,
        uninitialized=state.uninitialized,
    )


class _ReadError(Exception):
    """The system could not read the database."""
