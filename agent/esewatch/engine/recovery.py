"""Redo: the log is read from the checkpoint on, and each change that a page lacks is made."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from esewatch.engine.cache import Frame
from esewatch.engine.change import PageChange, dbtime_of, decode
from esewatch.engine.disk import Disk
from esewatch.engine.log import records
from esewatch.engine.pages import PageError, PageFile

_NAMED = 3
"""Pages that an error names."""


class RecoveryError(Exception):
    """A page is not what the log goes on from: damaged, or older than it must be."""


class Redone(NamedTuple):
    """What recovery found: the end of the log, and the pages that it changed, in memory."""

    end: int
    dbtime: int
    pages: int
    frames: OrderedDict[int, Frame]


def redo(disk: Disk, file: PageFile, *, since: int, signature: int) -> Redone:
    """Bring the pages of `file` up to the end of the log, in memory. Nothing is written.

    Raises LogError, PageError, RecoveryError.
    """
    frames: OrderedDict[int, Frame] = OrderedDict()
    unfit: dict[int, str] = {}
    end, dbtime, pages = since, 0, 0
    for after, record in records(disk, since, signature=signature):
        change = decode(record, file.page_size)
        dbtime, pages = change.dbtime, change.pages
        for page in change.changes:
            content = _content(file, frames, page.number)
            # An image is taken even so: a torn page of regular content may verify.
            done = content is not None and dbtime_of(content) >= change.dbtime
            if done and page.image is None:
                continue
            if why := _why_unfit(page, content):
                # A write that was torn later than this change: the log has the whole page then.
                unfit.setdefault(page.number, why)
                continue
            unfit.pop(page.number, None)
            made = page.applied_to(content or b"")
            frame = frames.pop(page.number, None) or Frame(made, dirty_since=end)
            frame.content, frame.last = made, after
            frames[page.number] = frame
        end = after
    if unfit:
        raise RecoveryError("; ".join(unfit[number] for number in sorted(unfit)[:_NAMED]))
    return Redone(end, dbtime, pages, frames)


def _why_unfit(page: PageChange, content: bytes | None) -> str:
    """Why the change cannot be made to a page with this content, empty when it can."""
    if page.image is not None or (content is not None and dbtime_of(content) == page.before):
        return ""
    stands = "damaged" if content is None else f"of dbtime {dbtime_of(content)}"
    return f"page {page.number} is {stands}, and the log goes on from dbtime {page.before}"


def _content(file: PageFile, frames: Mapping[int, Frame], number: int) -> bytes | None:
    """What the page is so far; None where its write was torn."""
    frame = frames.get(number)
    if frame is not None:
        return frame.content
    try:
        return file.read(number)
    except PageError:
        return None
