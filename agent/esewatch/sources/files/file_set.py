"""The files of a source, and the set of them: new, grown, renamed, rewritten, compressed, gone."""

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from esefiles.base import names
from esewatch import packing
from esewatch.fold.channels.overlaps import input_of
from esewatch.model import Unreadable
from esewatch.sources.files.decoder import Decoder
from esewatch.sources.files.file_identity import (
    NO_HEAD,
    SAMPLE,
    Beginnings,
    FilePosition,
    Heads,
    digest,
    end_of,
    furthest,
    holds,
    is_unfinished,
    is_whole,
    samples_of,
    shared,
)
from esewatch.sources.files.file_search import (
    MAX_FILES,
    Seen,
    Stat,
    all_unreadable,
    look,
    open_known,
)
from esewatch.sources.files.raw_file import MovedError, RawFile, read_at
from esewatch.sources.files.record_times import FileTime
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

PORTION = 1000
"""Files that are compared without a sign of life."""

LEFT_BEHIND = "deleted or moved out of sight a minute ago and still written to: not read further"


def max_open(sources: int) -> int:
    """Files that each of so many sources may keep open within the limit of the process."""
    if sys.platform == "win32":
        return MAX_OPEN
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MAX_OPEN
    return max(1, min(MAX_OPEN, (limit - OTHERS_OPEN) // max(1, sources)))


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
        """The file with this `stat` is the one that was read."""
        self.waits = not position.offset
        """Not read yet: it may be a copy in the making."""
        self.first = now
        self.fresh = True
        """It is still to be compared with the others."""
        self.head = NO_HEAD
        """The size and the digest of the beginning that it was compared by."""
        self.end = b""
        """The digest of its end, as far as the look shows."""
        self.kin: dict[FollowedFile, int] = {}
        """Files that begin alike, and so many bytes of them."""
        self.detached: float | None = None
        """Since when no path leads to it; read through the open handle."""
        self.over = False
        """No path leads to it, and it was read to its end."""
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
        """It has another name than when it was first seen, and is no copy of what is there under
        that: its writer has left it."""
        first = self.position.path
        return self.path != first and all(kin.path != first for kin in self.kin)

    @property
    def offset(self) -> int:
        """So much of the content was read, here or in another file."""
        return self.text.known if self.text else self.position.offset

    @property
    def is_new(self) -> bool:
        """Nothing was read in it itself."""
        return self.text is None and self.position.offset == self.position.ahead

    @property
    def is_due(self) -> bool:
        """Something of it was not read yet, as far as the look shows."""
        if self.position.ended == self.stat or self.refused or not self.stat[0]:
            return False
        return self.compressed or not self.offset or self.offset < self.stat[0]

    def end_of(self, kin: "FollowedFile") -> int:
        """So much of the content was read in the other file."""
        return min(self.kin[kin], kin.offset)

    @property
    def unread(self) -> bool:
        """True if it never had text to decode."""
        return self.decoder is None and not self.position.context

    def note(self, new: Stat, now: float) -> None:
        if new != self.stat:
            self.stat, self.changed = new, now

    def know(self, end: int, samples: Sequence[bytes]) -> None:
        """The content up to `end`, with these samples, was read in another file."""
        head, tail = map(digest, samples)
        if self.text is not None:
            self.text.know(end, head, tail)
        else:
            self.position.ahead += end - self.position.offset
            self.position.offset, self.position.head, self.position.tail = end, head, tail

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
        self.copies: list[tuple[str, str]] = []
        """(path, path of another one that was read and has all that is in it)."""
        self.changes: dict[str, bytes | None] = {}
        """Positions to be committed that belong to no watched file."""
        self.touched: dict[str, FollowedFile] = {}
        """Files whose position is to be committed."""
        self.settle_seconds = settle_seconds
        self.max_open = max_open(1)
        self.last_try = False
        """A file that moves meanwhile is left for the next poll, and not searched again."""
        self.postponed = False
        """A file was left for the next poll."""
        self.clock = clock
        self._paths = list(paths)
        self._form = form
        self._restored: dict[str, FilePosition] = {}
        self._lost: dict[str, FilePosition] = {}
        self._last_lost = 0
        self._kept = REMEMBERED
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
                position = packing.unpack(value, FilePosition)
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
        """Find the files: new ones and the fate of the old ones. Raises MovedError when a
        file was renamed meanwhile, unless this is the last try; the result so far stays."""
        now, self.postponed = self.clock(), False
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
        for key, found in seen.items():
            if key not in self.files:
                self.files[key] = FollowedFile(found, _new(found.path, found.stat), now)
                self.files[key].known = True

    def compare(self, *, final: bool) -> Iterator[None]:
        """Decide how far each file was read in others: in those that are gone, and in those that
        are there and begin alike. All files, before any of them is read. Yields after each
        `PORTION`. Raises MovedError as `look` does."""
        due = [file for file in self.files.values() if file.known and file.is_due]
        fresh = sorted((file for file in due if file.fresh), key=lambda file: file.stat[0])
        for file in due:
            if file.kin and not file.fresh and (not file.done or file.done[0] != file.stat):
                self.look_into(file, partial(self._share, list(file.kin), file))
        if not fresh:
            return
        gone: Beginnings[tuple[str, FilePosition]] = Beginnings()
        for item in self._lost.items():
            gone.add(item[1].offset, item[1].head, item)
        there: Beginnings[FollowedFile] = Beginnings()
        # A program that copies a log continues to write to it, so that it is among the youngest.
        for file in sorted(self.files.values(), key=lambda file: -file.stat[1]):
            position = file.position
            if position.offset:
                there.add(position.offset, position.head, file)
            elif not (file.fresh and file.is_due):
                there.add(*file.head, file)
        now, patience = self.clock(), PATIENCE * self.settle_seconds
        for number, file in enumerate(fresh):
            since = now - file.changed, now - file.first
            quiet = final or since[0] >= self.settle_seconds or since[1] >= patience
            if quiet or not file.waits or file.stat[0] >= TINY:
                was_there = file.position.offset
                self.look_into(file, partial(self._place, gone, there, quiet, file))
                if not was_there:
                    there.add(*file.head, file)
            if number % PORTION == PORTION - 1:
                yield

    def pass_on(self, file: FollowedFile) -> None:
        """Note what was read of a file in those that begin alike."""
        for kin in file.kin:
            self._know(kin, file)

    def _know(self, file: FollowedFile, kin: FollowedFile) -> None:
        """Note in a file what was read of it in another, unless one of them was written anew since
        the look."""
        if (end := file.end_of(kin)) > file.offset:
            samples = self._samples(kin, end)
            if samples and samples == self._samples(file, end):
                file.know(end, samples)
                self.touched[file.key] = file
                if end == file.stat[0]:
                    self.copies.append((file.path, kin.path))

    def _samples(self, file: FollowedFile, end: int) -> list[bytes]:
        found: list[bytes] = []
        with suppress(OSError):
            if file.text is not None:
                return file.text.samples(end)
            self.look_into(file, lambda raw: found.extend(samples_of(raw, end)))
        return found

    def lose(self, file: FollowedFile) -> None:
        """Forget a file that is gone or rewritten; its position is kept for a while."""
        file.close()
        del self.files[file.key]
        self._leave(file)

    def _leave(self, file: FollowedFile) -> None:
        """Keep the position of a file that is gone: in one that has all that was read of it, or for
        itself."""
        self.touched.pop(file.key, None)
        self.changes[file.key] = None
        end = file.position.offset
        heirs = [kin for kin in file.kin if kin.end_of(file) == end == kin.offset]
        for heir in heirs:
            if heir.is_new:
                self._go_on(heir, file.position)
        if not heirs:
            self._remember(file.position)
        for kin in file.kin:
            del kin.kin[file]
            kin.fresh = True
        file.kin = {}

    def blind(self) -> str:
        """The reason why nothing can be read now; empty otherwise."""
        reading = (file for file in self.files.values() if file.text and file.detached is None)
        if any(file.path not in self.failed for file in reading):
            return ""
        return all_unreadable(self._there, self.failed, self.problems)

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

    def look_into(self, file: FollowedFile, act: Callable[[RawFile], None]) -> None:
        """Show `act` the content as far as the look goes; one that cannot be read is noted. Raises
        MovedError as `look` does."""
        text = file.text
        try:
            raw = text.raw if text else open_known(file.path, file.key)
            raw.limit = file.stat[0]
            try:
                act(raw)
            finally:
                if text is None:
                    raw.close()
        except MovedError:
            self.postpone(file)
        except OSError as error:
            self.fail(file.path, error, file.stat[1])

    def postpone(self, file: FollowedFile) -> None:
        """Leave a file that moved for the next look. Raises MovedError as `look` does."""
        file.known, self.postponed = False, True
        if not self.last_try:
            raise MovedError(file.path)

    def open(self, file: FollowedFile) -> TextFile:
        """The open file at its position. Raises OSError, MovedError."""
        if file.text is None:
            raw = open_known(file.path, file.key)
            try:
                file.text = self._form(raw, file.position)
            except (OSError, MovedError):
                raw.close()
                raise
            file.compressed = raw.compressed
        file.text.raw.limit, file.text.end = file.stat[0], file.end
        self._opened.pop(file.key, None)
        self._opened[file.key] = file
        return file.text

    def trim(self) -> None:
        """Close the least recently read files where too many are open."""
        for key, file in list(self._opened.items())[: -self.max_open or None]:
            if file.detached is None:
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
        if not Path(path).parent.is_dir():
            return False
        known = [*(file.position for file in self.files.values()), *self._lost.values()]
        return any(position.path == path for position in [*known, *self._restored.values()])

    def _revisit(self, file: FollowedFile, seen: Seen | None, now: float) -> None:
        if seen is not None:
            file.path, file.detached = seen.path, None
            new = seen.stat
        elif file.text is not None:
            file.detached = now if file.detached is None else file.detached
            if now - file.detached >= PATIENCE * self.settle_seconds:
                self.trouble(file.path, LEFT_BEHIND, -1)
                self.lose(file)
                return
            state = file.text.raw.stat()
            new = (state.st_size, state.st_mtime_ns)
            if file.over and file.stat == new:
                self.lose(file)
                return
        else:
            self.lose(file)
            return
        if file.known and new == file.stat:
            return
        file.known = False
        try:
            holds_on = file.position.ended == new or self._holds(file, new)
        except MovedError:
            self.postpone(file)
            return
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
        position, (size, head) = file.snapshot(), file.head
        raw = file.text.raw if file.text else open_known(file.path, file.key)
        raw.limit = new[0]
        try:
            file.end = end_of(raw, new[0])
            return holds(raw, position) and digest(read_at(raw, 0, size)) == head
        finally:
            if file.text is None:
                raw.close()

    def _begin_anew(self, file: FollowedFile) -> None:
        """A file was rewritten and then deleted; only the open handle leads to it."""
        assert file.text is not None
        file.snapshot()
        self._leave(file)
        file.position = _new(file.path, file.stat)
        file.text = self._form(file.text.raw, file.position)
        file.decoder = file.done = None
        file.refused, file.head = "", NO_HEAD
        file.fresh = True

    def _remember(self, position: FilePosition) -> None:
        if not position.offset:
            return
        self._last_lost += 1
        position.gone = self._last_lost
        key = f"gone:{position.gone}"
        self._lost[key] = position
        self.changes[key] = packing.pack(position)
        if len(self._lost) > self._kept:
            oldest = next(iter(self._lost))
            del self._lost[oldest]
            self.changes[oldest] = None

    def _share(self, others: Iterable[FollowedFile], file: FollowedFile, raw: RawFile) -> None:

        def compare(content: RawFile) -> None:
            if end := shared((raw, file.position), (content, other.position)):
                file.kin[other] = other.kin[file] = end
                self._know(file, other)
                self._know(other, file)
            else:
                file.kin.pop(other, None)
                other.kin.pop(file, None)

        for other in others:
            self.look_into(other, compare)
            file.known = file.known and other.known  # it may have what the other one has

    def _place(
        self,
        gone: Beginnings[tuple[str, FilePosition]],
        there: Beginnings[FollowedFile],
        quiet: bool,
        file: FollowedFile,
        raw: RawFile,
    ) -> None:
        """Find how far a file was read in others, unless it may be a copy in the making."""
        once = not file.head[0]
        heads = Heads(read_at(raw, 0, SAMPLE))
        past = [item for item in gone.like(heads) if item[0] in self._lost]
        alike = [each for each in islice(there.like(heads), ALIKE) if each is not file]
        file.head = len(heads.start), heads[len(heads.start)]
        file.end = file.end or end_of(raw, file.stat[0])
        hasty = file.waits and not quiet
        if hasty and raw.compressed:
            if not (once and (past or alike) and is_whole(raw)):
                return
            file.read_at = -math.inf  # at once: it may be gone at the next look
        here: list[tuple[FilePosition, str | FollowedFile]]
        here = [(position, key) for key, position in past]
        here += [(each.position, each) for each in alike]
        owner = furthest(raw, [each for each in here if each[0].offset > file.offset])
        if isinstance(owner, str):
            self._go_on(file, self._lost.pop(owner))
            self.changes[owner] = None
        elif owner is not None:
            self._go_on(file, owner.position)
        self._share(alike, file, raw)
        if not file.known:
            return
        common = owner is not None or max(file.kin.values(), default=0) >= file.stat[0]
        if common or not hasty or not is_unfinished(raw, [position for _, position in past]):
            file.waits = file.fresh = False

    def _go_on(self, file: FollowedFile, position: FilePosition) -> None:
        """A file goes on where another one was read to. Raises OSError."""
        mine, is_new = file.snapshot(), file.is_new
        file.position = replace(position, gone=0, ended=(0, 0))
        if not is_new:
            file.position.path, file.position.input = mine.path, mine.input
        if file.text is not None:
            file.text, file.decoder = self._form(file.text.raw, file.position), None
        self.touched[file.key] = file


def _new(path: str, stat: Stat) -> FilePosition:
    return FilePosition(path=path, input=input_of(f"{path} {stat}"))
