"""Reading a large file without changing the content of the page cache.

Linux: O_DIRECT; where the file system refuses it, or takes it and reads through the cache all
the same, ordinary reads after which exactly those pages are given up that were not held before.
Other systems: plain reads (Windows and macOS: written to their documentation, not run there).
"""

import errno
import io
import os
import stat
import threading
from pathlib import Path

from esefiles.base.shared_file import open_shared
from esefiles.pages.layout import offset_of
from esefiles.scans.open_errors import is_gone
from esefiles.scans.reading import direct, os_page_cache
from esefiles.scans.results import FileState, file_state

_PROOFS = 8
"""Direct reads that are checked for pages left in the cache, until one proves that there are
none."""

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device: name the files on it",
}


class DatabaseFile:
    """A regular file, open for reading. Its methods may be called in several threads. Raises
    OSError where the file cannot be opened or is something else (pipe, device, …)."""

    path: str
    direct: bool
    """`read_into` goes past the page cache by O_DIRECT."""

    def __init__(self, path: str, *, buffered: bool = False) -> None:
        """`buffered`: `read_into` goes through the page cache and leaves the pages there."""
        self.path = path
        self._buffered = buffered
        self._lock = threading.Lock()
        self._seeking = threading.Lock()
        self._readers = 0
        self._closed = False
        self._plain = _open_regular(path)
        self._direct = direct.open_direct(self._plain)
        self.direct = self._direct >= 0 and not buffered
        self._direct_refused = False
        self._proofs = _PROOFS if self.direct else 0
        if not buffered:
            os_page_cache.read_no_more_than_asked_for(self._plain)
        if self._direct >= 0:
            os_page_cache.read_no_more_than_asked_for(self._direct)

    def size(self) -> int:
        """Bytes, now. Raises OSError."""
        return self._status().st_size

    def state(self) -> FileState:
        return file_state(self._status())

    def ask_for(self, offset: int, length: int) -> None:
        """Begin a read of these bytes from the disk into the page cache, without waiting for it.

        For many small files, one after the other: a disk reads several at once. A `buffered`
        file then has them from there.
        """
        self._enter()
        try:
            os_page_cache.ask_for(self._plain, offset, length)
        finally:
            self._leave()

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fill `buffer` from `offset` on; the bytes read, fewer only at the end of the file.

        Quickest where offset and length are multiples of direct.ALIGNMENT and the buffer begins
        at one (an anonymous mmap does). Raises OSError.
        """
        self._enter()
        try:
            if self._buffered:
                return self._fill_plain(buffer, offset)
            return self._past_the_cache(buffer, offset, fresh=False)
        finally:
            self._leave()

    def read(self, offset: int, length: int) -> bytes:
        """`length` bytes at any offset, fewer at the end of the file, from the disk itself.

        That holds for a `buffered` file too. Without O_DIRECT they are from the disk if the
        system lets go of the cached page. Raises OSError.
        """
        buffer = memoryview(bytearray(length))
        self._enter()
        try:
            done = self._past_the_cache(buffer, offset, fresh=True)
        finally:
            self._leave()
        return bytes(buffer[:done])

    def close(self) -> None:
        """Close the file. A read that hangs keeps it open until it returns."""
        with self._lock:
            self._closed = True
            self._close_if_unused()

    def _status(self) -> os.stat_result:
        self._enter()
        try:
            return os.fstat(self._plain)
        finally:
            self._leave()

    def _enter(self) -> None:
        with self._lock:
            if self._closed:
                raise OSError(errno.EBADF, "the file is closed", self.path)
            self._readers += 1

    def _leave(self) -> None:
        with self._lock:
            self._readers -= 1
            if self._closed:
                self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._readers == 0 and self._plain >= 0:
            os.close(self._plain)
            if self._direct >= 0:
                os.close(self._direct)
            self._plain = -1

    def _past_the_cache(self, buffer: memoryview, offset: int, *, fresh: bool) -> int:
        """`fresh`: cached pages of these bytes must not be used either."""
        if self._direct >= 0 and not self._direct_refused:
            try:
                if self._proofs:
                    return self._fill_and_prove(buffer, offset)
                return direct.fill(self._direct, buffer, offset)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
            self._read_plainly()
        before = os_page_cache.held(self._plain, offset, len(buffer))
        if fresh:
            os_page_cache.give_up(self._plain, offset, len(buffer))
        done = self._fill_plain(buffer, offset)
        if not self._buffered:
            os_page_cache.restore(self._plain, offset, before)
        return done

    def _fill_and_prove(self, buffer: memoryview, offset: int) -> int:
        """A direct read that must leave nothing in the cache; if it does, it was the last one.
        Compressed or journalled data are read through the cache in spite of O_DIRECT."""
        before = os_page_cache.held(self._plain, offset, len(buffer))
        done = direct.fill(self._direct, buffer, offset)
        after = os_page_cache.held(self._plain, offset, len(buffer))
        if os_page_cache.grown(before, after):
            self._read_plainly()
            os_page_cache.restore(self._plain, offset, before)
        if os_page_cache.all_held(before):
            self._proofs = max(0, self._proofs - 1)
        else:
            self._proofs = 0
        return done

    def _read_plainly(self) -> None:
        """Read without O_DIRECT from here on."""
        self._direct_refused = True
        self.direct = False

    def _fill_plain(self, buffer: memoryview, offset: int) -> int:
        done = self._plain_read(buffer, offset)
        while 0 < done < len(buffer):
            more = self._plain_read(buffer[done:], offset + done)
            if not more:
                break
            done += more
        return done

    def _plain_read(self, buffer: memoryview, offset: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._plain, [buffer], offset)
        with self._seeking, io.FileIO(self._plain, "r", closefd=False) as file:
            file.seek(offset)
            return file.readinto(buffer)


def _open_regular(path: str) -> int:
    """A descriptor of the file. Raises OSError, also where it is no regular file."""
    # Before it is opened, too: opening a pipe or a device can wait or do something.
    _refuse_what_is_no_file(Path(path).stat(), path)
    flags = os.O_RDONLY
    for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_NOINHERIT"):
        flags |= getattr(os, name, 0)
    try:
        descriptor = open_shared(path, flags | getattr(os, "O_NOATIME", 0))
    except PermissionError:
        # O_NOATIME is for the owner of a file only.
        descriptor = open_shared(path, flags)
    try:
        _refuse_what_is_no_file(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_what_is_no_file(status: os.stat_result, path: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
    what = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
    raise OSError(number, f"not a regular file but {what}", path)


def read_pages(file: DatabaseFile, first: int, count: int, page_size: int) -> bytes:
    """`count` pages from page `first` on, fewer at the end of the file. A page that cannot be read
    is bytes that do not verify: the scan tells of it. Raises OSError where the device is gone."""
    try:
        return file.read(offset_of(first, page_size), count * page_size)
    except OSError as error:
        if is_gone(error):
            raise
        if count == 1:
            return b"\xff" * page_size
        numbers = range(first, first + count)
        return b"".join(read_pages(file, number, 1, page_size) for number in numbers)
