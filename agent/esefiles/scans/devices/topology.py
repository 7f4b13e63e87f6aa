"""Devices of a file: mount table, block devices, servers (Linux; else unknown).

The mount table is `/proc/self/mountinfo` (proc_pid_mountinfo(5)). Of a file system on a block
device the kernel gives the device's number there, which needs no device file and holds for
`/dev/root` and in a container too. Only btrfs, which has no number of its own, is found by its
device file.
"""

import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from esefiles.base.block_devices import BlockDevices

MEMORY = "memory"
"""The device of all files in tmpfs and ramfs."""

MAX_TABLE = 16 << 20
"""Bytes of a mount table that are read."""

_IN_MEMORY = {"tmpfs", "ramfs"}
_OF_SERVERS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "fuse.glusterfs"}
_ESCAPED = re.compile(rb"\\([0-7]{3})")
_UNC = re.compile(r"[/\\]{2}([^/\\]+)")
_SERVER = re.compile(r"([^/]+?):/")
_NO_NUMBER = "0:"
"""Begin of the numbers of file systems without a block device."""


class _Mount(NamedTuple):
    """One line of the mount table. `options` are those of the file system."""

    identifier: str
    parent: str
    number: str
    point: str
    fstype: str
    source: str
    options: list[str]

    def option(self, name: str) -> str:
        """Value of an option, empty without it."""
        found = (option.partition("=") for option in self.options)
        return next((value for key, _, value in found if key == name), "")


class Topology:
    """This machine as it was when this object was made; below `root` lie /proc, /sys and /dev.

    Make it after the files were looked up, so that automounts are mounted. Without a mount
    table, or elsewhere than on Linux, every file's devices are unknown.
    """

    def __init__(self, root: Path = Path("/"), *, linux: bool = sys.platform == "linux") -> None:
        self._blocks = BlockDevices(root)
        mounts = list(_mounts(root / "proc/self/mountinfo")) if linux else []
        self._places = _places(mounts)
        self._servers = _servers(mounts)
        self._identities = self._named_as_by_the_disks_source() if linux else {}
        self._known: dict[str, frozenset[str]] = {}
        """Number of a file system, which no other has at the same time -> its devices."""

    def devices_of(self, path: str) -> frozenset[str]:
        """Identities of all devices that the file or folder lies on; empty: not known.

        A disk is its wwid, else its serial, else its kernel name, as in the label `device`. A
        loop device, a RAM disk and other virtual ones that lie on nothing are their kernel
        name. A network file system is its server (`nas1:`), zfs its pool's name.
        """
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):
            return frozenset()
        mount = self._mount_of(real)
        if mount is None:
            return frozenset()
        if mount.number not in self._known:
            found = self._devices(mount)
            known = frozenset(name for name in found if name and name.isprintable())
            self._known[mount.number] = known
        return self._known[mount.number]

    def named(self, name: str) -> frozenset[str]:
        """A device's name as people write it -> its identities, as `devices_of` returns them.

        `name`: an identity, a kernel name (`sdb`, `sdb1`, `md0`) or a path below /dev. A name of no
        block device here stands for itself.
        """
        is_file = name.startswith("/dev/")
        kernel = self._blocks.kernel_name(name) if is_file else name.replace("/", "!")
        below = self._blocks.disks_below(kernel)
        return frozenset({name} if "" in below else self._identified(below))

    def _named_as_by_the_disks_source(self) -> dict[str, str]:
        try:
            return self._blocks.identities(self._blocks.whole_disks())
        except OSError:
            return {}

    def _identified(self, disks: Iterable[str]) -> set[str]:
        return {self._identities.get(disk, disk) for disk in disks}

    def _mount_of(self, real: str) -> _Mount | None:
        """Walks down from the root as the kernel does: what lies under a later mount is hidden."""
        found: _Mount | None = None
        for place in _prefixes(real):
            # A stack of mounts at one place is at most as high as the table is long.
            for _ in range(len(self._places)):
                above = self._places.get((found.identifier if found else "", place))
                if above is None:
                    break
                found = above
        return found

    def _devices(self, mount: _Mount) -> set[str]:
        if mount.fstype in _IN_MEMORY:
            return {MEMORY}
        if mount.fstype == "zfs":
            return {re.split("[/@]", mount.source)[0]}
        if server := _server(mount):
            return {min(self._servers[mount.option("addr")] | {server})}
        if mount.fstype == "btrfs":
            kernel = self._blocks.kernel_name(mount.source)
        elif mount.number.startswith(_NO_NUMBER):
            return set()
        else:
            kernel = self._blocks.numbered(mount.number)
        return self._identified(self._blocks.disks_below(kernel, mount.fstype))


def _prefixes(path: str) -> Iterator[str]:
    """`/a/b` -> `/`, `/a`, `/a/b`."""
    yield "/"
    for match in re.finditer("/[^/]+", path):
        yield path[: match.end()]


def _mounts(table: Path) -> Iterator[_Mount]:
    """Lines of the table; those of another form are passed over."""
    try:
        with table.open("rb") as stream:
            lines = stream.read(MAX_TABLE).split(b"\n")
    except OSError:
        return
    for line in lines:
        front, dash, back = line.partition(b" - ")
        fields, of_system = front.split(b" "), back.split(b" ")
        if not dash or len(fields) < 6 or len(of_system) < 3:
            continue
        identifier, parent, number = (text.decode("ascii", "replace") for text in fields[:3])
        fstype, source, options = (
            _plain(text).decode("utf-8", "replace") for text in of_system[:3]
        )
        point = os.fsdecode(_plain(fields[4]))
        yield _Mount(identifier, parent, number, point, fstype, source, options.split(","))


def _plain(text: bytes) -> bytes:
    r"""`\040` -> a space: the kernel writes space, tab, newline, backslash and `#` so."""
    return _ESCAPED.sub(lambda match: bytes([int(match[1], 8) & 0xFF]), text)


def _places(mounts: list[_Mount]) -> dict[tuple[str, str], _Mount]:
    """(identifier of the mount it is mounted upon, place) -> mount; a later one hides. The
    identifier is empty where that mount is not in the table: the root, or outside of it."""
    known = {mount.identifier for mount in mounts}
    return {
        (
            mount.parent if mount.parent in known and mount.parent != mount.identifier else "",
            mount.point,
        ): mount
        for mount in mounts
    }


def _servers(mounts: Iterable[_Mount]) -> defaultdict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for mount in mounts:
        server, address = _server(mount), mount.option("addr")
        if server and address:
            found[address].add(server)
    return found


def _server(mount: _Mount) -> str:
    """`nas1:/export` and `//NAS1/share` -> `nas1:`; empty for what comes from no server."""
    if mount.fstype == "9p" and mount.option("trans") in {"tcp", "rdma"}:
        return f"{mount.source.lower()}:"
    if mount.fstype not in _OF_SERVERS:
        return ""
    match = _UNC.match(mount.source) or _SERVER.match(mount.source)
    return f"{match[1].lower()}:" if match else ""
