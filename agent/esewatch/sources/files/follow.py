"""Following text files: growth, rotation, compression and encodings, each line exactly once.

A file is known by its content before the position (see `file_identity`), so that it may be renamed,
copied and truncated, compressed or replaced between two polls or while the agent is down.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from esewatch import packing
from esewatch.fold.channels.overlaps import input_of
from esewatch.model import Batch, FileTold, Heard, Record, SourceError, Unreadable
from esewatch.sources.files.decoder import Decoder, DecoderFactory, OrderKey
from esewatch.sources.files.file_set import PATIENCE, FileSet, FollowedFile, max_open
from esewatch.sources.files.raw_file import MovedError, RawFile, open_raw, open_regular
from esewatch.sources.files.record_times import AHEAD_SECONDS
from esewatch.sources.files.text_file import BLOCK, LONGEST, Lines, TextFile

BATCH_RECORDS = 4000
BATCH_BYTES = 16 << 20
_SMALLEST_BLOCK = 4096
_TRIES = 10
"""Rounds of one poll, which begin again where a file was renamed meanwhile. The last one leaves
such files out: where some change at each look the others are read, perhaps not in their order."""

_LEFT = "left to another source"

GROWING, SETTLED, FINISHED = range(3)
"""The finality of the end of a file: none, of a record, of a half line too."""


def sniff(path: str) -> tuple[bytes, bytes]:
    """First 64 KiB of `path` (decompressed, as UTF-8) and its first 16 bytes as stored. Raises
    SourceError when it cannot be opened or is not a regular file."""
    try:
        raw = open_raw(path)
        try:
            head = TextFile.beginning(raw)
        finally:
            raw.close()
        with open_regular(path) as file:
            stored = file.read(16) or b""
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error
    return head, stored


class FollowedFiles:
    """A source over text files named by paths and globs. Implements `model.Source`.

    `factory` makes the decoder of a file from its beginning. `order` tells the time
    of a file's first record: files are read oldest first. A batch is handed out when it
    has `BATCH_RECORDS`. A file that has not grown for `settle_seconds` of `clock` makes a
    record without successor complete, unless it ends in half a line; half a line is a line
    when the file was renamed, deleted or compressed, and in a final poll. `form`: what
    takes the place of lines where the files are no text.
    """

    def __init__(
        self,
        name: str,
        paths: Sequence[str],
        factory: DecoderFactory,
        *,
        settle_seconds: float = 5.0,
        order: OrderKey | None = None,
        clock: Callable[[], float] = time.monotonic,
        form: type[TextFile] = TextFile,
    ) -> None:
        self.name = name
        self.is_of_another: Callable[[str, bytes], bool] = lambda _path, _head: False
        """Is a file, by its path and its beginning, one that another source reads?"""
        self._factory = factory
        self._order = order
        self._form = form
        self._set = FileSet(paths, settle_seconds, clock, form)
        self._records: list[Record] = []
        self._heard: list[Heard] = []
        self._told: dict[str, FileTold] = {}
        self._final = False
        self._unreadable: list[Unreadable] = []
        self._inputs: list[tuple[int, int]] = []
        self._remarks: dict[tuple[str, str], None] = {}
        self._bytes = 0

    def share_open_files(self, sources: int) -> None:
        """Keep so few files open that as many can be by each of so many sources."""
        self._set.max_open = max_open(sources)

    def restore(self, positions: Mapping[str, bytes]) -> None:
        self._set.restore(positions)

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        """Read the new content; see `model.Source.poll`. Raises SourceError behind the last batch
        when a path without glob characters names no file, or one whose format cannot be read, and,
        unless `final`, when nothing that the paths lead to can be listed or opened."""
        self._final = final
        for left in reversed(range(_TRIES)):
            self._set.last_try = not left
            try:
                yield from self._poll(final=final)
            except MovedError:
                # The next files may be younger than the one that just moved: restart the round.
                yield self._batch(0)
            else:
                return

    def _poll(self, *, final: bool) -> Iterator[Batch]:
        self._set.look()
        left: tuple[int, int] | None = None
        for _ in self._set.compare(final=final):
            left = left or _left(file for file in self._set.files.values() if file.is_due)
            yield self._batch(*left)  # so that nobody takes it for silent
        yield from self._round(final=final)
        errors = self._set.errors + [
            file.refused
            for file in self._set.files.values()
            if file.literal and file.refused and file.refused != _LEFT
        ]
        if not final and not errors and (blind := self._set.blind()):
            errors = [blind]
        yield self._batch(0, caught_up=not errors and not self._set.postponed)
        if errors:
            raise SourceError("; ".join(errors))

    def _round(self, *, final: bool) -> Iterator[Batch]:
        todo = [(file, level) for file in self._sorted() if (level := self._due(file, final))]
        waiting, files = _left(file for file, _ in todo)
        for file, level in todo:
            rest = _rest(file)
            waiting, files = waiting - rest, files - bool(rest)
            for _ in self._read(file, level - 1):
                self._set.pass_on(file)
                yield self._batch(waiting + _rest(file), files + 1)
            self._set.pass_on(file)

    def close(self) -> None:
        self._set.close()

    def _sorted(self) -> list[FollowedFile]:
        if self._order is not None:
            for file in self._set.files.values():
                if file.order is None and file.known and not file.waits:
                    file.order = self._first_time(file, self._order)

        def place(file: FollowedFile) -> tuple[float, int, str]:
            mtime = file.stat[1]
            return mtime / 1e9 if file.order is None else file.order, mtime, file.path

        return sorted(self._set.files.values(), key=place)

    def _first_time(self, file: FollowedFile, order: OrderKey) -> float | None:
        if file.position.ended == file.stat or (file.done and file.done[0] == file.stat):
            return None
        times: list[float | None] = []

        def read(raw: RawFile) -> None:
            with suppress(SourceError):
                times.append(order(file.path, self._form.beginning(raw)))

        self._set.look_into(file, read)
        return times[0] if times else None

    def _due(self, file: FollowedFile, final: bool) -> int:
        """1 + the finality of the end of the file; 0 when there is nothing to read."""
        now = self._set.clock()
        level = GROWING
        if final:
            level = FINISHED
        elif now - file.changed >= self._set.settle_seconds:
            level = (
                FINISHED if file.detached is not None or file.moved or file.compressed else SETTLED
            )
        if not file.known or file.waits or file.refused or file.done == (file.stat, level):
            return 0
        return 0 if file.position.ended == file.stat else 1 + level

    def _read(self, file: FollowedFile, level: int) -> Iterator[None]:
        """Read a file as far as it goes; yields where a batch should be handed out."""
        start = None
        try:
            text = self._set.open(file)
            start = text.offset
            patience = PATIENCE * self._set.settle_seconds
            if file.compressed and level < FINISHED and self._set.clock() - file.read_at < patience:
                return  # one that keeps growing is read again after a while
            if file.compressed or file.offset < file.stat[0]:
                text.refresh()
                yield from self._decode(file, text, level)
            self._finish(file, text, level)
        except MovedError:
            self._set.postpone(file)
        except OSError as error:
            self._set.fail(file.path, error, file.stat[1])
            if start is not None and text.offset > start:
                del self._set.failed[file.path]
        except SourceError as error:
            file.refused = str(error)
            file.close()
            if not file.literal and file.refused != _LEFT:
                self._set.trouble(file.path, file.refused, file.stat[1])
        self._set.trim()

    def _finish(self, file: FollowedFile, text: TextFile, level: int) -> None:
        file.done = (file.stat, level)
        file.read_at = self._set.clock()
        if file.compressed and level == FINISHED:
            file.position.ended = file.stat
            self._set.touched[file.key] = file
            if text.raw.damage:
                self._tell(file, f"offset {text.raw.position}", text.raw.damage)
            elif file.unread and text.only_zeros:
                self._tell(file, "line 1", f"nothing but zeros in {text.offset} bytes")
            file.close()
        file.over = file.detached is not None and level == FINISHED

    def _decode(self, file: FollowedFile, text: TextFile, level: int) -> Iterator[None]:
        want = _wanted(file, text)
        while True:
            before = text.offset
            text.fill(want)
            lines = text.lines(want, tail=level == FINISHED and not text.raw.damage)
            if lines.data or lines.too_long or (text.text and text.at_end and level >= SETTLED):
                file.decoder = file.decoder or self._decoder(file, text)
            if text.zeros and text.text:
                self._tell(file, f"line {text.line + 1}", f"{text.zeros} zero bytes")
                text.zeros = 0
            if lines.too_long:
                self._tell(file, f"line {text.line + 1}", "line longer than 8 MiB")
                text.skip_line()
            elif lines.data:
                self._feed(file, text, lines, level)
            self._bytes += text.offset - before
            if text.offset != before:
                self._set.touched[file.key] = file
                want = _wanted(file, text)
            elif not lines.last and not lines.cut_off and want < LONGEST:
                want = min(LONGEST, 2 * max(want, len(lines.data)))
            elif lines.data and (not lines.last or level == FINISHED):
                self._give_up(file, text, lines)
            else:
                return
            found = len(self._records) + len(self._unreadable)
            if found >= BATCH_RECORDS or self._bytes >= BATCH_BYTES:
                yield

    def _decoder(self, file: FollowedFile, text: TextFile) -> Decoder:
        head = text.first_text()
        if not file.position.context and self.is_of_another(file.path, head):
            raise SourceError(_LEFT)
        return self._factory(file.path, head, file.position.context)

    def _feed(self, file: FollowedFile, text: TextFile, lines: Lines, level: int) -> None:
        assert file.decoder is not None
        complete = lines.cut_off or (
            level >= SETTLED and lines.last and (lines.all or bool(text.raw.damage))
        )
        fed = file.decoder.feed(lines.data, final=complete)
        if text.known > text.offset and text.reaches(fed.consumed) <= text.known:
            text.take(fed.consumed)  # it was handed out when another file was read
            return
        records, heard = file.time.checked(fed.records, fed.heard, file.stat[1])
        if self._final:
            told = self._told.setdefault(file.path, FileTold(time.time() + AHEAD_SECONDS))
            told.note(records, heard)
        source = file.position.input or input_of(file.position.path)
        if records and (not self._inputs or self._inputs[-1][1] != source):
            self._inputs.append((len(self._records), source))
        self._records += records
        self._heard += heard
        self._remarks.update(dict.fromkeys((file.path, remark) for remark in fed.remarks))
        fed.unreadable.sort()
        places = text.places(lines.data, [offset for offset, _ in fed.unreadable])
        for place, (_, reason) in zip(places, fed.unreadable, strict=True):
            self._tell(file, place, reason)
        text.take(fed.consumed)
        found = len(fed.records) + len(fed.unreadable)
        if found > 2 * BATCH_RECORDS:
            file.block = max(_SMALLEST_BLOCK, fed.consumed * BATCH_RECORDS // found)
        elif found < BATCH_RECORDS // 2:
            file.block = min(BLOCK, 2 * file.block)

    def _give_up(self, file: FollowedFile, text: TextFile, lines: Lines) -> None:
        """Skip a record that never ends: it must not block those behind it."""
        reason = "record does not end" if lines.last else "record does not end within 8 MiB"
        (place,) = text.places(lines.data, [0])
        self._tell(file, place, reason)
        text.give_up(lines.data)
        self._set.touched[file.key] = file

    def _tell(self, file: FollowedFile, place: str, reason: str) -> None:
        self._unreadable.append(Unreadable(path=file.path, place=place, reason=reason))

    def _batch(self, backlog: int, files: int = 0, *, caught_up: bool = False) -> Batch:
        positions = self._set.changes
        touched = self._set.touched.values()
        for file in touched:
            positions[file.key] = packing.pack(file.snapshot())
        batch = Batch(
            records=self._records,
            heard=self._heard,
            files=self._told,
            unreadable=self._unreadable + self._set.problems,
            remarks=list(self._remarks),
            copies=self._set.copies,
            positions=positions,
            paths=[file.path for file in touched],
            backlog_bytes=backlog,
            backlog_files=files,
            caught_up=caught_up,
            inputs=self._inputs,
        )
        self._records, self._unreadable, self._inputs = [], [], []
        self._heard, self._told = [], {}
        self._remarks, self._bytes = {}, 0
        self._set.changes, self._set.touched = {}, {}
        self._set.problems, self._set.copies = [], []
        return batch


def _wanted(file: FollowedFile, text: TextFile) -> int:
    """Bytes to decode at once: so few that what was read in another file stands apart."""
    ahead = text.known - text.offset
    return min(file.block, max(1, ahead // 2)) if ahead else file.block


def _left(files: Iterable[FollowedFile]) -> tuple[int, int]:
    rests = [rest for file in files if (rest := _rest(file))]
    return sum(rests), len(rests)


def _rest(file: FollowedFile) -> int:
    if file.text is None:
        return max(0, file.stat[0] - file.offset)
    if file.text.raw.compressed:
        return file.text.raw.backlog()
    return max(0, file.text.raw.stat().st_size - file.offset)
