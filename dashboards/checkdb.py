"""Databases of SQL Server: how old the last DBCC CHECKDB is, what it found, how it read."""

from dashboards.alerted import against, drawn
from dashboards.board import Board, Row
from dashboards.links import runbook
from dashboards.parts import (
    AGENT,
    BLUE,
    COMPUTER,
    COUNT,
    DATABASE,
    DAYS,
    DEVICE,
    GREY,
    HOURS,
    ON_DATABASE,
    ON_DEVICE,
    VERMILION,
    Panel,
    Query,
    Words,
    bars,
    finish,
    grown,
    lines,
    variable,
)
from dashboards.tables import Column, rows

NO_CHECK = "No DBCC CHECKDB was ever seen"
NO_DEVICES = "No devices of SQL Server: set devices in the configuration and read the disks"
SELECTED = f'{DEVICE},database=~"$database"'
NAME = "{{computer}} {{database}}"
FULL = f'{DATABASE},physical_only="false"'
PHYSICAL = f'{DATABASE},physical_only="true"'
COMPLETED = "sqlserver_checkdb_last_completion_timestamp_seconds"
DURATION = "sqlserver_checkdb_last_duration_seconds"
SEEN = "sqlserver_database_first_seen_timestamp_seconds"
FAST = 50 * 2**20
"""Bytes a second below which nothing is said of how devices share the reads."""
WORST = (None, BLUE), (1, VERMILION)


def _latest(metric: str, selection: str = DATABASE) -> str:
    return f"max by ({ON_DATABASE}) ({metric}{{{selection}}})"


AGE = f"(time() - ({_latest(COMPLETED, FULL)} or {_latest(SEEN)}))"
"""Seconds without a full check: since the first one seen of any kind where none was full."""
OVERDUE = _latest("ese_finding", f'{DATABASE},finding="checkdb_overdue"')
LEFT = _latest("sqlserver_checkdb_last_errors")


def checks() -> list[Panel]:
    """Is each database checked often enough, and is it sound?"""
    return [_latest_checks(), _age(), _duration(), _left(), _found(), *_devices()]


def _latest_checks() -> Panel:
    fields = "__data.fields"
    failed = [runbook("SqlserverCheckdbFailed", fields)]
    aborted = _latest("sqlserver_checkdb_last_abort_timestamp_seconds")
    return rows(
        Words(
            "Checks of SQL Server",
            "The last DBCC CHECKDB of each database of SQL Server, first the one that is longest"
            " without a full one, since the database was first seen where there was none.",
            "short",
            NO_CHECK,
        ),
        {"database": "Database", "computer": "Computer"},
        [
            Column("No full check", AGE, "dtdurations"),
            Column(
                "Overdue",
                OVERDUE,
                values={"0": ("no", GREY), "1": ("yes", VERMILION)},
                links=[runbook("SqlserverCheckdbOverdue", fields)],
            ),
            Column("Physical only, ago", f"time() - {_latest(COMPLETED, PHYSICAL)}", "dtdurations"),
            Column("Errors left", LEFT, limit=WORST, links=failed),
            Column("Aborted ago", f"time() - {aborted}", "dtdurations", links=failed),
        ],
        hidden=("job", "instance"),
        height=8,
    )


def _age() -> Panel:
    return against(
        Words(
            "Time without a full CHECKDB",
            "Time since a full DBCC CHECKDB of each database completed, or since the database was"
            " first seen.",
            DAYS,
            NO_CHECK,
        ),
        [Query(AGE, NAME)],
        [drawn("checkdbWithinSeconds", f"{SEEN}{{{DATABASE}}}", "policy")],
        [runbook("SqlserverCheckdbOverdue")],
    )


def _duration() -> Panel:
    panel: Panel = finish(
        lines(),
        Words(
            "Duration of CHECKDB",
            "Duration of the latest DBCC CHECKDB, separately for full ones and those with"
            " PHYSICAL_ONLY.",
            HOURS,
            NO_CHECK,
        ),
        [
            Query(_latest(DURATION, FULL), NAME),
            Query(_latest(DURATION, PHYSICAL), f"{NAME} physical only"),
        ],
        [runbook("SqlserverCheckdbOverdue")],
    )
    return panel


def _left() -> Panel:
    return against(
        Words(
            "Errors that CHECKDB left",
            "Errors that the latest DBCC CHECKDB found and did not repair; there should be none.",
            COUNT,
            NO_CHECK,
        ),
        [Query(LEFT, NAME)],
        [],
        [runbook("SqlserverCheckdbFailed")],
    )


def _found() -> Panel:
    errors = f"sqlserver_checkdb_errors_total{{{DATABASE}}}"
    this_week = f"{COMPLETED}{{{DATABASE}}} > time() - 7 * 86400"
    panel: Panel = finish(
        bars(),
        Words(
            "Errors that CHECKDB found in a week",
            "Errors that each DBCC CHECKDB of 7 days found, repaired ones too.",
            COUNT,
            NO_CHECK,
        ),
        [Query(f"sum by ({ON_DATABASE}) ({grown(errors, '7d', this_week)})", NAME)],
        [runbook("SqlserverCheckdbFailed")],
    )
    return panel


def _devices() -> list[Panel]:
    """Are the devices of a database read side by side?"""
    read = (
        f"max by ({ON_DATABASE}, device) (sqlserver_database_device_info{{{SELECTED}}})"
        f" * on ({ON_DEVICE}) group_left ()"
        f" rate(ese_device_read_bytes_total{{{DEVICE}}}[$__rate_interval])"
    )
    busiest = f"max without (device) ({read}) / (sum without (device) ({read}) > {FAST:.0f})"
    by_device: Panel = finish(
        lines(),
        Words(
            "Reads by device of SQL Server",
            "Bytes a second read from each device of a database by any program; while DBCC"
            " CHECKDB runs, all devices should be busy.",
            "Bps",
            NO_DEVICES,
        ),
        [Query(read, f"{NAME} {{{{device}}}}")],
        [runbook("SqlserverCheckdbOverdue")],
    )
    share = against(
        Words(
            "Busiest device of SQL Server",
            "Share of the busiest device in all reads of a database, where these are 50 MiB/s or"
            " more; above the line the other devices idle.",
            "percentunit",
            "The devices are not known, or none is read fast",
        ),
        [Query(busiest, NAME)],
        [drawn("busiestDevice", f"sqlserver_database_device_info{{{SELECTED}}}", "one at a time")],
        [runbook("SqlserverCheckdbOverdue")],
    )
    return [by_device, share]


SQLSERVER = Board(
    "esewatch-sqlserver",
    "SQL Server: DBCC CHECKDB",
    "Age, result and read rate of the last DBCC CHECKDB of each database of SQL Server.",
    (
        variable("computer", "Computer", f"label_values({SEEN}{{{AGENT}}}, computer)"),
        variable(
            "device",
            "Device",
            f"label_values(sqlserver_database_device_info{{{COMPUTER}}}, device)",
        ),
        variable("database", "Database", f"label_values({SEEN}{{{COMPUTER}}}, database)"),
    ),
    (Row("Checks", checks),),
)
