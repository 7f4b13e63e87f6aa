"""The state of the daemon, which the reading thread changes and the publisher shows.

Sources may keep states of their own, one for each partition; all together are one view.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from esefiles.base.units import size
from esewatch.advice.base.finding import counted
from esewatch.config import Settings
from esewatch.daemon.agent_health import AgentHealth, InternalErrors, TakenUp
from esewatch.expose.formatting import duration
from esewatch.fold.commands import known
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.journal import Journal
from esewatch.model import Batch, EsewatchError, JournalError, Source


@runtime_checkable
class KeepsFolders(Protocol):
    """A source that folds what it reads into states of its own, and commits them."""

    def folders(self) -> list[Folder]:
        """Those that it owns now; to be called and used with the lock of the views held."""

    def commit_command(self, folder: Folder) -> None:
        """Store what a command changed in one of its folders, with that lock held. Raises
        JournalError."""

    def last_set_aside(self) -> float | None:
        """Last time a damaged journal of its own was set aside, None for never."""


_TABLES = (
    "sources", "hosts", "channels", "instances", "devices", "sql_databases", "stated",
    "stated_instances", "dropped",
)  # fmt: skip


def together(states: Sequence[State]) -> State:
    """The union of the states: it has their entities, and is not to be folded into.

    A computer belongs to one state. Where several have it, because its messages had other keys,
    each entity is that of the state with the latest news, and a database the one
    with the most known bad pages: none is hidden.
    """
    if len(states) == 1:
        return states[0]
    whole = State()
    for state in sorted(states, key=_heard):
        for table in _TABLES:
            getattr(whole, table).update(getattr(state, table))
        whole.databases_dropped += state.databases_dropped
        if whole.databases.keys().isdisjoint(state.databases):
            whole.databases |= state.databases
            continue
        for key, entry in state.databases.items():
            other = whole.databases.get(key)
            if other is None or len(other.bad_pages) <= len(entry.bad_pages):
                whole.databases[key] = entry
    return whole


def _heard(state: State) -> float:
    return max((host.last_heard for host in state.hosts.values()), default=0.0)


def folder_of(folders: Sequence[Folder], computer: str, database: str) -> Folder:
    """The folder that has the database which is shown; of one that none has, but whose computer
    is named, the first. Raises EsewatchError: none has it."""
    try:
        entry: Any = known(together([folder.state for folder in folders]), computer, database)
    except EsewatchError:
        if not computer:
            raise
        return folders[0]
    key = (entry.computer, entry.database)
    return next(
        folder
        for folder in folders
        if entry in (folder.state.databases.get(key), folder.state.sql_databases.get(key))
    )


log = logging.getLogger(__name__)

EVERY_SECONDS = 10.0


class _Begun(msgspec.Struct, gc=False):
    time: float
    ahead: int
    """Bytes that were not read when the reading began."""
    told: float
    records: int = 0


class FirstReadings:
    """The first readings that are under way. `clock` gives seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.words: dict[str, str] = {}
        """Source -> the words of its last line."""
        self.clock = clock
        self._begun: dict[str, _Begun] = {}

    def note(self, name: str, batch: Batch) -> None:
        """Take in a batch of a first reading; logs one line each `EVERY_SECONDS`."""
        now = self.clock()
        begun = self._begun.setdefault(name, _Begun(now, batch.backlog_bytes, now))
        begun.records += len(batch.records)
        if now - begun.told >= EVERY_SECONDS:
            begun.told = now
            self.words[name] = said(
                begun.records,
                batch.backlog_files,
                batch.backlog_bytes,
                (begun.ahead - batch.backlog_bytes) / (now - begun.time),
            )
            log.info("%s: first reading: %s", name, self.words[name])

    def end(self, name: str) -> None:
        """The source was read to its end, or is none any more."""
        self._begun.pop(name, None)
        self.words.pop(name, None)


def said(records: int, files: int, left: int, rate: float) -> str:
    """Records read, and files and bytes left, in words. `left` in bytes, 0 where it is not known;
    `rate` in bytes a second, not said where it is not above 0: then more is written than read."""
    words = counted(records, "record")
    if left:
        words += f", {size(left)} in {counted(files, 'file')} left"
        if rate > 0:
            words += f", {size(rate)} a second, about {duration(round(left / rate))}"
    return words


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
                left = self.journal.commit(self.folder.state, self.folder.changed, self.pending)
            except JournalError:
                self.health.commit_failures += 1
                raise
            self.folder.stored()
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
    return any(source.hides_databases for source in state.sources.values())
