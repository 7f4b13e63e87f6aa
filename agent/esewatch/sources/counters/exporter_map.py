r"""Mapping from metrics of windows_exporter to counters, as far as it is exact.

The collector `performancecounter` (0.30 and later) names a metric by object and counter:
`windows_performancecounter_` and both in lower case, `%` as `percent`, brackets left out, each
other character but letters and digits as `_`. By default it shows raw values. A raw `/sec`
counter is a running count. A raw mean or percentage is a sum without its base: no value by itself.
Those are read only from metrics named `windows_performancecounter_formatted_...`, which the
shipped configuration of the exporter gives to objects of `type: formatted`.

The TYPE line tells raw from formatted only where the exporter's configuration sets `type` for the
counter: without it all counters of an instance get the type of one of them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from esewatch.ese.counters.counter_feeds import (
    DISK_METRICS,
    DISKS,
    FREE_MEGABYTES,
    VOLUMES,
    counter_path,
    disk_counter,
    fed,
    feed_of,
    kind_of,
    lookup,
)
from esewatch.ese.counters.counter_names import LATIN, object_kind
from esewatch.ese.counters.counter_table import COUNTERS
from esewatch.ese.volumes import free_space
from esewatch.model import Feed, Kind

PREFIX = "windows_performancecounter"
FORMATTED = f"{PREFIX}_formatted"
VOLUME_INFO = "windows_logical_disk_info"
VOLUME_FREE = "windows_logical_disk_free_bytes"

_NEIGHBOURS = (
    (r"MSExchangeIS\RPC Averaged Latency", True),
    (r"MSExchangeIS Store\RPC Average Latency", True),
    (r"MSExchange Replication\CopyQueueLength", False),
    (r"MSExchange Replication\ReplayQueueLength", False),
    (r"Processor\% Processor Time", True),
)
"""Counters of other objects, and whether only their formatted value is known to be meaningful."""

_COMPUTED = {
    "ese_io_latency_seconds",
    "ese_checkpoint_depth_target_ratio",
    "ese_host_processor_ratio",
}
"""Metrics of counters whose raw value is a sum or a part, not the value shown."""

_DISK_32_BIT = {"Disk Reads/sec", "Disk Writes/sec"}
_COLLECTOR = {
    metric.replace("ese_device", "windows_physical_disk"): name
    for name, metric in DISK_METRICS.items()
}
"""Metrics of the collector physical_disk, whose names end as ours. Its `..._latency_seconds_total`
assume a clock of 10 MHz and wrap at 32 bits of it, so they are not read."""


class Shown(NamedTuple):
    """The counter that a metric shows, in perfmon's words."""

    object: str
    counter: str
    kind: Kind
    """`total` for a rate of perfmon: here it is the count behind it."""
    counts: bool = False
    """The metric must be a counter: as a gauge it may be the formatted rate."""
    in_bytes: bool = False
    """The free space of a volume in bytes: perfmon shows megabytes."""

    def instance(self, labels: Mapping[str, str]) -> str:
        """The instance in the terms of perfmon: label `disk` or `volume` of one, else
        `instance`."""
        if self.object == DISKS and "disk" in labels:
            return labels["disk"]
        if self.object == VOLUMES and "volume" in labels:
            return labels["volume"]
        return labels.get("instance", "")

    def feed(self, labels: Mapping[str, str]) -> Feed | None:
        """The series that a sample with these labels feeds, None when it feeds none."""
        instance = self.instance(labels)
        if self.in_bytes:
            return free_space(instance)
        if self.object != DISKS:
            return feed_of(self.object, instance, self.counter)
        # Mount points may stand behind the number of the disk: `1 C:`.
        disk = instance.split(" ", 1)[0]
        if not disk or disk.lower() == "_total":
            return None
        return Feed(
            metric=DISK_METRICS[self.counter],
            owner="device",
            name=disk,
            wraps=self.counter in _DISK_32_BIT,
        )


def metric_name(*parts: str) -> str:
    """The name that the collector `performancecounter` makes of prefix, object and counter."""
    joined = "_".join(parts).lower().replace("%", "percent")
    return re.sub(r"[^a-z0-9]", "_", joined.replace("(", "").replace(")", "")).strip("_")


def read_map(entries: Mapping[str, str]) -> dict[str, Shown]:
    r"""The shipped map with `entries` (metric -> `object\counter`) over it.

    The configuration has seen that each counter feeds a metric (`is_read`).
    """
    own = {name: _shown(*counter_path(path)) for name, path in entries.items()}
    # Two counters of one series would be added up.
    taken = {_series(shown): shown.counter.lower() for shown in own.values()}
    shipped = {
        name: shown
        for name, shown in _shipped()
        if taken.get(_series(shown), shown.counter.lower()) == shown.counter.lower()
    }
    return {**shipped, **own}


def _series(shown: Shown) -> tuple[str, str, tuple[str, ...]]:
    """Object and series that a counter feeds; the counter itself where it is no counter of ESE."""
    found = lookup(shown.object, shown.counter)
    if found is None:
        return (shown.object.lower(), shown.counter.lower(), ())
    return (shown.object.lower(), found.metric, found.labels)


def _shipped() -> Iterator[tuple[str, Shown]]:
    for metric, name in _COLLECTOR.items():
        yield metric, _shown(DISKS, name)
    yield VOLUME_FREE, Shown(VOLUMES, FREE_MEGABYTES, "level", in_bytes=True)
    for path, computed in _NEIGHBOURS:
        object_name, _, name = path.partition("\\")
        yield from _names(object_name, name, computed=computed)
    counted = {(counter.metric, counter.labels) for counter in COUNTERS if counter.kind == "total"}
    for language in LATIN:
        for object_name, name, counter in fed(language):
            # Where ESE has a running count beside the rate, the rate would count the same again.
            twin = counter.kind == "rate" and (counter.metric, counter.labels) in counted
            if not twin:
                yield from _names(object_name, name, computed=counter.metric in _COMPUTED)


def _names(object_name: str, name: str, *, computed: bool) -> Iterator[tuple[str, Shown]]:
    """Both metrics of a counter, as far as their values are meaningful."""
    shown = _shown(object_name, name)
    if not computed:
        yield metric_name(PREFIX, object_name, name), shown
    if shown.kind == "level":
        yield metric_name(FORMATTED, object_name, name), shown


def _shown(object_name: str, name: str) -> Shown:
    if object_name.lower() == DISKS.lower():
        return Shown(DISKS, disk_counter(name), "total", counts=True)
    kind = kind_of(object_name, name)
    return Shown(
        object=object_name,
        counter=name,
        kind="level" if kind == "level" else "total",
        counts=kind == "rate",
    )


def is_instances(shown: Shown) -> bool:
    """True if the counter is one of the instances of ESE, whose presence is recorded."""
    return (
        object_kind(shown.object) == "instances" and lookup(shown.object, shown.counter) is not None
    )
