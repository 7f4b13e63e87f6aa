"""A folder that stands for a Linux machine: its sysfs, device files, mount table, counters."""

from pathlib import Path
from typing import Any, NamedTuple


class Counted(NamedTuple):
    """What psutil counts of a disk."""

    read_count: int = 0
    write_count: int = 0
    read_bytes: int = 0
    write_bytes: int = 0
    read_time: int = 0
    write_time: int = 0


class Partition(NamedTuple):
    """What psutil says of a mounted file system."""

    device: str
    mountpoint: str
    fstype: str = "ext4"


class FakeMachine:
    """Builds sysfs below `root` as the kernel does: folders under devices, links elsewhere."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.counters: dict[str, Any] = {}
        self.partitions: list[Any] = []
        self.mounted: list[str] = []
        """Mount points in the order of the table; the identifier of the first mount is 20."""
        for folder in ("sys/block", "sys/class/block", "sys/dev/block", "dev/mapper", "proc/self"):
            (root / folder).mkdir(parents=True)

    def disk(self, name: str, bus: str = "pci0000:00/block", **files: str) -> Path:
        """A whole disk, or a virtual one with `bus="virtual/block"`. Files: `device__wwid`."""
        folder = self.root / "sys/devices" / bus / name
        folder.mkdir(parents=True)
        for file, text in {"size": "2048", **files}.items():
            path = folder / file.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{text}\n")
        (self.root / "sys/block" / name).symlink_to(folder)
        self._known(name, folder)
        return folder

    def partition(self, disk: str, name: str) -> None:
        """A partition of a disk."""
        folder = (self.root / "sys/block" / disk).resolve() / name
        folder.mkdir()
        (folder / "partition").write_text("1\n")
        self._known(name, folder)

    def on_top(self, name: str, *below: str, mapped: str = "") -> None:
        """A dm or md device over others; `mapped` is its name under /dev/mapper."""
        folder = self.disk(name, "virtual/block")
        (folder / "slaves").mkdir()
        for slave in below:
            (folder / "slaves" / slave).symlink_to(self.root / "sys/class/block" / slave)
        if mapped:
            (self.root / "dev/mapper" / mapped).symlink_to(f"../{name}")

    def btrfs(self, *members: str) -> None:
        """A btrfs file system over devices."""
        folder = self.root / "sys/fs/btrfs/uuid-1/devices"
        folder.mkdir(parents=True)
        for member in members:
            (folder / member).symlink_to(self.root / "sys/class/block" / member)

    def mount(
        self,
        source: str,
        point: str,
        fstype: str = "ext4",
        *,
        options: str = "rw",
        parent: int | None = None,
    ) -> int:
        """Mounts upon what lies deepest at the mount point so far; returns the identifier."""
        if parent is None:
            above = [
                (len(other), identifier)
                for identifier, other in enumerate(self.mounted, 20)
                if point == other or point.startswith(other.rstrip("/") + "/")
            ]
            parent = max(above)[1] if above else 1
        identifier = 20 + len(self.mounted)
        self.mounted.append(point)
        with (self.root / "proc/self/mountinfo").open("ab") as table:
            table.write(
                f"{identifier} {parent} {self._number(source, fstype)} / {_escaped(point)} "
                f"rw,relatime shared:1 - {fstype} {_escaped(source)} {options}\n".encode(
                    "utf-8", "surrogateescape"
                )
            )
        return identifier

    def _number(self, source: str, fstype: str) -> str:
        name = (self.root / source.lstrip("/")).resolve().name
        numbers = self.root / "sys/dev/block"
        found = [link.name for link in numbers.iterdir() if link.resolve().name == name]
        with_number = source.startswith("/dev/") and fstype != "btrfs"
        return found[0] if found and with_number else f"0:{20 + len(self.mounted)}"

    def _known(self, name: str, folder: Path) -> None:
        (self.root / "sys/class/block" / name).symlink_to(folder)
        numbers = self.root / "sys/dev/block"
        (numbers / f"8:{len(list(numbers.iterdir()))}").symlink_to(folder)
        (self.root / "dev" / name).write_text("")
        self.counters[name] = Counted()


def _escaped(text: str) -> str:
    r"""As the kernel writes names in its tables: a space is `\040`."""
    return "".join(f"\\{ord(char):03o}" if char in " \t\n\\#" else char for char in text)
