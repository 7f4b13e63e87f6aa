"""Database files that fail: places of the disk that cannot be read, and files that change."""

import errno
from collections.abc import Callable
from types import ModuleType

import pytest

from esefiles.scans.reading.reading import DatabaseFile
from esefiles.scans.verify import file_scan


class Disk:
    """What happens on reads of all files that are opened while it is in use."""

    def __init__(self) -> None:
        self.bad: set[int] = set()
        """Bytes that cannot be read."""
        self.errno = errno.EIO
        self.before_read: Callable[[int], None] = lambda _offset: None
        self.rereads: list[tuple[int, int]] = []
        """(offset, length) of what was read again."""

    def check(self, offset: int, length: int) -> None:
        self.before_read(offset)
        if any(offset <= byte < offset + length for byte in self.bad):
            raise OSError(self.errno, "Input/output error")


def disk_below(monkeypatch: pytest.MonkeyPatch, module: ModuleType = file_scan) -> Disk:
    """The disk below every file that `module` opens from here on."""
    disk = Disk()

    class OnDisk(DatabaseFile):
        def read_into(self, buffer: memoryview, offset: int) -> int:
            disk.check(offset, len(buffer))
            return super().read_into(buffer, offset)

        def read(self, offset: int, length: int) -> bytes:
            disk.check(offset, length)
            disk.rereads.append((offset, length))
            return super().read(offset, length)

    monkeypatch.setattr(module, "DatabaseFile", OnDisk)
    return disk
