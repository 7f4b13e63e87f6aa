"""The performance counters of ESE as data: their kinds and the series they feed.

Names and types are those of the engine's counter table (schema version 305).
"""

from typing import Literal

import msgspec

from esewatch.model import Kind

ObjectKind = Literal["process", "table_classes", "instances", "databases"]

_P: ObjectKind = "process"
_T: ObjectKind = "table_classes"
_I: ObjectKind = "instances"
_D: ObjectKind = "databases"


class Counter(msgspec.Struct, frozen=True, gc=False):
    """One counter. `name` is that of current engines; `counter_names` has all others.

    `metric` is what it feeds as a counter of the object `of`, empty when nothing.
    """

    name: str
    kind: Kind
    objects: tuple[ObjectKind, ...]
    metric: str = ""
    labels: tuple[str, ...] = ()
    """Values of the metric's labels beyond those of the instance or process."""
    scale: float = 1.0
    """Base units in one unit of the counter."""
    of: ObjectKind = "instances"
    absolute: bool = False
    """As of `Feed`."""


LATENCY = "ese_io_latency_seconds"
IO = "ese_database_io_total"
LOG_IO = "ese_log_io_total"
MILLISECOND = 1e-3
MEGABYTE = 2.0**20
PERCENT = 1e-2


def _rates(objects: tuple[ObjectKind, ...], *names: str) -> list[Counter]:
    return [Counter(name, "rate", objects) for name in names]


def _totals(objects: tuple[ObjectKind, ...], *names: str) -> list[Counter]:
    return [Counter(name, "total", objects) for name in names]


def _levels(objects: tuple[ObjectKind, ...], *names: str) -> list[Counter]:
    return [Counter(name, "level", objects) for name in names]


_DEFRAG = [
    Counter("Online Defrag Pages Read/sec", "rate", (_P, _I), "ese_defrag_pages_read_total"),
    Counter("Online Defrag Pages Freed/sec", "rate", (_P, _I), "ese_defrag_pages_freed_total"),
    Counter("Online Defrag Log Bytes/sec", "rate", (_P, _I), "ese_defrag_log_bytes_total"),
    *_rates(
        (_P, _I),
        "Online Defrag Pages Preread/sec",
        "Online Defrag Pages Dirtied/sec",
        "Online Defrag Data Moves/sec",
        "Online Defrag Pages Moved/sec",
        "Defragmentation Tasks Scheduled/sec",
        "Defragmentation Tasks Completed/sec",
        # Exchange 2007 only
        "Online Defrag Pages Re-Dirtied/sec",
        "Online Defrag Pages Referenced/sec",
        "Online Defrag Log Records/sec",
    ),
    Counter("Defragmentation Tasks", "level", (_P, _I)),
    Counter("Defragmentation Tasks Pending", "level", (_P, _I)),
    Counter("Defragmentation Tasks Postponed", "level", (_P, _I)),
    *_levels((_P, _I), "Online Defrag Average Log Bytes"),
]  # fmt: skip

_MAINTENANCE = [
    Counter("Database Maintenance Pages Read", "total", (_P, _I),
        "ese_maintenance_pages_read_total"),
    Counter("Database Maintenance Pages Read/sec", "rate", (_P, _I),
        "ese_maintenance_pages_read_total"),
    Counter("Database Maintenance Pages Zeroed", "total", (_P, _I),
        "ese_maintenance_pages_zeroed_total"),
    Counter("Database Maintenance Pages Zeroed/sec", "rate", (_P, _I),
        "ese_maintenance_pages_zeroed_total"),
    # Not in the published table: its name is that of the WMI classes (see `counter_names`).
    Counter("Database Maintenance Pages Bad Checksums", "total", (_P, _I),
        "ese_maintenance_bad_checksums_total"),
    Counter("Database Maintenance Duration", "level", (_P, _I)),
    *_rates((_P, _I), "Database Maintenance IO Reads/sec", "Database Maintenance IO Re-Reads/sec"),
    *_levels((_P, _I), "Database Maintenance IO Reads Average Bytes"),
    *_levels((_I,), "Database Maintenance Throttle Setting"),
    *_totals((_P, _I), "Database Maintenance Zero Ref Count LVs Deleted",
        "Database Maintenance Pages with Flag Deleted LVs Reclaimed"),
    *_totals((_I,), "Database Maintenance Pages Skipped by Recovery",
        "Database Maintenance Pages Checked for Divergences"),
    *_rates((_I,), "Database Maintenance Pages Skipped by Recovery/sec",
        "Database Maintenance Pages Checked for Divergences/sec"),
]  # fmt: skip


def _database_io() -> list[Counter]:
    found = []
    for operation in ("Reads", "Writes"):
        for phase in ("", " (Attached)", " (Recovery)"):
            base = f"I/O Database {operation}{phase}"
            where = (_P, _I) if phase else (_P, _I, _D)
            labels = (operation.lower().removesuffix("s"), phase.strip(" ()").lower() or "all")
            rate, latency = f"{base}/sec", f"{base} Average Latency"
            found += [
                Counter(rate, "rate", where, IO, labels),
                Counter(
                    latency,
                    "level",
                    where,
                    LATENCY,
                    ("database", *labels),
                    MILLISECOND,
                ),
            ]
        found += _levels((_P, _I, _D), f"I/O Database {operation} Average Bytes")
        for cause in ("Transactional", "Maintenance"):
            base = f"I/O Database {operation} ({cause})"
            found += _totals((_D,), f"{base} Total IO")
            found += _levels(
                (_D,),
                *(
                    f"{base} {which} Latency (us)"
                    for which in ("Mean", "50th Pct", "90th Pct", "99th Pct", "Max Pct")
                ),
            )
    return found


_IO = [
    *_database_io(),
    *_rates((_P, _I), "I/O Flush Map Writes/sec"),
    Counter("I/O Log Reads/sec", "rate", (_P, _I), LOG_IO, ("read",)),
    Counter("I/O Log Writes/sec", "rate", (_P, _I), LOG_IO, ("write",)),
    # Logs are written while databases are attached and read to recover them.
    Counter("I/O Log Reads Average Latency", "level", (_P, _I), LATENCY,
        ("log", "read", "recovery"), MILLISECOND),
    Counter("I/O Log Writes Average Latency", "level", (_P, _I), LATENCY,
        ("log", "write", "attached"), MILLISECOND),
    *_levels((_P, _I), "I/O Flush Map Writes Average Latency"),
]  # fmt: skip

_CACHE = [
    *_levels((_P,), "Database Cache Size", "Database Cache Size Effective (MB)"),
    *_levels((_P,), "Database Cache Size Resident (MB)"),
    *_levels((_P,), "Database Cache Memory Committed (MB)", "Database Cache Memory Reserved (MB)"),
    Counter("Database Cache Size (MB)", "level", (_P, _I, _D, _T), "ese_cache_size_bytes",
        scale=MEGABYTE, of=_P),
    Counter("Database Cache % Hit", "level", (_P, _I, _T)),
    *_levels((_P, _I, _T), "Database Cache % Hit (Unique)"),
    Counter("Database Cache Misses/sec", "rate", (_P, _I, _T)),
    *_levels((_P, _I, _T), "Database Cache Miss (Attached) Average Latency"),
    Counter("Database Page Faults/sec", "rate", (_P,)),
    *_rates((_P,), "Database Page Evictions/sec"),
    Counter("Database Page Fault Stalls/sec", "rate", (_P,)),
]  # fmt: skip

_LOG = [
    Counter("Log Record Stalls/sec", "rate", (_P, _I), "ese_log_record_stalls_total"),
    Counter("Log Threads Waiting", "level", (_P, _I), "ese_log_threads_waiting"),
    Counter("Log Generation Checkpoint Depth", "level", (_P, _I), "ese_checkpoint_depth_logs"),
    Counter("Log Checkpoint Depth as a % of Target", "level", (_I,),
        "ese_checkpoint_depth_target_ratio", scale=PERCENT),
    *_levels((_I,), "Log Generation Checkpoint Depth Target", "Log Generation Checkpoint Depth Max",
        "Log Generation Loss Resiliency Depth"),
    *_levels((_P, _I), "Log Checkpoint Depth"),
    Counter("Log File Current Generation", "total", (_I,), "ese_log_generations_total",
        absolute=True),
    Counter("Log Files Generated", "total", (_P, _I)),
    Counter("Version Buckets Allocated", "level", (_P, _I), "ese_version_buckets_allocated"),
    *_levels((_P,), "Threads Blocked"),
    *_rates((_P,), "Threads Blocked/sec"),
    *_rates((_P, _I), "Database Tasks Pages Referenced/sec", "Database Tasks Pages Read/sec",
        "Database Tasks Pages Dirtied/sec"),
]  # fmt: skip

COUNTERS: tuple[Counter, ...] = (*_DEFRAG, *_MAINTENANCE, *_IO, *_CACHE, *_LOG)
"""Every known counter."""
