"""Databases that online defragmentation works on, and what it logged: helpers of its tests."""

import random
import struct
from typing import NamedTuple

from eselab.base.clock import VirtualClock
from eselab.disk.disk import SimDisk
from eselab.logs.counters import Counters
from eselab.logs.reports import DefragSummary, Reports
from eselab.maintenance.defrag import TABLE, Defrag, DefragState
from eselab.maintenance.maintenance import Limit
from eselab.maintenance.schedule import Task
from eselab.storage.btree import BTree
from eselab.storage.database import Database
from tests.eselab.databases import plain

NAME = "a.edb"
START = 1.7e9
PAUSE = 2.0


class Recorder(Reports):
    """Keeps the events of defragmentation: id of the event and figures."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def ids(self) -> list[object]:
        """The events, and forget them."""
        told, self.told = self.told, []
        return [event[0] for event in told]

    def defrag_begun(self) -> None:
        self.told.append((700,))

    def defrag_resumed(self, started: float) -> None:
        self.told.append((702, started))

    def defrag_completed(self, summary: DefragSummary, *, resumed: bool) -> None:
        self.told.append((703 if resumed else 701, summary))

    def defrag_interrupted(self) -> None:
        self.told.append((704,))

    def defrag_failed(self, error: int) -> None:
        self.told.append((705, error))


class Bench(NamedTuple):
    """One opened database and what works on it."""

    disk: SimDisk
    database: Database
    clock: VirtualClock
    reports: Recorder
    counters: Counters
    defrag: Defrag

    def tree(self) -> BTree:
        return self.database.table("mail")

    def state(self) -> DefragState:
        return self.database.state(TABLE, DefragState) or DefragState()

    def records(self) -> dict[bytes, bytes]:
        return dict(self.tree().scan())

    def free(self) -> int:
        return self.database.space.free_pages()

    def invocation(self, until: float = START * 2) -> int:
        """Run one to its end, in virtual time; how many steps it took."""
        return finish(self.defrag.invocation(at(until)), self.clock)

    def reopened(self, disk: SimDisk | None = None, *, cache_pages: int = 50) -> "Bench":
        """The next life of the database, on what the last one left, or a crash of it."""
        if disk is None:
            self.database.close(self.clock.now())
        now, disk = self.clock.now(), disk or self.disk
        database = Database.open(disk, NAME, cache_pages=cache_pages, now=now)
        return bench(disk, database, now)


def at(time: float) -> Limit:
    """A window that closes then, and no earlier."""
    return lambda: time


def finish(task: Task, clock: VirtualClock) -> int:
    """Run a task to its end, in virtual time; how many steps it took."""
    steps = 0
    for seconds in task:
        clock.begin(clock.now() + seconds)
        steps += 1
    return steps


def bench(disk: SimDisk, database: Database, now: float = START) -> Bench:
    clock, reports, counters = VirtualClock(now), Recorder(), Counters()
    defrag = Defrag(database, reports, counters, clock, pause=PAUSE)
    return Bench(disk, database, clock, reports, counters, defrag)


def made(*, page_size: int = 4096, cache_pages: int = 50, seed: int = 1) -> Bench:
    """A database with an empty table `mail`."""
    disk, chance = SimDisk(random.Random(seed)), random.Random(seed)
    database = Database.create(
        disk, NAME, page_size=page_size, cache_pages=cache_pages, now=START, chance=chance
    )
    with database.store.begin() as transaction:
        database.create_table(transaction, plain("mail"))
    database.store.flush()
    return bench(disk, database)


def filled(count: int, *, kept: int = 1, cache_pages: int = 50) -> Bench:
    """With `count` records of 100 bytes, of which every `kept`-th is there."""
    found = made(cache_pages=cache_pages)
    tree = found.tree()
    for begin in range(0, count, 200):
        with found.database.store.begin() as transaction:
            for number in range(begin, min(begin + 200, count)):
                tree.insert(transaction, key(number), bytes(100))
    thin(found, count, kept)
    return found


def thin(found: Bench, count: int, kept: int) -> None:
    """Delete all but every `kept`-th of the first `count` records."""
    tree = found.tree()
    for begin in range(0, count, 200):
        with found.database.store.begin() as transaction:
            for number in range(begin, min(begin + 200, count)):
                if number % kept:
                    tree.delete(transaction, key(number))
    found.database.store.flush()


def key(number: int) -> bytes:
    return struct.pack(">I", number)
