"""Storage: who shares a device and when, how fast it is against its own past, and what it costs."""

from grafana_foundation_sdk.builders import dashboard as builder

from dashboards.alerted import against, drawn, limit_of
from dashboards.backed_up import backups
from dashboards.backup_jobs import backup_jobs
from dashboards.board import Board, Row
from dashboards.checked import checks
from dashboards.devices import devices, now, throughput
from dashboards.latency import INSTANCE, NO_COUNTERS, latencies
from dashboards.links import runbook, to_database, to_instance
from dashboards.parts import (
    AGENT,
    COMPUTER,
    DATABASE,
    ON_DATABASE,
    Panel,
    Query,
    Words,
    finish,
    lines,
    variable,
)
from dashboards.placed import of_databases, of_instances

BUSY_COPY = 1.5
OF_DATABASES = "ese_database_info|sqlserver_database_first_seen_timestamp_seconds"
OF_DEVICES = "ese_database_device_info|sqlserver_database_device_info"
NO_COPIES = "No passive copy, or nothing to compare it with"
PATH = "{{computer}} {{database}}"


def _offered(label: str, title: str, metrics: str, selection: str) -> builder.QueryVariable:
    """Values of a label: alerts of SQL Server lead here too, so its databases are among them."""
    query = f'label_values({{__name__=~"{metrics}",{selection}}}, {label})'
    return variable(label, title, query)


def active_and_passive() -> list[Panel]:
    """Do passive copies work too much, or lag?"""
    ratio = of_databases(f"database:ese_database_io_passive_per_active:ratio_rate1d{{{DATABASE}}}")
    queues = (
        ("Replay queue", "Logs that wait to be replayed.", "ese_replay_queue_logs",
         "EseReplayQueueLong"),
        ("Copy queue", "Logs that wait to be copied here, lost with the active server.",
         "ese_copy_queue_logs", "EseCopyQueueLong"),
    )  # fmt: skip
    return [
        against(
            Words(
                "Passive against active",
                "Database requests of a passive copy in a day as a multiple of those of the active"
                " one.",
                "short",
                NO_COPIES,
            ),
            [Query(ratio, PATH)],
            [drawn(BUSY_COPY, ratio, "usual at most")],
            [to_database()],
        ),
        finish(
            lines(),
            Words(
                "Requests of each copy",
                "Database requests a second over a day, of copies alone in their instance.",
                "iops",
                NO_COUNTERS,
            ),
            [
                Query(
                    of_databases(f"database:ese_database_io:rate1d{{{DATABASE}}}"),
                    f"{PATH} {{{{role}}}}",
                )
            ],
            [to_database()],
        ),
        *(
            against(
                Words(title, sentence, "short", "No replication counters of these instances"),
                [Query(of_instances(f"{metric}{{{COMPUTER}}}"), INSTANCE)],
                [drawn(limit_of(alert), of_instances(f"{metric}{{{COMPUTER}}}"))],
                [to_instance(), runbook(alert)],
            )
            for title, sentence, metric, alert in queues
        ),
    ]


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
                "Cache of each process, and dashed what the mailboxes of all active databases of"
                " the computer should have.",
                "bytes",
                NO_COUNTERS,
            ),
            [Query(f"ese_cache_size_bytes{{{COMPUTER}}}", "{{computer}} {{process}}")],
            [Query(wanted, "{{computer}} {{instance}} wanted")],
            [runbook("EseDatabaseReadLatencyHigh")],
        ),
        against(
            Words(
                "Cache against policy",
                "Cache of the store as a part of what the mailboxes of all active databases of the"
                " computer should have.",
                "percentunit",
                "No database has its number of mailboxes configured, or no counters",
            ),
            [Query(part, "{{computer}} {{instance}}")],
            [drawn(1, part, "policy")],
            [runbook("EseDatabaseReadLatencyHigh")],
        ),
    ]


STORAGE = Board(
    "esewatch-storage",
    "ESE: storage",
    "Who shares a device and when, throughput and latency against their own history, copies,"
    " backups, cache and checks of SQL Server.",
    (
        _offered("computer", "Computer", OF_DATABASES, AGENT),
        _offered("device", "Device", OF_DEVICES, COMPUTER),
        _offered("database", "Database", OF_DATABASES, COMPUTER),
    ),
    (
        Row("Now", now),
        Row("Devices", devices),
        Row("Throughput", throughput),
        Row("Latency", latencies),
        Row("Copies", active_and_passive),
        Row("Backups", backups),
        Row("Backup jobs", backup_jobs),
        Row("Cache", memory),
        Row("SQL Server: DBCC CHECKDB", checks),
    ),
)
