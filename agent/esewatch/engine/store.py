"""Pages with transactions: what is committed and flushed survives any crash, nothing else does.

Redo only. A transaction changes copies of pages; at commit the differences go to the log and
the copies become the pages of the cache, so no page of an open transaction is ever written
(no steal). A changed page is written after its log record is durable (write-ahead).
"""

import random
from collections import OrderedDict
from types import TracebackType

import msgspec

from esewatch.engine.cache import Cache, Frame
from esewatch.engine.change import DBTIME, DBTIME_OFFSET, Change, difference, encode
from esewatch.engine.checkpoint import Checkpoint
from esewatch.engine.disk import Disk
from esewatch.engine.header import CLEAN, DIRTY, DatabaseHeader, read_header
from esewatch.engine.log import Log
from esewatch.engine.pages import PageFile, stamped
from esewatch.engine.recovery import redo
from esewatch.ese.header import HEADER_BYTES


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What was done since the store was opened. Pages are those read from and written to disk."""

    pages_read: int
    pages_written: int
    log_bytes: int
    log_generations: int
    transactions: int


class Store:
    """One database file with its log. One transaction at a time; `now` is epoch seconds."""

    def __init__(
        self, header: DatabaseHeader, file: PageFile, log: Log, checkpoint: Checkpoint, cache: Cache
    ) -> None:
        self.header = header
        self.page_size = header.page_size
        self.pages = file.pages()
        """How many pages the database has: they are 1 to this one."""
        self._file = file
        self._log = log
        self._checkpoint = checkpoint
        self._cache = cache
        self._open: Transaction | None = None
        self._transactions = 0

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
    ) -> "Store":
        """A new, empty database."""
        signature = chance.randrange(1, 1 << 32)
        log = Log.create(disk, signature=signature)
        checkpoint = Checkpoint.create(disk, signature=signature, position=log.position)
        header = DatabaseHeader(
            page_size=page_size, signature=signature, created=now, attach=now,
            attach_position=log.position,
        )  # fmt: skip
        file = PageFile(disk.open(name, create=True), page_size)
        file.write_headers(header.page())
        disk.sync()
        return cls(header, file, log, checkpoint, Cache(file, log, cache_pages))

    @classmethod
    def open(cls, disk: Disk, name: str, *, cache_pages: int, now: float) -> "Store":
        """Open a database. After a crash all that was committed and flushed is there again.

        Raises FileNotFoundError, HeaderError, CheckpointError, LogError, RecoveryError.
        """
        raw = disk.open(name)
        header = read_header(raw.read(0, HEADER_BYTES))
        signature = header.signature
        checkpoint = Checkpoint.open(disk, signature=signature)
        file = PageFile(raw, header.page_size)
        end, pages, frames = checkpoint.position, file.pages(), OrderedDict[int, Frame]()
        header.dbtime = max(header.dbtime, checkpoint.dbtime)
        if header.state == DIRTY:
            redone = redo(disk, file, since=end, signature=signature)
            end, frames = redone.end, redone.frames
            pages = max(pages, redone.pages)
            header.dbtime = max(header.dbtime, redone.dbtime)
        log = Log.open(disk, signature=signature, after=end)
        store = cls(header, file, log, checkpoint, Cache(file, log, cache_pages, frames))
        store.pages = pages
        store.checkpoint()
        header.state, header.attach, header.attach_position = DIRTY, now, log.position
        file.write_headers(header.page())
        return store

    @property
    def counts(self) -> Counts:
        """What was done so far."""
        return Counts(
            pages_read=self._file.read_count,
            pages_written=self._file.write_count,
            log_bytes=self._log.bytes_written,
            log_generations=self._log.generations,
            transactions=self._transactions,
        )

    @property
    def checkpoint_depth(self) -> int:
        """Bytes of log that a recovery would have to read now."""
        return self._log.position - self._checkpoint.position

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

    def flush(self) -> None:
        """Group commit: every committed transaction is durable when this returns."""
        self._log.flush()

    def checkpoint(self, depth: int = 0) -> None:
        """Write pages until a recovery would read at most `depth` bytes of log."""
        self._log.flush()
        self._file.make_room(self.pages)
        needed = self._cache.write_back(self._log.position - depth)
        self._checkpoint.write(needed, self.header.dbtime)
        self._log.drop_before(needed)

    def close(self, now: float) -> None:
        """Shut down cleanly: the file alone has everything. An open transaction is aborted."""
        if self._open is not None:
            self._open.abort()
        self.checkpoint()
        header = self.header
        header.state, header.detach, header.consistent = CLEAN, now, now
        header.detach_position = header.consistent_position = self._log.position
        self._file.write_headers(header.page())
        self._file.close()
        self._log.close()

    def _commit(self, transaction: "Transaction", changed: dict[int, bytearray]) -> None:
        dbtime = self.header.dbtime + 1
        differs: list[tuple[int, bytes, bytes]] = []
        for number, page in sorted(changed.items()):
            old = self._before(number)
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
            self._cache.put(((number, new) for number, _, new in differs), before, after)
        self._transactions += 1

    def _before(self, number: int) -> bytes:
        return self._cache.read(number) if number <= self.pages else bytes(self.page_size)

    def _end(self) -> None:
        self._open = None


class Transaction:
    """Changes that are committed together or not at all. As a context it commits at its end."""

    def __init__(self, store: Store) -> None:
        self.pages = store.pages
        """How many pages the database has for this transaction."""
        self._store = store
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
        if number in self._changed:
            return bytes(self._changed[number])
        if self._store.pages < number <= self.pages:
            return bytes(self._store.page_size)
        return self._store.read(number)

    def page(self, number: int) -> bytearray:
        """The content of a page, to be changed in place. Raises PageError, IndexError.

        Checksums, dbtime, format flag and the number in a large page are set at commit.
        """
        if number not in self._changed:
            self._changed[number] = bytearray(self.read(number))
        return self._changed[number]

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
        """Forget the changes."""
        self._store._end()
