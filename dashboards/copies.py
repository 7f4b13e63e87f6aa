"""Copies of databases and their backups: do copies keep up, and do backups run often enough?"""

from dashboards.alerted import against, drawn
from dashboards.backup_jobs import backup_jobs
from dashboards.backups import backups
from dashboards.board import Board, Row
from dashboards.by_device import of_databases, of_instances, of_one_computer
from dashboards.latency import INSTANCE, NO_COUNTERS
from dashboards.links import runbook, to_database, to_instance
from dashboards.parts import COMPUTER, DATABASE, Panel, Query, Words, finish, latest_day, lines

NO_COPIES = "No passive copy, or nothing to compare it with"
PATH = "{{computer}} {{database}}"


def active_and_passive() -> list[Panel]:
    """Do passive copies work too much, or lag?"""
    compared = f"database:ese_database_io_passive_per_active:ratio_rate1d{{{DATABASE}}}"
    ratio = of_databases(latest_day(compared))
    queues = {
        "replayQueueLogs": (
            "ese_replay_queue_logs",
            "Replay queue",
            "Logs that wait to be replayed.",
        ),
        "copyQueueLogs": (
            "ese_copy_queue_logs",
            "Copy queue",
            "Logs that wait to be copied here, lost with the active server.",
        ),
    }
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
            [drawn("passivePerActive", ratio, "usual at most")],
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
                    of_databases(latest_day(f"database:ese_database_io:rate1d{{{DATABASE}}}")),
                    f"{PATH} {{{{role}}}}",
                )
            ],
            [to_database()],
        ),
        *(
            against(
                Words(title, sentence, "short", "No replication counters of these instances"),
                [Query(of_instances(f"{metric}{{{COMPUTER}}}"), INSTANCE)],
                [drawn(limit, of_instances(f"{metric}{{{COMPUTER}}}"))],
                [to_instance(), runbook("EseCopyBehind")],
            )
            for limit, (metric, title, sentence) in queues.items()
        ),
    ]


COPIES = Board(
    "esewatch-copies",
    "ESE: copies and backups",
    "Whether passive copies keep up, and whether backups run as fast as before and often enough.",
    of_one_computer(),
    (
        Row("Copies", active_and_passive),
        Row("Backups", backups),
        Row("Backup jobs", backup_jobs, collapsed=True),
    ),
)
