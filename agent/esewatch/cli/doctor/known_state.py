"""Looks that may never end (a dead share, a pipe), and a short reading of the inputs by them."""

import functools
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from esefiles.base import crash
from esewatch.config import Settings, SourceSettings
from esewatch.expose.pages.problems.source_problems import EMPTY_SECONDS
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import Batch
from esewatch.sources.registry import PROGRAMS, build_source

Found = TypeVar("Found")


class Looks(NamedTuple):
    """Results of the looks: by name the ones that ended and the ones that did not."""

    ended: dict[str, object]
    hanging: list[str]


def look_all(looks: Mapping[str, Callable[[], object]], seconds: float) -> Looks:
    """Do all of them at once, for at most `seconds`. One that hangs is left behind. What a look
    raises is among `ended` as the exception. The threads do not outlive the process."""
    ended: dict[str, object] = {}

    def run(name: str, look: Callable[[], object]) -> None:
        try:
            found = look()
        except Exception as error:
            crash.if_short(error)
            found = error
        ended[name] = found

    workers = [threading.Thread(target=run, args=each, daemon=True) for each in looks.items()]
    for worker in workers:
        worker.start()
    end = time.monotonic() + seconds
    for worker in workers:
        worker.join(max(0.0, end - time.monotonic()))
    done = {name: ended[name] for name in looks if name in ended}
    return Looks(done, [name for name in looks if name not in done])


def within(seconds: float, look: Callable[[], Found]) -> Found:
    """Return the result of `look`, or raise its error; TimeoutError when it takes longer."""
    found: list[Found] = []
    done = look_all({"": lambda: found.append(look())}, seconds)
    if done.hanging:
        raise TimeoutError(f"no answer within {seconds:g} s")
    if isinstance(error := done.ended[""], Exception):
        raise error
    return found[0]


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
