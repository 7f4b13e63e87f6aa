"""Disks whose requests take time: a simple one, and a LUN of modelled drives."""

import itertools
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final, Protocol

from eselab.base.clock import Clock
from eselab.base.plan import DisksPlan
from eselab.disk.log_file import GENERATION_BYTES
from eselab.disk.lun import Lun

_LOGS: Final = 1024
"""Places for the logs of a database, used in turn."""


def lun_of(plan: DisksPlan) -> Lun:
    """The LUN of a plan, at rest."""
    return Lun(
        plan.model,
        spindles=plan.spindles,
        stripe=plan.stripe,
        write_cache=plan.write_cache,
        link=plan.link,
    )


class Storage(Protocol):
    """The storage of database files."""

    def use(self, file: str, offset: int, length: int, *, write: bool = False) -> None:
        """A request of the step in hand: wait for its turn and for its end.

        `file` says which bytes of the device these are: equal for the same file, and only then.
        """

    def slow(self, seconds: float, count: int) -> None:
        """The next `count` requests take this much longer, after those of earlier calls."""


class _Slower:
    """Seconds to add to each of the next requests."""

    def __init__(self) -> None:
        self._seconds: Iterator[float] = iter(())

    def add(self, seconds: float, count: int) -> None:
        self._seconds = itertools.chain(self._seconds, itertools.repeat(seconds, count))

    def next(self) -> float:
        return next(self._seconds, 0.0)


class Device(Storage):
    """One request at a time, with a seek unless it goes on where the last one ended.

    `seek`: seconds, rotation included; `rate`: bytes a second. With seek 0 and an infinite rate
    only what `slow` asks for takes time.
    """

    def __init__(self, clock: Clock, *, seek: float, rate: float) -> None:
        self._clock = clock
        self._seek = seek
        self._rate = rate
        self._free_at = 0.0
        self._last: tuple[str, int] | None = None
        self._slower = _Slower()

    def use(self, file: str, offset: int, length: int, *, write: bool = False) -> None:
        """See Storage. A write takes as long as a read."""
        now = self._clock.now()
        cost = length / self._rate + self._slower.next()
        if self._last != (file, offset):
            cost += self._seek
        self._last = (file, offset + length)
        self._free_at = max(now, self._free_at) + cost
        self._clock.spend(self._free_at - now)

    def slow(self, seconds: float, count: int) -> None:
        self._slower.add(seconds, count)


class _Room:
    """Part of a LUN for one database: it lies at the begin, its logs lie from the middle on."""

    def __init__(self, begin: int, length: int) -> None:
        self._begin = begin
        self._middle = begin + length // 2
        self._logs: dict[str, int] = {}

    def place(self, file: str) -> int:
        """Offset at which a file begins."""
        if not file.endswith(".log"):
            return self._begin
        if file not in self._logs:
            slot = len(self._logs)
            if slot == _LOGS:
                slot = self._logs.pop(next(iter(self._logs)))
            self._logs[file] = slot
        return self._middle + self._logs[file] * GENERATION_BYTES


class LunDevice(Storage):
    """A LUN that `databases` share, each in a folder of its own and with as much room.

    Folders beyond that number share the rooms, at other places.

    A request is done before the next is looked at. So those of several steps stand in line at
    a drive in the order of the steps, unless they are for different drives; but the cache writes
    in its own order, in the times between.
    """

    def __init__(self, clock: Clock, lun: Lun, *, databases: int) -> None:
        self._clock = clock
        self._lun = lun
        self._databases = databases
        self._room = lun.capacity // databases // GENERATION_BYTES * GENERATION_BYTES
        self._rooms: dict[PurePath, _Room] = {}
        self._slower = _Slower()
        self._blocked = 0.0

    def use(self, file: str, offset: int, length: int, *, write: bool = False) -> None:
        now = self._clock.now()
        begin = max(now, self._blocked)
        if slower := self._slower.next():
            begin += slower
            self._blocked = begin
        at = (self._place(file) + offset) % (self._lun.capacity - length + 1)
        self._lun.submit(begin, at, length, write=write)
        done = self._lun.next_done()
        assert done is not None
        self._clock.spend(done[1] - now)

    def slow(self, seconds: float, count: int) -> None:
        """See Storage. Those that come meanwhile wait."""
        self._slower.add(seconds, count)

    def _place(self, file: str) -> int:
        folder = PurePath(file).parent
        room = self._rooms.get(folder)
        if room is None:
            round_, number = divmod(len(self._rooms), self._databases)
            begin = number * self._room + round_ * (self._room // 3)
            room = self._rooms[folder] = _Room(begin, self._room)
        return room.place(file)
