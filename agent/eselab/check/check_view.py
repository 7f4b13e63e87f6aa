"""Read-only view of the pages of a database as the next opening would find them.

Where the database was not shut down, that is what a recovery makes of them, in memory.
"""

import struct
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from esefiles.pages.header import HEADER_BYTES, NotDatabase, parse_header
from eselab.base.trouble import Trouble
from eselab.disk.disk import Disk
from eselab.disk.file import File
from eselab.storage.cache import Frame
from eselab.storage.database_header import CLEAN, DatabaseHeader, HeaderError, read_header
from eselab.storage.flush_map import FlushMapFile
from eselab.storage.pages import PageFile
from eselab.storage.transaction_log.checkpoint import Checkpoint, CheckpointError
from eselab.storage.transaction_log.log import LogError
from eselab.storage.transaction_log.recovery import RecoveryError, redo


class View:
    """Reads pages; each faulty page is reported to `faults` once."""

    def __init__(self, header: DatabaseHeader, file: PageFile, faults: list[str]) -> None:
        self.header = header
        self.page_size = header.page_size
        self.pages = file.pages()
        """Number of pages of the database: they are 1 to this one."""
        self.dbtime = header.dbtime
        """No page has a later one."""
        self.bad: set[int] = set()
        """Pages that are not what was written, corrected ones among them."""
        self._file = file
        self._frames: Mapping[int, Frame] = {}
        self._faults = faults

    def content(self, number: int) -> bytes | None:
        """The content of a page, without checksums; None where it is bad. Raises OSError."""
        frame = self._frames.get(number)
        if frame is not None:
            return frame.content
        content, trouble = self._file.examine(number)
        if trouble is not None:
            self._tell(trouble)
        return content

    def recover(self, disk: Disk, checkpoint: Checkpoint) -> bool:
        """Redo the log from the checkpoint on; whether that can be done."""
        try:
            redone = redo(
                disk, self._file, since=checkpoint.position, signature=self.header.signature
            )
        except RecoveryError as error:
            self._faults.append(f"the log cannot be redone: {error}")
            for trouble in error.troubles:
                self._tell(trouble)
            return False
        except (LogError, struct.error) as error:
            self._faults.append(f"the log cannot be redone: {error}")
            return False
        self._frames = redone.frames
        self.pages = max(self.pages, redone.pages)
        self.dbtime = max(self.dbtime, redone.dbtime)
        for trouble in redone.troubles:
            self._tell(trouble)
        return True

    def _tell(self, trouble: Trouble) -> None:
        if trouble.number not in self.bad:
            self.bad.add(trouble.number)
            self._faults.append(f"page {trouble.number}: {_sentence(trouble)}")


@contextmanager
def viewed(disk: Disk, name: str, faults: list[str]) -> Iterator[View | None]:
    """The pages of a database, None where it cannot be opened; `faults` says why then.

    Raises FileNotFoundError, OSError.
    """
    with ExitStack() as opened:
        raw = disk.open(name)
        opened.callback(raw.close)
        yield _view(disk, name, raw, faults)


def _view(disk: Disk, name: str, raw: File, faults: list[str]) -> View | None:
    begin = raw.read(0, HEADER_BYTES)
    try:
        header = read_header(begin)
    except HeaderError as error:
        faults.append(f"header: {error}")
        return None
    _check_header(raw, begin, header, faults)
    try:
        checkpoint = Checkpoint.open(disk, signature=header.signature, began=header.created)
    except CheckpointError as error:
        faults.append(f"checkpoint: {error}")
        return None
    flush_file = FlushMapFile(disk, name)
    try:
        flushes = flush_file.load(header, position=checkpoint.position)
    finally:
        flush_file.close()
    view = View(header, PageFile(raw, header.page_size, flushes=flushes), faults)
    view.dbtime = max(view.dbtime, checkpoint.dbtime)
    if header.state != CLEAN and not view.recover(disk, checkpoint):
        return None
    return view


def _check_header(raw: File, begin: bytes, header: DatabaseHeader, faults: list[str]) -> None:
    found = parse_header(begin)
    if not isinstance(found, NotDatabase):
        if not found.header_ok:
            faults.append("header: the first copy is damaged")
        if not found.shadow_header_ok:
            faults.append("header: its shadow is damaged")
    # A crash may leave a page half written at the end, which the log has.
    rest = raw.size() % header.page_size
    if rest and header.state == CLEAN:
        faults.append(f"file: {rest} bytes behind the last page")


def _sentence(trouble: Trouble) -> str:
    match trouble.kind:
        case "corrected":
            return f"bit {trouble.bit} is flipped; the checksum can correct it"
        case "correction_failed":
            return f"bit {trouble.bit} is flipped, and corrected the page makes no sense"
        case "checksum":
            return "the checksum is wrong"
        case "wrong_page":
            return f"it was written as page {trouble.written_as}"
        case "no_data":
            return "it is blank and was not"
        case "lost_flush":
            return "its last write was lost"
