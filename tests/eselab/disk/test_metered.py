"""What the meter counts, and which slow requests are told."""

import random
from collections.abc import Callable

import pytest

from eselab.base.clock import VirtualClock
from eselab.base.trouble import Nobody, SlowRequest, Watcher
from eselab.disk.device import Device
from eselab.disk.disk import SimDisk, SimFile
from eselab.disk.file import File
from eselab.disk.metered import Figures, Meter, MeteredDisk
from eselab.maintenance.schedule import Schedule, Task

LIMIT = 15.0


class Watching(Nobody):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[SlowRequest] = []

    def slow_request(self, slow: SlowRequest) -> None:
        self.told.append(slow)


class SlowDisk(SimDisk):
    """A read takes `seconds`, or fails where they are under 0; a sync takes 0.25."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(random.Random(0))
        self.clock = clock
        self.seconds = 0.0

    def open(self, name: str, *, create: bool = False) -> File:
        return SlowFile(self._file(name, create=create), self)


class SlowFile(SimFile):
    """A file of it."""

    def __init__(self, file: SimFile, disk: SlowDisk) -> None:
        super().__init__(file._content)
        self.disk = disk

    def read(self, offset: int, length: int) -> bytes:
        if self.disk.seconds < 0:
            raise OSError("gone")
        self.disk.clock.spend(self.disk.seconds)
        return super().read(offset, length)

    def sync(self) -> None:
        self.disk.clock.spend(0.25)
        super().sync()


class Rig:
    """A metered disk over a device that takes 1 s for 1000 bytes, and seeks in no time."""

    def __init__(self, watcher: Watcher | None = None) -> None:
        self.clock = VirtualClock(1.7e9)
        self.meter = Meter()
        self.watching = Watching()
        self.device = Device(self.clock, seek=0.0, rate=1000.0)
        self.below = SlowDisk(self.clock)
        self.disk = MeteredDisk(
            self.below,
            self.clock,
            self.meter,
            device=self.device,
            slow=LIMIT,
            watcher=watcher or self.watching,
            path="/d/".__add__,
        )

    def open(self, name: str = "a.edb") -> File:
        return self.disk.open(name, create=True)

    def write(self, file: File, *, seconds: float, at: float) -> None:
        """A write that begins `at` seconds after the start and takes `seconds`."""
        self.clock.begin(1.7e9 + at)
        file.write(0, bytes(round(seconds * 1000)))


def totals(figures: Figures) -> tuple[int, float, int]:
    return figures.requests, round(figures.seconds, 4), figures.bytes


def test_requests_are_counted_by_the_kind_of_the_file_and_the_operation() -> None:
    rig = Rig()
    database, log = rig.open("a.edb"), rig.open("E00.log")
    database.write(0, bytes(2000))
    database.read(0, 1000)
    database.read(1500, 1000)
    log.write(0, bytes(100))
    log.read(0, 50)

    assert totals(rig.meter.database_writes) == (1, 2.0, 2000)
    assert totals(rig.meter.database_reads) == (2, 1.5, 1500)
    assert totals(rig.meter.log_writes) == (1, 0.1, 100)
    assert totals(rig.meter.log_reads) == (1, 0.05, 50)


def test_the_time_of_a_sync_is_the_writes_and_is_no_request() -> None:
    rig = Rig()
    log = rig.open("E00.log")
    log.write(0, bytes(100))
    log.sync()

    assert totals(rig.meter.log_writes) == (1, 0.35, 100)


def test_other_files_are_not_counted_and_take_no_time() -> None:
    rig = Rig()
    rig.open("E00.chk").write(0, bytes(5000))

    assert rig.clock.now() == 1.7e9
    assert totals(rig.meter.database_writes) == totals(rig.meter.log_writes) == (0, 0, 0)


def test_the_wait_for_the_device_counts_and_so_does_what_the_disk_itself_takes() -> None:
    rig = Rig()
    file = rig.open()
    rig.write(file, seconds=3, at=0)
    rig.clock.begin(1.7e9 + 1)
    rig.below.seconds = 0.5
    file.read(0, 1000)

    assert totals(rig.meter.database_reads) == (1, 3.0, 1000)


def test_a_request_that_fails_is_not_counted() -> None:
    rig = Rig()
    file = rig.open()
    rig.below.seconds = -1
    with pytest.raises(OSError, match="gone"):
        file.read(0, 10)

    assert totals(rig.meter.database_reads) == (0, 0, 0)


def test_a_metered_disk_is_the_disk_in_all_else() -> None:
    rig = Rig()
    file = rig.open("a.edb")
    file.write(0, b"abc")
    file.truncate(2)
    content, size = file.read(0, 10), file.size()
    file.close()
    rig.disk.sync()
    names = rig.disk.names()
    rig.disk.remove("a.edb")

    assert (content, size, names, rig.disk.names()) == (b"ab", 2, ["a.edb"], [])
    with pytest.raises(FileNotFoundError):
        rig.disk.open("a.edb")


def test_the_first_slow_request_is_told_when_it_is_over() -> None:
    rig = Rig()
    rig.open().write(700, bytes(16_000))

    expected = SlowRequest(
        file="/d/a.edb", operation="write", offset=700, bytes=16_000, seconds=16.0
    )
    assert rig.watching.told == [expected]


def test_a_request_as_long_as_the_limit_is_not_slow() -> None:
    rig = Rig()
    rig.write(rig.open(), seconds=LIMIT, at=0)

    assert rig.watching.told == []


def told_after(rig: Rig) -> list[tuple[float, int | None, float | None]]:
    return [(slow.seconds, slow.others, slow.since) for slow in rig.watching.told]


def test_within_a_minute_others_are_passed_over_unless_they_took_half_as_long_again() -> None:
    rig = Rig()
    file = rig.open()
    rig.write(file, seconds=16, at=0)
    rig.write(file, seconds=20, at=16)
    rig.write(file, seconds=23, at=36)
    rig.write(file, seconds=24, at=59)

    assert told_after(rig) == [(16, None, None), (24, 2, 67)]


def test_half_as_long_again_is_told_at_once() -> None:
    rig = Rig()
    file = rig.open()
    rig.write(file, seconds=16, at=0)
    rig.write(file, seconds=24, at=16)

    assert told_after(rig) == [(16, None, None), (24, 0, 24)]


def test_after_a_minute_any_slow_request_is_told_with_the_count_of_those_passed_over() -> None:
    rig = Rig()
    file = rig.open()
    rig.write(file, seconds=30, at=0)
    rig.write(file, seconds=16, at=30)
    rig.write(file, seconds=16, at=46)
    rig.write(file, seconds=16, at=74)
    rig.write(file, seconds=16, at=150)

    assert told_after(rig) == [(30, None, None), (16, 2, 60), (16, 0, 76)]


def test_reads_and_writes_of_a_file_are_judged_together() -> None:
    rig = Rig()
    file = rig.open()
    rig.write(file, seconds=16, at=0)
    file.read(0, 16_000)

    assert [slow.operation for slow in rig.watching.told] == ["write"]


def test_each_open_file_is_judged_by_itself() -> None:
    rig = Rig()
    for name in ("a.edb", "E00.log", "a.edb"):
        rig.open(name).write(0, bytes(16_000))

    assert [slow.others for slow in rig.watching.told] == [None, None, None]
    assert [slow.file for slow in rig.watching.told] == ["/d/a.edb", "/d/E00.log", "/d/a.edb"]


class Acting(Watching):
    """Does something of its own in the middle of a report."""

    def __init__(self) -> None:
        super().__init__()
        self.act: Callable[[], None] = lambda: None
        self.depth = self.deepest = 0

    def slow_request(self, slow: SlowRequest) -> None:
        self.depth += 1
        self.deepest = max(self.depth, self.deepest)
        super().slow_request(slow)
        if len(self.told) < 3:
            self.act()
        self.depth -= 1


def test_what_comes_up_while_the_watcher_is_told_is_told_afterwards() -> None:
    watcher = Acting()
    rig = Rig(watcher)
    watcher.act = lambda: rig.open().write(len(watcher.told), bytes(16_000))
    rig.open().write(0, bytes(16_000))

    assert [slow.offset for slow in watcher.told] == [0, 1, 2]
    assert watcher.deepest == 1


def test_a_watcher_that_fails_is_told_again_the_next_time() -> None:
    class Failing(Watching):
        def slow_request(self, slow: SlowRequest) -> None:
            super().slow_request(slow)
            raise LookupError("failed")

    watcher = Failing()
    rig = Rig(watcher)
    for _ in range(2):
        with pytest.raises(LookupError):
            rig.open().write(0, bytes(16_000))

    assert len(watcher.told) == 2


def working(disk: MeteredDisk, chance: random.Random, said: list[object]) -> Task:
    file = disk.open("a.edb", create=True)
    log = disk.open("E00.log", create=True)
    for _ in range(100):
        for _ in range(chance.randrange(4)):
            used = chance.choice([file, log])
            if chance.random() < 0.5:
                used.write(chance.randrange(20) * 512, bytes(chance.randrange(2000)))
            else:
                said.append(used.read(chance.randrange(20) * 512, chance.randrange(2000)))
        yield chance.choice([0.0, 0.001, chance.random()])


def worked(seed: int) -> list[object]:
    """All that is to be seen of a random run."""
    rig, chance, said = Rig(), random.Random(seed), list[object]()
    schedule = Schedule(rig.clock)
    for _ in range(4):
        schedule.start(working(rig.disk, random.Random(chance.random()), said))
    rig.device.slow(20.0, chance.randrange(5))
    before = -1.0
    while schedule._waiting:
        begin = schedule._waiting[0][0]
        assert begin >= before, "a step began before one that was done already"
        before = begin
        schedule.run(begin + 0.1)
        said.append(rig.clock.now())
    figures = (*rig.meter.of("database"), *rig.meter.of("log"))
    return [*said, [totals(each) for each in figures], rig.watching.told]


@pytest.mark.parametrize("seed", range(5))
def test_the_same_seed_gives_the_same_times_and_figures(seed: int) -> None:
    assert worked(seed) == worked(seed)
    assert worked(seed) != worked(seed + 1)
