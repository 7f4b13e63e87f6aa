"""Latency: how long storage takes for what the engine asks, held against alerts and the past."""

from collections.abc import Sequence

from grafana_foundation_sdk.builders import timeseries

from dashboards.alerted import against, drawn
from dashboards.by_device import of_databases, of_instances
from dashboards.links import runbook, to_database, to_instance
from dashboards.parts import (
    COMPUTER,
    COUNT,
    DATABASE,
    ON_DATABASE,
    ON_INSTANCE,
    POINTS,
    Panel,
    Query,
    Words,
    bars,
    config,
    finish,
    grown,
    lines,
    logarithmic,
)

ALERT = "EseLatencyHigh"
NO_COUNTERS = "No performance counters of these instances"
INSTANCE = "{{computer}} {{ese_instance}}"
PATH = "{{computer}} {{database}}"


def latencies() -> list[Panel]:
    """Is storage fast enough for what the engine asks of it?"""
    found = [
        _latency(
            "Database read latency",
            "Median of 15 minutes of reads from attached databases; the alert applies where there"
            " is load and no window is open.",
            'file="database",operation="read",phase!="recovery"',
            ("readLatency", "readLatencyCritical"),
        ),
        _latency(
            "Database write latency",
            "Median of 15 minutes of writes to attached databases; the alert applies where there"
            " is load and no window is open.",
            'file="database",operation="write",phase!="recovery"',
            ("writeLatency",),
        ),
        _latency(
            "Log write latency",
            "Median of 15 minutes of writes to transaction logs, for which every change waits.",
            'file="log",operation="write"',
            ("logWriteLatency", "logWriteLatencyCritical"),
        ),
    ]
    return [*found, _recovery(), *requests(), write_cache()]


def _latency(title: str, sentence: str, kind: str, alerted: Sequence[str]) -> timeseries.Panel:
    median = f"ese_instance:ese_io_latency_seconds:median15m{{{COMPUTER},{kind}}}"
    severities = zip(alerted, ("warning", "critical"), strict=False)
    return against(
        Words(title, sentence, "s", NO_COUNTERS),
        [Query(of_instances(median), f"{INSTANCE} {{{{phase}}}}")],
        [drawn(f"{limit}Seconds", median, severity) for limit, severity in severities],
        [to_instance(), runbook(ALERT)],
    )


def _recovery() -> timeseries.Panel:
    median = f'ese_instance:ese_io_latency_seconds:median15m{{{COMPUTER},phase="recovery"'
    told = f'{median},file="database"}}'
    # Of a passive copy even what an engine does not tell apart is recovery.
    passive = f'ese_database_info{{{DATABASE},role="passive"}}'
    rest = f'ese_io_latency_seconds{{{COMPUTER},file="database",phase="all"}}'
    rest += f" and on ({ON_INSTANCE}) {passive} unless on ({ON_INSTANCE}) {told}"
    merged = f"{median}}} or ({rest})"
    expression = of_instances(f"({merged})")
    return against(
        Words(
            "Latency of recovery",
            "Reads and writes of copies that replay logs, the median of 15 minutes where the engine"
            " tells them apart; the alert is about reads from databases.",
            "s",
            "No copy that replays logs, or no counters of it",
        ),
        [Query(expression, f"{INSTANCE} {{{{file}}}} {{{{operation}}}}")],
        [
            drawn(
                "recoveryReadLatencySeconds", f"{median}}} or {passive}", "warning, database reads"
            )
        ],
        [to_instance(), runbook(ALERT)],
    )


def requests() -> list[Panel]:
    """How much is asked, and what did not come back in time?"""

    def rate(metric: str, phases: str = "") -> str:
        growth = f"rate({metric}{{{COMPUTER}{phases}}}[$__rate_interval])"
        return f"sum by ({ON_INSTANCE}, operation) ({growth})"

    # Phase "all" repeats the others where an engine tells both.
    known, rest = (rate("ese_database_io_total", f',phase{sign}"all"') for sign in ("!=", "="))
    of_log = rate("ese_log_io_total")

    def reports(growth: str) -> str:
        return of_databases(f"sum by ({ON_DATABASE}, operation) ({growth})")

    slow = f"increase(ese_slow_io_reports_total{{{DATABASE}}}[$__rate_interval])"
    hung = grown(
        f"ese_hung_io_reports_total{{{DATABASE}}}",
        "$__rate_interval",
        f"ese_hung_io_last_timestamp_seconds{{{DATABASE}}} > time() - 3600",
    )

    return [
        finish(
            lines(),
            Words(
                "Requests of the engine",
                "Reads and writes a second of database files and of transaction logs.",
                "iops",
                NO_COUNTERS,
            ),
            [
                Query(of_instances(f"({known} or {rest})"), f"{INSTANCE} {{{{operation}}}}"),
                Query(of_instances(of_log), f"{INSTANCE} log {{{{operation}}}}"),
            ],
            [to_instance()],
        ),
        finish(
            bars(),
            Words(
                "Slow and hung requests",
                "Requests that the engine reported as abnormally slow or as not completed.",
                COUNT,
                "No watched database matches the selection",
            ),
            [
                Query(reports(slow), f"{PATH} slow {{{{operation}}}}"),
                Query(reports(hung), f"{PATH} hung {{{{operation}}}}"),
            ],
            [to_database(), runbook("EseSlowIo"), runbook("EseHungIo")],
        ),
    ]


def write_cache() -> timeseries.Panel:
    """Do log writes look as if a controller had lost its write cache?"""
    writes = f'ese_io_latency_seconds{{{COMPUTER},file="log",operation="write"}}'
    hour = f"avg_over_time({writes}[1h])"
    hours = f"ese_instance:ese_io_latency_seconds:avg1h{{{COMPUTER}}}"
    usual = f"quantile_over_time(0.5, {hours}[28d])"
    ratio = f"({hour} / ({usual} > 0))"
    direct = f"ese_database_direct_attached{{{DATABASE}}}"
    known = f"ese_database_info{{{DATABASE}}}"
    direct = f"({known} and on ({ON_DATABASE}) {direct})"
    panel = against(
        Words(
            "Log writes against their own history",
            "Latency of log writes in an hour as a multiple of its median of 28 days; thick"
            " lines are direct-attached storage, where the write cache may be lost when a line is"
            " far above the limit.",
            "short",
            NO_COUNTERS,
        ),
        [
            Query(f"{ratio} and on ({ON_INSTANCE}) {direct}", f"{INSTANCE}, direct-attached"),
            Query(f"{ratio} and on ({ON_INSTANCE}) {known}", INSTANCE),
        ],
        [drawn("logWriteSlowdown", hour)],
        [to_instance(), runbook("EseWriteCacheSuspected")],
    )
    panel.override_by_query("A", [config("custom.lineWidth", 4)])
    panel.override_by_query("B", [config("custom.lineWidth", 1)])
    return logarithmic(panel).span(24).max_data_points(POINTS)
