"""Real file systems on real block devices: loop mounts (root only)."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from esefiles.scans.devices.topology import Topology
from esefiles.scans.lanes import run_lanes
from esefiles.scans.plan import Lane, ScanTarget, plan
from tests.esefiles.scans.test_lanes import DEADLINE, Recorder

MEBIBYTE = 1 << 20

pytestmark = pytest.mark.slow


def call(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout.strip()


class Devices:
    """Makes loop devices, file systems and mounts in `folder`; all go away with `undo`."""

    def __init__(self, folder: Path, undo: ExitStack) -> None:
        self._folder = folder
        self._undo = undo

    def loop(self, name: str) -> str:
        """Device file of a new loop device."""
        image = self._folder / f"{name}.img"
        with image.open("wb") as file:
            file.truncate(4 * MEBIBYTE)
        device = call("losetup", "--find", "--show", image)
        self._later("losetup", "--detach", device)
        return device

    def mounted(self, name: str, device: str, *options: str) -> Path:
        """Mount point."""
        place = self._folder / "tree" / name
        place.mkdir(parents=True)
        call("mount", *options, device, place)
        self._later("umount", str(place))
        return place

    def file_system(self, name: str, device: str = "") -> Path:
        """Mount point of a new ext4 file system with two files, by default on a loop device."""
        device = device or self.loop(name)
        call("mkfs.ext4", "-q", "-F", device)
        place = self.mounted(name, device)
        for file in ("x.edb", "y.edb"):
            (place / file).write_bytes(bytes(64 * 1024))
        return place

    def _later(self, *command: str) -> None:
        self._undo.callback(subprocess.run, command, check=False, capture_output=True)


@pytest.fixture
def devices(tmp_path: Path) -> Iterator[Devices]:
    if sys.platform != "linux" or os.getuid() != 0:
        pytest.skip("only root mounts file systems")
    for program in ("losetup", "mkfs.ext4", "mount"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    with ExitStack() as undo:
        yield Devices(tmp_path, undo)


def test_eight_file_systems_of_one_tree_are_scanned_at_once_each_by_one(devices: Devices) -> None:
    places = [devices.file_system(f"disk {n}") for n in range(8)]
    files = sorted(str(place / name) for place in places for name in ("x.edb", "y.edb"))
    together = threading.Barrier(8)
    work = Recorder(lambda lane: together.wait(DEADLINE))

    lanes = plan([ScanTarget(path=file) for file in files], Topology())
    run_lanes(lanes, work, stop=threading.Event())

    assert [len(lane.targets) for lane in lanes] == [2] * 8
    assert all(lane.device.startswith("loop") for lane in lanes)
    assert sorted(work.paths()) == files
    assert work.overlaps() == []


def test_pools_join_real_devices_by_their_files_and_names(devices: Devices) -> None:
    loops = [devices.loop(f"{n}") for n in range(4)]
    places = [devices.file_system(f"p{n}", loop) for n, loop in enumerate(loops)]
    pools = {"array1": [loops[0], loops[2].removeprefix("/dev/")]}

    lanes = plan([ScanTarget(path=str(place / "x.edb")) for place in places], Topology(), pools)

    assert sorted(
        sorted(Path(target.path).parent.name for target in lane.targets) for lane in lanes
    ) == [
        ["p0", "p2"],
        ["p1"],
        ["p3"],
    ]


def test_bind_mounts_and_hard_links_are_one_file_of_one_device(devices: Devices) -> None:
    place = devices.file_system("disk")
    bound = devices.mounted("bound", str(place), "--bind")
    (place / "hard.edb").hardlink_to(place / "x.edb")
    topology = Topology()

    lanes = plan(
        [
            ScanTarget(path=str(path))
            for path in (place / "x.edb", bound / "x.edb", place / "hard.edb")
        ],
        topology,
    )

    assert topology.devices_of(str(bound)) == topology.devices_of(str(place))
    assert [[target.path for target in lane.targets] for lane in lanes] == [[str(place / "x.edb")]]


def test_a_file_system_in_memory_and_an_overlay(devices: Devices, tmp_path: Path) -> None:
    memory = devices.mounted("memory", "tmpfs", "-t", "tmpfs")
    for name in ("upper", "work"):
        (memory / name).mkdir()
    layers = f"lowerdir={tmp_path / 'tree'},upperdir={memory / 'upper'},workdir={memory / 'work'}"
    overlay = devices.mounted("overlay", "overlay", "-t", "overlay", "-o", layers)
    topology = Topology()

    assert topology.devices_of(str(memory / "x.edb")) == {"memory"}
    assert topology.devices_of(str(overlay / "x.edb")) == frozenset()
    assert {lane.device for lane in _lanes(topology, memory, overlay)} == {"memory", ""}


def _lanes(topology: Topology, *places: Path) -> list[Lane]:
    return plan([ScanTarget(path=str(place / "x.edb")) for place in places], topology)
