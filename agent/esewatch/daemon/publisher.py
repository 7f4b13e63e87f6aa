"""The published snapshot: when it is made, its pages, and commands from outside."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from esewatch.advice.alerts import ENDS
from esewatch.advice.history.derived import Derived
from esewatch.advice.history.groups import Group, states_of
from esewatch.advice.history.history import Gathering
from esewatch.advice.history.surroundings import surroundings
from esewatch.advice.statements import restate
from esewatch.config import Settings
from esewatch.daemon.shared import (
    KeepsFolders,
    Shared,
    folder_of,
    hides_databases,
    together,
)
from esewatch.daemon.shown_groups import OLD_SECONDS, VIEWS, ShownGroups
from esewatch.expose.formatting import tidy
from esewatch.expose.metrics.advice_families import add_statements
from esewatch.expose.metrics.families import add_sources
from esewatch.expose.metrics.samples import Lines, Samples
from esewatch.expose.metrics.snapshot import Snapshot
from esewatch.expose.pages.database_page import DatabasePage, database_page
from esewatch.expose.pages.overview import Overview, assembled
from esewatch.fold.commands import Acknowledged, acknowledge, forget
from esewatch.fold.folder import Folder
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Database, State

MAX_PAGES = 32
"""Pages cached for one snapshot, at some 90 KB each where there is much history."""


class Pages:
    """The overview of a snapshot, and the last 32 requested pages of its databases.

    `known` are the facts that it shows: the state may have changed since. `groups` are those of
    all computers. Pages of `before` stay where their figures do.
    """

    def __init__(
        self,
        overview: Overview,
        known: Mapping[DatabaseKey, Derived],
        settings: Settings,
        groups: Iterable[Group],
        before: "Pages | None" = None,
    ) -> None:
        self.overview = overview
        self._known, self._settings = known, settings
        self._groups = {computer: group for group in groups for computer in group}
        self._figures = {(each.computer, each.database): each for each in overview.databases}
        self._pages: dict[tuple[str, str], DatabasePage] = {}
        for wanted, page in before._pages.items() if before is not None else ():
            if page.figures is self._figures.get(wanted) and page.now > overview.now - OLD_SECONDS:
                self._pages[wanted] = page

    def database(self, state: State, computer: str, database: str) -> DatabasePage | None:
        """Return the page of one database by its shown labels; None when it is not known. `state`
        is the current one: the rest of the page may be younger than its figures."""
        wanted = (computer, database)
        entry = _entry(state, wanted)
        figures = self._figures.get(wanted)
        if figures is None or entry is None:
            return None
        if wanted not in self._pages:
            if len(self._pages) >= MAX_PAGES:
                del self._pages[next(iter(self._pages))]
            (part,) = states_of(state, [self._groups[entry.computer]])
            self._pages[wanted] = database_page(
                Gathering.of(part, self._settings),
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
        self.snapshot = Snapshot({})
        self.schedule = SnapshotSchedule()
        self._groups = ShownGroups()
        self._publishing = threading.Lock()
        """One snapshot is made at a time, so that an older one never replaces a newer one."""
        self._pages: tuple[Snapshot, Pages] | None = None
        self._stated_at: float | None = None
        """Time of the last statement of what stands, by the monotonic clock."""
        self._waiting = True
        """The sources that there were at the start have not all been read."""
        self._ready = False

    def _unread(self) -> set[str]:
        """Computers of which the first reading is not done: counters are first exposed at the value
        of a whole one (semantics.md 3)."""
        own, *kept = [folder.state for folder in self._shared.folders()]
        unread = [each for each in kept if any(source.baseline for source in each.sources.values())]
        if hides_databases(own):
            unread = [own, *kept]
        tables = (_computers(each) for each in unread)
        return {computer for each in tables for computer in each}

    def publish_if_due(self, *, more: bool) -> None:
        """Publish where a snapshot is due, or the last one left something to be judged. `more`:
        more is being read."""
        if self.schedule.due(more=more) or (self.waits and not more):
            self.publish()

    @property
    def waits(self) -> bool:
        """True if databases are still to be judged."""
        return self._groups.waits

    def publish(self) -> None:
        with self._publishing, self.schedule.making(), self._shared.internal_errors.held("other"):
            self.snapshot = self._make_snapshot()
            self._ready = not self._waiting

    def _make_snapshot(self) -> Snapshot:
        with self._shared.lock:
            lines = self._lines()
        own = self._shared.health.everything(self._shared.clock(), self._last_set_aside())
        return Snapshot.of(own, self.snapshot, lines=lines)

    def _last_set_aside(self) -> float | None:
        sources = self._shared.sources
        kept = (each.last_set_aside() for each in sources if isinstance(each, KeepsFolders))
        times = [self._shared.journal.last_set_aside(), *kept]
        return max((each for each in times if each is not None), default=None)

    def _lines(self) -> list[Lines]:
        """The lines of the state and of the advice; to be called with the lock held."""
        self._waiting = self._waiting and bool(self._shared.unread())
        state, settings, now = self._shared.state(), self._shared.settings, self._shared.clock()
        news = [each for folder in self._shared.folders() for each in folder.news()]
        try:
            self._groups.show(state, settings, now, news, self._unread())
        except Exception:
            self._groups.forget()
            raise
        groups, out = self._groups.groups.values(), Samples()
        self._note_errors()
        add_sources(out, state)
        add_statements(out, self._restate())
        return [*(each.lines for each in groups), out.lines()]

    def _note_errors(self) -> None:
        groups, errors = self._groups.groups.values(), self._shared.internal_errors
        for part in VIEWS:
            with errors.held(part):
                for failed in [each.failed[part] for each in groups if part in each.failed]:
                    raise failed
            odd = {key: each for group in groups for key, each in group.left_out[part].items()}
            errors.left_out(part, odd)

    def _restate(self) -> State:
        """State what stands and what is over, in each folder what it knows; returns all of it."""
        now = time.monotonic()
        passed, self._stated_at = now - (self._stated_at or now), now
        groups = self._groups.groups.values()
        judged = [each for group in groups for each in group.advice]
        instances = {key: told for group in groups for key, told in group.instances.items()}
        checks = [each for group in groups for each in group.checks]
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

    def _now_shown(self) -> Pages:
        if self._pages is None or self._pages[0] is not self.snapshot:
            state, shown = self._shared.state(), self._groups.groups
            groups, settings = shown.values(), self._shared.settings
            figures = {
                key: each
                for group in groups
                for key, each in group.figures.items()
                if key in state.databases
            }
            known = {key: each for group in groups for key, each in group.known.items()}
            advice = sorted(
                (each for group in groups for each in group.advice),
                key=lambda each: (each.computer, each.database),
            )
            now = self._shared.clock()
            made = assembled(state, settings, now, figures, advice=tuple(advice), known=known)
            before = self._pages[1] if self._pages is not None else None
            self._pages = self.snapshot, Pages(made, known, settings, shown, before)
        return self._pages[1]

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


def _computers(state: State) -> set[str]:
    tables = (state.channels, state.instances, state.devices, state.databases, state.sql_databases)
    return {*state.hosts, *(computer for table in tables for computer, _ in table)}
