"""What the daemon shows, and what is asked of it from outside: snapshots, pages, commands."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator

from prometheus_client.core import Metric

from esewatch.advice.stagger import Key
from esewatch.advice.surroundings import surroundings
from esewatch.config import Settings
from esewatch.daemon.troubles import Troubles
from esewatch.expose.advisor import Advisor
from esewatch.expose.database_page import DatabasePage
from esewatch.expose.left_out import leaving_out, without
from esewatch.expose.metrics import Snapshot, families
from esewatch.expose.overview import Overview
from esewatch.expose.own_figures import OwnFigures
from esewatch.expose.pace import Pace
from esewatch.expose.shown import Shown
from esewatch.fold.commands import Acknowledged, acknowledge, forget
from esewatch.fold.folder import Folder
from esewatch.fold.state import State
from esewatch.journal import Journal
from esewatch.model import Batch


class Shows(ABC):
    """The part of the daemon that others look at. The other part keeps these up to date."""

    settings: Settings
    snapshot: Snapshot
    _journal: Journal
    _clock: Callable[[], float]
    _lock: threading.Lock
    _figures: OwnFigures
    _troubles: Troubles
    _folder: Folder
    _pace: Pace
    _advisor: Advisor
    _polls: dict[str, Generator[Batch | None, None, None]]
    _shown: Shown | None
    _left_out: frozenset[Key] = frozenset()
    """Databases of which no metrics can be made; the views beside them do not try either."""
    _waiting: bool

    @abstractmethod
    def _commit(self) -> None:
        """Store what has changed. Raises JournalError."""

    def _publish_if_due(self) -> None:
        complete = False
        if not self._troubles.waits("advice"):
            with self._troubles.held("advice"), self._lock:
                state = without(self._folder.state, self._left_out)
                complete = self._advisor.catch_up(state, self.settings, self._clock())
        if self._pace.due(more=bool(self._polls)) or complete:
            self._publish()

    def _publish(self) -> None:
        with self._pace.making(), self._troubles.held("other"):
            self.snapshot = self._make_snapshot()
            self._ready = not self._waiting

    def _make_snapshot(self) -> Snapshot:
        with self._lock:
            self._waiting = self._waiting and bool(self._unread())
            state = self._folder.state
            # Counters are first exposed at the value of a whole first reading (semantics.md 3).
            shown = State(sources=state.sources) if self._waiting else state
            now, found = self._clock(), list[Metric]()
            with self._troubles.held("metrics"):
                made, odd = leaving_out(shown, lambda each: families(each, self.settings, now))
                self._troubles.left_out("metrics", odd)
                found += made
                shown = without(shown, odd)
                self._left_out = frozenset(odd)
            if not self._troubles.waits("advice"):
                with self._troubles.held("advice"):
                    found += self._advisor.families(shown, self.settings, now)
                    self._troubles.left_out("advice", self._advisor.left_out)
        own = self._figures.everything(self._journal.last_set_aside())
        return Snapshot.of([*found, *own], self.snapshot)

    def _unread(self) -> list[str]:
        """Sources whose first reading is not done; one that cannot be read holds nobody up."""
        known = self._folder.state.sources.values()
        return [source.name for source in known if source.baseline and source.up]

    def ready(self) -> tuple[bool, str]:
        """Whether the first reading of all sources is done; if not, which are missing."""
        missing = f"first reading of {', '.join(self._unread()) or 'all sources'}"
        return self._ready, "" if self._ready else missing

    def overview(self) -> Overview:
        """The figures of the status page, made once for each snapshot."""
        with self._lock:
            return self._now_shown().overview

    def database(self, computer: str, database: str) -> DatabasePage | None:
        """All that is shown of one database, made once for each snapshot; None: not known."""
        with self._lock:
            return self._now_shown().database(self._folder.state, computer, database)

    def _now_shown(self) -> Shown:
        if self._shown is None or self._shown.of is not self.snapshot:
            now, advice = self._clock(), self._advisor.latest
            made, odd = leaving_out(
                without(self._folder.state, self._left_out),
                lambda state: Shown(self.snapshot, state, self.settings, now, advice),
            )
            self._troubles.left_out("other", odd)
            self._shown = made
        return self._shown

    def forget(self, computer: str, database: str) -> None:
        """Drop a database. Raises EsewatchError when it is not known."""
        with self._lock:
            forget(self._folder, computer, database)
        self._after_command()

    def ack(self, computer: str, database: str, pages: list[int]) -> Acknowledged:
        """Take known bad pages as dealt with; see `acknowledge`."""
        with self._lock:
            told = surroundings(self._folder.state, self._folder.settings)
            done = acknowledge(self._folder, computer, database, pages, told)
        self._after_command()
        return done

    def _after_command(self) -> None:
        self._commit()
        self._publish()
