"""The daemon: sources in, state kept, snapshots out.

One thread reads, folds and commits; scrapes render the snapshot that it swapped
in last and never wait for it. What changes the state from outside (`ack`,
`forget`) takes the same lock.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from esewatch.config import Settings
from esewatch.expose.metrics import Snapshot, commit_histogram, families, own_families
from esewatch.expose.overview import Overview, overview
from esewatch.fold.folder import Folder
from esewatch.fold.integrity import count_pages, known_bad_pages
from esewatch.fold.passes import views_in
from esewatch.fold.state import Database, SourceState, State
from esewatch.journal import Journal
from esewatch.model import Batch, EsewatchError, JournalError, Source, SourceError

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
RETRY_SECONDS = 10.0
"""Pause after a source failed or the journal did not take a commit."""
PUBLISH_SECONDS = 60.0
"""A snapshot is made at least this often, for what changes by time alone."""
PUBLISH_SHARE = 10.0
"""While records stream in, making snapshots takes at most one part in ten of the time."""
EXPIRE_SECONDS = 3600.0

_Positions = dict[str, dict[str, bytes | None]]


class Daemon:
    """Wires sources, fold, journal and views; `run` is the reading thread.

    Raises JournalError when the journal cannot be read and not be rebuilt.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        sources: Sequence[Source],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self._journal = journal
        self._sources = list(sources)
        self._clock = clock
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._commits = commit_histogram()
        state, positions = self._load()
        self._folder = Folder(state, settings)
        self._pending: _Positions = {}
        self._retry: dict[str, float] = {}
        self._complaints: dict[str, str] = {}
        self._waiting = True
        self._next_expiry = 0.0
        self._published = 0.0
        self._publish_cost = 0.0
        for source in self._sources:
            source.restore(positions.get(source.name, {}))
            self._folder.open_source(source.name, clock())
        self._forget_sources()
        self.snapshot = self._make_snapshot()
        self._overview: tuple[Snapshot, Overview] | None = None

    def _load(self) -> tuple[State, dict[str, dict[str, bytes]]]:
        try:
            return self._journal.load()
        except JournalError as error:
            self._journal.rebuild()
            log.error("%s; set aside as %s", error, self._journal.set_aside)
            return State(), {}

    def _forget_sources(self) -> None:
        """Sources no longer configured are no longer reported; their positions stay."""
        names = {source.name for source in self._sources}
        for name in [name for name in self._folder.state.sources if name not in names]:
            del self._folder.state.sources[name]
            self._folder.changed.add(("source", name, ""))

    def run(self) -> None:
        """Read until `stop`; commits what was folded before it returns."""
        while not self._stop.is_set():
            busy = self._cycle()
            if not busy:
                self._stop.wait(POLL_SECONDS)
        with contextlib.suppress(JournalError):
            self._commit()

    def stop(self) -> None:
        """Ask the reading thread to end after the batch in hand."""
        self._stop.set()

    def close(self) -> None:
        """Close sources and journal."""
        for source in self._sources:
            source.close()
        self._journal.close()

    def _cycle(self) -> bool:
        """One poll of each source; True when something was read."""
        read = False
        for source in self._sources:
            if self._stop.is_set():
                break
            if self._retry.get(source.name, 0.0) <= time.monotonic():
                read = self._poll(source) or read
        now = self._clock()
        if now >= self._next_expiry:
            with self._lock:
                self._folder.expire(now)
            self._next_expiry = now + EXPIRE_SECONDS
        if self._folder.changed and not self._commit_or_wait():
            return False
        if read or now - self._published >= PUBLISH_SECONDS or now < self._published:
            self._publish()
        return read

    def _poll(self, source: Source) -> bool:
        read = False
        for batch in self._batches(source):
            for piece in batch.unreadable:
                log.warning("%s: unreadable: %s", source.name, piece)
            if not (batch.records or batch.positions or batch.unreadable) and self._same(
                source.name, batch
            ):
                continue
            read = True
            with self._lock:
                # Together: an `ack` between the two would commit records without their position.
                self._folder.fold(source.name, batch)
                self._pending.setdefault(source.name, {}).update(batch.positions)
            if not self._commit_or_wait():
                break
            if self._publish_due():
                self._publish()
            if self._stop.is_set():
                break
        return read

    def _same(self, name: str, batch: Batch) -> bool:
        known = self._folder.state.sources[name]
        return (
            known.up
            and known.caught_up == batch.caught_up
            and known.backlog_bytes == batch.backlog_bytes
            and not known.baseline
        )

    def _batches(self, source: Source) -> Iterator[Batch]:
        """The batches of one poll; a failure is one line and is tried again later."""
        try:
            yield from source.poll()
            self._complaints.pop(source.name, None)
        except SourceError as error:
            self._failed(source.name, str(error))
        except Exception as error:  # a defect of one source must not stop the others
            log.debug("%s", source.name, exc_info=True)
            self._failed(source.name, f"unexpected {type(error).__name__}: {error}")

    def _failed(self, name: str, reason: str) -> None:
        if self._complaints.get(name) != reason:
            self._complaints[name] = reason
            log.error("%s: %s", name, reason)
            self._published = 0.0
        with self._lock:
            self._folder.source_failed(name)
        self._retry[name] = time.monotonic() + RETRY_SECONDS

    def _commit_or_wait(self) -> bool:
        """Commit; when the disk does not take it, hold on to what is folded and try again."""
        while True:
            try:
                self._commit()
                return True
            except JournalError as error:
                log.error("%s; trying again in %g s", error, RETRY_SECONDS)
                if self._stop.wait(RETRY_SECONDS):
                    return False

    def _commit(self) -> None:
        with self._lock, self._commits.time():
            self._journal.commit(self._folder.state, self._folder.changed, self._pending)
            self._folder.changed.clear()
            self._pending.clear()

    def _publish_due(self) -> bool:
        pause = max(POLL_SECONDS, PUBLISH_SHARE * self._publish_cost)
        return self._clock() - self._published >= pause

    def _publish(self) -> None:
        begin = time.perf_counter()
        self.snapshot = self._make_snapshot()
        self._publish_cost = time.perf_counter() - begin
        self._published = self._clock()

    def _make_snapshot(self) -> Snapshot:
        with self._lock:
            if self._waiting:
                self._waiting = bool(self._unread())
            state = self._folder.state
            # Counters are first exposed at the value of a whole first reading (semantics.md 3).
            shown = State(sources=state.sources) if self._waiting else state
            found = families(shown, self.settings, self._clock())
        return Snapshot.of([*found, *own_families(self._commits)])

    def _unread(self) -> list[str]:
        """Sources whose first reading is not done; one that cannot be read holds nobody up."""
        known = self._folder.state.sources
        return [source.name for source in self._sources if _first_reading(known[source.name])]

    def ready(self) -> tuple[bool, str]:
        """Whether the first reading of all sources is done; if not, which are missing."""
        if not self._waiting:
            return True, ""
        return False, f"first reading of {', '.join(self._unread()) or 'all sources'}"

    def overview(self) -> Overview:
        """The figures of the status page, made once for each snapshot."""
        snapshot = self.snapshot
        with self._lock:
            if self._overview is None or self._overview[0] is not snapshot:
                made = overview(self._folder.state, self.settings, self._clock())
                self._overview = (snapshot, made)
            return self._overview[1]

    def forget(self, computer: str, database: str) -> None:
        """Drop a database. Raises EsewatchError when it is not known."""
        with self._lock:
            forget(self._folder, computer, database)
        self._after_command()

    def ack(self, computer: str, database: str, pages: list[int]) -> int:
        """Take known bad pages as dealt with; see `acknowledge`."""
        with self._lock:
            count = acknowledge(self._folder, computer, database, pages, self._clock())
        self._after_command()
        return count

    def _after_command(self) -> None:
        self._commit()
        self._publish()


def _first_reading(source: SourceState) -> bool:
    return source.baseline and source.up


def _known(folder: Folder, computer: str, database: str) -> Database:
    """The database meant by its labels, in any case; `computer` may be empty if one fits."""
    found = [
        entry
        for entry in folder.state.databases.values()
        if entry.database.lower() == database.lower() and computer.lower() in {"", entry.computer}
    ]
    if not found:
        raise EsewatchError(f"no database {database!r} is known on {computer or 'any computer'}")
    if len(found) > 1:
        names = ", ".join(sorted(entry.computer for entry in found))
        raise EsewatchError(f"{database!r} is known on several computers, name one: {names}")
    return found[0]


def forget(folder: Folder, computer: str, database: str) -> None:
    """Drop a database from the state. Raises EsewatchError when it is not known."""
    entry = _known(folder, computer, database)
    folder.forget(entry.computer, entry.database)


def acknowledge(
    folder: Folder, computer: str, database: str, pages: Sequence[int], now: float
) -> int:
    """Take known bad pages (all when none is named) as dealt with; returns how many they were.

    Raises EsewatchError when the database is not known or a page is not known bad.
    """
    entry = _known(folder, computer, database)
    bad = known_bad_pages(entry, views_in(folder.state, entry))
    unknown = sorted(set(pages) - {item.page for item in bad})
    if unknown:
        listed = ", ".join(map(str, unknown))
        raise EsewatchError(f"not known as bad in {entry.database}: page {listed}")
    folder.acknowledge(entry.computer, entry.database, pages, now)
    return count_pages(item for item in bad if not pages or item.page in pages)
