"""The rows about backups: of databases, of whole instances, and jobs of several sets."""

from typing import get_args

from esewatch.expose.metrics.rows.metric_row import D, I, counter, gauge
from esewatch.fold.instances.backups import BACKUP_EVENTS, BackupKind
from esewatch.fold.state.backup_jobs import COMPARED_SECONDS, LATEST
from esewatch.model import SetKind

KIND = (*D, "kind")
SET = (*I, "kind")
EVENTS = f"events {', '.join(map(str, sorted(BACKUP_EVENTS)))}"
BOTH = f"{EVENTS}, and logs of NTBACKUP"
KINDS = ", ".join((*get_args(BackupKind), *get_args(SetKind)))
SETS = "logs of NTBACKUP"
COMPARED = f"of at least two that copied databases for {COMPARED_SECONDS / 60:.0f} minutes or more"
JOBS = "logs of NTBACKUP, else streaming backups that ran one after another (events 210 to 221)"

BACKUPS = (
    counter(
        "ese_backup_bytes_total",
        KIND,
        f"Bytes that completed backups copied; kind: {KINDS}.",
        BOTH,
    ),
    counter(
        "ese_backup_seconds_total",
        KIND,
        "Time that completed backups took, each as a whole with the other databases in it; kinds"
        " as in ese_backup_bytes_total.",
        BOTH,
    ),
    gauge(
        "ese_backup_running",
        D,
        "1 while a backup of its instance is running, 0 otherwise and after 24 hours; absent where"
        " none was ever seen.",
        EVENTS,
    ),
    gauge(
        "ese_backup_last_completion_timestamp_seconds",
        KIND,
        "End of the latest completed backup, kinds as in ese_backup_bytes_total.",
        BOTH,
    ),
    counter(
        "ese_backup_set_bytes_total",
        SET,
        "Bytes of completed backups of a whole instance (storage group), of all its databases"
        f" together; kind: {', '.join(get_args(SetKind))}.",
        SETS,
    ),
    counter(
        "ese_backup_set_seconds_total",
        SET,
        "Time that completed backups of a whole instance took.",
        SETS,
    ),
    gauge(
        "ese_backup_set_last_completion_timestamp_seconds",
        SET,
        "End of the latest completed backup of a whole instance.",
        SETS,
    ),
    gauge(
        "ese_backup_job_slowdown_ratio",
        ("computer",),
        "Throughput of the last set of the latest backup job as a share of its first's,"
        f" {COMPARED}.",
        JOBS,
    ),
    gauge(
        "ese_backup_job_last_completion_timestamp_seconds",
        ("computer",),
        "End of that job.",
        JOBS,
    ),
    gauge(
        "ese_backup_slow_jobs",
        ("computer",),
        f"Number of the last {LATEST} such jobs whose last set ran at less than half the"
        " throughput of the first.",
        JOBS,
    ),
)
