"""A passive copy's file: seeded from the active one, and brought on log by log.

A closed log is shipped whole and is durable before it is replayed, so a page may be written at
any time. After a crash all logs from the checkpoint on are redone by the rules of recovery.py.
A write may have been torn by it. So the checkpoint stays where the log has each page that may
still change as a whole before its pieces: the active copy's checkpoint tells (see Horizon).
"""

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, NamedTuple

import msgspec

from esefiles.logs.log_header import LogHeader, parse_log_header
from esefiles.pages.header import HEADER_BYTES
from esefiles.pages.layout import HEADER_PAGES
from eselab.base.trouble import Trouble, Watcher
from eselab.disk.disk import Disk
from eselab.storage.cache import Cache
from eselab.storage.database_header import CLEAN, DIRTY, DatabaseHeader, read_header
from eselab.storage.pages import Checked, PageFile
from eselab.storage.transaction_log.change import PageChange
from eselab.storage.transaction_log.checkpoint import Checkpoint
from eselab.storage.transaction_log.header_bytes import epoch
from eselab.storage.transaction_log.log import (
    LogError,
    begin_of,
    closed_records,
    generation_of,
    kept,
    log_name,
)
from eselab.storage.transaction_log.recovery import RecoveryError, Redo

_CHUNK: Final = 1 << 20


def seed(source: Disk, target: Disk, name: str, header: DatabaseHeader, position: int) -> None:
    """Make a copy of an active database whose pages are all on disk, durable.

    `header` is that of the active one now, `position` where its log goes on. Nothing is to be
    redone: the copy's file alone has everything, and its checkpoint is at `position`.
    """
    kept_in, made = source.open(name), target.open(name, create=True)
    at = HEADER_PAGES * header.page_size
    while data := kept_in.read(at, _CHUNK):
        made.write(at, data)
        at += len(data)
    page = msgspec.structs.replace(
        header, state=CLEAN, log_required=(0, 0), last_required_created=0.0, log_committed=0
    ).page()
    for number in range(HEADER_PAGES):
        made.write(number * header.page_size, page)
    made.sync()
    for file in (kept_in, made):
        file.close()
    Checkpoint.create(
        target, signature=header.signature, began=header.created,
        position=position, dbtime=header.dbtime,
    )  # fmt: skip
    target.sync()


class Shipped(NamedTuple):
    """A log that was shipped: its bytes, and when it was begun (epoch seconds)."""

    bytes: int
    created: float


def ship(source: Disk, target: Disk, generation: int) -> Shipped:
    """Copy a closed log, durably. Raises FileNotFoundError."""
    there = source.open(log_name(generation))
    data = there.read(0, there.size())
    there.close()
    made = target.open(log_name(generation), create=True)
    made.truncate(0)
    made.write(0, data)
    made.sync()
    made.close()
    target.sync()
    header = parse_log_header(data)
    created = epoch(header.created) if isinstance(header, LogHeader) else 0.0
    return Shipped(len(data), created)


class Horizon:
    """From where on the log has each page as a whole that the logs to come have pieces of.

    The active copy logs a page as a whole when it changes for the first time since it was written,
    and its checkpoint is before that. So where its checkpoint was while it wrote what was
    replayed, or before, all is behind that the logs to come need.
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[int, int]] = deque()

    def note(self, checkpoint: int, end: int) -> None:
        """The active copy's checkpoint is there now, and its log ends there."""
        self._seen.append((checkpoint, end))

    def limit(self, following: int) -> int | None:
        """Limit of a checkpoint when all before `following` is replayed; None: not known."""
        while len(self._seen) > 1 and self._seen[1][1] <= following:
            self._seen.popleft()
        checkpoint, end = self._seen[0]
        return checkpoint if end <= following else None


class LogReplay:
    """The file of one copy with the logs that were shipped to it."""

    def __init__(
        self,
        disk: Disk,
        header: DatabaseHeader,
        file: PageFile,
        checkpoint: Checkpoint,
        *,
        cache_pages: int,
        watcher: Watcher,
        time: Callable[[], float],
    ) -> None:
        """`time`: epoch seconds, for what the header says of bad pages."""
        self.header = header
        self.next = generation_of(checkpoint.position)
        """The generation to be replayed next."""
        self.shipped = 0
        """The last one that is there."""
        self._shipped_created = 0.0
        """Time at which that was begun; 0: it was there before, and no header says so."""
        self._disk = disk
        self._file = file
        self._checkpoint = checkpoint
        self._watcher = watcher
        self._time = time
        self._log = _Replayed()
        self._cache = Cache(file, self._log, cache_pages)
        self._pages = _Pages(file, self._cache)
        self._redo = Redo(self._pages, header.page_size, checkpoint.position)
        self._there = file.pages()
        self._dbtime = max(header.dbtime, checkpoint.dbtime)
        self._needed = checkpoint.position

    @classmethod
    def open(
        cls, disk: Disk, name: str, *, cache_pages: int, watcher: Watcher, time: Callable[[], float]
    ) -> "LogReplay":
        """The copy that is there, as far as its checkpoint says.

        A log that was cut off when it was shipped is deleted. Raises FileNotFoundError,
        HeaderError, CheckpointError, LogError; then no file stays open.
        """
        with ExitStack() as opened:
            raw = disk.open(name)
            opened.callback(raw.close)
            header = read_header(raw.read(0, HEADER_BYTES))
            checkpoint = Checkpoint.open(disk, signature=header.signature, began=header.created)
            file = PageFile(raw, header.page_size)
            made = cls(
                disk, header, file, checkpoint, cache_pages=cache_pages, watcher=watcher, time=time
            )  # fmt: skip
            made._find_logs()
            opened.pop_all()
        return made

    @property
    def page_size(self) -> int:
        return self.header.page_size

    @property
    def pages(self) -> int:
        """Number of pages of the file now: they are 1 to this one."""
        return self._file.pages()

    @property
    def cache_bytes(self) -> int:
        """Bytes of the pages that are in memory now."""
        return self._cache.pages * self.header.page_size

    @property
    def checkpoint_depth(self) -> int:
        """Generations between the checkpoint and the next one to be replayed."""
        return self.next - generation_of(self._checkpoint.position)

    @property
    def waiting(self) -> int:
        """Logs that are there and not replayed."""
        return max(0, self.shipped + 1 - self.next)

    def arrived(self, shipped: Shipped) -> None:
        """The next log is there."""
        self.shipped += 1
        self._shipped_created = shipped.created

    def begin(self) -> None:
        """Let the header say that the file changes, and which logs it needs.

        Only then are logs deleted that were needed before the last `rest`: they are in the
        header until now, and what is copied meanwhile can be replayed from them on.
        """
        header, checkpoint = self.header, self._checkpoint
        required = generation_of(checkpoint.position), self.shipped
        if (header.state, header.log_required) != (DIRTY, required):
            header.state, header.log_required = DIRTY, required
            header.last_required_created = self._shipped_created
            header.log_committed = self.shipped
            header.dbtime = self._dbtime
            self._file.write_headers(header.written())
        if checkpoint.shown != checkpoint.position:
            checkpoint.write(checkpoint.position, checkpoint.dbtime)
            for generation in kept(self._disk):
                if generation < required[0]:
                    self._disk.remove(log_name(generation))

    def log(self) -> int:
        """Replay the next log, which is there; its generation.

        Raises LogError, FileNotFoundError.
        """
        generation, redo = self.next, self._redo
        for after, record in closed_records(
            self._disk, generation, redo.end, signature=self.header.signature
        ):
            redo.take(after, record)
        redo.end = self._log.durable = max(redo.end, begin_of(generation))
        self._there, self._dbtime = max(self._there, redo.pages), max(self._dbtime, redo.dbtime)
        self.next = generation + 1
        return generation

    def rest(self, *, depth: int, limit: int | None) -> None:
        """All logs that are there are replayed: write pages, set the checkpoint.

        Pages are written where more than `depth` bytes of log would be redone for them, down
        to half of it. The checkpoint is not set beyond `limit` (see Horizon); None: it stays.
        Raises LogError where a page lacks a change.
        """
        self._judge()
        self._file.make_room(self._there)
        position = self._redo.end
        if position - self._needed > depth:
            self._needed = self._cache.write_back(position - depth // 2)
        checkpoint = self._checkpoint
        safe = checkpoint.position if limit is None else min(self._needed, limit)
        if safe > checkpoint.position:
            checkpoint.write(safe, self._dbtime, shown=checkpoint.shown)

    def check_pages(self, first: int, count: int, *, keep: bool = False) -> Checked:
        """Read pages from disk, at once and past the cache, and verify each; bad ones are reported.

        Not before the logs that were there when it was opened are replayed and all pages written:
        a crash may have torn a page that a log has whole.
        """
        there = max(0, min(count, self.pages + 1 - first))
        checked = self._file.check(first, there, keep=keep)
        for trouble in checked.troubles:
            self._tell(trouble)
        return checked

    def keep_scan(self, *, finished: float, started: float, page: int) -> None:
        """Let the header say, durably, how far a scan is. Raises OSError."""
        header = self.header
        header.scan_finished, header.scan_started = finished, started
        header.scan_page = page
        self._file.write_headers(header.written())

    def flush(self) -> None:
        """Do nothing: all that is kept here is durable at once (see MaintainedPages)."""

    def drop_cache(self) -> None:
        """Let go of all pages, which `rest` with no depth wrote."""
        self._cache.clear()

    def close(self) -> None:
        """Let go of the file; what it lacks is redone from the checkpoint on."""
        self._file.close()

    def _find_logs(self) -> None:
        there = kept(self._disk)
        if there and not self._is_closed(there[-1]):
            self._disk.remove(log_name(there.pop()))
        self.shipped = max(there, default=self.next - 1)
        if self.header.log_required[1] == self.shipped:
            self._shipped_created = self.header.last_required_created

    def _is_closed(self, generation: int) -> bool:
        try:
            for _ in closed_records(self._disk, generation, 0, signature=self.header.signature):
                pass
        except LogError:
            return False
        return True

    def _judge(self) -> None:
        """Report the bad pages that were met. Raises LogError where the log lacks one."""
        try:
            troubles = self._redo.finish()
        except RecoveryError as error:
            for trouble in error.troubles:
                self._tell(trouble)
            raise LogError(f"a log cannot be replayed: {error}") from error
        for trouble in troubles:
            self._tell(trouble)
        self._pages.troubles.clear()

    def _tell(self, trouble: Trouble) -> None:
        if self.header.count(trouble, self._time()):
            self._file.write_headers(self.header.written())
        self._watcher.page_error(trouble)


class _Replayed:
    """The logs as the cache asks for them: they were durable before they were replayed."""

    durable = 0

    def flush(self) -> None:
        """See WriteAhead."""


class _Pages:
    """The pages of the copy, through its cache (see recovery.Pages)."""

    def __init__(self, file: PageFile, cache: Cache) -> None:
        self.troubles: dict[int, Trouble] = {}
        self._file = file
        self._cache = cache

    def content(self, number: int) -> bytes | None:
        """Content of the page; blank behind the end of the file."""
        if not self._cache.has(number) and number > self._file.pages():
            return bytes(self._file.page_size)
        content, trouble = self._cache.examine(number)
        if trouble is not None:
            self.troubles[number] = trouble
        return content

    def change(self, page: PageChange, before: int, after: int) -> None:
        """Make a change in memory."""
        if page.image is not None:
            self.troubles.pop(page.number, None)
            content = b""
        else:
            known = self.content(page.number)
            assert known is not None
            content = known
        self._cache.put([(page.number, page.applied_to(content))], before, after)
