"""Redo: the log is read from the checkpoint on, and each change that a page lacks is made."""

from collections import OrderedDict
from typing import NamedTuple, Protocol

from eselab.base.trouble import Trouble
from eselab.disk.disk import Disk
from eselab.storage.cache import Frame
from eselab.storage.database_header import DatabaseHeader
from eselab.storage.pages import PageFile
from eselab.storage.transaction_log.change import PageChange, dbtime_of, decode
from eselab.storage.transaction_log.log import LogError, begun, records

_NAMED = 3
"""Pages that an error names."""


class RecoveryError(Exception):
    """A page is not what the log goes on from: damaged, or older than it must be.

    `troubles` are the pages among them that did not verify.
    """

    def __init__(self, reason: str, troubles: list[Trouble]) -> None:
        super().__init__(reason)
        self.troubles = troubles


class Redone(NamedTuple):
    """Result of recovery: the end of the log, and the pages that it changed, in memory.

    `troubles` are the pages that were not what was written and are of use all the same. A
    page that the log has as a whole is none of them: a torn write is what a crash leaves.
    """

    end: int
    dbtime: int
    pages: int
    frames: OrderedDict[int, Frame]
    troubles: list[Trouble]


def redo(disk: Disk, file: PageFile, *, since: int, signature: int) -> Redone:
    """Bring the pages of `file` up to the end of the log, in memory. Nothing is written.

    Nobody is told of bad pages. Raises LogError, RecoveryError.
    """
    pages = _Pages(file)
    run = Redo(pages, file.page_size, since)
    for after, record in records(disk, since, signature=signature):
        run.take(after, record)
    troubles = run.finish()
    return Redone(run.end, run.dbtime, run.pages, pages.frames, troubles)


def refuse_missing(disk: Disk, header: DatabaseHeader, *, lossy: bool) -> None:
    """Raises LogError where a log is not there that the header names.

    Of those that were begun later than the pages on disk need, only where no loss is accepted.
    """
    there = begun(disk, signature=header.signature)
    last = max(there, default=0)
    if last < header.log_required[1]:
        raise LogError(f"generation {last + 1:#x} of the log is missing or damaged, and is needed")
    if last < header.log_committed and not lossy:
        raise LogError(
            f"generation {last + 1:#x} of the log is missing or damaged: what was committed from"
            " there on would be lost"
        )


class Pages(Protocol):
    """The pages that a log is redone to."""

    troubles: dict[int, Trouble]
    """Pages that were not what was written, by number, until the log had one as a whole."""

    def content(self, number: int) -> bytes | None:
        """Content of the page so far; None where it is damaged."""

    def change(self, page: PageChange, before: int, after: int) -> None:
        """Make a change that is in the log between these positions."""


class Redo:
    """A run over the log from `since` on: each change that a page lacks is made, in order."""

    def __init__(self, pages: Pages, page_size: int, since: int) -> None:
        self.end = since
        """Position behind the last record that was taken."""
        self.dbtime = 0
        """Of that record, and the pages of the database after it; 0: there was none."""
        self.pages = 0
        self._to = pages
        self._page_size = page_size
        self._unfit: dict[int, str] = {}

    def take(self, after: int, record: bytes) -> None:
        """Redo a record that ends at `after`."""
        change = decode(record, self._page_size)
        self.dbtime, self.pages = change.dbtime, change.pages
        for page in change.changes:
            content = self._to.content(page.number)
            # An image is taken even so: a torn page of regular content may verify.
            done = content is not None and dbtime_of(content) >= change.dbtime
            if done and page.image is None:
                continue
            if why := _why_unfit(page, content):
                # A write that was torn later than this change: the log has the whole page then.
                self._unfit.setdefault(page.number, why)
                continue
            self._unfit.pop(page.number, None)
            self._to.change(page, self.end, after)
        self.end = after

    def finish(self) -> list[Trouble]:
        """The troubles that are left, by page number. Raises RecoveryError."""
        troubles, unfit = self._to.troubles, self._unfit
        left = [troubles[number] for number in sorted(troubles)]
        if unfit:
            raise RecoveryError("; ".join(unfit[at] for at in sorted(unfit)[:_NAMED]), left)
        return left


class _Pages:
    """The pages that the log names: as they are on disk, and changed."""

    def __init__(self, file: PageFile) -> None:
        self.frames: OrderedDict[int, Frame] = OrderedDict()
        self.troubles: dict[int, Trouble] = {}
        self._file = file
        self._on_disk: dict[int, bytes | None] = {}

    def content(self, number: int) -> bytes | None:
        """Content of the page so far; None where it is damaged."""
        frame = self.frames.get(number)
        if frame is not None:
            return frame.content
        if number not in self._on_disk:
            # Since the flush map was saved it may have been written, once or more.
            self._file.forget(number)
            self._on_disk[number], trouble = self._file.examine(number)
            if trouble is not None:
                self.troubles[number] = trouble
        return self._on_disk[number]

    def change(self, page: PageChange, before: int, after: int) -> None:
        """Make a change that is in the log between these positions."""
        made = page.applied_to(self.content(page.number) or b"")
        frame = self.frames.pop(page.number, None) or Frame(made, dirty_since=before)
        frame.content, frame.last = made, after
        self.frames[page.number] = frame
        self._on_disk.pop(page.number, None)
        if page.image is not None:
            self.troubles.pop(page.number, None)


def _why_unfit(page: PageChange, content: bytes | None) -> str:
    """Reason why the change cannot be made to a page with this content, empty when it can."""
    if page.image is not None or (content is not None and dbtime_of(content) == page.before):
        return ""
    stands = "damaged" if content is None else f"of dbtime {dbtime_of(content)}"
    return f"page {page.number} is {stands}, and the log goes on from dbtime {page.before}"
