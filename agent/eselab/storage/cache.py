"""The page cache: committed pages, the least recently used ones written back and let go."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Protocol

from eselab.base.trouble import Trouble
from eselab.storage.pages import PageFile


class WriteAhead(Protocol):
    """The log that has the changes of the pages."""

    durable: int
    """Up to which position it is durable."""

    def flush(self) -> None:
        """All that was appended is durable when this returns."""


class Frame:
    """One page in memory."""

    __slots__ = ("content", "dirty_since", "last")

    def __init__(self, content: bytes, dirty_since: int = 0, last: int = 0) -> None:
        self.content = content
        self.dirty_since = dirty_since
        """Position of the log before the first change that is not on disk; 0: none."""
        self.last = last
        """Position of the log behind the last change."""


class Cache:
    """At most `limit` pages of `file`. `frames` are what recovery made, oldest first."""

    def __init__(
        self,
        file: PageFile,
        log: WriteAhead,
        limit: int,
        frames: OrderedDict[int, Frame] | None = None,
    ) -> None:
        self.pages_dirtied = 0
        """Number of times that a clean page became a dirty one."""
        self.require: Callable[[int], None] = lambda position: None
        """Called before a page is written, with the position of the log behind its last change."""
        self._file = file
        self._log = log
        self._limit = max(1, limit)
        self._frames = frames if frames is not None else OrderedDict[int, Frame]()
        self._make_room()

    @property
    def pages(self) -> int:
        """Number of pages in memory now."""
        return len(self._frames)

    def read(self, number: int) -> bytes:
        """The content of a page. Raises PageError."""
        frame = self._frames.get(number)
        if frame is None:
            frame = self._frames[number] = Frame(self._file.read(number))
            self._make_room()
        else:
            self._frames.move_to_end(number)
        return frame.content

    def examine(self, number: int) -> tuple[bytes | None, Trouble | None]:
        """As PageFile.examine, which is asked where the page is not here."""
        if number in self._frames:
            return self.read(number), None
        content, trouble = self._file.examine(number)
        if content is not None:
            self._frames[number] = Frame(content)
            self._make_room()
        return content, trouble

    def clear(self) -> None:
        """Let go of all pages; what is dirty is to be written before."""
        self._frames.clear()

    def has(self, number: int) -> bool:
        """True if a page is here."""
        return number in self._frames

    def is_clean(self, number: int) -> bool:
        """True if all changes of the page are on disk."""
        frame = self._frames.get(number)
        return frame is None or not frame.dirty_since

    def put(self, contents: Iterable[tuple[int, bytes]], before: int, after: int) -> None:
        """A change of these pages, by number, was logged between these positions."""
        for number, content in contents:
            frame = self._frames.get(number)
            if frame is None:
                frame = self._frames[number] = Frame(content)
            frame.content, frame.last = content, after
            if not frame.dirty_since:
                frame.dirty_since = before
                self.pages_dirtied += 1
            self._frames.move_to_end(number)
        # Only now: a page whose pieces were logged needs the image that was logged before, and
        # would seem not to if it were written back between the logging and its change here.
        self._make_room()

    def write_back(self, until: int) -> int:
        """Write the pages that are dirty since before `until`, durably.

        The position from which the log is needed then.
        """
        dirty = [item for item in self._frames.items() if item[1].dirty_since]
        for number, frame in sorted(dirty, key=lambda item: (item[1].dirty_since, item[0])):
            if frame.dirty_since < until:
                self._write(number, frame)
        self._file.sync()
        since = [frame.dirty_since for frame in self._frames.values() if frame.dirty_since]
        return min(since, default=self._log.durable)

    def _write(self, number: int, frame: Frame) -> None:
        if frame.last > self._log.durable:
            self._log.flush()
        self.require(frame.last)
        self._file.write(number, frame.content)
        frame.dirty_since = 0

    def _make_room(self) -> None:
        while len(self._frames) > self._limit:
            number, frame = self._frames.popitem(last=False)
            if frame.dirty_since:
                self._write(number, frame)
