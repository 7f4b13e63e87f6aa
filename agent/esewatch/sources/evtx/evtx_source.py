"""Windows event logs (.evtx): live, growing, archived, damaged, gzip-compressed.

A log consists of chunks of 64 KiB, each with checksums over its header and its
records. Only chunks that changed are read; one that is damaged costs only itself.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from esefiles.base.globs import barring
from esefiles.base.names import reason_of
from esewatch.config import LogFiles, Settings
from esewatch.ese.dates import DateOrder
from esewatch.model import Batch, FileTold, SourceError, Unreadable
from esewatch.sources.evtx.evtx_file import (
    EvtxFileState,
    EvtxStep,
    FileReader,
    ReadingPlan,
    key_of,
    plan,
)
from esewatch.sources.evtx.evtx_records import ChunkDecoder
from esewatch.sources.files.file_search import Room, all_unreadable, listed
from esewatch.sources.files.file_time import AHEAD_SECONDS, FileTime
from esewatch.sources.kind import RecordSelection

_SIGNATURE: Final = b"ElfFile\0"
_BATCH_RECORDS: Final = 2000
_BATCH_BYTES: Final = 4 << 20


def open(entry: LogFiles, settings: Settings, wanted: RecordSelection) -> "EvtxSource":
    return EvtxSource(
        entry.name,
        entry.paths,
        providers=settings.providers,
        companions=wanted.companions,
        date_order=entry.date_order,
        computer=entry.computer or "",
    )


def recognise(head: bytes, stored: bytes) -> bool:
    return head.startswith(_SIGNATURE) or stored.startswith(_SIGNATURE)


class EvtxSource:
    """A source over event logs named by paths and globs. Implements `model.Source`.

    `providers` are further event sources of ESE, `companions` asks for the events
    of semantics.md 4 too, `date_order` is that of dates inside of strings,
    `computer` stands in where a record names none. A position is kept for each
    file: its fingerprint, and one of 6 bytes for each of its chunks.
    """

    def __init__(
        self,
        name: str,
        paths: Sequence[str],
        *,
        providers: Collection[str] = (),
        companions: bool = False,
        date_order: DateOrder | None = None,
        computer: str = "",
    ) -> None:
        self.name = name
        self._patterns = tuple(paths)
        self._decoder = ChunkDecoder(
            providers=providers, companions=companions, date_order=date_order, computer=computer
        )
        self._states: dict[str, EvtxFileState] = {}
        self._saved: dict[str, bytes] = {}
        self._deferred: dict[str, set[int]] = {}
        self._complaints: dict[str, str] = {}
        self._failed: dict[str, str] = {}
        """Path -> reason of what could not be listed or opened in this poll."""
        self._by_file: dict[tuple[int, int], EvtxFileState] = {}
        """Device and inode -> known state of the file before this poll."""
        self._batch = Batch()
        self._read: dict[str, EvtxFileState] = {}
        """State of the files of this poll, ahead of `_states` by the content of `_batch`."""

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """Restore the positions of the journal; one that cannot be read means a fresh start."""
        for path, value in positions.items():
            try:
                self._states[path] = msgspec.msgpack.decode(value, type=EvtxFileState)
            except msgspec.MsgspecError:
                continue
            self._saved[path] = value

    def close(self) -> None:
        """Nothing stays open between polls."""

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        """Read what is new, see `model.Source.poll`. A file that did not change costs a stat.

        Raises SourceError, after all else was read, when a path that is no pattern does not exist,
        and, unless `final`, when nothing that the paths lead to can be listed or opened.
        """
        self._batch = Batch()
        self._read = {}
        self._failed = {}
        paths, missing = self._paths()
        self._by_file = {
            state.key[:2]: state for state in self._states.values() if state.key is not None
        }
        # Not planned at once: that takes a look into each file, and records are to flow.
        ahead = {path: self._bytes_ahead(path) for path in paths}
        backlog, files = sum(ahead.values()), sum(map(bool, ahead.values()))
        unsaved = 0
        for path in paths:
            planned = self._plan(path)
            backlog, files = backlog - ahead[path], files - bool(ahead[path])
            if planned is None:
                continue
            found, state = planned
            backlog += found.size
            file_time = FileTime()
            for step in self._steps(found, state, final=final):
                records, heard = file_time.checked(step.records, step.heard, found.key[3])
                self._batch.records += records
                self._batch.heard += heard
                if final:
                    told = self._batch.files.setdefault(path, FileTold(time.time() + AHEAD_SECONDS))
                    told.note(records, heard)
                self._batch.unreadable += step.unreadable
                backlog -= step.bytes_read
                unsaved += step.bytes_read
                if len(self._batch.records) >= _BATCH_RECORDS or unsaved >= _BATCH_BYTES:
                    unsaved = 0
                    yield self._take_batch(backlog, files + 1, caught_up=False)
        self._drop_vanished(paths)
        error = "" if final else all_unreadable(paths, self._failed, self._batch.unreadable)
        if missing:
            error = f"{missing[0]}: no such file; name an existing log or a pattern"
        yield self._take_batch(0, 0, caught_up=not error)
        if error:
            raise SourceError(error)

    def _bytes_ahead(self, path: str) -> int:
        """The bytes to read of a file, as far as its size shows."""
        try:
            key = key_of(Path(path).stat())
        except OSError:
            return 0
        known = self._states.get(path)
        if known is None or known.key is None:
            return key[2]
        return 0 if known.key == key else max(key[2] - known.key[2], 0)

    def _paths(self) -> tuple[list[str], list[str]]:
        """Paths that match now, and those that were named and do not exist."""
        listing = listed(self._patterns)
        for folder, reason in (listing.barred | listing.gone).items():
            self._complain(folder, reason)
        missing = [path for path, literal in listing.paths.items() if literal and _is_gone(path)]
        room = Room(self._states)
        paths = [
            path
            for path, literal in listing.paths.items()
            if path not in missing and (literal or room.has(path))
        ]
        if room.lack:
            self._complain(", ".join(self._patterns), room.lack)
        return paths, missing

    def _plan(self, path: str) -> tuple[ReadingPlan, EvtxFileState] | None:
        """The parts to read of one file and from where; None when there are none."""
        try:
            key = key_of(Path(path).stat())
            state = self._states.get(path)
            if state is None:
                # An archived log is the same file under another name, and not read twice.
                known = self._by_file.get(key[:2])
                state = EvtxFileState(None, known.digests, known.tail) if known else EvtxFileState()
            elif state.key == key:
                return None
            found = plan(path, state)
        except FileNotFoundError:
            return None
        except OSError as error:
            # One line for a folder that is listed and may not be passed, not one for each file.
            self._complain(path if path in self._patterns else barring(path), reason_of(error))
            return None
        problem = found.problem
        if problem is not None and self._complaints.get(path) != problem.reason:
            self._batch.unreadable.append(problem)
        self._complaints.pop(path, None)
        if problem is not None:
            self._complaints[path] = problem.reason
            if not problem.place:
                return None
        return found, state.copy()

    def _complain(self, path: str, reason: str) -> None:
        """Report a file that cannot be opened or a folder that cannot be listed, once."""
        self._failed[path] = reason
        if self._complaints.get(path) != reason:
            self._complaints[path] = reason
            self._batch.unreadable.append(Unreadable(path=path, place="", reason=reason))

    def _steps(
        self, found: ReadingPlan, state: EvtxFileState, *, final: bool
    ) -> Iterator[EvtxStep]:
        """The steps of one file; `_read` holds how far they went."""
        self._read[found.path] = state
        deferred = self._deferred.setdefault(found.path, set())
        begun = False
        try:
            for step in FileReader(found, state, deferred, self._decoder).steps(final=final):
                begun = True
                yield step
        except FileNotFoundError:
            pass  # it vanished just now: no error
        except OSError as error:
            self._complain(found.path, reason_of(error))
            if begun:
                del self._failed[found.path]
        if not deferred:
            del self._deferred[found.path]

    def _drop_vanished(self, paths: Sequence[str]) -> None:
        """Forget files that are gone; not those that this poll could not look for."""
        for path in set(self._states).difference(paths):
            if not self._is_out_of_reach(path):
                del self._states[path]
                self._saved.pop(path, None)
                self._deferred.pop(path, None)
                self._complaints.pop(path, None)
                self._batch.positions[path] = None
        there = {*paths, *self._failed, *self._states}
        self._complaints = {path: why for path, why in self._complaints.items() if path in there}

    def _is_out_of_reach(self, path: str) -> bool:
        if path in self._patterns and not Path(path).parent.is_dir():
            return True
        return any(each in self._failed for each in (path, *map(str, Path(path).parents)))

    def _take_batch(self, backlog: int, files: int, *, caught_up: bool) -> Batch:
        """The batch so far with the positions that belong to it; begins a new one."""
        batch, self._batch = self._batch, Batch()
        for path, state in self._read.items():
            self._states[path] = state.copy()
            saved = msgspec.msgpack.encode(state)
            if self._saved.get(path) != saved:
                self._saved[path] = batch.positions[path] = saved
        self._read = dict(list(self._read.items())[-1:])  # the file that is being read
        batch.backlog_bytes, batch.backlog_files = backlog, files
        batch.caught_up = caught_up
        return batch


def _is_gone(path: str) -> bool:
    try:
        Path(path).stat()
    except OSError as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)
    return False
