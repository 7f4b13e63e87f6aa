"""The published snapshot, and requests from outside: snapshots, pages, commands."""

import threading
import time
from collections.abc import Callable, Sequence

from prometheus_client.core import Metric

from esewatch.advice.alerts import ENDS
from esewatch.advice.base.left_out import LeftOut, without
from esewatch.advice.checkdb import CheckdbJudgement, judged_checks
from esewatch.advice.findings.details import OfInstances, of_instances
from esewatch.advice.history.derived import AllDerived, derived
from esewatch.advice.history.surroundings import surroundings
from esewatch.advice.judgement import Judgement
from esewatch.advice.statements import restate
from esewatch.daemon.advisor import Advisor
from esewatch.daemon.kept_folders import KeepsFolders, folder_of, together
from esewatch.daemon.page_cache import PageCache
from esewatch.daemon.shared import Shared, hides_databases
from esewatch.daemon.snapshot_schedule import SnapshotSchedule
from esewatch.expose.metrics.collectors.advice_families import advice_families
from esewatch.expose.metrics.snapshot import Snapshot, families
from esewatch.expose.pages.database_page import DatabasePage
from esewatch.expose.pages.overview import Overview
from esewatch.fold.commands import Acknowledged, acknowledge, forget
from esewatch.fold.folder import Folder
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import State


class Publisher:
    """The part of the daemon that other threads read and ask."""

    def __init__(self, shared: Shared, reload: Callable[[], None]) -> None:
        self._shared = shared
        self.reload = reload
        self.snapshot = Snapshot(())
        self.schedule = SnapshotSchedule()
        self._advisor = Advisor()
        self._publishing = threading.Lock()
        """One snapshot is made at a time, so that an older one never replaces a newer one."""
        self._page_cache: PageCache | None = None
        self._left_out: frozenset[DatabaseKey] = frozenset()
        """Databases whose metrics cannot be made; the other views do not try them either."""
        self._derived: AllDerived | None = None
        """Values that the last snapshot derived; the next derives only what has changed since."""
        self._stated_at: float | None = None
        """Time of the last statement of what stands, by the monotonic clock."""
        self._waiting = True
        """The sources that there were at the start have not all been read."""
        self._ready = False

    def _read_to_the_end(self) -> State:
        """As `Shared.state`, but of a partition whose first reading is not done only the source."""
        own, *kept = [folder.state for folder in self._shared.folders()]
        shown = (
            _only_sources(each)
            if any(source.baseline for source in each.sources.values())
            else each
            for each in kept
        )
        return together([own, *shown])

    def publish_if_due(self, *, more: bool) -> None:
        """Publish where a snapshot is due. `more`: more is being read."""
        complete = False
        if not self._shared.internal_errors.waits("advice"):
            with self._shared.internal_errors.held("advice"), self._shared.lock:
                state = without(self._shared.state(), self._left_out)
                complete = self._advisor.catch_up(
                    state, self._shared.settings, self._shared.clock(), self._derived
                )
        if self.schedule.due(more=more) or complete:
            self.publish()

    def publish(self) -> None:
        """Make a snapshot and swap it in."""
        with self._publishing, self.schedule.making(), self._shared.internal_errors.held("other"):
            self.snapshot = self._make_snapshot()
            self._ready = not self._waiting

    def _make_snapshot(self) -> Snapshot:
        with self._shared.lock:
            shown = self._families()
        own = self._shared.health.everything(self._shared.clock(), self._last_set_aside())
        return Snapshot.of([*shown, *own], self.snapshot)

    def _last_set_aside(self) -> float | None:
        sources = self._shared.sources
        kept = (each.last_set_aside() for each in sources if isinstance(each, KeepsFolders))
        times = [self._shared.journal.last_set_aside(), *kept]
        return max((each for each in times if each is not None), default=None)

    def _families(self) -> list[Metric]:
        """The families of the state and of the advice; to be called with the lock held."""
        self._waiting = self._waiting and bool(self._shared.unread())
        state = self._shared.state()
        # Counters are first exposed at the value of a whole first reading (semantics.md 3).
        hidden = hides_databases(self._shared.folder.state)
        shown = _only_sources(state) if hidden else self._read_to_the_end()
        now, settings, found = self._shared.clock(), self._shared.settings, list[Metric]()
        advised = not self._shared.internal_errors.waits("advice")
        judge = self._advisor.prepare(shown, settings, now) if advised else None
        with self._shared.internal_errors.held("metrics"):
            odd: LeftOut = {}
            self._derived = derived(shown, settings, self._derived, left_out=odd, judge=judge)
            sound = without(shown, odd)
            found += families(sound, settings, now, self._derived, left_out=odd)
            self._shared.internal_errors.left_out("metrics", odd)
            shown = without(shown, odd)
            self._left_out = frozenset(odd)
        if advised:
            with self._shared.internal_errors.held("advice"):
                judged = self._advisor.advise(shown, settings, now)
                instances = of_instances(shown, settings, now)
                checks = judged_checks(shown, settings, now)
                stated = self._restate(judged, instances, checks)
                found += advice_families(judged, instances, stated, checks=checks)
                self._shared.internal_errors.left_out("advice", self._advisor.left_out)
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
        folders = self._shared.folders()
        for folder in folders:
            state, settings = folder.state, self._shared.settings
            changed = restate(state, settings, judged, instances, passed, checks=checks)
            folder.changed.update(changed)
        return together([folder.state for folder in folders])

    def ready(self) -> tuple[bool, str]:
        """Readiness: whether the first reading of all sources is done, and some source could be
        read since the start; if not, what is missing."""
        if not self._ready:
            words = self._shared.first_readings.words
            names = self._shared.unread()
            unread = [f"{name} ({words[name]})" if name in words else name for name in names]
            return False, f"first reading of {', '.join(unread) or 'all sources'}"
        if self._shared.answered:
            return True, ""
        reasons = "; ".join(f"{name}: {why}" for name, why in list(self._shared.complaints.items()))
        return False, f"no source can be read{': ' if reasons else ''}{reasons}"

    def overview(self) -> Overview:
        """Return the figures of the status page, made once for each snapshot."""
        with self._shared.lock:
            return self._now_shown().overview

    def database(self, computer: str, database: str) -> DatabasePage | None:
        """Return the page of one database, made once for each snapshot; None: not known."""
        with self._shared.lock:
            return self._now_shown().database(self._shared.state(), computer, database)

    def _now_shown(self) -> PageCache:
        if self._page_cache is None or self._page_cache.of is not self.snapshot:
            now, advice = self._shared.clock(), self._advisor.latest
            state, odd = without(self._shared.state(), self._left_out), LeftOut()
            settings = self._shared.settings
            self._page_cache = PageCache(
                self.snapshot, state, settings, now, advice, before=self._derived, left_out=odd
            )
            self._shared.internal_errors.left_out("other", odd)
        return self._page_cache

    @property
    def external_url(self) -> str:
        """The address of its pages."""
        return self._shared.health.external_url

    @external_url.setter
    def external_url(self, url: str) -> None:
        self._shared.health.external_url = url

    @property
    def journal(self) -> tuple[int, int] | None:
        """Device and number of the journal."""
        return self._shared.journal.number

    def forget(self, computer: str, database: str) -> bool:
        """Drop a database; see `forget`. Raises EsewatchError, JournalError when that is not
        stored."""
        with self._shared.lock:
            folder = folder_of(self._shared.folders(), computer, database)
            known = forget(folder, computer, database, ENDS)
            self._commit_command(folder)
        self.publish()
        return known

    def ack(self, computer: str, database: str, pages: list[int]) -> Acknowledged:
        """Acknowledge known bad pages; see `acknowledge`. Raises JournalError, too, as `forget`."""
        with self._shared.lock:
            told = surroundings(self._shared.state(), self._shared.settings)
            folder = folder_of(self._shared.folders(), computer, database)
            done = acknowledge(folder, computer, database, pages, told, ends=ENDS)
            self._commit_command(folder)
        self.publish()
        return done

    def _commit_command(self, folder: Folder) -> None:
        if folder is self._shared.folder:
            self._shared.commit()
        for source in self._shared.sources:
            if isinstance(source, KeepsFolders) and folder in source.folders():
                source.commit_command(folder)


def _only_sources(state: State) -> State:
    return State(sources=state.sources)
