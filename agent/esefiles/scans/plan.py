"""Scan plan: which files are read one after another, and which at the same time. Files that share a
device, or devices that share spindles, are in one lane. Lanes share nothing."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from esefiles.scans.devices.topology import Topology

UNKNOWN = ""
"""The device of all files whose devices are not known: they are one lane, never a guess."""

NAMED = 3
"""Devices that a text names; the others are counted."""


class ScanTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A file to scan. `size` in bytes, `verified` in epoch seconds (None: never). `device`: the
    configured device; decides over the topology where set."""

    path: str
    size: int = 0
    verified: float | None = None
    device: str = ""


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    device: str
    """Text for people: the devices that the files lie on (`device_text`)."""
    locks: tuple[str, ...]
    """All devices that no other scan may use meanwhile, sorted: these and their pools' others."""
    targets: tuple[ScanTarget, ...]
    """Oldest-verified first."""


def plan(
    targets: Iterable[ScanTarget], topology: Topology, pools: Mapping[str, Sequence[str]] = {}
) -> list[Lane]:
    """Lanes in the order of their devices, the unknown one last.

    `pools`: name -> devices that share spindles, each as `Topology.named` understands it. A
    file that is reached by several paths is planned by the first one only. Files of one age are
    in the order of their paths.
    """
    groups = _Groups()
    for members in pools.values():
        groups.join(set().union(*(topology.named(member) for member in members)))
    placed = [(target, _devices(target, topology)) for target in _distinct(targets)]
    for _, devices in placed:
        groups.join(devices)
    by_group: defaultdict[str, list[tuple[ScanTarget, frozenset[str]]]] = defaultdict(list)
    for target, devices in placed:
        by_group[groups.of(min(devices))].append((target, devices))
    lanes = [
        Lane(
            device=device_text(frozenset().union(*(devices for _, devices in members))),
            locks=tuple(sorted(groups.members(group))),
            targets=tuple(sorted((target for target, _ in members), key=_age)),
        )
        for group, members in by_group.items()
    ]
    return sorted(lanes, key=lambda lane: (lane.device == UNKNOWN, lane.locks))


def device_text(devices: Collection[str]) -> str:
    """`a, b, c and 2 more`; empty for unknown ones."""
    names = sorted(device for device in devices if device != UNKNOWN)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _devices(target: ScanTarget, topology: Topology) -> frozenset[str]:
    found = topology.named(target.device) if target.device else topology.devices_of(target.path)
    return found or frozenset({UNKNOWN})


def _age(target: ScanTarget) -> tuple[bool, float, str]:
    return target.verified is not None, target.verified or 0.0, target.path


def _distinct(targets: Iterable[ScanTarget]) -> Iterator[ScanTarget]:
    """Drop the further paths to a file (hard and symbolic links, bind mounts)."""
    seen = set()
    for target in targets:
        file = _file(target.path)
        if file not in seen:
            seen.add(file)
            yield target


def _file(path: str) -> tuple[int, int] | str:
    try:
        state = Path(path).stat()
    except (OSError, ValueError):
        return path
    # Some file systems of Windows have no numbers of files.
    return (state.st_dev, state.st_ino) if state.st_ino else os.path.realpath(path)


class _Groups:
    """Connected devices; each group is named by one of them."""

    def __init__(self) -> None:
        self._group: dict[str, str] = {}
        self._members: dict[str, set[str]] = {}

    def join(self, devices: Collection[str]) -> None:
        """Put devices, and all devices connected with them, into one group."""
        groups = {self.of(device) for device in devices}
        if not groups:
            return
        kept = min(groups)
        for group in groups - {kept}:
            members = self._members.pop(group)
            self._members[kept] |= members
            self._group.update(dict.fromkeys(members, kept))

    def of(self, device: str) -> str:
        """The group of a device; a new one is a group of its own."""
        self._members.setdefault(self._group.setdefault(device, device), {device})
        return self._group[device]

    def members(self, group: str) -> set[str]:
        return self._members[group]
