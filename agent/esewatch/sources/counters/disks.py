"""The whole disks of this machine and the free space of its volumes, through psutil.

Running totals of the operating system, handed on as they are: the fold unwraps them. On
Linux the times are milliseconds of 32 bits, all else has 64. On Windows the numbers of
requests have 32 bits; psutil gives the times there in whole seconds (psutil issue 3002), which
is no latency, so they are left out, as on systems whose unit is not known.
"""

import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import psutil

from esefiles.base.block_devices import BlockDevices, Mount
from esefiles.base.names import printable, reason_of
from esewatch.config import Disks, Settings
from esewatch.ese.volumes import NOT_KNOWN, free_space
from esewatch.model import Batch, Feed, Reading, SourceError, VolumesSeen
from esewatch.sources.counters.poll_timer import PollTimer, SampleClock
from esewatch.sources.kind import RecordSelection

OBJECT = "disks"
MAX_VOLUMES = 1000


class _Column(NamedTuple):
    """One running total of psutil and the metric that it feeds."""

    field: str
    metric: str
    wraps: bool = False
    scale: float = 1.0


_BYTES = (
    _Column("read_bytes", "ese_device_read_bytes_total"),
    _Column("write_bytes", "ese_device_write_bytes_total"),
)
_LINUX = (
    *_BYTES,
    _Column("read_count", "ese_device_reads_total"),
    _Column("write_count", "ese_device_writes_total"),
    _Column("read_time", "ese_device_read_seconds_total", wraps=True, scale=1e-3),
    _Column("write_time", "ese_device_write_seconds_total", wraps=True, scale=1e-3),
)
_OTHERS = (
    *_BYTES,
    _Column("read_count", "ese_device_reads_total", wraps=True),
    _Column("write_count", "ese_device_writes_total", wraps=True),
)


def windows_mounts() -> list[str]:
    """Drives and folders at which volumes of Windows are mounted; nothing on other systems. psutil
    sees the folders as an administrator only (issue 1986). Python 3.12 and later."""
    volumes, mounts = getattr(os, "listvolumes", None), getattr(os, "listmounts", None)
    found: list[str] = []
    if volumes is not None and mounts is not None:
        with suppress(OSError):
            for volume in volumes():
                with suppress(OSError):
                    found += mounts(volume)
    return found


class Machine:
    """Interface to this machine; a test puts another in its place."""

    def __init__(
        self,
        blocks: BlockDevices | None = None,
        counters: Callable[..., Mapping[str, Any]] = psutil.disk_io_counters,
        partitions: Callable[..., list[Any]] = psutil.disk_partitions,
        usage: Callable[[str], Any] = psutil.disk_usage,
        mounts: Callable[[], list[str]] = windows_mounts,
        *,
        linux: bool = sys.platform == "linux",
    ) -> None:
        self._blocks = blocks or BlockDevices()
        self._counters = counters
        self._partitions = partitions
        self._usage = usage
        self._mounts = mounts
        self.columns = _LINUX if linux else _OTHERS
        self._linux = linux

    def disks(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Counters and identity of each whole disk, by its name here. Raises SourceError."""
        try:
            counters = dict(self._counters(perdisk=True, nowrap=False) or {})
        except (OSError, RuntimeError, ValueError, psutil.Error) as error:
            raise SourceError(f"disk counters cannot be read: {reason_of(error)}") from error
        if not self._linux:
            return counters, {name: name for name in counters}
        try:
            whole = self._blocks.whole_disks() & counters.keys()
        except OSError as error:
            raise SourceError(
                f"/sys/block cannot be read: {error.strerror}; "
                "without it disks and partitions look alike: mount /sys here"
            ) from error
        return {name: counters[name] for name in whole}, self._blocks.identities(whole)

    def volumes(self, identities: Mapping[str, str]) -> dict[str, str]:
        """Mount point -> identity of its disk; empty where the system does not say."""
        if not self._linux:
            return {}
        try:
            mounts = [
                Mount(part.device, printable(part.mountpoint), part.fstype)
                for part in self._partitions(all=False)
            ]
        except (OSError, RuntimeError, ValueError, psutil.Error):
            return {}
        return self._blocks.volumes(mounts, identities)

    def free(self) -> dict[str, float]:
        """Mount point -> free bytes; empty where the system does not say.

        Only local file systems are asked: a share may never answer. Others are NOT_KNOWN, so that
        the volume that they are mounted in is not taken for theirs.
        """
        try:
            local = {(part.device, part.mountpoint) for part in self._partitions(all=False)}
            mounted = self._partitions(all=True) if self._linux else []
        except (OSError, RuntimeError, ValueError, psutil.Error):
            return {}
        mounts = [(part.device, part.mountpoint) for part in mounted] or sorted(local)
        # Of two that are mounted at one place the later one is seen.
        seen = {point: (device, point) in local for device, point in mounts}
        seen |= {point: True for point in self._mounts() if point not in seen}
        return {
            printable(point): self._free_at(point) if is_local else NOT_KNOWN
            for point, is_local in islice(seen.items(), MAX_VOLUMES)
        }

    def _free_at(self, point: str) -> float:
        try:
            return float(self._usage(point).free)
        except (OSError, RuntimeError, ValueError, psutil.Error):
            return NOT_KNOWN


def open(entry: Disks, _settings: Settings, _wanted: RecordSelection) -> "DisksSource":
    return DisksSource(entry.name, interval=entry.interval, computer=entry.computer or "")


class DisksSource:
    """Samples the whole disks every `interval` seconds. `computer`: default this host's name."""

    def __init__(
        self,
        name: str,
        *,
        interval: float,
        computer: str = "",
        machine: Machine | None = None,
        pace: PollTimer | None = None,
        clock: SampleClock | None = None,
    ) -> None:
        self.name = name
        self._computer = computer or socket.gethostname()
        self._machine = machine or Machine()
        self._pace = pace or PollTimer(interval)
        self._clock = clock or SampleClock()
        self._volumes: dict[str, str] | None = None

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """Continue the times after the last sample."""
        self._clock.restore(positions)

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        """One sample of each disk when it is due. Raises SourceError when no disk can be read."""
        if not self._pace.due():
            yield Batch(caught_up=True)
            return
        try:
            counters, identities = self._machine.disks()
            if not counters:
                raise SourceError("no physical disk is visible here")
        except SourceError:
            self._pace.again()
            raise
        time = self._clock.next()
        batch = Batch(caught_up=True, positions=self._clock.positions())
        volumes = self._machine.volumes(identities)
        if volumes != self._volumes:
            self._volumes = volumes
            batch.records.append(VolumesSeen(time=time, computer=self._computer, devices=volumes))
        for name, counted in sorted(counters.items()):
            batch.records += self._readings(time, name, identities[name], counted)
        batch.records += self._free(time)
        yield batch

    def _readings(self, time: float, name: str, device: str, counted: Any) -> Iterator[Reading]:
        for column in self._machine.columns:
            yield Reading(
                time=time,
                computer=self._computer,
                object=OBJECT,
                counter=column.field,
                instance=name,
                value=float(getattr(counted, column.field)),
                kind="total",
                feed=Feed(
                    metric=column.metric,
                    owner="device",
                    name=device,
                    scale=column.scale,
                    wraps=column.wraps,
                ),
            )

    def _free(self, time: float) -> Iterator[Reading]:
        for volume, free in self._machine.free().items():
            if (feed := free_space(volume)) is not None:
                yield Reading(
                    time=time,
                    computer=self._computer,
                    object=OBJECT,
                    counter="free",
                    instance=volume,
                    value=free,
                    kind="level",
                    feed=feed,
                )

    def close(self) -> None:
        """Nothing to close."""
