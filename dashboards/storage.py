"""Storage: who shares a device and when, how fast it is against its own past, and the cache."""

from dashboards.alerted import against, drawn
from dashboards.board import Board, Row
from dashboards.by_device import of_one_computer
from dashboards.devices import devices, now, throughput
from dashboards.latency import NO_COUNTERS, latencies
from dashboards.links import runbook
from dashboards.parts import COMPUTER, Panel, Query, Words


def memory() -> list[Panel]:
    """How much cache do the processes have?"""
    size = f"ese_cache_size_bytes{{{COMPUTER}}}"
    return [
        against(
            Words(
                "Database cache",
                "Cache of each process, against the limit that the site sets; the finding"
                " cache_small says where it is less than the mailboxes should have.",
                "bytes",
                NO_COUNTERS,
            ),
            [Query(size, "{{computer}} {{process}}")],
            [drawn("cacheBytes", size, "limit")],
            [runbook("EseLatencyHigh")],
        ).span(24)
    ]


STORAGE = Board(
    "esewatch-storage",
    "ESE: storage",
    "The devices of a computer: who shares one and when, throughput and latency against their own"
    " history, and the cache.",
    of_one_computer(),
    (
        Row("Now", now),
        Row("Devices", devices),
        Row("Throughput", throughput),
        Row("Latency", latencies),
        Row("Cache", memory, collapsed=True),
    ),
)
