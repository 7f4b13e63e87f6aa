"""The published snapshot: when it is made, its pages, and commands from outside."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from prometheus_client.core import Metric

from esewatch.advice.alerts import ENDS
from esewatch.advice.checkdb import CheckdbJudgement, judged_checks
from esewatch.advice.findings.details import OfInstances, of_instances
from esewatch.advice.history.derived import AllDerived, LeftOut, derived, without
from esewatch.advice.history.history import Gathering
from esewatch.advice.history.surroundings import surroundings
from esewatch.advice.judgement import Judgement
from esewatch.advice.statements import restate
from esewatch.config import Settings
from esewatch.daemon.advisor import Advisor
from esewatch.daemon.shared import (
    KeepsFolders,
    Shared,
    folder_of,
    hides_databases,
    together,
)
from esewatch.expose.formatting import tidy
from esewatch.expose.metrics.advice_families import advice_families
from esewatch.expose.metrics.families import families
from esewatch.expose.metrics.snapshot import Snapshot
from esewatch.expose.pages.database_page import DatabasePage, database_page
from esewatch.expose.pages.overview import Overview, overview
from esewatch.fold.commands import Acknowledged, acknowledge, forget
from esewatch.fold.folder import Folder
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Database, State

MAX_PAGES = 32
"""Pages cached for one snapshot, at some 90 KB each where there is much history."""


class PageCache:
    """The figures of the snapshot `of`, and the last 32 requested pages.

    `before` is what was derived for that snapshot: the state may have changed since. Databases that
    cannot be shown are put into `left_out`.
    """

    def __init__(
        self,
        of: Snapshot,
        state: State,
        settings: Settings,
        now: float,
        advice: tuple[Judgement, ...],
        *,
        before: AllDerived | None = None,
        left_out: LeftOut | None = None,
    ) -> None:
        self.of = of
        self._settings = settings
        known = derived(state, settings, before, left_out=left_out)
        self._known = known.databases
        self.overview: Overview = overview(
            without(state, left_out or ()), settings, now, advice, known, left_out=left_out
        )
        self._figures = {(each.computer, each.database): each for each in self.overview.databases}
        self._pages: dict[tuple[str, str], DatabasePage] = {}

    def database(self, state: State, computer: str, database: str) -> DatabasePage | None:
        """Return the page of one database by its shown labels; None when it is not known. `state`
        is the current one: the rest of the page may be younger than its figures."""
        wanted = (computer, database)
        if wanted not in self._pages:
            figures = self._figures.get(wanted)
            entry = _entry(state, wanted)
            if figures is None or entry is None:
                return None
            if len(self._pages) >= MAX_PAGES:
                del self._pages[next(iter(self._pages))]
            self._pages[wanted] = database_page(
                Gathering.of(state, self._settings),
                figures,
                self._known[entry.computer, entry.database],
                self.overview.now,
            )
        return self._pages[wanted]


def _entry(state: State, shown: tuple[str, str]) -> Database | None:
    """Find the database by its names, or by the shown form of names that no page can hold."""
    if shown in state.databases:
        return state.databases[shown]
    for key, entry in state.databases.items():
        if (tidy(key[0]), tidy(key[1])) == shown:
            return entry
    return None


OLDEST_SECONDS = 60.0
"""A snapshot is made at least this often, for changes by time alone."""
PAUSE_SECONDS = 1.0
SHARE = 10.0
"""While records stream in, snapshots take at most one tenth of the time."""
NEVER = float("-inf")


class SnapshotSchedule:
    def __init__(self) -> None:
        self._made = NEVER
        self._cost = 0.0
        self._news = False

    def news(self) -> None:
        self._news = True

    def hurry(self) -> None:
        """Note a change that must be in a snapshot at once."""
        self._made = NEVER

    @property
    def due_in_a_stream(self) -> bool:
        return time.monotonic() - self._made >= max(PAUSE_SECONDS, SHARE * self._cost)

    def due(self, *, more: bool) -> bool:
        """True if a snapshot is due; `more`: there is more to read at once."""
        if self._news and (not more or self.due_in_a_stream):
            return True
        return time.monotonic() - self._made >= OLDEST_SECONDS

    @contextmanager
    def making(self) -> Iterator[None]:
        begin = time.monotonic()
        self._news = False
        yield
        self._made = time.monotonic()
        self._cost = self._made - begin


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
