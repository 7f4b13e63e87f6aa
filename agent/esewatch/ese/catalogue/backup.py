"""Catalogue: backup, seeding, shadow copies, revert snapshots (200-257, 2000-2010, 5000-5007).

Seeding ("internal copy", 240-257) is not a backup and has no task. Events of one file
or one range of logs have the task but no stage: only the whole backup starts and ends.
"""

from esewatch.ese.catalogue.event_row import EventRow, Kind, as_kind, db, err, file, num, row, txt

_SEED = "internal database copy (for seeding or analysis purposes)"
_SHADOW = "shadow copy instance"
_INSTANCE = num("snapshot", "instance {} ")

STREAMING: tuple[EventRow, ...] = (
    row(
        200, "START_FULL_BACKUP_ID", "information", "engine is starting a full backup",
        task="backup", stage="started", constants={"kind": "full"}, raised=False,
    ),
    row(
        201, "START_INCREMENTAL_BACKUP_ID", "information",
        "engine is starting an incremental backup",
        task="backup", stage="started", constants={"kind": "incremental"}, raised=False,
    ),
    row(
        202, "STOP_BACKUP_ID", "information", "has completed the backup procedure successfully",
        task="backup", stage="completed", raised=False,
    ),
    row(
        203, "STOP_BACKUP_ERROR_ID", "error", "engine has stopped the backup with error", err(),
        task="backup", stage="failed", raised=False,
    ),
    row(
        204, "START_RESTORE_ID", "information", "engine is restoring from backup",
        txt("from_folder", "logfiles in folder {} and"),
        txt("to_folder", "forward logfiles in folder {}."),
    ),
    row(205, "STOP_RESTORE_ID", "information", "engine has stopped restoring"),
    row(
        206, "DATABASE_MISS_FULL_BACKUP_ERROR_ID", "error",
        "cannot be incrementally backed-up", db("database {} cannot"),
    ),
    row(
        207, "STOP_BACKUP_ERROR_ABORT_BY_CALLER", "error",
        "has stopped backup because it was halted by the client",
        task="backup", stage="aborted", raised=False,
    ),
    row(
        210, "START_FULL_BACKUP_INSTANCE_ID", "information", "a full backup is starting",
        task="backup", stage="started", constants={"kind": "full"},
    ),
    row(
        211, "START_INCREMENTAL_BACKUP_INSTANCE_ID", "information",
        "an incremental backup is starting",
        task="backup", stage="started", constants={"kind": "incremental"},
    ),
    row(
        212, "START_SNAPSHOT_BACKUP_INSTANCE_ID", "information",
        "a shadow copy backup is starting",
        task="backup", stage="started", constants={"kind": "shadow_copy"}, raised=False,
    ),
    row(
        213, "STOP_BACKUP_INSTANCE_ID", "information",
        "backup procedure has been successfully completed", task="backup", stage="completed",
    ),
    row(
        214, "STOP_BACKUP_ERROR_INSTANCE_ID", "error", "the backup has stopped with error",
        err(), task="backup", stage="failed",
    ),
    row(
        215, "STOP_BACKUP_ERROR_ABORT_BY_CALLER_INSTANCE_ID", "error",
        "the backup has been stopped because it was halted by the client",
        task="backup", stage="aborted",
    ),
    row(
        217, "BACKUP_ERROR_FOR_ONE_DATABASE", "error", "during backup of a database",
        err("error ({})"), file("(file {})."), task="backup", stage="failed",
    ),
    row(
        218, "BACKUP_ERROR_READ_FILE", "error", "during copy or backup of file",
        err("error ({})"), file("backup of file {}."), task="backup", stage="failed",
    ),
    row(
        219, "BACKUP_ERROR_INFO_UPDATE", "warning", "headers update with the backup information",
        err("error ({})"), task="backup",
    ),
    row(
        220, "BACKUP_FILE_START", "information", "starting the copy or backup of the file",
        file("file {} (size"), as_kind("bytes", Kind.SIZE, "(size {})"), task="backup",
    ),
    row(
        221, "BACKUP_FILE_STOP_OK", "information", "ending the copy or backup of the file",
        file("file {}."), task="backup",
    ),
    row(
        222, "BACKUP_FILE_STOP_BEFORE_END", "information",
        ("ending the backup of the file", "not all data"), file("file {}. not all"),
        num("bytes_read", "read {} bytes"), num("bytes", "out of {} bytes"), task="backup",
    ),
    row(
        223, "BACKUP_LOG_FILES_START", "information", "starting the backup of log files",
        txt("first_log", "(range {} -"), txt("last_log", " - {})."), task="backup",
    ),
    row(
        224, "BACKUP_TRUNCATE_LOG_FILES", "information", "deleting log files",
        txt("first_log", "log files {} to"), txt("last_log", " to {}."), task="backup",
    ),
    row(
        225, "BACKUP_NO_TRUNCATE_LOG_FILES", "information", "no log files can be truncated",
        task="backup",
    ),
    row(
        226, "STOP_BACKUP_ERROR_ABORT_BY_SERVER_INSTANCE_ID", "error",
        "backup has been stopped prematurely", task="backup", stage="aborted",
    ),
    row(
        227, "BACKUP_TRUNCATE_FOUND_MISSING_LOG_FILES", "warning",
        "not found in the log range we attempted to truncate",
        num("log_files", "were {} log"), task="backup",
    ),
    row(
        459, "BACKUP_LOG_FILE_MISSING_ERROR_ID", "error", "is missing and could not be backed-up",
        file("the file {} is missing"), task="backup",
    ),
    row(
        520, "BACKUP_LOG_FILE_NOT_COPIED_ID", "warning", "log truncation failed because",
        task="backup",
    ),
)  # fmt: skip

SEEDING: tuple[EventRow, ...] = (
    row(
        240, "START_INTERNAL_COPY_INSTANCE_ID", "information",
        "internal copy (for seeding or analysis purposes) is starting",
    ),
    row(
        243, "STOP_INTERNAL_COPY_INSTANCE_ID", "information",
        (_SEED, "procedure has been successfully completed"),
    ),
    row(
        244, "STOP_INTERNAL_COPY_ERROR_INSTANCE_ID", "error", (_SEED, "has stopped. error"),
        err("error: {}."),
    ),
    row(
        245, "STOP_INTERNAL_COPY_ERROR_ABORT_BY_CALLER_INSTANCE_ID", "error",
        (_SEED, "halted by the client"),
    ),
    row(
        252, "INTERNAL_COPY_FILE_STOP_BEFORE_END", "information",
        ("internal copy (for seeding or analysis purposes) of the file", "not all data"),
        file("file {}. not all"), num("bytes_read", "read {} bytes"),
        num("bytes", "out of {} bytes"),
    ),
    row(
        256, "STOP_INTERNAL_COPY_ERROR_ABORT_BY_SERVER_INSTANCE_ID", "error",
        (_SEED, "stopped prematurely"),
    ),
    row(
        257, "SUSPEND_INTERNAL_COPY_DURING_RECOVERY_INSTANCE_ID", "information",
        (_SEED, "has been suspended"), db("of database {} during"),
        num("seconds", "took {} seconds"),
    ),
)  # fmt: skip

SHADOW_COPY: tuple[EventRow, ...] = (
    row(
        2000, "OS_SNAPSHOT_TRACE_ID", "error", "shadow copy function",
        txt("function", "function {}()"), err("() = {}."), raised=False,
    ),
    row(
        2001, "OS_SNAPSHOT_FREEZE_START_ID", "information", (_SHADOW, "freeze started"),
        _INSTANCE, task="backup",
    ),
    row(
        2002, "OS_SNAPSHOT_FREEZE_START_ERROR_ID", "error", (_SHADOW, "on freeze"), _INSTANCE,
        err(), task="backup", stage="failed",
    ),
    row(
        2003, "OS_SNAPSHOT_FREEZE_STOP_ID", "information", (_SHADOW, "freeze ended"), _INSTANCE,
        task="backup",
    ),
    row(
        2004, "OS_SNAPSHOT_TIME_OUT_ID", "error", (_SHADOW, "freeze timed-out"), _INSTANCE,
        num("milliseconds", "({} ms)"), task="backup", stage="failed",
    ),
    row(
        2005, "OS_SNAPSHOT_PREPARE_FULL_ID", "information", (_SHADOW, "a full shadow copy"),
        _INSTANCE, task="backup", stage="started", constants={"kind": "shadow_full"},
    ),
    row(
        2006, "OS_SNAPSHOT_END_ID", "information", (_SHADOW, "completed successfully"),
        _INSTANCE, task="backup", stage="completed",
    ),
    row(
        2007, "OS_SNAPSHOT_ABORT_ID", "error", (_SHADOW, "aborted"), _INSTANCE,
        task="backup", stage="aborted",
    ),
    row(
        2008, "OS_SNAPSHOT_PREPARE_INCREMENTAL_ID", "information",
        (_SHADOW, "an incremental shadow copy"), _INSTANCE,
        task="backup", stage="started", constants={"kind": "shadow_incremental"},
    ),
    row(
        2009, "OS_SNAPSHOT_PREPARE_COPY_ID", "information", (_SHADOW, "a copy shadow copy"),
        _INSTANCE, task="backup", stage="started", constants={"kind": "shadow_copy"},
    ),
    row(
        2010, "OS_SNAPSHOT_PREPARE_DIFFERENTIAL_ID", "information",
        (_SHADOW, "a differential shadow copy"), _INSTANCE,
        task="backup", stage="started", constants={"kind": "shadow_differential"},
    ),
)  # fmt: skip

REVERT_SNAPSHOTS: tuple[EventRow, ...] = (
    row(
        646, "RBS_CORRUPT_ID", "error", ("revert snapshot file at", "is corrupt with reason"),
        txt("file", "file at '{}' is corrupt"), txt("reason", "reason '{}'"),
        num("offset", "at offset {}"), num("segment", "segment {}."),
        txt("expected"), txt("actual"),
    ),
    row(
        5000, "RBS_CREATEORLOAD_SUCCESS_ID", "information",
        ("revert snapshot file at", "successfully"),
        txt("file", "file at '{}' was"), txt("operation", "was '{}' successfully"),
    ),
    row(
        5001, "RBS_CREATEORLOAD_FAILED_ID", "error",
        ("revert snapshot file at", "failed to be"),
        txt("file", "file at '{}' failed"), txt("operation", "failed to be '{}'"),
        err("with error '{}'"),
    ),
    row(
        5003, "RBSREVERT_EXECUTE_SUCCESS_ID", "information", "databases were reverted from",
        txt("reverted_from", "from '{}' to"), txt("reverted_to", " to '{}' successfully"),
    ),
    row(
        5004, "RBSREVERT_EXECUTE_FAILED_ID", "error", "databases were failed to be reverted from",
        txt("reverted_from", "from '{}' to"), txt("reverted_to", " to '{}' with"),
        err("with error '{}'"),
    ),
    row(
        5005, "RBS_CREATE_SKIPPED_ID", "error",
        ("creation of revert snapshot file at", "was skipped"), txt("file", "file at '{}' was"),
        err("due to '{}'"), err("failed with error '{}'", name="load_error"),
    ),
    row(
        5007, "RBS_INVALIDATED_ID", "error", ("revert snapshot file at", "was invalidated due to"),
        txt("file", "file at '{}' was"), txt("reason", "due to '{}'"),
    ),
)  # fmt: skip
"""Copies of old pages, kept to set databases back to an earlier state; the file is none of them."""
