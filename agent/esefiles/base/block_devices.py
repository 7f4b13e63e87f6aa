"""The block devices of Linux: whole disks, their identities, and the disks below a device.

They are those of sysfs: `/sys/block` has one folder for each whole disk and each virtual one,
`/sys/class/block` also one for each partition. All paths start at a root, so that a folder can
stand for a machine.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

MAX_IDENTITY = 128
MAX_DEPTH = 16
"""Layers of partitions, volumes and arrays that are followed down to the disks."""

_WWIDS = ("wwid", "device/wwid")
_SERIALS = ("serial", "device/serial")
_NO_DISK = re.compile(r"(?:sr|fd|scd)\d+$|mmcblk\d+(?:boot\d+|rpmb)$")
"""Optical drives, floppies and the boot areas of a memory card."""
_VIRTUAL = "/devices/virtual/block/"
_NETWORK = re.compile(r"nbd\d+$")
"""Virtual to the kernel, yet storage of its own."""
_EMPTY = re.compile(r"(?:eui\.|naa\.|nvme\.|0x)?[0\s]*$")


class Mount(NamedTuple):
    """A mounted file system: its device file, where it is mounted, its kind."""

    device: str
    mountpoint: str
    fstype: str


class BlockDevices:
    """The block devices below `root` (`/` for this machine)."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._identities: dict[tuple[str, str], tuple[str, str]] = {}
        """(kernel name, number of this attachment) -> (wwid, serial), empty where unknown."""

    def whole_disks(self) -> set[str]:
        """Kernel names of the whole disks: no partition, and nothing that lies on another disk.
        Raises OSError when /sys/block cannot be read."""
        names = [entry.name for entry in (self._root / "sys/block").iterdir()]
        return {name.replace("!", "/") for name in names if self._is_whole(name)}

    def _is_whole(self, name: str) -> bool:
        if _NO_DISK.match(name):
            return False
        folder = self._root / "sys/block" / name
        if _VIRTUAL in f"{os.path.realpath(folder)}/" and not _NETWORK.match(name):
            return False
        return self._read(folder / "size") not in {"", "0"} and self._read(folder / "hidden") != "1"

    def identities(self, disks: Iterable[str]) -> dict[str, str]:
        """Kernel name -> identity: wwid, else a serial that no other of `disks` has, else the name.
        Two paths to one disk have one wwid. Equal serials of two disks prove nothing."""
        known = {name: self._identity(name.replace("/", "!")) for name in disks}
        self._identities = {
            key: value
            for key, value in self._identities.items()
            if key[0].replace("!", "/") in known
        }
        serials = Counter(serial for wwid, serial in known.values() if not wwid)
        return {
            name: wwid or (serial if serial and serials[serial] == 1 else name)
            for name, (wwid, serial) in known.items()
        }

    def _identity(self, name: str) -> tuple[str, str]:
        # Asked once for each attached disk: some drivers ask the disk, which may hang.
        folder = self._root / "sys/block" / name
        key = (name, self._read(folder / "diskseq"))
        if key not in self._identities:
            self._identities[key] = (self._first(folder, _WWIDS), self._first(folder, _SERIALS))
        return self._identities[key]

    def _first(self, folder: Path, names: Iterable[str]) -> str:
        found = (" ".join(self._read(folder / name).split()) for name in names)
        return next((text for text in found if not _EMPTY.match(text) and text.isprintable()), "")

    def volumes(self, mounts: Iterable[Mount], identities: Mapping[str, str]) -> dict[str, str]:
        """Mount point -> identity of the one disk below it. Left out: volumes on several disks, and
        volumes that cannot be followed to one of `identities`."""
        found: dict[str, str] = {}
        for mount in mounts:
            names = self.disks_below(self.kernel_name(mount.device), mount.fstype)
            below = {identities.get(name, "") for name in names}
            if len(below) == 1 and "" not in below:
                found[mount.mountpoint] = below.pop()
            else:
                # A later mount hides an earlier one at the same place.
                found.pop(mount.mountpoint, None)
        return found

    def kernel_name(self, device: str) -> str:
        """Name in sysfs of a device file: `/dev/mapper/vg-home` -> `dm-0`."""
        name = os.path.realpath(self._root / device.lstrip("/"))
        folder = os.path.realpath(self._root / "dev") + "/"
        return name.removeprefix(folder).replace("/", "!")

    def numbered(self, number: str) -> str:
        """Name in sysfs of the block device `major:minor`; empty where sysfs does not know it."""
        folder = self._root / "sys/dev/block" / number
        return Path(os.path.realpath(folder)).name if folder.is_dir() else ""

    def disks_below(self, name: str, fstype: str = "") -> set[str]:
        """Kernel names of all disks that the device `name` lies on, itself if it lies on none.

        A file system of the kind `btrfs` lies on all of its members, none if they are not found.
        The empty name stands for a device that cannot be followed.
        """
        members = self._members(name) if fstype == "btrfs" else {name}
        found = set().union(*(self._disks_below(member, MAX_DEPTH) for member in members))
        return {disk.replace("!", "/") for disk in found}

    def _members(self, name: str) -> set[str]:
        """All devices of the btrfs file system that `name` is one of; none if it is not found."""
        for folder in (self._root / "sys/fs/btrfs").glob("*/devices"):
            members = set(_listed(folder))
            if name in members:
                return members
        return set()

    def _disks_below(self, name: str, depth: int) -> set[str]:
        folder = Path(os.path.realpath(self._root / "sys/class/block" / name))
        if depth == 0 or not name or not folder.is_dir():
            return {""}
        if (folder / "partition").exists():
            return self._disks_below(folder.parent.name, depth - 1)
        if below := _listed(folder / "slaves"):
            return set().union(*(self._disks_below(slave, depth - 1) for slave in below))
        return {name}

    def _read(self, file: Path) -> str:
        """Begin of a small file; empty where there is none, or no permission."""
        try:
            with file.open("rb") as stream:
                return stream.read(MAX_IDENTITY).decode("utf-8", "replace").strip("\0 \n\t")
        except OSError:
            return ""


def _listed(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []
