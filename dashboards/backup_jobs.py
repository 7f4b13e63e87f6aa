"""Jobs that back up one storage group after another: how fast each was, and whether they slow."""

from dashboards.alerted import against, drawn
from dashboards.links import runbook
from dashboards.parts import COMPUTER, COUNT, ON_INSTANCE, Panel, Query, Words, finish, grown, lines
from dashboards.tables import Column, rows

NO_SET = "No log of NTBACKUP is read, or it has no storage group"
NO_JOB = "No job with two sets of five minutes or more"
NO_SET_OF_DAY = f"{NO_SET}, or none ended lately"
ON_SET = f"{ON_INSTANCE}, kind"
COMPUTER_ALONE = "{{computer}}"


def _of_day(metric: str) -> str:
    ended = f"ese_backup_set_last_completion_timestamp_seconds{{{COMPUTER}}}"
    return grown(f"{metric}{{{COMPUTER}}}", "1d", f"{ended} > time() - 86400")


PACE = f"{_of_day('ese_backup_set_bytes_total')} / ({_of_day('ese_backup_set_seconds_total')} > 0)"
"""Bytes a second of the sets that ended within a day."""


def backup_jobs() -> list[Panel]:
    """Does each job copy its last storage group as fast as its first?"""
    ratio = f"ese_backup_job_slowdown_ratio{{{COMPUTER}}}"
    slow = f"ese_backup_slow_jobs{{{COMPUTER}}}"
    sets: Panel = finish(
        lines(),
        Words(
            "Throughput set by set",
            "Bytes a second of each storage group in the sets that ended within a day.",
            "Bps",
            NO_SET_OF_DAY,
        ),
        [Query(PACE, "{{computer}} {{ese_instance}} {{kind}}")],
        [runbook("EseBackupMissing")],
    )
    return [
        sets,
        against(
            Words(
                "Last set against the first",
                "Throughput of the last set of the latest job as a part of that of its first"
                " set; below the line the job slowed.",
                "percentunit",
                NO_JOB,
            ),
            [Query(ratio, COMPUTER_ALONE)],
            [drawn("backupJobSlowdown", ratio, "a job that slowed")],
            [runbook("EseBackupMissing")],
        ),
        against(
            Words(
                "Jobs that slowed",
                "How many of the last 5 jobs slowed from their first set to their last.",
                COUNT,
                NO_JOB,
            ),
            [Query(slow, COMPUTER_ALONE)],
            [drawn("slowBackupJobs", slow, "too often")],
            [runbook("EseBackupMissing")],
        ),
        _sets(),
    ]


def _sets() -> Panel:
    ended = f"ese_backup_set_last_completion_timestamp_seconds{{{COMPUTER}}}"
    return rows(
        Words(
            "Storage groups, set by set",
            "The last set of each storage group in the logs of NTBACKUP, the longest ago first.",
            "short",
            NO_SET,
        ),
        {"ese_instance": "Storage group", "computer": "Computer", "kind": "Kind"},
        [
            Column("Ended ago", f"time() - max by ({ON_SET}) ({ended})", "dtdurations"),
            Column(
                "Throughput",
                f"max by ({ON_SET}) ({PACE})",
                "Bps",
            ),
        ],
        hidden=("job", "instance"),
        widths={"Ended ago": 110, "Computer": 100, "Kind": 90, "Throughput": 110},
        height=9,
        span=12,
    )
