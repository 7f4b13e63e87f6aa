"""Pages with transactions: committed and flushed changes survive any crash, nothing else does.

Redo only. A transaction changes copies of pages; at commit the differences go to the log and
the copies become the pages of the cache, so no page of an open transaction is ever written
(no steal). A changed page is written after its log record is durable (write-ahead).
"""

import random
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType

import msgspec

from esefiles.pages.header import HEADER_BYTES
from eselab.base.trouble import Nobody, Trouble, Watcher
from eselab.disk.disk import Disk
from eselab.disk.file import File
from eselab.storage.cache import Cache, Frame
from eselab.storage.database_header import CLEAN, DIRTY, DatabaseHeader, read_header
from eselab.storage.flush_map import FlushMapFile
from eselab.storage.pages import Checked, PageFile, stamped
from eselab.storage.transaction_log.change import DBTIME, DBTIME_OFFSET, Change, difference, encode
from eselab.storage.transaction_log.checkpoint import Checkpoint
from eselab.storage.transaction_log.log import Log, begin_of, generation_of
from eselab.storage.transaction_log.recovery import RecoveryError, Redone, redo, refuse_missing


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    pages_read: int
    """From the disk."""
    pages_dirtied: int
    """Number of times that a clean page became a dirty one."""


class Store:
    """One database file with its log. One transaction at a time; `now` is epoch seconds.

    The header counts bad pages (DatabaseHeader.count) and has that at once on disk: they are
    rare, and what the watcher was told should not be missing there after a crash.
    """

    def __init__(
        self,
        header: DatabaseHeader,
        file: PageFile,
        log: Log,
        checkpoint: Checkpoint,
        *,
        cache: Cache,
        flush_file: FlushMapFile,
        watcher: Watcher,
        now: float,
    ) -> None:
        self.header = header
        self.page_size = header.page_size
        self.pages = file.pages()
        """Number of pages of the database: they are 1 to this one."""
        self.recovered = False
        """True if it was not shut down before this opening: the log was redone."""
        self.time: Callable[[], float] = lambda: now
        """Epoch seconds, for what the header says of bad pages; `now` until it is set."""
        self.hold: Callable[[], int] | None = None
        """The first generation of the log that somebody else still needs, where there is one."""
        self.counts_deleted = False
        """True if each leaf counts the records that are deleted from it, for a scan that zeroes."""
        self._file = file
        self._log = log
        self._checkpoint = checkpoint
        self._cache = cache
        self._flush_file = flush_file
        self._watcher = watcher
        self._open: Transaction | None = None
        log.time = self._now
        cache.require = self._require
        file.tell = self._tell_one

    @classmethod
    def create(
        cls,
        disk: Disk,
        name: str,
        *,
        page_size: int,
        cache_pages: int,
        now: float,
        chance: random.Random,
        watcher: Watcher | None = None,
    ) -> "Store":
        """A new, empty database."""
        signature = chance.randrange(1, 1 << 32)
        log = Log.create(disk, signature=signature, began=now, now=now, page_size=page_size)
        checkpoint = Checkpoint.create(disk, signature=signature, began=now, position=log.position)
        generation = generation_of(log.position)
        header = DatabaseHeader(
            page_size=page_size, signature=signature, created=now, attach=now,
            attach_position=log.position, log_required=(generation, generation),
            last_required_created=log.created, log_committed=generation,
        )  # fmt: skip
        flush_file = FlushMapFile.create(disk, name)
        file = PageFile(disk.open(name, create=True), page_size)
        file.write_headers(header.written())
        disk.sync()
        return cls(
            header, file, log, checkpoint, cache=Cache(file, log, cache_pages),
            flush_file=flush_file, watcher=watcher or Nobody(), now=now,
        )  # fmt: skip

    @classmethod
    def open(
        cls,
        disk: Disk,
        name: str,
        *,
        cache_pages: int,
        now: float,
        watcher: Watcher | None = None,
        hold: Callable[[], int] | None = None,
        lossy: bool = False,
    ) -> "Store":
        """Open a database. After a crash all that was committed and flushed is there again.

        No log is deleted from the generation on that `hold` says, so that others can have it.
        `lossy`: logs that no page on disk needs may be missing, and their changes are lost.
        Raises FileNotFoundError, HeaderError, CheckpointError, LogError, RecoveryError; then
        no file stays open.
        """
        with ExitStack() as opened:
            raw = disk.open(name)
            opened.callback(raw.close)
            header = read_header(raw.read(0, HEADER_BYTES))
            flush_file = FlushMapFile(disk, name)
            opened.callback(flush_file.close)
            store = cls._opened(
                disk, raw, header, flush_file, opened,
                cache_pages=cache_pages, watcher=watcher or Nobody(), now=now, hold=hold,
                lossy=lossy,
            )  # fmt: skip
            opened.pop_all()
        return store

    @classmethod
    def _opened(
        cls,
        disk: Disk,
        raw: File,
        header: DatabaseHeader,
        flush_file: FlushMapFile,
        opened: ExitStack,
        *,
        cache_pages: int,
        watcher: Watcher,
        now: float,
        hold: Callable[[], int] | None,
        lossy: bool,
    ) -> "Store":
        """See `open`; what is opened here is closed by `opened`."""
        signature, began = header.signature, header.created
        checkpoint = Checkpoint.open(disk, signature=signature, began=began)
        end, frames, troubles = checkpoint.position, OrderedDict[int, Frame](), list[Trouble]()
        flushes = flush_file.load(header, position=end)
        file = PageFile(raw, header.page_size, flushes=flushes)
        pages, recovered = file.pages(), header.state == DIRTY
        header.dbtime = max(header.dbtime, checkpoint.dbtime)
        if recovered:
            refuse_missing(disk, header, lossy=lossy)
            redone = _redone(disk, file, end, signature, watcher)
            end, frames, troubles = redone.end, redone.frames, redone.troubles
            pages = max(pages, redone.pages)
            header.dbtime = max(header.dbtime, redone.dbtime)
            # A shutdown that was cut off may have left a map that says it is complete.
            flush_file.save(flushes, header, position=checkpoint.position)
        log = Log.open(
            disk, signature=signature, after=end, began=began, now=now, page_size=header.page_size
        )
        opened.callback(log.close)
        if recovered:
            # Before the cache writes a page that was redone.
            _require_all(header, checkpoint.position, log)
            file.write_headers(header.written(flush_file.signature))
        cache = Cache(file, log, cache_pages, frames)
        store = cls(
            header, file, log, checkpoint,
            cache=cache, flush_file=flush_file, watcher=watcher, now=now,
        )  # fmt: skip
        store.pages, store.recovered, store.hold = pages, recovered, hold
        header.state, header.attach, header.attach_position = DIRTY, now, log.position
        header.log_committed = generation_of(log.position)
        store.checkpoint()
        store._tell(troubles)
        return store

    @property
    def counts(self) -> Counts:
        return Counts(pages_read=self._file.read_count, pages_dirtied=self._cache.pages_dirtied)

    @property
    def checkpoint_depth(self) -> int:
        """Bytes of log that a recovery would have to read now."""
        return self._log.position - self._checkpoint.position

    @property
    def checkpoint_depth_logs(self) -> int:
        """Log files between the one that holds the checkpoint and the one being written."""
        return self.log_generation - generation_of(self._checkpoint.position)

    @property
    def log_positions(self) -> tuple[int, int]:
        """Of the checkpoint, and behind the last record: what a recovery would read."""
        return self._checkpoint.position, self._log.position

    @property
    def log_position(self) -> int:
        """Bytes of log that were appended since the store was opened, durable or not."""
        return self._log.bytes_appended

    @property
    def log_generation(self) -> int:
        """The generation of the log that is being written."""
        return generation_of(self._log.position)

    @property
    def cache_bytes(self) -> int:
        """Bytes of the pages that are in memory now."""
        return self._cache.pages * self.page_size

    def begin(self) -> "Transaction":
        """A transaction. RuntimeError while another one is open."""
        if self._open is not None:
            raise RuntimeError("a transaction is open already")
        self._open = Transaction(self)
        return self._open

    def read(self, number: int) -> bytes:
        """The committed content of a page, without its checksums. Raises PageError, IndexError."""
        if not 1 <= number <= self.pages:
            raise IndexError(f"page {number} of {self.pages}")
        return self._cache.read(number)

    def check_pages(self, first: int, count: int, *, keep: bool = False) -> Checked:
        """Read pages from disk, at once and past the cache, and verify each. IndexError: first < 1.

        As many as there are up to the end of the database. What the cache has may be newer;
        that is no fault. With `keep` the answer has the contents: those that count, so of a page
        in the cache what is there, even where the one on disk is bad.
        """
        if first < 1:
            raise IndexError(f"page {first} of {self.pages}")
        there = max(0, min(count, self.pages + 1 - first))
        checked = self._file.check(first, there, keep=keep)
        self._tell(checked.troubles)
        for at in range(len(checked.contents)):
            if self.is_cached(first + at):
                checked.contents[at] = self._cache.read(first + at)
        return checked

    def is_cached(self, number: int) -> bool:
        """True if a page is in memory."""
        return self._cache.has(number)

    def flush(self) -> None:
        """Group commit: every committed transaction is durable when this returns."""
        self._log.flush()

    def checkpoint(self, depth: int = 0) -> None:
        """Write pages until a recovery would read at most `depth` bytes of log."""
        self._log.flush()
        self._file.make_room(self.pages)
        needed = self._cache.write_back(self._log.position - depth)
        self._flush_file.save(self._file.flushes, self.header, position=needed)
        # The header first: a checkpoint behind the first log that it names would begin too late.
        is_other = self._require_log(needed)
        if (needed, self.header.dbtime) != (self._checkpoint.position, self._checkpoint.dbtime):
            self._checkpoint.write(needed, self.header.dbtime)
        if is_other:
            self._log.drop_before(min(needed, begin_of(self.hold())) if self.hold else needed)

    def close(self, now: float) -> None:
        """Shut down cleanly: the file alone has everything. An open transaction is aborted."""
        if self._open is not None:
            self._open.abort()
        self.checkpoint()
        header = self.header
        header.state, header.detach, header.consistent = CLEAN, now, now
        header.detach_position = header.consistent_position = self._log.position
        header.log_required, header.last_required_created = (0, 0), 0.0
        header.log_committed = 0
        self._flush_file.save(self._file.flushes, header, position=self._log.position)
        self._write_header()
        self._file.close()
        self._flush_file.close()
        self._log.close()

    def _now(self) -> float:
        return self.time()

    def _require_log(self, needed: int) -> bool:
        """Let the header say which generations a recovery needs from the position `needed` on.

        Whether they are others.
        """
        first, last = generation_of(needed), self.header.log_required[1]
        if first == self.header.log_required[0]:
            return False
        self._name_logs(first, last if first <= last else self.log_generation)
        return True

    def _require(self, position: int) -> None:
        """Before a page is written whose last change ends there: the header names that log."""
        first, last = self.header.log_required
        if generation_of(position) > last:
            self._name_logs(first, self.log_generation)

    def _name_logs(self, first: int, last: int) -> None:
        """Let the header say which logs are needed: the last is as it was, or the current one."""
        if last != self.header.log_required[1]:
            self.header.last_required_created = self._log.created
        self.header.log_required = first, last
        self._write_header()

    def _write_header(self) -> None:
        self._file.write_headers(self.header.written(self._flush_file.signature))

    def _tell_one(self, trouble: Trouble) -> None:
        self._tell([trouble])

    def _tell(self, troubles: list[Trouble]) -> None:
        """Count bad pages and tell the watcher of them."""
        counted = [self.header.count(trouble, self.time()) for trouble in troubles]
        if any(counted):
            self._write_header()
        for trouble in troubles:
            self._watcher.page_error(trouble)

    def _commit(self, transaction: "Transaction", changed: dict[int, bytearray]) -> None:
        dbtime = self.header.dbtime + 1
        differs: list[tuple[int, bytes, bytes]] = []
        for number, page in sorted(changed.items()):
            old = transaction.known.get(number) or self._before(number)
            if page != old:
                DBTIME.pack_into(page, DBTIME_OFFSET, dbtime)
                differs.append((number, old, stamped(page, number)))
        if differs or transaction.pages != self.pages:
            # Only now: the reading of one page may have put another one out of the cache.
            changes = [
                difference(number, old, new, whole=self._cache.is_clean(number))
                for number, old, new in differs
            ]
            before = self._log.position
            after = self._log.append(encode(Change(dbtime, transaction.pages, tuple(changes))))
            self.header.dbtime, self.pages = dbtime, transaction.pages
            if self.log_generation != self.header.log_committed:
                self.header.log_committed = self.log_generation
                self._write_header()
            self._cache.put(((number, new) for number, _, new in differs), before, after)

    def _before(self, number: int) -> bytes:
        return self._cache.read(number) if number <= self.pages else bytes(self.page_size)

    def _end(self) -> None:
        self._open = None


class Transaction:
    """Changes that are committed together or not at all. As a context it commits at its end."""

    def __init__(self, store: Store) -> None:
        self.pages = store.pages
        """Number of pages of the database for this transaction."""
        self._store = store
        self.known: dict[int, bytes] = {}
        """Contents of pages, by number, that were read already: they are not read again."""
        self._changed: dict[int, bytearray] = {}

    def __enter__(self) -> "Transaction":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.abort()

    def read(self, number: int) -> bytes:
        """The content of a page as this transaction sees it. Raises PageError, IndexError."""
        if (changed := self._changed.get(number)) is not None:
            return bytes(changed)
        if (known := self.known.get(number)) is not None:
            return known
        if self._store.pages < number <= self.pages:
            return bytes(self._store.page_size)
        return self._store.read(number)

    def page(self, number: int) -> bytearray:
        """The content of a page, to be changed in place. Raises PageError, IndexError.

        Checksums, dbtime, format flag and the number in a large page are set at commit.
        """
        if (changed := self._changed.get(number)) is None:
            changed = self._changed[number] = bytearray(self.read(number))
        return changed

    def extend(self, count: int) -> int:
        """Add `count` blank pages at the end; the number of the first."""
        first = self.pages + 1
        self.pages += count
        return first

    def commit(self) -> None:
        """Make the changes hold. They are durable after `Store.flush`. Raises LogError."""
        try:
            self._store._commit(self, self._changed)
        finally:
            self._store._end()

    def abort(self) -> None:
        self._store._end()


def _require_all(header: DatabaseHeader, needed: int, log: Log) -> None:
    """Let the header name the logs from the position `needed` to the one that is written."""
    header.log_required = generation_of(needed), generation_of(log.position)
    header.last_required_created = log.created
    header.log_committed = generation_of(log.position)


def _redone(disk: Disk, file: PageFile, since: int, signature: int, watcher: Watcher) -> Redone:
    """See `redo`; the watcher is called with the pages because of which it fails."""
    try:
        return redo(disk, file, since=since, signature=signature)
    except RecoveryError as error:
        for trouble in error.troubles:
            watcher.page_error(trouble)
        raise
