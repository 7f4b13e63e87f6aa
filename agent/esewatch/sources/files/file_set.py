"""The files of a source, and the set of them: new, grown, renamed, rewritten, compressed, gone."""

import os
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

import msgspec

from esewatch import names
from esewatch.fold.channels.overlaps import input_of
from esewatch.model import Unreadable
from esewatch.sources.files.decoder import Decoder
from esewatch.sources.files.file_identity import (
    SAMPLE,
    Beginnings,
    FilePosition,
    best_match,
    holds,
    same_so_far,
)
from esewatch.sources.files.file_search import (
    MAX_FILES,
    Seen,
    Stat,
    all_unreadable,
    look,
    open_known,
)
from esewatch.sources.files.file_time import FileTime
from esewatch.sources.files.raw_file import RawFile, read_at
from esewatch.sources.files.text_file import TextFile

if sys.platform != "win32":
    import resource

REMEMBERED = 1000
"""Lost files whose position is kept at least, in case they come back under another name. As many
are kept as were there at once, which is bounded by MAX_FILES: all may vanish and come back."""

MAX_OPEN = 0 if os.name == "nt" else 200
"""Files kept open, so that one that was renamed to an unwatched name is read to its end. None on
Windows, where an open file could not be renamed by its writer."""

OTHERS_OPEN = 256
"""Open files that are left to all but the sources of texts: connections, journals, libraries."""

TINY = 4
"""A shorter file does not show its encoding yet."""

PATIENCE = 12
"""Times `settle_seconds` that a file which never stops growing is awaited."""

FIRST_BLOCK = 64 << 10

ALIKE = 64
"""Files that begin alike, such as with one header, that a new one is compared with."""


def max_open(sources: int) -> int:
    """Files that each of so many sources may keep open within the limit of the process."""
    if sys.platform == "win32":
        return MAX_OPEN
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MAX_OPEN
    return max(1, min(MAX_OPEN, (limit - OTHERS_OPEN) // max(1, sources)))


class WaitingFile(msgspec.Struct, gc=False):
    """A file found but not followed yet: it may be a copy in the making."""

    stat: Stat
    first: float
    changed: float


class FollowedFile:
    """One file that is followed: its position and its known state."""

    def __init__(self, seen: Seen, position: FilePosition, now: float) -> None:
        self.key = seen.key
        self.path = seen.path
        self.literal = seen.literal
        self.position = position
        self.stat: Stat = seen.stat
        self.changed = now
        """Last time at which it was seen to have changed (monotonic)."""
        self.text: TextFile | None = None
        self.decoder: Decoder | None = None
        self.known = False
        """The state of the file described by `stat` has been read."""
        self.detached = False
        """No longer found by any path; read through the open handle."""
        self.refused = ""
        """Reason why its format cannot be read."""
        self.done: tuple[Stat, int] | None = None
        """State in which it was read as far as possible."""
        self.read_at = now
        self.compressed = False
        self.order: float | None = None
        self.block = FIRST_BLOCK
        self.time = FileTime()

    @property
    def moved(self) -> bool:
        """It has another name than when it was first seen: its writer has left it."""
        return self.path != self.position.path

    @property
    def unread(self) -> bool:
        """True if it never had text to decode."""
        return self.decoder is None and not self.position.context

    def note(self, new: Stat, now: float) -> None:
        if new != self.stat:
            self.stat, self.changed = new, now

    def snapshot(self) -> FilePosition:
        if self.text is not None:
            self.text.mark(self.position)
        if self.decoder is not None:
            self.position.context = self.decoder.save()
        return self.position

    def close(self) -> None:
        """Close the file; reading can go on from the position."""
        self.snapshot()
        if self.text is not None:
            self.text.raw.close()
        self.text = self.decoder = None


class FileSet:
    """The files of one source. `look` brings it up to date."""

    def __init__(
        self,
        paths: Sequence[str],
        settle_seconds: float,
        clock: Callable[[], float],
        form: type[TextFile] = TextFile,
    ) -> None:
        self.files: dict[str, FollowedFile] = {}
        self.errors: list[str] = []
        """Faults of paths without glob characters."""
        self.failed: dict[str, str] = {}
        """Path -> reason for failures to list, open or read since the last search."""
        self.problems: list[Unreadable] = []
        self.changes: dict[str, bytes | None] = {}
        """Positions to be committed that belong to no watched file."""
        self.touched: dict[str, FollowedFile] = {}
        """Files whose position is to be committed."""
        self.settle_seconds = settle_seconds
        self.max_open = max_open(1)
        self.clock = clock
        self._paths = list(paths)
        self._form = form
        self.unmet: deque[Seen] = deque()
        """New files that are still to be followed, the oldest first."""
        self._detached: list[FollowedFile] = []
        self._beginnings: Beginnings[FollowedFile] | None = None
        """Beginnings of the files that were there before; made when it is needed."""
        self._restored: dict[str, FilePosition] = {}
        self._lost: dict[str, FilePosition] = {}
        self._last_lost = 0
        self._kept = REMEMBERED
        self._lost_beginnings: Beginnings[tuple[str, FilePosition]] | None = None
        """Beginnings of the lost files; made when it is needed."""
        self._waiting: dict[str, WaitingFile] = {}
        self._told: dict[str, int] = {}
        self._out_of_reach: dict[str, str] = {}
        """Path -> reason for files that the last search could not examine: logged once while it
        lasts."""
        self._there: list[str] = []
        self._opened: dict[str, FollowedFile] = {}

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """Restore stored positions. One that is not understood is reported and dropped."""
        for key, value in positions.items():
            try:
                position = names.unpack(value, FilePosition)
            except (msgspec.MsgspecError, UnicodeError):
                self.problems.append(
                    Unreadable(path=key, place="", reason="stored position is not understood")
                )
                self.changes[key] = None
                continue
            (self._lost if position.gone else self._restored)[key] = position
        self._lost = dict(sorted(self._lost.items(), key=lambda item: item[1].gone))
        self._last_lost = max((lost.gone for lost in self._lost.values()), default=0)
        self._kept = max(self._kept, len(self._lost))

    def look(self) -> None:
        """Find the files: new ones (`unmet`) and the fate of the old ones. Raises MovedError when a
        file was renamed meanwhile; the result so far stays."""
        now = self.clock()
        seen = self._scan()
        self._kept = max(self._kept, len(self.files) + len(self._restored))
        for key, position in self._restored.items():
            if found := seen.get(key):
                self.files[key] = FollowedFile(found, position, now)
            else:
                self.changes[key] = None
                self._remember(position)
        self._restored = {}
        for file in list(self.files.values()):
            self._revisit(file, seen.get(file.key), now)
        self._detached = [file for file in self.files.values() if file.detached]
        self._beginnings = None
        unknown = [found for key, found in seen.items() if key not in self.files]
        self.unmet = deque(sorted(unknown, key=lambda found: (found.stat[1], found.path)))
        self._waiting = {
            key: waiting
            for key, waiting in self._waiting.items()
            if key in seen and key not in self.files
        }

    def meet(self, most: int, *, final: bool) -> None:
        """Follow a number of the new files that `look` found. Raises MovedError as it does."""
        now = self.clock()
        for _ in range(min(most, len(self.unmet))):
            self._meet(self.unmet.popleft(), now, final=final)

    def lose(self, file: FollowedFile) -> None:
        """Forget a file that is gone or rewritten; its position is kept for a while."""
        file.close()
        del self.files[file.key]
        self.touched.pop(file.key, None)
        self.changes[file.key] = None
        self._remember(file.position)

    def blind(self) -> str:
        """`PATH: reason` when nothing can be read now; empty otherwise."""
        reading = (file for file in self.files.values() if file.text and not file.detached)
        if any(file.path not in self.failed for file in reading):
            return ""
        return all_unreadable(self._there, self.failed)

    def fail(self, path: str, error: OSError, mtime: int = 0) -> None:
        """Note and report a file that the system refuses to read."""
        self.failed[path] = names.reason_of(error)
        self.trouble(path, self.failed[path], mtime)

    def trouble(self, path: str, reason: str, mtime: int = 0) -> None:
        """Report a file that cannot be read, once for each state of the file."""
        if self._told.get(path) != mtime:
            self._told[path] = mtime
            if len(self._told) > MAX_FILES:
                del self._told[next(iter(self._told))]
            self.problems.append(Unreadable(path=path, place="", reason=reason))

    def open(self, file: FollowedFile) -> TextFile:
        """The open file at its position. Raises OSError, MovedError."""
        if file.text is None:
            raw = open_known(file.path, file.key)
            try:
                file.text = self._form(raw, file.position)
            except OSError:
                raw.close()
                raise
            file.compressed = raw.compressed
        self._opened.pop(file.key, None)
        self._opened[file.key] = file
        return file.text

    def trim(self) -> None:
        """Close the least recently read files where too many are open."""
        for key, file in list(self._opened.items())[: -self.max_open or None]:
            if not file.detached:
                file.close()
            if file.text is None:
                del self._opened[key]

    def close(self) -> None:
        for file in self.files.values():
            file.close()

    def _scan(self) -> dict[str, Seen]:
        known = set(self.files) | set(self._restored)

        def path_of(key: str) -> str | None:
            file = self.files.get(key)
            return file.path if file else None

        found = look(self._paths, path_of, known)
        self.errors = [
            f"{path}: not a regular file" if Path(path).exists() else f"{path}: no such file"
            for path in found.missing
            if Path(path).exists() or not self._may_be_moved(path)
        ]
        self._there = [seen.path for seen in found.seen.values()]
        out_of_reach = found.troubles | found.gone
        for path, reason in out_of_reach.items():
            if self._out_of_reach.get(path) != reason:
                self.problems.append(Unreadable(path=path, place="", reason=reason))
        self._out_of_reach = out_of_reach
        self.failed = dict(out_of_reach)
        return found.seen

    def _may_be_moved(self, path: str) -> bool:
        """True if it was there, and the folder still is, so that it may come again."""
        if not Path(path).parent.is_dir():
            return False
        known = [*(file.position for file in self.files.values()), *self._lost.values()]
        return any(position.path == path for position in [*known, *self._restored.values()])

    def _revisit(self, file: FollowedFile, seen: Seen | None, now: float) -> None:
        file.detached = seen is None
        if seen is not None:
            file.path = seen.path
            new = seen.stat
        elif file.text is not None:
            state = file.text.raw.stat()
            new = (state.st_size, state.st_mtime_ns)
        else:
            self.lose(file)
            return
        if file.known and new == file.stat:
            return
        file.known = False
        try:
            holds_on = file.position.ended == new or self._holds(file, new)
        except OSError as error:
            self.fail(file.path, error, new[1])
            return
        if not holds_on and seen is not None:
            self.lose(file)
            return
        if not holds_on:
            self._begin_anew(file)
        file.known = True
        file.note(new, now)

    def _holds(self, file: FollowedFile, new: Stat) -> bool:
        position = file.snapshot()
        raw = file.text.raw if file.text else open_known(file.path, file.key)
        try:
            if not raw.compressed and new[0] < position.offset:
                return False
            return holds(raw, position)
        finally:
            if file.text is None:
                raw.close()

    def _begin_anew(self, file: FollowedFile) -> None:
        """A file was rewritten and then deleted; only the open handle leads to it."""
        assert file.text is not None
        self._remember(file.snapshot())
        self.touched.pop(file.key, None)
        self.changes[file.key] = None
        file.position = _new(file.path, file.stat)
        file.text = self._form(file.text.raw, file.position)
        file.decoder = file.done = None
        file.refused = ""

    def _remember(self, position: FilePosition) -> None:
        if not position.offset:
            return
        self._last_lost += 1
        position.gone = self._last_lost
        key = f"gone:{position.gone}"
        self._lost[key] = position
        self._lost_beginnings = None
        self.changes[key] = names.pack(position)
        if len(self._lost) > self._kept:
            oldest = next(iter(self._lost))
            del self._lost[oldest]
            self.changes[oldest] = None

    def _meet(self, seen: Seen, now: float, *, final: bool) -> None:
        """Follow a new file, unless it may be a copy in the making."""
        if not seen.stat[0]:
            return
        waiting = self._waiting.setdefault(seen.key, WaitingFile(seen.stat, now, now))
        if waiting.stat != seen.stat:
            waiting.stat, waiting.changed = seen.stat, now
        quiet = (
            final
            or now - waiting.changed >= self.settle_seconds
            or now - waiting.first >= PATIENCE * self.settle_seconds
        )
        try:
            raw = open_known(seen.path, seen.key)
        except OSError as error:
            self.fail(seen.path, error, seen.stat[1])
            return
        try:
            if not quiet and (raw.compressed or seen.stat[0] < TINY):
                return
            owner, position = self._continued(raw, seen.stat[0])
            if position is None and not quiet and (self._is_copy(raw) or self._is_returning(raw)):
                return
        except OSError as error:
            self.fail(seen.path, error, seen.stat[1])
            return
        finally:
            raw.close()
        file = FollowedFile(seen, position or _new(seen.path, seen.stat), waiting.changed)
        file.known = True
        self.files[seen.key] = file
        if position is not None:
            self._hand_over(owner, file)

    def _continued(self, raw: RawFile, size: int) -> tuple[str, FilePosition | None]:
        """Key and position of the lost or vanished file that `raw` holds; None if none."""
        for file in self._vanished():
            if not file.position.offset and file.text and same_so_far(file.text.raw, raw):
                return file.key, file.position
        candidates = self._gone_like(raw)
        if not raw.compressed:
            candidates = {key: item for key, item in candidates.items() if item.offset <= size}
        found = best_match(raw, list(candidates.values())) if candidates else None
        key = next((key for key, position in candidates.items() if position is found), "")
        return key, found

    def _is_returning(self, raw: RawFile) -> bool:
        """Is `raw` written less far than one that is gone and began alike was read? Some programs
        set aside the space of a copy first, as zeros."""
        offset = max((gone.offset for gone in self._gone_like(raw).values()), default=0)
        sample = min(offset, SAMPLE)
        tail = read_at(raw, offset - sample, sample)
        return len(tail) < sample or tail.endswith(b"\0\0")

    def _gone_like(self, raw: RawFile) -> dict[str, FilePosition]:
        """Positions in lost and vanished files that begin as `raw` does, by key."""
        start = read_at(raw, 0, SAMPLE)
        if self._lost_beginnings is None:
            self._lost_beginnings = Beginnings()
            for item in self._lost.items():
                self._lost_beginnings.add(item[1], item)
        vanished: Beginnings[tuple[str, FilePosition]] = Beginnings()
        for file in self._vanished():
            vanished.add(file.position, (file.key, file.position))
        lost = (item for item in self._lost_beginnings.like(start) if item[0] in self._lost)
        return dict(chain(lost, vanished.like(start)))

    def _vanished(self) -> list[FollowedFile]:
        """Files that no path leads to any more, with the positions as they are now."""
        vanished = [file for file in self._detached if file.key in self.files and file.text]
        for file in vanished:
            file.snapshot()
        return vanished

    def _hand_over(self, owner: str, file: FollowedFile) -> None:
        if owner in self.files:
            self.files.pop(owner).close()
            self.touched.pop(owner, None)
        self._lost.pop(owner, None)
        self.changes[owner] = None
        file.position = msgspec.structs.replace(file.position, gone=0, ended=(0, 0))
        self.touched[file.key] = file

    def _is_copy(self, raw: RawFile) -> bool:
        """Does all of `raw` stand in a file that is still there?"""
        if self._beginnings is None:
            self._beginnings = Beginnings()
            for file in sorted(self.files.values(), key=lambda file: -file.stat[1]):
                if not file.detached:
                    self._beginnings.add(file.snapshot(), file)
        # A program that copies a log continues to write to it, so that it is among the youngest.
        for file in islice(self._beginnings.like(read_at(raw, 0, SAMPLE)), ALIKE):
            if file.key not in self.files:
                continue
            known = file.text.raw if file.text else open_known(file.path, file.key)
            try:
                if same_so_far(raw, known):
                    return True
            finally:
                if file.text is None:
                    known.close()
        return False


def _new(path: str, stat: Stat) -> FilePosition:
    return FilePosition(path=path, input=input_of(f"{path} {stat}"))
