"""Windows event logs (.evtx): live, growing, archived, damaged, gzip-compressed.

A log consists of chunks of 64 KiB, each with checksums over its header and its
records. Only chunks that changed are read; one that is damaged costs only itself.
"""

import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from os import name as os_name
from os import stat_result
from pathlib import Path
from typing import Final

import msgspec

from esefiles.base.globs import barring
from esefiles.base.names import reason_of
from esewatch.config import LogFiles, Settings
from esewatch.model import Batch, FileTold, Heard, Record, SourceError, Unreadable
from esewatch.sources.evtx import chunks
from esewatch.sources.evtx.evtx_records import ChunkDecoder
from esewatch.sources.files.file_search import Room, all_unreadable, listed
from esewatch.sources.files.raw_file import RawFile, open_raw, read_at
from esewatch.sources.files.record_times import AHEAD_SECONDS, FileTime
from esewatch.sources.kind import USUAL_OPTIONS, EventOptions, RecordSelection

_UNKNOWN: Final = bytes(chunks.DIGEST_BYTES)
_EMPTY: Final = chunks.digest_of(bytes(chunks.CHUNK_BYTES))
_SETTLED_SECONDS: Final = 2.0
"""Coarsest resolution of modification times (FAT)."""
_CLOCK_AHEAD_SECONDS: Final = 3600.0
"""A modification time farther in the future says nothing about the clock of the file's writer."""
_PROBED: Final = 16
"""Chunks checked to tell whether a file without file header is an event log."""

Key = tuple[int, int, int, int]
"""Device, inode, size and modification time (ns) of a file."""


class Tail(msgspec.Struct, array_like=True, frozen=True):
    """Position in the chunk that grows: a prefix with this checksum was handed out."""

    number: int
    end: int
    crc: int
    last: int
    """Id of the last record handed out."""


class EvtxFileState(msgspec.Struct, array_like=True):
    key: Key | None = None
    """The file when last read; its time is -1 when something is left to read."""
    digests: bytearray = msgspec.field(default_factory=bytearray)
    """Fingerprints of the chunks, 6 bytes each, zeroes where the chunk is to be read."""
    tail: Tail | None = None

    def copy(self) -> "EvtxFileState":
        return EvtxFileState(self.key, bytearray(self.digests), self.tail)

    def known(self, number: int) -> bytes:
        at = number * chunks.DIGEST_BYTES
        return bytes(self.digests[at : at + chunks.DIGEST_BYTES]).ljust(chunks.DIGEST_BYTES, b"\0")

    def learn(self, number: int, value: bytes) -> None:
        at = number * chunks.DIGEST_BYTES
        self.digests.extend(bytes(max(0, at + chunks.DIGEST_BYTES - len(self.digests))))
        self.digests[at : at + chunks.DIGEST_BYTES] = value


class ReadingPlan(msgspec.Struct):
    """The parts of a file to read."""

    path: str
    key: Key
    numbers: list[int] = []
    """Of the chunks, oldest first."""
    compressed: bool = False
    dirty: bool = False
    problem: Unreadable | None = None
    """The fault of the file as such; without a place nothing of it can be read."""
    settled: bool = True
    """The modification time is old enough to show the next change."""

    @property
    def size(self) -> int:
        return self.key[2] if self.compressed else len(self.numbers) * chunks.CHUNK_BYTES


class EvtxStep(msgspec.Struct):
    records: list[Record] = []
    heard: list[Heard] = []
    unreadable: list[Unreadable] = []
    bytes_read: int = 0


def key_of(stat: stat_result) -> Key:
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


def plan(path: str, state: EvtxFileState) -> ReadingPlan:
    """Find the parts of the file that are new against `state`. Raises OSError."""
    raw = open_raw(path)
    try:
        stat = raw.stat()
        age = time.time() - stat.st_mtime
        # A later write gives another modification time; Windows does not keep that of an open log.
        settled = os_name != "nt" and not -_CLOCK_AHEAD_SECONDS <= age <= _SETTLED_SECONDS
        found = ReadingPlan(path, key_of(stat), compressed=raw.compressed, settled=settled)
        header = read_at(raw, 0, chunks.FILE_HEADER_BYTES)
        found.problem = _header_problem(path, raw, header)
        if found.problem is None and stat.st_size > (end := chunks.chunk_offset(chunks.MAX_CHUNKS)):
            reason = f"the rest is left out: an event log has at most {chunks.MAX_CHUNKS} chunks"
            found.problem = Unreadable(path=path, place=f"offset {end}", reason=reason)
        if found.problem is not None and not found.problem.place:
            return found
        known = chunks.file_header(header)
        found.dirty = known is not None and known.dirty
        if raw.compressed:
            return found
        count = chunks.chunk_count(stat.st_size)
        first = known.first_chunk if known is not None and known.first_chunk < count else 0
        order = (*range(first, count), *range(first))
        found.numbers = [n for n in order if _changed(raw, n, stat.st_size, state)]
    finally:
        raw.close()
    return found


def _header_problem(path: str, raw: RawFile, header: bytes) -> Unreadable | None:
    if chunks.file_header(header) is not None:
        return None
    if not header:
        return Unreadable(path=path, place="", reason=raw.damage or "the file is empty")
    probes = (
        read_at(raw, chunks.chunk_offset(number), len(chunks.CHUNK_MAGIC))
        for number in range(_PROBED)
    )
    if chunks.CHUNK_MAGIC not in probes:
        return Unreadable(path=path, place="", reason="not a Windows event log (.evtx)")
    return Unreadable(path=path, place="file header", reason="the file header is damaged")


def _changed(raw: RawFile, number: int, size: int, state: EvtxFileState) -> bool:
    known = state.known(number)
    if known == _UNKNOWN:
        return True
    start = chunks.chunk_offset(number)
    header = read_at(raw, start, chunks.CHUNK_HEADER_BYTES)
    frame = read_at(raw, start + chunks.frame_offset(header), chunks.FRAME_BYTES)
    if chunks.digest(header, frame, min(chunks.CHUNK_BYTES, size - start)) == known:
        return False
    return chunks.digest_of_damaged(read_at(raw, start, chunks.CHUNK_BYTES)) != known


class FileReader:
    """Reads the planned chunks of one file, one `Step` each. `state` is updated chunk by chunk.
    `deferred` holds the chunks of this file that were found damaged in the poll before: a chunk of
    an open log may be caught half written, so damage is believed the second time only."""

    def __init__(
        self, what: ReadingPlan, state: EvtxFileState, deferred: set[int], decoder: ChunkDecoder
    ) -> None:
        self.state = state
        self._plan = what
        self._deferred = deferred
        self._decoder = decoder
        self._empty: list[int] = []
        self._left = False

    def steps(self, *, final: bool) -> Iterator[EvtxStep]:
        """Read chunk after chunk. Raises OSError when the file cannot be opened."""
        raw = open_raw(self._plan.path)
        self.state.key = (*self._plan.key[:3], -1)
        try:
            if self._plan.compressed:
                yield from self._compressed(raw)
                return
            del self.state.digests[chunks.chunk_count(self._plan.key[2]) * chunks.DIGEST_BYTES :]
            for number in self._plan.numbers:
                yield self._step(raw, number, final=final)
        finally:
            raw.close()
        yield EvtxStep(unreadable=self._zeroed())
        if self._plan.settled and not self._left:
            self.state.key = self._plan.key

    def _step(self, raw: RawFile, number: int, *, final: bool) -> EvtxStep:
        start = chunks.chunk_offset(number)
        try:
            data = read_at(raw, start, chunks.CHUNK_BYTES)
            chunk = chunks.examine(data)
            if chunk is not None and chunk.problem:
                data = read_at(raw, start, chunks.CHUNK_BYTES)
                chunk = chunks.examine(data)
        except OSError as error:
            return self._failed(number, error)
        doubtful = chunk is not None and chunk.problem and self._plan.dirty and not final
        if doubtful and number not in self._deferred:
            self._deferred.add(number)
            self._left = True
            return EvtxStep(bytes_read=chunks.CHUNK_BYTES)
        self._deferred.discard(number)
        if chunk is None:
            if self.state.known(number) != _EMPTY:
                self._empty.append(number)
            self.state.learn(number, _EMPTY)
            return EvtxStep(bytes_read=chunks.CHUNK_BYTES)
        step = self._take(number, chunk)
        if chunk.problem:
            known = chunks.digest_of_damaged(data)
        else:
            known = _UNKNOWN if chunks.may_grow_unseen(data) else chunks.digest_of(data)
        self.state.learn(number, known)
        return step

    def _failed(self, number: int, error: OSError) -> EvtxStep:
        """The medium does not give the chunk: logged once, retried at every poll."""
        self._left = True
        step = EvtxStep(bytes_read=chunks.CHUNK_BYTES)
        if number not in self._deferred:
            self._deferred.add(number)
            step.unreadable.append(self._at(number, error.strerror or str(error)))
        return step

    def _take(self, number: int, chunk: chunks.Chunk) -> EvtxStep:
        decoded = self._decoder.decode(chunk, after=self._handed_out(number, chunk))
        step = EvtxStep([*decoded.events], decoded.heard, bytes_read=chunks.CHUNK_BYTES)
        if decoded.coverage is not None:
            step.records.append(decoded.coverage)
        reasons = [chunk.problem] if chunk.problem else []
        if decoded.failed:
            reasons.append(f"{decoded.failed} records cannot be decoded: {decoded.reason}")
        if reasons:
            step.unreadable.append(self._at(number, "; ".join(reasons)))
        elif chunk.end > chunks.CHUNK_HEADER_BYTES:
            self.state.tail = Tail(number, chunk.end, chunk.crc, chunk.last)
        return step

    def _handed_out(self, number: int, chunk: chunks.Chunk) -> int:
        """Id of the last record of this chunk that was handed out before, -1 if unsure."""
        tail = self.state.tail
        if tail is None or tail.number != number or tail.end > chunk.end or chunk.problem:
            return -1
        same = zlib.crc32(chunk.data[chunks.CHUNK_HEADER_BYTES : tail.end]) == tail.crc
        return tail.last if same else -1

    def _zeroed(self) -> list[Unreadable]:
        """Chunks without any byte are room kept for later, unless used ones follow."""
        digests = self.state.digests
        used = 0
        for number in range(len(digests) // chunks.DIGEST_BYTES):
            if self.state.known(number) not in (_UNKNOWN, _EMPTY):
                used = number
        holes = [number for number in self._empty if number < used]
        return (
            [self._at(min(holes), f"{len(holes)} chunks are zeroed, first here")] if holes else []
        )

    def _at(self, number: int, reason: str) -> Unreadable:
        return Unreadable(path=self._plan.path, place=f"chunk {number}", reason=reason)

    def _compressed(self, raw: RawFile) -> Iterator[EvtxStep]:
        """All chunks of a gzip file; its position is only whether it was read to the end."""
        read_at(raw, 0, chunks.FILE_HEADER_BYTES)
        before = raw.backlog()
        for number in range(chunks.MAX_CHUNKS):
            data = read_at(raw, chunks.chunk_offset(number), chunks.CHUNK_BYTES)
            chunk = chunks.examine(data) if data else None
            step = self._take(number, chunk) if chunk is not None else EvtxStep()
            left = raw.backlog()
            step.bytes_read, before = before - left, left
            if raw.damage:
                step.unreadable.append(self._at(number, raw.damage))
            yield step
            if len(data) < chunks.CHUNK_BYTES:
                break
        self.state.key = self._plan.key


_SIGNATURE: Final = b"ElfFile\0"
_BATCH_RECORDS: Final = 2000
_BATCH_BYTES: Final = 4 << 20


def open(entry: LogFiles, settings: Settings, wanted: RecordSelection) -> "EvtxSource":
    return EvtxSource(entry.name, entry.paths, EventOptions.of(entry, settings, wanted))


def recognise(head: bytes, stored: bytes) -> bool:
    return head.startswith(_SIGNATURE) or stored.startswith(_SIGNATURE)


class EvtxSource:
    """A source over event logs named by paths and globs. Implements `model.Source`. A position is
    kept for each file: its fingerprint, and one of 6 bytes for each of its chunks."""

    def __init__(
        self, name: str, paths: Sequence[str], options: EventOptions = USUAL_OPTIONS
    ) -> None:
        self.name = name
        self._patterns = tuple(paths)
        self._decoder = ChunkDecoder(options)
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
        and, unless `final`, when nothing that the paths lead to can be listed or opened."""
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
        try:
            key = key_of(Path(path).stat())
        except OSError:
            return 0
        known = self._states.get(path)
        if known is None or known.key is None:
            return key[2]
        return 0 if known.key == key else max(key[2] - known.key[2], 0)

    def _paths(self) -> tuple[list[str], list[str]]:
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
        self._failed[path] = reason
        if self._complaints.get(path) != reason:
            self._complaints[path] = reason
            self._batch.unreadable.append(Unreadable(path=path, place="", reason=reason))

    def _steps(
        self, found: ReadingPlan, state: EvtxFileState, *, final: bool
    ) -> Iterator[EvtxStep]:
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
