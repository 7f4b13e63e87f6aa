"""Catalogue: zeroing, checksumming and Database Maintenance.

Ids 706-707, 717-726, 729-738 and 744-747.

Two generations share the ids: Exchange 2007 SP1 (717-726) and current engines, whose
active copies log 735-738 and 744 and whose passive copies log 717, 719, 732, 733, 745-747.
Seconds of 721 and 722 are time spent, those of 732, 735 and 737 time from start to end.
"""

from esewatch.ese.catalogue.event_row import (
    EventRow,
    Kind,
    Param,
    as_kind,
    count,
    date,
    db,
    err,
    num,
    row,
    txt,
)
from esewatch.ese.catalogue.maintenance import SECONDS, SO_FAR, STARTED

_STATS = as_kind("run_pages", Kind.STATS, "runtime scan stats: {}")
_LAST = date("last_completed", "task was on {}.", "scan was on {}.")

_SCAN_DONE: tuple[Param, ...] = (
    db(),
    STARTED,
    SECONDS,
    num("invocations", "requiring {} invocation"),
    num("days", "invocations over {} day", "invocation over {} day"),
    count("pages_seen", "pages seen"),
    count("bad_checksums", "bad checksums"),
    count("uninitialized_pages", "uninitialized pages"),
)
_ZEROED: tuple[Param, ...] = (
    count("pages_unchanged", "pages unchanged since last zero"),
    count("unused_pages_zeroed", "unused pages zeroed"),
    count("used_pages_seen", "used pages seen"),
    count("deleted_records_zeroed", "deleted records zeroed"),
    count("unreferenced_chunks_zeroed", "unreferenced data chunks zeroed"),
)
# The text of 735 prints its free-space values one place off: they are taken from strings only.
_LATE_FREE_SPACE: tuple[Param, ...] = (
    num("record_page_free_bytes"),
    num("record_pages"),
    num("lv_page_free_bytes"),
    num("lv_pages"),
)
_FREE_SPACE: tuple[Param, ...] = (
    num("record_page_free_bytes", "space on record pages: {} ("),
    num("record_pages", "space on record pages: # ({} pages"),
    num("lv_page_free_bytes", "space on lv pages: {} ("),
    num("lv_pages", "space on lv pages: # ({} pages"),
)

SCANS: tuple[EventRow, ...] = (
    row(
        706, "DATABASE_ZEROING_STARTED_ID", "information",
        ("online zeroing of database", "started"), db("database {} started"),
        task="zeroing", stage="started",
    ),
    row(
        707, "DATABASE_ZEROING_STOPPED_ID", "information",
        ("online zeroing of database", "finished after"), db("database {} finished"),
        num("seconds", "after {} seconds"), err("with err {}"), count("pages_seen", "pages"),
        count("uninitialized_pages", "blank pages"), *_ZEROED, task="zeroing", stage="completed",
    ),
    row(
        717, "SCAN_CHECKSUM_START_PASS_ID", "information",
        "is starting database checksumming background task", db(),
        task="checksum", stage="started",
    ),
    row(
        718, "SCAN_ZERO_START_PASS_ID", "information",
        "is starting database page zeroing background task", db(),
        task="zeroing", stage="started", raised=False,
    ),
    row(
        719, "SCAN_CHECKSUM_RESUME_PASS_ID", "information",
        "is resuming database checksumming background task", db(), STARTED, SO_FAR,
        task="checksum", stage="resumed",
    ),
    row(
        720, "SCAN_ZERO_RESUME_PASS_ID", "information",
        "is resuming database zeroing background task", db(), STARTED, SO_FAR,
        task="zeroing", stage="resumed", raised=False,
    ),
    row(
        721, "SCAN_CHECKSUM_COMPLETE_PASS_ID", "information",
        "database checksumming background task has completed",
        *_SCAN_DONE, task="checksum", stage="completed", raised=False,
    ),
    row(
        722, "SCAN_ZERO_COMPLETE_PASS_ID", "information",
        "database zeroing background task has completed",
        *_SCAN_DONE, *_ZEROED, task="zeroing", stage="completed", raised=False,
    ),
    row(
        723, "SCAN_CHECKSUM_ERROR_ID", "warning",
        ("database checksumming background task for database", "encountered error"),
        db(), err(), num("seconds", "after {} seconds"),
        task="checksum", stage="failed", raised=False,
    ),
    row(
        724, "SCAN_ZERO_ERROR_ID", "warning",
        ("database zeroing background task for database", "encountered error"),
        db(), err(), num("seconds", "after {} seconds"),
        task="zeroing", stage="failed", raised=False,
    ),
    row(
        725, "SCAN_CHECKSUM_INTERRUPTED_PASS_ID", "information",
        ("database checksumming background task for database", "was interrupted and terminated"),
        db(), task="checksum", stage="interrupted", raised=False,
    ),
    row(
        726, "SCAN_ZERO_INTERRUPTED_PASS_ID", "information",
        ("database zeroing background task for database", "was interrupted and terminated"),
        db(), task="zeroing", stage="interrupted", raised=False,
    ),
    row(
        729, "SCAN_CLEAN_BUFFER_LOW_PAUSE_ID", "warning",
        "online maintenance database zeroing has been paused",
        txt("databases", "databases: '{}'"), raised=False,
    ),
    row(
        730, "SCAN_CLEAN_BUFFER_NORMAL_RESUME_ID", "information",
        "online maintenance database zeroing has resumed",
        txt("databases", "databases: '{}'"), raised=False,
    ),
    row(
        732, "SCAN_CHECKSUM_ONTIME_PASS_ID", "information",
        ("database checksumming background task has completed", "seconds (over"), db(), STARTED,
        SECONDS, num("days", "(over {} day"), num("pages_seen", "on {} pages"), _STATS,
        task="checksum", stage="completed",
    ),
    row(
        733, "SCAN_CHECKSUM_LATE_PASS_ID", "warning",
        "checksumming background task is not finishing on time", db(), STARTED,
        num("seconds", "running for {} seconds"), num("days", "(over {} day"),
        task="checksum", stage="late",
    ),
    row(
        734, "DB_MAINTENANCE_START_FAILURE_ID", "error",
        ("database maintenance background task for database", "failed to start with error"),
        db(), err(), task="checksum", stage="failed",
    ),
    row(
        735, "DB_MAINTENANCE_LATE_PASS_ID", "warning",
        ("database maintenance has completed a full pass", "maintenance completion threshold"),
        db(), STARTED, SECONDS, num("days", "seconds ({} day"),
        num("threshold_days", "exceeded the {} day"), count("pages_seen", "pages seen"), _STATS,
        *_LATE_FREE_SPACE, task="checksum", stage="completed",
    ),
    row(
        736, "DB_MAINTENANCE_START_PASS_ID", "information",
        "database maintenance is starting for database", db(), task="checksum", stage="started",
    ),
    row(
        737, "DB_MAINTENANCE_COMPLETE_PASS_ID", "information",
        "database maintenance has completed a full pass", db(), STARTED, SECONDS,
        count("pages_seen", "pages seen"), _STATS, *_FREE_SPACE,
        task="checksum", stage="completed",
    ),
    row(
        738, "DB_MAINTENANCE_RESUME_PASS_ID", "information",
        "database maintenance is resuming for database", db(),
        num("resume_page", "starting from page {}"), STARTED, SO_FAR,
        task="checksum", stage="resumed",
    ),
    row(
        744, "DB_MAINTENANCE_NOTIFY_RUNNING_ID", "information",
        "database maintenance is running on database", db(), STARTED,
        num("hours", "running for {} hour"), count("pages_seen", "pages seen"),
        task="checksum", stage="running",
    ),
    row(
        745, "SCAN_CHECKSUM_CRITICAL_ABORT_ID", "information",
        "checksumming background task is aborted", db(), num("stopped_page", "at page {}"),
        _LAST, _STATS, task="checksum", stage="aborted",
    ),
    row(
        746, "SCAN_CHECKSUM_INCOMPLETE_PASS_FINISHED_ID", "information",
        "finished an interrupted and incomplete scan", db(), _LAST,
        task="checksum", stage="completed", constants={"partial": 1},
    ),
    row(
        747, "SCAN_CHECKSUM_RESUME_SKIPPED_PAGES_ID", "information",
        ("is resuming database checksumming background task", "has skipped"), db(),
        num("pages_skipped", "has skipped {} pages"),
        as_kind("owned_pages", Kind.OWNED, "pages ({}%)"),
        num("previous_stop_page", "prev stop: {}", "previous stop: {}"),
        num("resume_page", "this start: {}"),
        task="checksum", stage="resumed", constants={"partial": 1},
    ),
)  # fmt: skip
