"""Databases that are scanned in the background, and what was logged: helpers of its tests."""

import random
from typing import NamedTuple

from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY, DatabasePlan, MailPlan, Plan
from eselab.base.trouble import Trouble
from eselab.disk.disk import SimDisk
from eselab.logs.counters import Counters
from eselab.logs.reports_current import BackgroundSummary, PassiveReports
from eselab.maintenance.background_scan import BackgroundScan, BackgroundState, PassiveScan
from eselab.maintenance.dbscan import TABLE
from eselab.storage.database import Database
from tests.eselab.databases import NAME, NOW
from tests.eselab.maintenance.test_dbscan import ListeningDisk, grow

PAGE = 4096
PACE = 64.0
"""Bytes a second: a page takes 64 s, a read of 16 pages 1,024 s."""
READ = 1024.0
LONG = NOW * 2
Told = tuple[object, ...]


class Recorder(PassiveReports):
    """Keeps the events of a scan and of bad pages; other events are not expected."""

    def __init__(self) -> None:
        self.told: list[Told] = []

    def maintenance_begun(self) -> None:
        self.told.append((736,))

    def maintenance_resumed(self, started: float, page: int) -> None:
        self.told.append((738, started, page))

    def maintenance_running(self, started: float, pages_seen: int) -> None:
        self.told.append((744, started, pages_seen))

    def maintenance_completed(self, summary: BackgroundSummary, *, late: bool) -> None:
        self.told.append((735 if late else 737, summary))

    def maintenance_not_begun(self, error: int) -> None:
        self.told.append((734, error))

    def scan_begun(self) -> None:
        self.told.append((717,))

    def scan_resumed(self, started: float) -> None:
        self.told.append((719, started))

    def checksum_completed(self, summary: BackgroundSummary) -> None:
        self.told.append((732, summary))

    def checksum_late(self, started: float) -> None:
        self.told.append((733, started))

    def checksum_aborted(self, page: int, completed: float, run_pages: int) -> None:
        self.told.append((745, page, completed, run_pages))

    def page_error(self, trouble: Trouble) -> None:
        self.told.append((trouble.kind, trouble.number))

    def taken(self) -> list[Told]:
        told, self.told = self.told, []
        return told


class Bench(NamedTuple):
    disk: ListeningDisk
    database: Database
    clock: VirtualClock
    reports: Recorder
    counters: Counters
    scan: BackgroundScan

    def run(self, until: float = LONG, *, steps: int | None = None) -> list[Told]:
        """An invocation in virtual time, or its first steps; what was logged."""
        for step, seconds in enumerate(self.scan.invocation(lambda: until), 1):
            self.clock.begin(self.clock.now() + seconds)
            if step == steps:
                break
        return self.reports.taken()

    def state(self) -> BackgroundState:
        return self.database.state(TABLE, BackgroundState) or BackgroundState()

    def reopened(self, disk: SimDisk | None = None) -> "Bench":
        """The next life of the database, on what the last one left, or a crash of it."""
        if disk is None:
            self.database.close(self.clock.now())
        now, disk = self.clock.now(), disk or self.disk
        database = Database.open(disk, NAME, cache_pages=50, now=now)
        return bench(disk, database, now, passive=isinstance(self.scan, PassiveScan))


def bench(disk: SimDisk, database: Database, now: float = NOW, *, passive: bool = False) -> Bench:
    clock, reports, counters = VirtualClock(now), Recorder(), Counters()
    database.store._watcher = reports
    kind = PassiveScan if passive else BackgroundScan
    scan = kind(database, reports, counters, clock, pace=PACE, day=DAY)
    assert isinstance(disk, SimDisk)
    return Bench(disk, database, clock, reports, counters, scan)  # type: ignore[arg-type]


def made(pages: int, *, passive: bool = False) -> Bench:
    """A database of that many pages, all but a few of them blank."""
    disk = ListeningDisk()
    database = Database.create(
        disk, NAME, page_size=PAGE, cache_pages=50, now=NOW, chance=random.Random(1)
    )
    grow(database, pages)
    return bench(disk, database, passive=passive)


def current_plan(**changes: object) -> Plan:
    """A small database of a current engine, scanned in 34 hours; `changes` to it."""
    database = DatabasePlan(
        name="a",
        pages=120,
        cache_pages=40,
        generation="current",
        scan_pace=16.0,
        defrag_pause=2.0,
        mail=MailPlan(kept=6.0),
    )
    given = {name: getattr(database, name) for name in database.__struct_fields__}
    return Plan(databases=[DatabasePlan(**{**given, **changes})], sample=300.0)
