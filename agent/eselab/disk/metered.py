"""A disk that counts and times the requests to databases and logs, and reports slow ones."""

from collections import deque
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from eselab.base.clock import Clock
from eselab.base.programs import ENDINGS
from eselab.base.trouble import Operation, SlowRequest, Watcher
from eselab.disk.device import Storage
from eselab.disk.disk import Disk
from eselab.disk.file import File

FileKind = Literal["database", "log"]

_KINDS: Final[tuple[tuple[str, FileKind], ...]] = (
    *((ending, "database") for ending in ENDINGS),
    (".log", "log"),
)
_QUIET_SECONDS: Final = 60.0
_WORSE: Final = 1.5


class Figures(msgspec.Struct):
    """Running totals of one kind of requests. `seconds` is their time in total."""

    requests: int = 0
    seconds: float = 0.0
    bytes: int = 0


class Meter:
    """Figures of each kind of files and operation. The time of a sync is the writes'."""

    def __init__(self) -> None:
        self.database_reads = Figures()
        self.database_writes = Figures()
        self.log_reads = Figures()
        self.log_writes = Figures()

    def of(self, kind: FileKind) -> tuple[Figures, Figures]:
        """Reads and writes of the files of this kind."""
        if kind == "database":
            return self.database_reads, self.database_writes
        return self.log_reads, self.log_writes


class _Teller:
    """Reports to the watcher one at a time: a report that comes up meanwhile waits."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._untold: deque[SlowRequest] = deque()
        self._telling = False

    def tell(self, slow: SlowRequest) -> None:
        self._untold.append(slow)
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold:
                self._watcher.slow_request(self._untold.popleft())
        finally:
            self._telling = False


class _SlowRequests:
    """Selects the slow requests of one open file to report (osdisk.cxx of the published engine).

    The first one; then one that comes a minute later, or took half as long again. Reads and
    writes are judged together.
    """

    def __init__(self, file: str, limit: float, clock: Clock, teller: _Teller) -> None:
        self.limit = limit
        self._file = file
        self._clock = clock
        self._teller = teller
        self._told: SlowRequest | None = None
        self._told_at = 0.0
        self._others = 0

    def judge(self, operation: Operation, offset: int, length: int, seconds: float) -> None:
        """A request that took longer than the limit is over."""
        last, now, others, since = self._told, self._clock.now(), None, None
        if last is not None:
            # In virtual time another task's step may have reported a later one before.
            since = max(0.0, now - self._told_at)
            if since < _QUIET_SECONDS and seconds < _WORSE * last.seconds:
                self._others += 1
                return
            others = self._others
        self._told_at, self._others = now, 0
        self._told = SlowRequest(
            file=self._file,
            operation=operation,
            offset=offset,
            bytes=length,
            seconds=seconds,
            others=others,
            since=since,
        )
        self._teller.tell(self._told)


class MeteredFile:
    """An open file whose requests are counted. Those that fail are not."""

    def __init__(
        self,
        file: File,
        *,
        place: str,
        figures: tuple[Figures, Figures],
        clock: Clock,
        device: Storage | None,
        slow: _SlowRequests,
    ) -> None:
        self._file = file
        self._place = place
        self._reads, self._writes = figures
        self._clock = clock
        self._device = device
        self._slow = slow

    def read(self, offset: int, length: int) -> bytes:
        before = self._clock.now()
        data = self._file.read(offset, length)
        if self._device is not None:
            self._device.use(self._place, offset, len(data))
        self._count(self._reads, len(data), seconds := self._clock.now() - before)
        if seconds > self._slow.limit:
            self._slow.judge("read", offset, length, seconds)
        return data

    def write(self, offset: int, data: bytes) -> None:
        before = self._clock.now()
        self._file.write(offset, data)
        if self._device is not None:
            self._device.use(self._place, offset, len(data), write=True)
        self._count(self._writes, len(data), seconds := self._clock.now() - before)
        if seconds > self._slow.limit:
            self._slow.judge("write", offset, len(data), seconds)

    def sync(self) -> None:
        before = self._clock.now()
        self._file.sync()
        self._writes.seconds += self._clock.now() - before

    def size(self) -> int:
        return self._file.size()

    def truncate(self, size: int) -> None:
        self._file.truncate(size)

    def close(self) -> None:
        self._file.close()

    def _count(self, figures: Figures, length: int, seconds: float) -> None:
        figures.requests += 1
        figures.seconds += seconds
        figures.bytes += length


class MeteredDisk:
    """*.edb and *.dit are databases, *.log are logs; other files take no time and are not counted.

    `device` None: no modelled time. `slow`: seconds that a request may take until `watcher`
    is told, after it is done. `path` makes the full path of a file, by which it is told and
    known to the device, of its name.
    """

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        meter: Meter,
        *,
        device: Storage | None,
        slow: float,
        watcher: Watcher,
        path: Callable[[str], str],
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._meter = meter
        self._device = device
        self._limit = slow
        self._teller = _Teller(watcher)
        self._path = path

    def open(self, name: str, *, create: bool = False) -> File:
        file = self._disk.open(name, create=create)
        for ending, kind in _KINDS:
            if name.endswith(ending):
                path = self._path(name)
                return MeteredFile(
                    file,
                    place=path,
                    figures=self._meter.of(kind),
                    clock=self._clock,
                    device=self._device,
                    slow=_SlowRequests(path, self._limit, self._clock, self._teller),
                )
        return file

    def names(self) -> list[str]:
        return self._disk.names()

    def remove(self, name: str) -> None:
        self._disk.remove(name)

    def sync(self) -> None:
        self._disk.sync()
