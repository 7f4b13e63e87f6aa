"""A streaming backup of Exchange 2007: every page is read, verified and handed to the caller.

The caller keeps nothing here. Online defragmentation of the instance stops meanwhile (published
facts; 704), which is the instance's part. A bad page ends it, as 217 and 214 say (ese-facts 1.10).
"""

from eselab.base.clock import Clock
from eselab.base.trouble import ERRORS
from eselab.logs.reports import Reports
from eselab.maintenance.dbscan import DISK_IO, READ_BYTES
from eselab.maintenance.maintenance import Limit
from eselab.maintenance.schedule import Task
from eselab.storage.store import Store


class Backup:
    """Backups of one database; `pause` seconds after each read."""

    def __init__(self, store: Store, reports: Reports, clock: Clock, *, pause: float) -> None:
        self._store = store
        self._reports = reports
        self._clock = clock
        self._pause = pause
        self.running = False

    def invocation(self, until: Limit) -> Task:
        """One backup. Reports 210, 220, 221 and 213; 217 and 214, or 215 where `until` comes."""
        self.running = True
        try:
            self._reports.backup_begun(self._store.pages * self._store.page_size)
            page = 1
            while page <= self._store.pages:
                if self._clock.now() >= until():
                    self._reports.backup_aborted()
                    return
                read, error = self._read(page)
                if error:
                    self._reports.backup_failed(error)
                    return
                page += read
                yield self._pause
            self._reports.backup_completed()
        finally:
            self.running = False

    def _read(self, page: int) -> tuple[int, int]:
        """The number of pages read from `page` on, and the engine's error, 0: none."""
        try:
            checked = self._store.check_pages(page, READ_BYTES // self._store.page_size)
        except OSError:
            return 0, DISK_IO
        return checked.pages, min((ERRORS[each.kind] for each in checked.troubles), default=0)
