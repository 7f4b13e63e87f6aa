"""Whole disks, their identity and what lies on them, from a folder that stands for sysfs."""

from pathlib import Path

import pytest

from esefiles.base.block_devices import BlockDevices, Mount
from tests.sources.machine import FakeMachine


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path)


def identities(machine: FakeMachine) -> dict[str, str]:
    blocks = BlockDevices(machine.root)
    return blocks.identities(blocks.whole_disks())


def volumes(machine: FakeMachine, *mounts: tuple[str, str, str]) -> dict[str, str]:
    return BlockDevices(machine.root).volumes(
        [Mount(*mount) for mount in mounts], identities(machine)
    )


def test_whole_disks_are_neither_partitions_nor_virtual_nor_without_a_medium(
    machine: FakeMachine,
) -> None:
    for name in ("sda", "nvme0n1", "vdb", "sr0", "mmcblk0", "mmcblk0boot0"):
        machine.disk(name)
    for name in ("loop0", "ram0", "zram0", "nbd0"):
        machine.disk(name, "virtual/block")
    machine.disk("sdz", size="0")
    machine.disk("nvme1n1", "virtual/nvme-subsystem/nvme-subsys1")
    machine.disk("nvme1c0n1", hidden="1")
    machine.partition("sda", "sda1")
    machine.on_top("dm-0", "sda1")
    machine.on_top("md0", "sda", "vdb")

    found = BlockDevices(machine.root).whole_disks()

    assert found == {"sda", "nvme0n1", "vdb", "mmcblk0", "nbd0", "nvme1n1"}


def test_without_sysfs_whole_disks_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="sys/block"):
        BlockDevices(tmp_path).whole_disks()


def test_a_disk_is_its_wwid_else_its_serial_else_its_name(machine: FakeMachine) -> None:
    machine.disk("nvme0n1", wwid="eui.0025385971b0a3f2")
    machine.disk("sda", device__wwid="naa.5002538e40a1b2c3", device__serial="S1")
    machine.disk("vda", serial="lun7")
    machine.disk("mmcblk0", device__serial="0x1a2b")
    machine.disk("sdb")

    assert identities(machine) == {
        "nvme0n1": "eui.0025385971b0a3f2",
        "sda": "naa.5002538e40a1b2c3",
        "vda": "lun7",
        "mmcblk0": "0x1a2b",
        "sdb": "sdb",
    }


def test_an_empty_or_strange_identity_is_none(machine: FakeMachine) -> None:
    machine.disk("sda", device__wwid="eui.0000000000000000", serial="0000")
    machine.disk("sdb", device__wwid="", serial="  ")
    machine.disk("sdc", device__wwid="a\x01b")
    machine.disk("sdd", device__wwid="t10.ATA     QEMU HARDDISK      QM00001")
    machine.disk("sde", device__wwid="x" * 500)

    found = identities(machine)

    assert [found[name] for name in ("sda", "sdb", "sdc")] == ["sda", "sdb", "sdc"]
    assert found["sdd"] == "t10.ATA QEMU HARDDISK QM00001"
    assert found["sde"] == "x" * 128


def test_two_paths_to_one_disk_are_one_device(machine: FakeMachine) -> None:
    machine.disk("sda", device__wwid="naa.6001")
    machine.disk("sdb", device__wwid="naa.6001")
    machine.on_top("dm-0", "sda", "sdb", mapped="mpatha")

    assert identities(machine) == {"sda": "naa.6001", "sdb": "naa.6001"}
    assert volumes(machine, ("/dev/mapper/mpatha", "/srv", "xfs")) == {"/srv": "naa.6001"}


def test_equal_serials_do_not_make_two_disks_one(machine: FakeMachine) -> None:
    machine.disk("sda", serial="123456")
    machine.disk("sdb", serial="123456")

    assert identities(machine) == {"sda": "sda", "sdb": "sdb"}


def test_the_identity_is_asked_for_once_an_attachment(machine: FakeMachine) -> None:
    folder = machine.disk("sda", serial="first", diskseq="1")
    blocks = BlockDevices(machine.root)
    blocks.identities({"sda"})

    (folder / "serial").write_text("second\n")
    same = blocks.identities({"sda"})
    (folder / "diskseq").write_text("2\n")
    other = blocks.identities({"sda"})

    assert (same, other) == ({"sda": "first"}, {"sda": "second"})


def test_a_volume_is_followed_through_partition_array_and_logical_volume(
    machine: FakeMachine,
) -> None:
    machine.disk("sda", serial="lun7")
    machine.disk("sdb", serial="lun8")
    machine.partition("sda", "sda1")
    machine.partition("sda", "sda2")
    machine.on_top("md0", "sda2")
    machine.on_top("dm-3", "md0", mapped="vg-home")

    found = volumes(
        machine,
        ("/dev/sda1", "/boot", "ext4"),
        ("/dev/mapper/vg-home", "/home", "xfs"),
        ("/dev/sdb", "/srv", "ext4"),
    )

    assert found == {"/boot": "lun7", "/home": "lun7", "/srv": "lun8"}


def test_a_volume_over_several_disks_or_none_that_is_known_is_left_out(
    machine: FakeMachine,
) -> None:
    machine.disk("sda")
    machine.disk("sdb")
    machine.disk("loop0", "virtual/block")
    machine.on_top("md0", "sda", "sdb")
    machine.btrfs("sda", "sdb")

    found = volumes(
        machine,
        ("/dev/md0", "/data", "xfs"),
        ("/dev/sda", "/pool", "btrfs"),
        ("/dev/loop0", "/image", "ext4"),
        ("tank/data", "/zfs", "zfs"),
        ("/dev/root", "/", "ext4"),
        ("", "/nothing", "ext4"),
        ("/dev/sda", "/plain", "ext4"),
    )

    assert found == {"/plain": "sda"}


def test_a_btrfs_on_one_disk_is_on_that_disk(machine: FakeMachine) -> None:
    machine.disk("sda")
    machine.partition("sda", "sda3")
    machine.btrfs("sda3")

    assert volumes(machine, ("/dev/sda3", "/", "btrfs")) == {"/": "sda"}


def test_a_later_mount_hides_an_earlier_one_at_its_place(machine: FakeMachine) -> None:
    machine.disk("sda")

    assert volumes(machine, ("/dev/sda", "/srv", "ext4"), ("tank", "/srv", "zfs")) == {}


def test_devices_that_lie_on_each_other_in_a_circle_end(machine: FakeMachine) -> None:
    machine.on_top("dm-0", "dm-1")
    machine.on_top("dm-1", "dm-0")

    assert volumes(machine, ("/dev/dm-0", "/srv", "ext4")) == {}


def test_a_device_is_found_by_its_number(machine: FakeMachine) -> None:
    machine.disk("sda")
    machine.partition("sda", "sda1")
    blocks = BlockDevices(machine.root)

    assert [blocks.numbered(number) for number in ("8:0", "8:1", "8:9")] == ["sda", "sda1", ""]


def test_what_cannot_be_followed_is_the_empty_name(machine: FakeMachine) -> None:
    machine.disk("sda")
    blocks = BlockDevices(machine.root)

    assert blocks.disks_below("sda") == {"sda"}
    assert blocks.disks_below("sdz") == blocks.disks_below("") == {""}
    assert blocks.disks_below("sda", "btrfs") == set()
