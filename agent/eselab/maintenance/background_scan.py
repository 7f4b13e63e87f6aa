"""The database scan of current engines: in the background, day and night, at a pace.

It reads the file from its first page to its last; a pass goes on where the last run of it
stopped. The copy that is in use logs Database Maintenance, a passive one of Database
Checksumming. Sources: ese-facts 1.5 and 4.3 (dbscan.cxx of the published engine).
"""

from typing import ClassVar, Final

from eselab.base.clock import Clock
from eselab.logs.counters import Counters
from eselab.logs.reports_current import THRESHOLD, BackgroundSummary, CurrentReports, PassiveReports
from eselab.maintenance.dbscan import DatabaseScan, ScanState
from eselab.maintenance.maintenance import Limit, Maintained
from eselab.maintenance.schedule import Task
from eselab.storage import node
from eselab.storage.btree import TreeError
from eselab.storage.pages import Checked, PageError
from eselab.storage.tables.space import SYSTEM_ROOT

SUSPENDED: Final = 1
"""The value of the duration counter for an open pass while nothing runs."""
NOTICES: Final = 4
"""A day: so often 744 tells that a pass goes on."""


class BackgroundState(ScanState, kw_only=True):
    """Stored state of a scan. All of it but `completions` and `completed` is of the pass."""

    free_bytes: int = 0
    """On record pages."""
    record_pages: int = 0
    told_late: float = 0.0
    """Last time at which the pass was reported as late, 0: never."""


class BackgroundScan(DatabaseScan):
    """The scan of a copy that is in use: 736 or 738, 744 now and then, 737 or 735.

    A stop has no event of its own. What fails in the middle of a pass ends the run without one
    too; 734 tells that the next could not begin.
    """

    _keeps: ClassVar = True
    _read_bytes: ClassVar = 65_536
    """The least that the engine reads at once: databases are small here."""
    _state: BackgroundState
    _reports: CurrentReports

    def __init__(
        self,
        database: Maintained,
        reports: CurrentReports,
        counters: Counters,
        clock: Clock,
        *,
        pace: float,
        day: float,
    ) -> None:
        """`pace`: bytes a second, over all. `day`: seconds of what counts as one."""
        super().__init__(database, reports, counters, clock, pause=0.0)
        self._pace = pace
        self._day = day
        self._state = BackgroundState()
        self._running = False
        self._due = 0.0
        """Time of the next read."""
        self._notice = 0.0
        """Time of the next report of the pass."""
        self._run_pages = self._run_bad = 0

    @property
    def duration(self) -> int:
        """As the counter of it says: seconds of this run; or 0, the last pass was completed."""
        if self._running:
            return int(self._clock.now() - self._began)
        return SUSPENDED if self._state.is_open else 0

    def due(self) -> float:
        """Time of the first run: at once, but not within a day of the end of the last pass."""
        try:
            self._state = self._load()
        except (PageError, TreeError, OSError):
            # The run will report it.
            return 0.0
        state = self._state
        return state.completed + self._day if state.completed and not state.is_open else 0.0

    def invocation(self, until: Limit) -> Task:
        """Go on with the open pass, else begin one; ends with it or at `until`."""
        self._due = self._notice = self._clock.now()
        self._notice += self._day / NOTICES
        self._run_pages = self._run_bad = 0
        try:
            yield from super().invocation(until)
        finally:
            self._running = False

    def _load(self) -> BackgroundState:
        return self._database.state(self._table, BackgroundState) or BackgroundState()

    def _new(self, before: ScanState) -> BackgroundState:
        return BackgroundState(
            is_open=True,
            started=self._began,
            completions=before.completions,
            completed=before.completed,
        )

    def _take(self, checked: Checked) -> None:
        state, bad = self._state, self._state.bad_checksums
        super()._take(checked)
        self._run_pages += checked.pages
        self._run_bad += state.bad_checksums - bad
        for content in checked.contents:
            if content is not None and _has_records(content):
                state.free_bytes += node.free_bytes(content)
                state.record_pages += 1
        wanted = checked.pages * self._store.page_size / self._pace
        self._due = max(self._due + wanted, self._clock.now())

    def _wait(self, until: Limit) -> Task:
        """Wait until the next read is due, and log meanwhile the events that are due."""
        while True:
            now, end = self._clock.now(), min(self._due, until())
            yield max(0.0, min(end, self._next_notice()) - now)
            now = self._clock.now()
            if now >= self._next_notice() and now < until():
                self._tell_notice()
            if now >= min(self._due, until()):
                return

    def _next_notice(self) -> float:
        return self._notice

    def _tell_notice(self) -> None:
        self._notice = max(self._notice, self._clock.now()) + self._day / NOTICES
        self._save()
        self._store.flush()
        self._reports.maintenance_running(self._state.started, self._state.pages_seen)

    def _is_late(self, at: float) -> bool:
        return at - self._state.started > THRESHOLD * self._day

    def _tell_begun(self) -> None:
        self._running = True
        self._reports.maintenance_begun()

    def _tell_resumed(self) -> None:
        self._running = True
        self._reports.maintenance_resumed(self._state.started, self._state.page)

    def _tell_completed(self) -> None:
        late = self._is_late(self._state.completed)
        self._reports.maintenance_completed(self._summary(), late=late)

    def _tell_interrupted(self) -> None:
        """The events of the instance's end tell it."""

    def _tell_failed(self, error: int) -> None:
        if not self._running:
            self._reports.maintenance_not_begun(error)

    def _summary(self) -> BackgroundSummary:
        state = self._state
        return BackgroundSummary(
            started=state.started,
            ended=state.completed,
            pages_seen=state.pages_seen,
            run_pages=self._run_pages,
            run_bad=self._run_bad,
            free_bytes=state.free_bytes,
            record_pages=state.record_pages,
        )


class PassiveScan(BackgroundScan):
    """The scan of a passive copy: 717 or 719, 733 once a day while it is late, 732 or 745."""

    _reports: PassiveReports

    def _next_notice(self) -> float:
        state = self._state
        return max(state.started + THRESHOLD * self._day, state.told_late + self._day)

    def _tell_notice(self) -> None:
        self._state.told_late = self._clock.now()
        self._save()
        self._store.flush()
        self._reports.checksum_late(self._state.started)

    def _tell_begun(self) -> None:
        self._running = True
        self._reports.scan_begun()

    def _tell_resumed(self) -> None:
        self._running = True
        self._reports.scan_resumed(self._state.started)

    def _tell_completed(self) -> None:
        self._reports.checksum_completed(self._summary())

    def _tell_interrupted(self) -> None:
        state = self._state
        self._reports.checksum_aborted(state.page, state.completed, self._run_pages)

    def _tell_failed(self, error: int) -> None:
        if self._running:
            self._tell_interrupted()
        else:
            super()._tell_failed(error)


def _has_records(content: bytes) -> bool:
    kind = node.flags(content) & (node.LEAF | node.EMPTY | node.SPACE_TREE)
    return kind == node.LEAF and node.object_id(content) != SYSTEM_ROOT
