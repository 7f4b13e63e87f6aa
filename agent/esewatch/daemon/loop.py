"""The daemon: sources in, state kept, snapshots out.

One thread reads, folds and commits; scrapes render the snapshot that it published last and never
wait for it. Commands that change the state from outside (`ack`, `forget`) take the same lock. New
settings are applied between two batches.
"""

import contextlib
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path

from esefiles.base import crash
from esewatch.config import Settings
from esewatch.daemon.agent_health import TakenUp, rebuilt_sentence
from esewatch.daemon.poller import Poller
from esewatch.daemon.publisher import NEVER, Publisher
from esewatch.daemon.reload import Build, ReloadQueue, digests, moves, predecessors, prepare, show
from esewatch.daemon.shared import Shared, hides_databases
from esewatch.expose.formatting import iso_time
from esewatch.fold.commands import succeed
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.journal import Journal, Positions
from esewatch.journal.quarantine import MAX_ENDS, MAX_STARTS, Quarantine, Starts
from esewatch.model import Batch, EsewatchError, JournalError, Record, Source, SourceError
from esewatch.sources.log_limiter import LogLimiter
from esewatch.sources.process import pause
from esewatch.sources.registry import build_source, share_files

EVERY_SECONDS = 3600.0
JUMP_SECONDS = 3600.0
"""A clock that differs from the elapsed time by more than this has jumped."""
TRUST_SECONDS = 86400.0
"""Retention is suspended for this long after a jump."""


class Expiry:
    """Retention timer: compares the clock (`now`) with the elapsed seconds (`passed`)."""

    def __init__(self, now: float, passed: float) -> None:
        self._ahead = now - passed
        self._next = passed + EVERY_SECONDS

    def jumped(self, now: float, passed: float) -> float:
        """Return the seconds by which the clock has jumped since the last call, 0 when it has
        not."""
        jump = now - passed - self._ahead
        self._ahead += jump
        if abs(jump) <= JUMP_SECONDS:
            return 0.0
        self._next = passed + TRUST_SECONDS
        return jump

    def due(self, passed: float) -> bool:
        """True if it is time to drop silent series; True once an hour."""
        if passed < self._next:
            return False
        self._next = passed + EVERY_SECONDS
        return True


log = logging.getLogger(__name__)

POLL_SECONDS = 0.5
"""Short, so that a new record of a source is a metric within a second."""
SLICE_SECONDS = 1.0
"""A source with much to read yields to the others after this time."""
RETRY_SECONDS = 10.0
"""Pause after a source failed or the journal could not commit."""
REBUILD_SECONDS = 20.0
"""Longer than any source waits before it reads a new file, or the last record of one."""
HANG_SECONDS = 60.0
"""A source that is silent for so long in the middle of a poll is down."""
RELOAD_SECONDS = 10.0
"""The time that a reload waits for a source that blocks it."""
HANGS = "does not answer"


class Daemon:
    """Wires sources, fold, journal and views; `run` is the reading thread.

    For `reload`, `load` reads the settings again and `build` makes a source of them. Raises
    JournalError when the journal can neither be read nor rebuilt.
    """

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        sources: Sequence[Source],
        *,
        clock: Callable[[], float] = time.time,
        load: Callable[[], Settings] | None = None,
        build: Build = build_source,
        web: TakenUp | None = None,
    ) -> None:
        self._shared = Shared(settings, journal, sources, clock, web)
        self.publisher = Publisher(self._shared, self.reload)
        self._load_settings = load or (lambda: settings)
        self._build = build
        self._stop = threading.Event()
        self._reload_queue, self._lines = ReloadQueue(), LogLimiter(log)
        self._remarked: set[tuple[str, str]] = set()
        """Sources and remarks on their times that were logged."""
        self._quarantine = Quarantine(journal.path.with_name(f"{journal.path.name}.set-aside"))
        self._in_a_row: dict[str, int] = {}
        """Source -> number of its unexpected failures in a row."""
        self._starts = Starts(journal.lock)
        self._poller = Poller()
        self._polls: dict[str, Generator[Batch | None, None, None]] = {}
        self._retry: dict[str, float] = {}
        self._commit_again = NEVER
        """Time at which a failed commit is retried."""
        self._started = time.monotonic()
        self._expiry = Expiry(clock(), self._started)
        self._shared.folder = self._begin(*load_or_rebuild(journal))
        for name in self._starts.left_alone & self._shared.folder.state.sources.keys():
            self._failed(
                name,
                f"{MAX_STARTS} starts in a row ended while it was read, so it is left alone: take "
                "away the file that it cannot read, stop esewatch and start it again",
            )
            self._retry[name] = math.inf
        self._try_commit()  # the damage to rebuild, and a state to which a batch can be undone
        self.publisher.publish()

    def _begin(self, state: State, positions: Positions) -> Folder:
        settings, sources = self._shared.settings, self._shared.sources
        folder = Folder(state, settings)
        wanted = {source.name: "" for source in sources} | digests(settings)
        known = {name: source.settings for name, source in state.sources.items()}
        origins = predecessors(wanted, known)
        self._shared.pending = moves(origins, positions)
        hides = hides_databases(state) or not (
            state.databases or any(not source.baseline for source in state.sources.values())
        )
        succeed(folder, origins, wanted)
        aside = self._shared.journal.set_aside
        if aside is not None:
            log.error(
                "the journal was damaged and is set aside as %s: reading everything again", aside
            )
        for source in self._shared.sources:
            source.restore(positions.get(origins[source.name], {}))
            opened = folder.open_source(source.name, self._shared.clock())
            opened.settings, opened.hides_databases = wanted[source.name], hides
            if aside is not None:
                opened.begin_rebuilding(self._shared.journal.salvaged.get(source.name))
        show(self._shared.sources, state, self._shared.lock)
        return folder

    def run(self) -> None:
        """Read until `stop`; commits everything that was folded before it returns."""
        while not self._stop.is_set():
            more = False
            with self._shared.internal_errors.held("other"):
                self._take_up()
                more = self._cycle()
            if not more:
                self._stop.wait(POLL_SECONDS)
        with contextlib.suppress(JournalError), self._shared.lock:
            self._shared.commit()

    def stop(self) -> None:
        """Ask the reading thread to end after the current batch."""
        self._reload_queue.close()
        self._stop.set()

    def close(self, *, running: bool = False) -> None:
        """Close the sources and the journal, except sources that do not answer.

        `running`: the reading thread did not end, so the journal is closed by the end of the
        process: each batch is committed.
        """
        for source in self._shared.sources:
            self._close(source)
        self._poller.close()
        self._starts.end()
        if not running:
            self._shared.journal.close()

    def _close(self, source: Source) -> None:
        """A source that does not answer keeps its thread until it answers, or the process ends."""
        if source.name in self._poller.under_way:
            log.warning("%s: %s and is not waited for", source.name, HANGS)
        else:
            source.close()

    def reload(self) -> None:
        """Read the settings again and apply them; the old ones stay in use if that fails. Raises
        EsewatchError with the reason. Called from any thread but the reading one."""
        try:
            self._reload_queue.give(self._load_settings, RELOAD_SECONDS)
            self._shared.health.reloaded(self._shared.clock())
        except Exception as error:
            crash.if_short(error)
            why = " ".join(str(error).split()) or type(error).__name__
            log.error("the configuration is refused: %s", why)
            self._shared.health.reload_failed()
            raise
        finally:
            self.publisher.publish()

    def _take_up(self) -> None:
        """Apply new settings, if some wait: between two batches, when everything read is
        committed."""
        settings = self._reload_queue.take()
        if settings is None:
            return
        try:
            with self._shared.lock:
                self._shared.commit()
            self._change(settings)
        except EsewatchError as error:
            self._reload_queue.answer(error)
        except Exception as error:  # a defect of one source must not stop the others
            crash.if_short(error)
            self._reload_queue.answer(EsewatchError(f"unexpected {type(error).__name__}: {error}"))
        else:
            self._reload_queue.answer(None)

    def _change(self, new: Settings) -> None:
        """Apply new settings. Raises EsewatchError before anything has changed."""
        old, journal = self._shared.settings, self._shared.journal
        change = prepare(old, new, self._shared.sources, journal.positions(), self._build)
        if Path(os.path.realpath(new.journal)) != journal.path:
            log.warning("journal: %s takes effect at the next start", new.journal)
        for source in change.dropped:
            if (poll := self._polls.pop(source.name, None)) is not None:
                poll.close()
            with contextlib.suppress(Exception):  # a defect of one source must not stop the others
                self._close(source)
            for known in (self._retry, self._shared.complaints, self._poller.under_way):
                known.pop(source.name, None)
            self._shared.first_readings.end(source.name)
        with self._shared.lock:
            self._shared.sources = change.sources
            share_files(self._shared.sources, new)
            show(self._shared.sources, self._shared.folder.state, self._shared.lock)
            self._shared.settings = new
            self._shared.folder.reconfigure(new)
            hides = hides_databases(self._shared.folder.state)
            succeed(self._shared.folder, change.origins, change.digests)
            self._shared.pending = change.moves
            for name in change.fresh:
                opened = self._shared.folder.open_source(name, self._shared.clock())
                opened.settings, opened.hides_databases = change.digests[name], hides
        self._try_commit()
        counts = len(change.sources), len(change.fresh)
        log.info("the configuration is in use: %d sources, %d of them new or changed", *counts)

    def _cycle(self) -> bool:
        """Poll each source for a slice of time; True when there may be more to read at once."""
        if self._commit_again > time.monotonic() or (
            self._commit_again > NEVER and not self._try_commit()
        ):
            self.publisher.publish_if_due(more=bool(self._polls))
            return False
        read = False
        for source in self._shared.sources:
            if self._commit_again > NEVER or self._stop.is_set() or self._reload_queue.waiting:
                break
            if self._retry.get(source.name, NEVER) > time.monotonic():
                continue
            with self._starts.reading(source.name):
                more = self._poll(source)
            if more:
                read = True
                if self.publisher.schedule.due_in_a_stream:
                    self.publisher.publish()
        self._expire()
        if time.monotonic() - self._started > REBUILD_SECONDS:
            self._settle()
        if self._shared.folder.changed:
            self._try_commit()
        self.publisher.publish_if_due(more=bool(self._polls))
        return read or self._reload_queue.waiting

    def _poll(self, source: Source) -> bool:
        """Poll one source for a slice of time; True when something was read."""
        poll = self._polls.pop(source.name, None) or self._batches(source)
        end = time.monotonic() + SLICE_SECONDS
        read = False
        for batch in poll:
            if batch is None:
                self._polls[source.name] = poll
                return read
            stored = True
            brings = batch.records or batch.positions or batch.unreadable or batch.folded
            if brings or self._news(source, batch):
                read = True
                self._shared.answered = self._shared.answered or bool(batch.records or batch.folded)
                readings = self._shared.first_readings
                if batch.caught_up or not self._shared.folder.state.sources[source.name].baseline:
                    readings.end(source.name)
                else:
                    readings.note(source.name, batch)
                self._take(source.name, batch)
                if stored := self._try_commit():
                    self._starts.got_on(source.name)
            late = self._reload_queue.waiting or time.monotonic() > end
            if late or not stored or self._stop.is_set():
                self._polls[source.name] = poll
                return True
        return read

    def _take(self, name: str, batch: Batch) -> None:
        for piece in batch.unreadable:
            self._lines.warning(name, f"unreadable: {piece}")
        for path, remark in batch.remarks:
            if (name, remark) not in self._remarked:
                self._remarked.add((name, remark))
                self._lines.warning(name, f"the times in {path} {remark}")
        # An `ack` between the two would commit records without their position.
        with self._shared.lock:
            set_aside = partial(self._set_aside, name, ", ".join(batch.paths or batch.positions))
            each = partial(self._starts.each, name, set_aside=set_aside)
            try:
                self._shared.folder.fold(name, batch, self._shared.clock(), each)
            except Exception as error:  # the records are taken in, so their positions hold
                self._shared.internal_errors.note("fold", error)
            self._shared.folder.computers.tell(log.warning)
            self._shared.pending.setdefault(name, {}).update(batch.positions)
            # Not before: a snapshot that `ack` makes meanwhile would take the news for its own.
            self.publisher.schedule.news()
        while self._shared.folder.set_aside:
            source, record, why = self._shared.folder.set_aside.pop(0)
            self._quarantine.keep(source, record, why)
            kept = f"{type(record).__name__} set aside in {self._quarantine.path}"
            self._lines.warning(source, f"{kept}: {type(why).__name__}: {why}")

    def _set_aside(self, name: str, files: str, record: Record) -> None:
        known = [getattr(record, each, None) for each in ("computer", "channel", "record_id")]
        known.append(iso_time(getattr(record, "time", None)))
        place = ", ".join(str(each) for each in known if each)
        why = EsewatchError(f"{MAX_ENDS} starts ended at this record ({place}; {files})")
        self._shared.folder.put_aside(self._shared.folder.state.sources[name], record, why)

    def _news(self, source: Source, batch: Batch) -> bool:
        known = self._shared.folder.state.sources[source.name]
        moved = (known.caught_up, known.backlog_bytes) != (batch.caught_up, batch.backlog_bytes)
        return not known.up or moved or known.baseline

    def _batches(self, source: Source) -> Generator[Batch | None, None, None]:
        """The batches of one poll, None while it hangs; a failure is logged as one line and
        retried."""
        try:
            yield from self._poller.batches(source)
            self._shared.answered = True
            self._shared.complaints.pop(source.name, None)
            self._in_a_row.pop(source.name, None)
        except SourceError as error:
            self._failed(source.name, str(error))
        except Exception as error:  # a defect of one source must not stop the others
            crash.if_short(error)
            log.debug("%s", source.name, exc_info=True)
            self._failed(source.name, f"unexpected {type(error).__name__}: {error}")
            self._begin_anew(source)

    def _begin_anew(self, source: Source) -> None:
        """Restart a source from the journal: its state after an unexpected failure is unknown. A
        source that fails again and again waits longer and longer (backoff)."""
        self._shared.internal_errors.counts["source"] += 1
        failures = self._in_a_row.get(source.name, 0)
        self._in_a_row[source.name] = failures + 1
        self._retry[source.name] = time.monotonic() + pause(RETRY_SECONDS, failures)
        settings = self._shared.settings
        entry = next((each for each in settings.sources if each.name == source.name), None)
        if entry is None:
            return
        with self._shared.internal_errors.held("source"):
            new = self._build(entry, settings)
            new.restore(self._shared.journal.positions().get(source.name, {}))
            show([new], self._shared.folder.state, self._shared.lock)
            self._shared.sources[self._shared.sources.index(source)] = new
            share_files([new], settings)
            with contextlib.suppress(Exception):
                source.close()

    def _failed(self, name: str, reason: str) -> None:
        if self._shared.complaints.get(name) != reason:
            self._shared.complaints[name] = reason
            self._lines.error(name, reason)
            self.publisher.schedule.hurry()
        self._shared.first_readings.end(name)
        with self._shared.lock:
            self._shared.folder.source_failed(name)
        self._retry[name] = time.monotonic() + RETRY_SECONDS

    def _expire(self) -> None:
        now, passed = self._shared.clock(), time.monotonic()
        if jump := self._expiry.jumped(now, passed):
            log.warning("the clock of this machine jumped by %+.0f s", jump)
            self.publisher.schedule.hurry()
        elif self._expiry.due(passed):
            with self._shared.lock:
                for folder in self._shared.folders():
                    folder.expire(now)

    def _settle(self) -> None:
        """Report the range that could not be rebuilt, when all sources have been read."""
        with self._shared.lock:
            folders = self._shared.folders()
            settled = [each for folder in folders for each in folder.settle_rebuilt()]
        for known in settled:
            self.publisher.schedule.hurry()
            log.warning("%s: %s", known.name, rebuilt_sentence(known))

    def watch(self) -> None:
        """Mark a source that hangs as down. Called by another thread from time to time."""
        with self._shared.internal_errors.held("other"):
            known = self._shared.folder.state.sources.keys()
            for name in self._poller.silent(HANG_SECONDS) & known:
                if self._shared.complaints.get(name) != HANGS:
                    self._failed(name, HANGS)
                    self.publisher.publish()

    def _try_commit(self) -> bool:
        """Commit; False when the disk refuses it: nothing more is read until a commit succeeds."""
        try:
            with self._shared.lock:
                self._shared.commit()
        except JournalError as error:
            if self._shared.complaints.get("") != str(error):
                self._shared.complaints[""] = str(error)
                log.error("%s; reading continues when it can be written", error)
            self._commit_again = time.monotonic() + RETRY_SECONDS
            with self._shared.lock:
                for folder in self._shared.folders():
                    folder.nothing_read_on()
            self.publisher.schedule.hurry()
            return False
        if self._commit_again > NEVER:
            self._commit_again = NEVER
            self._shared.complaints.pop("", None)
            log.info("the journal can be written again: reading continues")
        return True


def load_or_rebuild(journal: Journal) -> tuple[State, Positions]:
    """Load the journal; where it cannot be read, start with an empty state and a new journal.
    Raises JournalError when that fails too."""
    try:
        return journal.load()
    except JournalError as error:
        log.error("%s", error)
        journal.rebuild()
        return State(), {}
