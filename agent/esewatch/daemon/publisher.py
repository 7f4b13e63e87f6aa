"""The published snapshot, and requests from outside: snapshots, pages, commands."""

import logging
import threading
import time
from collections.abc import Callable, Generator, Sequence

from prometheus_client.core import Metric

from esewatch.advice.alerts import ENDS
from esewatch.advice.base.left_out import LeftOut, without
from esewatch.advice.checkdb import CheckdbJudgement, judged_checks
from esewatch.advice.findings.details import OfInstances, of_instances
from esewatch.advice.history.derived import AllDerived, derived
from esewatch.advice.history.surroundings import surroundings
from esewatch.advice.judgement import Judgement
from esewatch.advice.statements import restate
from esewatch.config import Settings
from esewatch.daemon.advisor import Advisor
from esewatch.daemon.agent_health import AgentHealth
from esewatch.daemon.first_reading import FirstReadings
from esewatch.daemon.internal_errors import InternalErrors
from esewatch.daemon.kept_folders import KeepsFolders, folder_of, together
from esewatch.daemon.page_cache import PageCache
from esewatch.daemon.snapshot_schedule import SnapshotSchedule
from esewatch.expose.metrics.collectors.advice_families import advice_families
from esewatch.expose.metrics.snapshot import Snapshot, families
from esewatch.expose.pages.database_page import DatabasePage
from esewatch.expose.pages.overview import Overview
from esewatch.fold.commands import Acknowledged, acknowledge, forget
from esewatch.fold.folder import Folder
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import State
from esewatch.journal import Journal
from esewatch.model import Batch, JournalError, Source

log = logging.getLogger(__name__)


class Publisher:
    """The part of the daemon that other threads read; the loop keeps these values up to date."""

    settings: Settings
    snapshot: Snapshot
    _journal: Journal
    _clock: Callable[[], float]
    _health: AgentHealth
    _internal_errors: InternalErrors
    _folder: Folder
    _sources: list[Source]
    _schedule: SnapshotSchedule
    _advisor: Advisor
    _pending: dict[str, dict[str, bytes | None]]
    """Positions to commit, by source."""
    _polls: dict[str, Generator[Batch | None, None, None]]
    _page_cache: PageCache | None
    _left_out: frozenset[DatabaseKey] = frozenset()
    """Databases whose metrics cannot be made; the other views do not try them either."""
    _derived: AllDerived | None = None
    """Values that the last snapshot derived; the next one derives only what has changed since."""
    _stated_at: float | None = None
    """Time of the last statement of what stands, by the monotonic clock."""
    _complaints: dict[str, str]
    """Source -> why it cannot be read, as logged."""
    _answered: bool
    """Some source could be read since the start, or there is none."""
    _waiting: bool
    """The sources that there were at the start have not all been read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        """Held around every access to the state."""
        self._publishing = threading.Lock()
        """One snapshot is made at a time, so that an older one never replaces a newer one."""
        self._first_readings = FirstReadings()

    def _commit(self) -> None:
        """Store what has changed; to be called with the lock held. Raises JournalError."""
        with self._health.commits.time():
            if not self._unread():
                self._folder.end_first_reading()
            try:
                changed = self._folder.changed
                left = self._journal.commit(self._folder.state, changed, self._pending)
            except JournalError:
                self._health.commit_failures += 1
                raise
            self._folder.changed.clear()
            self._pending.clear()
        for (kind, first, second), error in left.items():
            log.error("%s %s %s cannot be stored: its old row stays", kind, first, second)
            self._internal_errors.note("journal", error)

    def _folders(self) -> list[Folder]:
        """The daemon's own, then those that sources keep; to be called with the lock held."""
        kept = (each.folders() for each in self._sources if isinstance(each, KeepsFolders))
        return [self._folder, *(folder for folders in kept for folder in folders)]

    def _state(self) -> State:
        """All that is known, for the views; to be called with the lock held."""
        return together([folder.state for folder in self._folders()])

    def _read_to_the_end(self) -> State:
        """As `_state`, but of a partition whose first reading is not done only the source."""
        own, *kept = [folder.state for folder in self._folders()]
        shown = (
            _only_sources(each)
            if any(source.baseline for source in each.sources.values())
            else each
            for each in kept
        )
        return together([own, *shown])

    def _publish_if_due(self) -> None:
        complete = False
        if not self._internal_errors.waits("advice"):
            with self._internal_errors.held("advice"), self._lock:
                state = without(self._state(), self._left_out)
                complete = self._advisor.catch_up(
                    state, self.settings, self._clock(), self._derived
                )
        if self._schedule.due(more=bool(self._polls)) or complete:
            self._publish()

    def _publish(self) -> None:
        with self._publishing, self._schedule.making(), self._internal_errors.held("other"):
            self.snapshot = self._make_snapshot()
            self._ready = not self._waiting

    def _make_snapshot(self) -> Snapshot:
        with self._lock:
            shown = self._families()
        own = self._health.everything(self._clock(), self._last_set_aside())
        return Snapshot.of([*shown, *own], self.snapshot)

    def _last_set_aside(self) -> float | None:
        kept = (each.last_set_aside() for each in self._sources if isinstance(each, KeepsFolders))
        times = [self._journal.last_set_aside(), *kept]
        return max((each for each in times if each is not None), default=None)

    def _families(self) -> list[Metric]:
        """The families of the state and of the advice; to be called with the lock held."""
        self._waiting = self._waiting and bool(self._unread())
        state = self._state()
        # Counters are first exposed at the value of a whole first reading (semantics.md 3).
        hidden = hides_databases(self._folder.state)
        shown = _only_sources(state) if hidden else self._read_to_the_end()
        now, found = self._clock(), list[Metric]()
        advised = not self._internal_errors.waits("advice")
        judge = self._advisor.prepare(shown, self.settings, now) if advised else None
        with self._internal_errors.held("metrics"):
            odd: LeftOut = {}
            self._derived = derived(shown, self.settings, self._derived, left_out=odd, judge=judge)
            sound = without(shown, odd)
            found += families(sound, self.settings, now, self._derived, left_out=odd)
            self._internal_errors.left_out("metrics", odd)
            shown = without(shown, odd)
            self._left_out = frozenset(odd)
        if advised:
            with self._internal_errors.held("advice"):
                judged = self._advisor.advise(shown, self.settings, now)
                instances = of_instances(shown, self.settings, now)
                checks = judged_checks(shown, self.settings, now)
                stated = self._restate(judged, instances, checks)
                found += advice_families(judged, instances, stated, checks=checks)
                self._internal_errors.left_out("advice", self._advisor.left_out)
        return found

    def _restate(
        self,
        judged: Sequence[Judgement],
        instances: OfInstances,
        checks: Sequence[CheckdbJudgement],
    ) -> State:
        """State what stands and what is over, in each folder what it knows; returns all of it."""
        now = time.monotonic()
        passed, self._stated_at = now - (self._stated_at or now), now
        folders = self._folders()
        for folder in folders:
            state, settings = folder.state, self.settings
            changed = restate(state, settings, judged, instances, passed, checks=checks)
            folder.changed.update(changed)
        return together([folder.state for folder in folders])

    def _unread(self) -> list[str]:
        """Sources whose first reading is not done; one that cannot be read does not count."""
        # HTTP threads ask without the lock: a copy, which is made at once.
        known = list(self._folder.state.sources.values())
        return [source.name for source in known if source.baseline and source.up]

    def ready(self) -> tuple[bool, str]:
        """Readiness: whether the first reading of all sources is done, and some source could be
        read since the start; if not, what is missing."""
        if not self._ready:
            words = self._first_readings.words
            unread = [
                f"{name} ({words[name]})" if name in words else name for name in self._unread()
            ]
            return False, f"first reading of {', '.join(unread) or 'all sources'}"
        if self._answered:
            return True, ""
        reasons = "; ".join(f"{name}: {why}" for name, why in list(self._complaints.items()))
        return False, f"no source can be read{': ' if reasons else ''}{reasons}"

    def overview(self) -> Overview:
        """Return the figures of the status page, made once for each snapshot."""
        with self._lock:
            return self._now_shown().overview

    def database(self, computer: str, database: str) -> DatabasePage | None:
        """Return the page of one database, made once for each snapshot; None: not known."""
        with self._lock:
            return self._now_shown().database(self._state(), computer, database)

    def _now_shown(self) -> PageCache:
        if self._page_cache is None or self._page_cache.of is not self.snapshot:
            now, advice = self._clock(), self._advisor.latest
            state, odd = without(self._state(), self._left_out), LeftOut()
            self._page_cache = PageCache(
                self.snapshot, state, self.settings, now, advice, before=self._derived, left_out=odd
            )
            self._internal_errors.left_out("other", odd)
        return self._page_cache

    @property
    def external_url(self) -> str:
        """The address of its pages."""
        return self._health.external_url

    @external_url.setter
    def external_url(self, url: str) -> None:
        self._health.external_url = url

    @property
    def journal(self) -> tuple[int, int] | None:
        """Device and number of the journal."""
        return self._journal.number

    def forget(self, computer: str, database: str) -> bool:
        """Drop a database; see `forget`. Raises EsewatchError, JournalError when that is not
        stored."""
        with self._lock:
            folder = folder_of(self._folders(), computer, database)
            known = forget(folder, computer, database, ENDS)
            self._commit_command(folder)
        self._publish()
        return known

    def ack(self, computer: str, database: str, pages: list[int]) -> Acknowledged:
        """Acknowledge known bad pages; see `acknowledge`. Raises JournalError, too, as `forget`."""
        with self._lock:
            told = surroundings(self._state(), self.settings)
            folder = folder_of(self._folders(), computer, database)
            done = acknowledge(folder, computer, database, pages, told, ends=ENDS)
            self._commit_command(folder)
        self._publish()
        return done

    def _commit_command(self, folder: Folder) -> None:
        if folder is self._folder:
            self._commit()
        for source in self._sources:
            if isinstance(source, KeepsFolders) and folder in source.folders():
                source.commit_command(folder)


def hides_databases(state: State) -> bool:
    """True while the first reading of a new journal is not done."""
    return any(source.hides_databases for source in state.sources.values())


def _only_sources(state: State) -> State:
    return State(sources=state.sources)
