"""On which devices a file lies, on a folder that stands for a machine and on this one."""

import sys
from pathlib import Path

import psutil
import pytest

from esefiles.base.block_devices import BlockDevices, Mount
from esefiles.scans.devices.topology import Topology
from tests.sources.machine import FakeMachine


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    made = FakeMachine(tmp_path / "machine")
    made.disk("sda", device__wwid="naa.1")
    made.disk("sdb", serial="lun8")
    made.disk("sdc")
    made.partition("sda", "sda1")
    made.partition("sda", "sda2")
    made.mount("/dev/sda1", "/")
    return made


def devices(machine: FakeMachine, path: str) -> set[str]:
    return set(Topology(machine.root).devices_of(path))


def test_a_disk_is_named_by_wwid_else_serial_else_kernel_name(machine: FakeMachine) -> None:
    machine.mount("/dev/sdb", "/b")
    machine.mount("/dev/sdc", "/c")

    assert devices(machine, "/etc/x.edb") == {"naa.1"}
    assert devices(machine, "/b/x.edb") == {"lun8"}
    assert devices(machine, "/c/x.edb") == {"sdc"}


def test_partitions_of_one_disk_are_one_device(machine: FakeMachine) -> None:
    machine.mount("/dev/sda2", "/home")

    assert devices(machine, "/home/x.edb") == devices(machine, "/x.edb") == {"naa.1"}


def test_the_device_of_a_mount_point_itself_is_what_is_mounted_there(machine: FakeMachine) -> None:
    machine.mount("/dev/sdb", "/b")

    assert devices(machine, "/b") == {"lun8"}
    assert devices(machine, "/") == {"naa.1"}


def test_mount_points_begin_a_path_by_whole_components(machine: FakeMachine) -> None:
    machine.mount("/dev/sdb", "/srv")
    machine.mount("/dev/sdc", "/srv/deep/er")

    assert devices(machine, "/srv2/x.edb") == {"naa.1"}
    assert devices(machine, "/srv/deep/x.edb") == {"lun8"}
    assert devices(machine, "/srv/deep/er/x.edb") == {"sdc"}
    assert devices(machine, "/srv/deep/er2/x.edb") == {"lun8"}


@pytest.mark.parametrize(
    "point",
    [
        "/mail boxes",
        "/tab\there",
        "/line\nbreak",
        "/back\\slash",
        "/#1",
        "/\\040",
        "/grün",
        "/\udcff",
    ],
)
def test_names_in_the_table_are_escaped(machine: FakeMachine, point: str) -> None:
    machine.mount("/dev/sdb", point)

    assert devices(machine, f"{point}/x.edb") == {"lun8"}


def test_a_later_mount_hides_an_earlier_one_at_its_place(machine: FakeMachine) -> None:
    machine.mount("/dev/sdb", "/srv")
    machine.mount("/dev/sdc", "/srv")

    assert devices(machine, "/srv/x.edb") == {"sdc"}


def test_a_later_mount_hides_what_was_mounted_below_its_place(machine: FakeMachine) -> None:
    machine.mount("/dev/sdb", "/srv/deep")
    upper = machine.mount("/dev/sdc", "/srv")

    assert devices(machine, "/srv/deep/x.edb") == {"sdc"}

    machine.mount("/dev/sda2", "/srv/deep/er", parent=upper)

    assert devices(machine, "/srv/deep/er/x.edb") == {"naa.1"}
    assert devices(machine, "/srv/deep/x.edb") == {"sdc"}


def test_a_bind_mount_of_a_folder_or_a_file_is_its_file_system(machine: FakeMachine) -> None:
    machine.mount("/dev/sdb", "/b")
    machine.mount("/dev/sdb", "/srv/bound")
    machine.mount("/dev/sdb", "/srv/one.edb")

    assert devices(machine, "/srv/bound/x.edb") == {"lun8"}
    assert devices(machine, "/srv/one.edb") == {"lun8"}
    assert devices(machine, "/srv/two.edb") == {"naa.1"}


def test_a_symbolic_link_lies_where_it_leads_to(machine: FakeMachine, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.edb").write_bytes(b"")
    (tmp_path / "link").symlink_to("data")
    machine.mount("/dev/sdb", f"{tmp_path}/data")

    assert devices(machine, f"{tmp_path}/link/x.edb") == {"lun8"}
    assert devices(machine, f"{tmp_path}/data/../machine") == {"naa.1"}


def test_a_mount_needs_no_device_file(machine: FakeMachine) -> None:
    machine.mount("/dev/sdb", "/b")
    table = machine.root / "proc/self/mountinfo"
    table.write_text(table.read_text().replace("/dev/sdb", "/dev/root"))
    (machine.root / "dev/sdb").unlink()

    assert devices(machine, "/b/x.edb") == {"lun8"}


def test_what_spans_several_disks_lies_on_all_of_them(machine: FakeMachine) -> None:
    machine.on_top("md0", "sda2", "sdb")
    machine.on_top("dm-0", "md0", "sdc", mapped="vg-all")
    machine.on_top("dm-1", "sda2", mapped="vg-one")
    machine.mount("/dev/md0", "/array")
    machine.mount("/dev/mapper/vg-all", "/all")
    machine.mount("/dev/mapper/vg-one", "/one")

    assert devices(machine, "/array/x.edb") == {"naa.1", "lun8"}
    assert devices(machine, "/all/x.edb") == {"naa.1", "lun8", "sdc"}
    assert devices(machine, "/one/x.edb") == {"naa.1"}


def test_a_btrfs_lies_on_all_of_its_members(machine: FakeMachine) -> None:
    machine.btrfs("sda2", "sdc")
    machine.mount("/dev/sdc", "/pool", "btrfs")
    machine.mount("/dev/sdb", "/other", "btrfs")

    assert devices(machine, "/pool/x.edb") == {"naa.1", "sdc"}
    assert devices(machine, "/other/x.edb") == set()


def test_a_virtual_disk_that_lies_on_nothing_is_a_device_of_its_own(machine: FakeMachine) -> None:
    names = ("loop0", "loop1", "ram0", "zram0", "nbd0", "rbd0", "drbd0")
    for name in names:
        machine.disk(name, "virtual/block")
        machine.mount(f"/dev/{name}", f"/{name}")
    machine.partition("loop1", "loop1p1")
    machine.mount("/dev/loop1p1", "/part")
    machine.on_top("dm-0", "loop0", mapped="crypt")
    machine.mount("/dev/mapper/crypt", "/crypt")

    assert [devices(machine, f"/{name}/x.edb") for name in names] == [{name} for name in names]
    assert devices(machine, "/part/x.edb") == {"loop1"}
    assert devices(machine, "/crypt/x.edb") == {"loop0"}


def test_a_disk_of_an_old_controller_has_a_slash_in_its_name(machine: FakeMachine) -> None:
    folder = machine.disk("cciss!c0d0")
    (machine.root / "dev/cciss").mkdir()
    (machine.root / "dev/cciss/c0d0").write_text("")
    machine.mount("/dev/cciss!c0d0", "/old")
    topology = Topology(machine.root)
    volumes = BlockDevices(machine.root).volumes(
        [Mount("/dev/cciss/c0d0", "/old", "ext4")], {"cciss/c0d0": "cciss/c0d0"}
    )

    assert folder.name == "cciss!c0d0"
    assert topology.devices_of("/old/x.edb") == topology.named("/dev/cciss/c0d0") == {"cciss/c0d0"}
    assert volumes == {"/old": "cciss/c0d0"}


@pytest.mark.parametrize(
    ("source", "fstype", "options", "device"),
    [
        ("nas1:/export/a", "nfs", "rw", "nas1:"),
        ("nas1:/", "nfs4", "rw", "nas1:"),
        ("NAS1.example:/a:/b", "nfs4", "rw", "nas1.example:"),
        ("10.1.2.3:/a", "nfs", "rw", "10.1.2.3:"),
        ("[fe80::1%eth0]:/a", "nfs4", "rw", "[fe80::1%eth0]:"),
        ("//NAS1/share", "cifs", "rw", "nas1:"),
        ("//nas1/share/with space", "smb3", "rw", "nas1:"),
        ("\\\\nas1\\share", "cifs", "rw", "nas1:"),
        ("10.0.0.1:6789,10.0.0.2:6789:/", "ceph", "rw", "10.0.0.1:6789,10.0.0.2:6789:"),
        ("nas1:/volume", "fuse.glusterfs", "rw", "nas1:"),
        ("10.1.2.3", "9p", "rw,trans=tcp,port=564", "10.1.2.3:"),
        ("tank/mail/priv06", "zfs", "rw", "tank"),
        ("tank@monday", "zfs", "rw", "tank"),
        ("tmpfs", "tmpfs", "rw", "memory"),
        ("none", "ramfs", "rw", "memory"),
    ],
)
def test_a_server_a_pool_and_the_memory_are_devices(
    machine: FakeMachine, source: str, fstype: str, options: str, device: str
) -> None:
    machine.mount(source, "/there", fstype, options=options)

    assert devices(machine, "/there/x.edb") == {device}


@pytest.mark.parametrize(
    ("source", "fstype", "options"),
    [
        ("overlay", "overlay", "rw,lowerdir=/a,upperdir=/b"),
        ("/dev/fuse", "fuse", "rw"),
        ("sda", "fuse.mergerfs", "rw"),
        ("/home/sda", "ecryptfs", "rw"),
        ("host", "9p", "rw,trans=virtio"),
        ("share", "virtiofs", "rw"),
        ("nameless", "nfs", "rw"),
        ("", "zfs", "rw"),
        ("bad\u0007name:/x", "nfs", "rw"),
        ("/etc/auto.nas", "autofs", "rw"),
        ("/dev/nothing", "btrfs", "rw"),
    ],
)
def test_what_cannot_be_told_is_unknown(
    machine: FakeMachine, source: str, fstype: str, options: str
) -> None:
    machine.mount(source, "/there", fstype, options=options)

    assert devices(machine, "/there/x.edb") == set()


def test_two_names_of_one_address_are_one_server(machine: FakeMachine) -> None:
    machine.mount("nas1:/a", "/a", "nfs4", options="rw,addr=10.1.2.3,clientaddr=10.0.0.9")
    machine.mount("//files.example/b", "/b", "cifs", options="rw,addr=10.1.2.3")
    machine.mount("nas2:/c", "/c", "nfs4", options="rw,addr=10.1.2.4,clientaddr=10.0.0.9")

    assert devices(machine, "/a/x") == devices(machine, "/b/x") == {"files.example:"}
    assert devices(machine, "/c/x") == {"nas2:"}


def test_without_sysfs_a_disk_is_unknown_and_a_server_is_not(tmp_path: Path) -> None:
    table = tmp_path / "proc/self/mountinfo"
    table.parent.mkdir(parents=True)
    table.write_text(
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 0:31 / /nas rw - nfs4 nas1:/a rw\n"
    )
    topology = Topology(tmp_path)

    assert topology.devices_of("/x.edb") == frozenset()
    assert topology.devices_of("/nas/x.edb") == {"nas1:"}


def test_without_a_mount_table_everything_is_unknown(machine: FakeMachine, tmp_path: Path) -> None:
    (machine.root / "proc/self/mountinfo").unlink()

    assert devices(machine, "/x.edb") == set()
    assert Topology(tmp_path / "nothing").devices_of("/x.edb") == frozenset()


def test_elsewhere_than_on_linux_everything_is_unknown(machine: FakeMachine) -> None:
    topology = Topology(machine.root, linux=False)

    assert topology.devices_of("/x.edb") == frozenset()
    assert topology.named("PhysicalDrive0") == {"PhysicalDrive0"}


@pytest.mark.parametrize("path", ["", "no/such/file", "bad\0name", "/" + "x/" * 5000, "/\udcff"])
def test_any_path_has_an_answer(machine: FakeMachine, path: str) -> None:
    assert devices(machine, path) <= {"naa.1"}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\0\xff\xfe",
        b"30 20 8:1 / /b",
        b"30 20 8:1 / /b rw - ext4",
        b"30 20 8:1 - ext4 /dev/sda1 rw",
        b" - ",
        b"30 30 8:99 / /b rw - ext4 /dev/sdz rw",
        b"30 31 8:0 / / rw - ext4 /dev/sda rw\n31 30 8:0 / / rw - ext4 /dev/sda rw",
        b"30 20 8:0 / / rw - ext4 /dev/sda rw\n20 30 8:0 / / rw - ext4 /dev/sda rw",
        b"30 20 ../../block/sda / / rw - ext4 /dev/sda rw",
        b"30 20 8:0 / /b\\777\\0 rw - ext4 /dev/sda rw",
    ],
)
def test_a_strange_line_of_the_table_spoils_nothing_else(machine: FakeMachine, line: bytes) -> None:
    with (machine.root / "proc/self/mountinfo").open("ab") as table:
        table.write(line + b"\n")
    machine.mount("/dev/sdc", "/c", parent=20)

    assert devices(machine, "/c/x.edb") <= {"sdc", "naa.1"}
    assert devices(machine, "/x.edb") <= {"naa.1"}


def test_below_a_changed_root_folder_the_table_has_no_root(machine: FakeMachine) -> None:
    table = machine.root / "proc/self/mountinfo"
    table.write_text("")
    machine.mounted.clear()
    machine.mount("/dev/sdb", "/data", parent=1)

    assert devices(machine, "/data/x.edb") == {"lun8"}
    assert devices(machine, "/x.edb") == set()


def test_the_root_of_all_mounts_may_be_mounted_upon_itself(machine: FakeMachine) -> None:
    table = machine.root / "proc/self/mountinfo"
    table.write_text("20 20 8:1 / / rw - ext4 /dev/sdb rw\n21 20 8:2 / /c rw - ext4 /dev/sdc rw\n")

    assert devices(machine, "/x.edb") == {"lun8"}
    assert devices(machine, "/c/x.edb") == {"sdc"}


def test_equal_sources_are_not_taken_for_one_device(machine: FakeMachine) -> None:
    machine.mount("/dev/sdb", "/b")
    machine.mount("/dev/sdc", "/c")
    table = machine.root / "proc/self/mountinfo"
    table.write_text(table.read_text().replace("/dev/sdb", "disk").replace("/dev/sdc", "disk"))
    topology = Topology(machine.root)

    assert [topology.devices_of(f"/{letter}/x.edb") for letter in "bcb"] == [
        {"lun8"},
        {"sdc"},
        {"lun8"},
    ]


def test_the_machine_is_as_it_was_at_the_beginning(machine: FakeMachine) -> None:
    topology = Topology(machine.root)
    machine.mount("/dev/sdb", "/b")

    assert topology.devices_of("/b/x.edb") == {"naa.1"}
    assert Topology(machine.root).devices_of("/b/x.edb") == {"lun8"}


@pytest.mark.parametrize(
    ("name", "identities"),
    [
        ("naa.1", {"naa.1"}),
        ("sda", {"naa.1"}),
        ("sda2", {"naa.1"}),
        ("/dev/sda2", {"naa.1"}),
        ("/dev/disk/by-id/first", {"naa.1"}),
        ("sdb", {"lun8"}),
        ("lun8", {"lun8"}),
        ("md0", {"naa.1", "lun8"}),
        ("/dev/mapper/vg-all", {"naa.1", "lun8", "sdc"}),
        ("/dev/sdq", {"/dev/sdq"}),
        ("nas1:", {"nas1:"}),
        ("tank", {"tank"}),
        ("lun of another computer", {"lun of another computer"}),
    ],
)
def test_people_name_a_device_by_identity_kernel_name_or_file(
    machine: FakeMachine, name: str, identities: set[str]
) -> None:
    machine.on_top("md0", "sda2", "sdb")
    machine.on_top("dm-0", "md0", "sdc", mapped="vg-all")
    by_id = machine.root / "dev/disk/by-id"
    by_id.mkdir(parents=True)
    (by_id / "first").symlink_to("../../sda")

    assert Topology(machine.root).named(name) == identities


@pytest.mark.skipif(sys.platform != "linux", reason="this reads sysfs")
def test_this_machine_is_told_as_the_disks_source_tells_it() -> None:
    blocks = BlockDevices()
    try:
        identities = blocks.identities(blocks.whole_disks())
    except OSError as error:
        pytest.skip(f"no disks here: {error}")
    mounts = [
        Mount(part.device, part.mountpoint, part.fstype)
        for part in psutil.disk_partitions(all=False)
    ]
    topology = Topology()
    told = blocks.volumes(mounts, identities)

    assert {place: set(topology.devices_of(place)) for place in told} == {
        place: {device} for place, device in told.items()
    }
    assert topology.devices_of("/proc/self") == frozenset()
