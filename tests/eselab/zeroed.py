"""Databases whose scan zeroes pages, and what it logged: helpers of its tests."""

import random
import struct
from collections.abc import Sequence
from typing import NamedTuple

from eselab.base.clock import VirtualClock
from eselab.base.trouble import Trouble
from eselab.disk.disk import Disk, SimDisk
from eselab.logs.counters import Counters
from eselab.logs.reports import Reports, ZeroingSummary
from eselab.maintenance.defrag import Defrag
from eselab.maintenance.zeroing import TABLE, DatabaseZeroing, ZeroingState
from eselab.storage import node
from eselab.storage.btree import BTree
from eselab.storage.database import Database
from tests.eselab import defragging
from tests.eselab.databases import NAME, NOW, plain

PAUSE = 0.5
LONG = NOW * 2
MARK = b"<secret>"
Told = tuple[object, ...]


class Recorder(Reports):
    """Keeps the events of zeroing and of bad pages; other events are not expected."""

    def __init__(self) -> None:
        self.told: list[Told] = []

    def zeroing_begun(self) -> None:
        self.told.append((718,))

    def zeroing_resumed(self, started: float) -> None:
        self.told.append((720, started))

    def zeroing_completed(self, summary: ZeroingSummary) -> None:
        self.told.append((722, summary))

    def zeroing_interrupted(self) -> None:
        self.told.append((726,))

    def zeroing_failed(self, error: int, seconds: float) -> None:
        self.told.append((724, error, seconds))

    def page_error(self, trouble: Trouble) -> None:
        self.told.append((trouble.kind, trouble.number))

    def taken(self) -> list[Told]:
        told, self.told = self.told, []
        return told


class Bench(NamedTuple):
    disk: SimDisk
    database: Database
    clock: VirtualClock
    reports: Recorder
    counters: Counters
    zeroing: DatabaseZeroing

    def run(self, until: float = LONG, *, steps: int | None = None) -> list[Told]:
        """An invocation in virtual time, or its first steps; what was logged."""
        for step, seconds in enumerate(self.zeroing.invocation(lambda: until), 1):
            self.clock.begin(self.clock.now() + seconds)
            if step == steps:
                break
        return self.reports.taken()

    def completed(self) -> ZeroingSummary:
        """A whole pass, or the rest of one; what 722 says."""
        summary = self.run()[-1][1]
        assert isinstance(summary, ZeroingSummary)
        return summary

    def defragment(self) -> int:
        """A whole pass of online defragmentation; the pages that it freed."""
        counters = Counters()
        work = Defrag(self.database, defragging.Recorder(), counters, self.clock, pause=0.0)
        defragging.finish(work.invocation(lambda: LONG), self.clock)
        return counters.defrag_pages_freed

    def state(self) -> ZeroingState:
        return self.database.state(TABLE, ZeroingState) or ZeroingState()

    def tree(self) -> BTree:
        return self.database.table("mail")

    def put(self, numbers: Sequence[int], *, size: int = 100) -> None:
        """Records by number, each with its own marked value."""
        for begin in range(0, len(numbers), 50):
            with self.database.store.begin() as transaction:
                for number in numbers[begin : begin + 50]:
                    value = (MARK + b"%08d" % number).ljust(size, b".")
                    self.tree().insert(transaction, key(number), value)
        self.database.store.flush()

    def delete(self, numbers: Sequence[int]) -> int:
        """Delete these; how many they are."""
        for begin in range(0, len(numbers), 50):
            with self.database.store.begin() as transaction:
                for number in numbers[begin : begin + 50]:
                    self.tree().delete(transaction, key(number))
        self.database.store.flush()
        return len(numbers)

    def places(self) -> dict[bytes, int]:
        """The leaf that each record is in."""
        pages = {at: self.database.store.read(at) for at in self.tree().leaves()}
        return {
            node.key(page, index): at
            for at, page in pages.items()
            for index in range(node.count(page))
        }

    def records(self) -> dict[bytes, bytes]:
        return dict(self.tree().scan())

    def reopened(self, disk: SimDisk | None = None, *, cache_pages: int = 50) -> "Bench":
        """The next life of the database, on what the last one left, or a crash of it."""
        if disk is None:
            self.database.close(self.clock.now())
        now, disk = self.clock.now(), disk or self.disk
        return bench(disk, Database.open(disk, NAME, cache_pages=cache_pages, now=now), now)


def key(number: int) -> bytes:
    return struct.pack(">I", number)


def bench(disk: SimDisk, database: Database, now: float = NOW) -> Bench:
    clock, reports, counters = VirtualClock(now), Recorder(), Counters()
    database.store._watcher = reports
    database.store.counts_deleted = True
    zeroing = DatabaseZeroing(database, reports, counters, clock, pause=PAUSE)
    return Bench(disk, database, clock, reports, counters, zeroing)


def made(page_size: int = 4096, *, seed: int = 1, cache_pages: int = 50) -> Bench:
    """A database with an empty table `mail`."""
    disk, chance = SimDisk(random.Random(seed)), random.Random(seed)
    database = Database.create(
        disk, NAME, page_size=page_size, cache_pages=cache_pages, now=NOW, chance=chance
    )
    with database.store.begin() as transaction:
        database.create_table(transaction, plain("mail"))
    database.store.flush()
    return bench(disk, database)


def raw(disk: Disk) -> bytes:
    """The database file as it is."""
    file = disk.open(NAME)
    return file.read(0, file.size())


def count_free(database: Database) -> tuple[int, int]:
    """Free pages: those that had something once, and blank ones."""
    space, store = database.space, database.store
    free = [store.read(at) for at in range(1, store.pages + 1) if space.is_free(at)]
    once = sum(bool(node.flags(page) & node.EMPTY) for page in free)
    return once, len(free) - once
