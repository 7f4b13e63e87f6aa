"""Limits that the dashboards draw, and those of them that alerts compare with, as they are shipped.

A site that has others sets them in its `_config` (scripts/mixin.py). On a dashboard each is a
variable of its own, in which the mixin puts the site's; in the rules it is put where `IN_RULES`
says. What the agent judges by its configuration is only drawn: the policy there has to say the
same.
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from esewatch.advice.findings.risk import LIMITS as LEVELS
from esewatch.config import Policy
from esewatch.fold.instances.backups import SLOW as SLOW_JOB

_POLICY = Policy()
_QUEUES = {limit.metric: limit.most for limit in LEVELS}
Limit = Annotated[float, msgspec.Meta(gt=0)]


class Limits(msgspec.Struct, frozen=True, rename="camel"):
    """By the names of `_config`."""

    ratio_low: Limit = _POLICY.ratio_low
    ratio_high: Limit = _POLICY.ratio_high
    min_pages_read: Limit = _POLICY.min_pages_read
    version_buckets: Annotated[float, msgspec.Meta(ge=0)] = 0
    """0: none is drawn, for the most that an engine may have is not known."""
    cache_bytes: Annotated[float, msgspec.Meta(ge=0)] = 0
    """Of the store of a computer. 0: none is drawn."""
    backup_within_seconds: Limit = _POLICY.backup_within
    restorable_within_seconds: Limit = _POLICY.restorable_within
    checkdb_within_seconds: Limit = _POLICY.checkdb_within
    replay_queue_logs: Limit = _QUEUES["ese_replay_queue_logs"]
    copy_queue_logs: Limit = _QUEUES["ese_copy_queue_logs"]
    passive_per_active: Limit = 1.5
    scan_throughput: Limit = 0.33
    """A part of what is usual, as the next one."""
    backup_throughput: Limit = 0.6
    backup_job_slowdown: Limit = SLOW_JOB
    """Throughput of the last set as a part of that of the first."""
    slow_backup_jobs: Limit = 3
    busiest_device: Limit = 0.7
    """A part of all that a CHECKDB reads."""
    read_latency_seconds: Limit = 0.02
    read_latency_critical_seconds: Limit = 0.1
    write_latency_seconds: Limit = 0.05
    log_write_latency_seconds: Limit = 0.01
    log_write_latency_critical_seconds: Limit = 0.05
    recovery_read_latency_seconds: Limit = 0.2
    log_write_slowdown: Limit = 10
    """Latency of log writes as a multiple of what is usual."""


DEFAULTS: Mapping[str, float] = msgspec.to_builtins(Limits())
_READ = r'file="database",operation="read",phase!="recovery"\}(?: offset 5m)? > '
_LOG = r'file="log",operation="write"\} > '
IN_RULES: Mapping[str, tuple[str, str]] = {
    "readLatencySeconds": (_READ, ""),
    "readLatencyCriticalSeconds": (_READ, ""),
    "writeLatencySeconds": (r'file="database",operation="write",phase!="recovery"\} > ', ""),
    "logWriteLatencySeconds": (_LOG, ""),
    "logWriteLatencyCriticalSeconds": (_LOG, ""),
    "recoveryReadLatencySeconds": (r'file="database",operation="read",phase="recovery"\} > ', ""),
    "logWriteSlowdown": (r"^ +", r" \* max .*ese_io_latency_seconds:avg1h\[28d\]"),
}
"""Of each limit in the rules what stands before it and behind it in its line: regular expressions.
With the number that is shipped they find it, and nothing else."""
