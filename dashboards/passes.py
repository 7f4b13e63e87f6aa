"""The passes of a database, and what is damaged or went wrong."""

from dashboards.links import runbook, to_board, to_status_page
from dashboards.parts import (
    CHOSEN,
    COUNT,
    DATABASE,
    DAYS,
    HOURS,
    INSTANCE,
    NO_DATABASE,
    ON_INSTANCE,
    Panel,
    Query,
    Words,
    bars,
    finish,
    grown,
    lines,
)

SERIES = "{{computer}} {{database}}"
TASK = f"{SERIES} {{{{task}}}}"
KIND = f"{SERIES} {{{{kind}}}}"
NO_PASS = "No completed pass is known"
TO_STORAGE = to_board(
    "esewatch-storage", "Open its storage", {"computer": "computer", "database": "database"}
)
TO_ENGINE = to_board(
    "esewatch-engine", "Open its engine", {"computer": "computer", "ese_instance": "ese_instance"}
)


def passes() -> list[Panel]:
    """Do passes come to their end?"""
    completed = f"ese_pass_last_completion_timestamp_seconds{{{DATABASE}}}"
    failed = f"ese_passes_failed_total{{{DATABASE}}}"
    ended = f"ese_pass_last_failure_timestamp_seconds{{{DATABASE}}}"
    return [
        finish(
            lines(),
            Words(
                "Time since the last completed pass",
                "A line that only climbs is a task that does not complete.",
                DAYS,
                NO_PASS,
            ),
            [Query(f"time() - {completed}", TASK)],
            [*map(runbook, ("EseDefragIncomplete", "EseVerificationAtRisk"))],
        ),
        finish(
            lines(),
            Words(
                "Duration of the last completed pass",
                "Time at work where the engine reports it (online defragmentation, checksum of"
                " 2007), and time from start to end with all pauses where it reports that.",
                HOURS,
                NO_PASS,
            ),
            [
                Query(f"ese_pass_last_work_seconds{{{DATABASE}}}", f"{TASK} at work"),
                Query(f"ese_pass_last_wall_seconds{{{DATABASE}}}", f"{TASK} start to end"),
            ],
            [runbook("EseVerificationAtRisk"), TO_STORAGE],
        ),
        finish(
            bars(),
            Words(
                "Interruptions in a day",
                "How often a pass was stopped before its end within the last 24 hours; once a night"
                " is normal for online defragmentation.",
                COUNT,
                NO_DATABASE,
            ),
            [Query(f"increase(ese_passes_interrupted_total{{{DATABASE}}}[1d])", TASK)],
            [runbook("EseMaintenanceStopsEarly")],
        ),
        finish(
            bars(),
            Words(
                "Failed passes in a day",
                "How often a pass ended with an error within the last 24 hours.",
                COUNT,
                "No pass has failed",
            ),
            [Query(grown(failed, "1d", f"{ended} > time() - 86400"), TASK)],
            [runbook("EseMaintenanceError")],
        ),
    ]


def _today(what: str, selection: str = DATABASE) -> str:
    return f"{what}_last_timestamp_seconds{{{selection}}} > time() - 86400"


def damage() -> list[Panel]:
    """What is damaged, and what went wrong?"""
    logged = f"ese_engine_errors_total{{{INSTANCE}}}"
    errors = grown(logged, "1d", _today("ese_engine_error", INSTANCE))
    pages = f"ese_page_error_events_total{{{DATABASE}}}"
    slow = f"ese_slow_io_reports_total{{{DATABASE}}}"
    hung = f"ese_hung_io_reports_total{{{DATABASE}}}"
    operation = f"{SERIES} {{{{operation}}}}"
    return [
        finish(
            lines(),
            Words(
                "Known bad pages and damage by kind",
                "Pages and damage that are not resolved: a page stays until it is read good,"
                " repaired or acknowledged, damage without a bad checksum until it is"
                " acknowledged or the database is restored.",
                COUNT,
                "No bad page and no damage was ever seen",
            ),
            [
                Query(f"ese_known_bad_pages{{{DATABASE}}}", KIND),
                Query(f"ese_known_damage{{{DATABASE}}}", KIND),
            ],
            [
                runbook("EseKnownBadPage"),
                runbook("EseBadPageAdded"),
                runbook("EseCopyDivergence"),
                runbook("EseLogicalCorruption"),
                runbook("EseEngineFailure"),
                to_status_page(),
            ],
        ),
        finish(
            bars(),
            Words(
                "Page error events in a day",
                "Events about damaged pages within the last 24 hours, by kind.",
                COUNT,
                "No event about a damaged page was ever seen",
            ),
            [Query(grown(pages, "1d", _today("ese_page_error")), KIND)],
            [
                runbook("EseCorrectedPage"),
            ],
        ),
        finish(
            lines(),
            Words(
                "Errors that the header counted",
                "Bad checksums, corrected pages and pages that could not be corrected, as"
                " counted in its header.",
                COUNT,
                "Nothing has read its header: a page scan does",
            ),
            [
                Query(f"ese_header_bad_checksums{{{DATABASE}}}", f"{SERIES} bad checksums"),
                Query(f"ese_header_corrected{{{DATABASE}}}", f"{SERIES} corrected"),
                Query(f"ese_header_correction_failed{{{DATABASE}}}", f"{SERIES} not corrected"),
            ],
            [runbook("EseKnownBadPage"), runbook("EseCorrectedPage")],
        ),
        finish(
            bars(),
            Words(
                "Slow and hung requests in a day",
                "Requests that were abnormally slow, and those that had not completed when they"
                " were reported, within the last 24 hours.",
                COUNT,
                NO_DATABASE,
            ),
            [
                Query(grown(slow, "1d", _today("ese_slow_io")), f"{operation} slow"),
                Query(grown(hung, "1d", _today("ese_hung_io")), f"{operation} hung"),
            ],
            [runbook("EseSlowIo"), runbook("EseHungIo"), TO_STORAGE],
        ),
        finish(
            bars(span=24),
            Words(
                "Errors of the engine in a day",
                "Errors that the engine of its instance logged within the last 24 hours, by kind.",
                COUNT,
                "No error of the engine is known",
            ),
            [
                Query(
                    f"{errors} and on ({ON_INSTANCE}) ese_database_info{{{CHOSEN}}}",
                    "{{computer}} {{ese_instance}} {{kind}}",
                )
            ],
            [
                *map(runbook, ("EseIoError", "EseLogSequenceHalted", "EseDiskFull")),
                *map(runbook, ("EseLogDiskLow", "EseRecoveryFailed", "EseVersionStoreFull")),
                runbook("EseEngineFailure"),
                *map(runbook, ("EseDatabaseFull", "EseVersionBucketsHigh")),
                *map(runbook, ("EseCheckpointDeep",)),
                TO_ENGINE,
            ],
        ),
    ]
