"""Mapping from the counters of an input to the series they feed.

Beside the counters of ESE a closed list of its neighbours: RPC latency of the store,
copy and replay queues, processor time, free space of volumes. Names are compared without case.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from esewatch.ese.counters.counter_names import (
    ENGLISH_OBJECTS,
    english,
    normal,
    object_kind,
    spelled,
)
from esewatch.ese.counters.counter_table import (
    COUNTERS,
    MEGABYTE,
    MILLISECOND,
    PERCENT,
    Counter,
)
from esewatch.ese.volumes import free_space
from esewatch.model import Feed, Kind, Owner

ONLINE_DEFRAG = "Online Defrag"
DATABASE_MAINTENANCE = "Database Maintenance"

TOTAL = "_total"
_ONE_DATABASE = "information store - "


class _Neighbour(msgspec.Struct, frozen=True, gc=False):
    """A level of another object than ESE's. `instance` is the one that speaks for the computer."""

    object: str
    counter: str
    metric: str
    owner: Owner = "instance"
    instance: str = ""
    scale: float = 1.0


_NEIGHBOURS = (
    _Neighbour(
        "MSExchangeIS",
        "RPC Averaged Latency",
        "exchange_rpc_latency_seconds",
        owner="computer",
        scale=MILLISECOND,
    ),
    # From Exchange 2013 on there is one store process a database, and their sum.
    _Neighbour(
        "MSExchangeIS Store",
        "RPC Average Latency",
        "exchange_rpc_latency_seconds",
        owner="computer",
        instance="_Total",
        scale=MILLISECOND,
    ),
    _Neighbour("MSExchange Replication", "CopyQueueLength", "ese_copy_queue_logs"),
    _Neighbour("MSExchange Replication", "ReplayQueueLength", "ese_replay_queue_logs"),
    _Neighbour(
        "Processor",
        "% Processor Time",
        "ese_host_processor_ratio",
        owner="computer",
        instance="_Total",
        scale=PERCENT,
    ),
)
VOLUMES = "LogicalDisk"
FREE_MEGABYTES = "Free Megabytes"

DISKS = "PhysicalDisk"
DISK_METRICS = {
    "% Disk Read Time": "ese_device_read_seconds_total",
    "% Disk Write Time": "ese_device_write_seconds_total",
    "Disk Read Bytes/sec": "ese_device_read_bytes_total",
    "Disk Write Bytes/sec": "ese_device_write_bytes_total",
    "Disk Reads/sec": "ese_device_reads_total",
    "Disk Writes/sec": "ese_device_writes_total",
}
_DISK_COUNTERS = {name.lower(): name for name in DISK_METRICS}

_NEIGHBOUR_OF = {(item.object.lower(), item.counter.lower()): item for item in _NEIGHBOURS}

_PER_SECOND = re.compile(r"/ ?(sec|sek|s)\.?$| pro sekunde$| per second$")
_BY_NAME = {normal(counter.name): counter for counter in COUNTERS}


def lookup(object_name: str, counter: str) -> Counter | None:
    """The ESE counter of that name; None for another object and an unknown name."""
    return _BY_NAME.get(normal(english(counter))) if object_kind(object_name) else None


def kind_of(object_name: str, counter: str) -> Kind:
    """The kind of the values of any counter: by the table, else by its name."""
    if found := lookup(object_name, counter):
        return found.kind
    return "rate" if _PER_SECOND.search(counter.strip().lower()) else "level"


def feed_of(object_name: str, instance: str, counter: str) -> Feed | None:
    """The series that a counter feeds, None when it feeds none.

    `instance` is that of perfmon: `process/instance` of ESE's objects. Counters of a process
    and of `_Total` are never taken for those of an ESE instance, but for `_Total` of a process
    that has one database by its name (semantics.md 1, `OwnInstances`).
    """
    names = (normal(object_name), normal(counter))
    if names == (VOLUMES.lower(), FREE_MEGABYTES.lower()):
        return free_space(instance, MEGABYTE)
    neighbour = _NEIGHBOUR_OF.get(names)
    if neighbour is not None:
        return _feed_of_neighbour(neighbour, instance.strip())
    found = lookup(object_name, counter)
    if found is None or not found.metric or found.of != object_kind(object_name):
        return None
    process, _, name = (part.strip() for part in instance.partition("/"))
    if found.of == "process":
        if not process or _is_sum(process):
            return None
        return Feed(
            metric=found.metric,
            owner="computer",
            labels=(process, *found.labels),
            scale=found.scale,
        )
    if is_stand_in(instance):
        name = process[len(_ONE_DATABASE) :]
    elif not name or _is_sum(name):
        return None
    return Feed(
        metric=found.metric,
        name=name,
        labels=found.labels,
        scale=found.scale,
        absolute=found.absolute,
    )


def may_feed(object_name: str, counter: str) -> bool:
    """Does a counter of that name feed a series for some instance?"""
    names = (normal(object_name), normal(counter))
    if names in _NEIGHBOUR_OF or names == (VOLUMES.lower(), FREE_MEGABYTES.lower()):
        return True
    found = lookup(object_name, counter)
    return found is not None and bool(found.metric) and found.of == object_kind(object_name)


def _is_sum(name: str) -> bool:
    """True of `_Total`, also of a second one, which Windows names `_Total#1`."""
    return name.lower().partition("#")[0] == TOTAL


def is_stand_in(instance: str) -> bool:
    """Is it `_Total` of a process that has one database by its name (`Information Store - DB01`)?

    Exchange 2013 and later run one store process for each database.
    """
    process, _, name = instance.strip().lower().partition("/")
    return len(process) > len(_ONE_DATABASE) and (
        process.startswith(_ONE_DATABASE) and name.strip() == TOTAL
    )


class OwnInstances:
    """The ESE instances that one input has samples of: for them no `_Total` stands."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()

    def add(self, computer: str, instance: str) -> None:
        """`instance` is that of perfmon, of ESE's object of instances."""
        name = instance.partition("/")[2].strip().lower()
        if name and not _is_sum(name):
            self._seen.add((computer.lower(), name))

    def replace(self, computer: str, instance: str, feed: Feed | None) -> bool:
        """True of a `_Total` whose instance is among them."""
        return (
            feed is not None
            and is_stand_in(instance)
            and (computer.lower(), feed.name.lower()) in self._seen
        )


def _feed_of_neighbour(neighbour: _Neighbour, instance: str) -> Feed | None:
    if neighbour.owner == "computer":
        fits = instance.lower() == neighbour.instance.lower()
        return (
            Feed(metric=neighbour.metric, owner="computer", scale=neighbour.scale) if fits else None
        )
    if not instance or _is_sum(instance):
        return None
    return Feed(metric=neighbour.metric, name=instance, scale=neighbour.scale)


_GROUPS: dict[str, tuple[str, ...]] = {
    ONLINE_DEFRAG: ("ese_defrag_pages_read_total", "ese_defrag_pages_freed_total"),
    DATABASE_MAINTENANCE: ("ese_maintenance_pages_read_total",),
}


def present(counters: Iterable[tuple[str, str]]) -> dict[str, bool]:
    """The groups of counters that a computer exposes, from its (object, counter) names.

    `Online Defrag` needs pages read and pages freed, `Database Maintenance` pages
    read. Empty when there is no object of instances: nothing is known then.
    """
    names = {pair for pair in counters if object_kind(pair[0]) == "instances"}
    if not names:
        return {}
    return _groups(names)


def _groups(names: Iterable[tuple[str, str]]) -> dict[str, bool]:
    fed = {found.metric for pair in names if (found := lookup(*pair))}
    return {group: fed.issuperset(metrics) for group, metrics in _GROUPS.items()}


def sampled_groups(columns: Iterable[str]) -> set[str]:
    """The groups all of whose counters have a column: `object|counter|instance`, in lower case."""
    names = [(parts[0], parts[1]) for column in columns if len(parts := column.split("|")) > 2]
    return {group for group, there in _groups(names).items() if there}


def fed(language: str = "en") -> Iterator[tuple[str, str, Counter]]:
    """Object and name, in one language, of each counter of ESE that feeds a metric."""
    for object_name, kind in ENGLISH_OBJECTS.items():
        for counter in COUNTERS:
            if counter.metric and counter.of == kind:
                for named in spelled(object_name, object_name, language):
                    for name in spelled(counter.name, object_name, language):
                        yield named, name, counter


def paths(language: str = "en") -> list[str]:
    """Perfmon paths of all counters that feed a metric; `(*)` stands for all instances. Those of
    ESE by their names in one language."""
    found = [f"\\{object_name}(*)\\{name}" for object_name, name, _ in fed(language)]
    for item in _NEIGHBOURS:
        alone = item.owner == "computer"
        instance = (f"({item.instance})" if item.instance else "") if alone else "(*)"
        found.append(f"\\{item.object}{instance}\\{item.counter}")
    return [*found, f"\\{VOLUMES}(*)\\{FREE_MEGABYTES}"]


def counter_path(path: str) -> tuple[str, str]:
    r"""Object and counter of `object\counter`, which may begin with a backslash."""
    object_name, _, name = path.strip("\\").partition("\\")
    return object_name.strip(), name.strip()


def disk_counter(name: str) -> str:
    """The counter of a physical disk in perfmon's spelling; empty for one that is not read."""
    return _DISK_COUNTERS.get(name.lower(), "")


def is_read(path: str) -> bool:
    r"""True if the counter `object\counter` feeds a metric for some instance."""
    object_name, name = counter_path(path)
    if object_name.lower() == DISKS.lower():
        return disk_counter(name) != ""
    instances = ("process/instance", "process", "_Total", "", "C:")
    return any(feed_of(object_name, each, name) for each in instances)
