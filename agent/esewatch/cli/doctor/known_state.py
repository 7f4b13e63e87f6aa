"""The state for `doctor`: from the journal, else from a short reading of the inputs."""

import functools
import threading
import time
from collections.abc import Iterable

from esefiles.base import crash
from esewatch.cli.doctor.timeouts import look_all
from esewatch.config import Settings, SourceSettings
from esewatch.expose.pages.problems.source_problems import EMPTY_SECONDS
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import Batch
from esewatch.sources.registry import PROGRAMS, build_source

SECONDS = 20.0
"""Time for all inputs together; the rest is left out."""
STEP = 0.05


class KnownState:
    """A reading of the inputs that never writes. `state` is that of when the time was over.

    `reasons`: why a source cannot be read. `pieces`: the first piece of a source that could not.
    `unread`: sources that were not read to their end.
    """

    def __init__(self, settings: Settings) -> None:
        self.reasons: dict[str, str] = {}
        self.pieces: dict[str, str] = {}
        self.unread: list[str] = []
        self._settings = settings
        self._folder = Folder(State(), settings)
        self._lock = threading.Lock()
        self._over = False

    def read(self, seconds: float = SECONDS) -> State:
        looks = {
            entry.name: functools.partial(self._source, entry)
            for entry in self._settings.sources
            if entry.type not in PROGRAMS
        }
        self.unread = look_all(looks, seconds).hanging
        with self._lock:
            self._over = True
            self._folder.computers.settle()
        return self._folder.state

    def _source(self, entry: SourceSettings) -> None:
        with self._lock:
            # Opened so long ago that a source which gives nothing now is known to be empty.
            known = self._folder.open_source(entry.name, time.time() - 2 * EMPTY_SECONDS)
        try:
            source = build_source(entry, self._settings)
            try:
                # An endpoint is asked in the first poll and answers in a later one.
                while not self._over and not known.caught_up:
                    self._take(entry.name, source.poll(final=True))
                    time.sleep(0.0 if known.caught_up else STEP)
            finally:
                source.close()
        except Exception as error:  # a defect of one source must not stop the others
            crash.if_short(error)
            self.reasons[entry.name] = str(error) or type(error).__name__
            with self._lock:
                if not self._over:
                    self._folder.source_failed(entry.name)

    def _take(self, name: str, batches: Iterable[Batch]) -> None:
        for batch in batches:
            with self._lock:
                if self._over:
                    return
                self._folder.fold(name, batch, time.time())
            for piece in batch.unreadable[:1]:
                self.pieces.setdefault(name, str(piece))
