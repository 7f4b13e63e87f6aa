"""Reloaded settings: what changes with them, and their way to the loop that applies them.

A position belongs to what is read, not to the name of the source: a source that is renamed (or
renumbered, because one was added before it) continues with the positions of the old name.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from esefiles.base import names
from esewatch.config import Settings, SourceSettings
from esewatch.fold.state.state import State
from esewatch.model import EsewatchError, Source
from esewatch.sources.registry import beside

Build = Callable[[SourceSettings, Settings], Source]
Positions = Mapping[str, Mapping[str, bytes]]
"""Source name -> file key -> position."""
Moves = dict[str, dict[str, bytes | None]]
"""Positions to write so that they follow their sources; None drops one."""


@runtime_checkable
class LooksAtState(Protocol):
    """A source whose reading depends on the known state."""

    def look_at(self, state: State, lock: Lock) -> None:
        """Use the fold's state: to be read with `lock` held, and never changed."""


def show(sources: Sequence[Source], state: State, lock: Lock) -> None:
    for source in sources:
        if isinstance(source, LooksAtState):
            source.look_at(state, lock)


class SourceChanges(NamedTuple):
    """The changes that turn the running sources into those of new settings."""

    sources: list[Source]
    """All sources of the new settings, in their order."""
    dropped: list[Source]
    """Sources to close."""
    fresh: list[str]
    """Names of the sources that were built."""
    digests: dict[str, str]
    origins: dict[str, str]
    moves: Moves


def digests(settings: Settings) -> dict[str, str]:
    """Name of each source -> digest of its settings, the name left out."""
    found = {}
    for entry in settings.sources:
        unnamed = names.pack_line(msgspec.structs.replace(entry, name="")).rstrip(b"\n")
        found[entry.name] = hashlib.blake2b(unnamed, digest_size=16).hexdigest()
    return found


def predecessors(wanted: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """Name of each wanted source -> name of the one it continues, empty where it is new.

    Both map names to digests. An equal digest decides, the own name first; a source that was only
    changed keeps its name, and so does one without known history.
    """
    stay = {name for name, own in wanted.items() if known.get(name) == own}
    free: dict[str, list[str]] = {}
    for name, own in known.items():
        if own and name not in stay:
            free.setdefault(own, []).append(name)
    found: dict[str, str] = {}
    for name, own in wanted.items():
        others = [] if name in stay else free.get(own, [])
        found[name] = others.pop(0) if others else name
    taken = {origin for name, origin in found.items() if name != origin}
    return {
        name: "" if name == origin and name in taken else origin for name, origin in found.items()
    }


def moves(origins: Mapping[str, str], positions: Positions) -> Moves:
    renamed = {name: origin for name, origin in origins.items() if name != origin}
    changes: Moves = {}
    for name in {*renamed, *renamed.values()} - {""}:
        new = positions.get(origins.get(name, ""), {})
        changes[name] = {**dict.fromkeys(positions.get(name, {})), **new}
    return changes


def prepare(
    old: Settings, new: Settings, running: Sequence[Source], positions: Positions, build: Build
) -> SourceChanges:
    """Build new and changed sources; running ones are not touched. Raises EsewatchError when a
    source cannot be made; those that were built are closed then."""
    before, wanted = digests(old), digests(new)
    origins = predecessors(wanted, before)
    same = {
        entry.name
        for entry in new.sources
        if before.get(entry.name) == wanted[entry.name] and beside(entry, new) == beside(entry, old)
    }
    kept = {source.name: source for source in running if source.name in same}
    built: dict[str, Source] = {}
    try:
        for entry in new.sources:
            if entry.name not in kept:
                built[entry.name] = build(entry, new)
                built[entry.name].restore(positions.get(origins[entry.name], {}))
    except EsewatchError:
        for source in built.values():
            source.close()
        raise
    return SourceChanges(
        sources=[kept.get(entry.name) or built[entry.name] for entry in new.sources],
        dropped=[source for source in running if source.name not in kept],
        fresh=list(built),
        digests=wanted,
        origins=origins,
        moves=moves(origins, positions),
    )


LOOK_SECONDS = 0.05


class ReloadQueue:
    """A queue of one entry, for one producer and one consumer; after `close` it refuses
    everybody."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._giver = threading.Lock()
        self._settings: Settings | None = None
        self._answer = threading.Event()
        self._error: EsewatchError | None = None
        self._closed = False

    @property
    def waiting(self) -> bool:
        return self._settings is not None

    def give(self, load: Callable[[], Settings], seconds: float) -> None:
        """Load settings, hand them over and wait until they are in use.

        One reload at a time: the last to load is the last in use. Raises EsewatchError: that of
        `load`, the reason of the consumer, or that nobody took them, or the reload before did not
        end, in `seconds`.
        """
        if not self._giver.acquire(timeout=seconds):
            raise EsewatchError(
                f"the reload before did not end within {seconds:g} s; try again later"
            )
        try:
            self._hand_over(load(), seconds)
        finally:
            self._giver.release()

    def _hand_over(self, settings: Settings, seconds: float) -> None:
        self._answer.clear()
        self._settings = settings
        end = time.monotonic() + seconds
        while not self._answer.wait(LOOK_SECONDS):
            with self._lock:
                late = self._closed or time.monotonic() > end
                if late and self._settings is not None:
                    self._settings = None
                    raise EsewatchError(
                        "esewatch is being stopped"
                        if self._closed
                        else f"a source did not pause within {seconds:g} s; try again later"
                    )
        if self._error is not None:
            raise self._error

    def take(self) -> Settings | None:
        """Take the waiting settings, None without any. Each must be answered."""
        with self._lock:
            settings, self._settings = self._settings, None
        return settings

    def answer(self, error: EsewatchError | None) -> None:
        """Answer that the taken settings are in use, or are refused because of `error`."""
        self._error = error
        self._answer.set()

    def close(self) -> None:
        self._closed = True
