"""Fault injection: every fault is a real one, in the bytes on the disk.

Faults are made between the engine and its disk, below everything that counts or verifies, and
only in databases. A slow disk is `Device.slow`.
"""

import math
import os
import random
import signal
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from esefiles.pages.checksum import diagnose
from esefiles.pages.layout import NEW_FORMAT_BIT, block_size, number_at, offset_of
from eselab.base.clock import Clock
from eselab.base.plan import FaultKind
from eselab.base.programs import ENDINGS
from eselab.disk.disk import SECTOR, Disk
from eselab.disk.file import File

_CHECKSUM_BITS: Final = 64


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A page that is bad since `time` (epoch seconds). `database` is the name of its file."""

    time: float
    database: str
    page_number: int
    kind: FaultKind


Change = Callable[[File, int, bytes], dict[int, bytes] | None]
"""(file, page, what is to be written there) -> what is written instead, by page. All of these
and `page` are bad then. None: this write is none that it can be done to."""


class _Ask(msgspec.Struct, frozen=True, kw_only=True):
    kind: FaultKind
    page: int | None
    page_size: int
    change: Change


class _Database:
    """Requests to one file, and its bad pages."""

    def __init__(self, name: str, clock: Clock, tell: Callable[[Fault], None]) -> None:
        self.asks: list[_Ask] = []
        self.bad: list[tuple[int, Fault]] = []
        """(offset, fault) of those whose place was not written since."""
        self._name = name
        self._clock = clock
        self._tell = tell

    def happens(self, kind: FaultKind, page: int, page_size: int) -> Fault:
        now = self._clock.now()
        fault = Fault(time=now, database=self._name, page_number=page, kind=kind)
        self.bad.append((offset_of(page, page_size), fault))
        self._tell(fault)
        return fault

    def overwritten(self, begin: int, end: float) -> None:
        self.bad = [item for item in self.bad if not begin <= item[0] < end]

    def change(self, file: File, page: int, data: bytes) -> tuple[_Ask, dict[int, bytes]] | None:
        """The first requested fault that fits this write; its request is removed."""
        if page < 1:
            return None
        for at, ask in enumerate(self.asks):
            if ask.page in (None, page):
                instead = ask.change(file, page, data)
                if instead is not None:
                    return self.asks.pop(at), instead
        return None


class FaultyFile:
    def __init__(self, file: File, database: _Database) -> None:
        self._file = file
        self._database = database

    def read(self, offset: int, length: int) -> bytes:
        return self._file.read(offset, length)

    def write(self, offset: int, data: bytes) -> None:
        """See File. While a fault is requested the pages are written one by one."""
        if self._database.asks:
            self._write_or_fail(offset, data)
        else:
            self._write(offset, data)

    def sync(self) -> None:
        self._file.sync()

    def size(self) -> int:
        return self._file.size()

    def truncate(self, size: int) -> None:
        self._file.truncate(size)
        self._database.overwritten(size, math.inf)

    def close(self) -> None:
        self._file.close()

    def _write(self, offset: int, data: bytes) -> None:
        self._file.write(offset, data)
        if self._database.bad:
            self._database.overwritten(offset, offset + len(data))

    def _write_or_fail(self, offset: int, data: bytes) -> None:
        size = self._database.asks[0].page_size
        failed = []
        for start in range(offset - offset % size, offset + len(data), size):
            begin, page = max(start, offset), number_at(start, size)
            piece = data[begin - offset : start + size - offset]
            changed = None
            if len(piece) == size:
                changed = self._database.change(self._file, page, piece)
            if changed is None:
                self._write(begin, piece)
            else:
                failed.append((page, *changed))
        # Last: the page on which a write lands by mistake may be one of the others.
        for page, ask, instead in failed:
            for number, content in instead.items():
                self._write(offset_of(number, size), content)
            for number in {page: None, **instead}:
                self._database.happens(ask.kind, number, size)


class FaultyDisk:
    """A disk whose databases (*.edb, *.dit) go bad on request.

    What is asked of the next write of a page, or with `page` None of any page, happens with
    the first write that it can happen with; headers are spared. `tell` is told of what did
    as soon as it lies on the disk. All else is forgotten with this object.
    """

    def __init__(self, disk: Disk, clock: Clock, tell: Callable[[Fault], None]) -> None:
        self._disk = disk
        self._tell = tell
        self._clock = clock
        self._databases: dict[str, _Database] = {}

    def open(self, name: str, *, create: bool = False) -> File:
        file = self._disk.open(name, create=create)
        return FaultyFile(file, self._database(name)) if name.endswith(ENDINGS) else file

    def names(self) -> list[str]:
        return self._disk.names()

    def remove(self, name: str) -> None:
        self._disk.remove(name)
        self._databases.pop(name, None)

    def sync(self) -> None:
        self._disk.sync()

    def standing(self) -> list[Fault]:
        """Those that happened and are still on the disk: their places were not written since."""
        return [fault for database in self._databases.values() for _, fault in database.bad]

    def flip(
        self, name: str, page: int, page_size: int, bits: int, chance: random.Random
    ) -> Fault | None:
        """Flip one bit, or two of one block, of a page that lies on the disk, now.

        One is a bit that can be corrected, two never can be. None, and nothing is done, where
        the page is blank or does not verify. ValueError: `bits` is neither 1 nor 2.
        Raises FileNotFoundError and OSError.
        """
        if bits not in (1, 2):
            raise ValueError(f"{bits} bits: only 1 or 2 are flipped")
        database = self._database(name)
        file = self._disk.open(name)
        try:
            content = _content(file, page, page_size)
            if page < 1 or not _is_good(content, page):
                return None
            flipped = bytearray(content)
            for bit in _chosen(bits, page_size, chance):
                flipped[bit // 8] ^= 1 << bit % 8
            file.write(offset_of(page, page_size), bytes(flipped))
            file.sync()
        finally:
            file.close()
        return database.happens("flip_one" if bits == 1 else "flip_two", page, page_size)

    def tear(self, name: str, page: int | None, page_size: int) -> None:
        """Of the next write of a page only the first sectors reach the disk.

        It is one that is beyond correction then: the checksum of the page tells.
        """
        self._ask(name, _Ask(kind="tear", page=page, page_size=page_size, change=_torn))

    def lose(self, name: str, page: int | None, page_size: int) -> None:
        """The next write of a page is reported as done, and is not.

        What stays there is older than it should be and verifies: only who knows what was
        written last, as a flush map does, can tell.
        """
        self._ask(name, _Ask(kind="lose", page=page, page_size=page_size, change=_lost))

    def misdirect(self, name: str, page: int | None, to: int, page_size: int) -> None:
        """The next write of a page lands on the place of page `to`, which is in use.

        Two pages are bad then: `to` has the number of another page, and the page itself is
        as one whose write was lost.
        """
        change = partial(_misdirected, to)
        self._ask(name, _Ask(kind="misdirect", page=page, page_size=page_size, change=change))

    def _ask(self, name: str, ask: _Ask) -> None:
        self._database(name).asks.append(ask)

    def _database(self, name: str) -> _Database:
        if not name.endswith(ENDINGS):
            raise ValueError(f"{name} is no database: its name ends in none of {ENDINGS}")
        if name not in self._databases:
            self._databases[name] = _Database(name, self._clock, self._tell)
        return self._databases[name]


def kill() -> None:
    """End this process as it stands: nothing is flushed, closed or said."""
    # Where there is no SIGKILL, on Windows, os.kill ends a process so with any signal.
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def _content(file: File, page: int, page_size: int) -> bytes:
    return file.read(offset_of(page, page_size), page_size).ljust(page_size, b"\0")


def _is_good(content: bytes, page: int) -> bool:
    """True if it was written and verifies."""
    return any(content) and diagnose(content, page).fault is None


def _chosen(count: int, page_size: int, chance: random.Random) -> list[int]:
    """Different bits of one block, counted within the page: none that is never corrected."""
    bits = block_size(page_size) * 8
    block = chance.randrange(page_size * 8 // bits)
    allowed = range(_CHECKSUM_BITS, bits) if block == 0 else range(bits)
    chosen = chance.sample(allowed, count)
    while block == 0 and NEW_FORMAT_BIT in chosen:
        chosen = chance.sample(allowed, count)
    return [block * bits + bit for bit in chosen]


def _torn(file: File, page: int, data: bytes) -> dict[int, bytes] | None:
    """As near to the middle as it makes a difference that shows."""
    size = len(data)
    old = _content(file, page, size)
    for cut in sorted(range(SECTOR, size, SECTOR), key=lambda cut: abs(cut - size // 2)):
        torn = data[:cut] + old[cut:]
        if torn not in (data, old) and diagnose(torn, page).fault == "checksum":
            return {page: torn}
    return None


def _lost(file: File, page: int, data: bytes) -> dict[int, bytes] | None:
    old = _content(file, page, len(data))
    return {} if old != data and _is_good(old, page) else None


def _misdirected(to: int, file: File, page: int, data: bytes) -> dict[int, bytes] | None:
    old, victim = _content(file, page, len(data)), _content(file, to, len(data))
    if page == to or old == data:
        return None
    if not (_is_good(old, page) and _is_good(data, page) and _is_good(victim, to)):
        return None
    return {to: data} if diagnose(data, to).fault == "wrong_page" else None
