"""Storage: who shares a device and when, how fast it is against its own past, and the cache."""

from dashboards.alerted import against, drawn
from dashboards.board import Board, Row
from dashboards.by_device import of_one_computer
from dashboards.devices import devices, now, throughput
from dashboards.latency import NO_COUNTERS, latencies
from dashboards.links import runbook
from dashboards.parts import COMPUTER, ON_DATABASE, Panel, Query, Words


def memory() -> list[Panel]:
    """Is there as much cache as the mailboxes should have?"""
    store = "Information Store.*|Microsoft.Exchange.Store.Worker.*"
    on_computer = "job, instance, computer"
    size = f'sum by ({on_computer}) (ese_cache_size_bytes{{{COMPUTER},process=~"{store}"}})'
    wanted = (
        f"sum by ({on_computer}) (esewatch_policy_cache_bytes{{{COMPUTER}}}"
        f" and on ({ON_DATABASE})"
        f' ese_database_info{{{COMPUTER},role!="passive",tier="watched"}})'
    )
    part = f"{size} / on ({on_computer}) {wanted}"
    return [
        against(
            Words(
                "Database cache",
                "Cache of each process, and dashed the cache that the mailboxes of all active"
                " databases of the computer should have.",
                "bytes",
                NO_COUNTERS,
            ),
            [Query(f"ese_cache_size_bytes{{{COMPUTER}}}", "{{computer}} {{process}}")],
            [Query(wanted, "{{computer}} {{instance}} wanted")],
            [runbook("EseLatencyHigh")],
        ),
        against(
            Words(
                "Cache against policy",
                "Cache of the store as a part of the cache that the mailboxes of all active"
                " databases of the computer should have.",
                "percentunit",
                "No database has its number of mailboxes configured, or no counters",
            ),
            [Query(part, "{{computer}} {{instance}}")],
            [drawn(1, part, "policy")],
            [runbook("EseLatencyHigh")],
        ),
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
