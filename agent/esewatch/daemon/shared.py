"""The state of the daemon, which the reading thread changes and the publisher shows."""

import logging
import threading
from collections.abc import Callable, Sequence

from esewatch.config import Settings
from esewatch.daemon.agent_health import AgentHealth, TakenUp
from esewatch.daemon.first_reading import FirstReadings
from esewatch.daemon.internal_errors import InternalErrors
from esewatch.daemon.kept_folders import KeepsFolders, together
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.journal import Journal
from esewatch.model import JournalError, Source

log = logging.getLogger(__name__)


class Shared:
    """The reading thread keeps these values up to date."""

    folder: Folder

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        sources: Sequence[Source],
        clock: Callable[[], float],
        web: TakenUp | None,
    ) -> None:
        self.settings = settings
        self.journal = journal
        self.sources = list(sources)
        self.clock = clock
        self.health = AgentHealth(clock(), web)
        self.internal_errors = InternalErrors(self.health.internal_errors)
        self.first_readings = FirstReadings()
        self.lock = threading.Lock()
        """Held around every access to the state."""
        self.pending: dict[str, dict[str, bytes | None]] = {}
        """Positions to commit, by source."""
        self.complaints: dict[str, str] = {}
        """Source -> why it cannot be read, as logged."""
        self.answered = not sources
        """Some source could be read since the start, or there is none."""

    def commit(self) -> None:
        """Store what has changed; to be called with the lock held. Raises JournalError."""
        with self.health.commits.time():
            if not self.unread():
                self.folder.end_first_reading()
            try:
                changed = self.folder.changed
                left = self.journal.commit(self.folder.state, changed, self.pending)
            except JournalError:
                self.health.commit_failures += 1
                raise
            self.folder.changed.clear()
            self.pending.clear()
        for (kind, first, second), error in left.items():
            log.error("%s %s %s cannot be stored: its old row stays", kind, first, second)
            self.internal_errors.note("journal", error)

    def folders(self) -> list[Folder]:
        """The daemon's own, then those that sources keep; to be called with the lock held."""
        kept = (each.folders() for each in self.sources if isinstance(each, KeepsFolders))
        return [self.folder, *(folder for folders in kept for folder in folders)]

    def state(self) -> State:
        """All that is known, for the views; to be called with the lock held."""
        return together([folder.state for folder in self.folders()])

    def unread(self) -> list[str]:
        """Sources whose first reading is not done; one that cannot be read does not count."""
        # HTTP threads ask without the lock: a copy, which is made at once.
        known = list(self.folder.state.sources.values())
        return [source.name for source in known if source.baseline and source.up]


def hides_databases(state: State) -> bool:
    """True while the first reading of a new journal is not done."""
    return any(source.hides_databases for source in state.sources.values())
