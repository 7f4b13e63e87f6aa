"""Backups, set by set: how fast each was, how fast they usually are, and how old the last is."""

from grafana_foundation_sdk.builders import timeseries

from dashboards.alerted import against, drawn
from dashboards.by_device import by_device, named, of_databases, on_devices
from dashboards.links import Link, runbook, to_database, to_status_page
from dashboards.parts import (
    BLUE,
    DATABASE,
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
    limits,
    policy,
    states,
)
from dashboards.tables import Column, rows

SLOW = 0.6
NO_BACKUP = "No backup was ever seen"
NO_USUAL = "No history of backups yet: it takes three days with one"
ON_SET = f"{ON_DATABASE}, kind"
SET = "{{computer}} {{database}} {{kind}}"
TODAY = latest_day("database:ese_backup_bytes_per_second:ratio_increase1d")
USUAL = latest_day("database:ese_backup_bytes_per_second:median28d")
RUNNING = f"max by ({ON_DATABASE}) (ese_backup_running{{{DATABASE}}})"
FIRST_SEEN = f"ese_database_first_seen_timestamp_seconds{{{DATABASE}}}"
AGE = f"max by ({ON_DATABASE}) (database:ese_backup_age_seconds:min{{{DATABASE}}})"
NEVER = (
    f"(time() - max by ({ON_DATABASE}) ({FIRST_SEEN}))"
    f' and on (job, computer, database) ALERTS{{job=~"$job",alertname="EseBackupMissing"}}'
)
"""How long a database without any backup is known, where the alert says that it should have one."""
ALLOWED = f"max by ({ON_DATABASE}) ({policy('backup_within_seconds')} < Inf)"
OF_POLICY = f"({AGE} / on ({ON_DATABASE}) {ALLOWED})"

RESTORABLE = (
    f"(max by ({ON_DATABASE}) (ese_last_restorable_timestamp_seconds{{{DATABASE}}})"
    f" or max by ({ON_DATABASE})"
    f" ({FIRST_SEEN} and ese_copy_restorable_timestamp_seconds{{{DATABASE}}}))"
)
RESTORABLE_WITHIN = f"max by ({ON_DATABASE}) ({policy('restorable_within_seconds')} < Inf)"
RESTORABLE_OF_POLICY = f"((time() - {RESTORABLE}) / on ({ON_DATABASE}) {RESTORABLE_WITHIN})"


def backups() -> list[Panel]:
    """Do backups run, as fast as they used to, and often enough?"""
    return [*_throughput(), _when(), _age(), _restorable(), _sets()]


def _throughput() -> list[Panel]:
    def of_backup(metric: str) -> str:
        counted = f"{metric}{{{DATABASE}}}"
        ended = f"ese_backup_last_completion_timestamp_seconds{{{DATABASE}}}"
        first = f"{counted} and {ended} > time() - 3600"
        # The first backup begins the series.
        before = f"last_over_time(({counted} offset 1h)[7d:1h])"
        return f"({first} unless {before} or increase({counted}[$__rate_interval]))"

    links: list[Link] = [to_database(), to_status_page()]
    each = f"{of_backup('ese_backup_bytes_total')} / ({of_backup('ese_backup_seconds_total')} > 0)"
    part = of_databases(f"({TODAY} / {USUAL})")
    sets: timeseries.Panel = finish(
        bars(),
        Words(
            "Backup throughput",
            "Bytes a second of each backup at its end, and dashed the median of 28 days.",
            "Bps",
            NO_BACKUP,
        ),
        [Query(of_databases(f"({each})"), SET), Query(of_databases(USUAL), f"{SET} usual")],
        links,
    )
    history = against(
        Words(
            "Backup throughput against its own history",
            "Bytes a second of the backups of a day as a part of their median of 28 days.",
            "percentunit",
            NO_USUAL,
        ),
        [Query(part, SET)],
        [drawn(SLOW, part, "slow")],
        links,
    )
    return [limits(sets, "B"), history]


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
    part = of_databases(f"(({AGE} or {NEVER}) / on ({ON_DATABASE}) {ALLOWED})")
    return against(
        Words(
            "Age of the last backup against policy",
            "Age of the last backup of a database or of a copy of it, as a part of the age that"
            " its policy allows; since the database is known where EseBackupMissing says that there"
            " was none.",
            "percentunit",
            "No backup was ever seen, or none is required",
        ),
        [Query(part, "{{computer}} {{database}}")],
        [drawn(1, part, "policy")],
        [to_database(), runbook("EseBackupMissing")],
    )


def _restorable() -> Panel:
    part = of_databases(RESTORABLE_OF_POLICY)
    panel = against(
        Words(
            "Age of the last copy that would mount against policy",
            "Age of the last copy of a database that was found restorable, as a part of the age"
            " that its policy allows; since the database is known where no copy was.",
            "percentunit",
            "No copies are checked: configure a page_scan source with check: recovery",
        ),
        [Query(part, "{{computer}} {{database}}")],
        [drawn(1, part, "policy")],
        [to_database(), runbook("EseNoRestorableCopy")],
    )
    return panel.span(24)


def _sets() -> Panel:
    completed = f"ese_backup_last_completion_timestamp_seconds{{{DATABASE}}}"
    ended = of_databases(f"max by ({ON_SET}) ({completed})")
    none = f"0 * max by ({ON_SET}) ({completed})"
    fields = "__data.fields"
    return rows(
        Words(
            "Backups, set by set",
            "The last backup of each kind of each database, the longest ago first.",
            "short",
            NO_BACKUP,
        ),
        {"database_name": "Database", "computer": "Copy on", "kind": "Kind"},
        [
            Column("Ended ago", named(f"time() - ({ended})"), "dtdurations"),
            Column("Throughput", named(of_databases(f"max by ({ON_SET}) ({TODAY})")), "Bps"),
            Column("Usually", named(of_databases(f"max by ({ON_SET}) ({USUAL})")), "Bps"),
            Column(
                "Of its policy",
                named(of_databases(f"({none} + on ({ON_DATABASE}) group_left () {OF_POLICY})")),
                "percentunit",
                limit=((None, BLUE), (1, VERMILION)),
                links=[runbook("EseBackupMissing", fields)],
            ),
            Column(
                "At work",
                named(of_databases(f"({none} + on ({ON_DATABASE}) group_left () {RUNNING})")),
                values={"0": ("no", GREY), "1": ("yes", SKY)},
            ),
        ],
        hidden=("job", "instance", "database"),
        links={"Database": [to_database(fields), to_status_page(fields)]},
        height=10,
    )
