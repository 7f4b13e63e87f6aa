"""Common base of online defragmentation and the checksum scan."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import msgspec

from eselab.base.clock import Clock
from eselab.logs.counters import Counters
from eselab.logs.reports import Reports
from eselab.storage.database import Database
from eselab.storage.pages import Checked
from eselab.storage.store import Store

Limit = Callable[[], float]
"""Until when an invocation goes on, epoch seconds. It is asked at each step: a window may be
closed before its time."""


_State = TypeVar("_State", bound=msgspec.Struct)


class MaintainedPages(Protocol):
    """The pages of a Maintained: see Store for all of it."""

    @property
    def page_size(self) -> int:
        """Bytes."""

    @property
    def pages(self) -> int:
        """The number of pages: they are numbered from 1 to it."""

    def check_pages(self, first: int, count: int, *, keep: bool = False) -> Checked:
        """Read pages from disk, at once, and verify each; the watcher is called."""

    def flush(self) -> None:
        """All kept records are durable when this returns."""


class Maintained(Protocol):
    """Maintained database, with a small record of each task: see Database for all of it."""

    @property
    def store(self) -> MaintainedPages:
        """Its pages."""

    def state(self, name: str, type: type[_State]) -> _State | None:
        """The last record kept under this name."""

    def keep_state(self, name: str, kept: msgspec.Struct) -> None:
        """Keep it."""


class Maintenance:
    """Work on one database in passes; `pause` seconds after each step."""

    def __init__(
        self,
        database: Maintained,
        reports: Reports,
        counters: Counters,
        clock: Clock,
        *,
        pause: float,
    ) -> None:
        self._database = database
        self._store = database.store
        self._reports = reports
        self._counters = counters
        self._clock = clock
        self._pause = pause
        self._began = 0.0
        """Start of the invocation."""
        self._ran_before = 0.0
        """Seconds that the pass ran in the invocations before this one."""
        self._unsaved = 0
        """Pages since the state was saved."""

    def _ran(self) -> float:
        """Seconds that the pass ran until now."""
        return self._ran_before + self._clock.now() - self._began

    def _rest(self, until: Limit) -> float:
        """Seconds of the pause that is due, up to the end at most."""
        return max(0.0, min(self._pause, until() - self._clock.now()))


class DefragWork(Maintenance):
    """Maintenance that merges pages of trees: what it reads, changes and logs is counted."""

    _database: Database
    _store: Store

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Work within is counted as online defragmentation."""
        store, counters = self._store, self._counters
        before, position = store.counts, store.log_position
        try:
            yield
        finally:
            after = store.counts
            counters.defrag_pages_read += after.pages_read - before.pages_read
            counters.defrag_pages_dirtied += after.pages_dirtied - before.pages_dirtied
            counters.defrag_log_bytes += store.log_position - position
