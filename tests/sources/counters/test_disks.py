"""The source over the disks of a machine, and what the fold makes of it."""

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from esefiles.base.block_devices import BlockDevices
from esewatch.config import DatabaseRule, Settings, default_settings
from esewatch.ese.volumes import volume_of
from esewatch.fold.channels.clock_guard import EARLIEST_NOW
from esewatch.fold.folder import Folder
from esewatch.fold.instances.counters import volume_levels
from esewatch.fold.state.state import State
from esewatch.model import Batch, Feed, Reading, SourceError, VolumesSeen
from esewatch.sources.counters.disks import DisksSource, Machine
from esewatch.sources.counters.poll_timer import PollTimer, SampleClock
from tests.sources.machine import Counted, FakeMachine, Partition


class Used(NamedTuple):
    """What psutil says of the room on a file system."""

    free: int


class Bench:
    """A source over a fake machine, with clocks by hand."""

    def __init__(self, root: Path, *, linux: bool = True) -> None:
        self.free: dict[str, int] = {}
        self.elsewhere: list[Partition] = []
        self.measured: list[str] = []
        self.now = 1000.0
        self.fake = FakeMachine(root)
        self.asked: list[dict[str, Any]] = []
        self.source = DisksSource(
            "disks",
            interval=15.0,
            computer="ex01",
            machine=Machine(
                BlockDevices(root), self._counters, self._partitions, self._usage, linux=linux
            ),
            pace=PollTimer(15.0, lambda: self.now),
            clock=SampleClock(lambda: self.now),
        )
        self.folder = Folder(State(), default_settings())
        self.folder.open_source("disks", 0.0)

    def _counters(self, **wanted: Any) -> dict[str, Any]:
        self.asked.append(wanted)
        return self.fake.counters

    def _partitions(self, all: bool) -> list[Any]:
        return [*self.fake.partitions, *(self.elsewhere if all else [])]

    def _usage(self, point: str) -> Used:
        self.measured.append(point)
        if point not in self.free:
            raise PermissionError(errno.EACCES, "Permission denied", point)
        return Used(self.free[point])

    def sample(self, **counted: Counted) -> Batch:
        """Set the counters of disks, let the interval pass and take the sample."""
        self.fake.counters.update(counted)
        self.now += 15.0
        (batch,) = self.source.poll()
        self.folder.fold("disks", batch)
        return batch

    def totals(self, device: str) -> dict[str, float]:
        return self.folder.state.devices["ex01", device].totals


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def readings(batch: Batch) -> list[Reading]:
    return [record for record in batch.records if isinstance(record, Reading)]


def test_a_sample_has_six_running_totals_of_each_whole_disk(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    bench.fake.disk("sdb", device__wwid="naa.2")
    bench.fake.partition("sda", "sda1")
    bench.fake.on_top("dm-0", "sda1")

    batch = bench.sample()

    assert {
        (reading.instance, reading.feed and reading.feed.name) for reading in readings(batch)
    } == {
        ("sda", "lun7"),
        ("sdb", "naa.2"),
    }
    assert len(readings(batch)) == 12
    assert {reading.kind for reading in readings(batch)} == {"total"}
    assert {reading.computer for reading in readings(batch)} == {"ex01"}
    assert batch.caught_up
    assert bench.asked == [{"perdisk": True, "nowrap": False}]


def test_growth_of_two_disks_comes_out_in_seconds_and_bytes(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    bench.fake.disk("sdb", serial="lun8")
    bench.sample(sda=Counted(10, 20, 4096, 8192, 1500, 2500))

    bench.sample(
        sda=Counted(13, 24, 4096 + 1024, 8192 + 2048, 1500 + 750, 2500 + 1250),
        sdb=Counted(1, 0, 512, 0, 9, 0),
    )

    assert bench.totals("lun7") == pytest.approx(
        {
            "ese_device_reads_total": 3,
            "ese_device_writes_total": 4,
            "ese_device_read_bytes_total": 1024,
            "ese_device_write_bytes_total": 2048,
            "ese_device_read_seconds_total": 0.75,
            "ese_device_write_seconds_total": 1.25,
        }
    )
    assert bench.totals("lun8")["ese_device_read_seconds_total"] == pytest.approx(0.009)


def test_times_that_wrap_at_32_bits_are_unwrapped_and_nothing_else_is(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    high = 2**32 - 1000
    bench.sample(sda=Counted(read_time=high, read_bytes=high, read_count=high))

    bench.sample(sda=Counted(read_time=500, read_bytes=500, read_count=500))

    totals = bench.totals("lun7")
    assert totals["ese_device_read_seconds_total"] == pytest.approx(1.5)
    assert totals["ese_device_read_bytes_total"] == 500
    assert totals["ese_device_reads_total"] == 500


def test_growth_while_nobody_looked_is_kept(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    bench.sample(sda=Counted(read_count=10))
    bench.now += 7 * 86400.0

    bench.sample(sda=Counted(read_count=1_000_010))

    assert bench.totals("lun7")["ese_device_reads_total"] == 1_000_000


def test_paths_to_one_disk_are_added_up(bench: Bench) -> None:
    for name in ("sda", "sdb"):
        bench.fake.disk(name, device__wwid="naa.6001")
    bench.sample()

    bench.sample(sda=Counted(read_count=3), sdb=Counted(read_count=4))

    assert bench.totals("naa.6001")["ese_device_reads_total"] == 7


def test_before_the_interval_has_passed_nothing_is_read(bench: Bench) -> None:
    bench.fake.disk("sda")
    bench.sample()
    bench.now += 14.0

    (batch,) = bench.source.poll()

    assert (batch.records, batch.positions, batch.caught_up) == ([], {}, True)
    assert len(bench.asked) == 1


def test_volumes_are_told_first_and_when_they_change(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    bench.fake.partitions = [Partition("/dev/sda", "/srv")]

    told = []
    for _ in range(3):
        told += [item for item in bench.sample().records if isinstance(item, VolumesSeen)]
    bench.fake.partitions = [Partition("/dev/sda", "/srv"), Partition("/dev/sda", "/data")]
    told += [item for item in bench.sample().records if isinstance(item, VolumesSeen)]

    assert [seen.devices for seen in told] == [
        {"/srv": "lun7"},
        {"/srv": "lun7", "/data": "lun7"},
    ]
    assert bench.folder.state.hosts["ex01"].volumes == {"/srv": "lun7", "/data": "lun7"}


def free_space(batch: Batch) -> dict[str, float]:
    return {item.instance: item.value for item in readings(batch) if item.counter == "free"}


def test_local_file_systems_tell_how_much_is_free(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    bench.fake.partitions = [Partition("/dev/sda1", "/"), Partition("/dev/sda2", "/srv/logs")]
    bench.free = {"/": 5 << 30, "/srv/logs": 7 << 30}

    batch = bench.sample()

    assert free_space(batch) == {"/": 5 << 30, "/srv/logs": 7 << 30}
    found = next(item for item in readings(batch) if item.instance == "/srv/logs")
    assert (found.kind, found.computer) == ("level", "ex01")
    assert found.feed == Feed(
        metric="ese_volume_free_bytes", owner="computer", labels=("/srv/logs",)
    )


def test_a_volume_of_windows_that_is_mounted_in_a_folder_is_not_taken_for_that_of_its_drive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """psutil lists the drive alone where it does not run as an administrator."""
    places = {"one": ["C:\\"], "two": ["C:\\Databases\\DB01\\"], "three": []}

    def mounts(volume: str) -> list[str]:
        if volume == "four":
            raise PermissionError(5, "Access is denied")
        return places[volume]

    monkeypatch.setattr(os, "listvolumes", lambda: [*places, "four"], raising=False)
    monkeypatch.setattr(os, "listmounts", mounts, raising=False)
    bench = Bench(tmp_path, linux=False)
    bench.fake.disk("PhysicalDrive0")
    bench.fake.partitions = [Partition("C:\\", "C:\\", "NTFS")]
    bench.free = {"C:\\": 5 << 30, "C:\\Databases\\DB01\\": 7 << 30}

    found = free_space(bench.sample())

    assert sorted(found.values()) == [5 << 30, 7 << 30]
    assert volume_of("C:\\Databases\\DB01\\E00.log", list(found)) == next(
        volume for volume, free in found.items() if free == 7 << 30
    )


def test_a_share_is_not_asked_but_known_to_be_there(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    bench.fake.partitions = [Partition("/dev/sda1", "/")]
    bench.elsewhere = [Partition("filer:/logs", "/srv/logs", "nfs")]
    bench.free = {"/": 5 << 30, "/srv/logs": 7 << 30}

    assert free_space(bench.sample()) == {"/": 5 << 30, "/srv/logs": -1}
    assert bench.measured == ["/"]


def test_what_is_mounted_over_a_file_system_hides_it(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    bench.fake.partitions = [Partition("/dev/sda1", "/srv/logs")]
    bench.elsewhere = [Partition("filer:/logs", "/srv/logs", "nfs")]
    bench.free = {"/srv/logs": 7 << 30}

    assert free_space(bench.sample()) == {"/srv/logs": -1}


def test_a_file_system_that_cannot_be_measured_is_not_known(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    bench.fake.partitions = [Partition("/dev/sda1", "/"), Partition("/dev/sda2", "/srv/logs")]
    bench.free = {"/": 5 << 30}

    assert free_space(bench.sample()) == {"/": 5 << 30, "/srv/logs": -1}


def test_there_is_a_limit_to_volumes(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    bench.elsewhere = [Partition("overlay", f"/srv/{number}", "overlay") for number in range(1200)]

    assert len(free_space(bench.sample())) == 1000


def test_the_fold_keeps_the_volume_of_the_logs_alone(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    bench.fake.partitions = [Partition("/dev/sda1", "/data"), Partition("/dev/sda2", "/srv/logs")]
    bench.free = {"/data": 5 << 30, "/srv/logs": 7 << 30}
    bench.folder.reconfigure(Settings(databases=[DatabaseRule(match="*", log_path="/srv/logs/a")]))

    bench.sample()

    levels = volume_levels(bench.folder.state.hosts["ex01"])
    assert {name: level.value for name, level in levels.items()} == {"/srv/logs": 7 << 30}


def test_on_windows_drives_and_mount_points_have_one_spelling(tmp_path: Path) -> None:
    bench = Bench(tmp_path, linux=False)
    bench.fake.counters = {"PhysicalDrive0": Counted()}
    bench.fake.partitions = [
        Partition("C:\\", "C:\\", "NTFS"),
        Partition("C:\\", "C:\\Mounts\\SG06\\", "NTFS"),
    ]
    bench.elsewhere = [Partition("Z:\\", "Z:\\", "NTFS")]
    bench.free = {"C:\\": 1, "C:\\Mounts\\SG06\\": 2}

    found = [item for item in readings(bench.sample()) if item.counter == "free"]

    labels = {item.feed.labels: item.value for item in found if item.feed}
    assert labels == {("c:",): 1, ("c:\\mounts\\sg06",): 2}


def test_without_sysfs_one_line_says_what_to_do(bench: Bench) -> None:
    (bench.fake.root / "sys/block").rmdir()

    with pytest.raises(SourceError, match=r"^/sys/block cannot be read: .*mount /sys here$"):
        bench.sample()


def test_a_failed_sample_is_taken_again_at_the_next_look(bench: Bench) -> None:
    for _ in range(2):
        with pytest.raises(SourceError, match="no physical disk"):
            list(bench.source.poll())
    bench.fake.disk("sda")

    (batch,) = bench.source.poll()

    assert len(readings(batch)) == 6


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(errno.EACCES, "Permission denied"),
        NotImplementedError("no diskstats"),
        ValueError("not sure how to interpret line"),
        psutil.AccessDenied(),
    ],
)
def test_counters_that_cannot_be_read_are_a_source_error(error: Exception) -> None:
    def fails(**_: object) -> dict[str, Any]:
        raise error

    source = DisksSource("disks", interval=15.0, machine=Machine(counters=fails))

    with pytest.raises(SourceError, match="disk counters cannot be read"):
        list(source.poll())


def test_mounts_that_cannot_be_read_cost_only_the_volumes(bench: Bench) -> None:
    def fails(all: bool) -> list[Any]:
        raise PermissionError(errno.EACCES, "Permission denied")

    bench.fake.disk("sda")
    machine = Machine(BlockDevices(bench.fake.root), bench._counters, fails, linux=True)
    source = DisksSource("disks", interval=15.0, machine=machine)

    (batch,) = source.poll()

    assert len(readings(batch)) == 6
    assert [item.devices for item in batch.records if isinstance(item, VolumesSeen)] == [{}]


def test_elsewhere_disks_have_their_names_and_no_times(tmp_path: Path) -> None:
    bench = Bench(tmp_path, linux=False)
    bench.fake.counters = {"PhysicalDrive0": Counted(read_count=2**32 - 5, read_time=17)}
    bench.sample()

    bench.sample(PhysicalDrive0=Counted(read_count=5, read_bytes=512, read_time=18))

    assert bench.totals("PhysicalDrive0") == {
        "ese_device_reads_total": 10,
        "ese_device_writes_total": 0,
        "ese_device_read_bytes_total": 512,
        "ese_device_write_bytes_total": 0,
    }


def test_the_clock_going_back_does_not_stop_the_totals(bench: Bench) -> None:
    wall: Callable[[], float] = iter([9000.0, 100.0, 100.0]).__next__
    bench.source._clock = SampleClock(wall)
    bench.fake.disk("sda", serial="lun7")
    bench.sample(sda=Counted(read_count=1))

    bench.sample(sda=Counted(read_count=2))
    bench.sample(sda=Counted(read_count=4))

    assert bench.totals("lun7")["ese_device_reads_total"] == 3


def test_a_clock_that_was_years_ahead_silences_no_disk(bench: Bench) -> None:
    bench.fake.disk("sda", serial="lun7")
    for count, now in enumerate((EARLIEST_NOW + 9e7, EARLIEST_NOW, EARLIEST_NOW + 15.0)):
        bench.fake.counters["sda"] = Counted(read_count=100 + count)
        bench.now = now
        (batch,) = bench.source.poll()
        bench.folder.fold("disks", batch, now)
        bench.source._pace.again()

    assert bench.totals("lun7")["ese_device_reads_total"] == 2
    assert bench.folder.state.sources["disks"].implausible == 0


@pytest.mark.skipif(sys.platform != "linux", reason="this reads sysfs")
def test_on_this_machine_totals_do_not_fall_and_volumes_lie_on_known_devices() -> None:
    source = DisksSource("disks", interval=1.0, pace=PollTimer(0.0))
    try:
        (first,) = source.poll()
    except SourceError as error:
        pytest.skip(f"no disks here: {error}")
    (second,) = source.poll()

    before = {(item.instance, item.counter): item for item in readings(first)}
    after = {(item.instance, item.counter): item for item in readings(second)}
    devices = {item.feed.name for item in before.values() if item.feed}
    seen = [item for item in first.records if isinstance(item, VolumesSeen)]
    assert before.keys() == after.keys()
    assert all(after[key].time > item.time for key, item in before.items())
    assert all(
        after[key].value >= item.value >= 0
        for key, item in before.items()
        if not (item.feed and item.feed.wraps)
    )
    assert all(set(item.devices.values()) <= devices for item in seen)
    assert not [name for name, _ in before if name.startswith(("loop", "ram", "zram", "dm-", "md"))]
