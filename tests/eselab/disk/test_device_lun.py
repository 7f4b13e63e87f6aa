"""Databases on a LUN of modelled drives, under the clock of the engine."""

import random
import shutil
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from eselab.base.clock import VirtualClock
from eselab.base.plan import DatabasePlan, DevicePlan, DisksPlan, MailPlan, Plan
from eselab.base.trouble import Nobody
from eselab.disk.device import LunDevice
from eselab.disk.disk import SimDisk
from eselab.disk.lun import Lun
from eselab.disk.metered import Meter, MeteredDisk
from eselab.disk.spindle import MODELS
from eselab.maintenance.schedule import Schedule, Task
from tests.eselab.running import machine, run

MODEL = MODELS["sas-10k-2006"]
BATCH = 320 * 1024
START = 1.2e9
A, B = "/d/a/a.edb", "/d/b/b.edb"


def lun_device(clock: VirtualClock, *, databases: int = 2, **kept: int) -> LunDevice:
    return LunDevice(clock, Lun("sas-10k-2006", **kept), databases=databases)


def took(
    device: LunDevice, clock: VirtualClock, file: str, offset: int, *, write: bool = False
) -> float:
    """Seconds of a request of 8 KB."""
    before = clock.now()
    device.use(file, offset, 8192, write=write)
    return clock.now() - before


def test_what_lies_behind_is_read_ahead_and_another_database_lies_far_away() -> None:
    clock = VirtualClock(START)
    device = lun_device(clock)
    took(device, clock, A, 0)
    on = took(device, clock, A, 8192)
    away = took(device, clock, B, 0)

    assert on < 0.0005
    # Half of the tracks away; the rest is the turn of the platter.
    assert away > MODEL.read.seconds(0.4)


def test_requests_of_two_tasks_on_one_drive_wait_for_each_other_and_on_two_do_not() -> None:
    waits = []
    for spindles, offset in ((1, 0), (2, 65536)):
        clock = VirtualClock(START)
        device = lun_device(clock, spindles=spindles)
        took(device, clock, A, 0)
        clock.begin(START + 1.0)
        first = took(device, clock, A, 8 << 20)
        clock.begin(START + 1.0)
        waits.append((first, took(device, clock, B, offset)))
    (first, second), (_, apart) = waits

    assert second > first
    assert apart < MODEL.overhead + MODEL.read.full + 60 / MODEL.rpm + 0.001


def test_a_log_write_waits_for_a_turn_and_with_a_cache_for_nothing() -> None:
    clock = VirtualClock(START)
    slow, fast = lun_device(clock), lun_device(clock, write_cache=1 << 20)
    log = "/d/a/E0000000001.log"
    for device in (slow, fast):
        took(device, clock, log, 0, write=True)
    turn = 60 / MODEL.rpm

    assert took(slow, clock, log, 8192, write=True) == pytest.approx(turn, rel=0.05)
    assert took(fast, clock, log, 8192, write=True) < turn / 10


def test_logs_follow_each_other_and_their_places_are_used_again() -> None:
    clock = VirtualClock(START)
    device = lun_device(clock)
    places = [device._place(f"/d/a/E{number:010X}.log") for number in range(1, 2049)]
    room = device._lun.capacity // 2 >> 20 << 20

    assert {b - a for a, b in pairwise(places[:1024])} == {1 << 20}
    assert places[1024:] == places[:1024]
    assert device._place(A) == 0
    assert room // 2 == places[0]
    assert device._place(B) == room


def test_more_folders_than_planned_share_the_lun_too() -> None:
    clock = VirtualClock(START)
    device = lun_device(clock, databases=1)
    for number in range(5):
        assert took(device, clock, f"/d/{number}/a.edb", 0) > 0.0005
        device.use(f"/d/{number}/a.edb", 1 << 40, 65536)


def test_a_slow_lun_keeps_the_next_request_waiting_too() -> None:
    clock = VirtualClock(START)
    device = lun_device(clock, spindles=2)
    device.slow(20.0, 1)
    assert took(device, clock, A, 0) == pytest.approx(20.0, abs=0.1)
    clock.begin(START + 5.0)
    assert took(device, clock, A, 65536) == pytest.approx(15.0, abs=0.1)
    clock.begin(START + 30.0)
    assert took(device, clock, A, 8192) < 0.1


def scan(disk: MeteredDisk) -> Task:
    """Reads a file in batches, one a step, without a pause."""
    file = disk.open("a.edb")
    for offset in range(0, file.size(), BATCH):
        file.read(offset, BATCH)
        yield 0.0


def scanned(luns: int, databases: int, spindles: int, batches: int = 100) -> tuple[float, float]:
    """(MB/s of all scans together, seconds a read) of scans that begin at once."""
    clock = VirtualClock(START)
    schedule, meter = Schedule(clock), Meter()
    share = databases // luns
    models = [lun_device(clock, databases=share, spindles=spindles) for _ in range(luns)]
    for number in range(databases):
        below = SimDisk(random.Random(0))
        below.open("a.edb", create=True).truncate(batches * BATCH)
        disk = MeteredDisk(
            below,
            clock,
            meter,
            device=models[number % luns],
            slow=15.0,
            watcher=Nobody(),
            path=f"/{number}/".__add__,
        )
        schedule.start(scan(disk))
    schedule.run()
    reads = meter.database_reads
    return reads.bytes / (clock.now() - START) / 1e6, reads.seconds / reads.requests


@pytest.mark.parametrize("spindles", [1, 4, 8])
def test_two_scans_on_one_lun_hinder_each_other_and_on_two_they_do_not(spindles: int) -> None:
    """P1 of the facts: 250 MB/s at 3.5 ms alone, 67 MB/s at 7.2 ms for two."""
    alone, wait_alone = scanned(1, 1, spindles)
    together, wait_together = scanned(1, 2, spindles)
    apart, wait_apart = scanned(2, 2, spindles)

    assert together < 0.8 * alone
    assert wait_together > 2 * wait_alone
    assert apart == pytest.approx(2 * alone, rel=0.1)
    assert wait_apart == pytest.approx(wait_alone, rel=0.1)


def on_disks(**disks: int) -> Plan:
    names = ("a", "b")
    return Plan(
        databases=[
            DatabasePlan(name=name, pages=80, device="lun", mail=MailPlan(kept=10.0))
            for name in names
        ],
        devices=[DevicePlan(name="lun", disks=msgspec.convert({"spindles": 2} | disks, DisksPlan))],
        sample=300.0,
    )


def written(folder: Path, plan: Plan) -> dict[str, bytes]:
    run(folder, plan, 0.4)
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def latency(counters: bytes, name: str) -> float:
    """The mean of a counter over all samples of all instances."""
    head, *rows = (line.split('","') for line in counters.decode().strip().splitlines())
    columns = [at for at, title in enumerate(head) if name in title]
    found = [float(row[at].strip('" ')) for row in rows for at in columns if row[at].strip('" ')]
    return sum(found) / len(found)


def test_a_machine_on_modelled_drives_does_the_same_each_time(tmp_path: Path) -> None:
    plan = on_disks(write_cache=16 << 20)
    first = written(tmp_path / "run", plan)
    shutil.rmtree(tmp_path / "run")
    assert len(first) > 8
    assert written(tmp_path / "run", plan) == first


def test_the_databases_of_a_machine_have_equal_parts_of_their_lun(tmp_path: Path) -> None:
    running = machine(tmp_path / "run", on_disks())
    device = running._devices["lun"]
    assert isinstance(device, LunDevice)
    assert device._room == device._lun.capacity // 2 >> 20 << 20
    running.close()


def test_a_write_cache_shows_in_the_counters_of_the_log(tmp_path: Path) -> None:
    without = written(tmp_path / "without", on_disks())["counters.csv"]
    cached = written(tmp_path / "cached", on_disks(write_cache=16 << 20))["counters.csv"]
    name = "I/O Log Writes Average Latency"
    assert latency(without, name) > 3 * latency(cached, name)
