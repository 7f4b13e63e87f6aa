"""The checksum scan: what it reads, when it tells what, and that it goes on after any stop."""

import random
from typing import NamedTuple

import msgspec
import pytest

from eselab.base.clock import VirtualClock
from eselab.base.trouble import Trouble
from eselab.check.check import check
from eselab.disk.disk import SimDisk
from eselab.disk.file import File
from eselab.logs.counters import Counters
from eselab.logs.reports import Reports, ScanSummary
from eselab.maintenance.dbscan import READ_BYTES, TABLE, DatabaseScan, ScanState
from eselab.storage.database import Database
from eselab.storage.tables.space import SYSTEM_ROOT, Space
from tests.eselab.databases import NAME, NOW
from tests.support.each import of_each

THROTTLE = 0.5
LONG = NOW * 2
Told = tuple[object, ...]


class Recorder(Reports):
    """Keeps what is logged: the event and its figures; of a bad page its kind and number."""

    def __init__(self) -> None:
        self.told: list[Told] = []

    def scan_begun(self) -> None:
        self.told.append((717,))

    def scan_resumed(self, started: float) -> None:
        self.told.append((719, started))

    def scan_completed(self, summary: ScanSummary) -> None:
        self.told.append((721, summary))

    def scan_interrupted(self) -> None:
        self.told.append((725,))

    def scan_failed(self, error: int, seconds: float) -> None:
        self.told.append((723, error, seconds))

    def page_error(self, trouble: Trouble) -> None:
        self.told.append((trouble.kind, trouble.number))

    def taken(self) -> list[Told]:
        told, self.told = self.told, []
        return told


class Odd(msgspec.Struct):
    """No state of a scan."""

    page: str = "one"


class ListeningDisk(SimDisk):
    """Keeps which reads of the database were made; fails those from `bad_from` on."""

    def __init__(self) -> None:
        super().__init__(random.Random(1))
        self.reads: list[tuple[int, int]] = []
        self.bad_from: int | None = None

    def open(self, name: str, *, create: bool = False) -> File:
        file = super().open(name, create=create)
        return ListeningFile(file, self) if name == NAME else file


class ListeningFile:
    def __init__(self, file: File, disk: ListeningDisk) -> None:
        self._disk = disk
        self.write, self.sync, self.size = file.write, file.sync, file.size
        self.truncate, self.close, self._read = file.truncate, file.close, file.read

    def read(self, offset: int, length: int) -> bytes:
        self._disk.reads.append((offset, length))
        if self._disk.bad_from is not None and offset + length > self._disk.bad_from:
            raise OSError(5, "Input/output error")
        return self._read(offset, length)


STATES = 33
"""The root of the table of states."""

IN_USE = 24
"""Pages of 4 KiB of a new database that are not blank: three of the file, five of each catalog with
two leaves, three of each index of it, MSysObjids, MSysLocales, and three of the table of states."""


class Bench(NamedTuple):
    disk: SimDisk
    database: Database
    clock: VirtualClock
    reports: Recorder
    counters: Counters
    scan: DatabaseScan

    def run(self, until: float = LONG, *, steps: int | None = None) -> list[Told]:
        """An invocation in virtual time, or its first steps; what was logged."""
        task = self.scan.invocation(lambda: until)
        for step, seconds in enumerate(task, 1):
            self.clock.begin(self.clock.now() + seconds)
            if step == steps:
                break
        return self.reports.taken()

    def state(self) -> ScanState:
        return self.database.state(TABLE, ScanState) or ScanState()

    def reopened(self, disk: SimDisk) -> "Bench":
        """The next life of the database, a day later."""
        return bench(disk, Database.open(disk, NAME, cache_pages=50, now=NOW), self.clock.now())


def bench(disk: SimDisk, database: Database, now: float = NOW) -> Bench:
    clock, reports, counters = VirtualClock(now), Recorder(), Counters()
    database.store._watcher = reports
    scan = DatabaseScan(database, reports, counters, clock, pause=THROTTLE)
    return Bench(disk, database, clock, reports, counters, scan)


def made(pages: int, *, page_size: int = 4096, disk: SimDisk | None = None) -> Bench:
    """A database of that many pages, all but a few of them blank."""
    disk = disk or SimDisk(random.Random(1))
    database = Database.create(
        disk, NAME, page_size=page_size, cache_pages=50, now=NOW, chance=random.Random(1)
    )
    grow(database, pages)
    return bench(disk, database)


def grow(database: Database, pages: int) -> None:
    space = Space(database.store, SYSTEM_ROOT, SYSTEM_ROOT)
    with database.store.begin() as transaction:
        more = pages - transaction.pages
        first = transaction.extend(more)
        for tree in (space._owned, space._available):
            tree.put(transaction, range(first, first + more))
    database.store.checkpoint()


@pytest.mark.parametrize(("page_size", "pages"), [(4096, 80), (8192, 40), (16384, 20), (32768, 10)])
def test_a_pass_reads_every_page_once_in_sequence_320_kb_a_time(page_size: int, pages: int) -> None:
    disk = ListeningDisk()
    found = made(pages * 6 + 5, page_size=page_size, disk=disk)
    found.run(NOW + THROTTLE)
    disk.reads.clear()
    found.run()
    size = page_size
    batches = [(at, length) for at, length in disk.reads if length > size]
    assert batches == [
        *(((read * pages + 2) * size, READ_BYTES) for read in range(1, 6)),
        ((6 * pages + 2) * size, 5 * size),
    ]
    assert found.counters.scan_pages_read == pages * 6 + 5


def test_a_whole_pass_in_one_invocation_is_begun_and_completed() -> None:
    found = made(200)
    began = found.clock.now()
    assert found.run() == [
        (717,),
        (
            721,
            ScanSummary(
                started=began, ended=began + 3 * THROTTLE, seconds=3 * THROTTLE, invocations=1,
                pages_seen=200, bad_checksums=0, uninitialized=200 - IN_USE,
            ),
        ),
    ]  # fmt: skip
    state = found.state()
    assert (state.is_open, state.completions, state.completed) == (False, 1, began + 3 * THROTTLE)
    assert check(found.disk, NAME).faults == []


def test_a_pass_goes_on_in_the_next_invocation_and_the_next_one_begins_a_new_pass() -> None:
    found = made(400)
    assert found.run(NOW + 2 * THROTTLE) == [(717,), (725,)]
    assert (found.state().page, found.state().pages_seen) == (161, 160)
    found.clock.begin(NOW + 86400)
    assert found.run(NOW + 86400 + THROTTLE) == [(719, NOW), (725,)]
    found.clock.begin(NOW + 2 * 86400)
    ((_, started), (_, summary)) = found.run()
    assert started == NOW
    assert isinstance(summary, ScanSummary)
    assert (summary.invocations, summary.pages_seen, summary.seconds) == (3, 400, 5 * THROTTLE)
    assert summary.ended == NOW + 2 * 86400 + 2 * THROTTLE
    assert [event[0] for event in found.run()] == [717, 721]
    assert found.counters.scan_pages_read == 800


def test_an_invocation_whose_time_is_over_does_nothing() -> None:
    found = made(100)
    assert found.run(NOW) == []
    assert found.database.state(TABLE, ScanState) is None


def test_the_end_may_be_moved_up_while_the_scan_runs() -> None:
    found, limits = made(400), [LONG, LONG, LONG, 0.0]
    task = found.scan.invocation(lambda: limits.pop(0) if len(limits) > 1 else limits[0])
    assert len(list(task)) == 1
    assert found.reports.taken() == [(717,), (725,)]


def test_pages_that_are_added_during_the_pass_are_seen_too() -> None:
    found = made(100)
    task = found.scan.invocation(lambda: LONG)
    next(task)
    grow(found.database, 300)
    for _ in task:
        pass
    (_, (_, summary)) = found.reports.taken()
    assert isinstance(summary, ScanSummary)
    assert summary.pages_seen == 300


def damage(disk: SimDisk, number: int, data: bytes, at: int = 200, size: int = 4096) -> None:
    file = disk.open(NAME)
    file.write((number + 1) * size + at, data)
    file.sync()


def test_bad_pages_are_told_and_counted_and_the_scan_goes_on() -> None:
    found = made(200)
    file = found.disk.open(NAME)
    damage(found.disk, 1, b"bad")
    damage(found.disk, 4, bytes([file.read(5 * 4096 + 200, 1)[0] ^ 1]))
    damage(found.disk, 150, b"bad")
    told = found.run()
    assert told[:-1] == [(717,), ("checksum", 1), ("corrected", 4), ("checksum", 150)]
    summary = told[-1][1]
    assert isinstance(summary, ScanSummary)
    assert (summary.bad_checksums, summary.uninitialized) == (2, 200 - IN_USE - 1)


def test_a_page_in_the_place_of_another_counts_and_a_lost_write_does_not() -> None:
    found = made(60, page_size=16384)
    file, size = found.disk.open(NAME), 16384
    old = file.read((STATES + 1) * size, size)
    with found.database.store.begin() as transaction:
        found.database.set_state(transaction, "other", ScanState())
    found.database.store.checkpoint()
    file.write(51 * size, file.read(2 * size, size))
    file.write((STATES + 1) * size, old)
    told = found.run()
    assert told[:-1] == [(717,), ("lost_flush", STATES), ("wrong_page", 50)]
    summary = told[-1][1]
    assert isinstance(summary, ScanSummary)
    assert summary.bad_checksums == 1


def test_a_kill_loses_at_most_what_was_not_saved_and_no_page_of_a_pass_counts_twice() -> None:
    found = made(1000)
    assert found.run(steps=6) == [(717,)]
    assert found.counters.scan_pages_read == 480
    found.database.store.flush()
    after = found.reopened(found.disk.crash())
    assert (after.state().page, after.state().pages_seen) == (321, 320)
    ((event, _), (_, summary)) = after.run()
    assert event == 719
    assert isinstance(summary, ScanSummary)
    assert (summary.invocations, summary.pages_seen) == (2, 1000)
    assert after.counters.scan_pages_read == 680


@pytest.mark.slow
@of_each(range(10))
def test_a_pass_through_any_kills_and_windows_sees_each_page_once(seed: int) -> None:
    chance = random.Random(seed)
    found, told, invocations = made(1200), list[Told](), 0
    damage(found.disk, 700, b"bad")
    while not any(event[0] == 721 for event in told):
        invocations += 1
        if chance.random() < 0.5:
            told = found.run(steps=chance.randrange(1, 9))
            found = found.reopened(found.disk.crash())
        else:
            told = found.run(found.clock.now() + chance.uniform(0.1, 4))
        began = told[0]
        assert began == ((717,) if invocations == 1 else (719, NOW))
    summary = told[-1][1]
    assert isinstance(summary, ScanSummary)
    assert summary.invocations == invocations
    assert (summary.pages_seen, summary.bad_checksums) == (1200, 1)
    assert check(found.disk.crash(), NAME).bad == [700]


def test_what_an_event_says_is_durable_when_it_is_told() -> None:
    found = made(100)
    found.run(NOW + THROTTLE)
    after = found.reopened(found.disk.crash())
    assert after.state().pages_seen == 80
    after.run()
    last = after.reopened(after.disk.crash())
    assert (last.state().is_open, last.state().completions) == (False, 1)


def test_a_read_that_fails_is_told_and_the_next_invocation_goes_on_there() -> None:
    disk = ListeningDisk()
    found = made(400, disk=disk)
    disk.bad_from = 250 * 4096
    assert found.run() == [(717,), (723, -1022, 3 * THROTTLE)]
    assert (found.state().page, found.state().pages_seen) == (241, 240)
    disk.bad_from = None
    ((event, _), (_, summary)) = found.run()
    assert (event, isinstance(summary, ScanSummary) and summary.pages_seen) == (719, 400)


def test_a_state_on_a_bad_page_is_told_as_an_error() -> None:
    found = made(100)
    found.run(NOW + THROTTLE)
    found.database.close(NOW)
    damage(found.disk, STATES, b"bad")
    after = found.reopened(found.disk)
    assert after.run() == [("checksum", STATES), (723, -1018, 0.0)]


def test_a_state_that_is_none_is_told_as_a_corrupted_database() -> None:
    found = made(100)
    with found.database.store.begin() as transaction:
        found.database.set_state(transaction, TABLE, Odd())
    assert found.run() == [(723, -1206, 0.0)]
