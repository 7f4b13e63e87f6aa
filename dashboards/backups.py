"""Backups, set by set: how fast each was, how fast they usually are, and how old the last is."""

from grafana_foundation_sdk.builders import timeseries

from dashboards.alerted import against, drawn
from dashboards.by_device import by_device, of_databases, on_devices
from dashboards.links import Link, runbook, to_database, to_status_page
from dashboards.parts import (
    DATABASE,
    DAYS,
    GREY,
    ON_DATABASE,
    SKY,
    VERMILION,
    Panel,
    Query,
    Words,
    bars,
    finish,
    latest_day,
    states,
)
from dashboards.tables import Column, rows

NO_BACKUP = "No backup was ever seen"
NO_USUAL = "No history of backups yet"
ON_SET = f"{ON_DATABASE}, kind"
SET = "{{computer}} {{database}} {{kind}}"
OF_A_DAY = f"database:ese_backup_bytes_per_second:ratio_increase1d{{{DATABASE}}}"
TODAY = latest_day(OF_A_DAY)
USUAL = f"quantile_over_time(0.5, {OF_A_DAY}[28d] offset 1d)"
"""The median of the days before the last."""
RUNNING = f"max by ({ON_DATABASE}) (ese_backup_running{{{DATABASE}}})"
FIRST_SEEN = f"ese_database_first_seen_timestamp_seconds{{{DATABASE}}}"
COMPLETED = f"ese_backup_last_completion_timestamp_seconds{{{DATABASE}}}"
MISSING = f'max by ({ON_DATABASE}) (ese_finding{{{DATABASE},finding="backup_missing"}} == 1)'
"""Where its policy asks for a younger backup."""
BACKED_UP = (
    f"(max by ({ON_DATABASE}) ({COMPLETED}) or max by ({ON_DATABASE}) ({FIRST_SEEN}) and {MISSING})"
)
CHECKED = f"ese_copy_restorable_timestamp_seconds{{{DATABASE}}}"
RESTORABLE = (
    f"(max by ({ON_DATABASE}) (ese_last_restorable_timestamp_seconds{{{DATABASE}}})"
    f" or max by ({ON_DATABASE})"
    f" ({FIRST_SEEN} and {CHECKED}))"
)


def backups() -> list[Panel]:
    """Do backups run, as fast as they used to, and often enough?"""
    return [*_throughput(), _when(), _age(), _restorable(), _sets()]


def _throughput() -> list[Panel]:
    def of_backup(metric: str) -> str:
        counted = f"{metric}{{{DATABASE}}}"
        first = f"{counted} and {COMPLETED} > time() - 3600"
        # The first backup begins the series.
        before = f"last_over_time(({counted} offset 1h)[7d:1h])"
        return f"({first} unless {before} or increase({counted}[$__rate_interval]))"

    links: list[Link] = [to_database(), to_status_page()]
    each = f"{of_backup('ese_backup_bytes_total')} / ({of_backup('ese_backup_seconds_total')} > 0)"
    sets = finish(
        bars(),
        Words("Backup throughput", "Bytes a second of each backup, at its end.", "Bps", NO_BACKUP),
        [Query(each, SET)],
        links,
    )
    history = against(
        Words(
            "Backup throughput against its own history",
            "Bytes a second of the backups of a day as a part of their median of 28 days.",
            "percentunit",
            NO_USUAL,
        ),
        [Query(of_databases(f"({TODAY} / {USUAL})"), SET)],
        [drawn("backupThroughput", USUAL, "slow")],
        links,
    )
    return [sets, history]


def _when() -> Panel:
    panel: Panel = finish(
        states({"0": ("none", GREY), "1": ("backup", SKY)}),
        Words(
            "Backups by device",
            "Backups of each database, sorted by device.",
            "short",
            NO_BACKUP,
        ),
        [Query(by_device(on_devices(RUNNING)), "{{computer}} {{device}} {{database}}")],
        [to_database(), runbook("EseMaintenanceStopsEarly")],
    )
    return panel


def _age() -> Panel:
    words = Words(
        "Age of the last backup",
        "Age of the last backup of each copy; since the database is known where none is, and the"
        " finding backup_missing says that there should be one.",
        DAYS,
        "No backup was ever seen, or none is required",
    )
    limit = drawn("backupWithinSeconds", FIRST_SEEN, "policy")
    return _since(BACKED_UP, words, limit, "EseBackupMissing")


def _restorable() -> Panel:
    words = Words(
        "Age of the last copy that would mount",
        "Age of the last copy of a database that was found restorable; since the database is known"
        " where no copy was.",
        DAYS,
        "No copies are checked: configure a page_scan source with check: recovery",
    )
    limit = drawn("restorableWithinSeconds", CHECKED, "policy")
    return _since(RESTORABLE, words, limit, "EseNoRestorableCopy").span(24)


def _since(time: str, words: Words, limit: Query, alert: str) -> timeseries.Panel:
    query = Query(f"time() - {of_databases(time)}", "{{computer}} {{database}}")
    return against(words, [query], [limit], [to_database(), runbook(alert)])


def _sets() -> Panel:
    ended = f"max by ({ON_SET}) ({COMPLETED})"
    fields = "__data.fields"
    return rows(
        Words(
            "Backups, set by set",
            "The last backup of each kind of each database, the longest ago first.",
            "short",
            NO_BACKUP,
        ),
        {"database": "Database", "computer": "Copy on", "kind": "Kind"},
        [
            Column("Ended ago", f"time() - ({of_databases(ended)})", "dtdurations"),
            Column("Throughput", f"max by ({ON_SET}) ({TODAY})", "Bps"),
            Column("Usually", f"max by ({ON_SET}) ({USUAL})", "Bps"),
            Column(
                "Missing",
                f"{ended} * 0 + on ({ON_DATABASE}) group_left () {MISSING}",
                values={"1": ("yes", VERMILION)},
                links=[runbook("EseBackupMissing", fields)],
            ),
        ],
        hidden=("job", "instance"),
        links={"Database": [to_database(fields), to_status_page(fields)]},
        widths={"Database": 400},
        height=10,
    )
