"""Catalogue: logs that do not fit a restore or a recovery, or have an unsupported version.

Ids 430-435, 457-458, 460-464, 496, 517, 546-548, 553. The databases and logs of a backup set,
and what lies in the folder of the logs, are compared before they are played.
"""

from esewatch.ese.catalogue.event_row import EventRow, Param, db, err, num, row, txt

_POSITION = txt("log_position", "at position {}. ")
_MISMATCH: tuple[Param, ...] = (txt("available_log"), txt("needed_log"))

RESTORE: tuple[EventRow, ...] = (
    row(
        430, "DATABASE_PATCH_FILE_MISMATCH_ERROR_ID", "error", "patch file do not match",
        db("database {} and its"),
    ),
    row(
        431, "STARTING_RESTORE_LOG_TOO_HIGH_ERROR_ID", "error",
        ("starting restored logfile", "is too high"), *_MISMATCH,
    ),
    row(
        432, "ENDING_RESTORE_LOG_TOO_LOW_ERROR_ID", "error",
        ("ending restored logfile", "is too low"), *_MISMATCH,
    ),
    row(
        433, "RESTORE_LOG_FILE_HAS_BAD_SIGNATURE_ERROR_ID", "error",
        ("restored logfile", "correct log signature"), txt("log_file", "restored logfile {} does"),
    ),
    row(
        434, "RESTORE_LOG_FILE_NOT_CONTIGUOUS_ERROR_ID", "error",
        ("the timestamp for restored logfile", "does not match"),
        txt("log_file", "restored logfile {} does"),
    ),
    row(
        435, "RESTORE_LOG_FILE_MISSING_ERROR_ID", "error", ("the restored logfile", "is missing."),
        txt("log_file", "restored logfile {} is missing"),
    ),
    row(
        457, "EXISTING_LOG_FILE_HAS_BAD_SIGNATURE_ERROR_ID_2", "warning",
        ("log signature of the existing logfile", "from the backup set"),
        txt("log_file", "existing logfile {} doesn't"),
    ),
    row(
        458, "EXISTING_LOG_FILE_NOT_CONTIGUOUS_ERROR_ID_2", "warning",
        ("the logfiles", "not in a valid sequence"), txt("first_log", "logfiles {} and"),
        txt("last_log", " and {} are not"),
    ),
    row(
        460, "LOG_TORN_WRITE_DURING_HARD_RESTORE_ID", "error",
        ("torn-write was detected", "restoring from backup"),
        txt("log_file", "in logfile {} of the backup"), _POSITION,
    ),
    row(
        461, "LOG_TORN_WRITE_DURING_HARD_RECOVERY_ID", "error",
        ("torn-write was detected", "during hard recovery"),
        txt("log_file", "in logfile {}. "), _POSITION,
    ),
    row(
        462, "LOG_TORN_WRITE_DURING_SOFT_RECOVERY_ID", "warning",
        ("torn-write was detected", "during soft recovery"),
        txt("log_file", "in logfile {}. "), _POSITION, raised=False,
    ),
    row(
        463, "LOG_CORRUPTION_DURING_HARD_RESTORE_ID", "error",
        "corruption was detected while restoring from backup logfile",
        txt("log_file", "backup logfile {}. "), _POSITION, txt("reason"),
    ),
    row(
        464, "LOG_CORRUPTION_DURING_HARD_RECOVERY_ID", "error",
        "corruption was detected during hard recovery in logfile",
        txt("log_file", "in logfile {}. "), _POSITION, txt("reason"),
    ),
    row(
        496, "REDO_HIGH_LOG_MISMATCH_ERROR_ID", "error",
        ("requires logfile", "recovery found the logfile created"),
        db("database {} requires"), txt("log_file", "requires logfile {} created"),
        txt("needed_created"), txt("created"),
    ),
    row(
        517, "CONSISTENT_TIME_MISMATCH_ID", "error",
        ("recovery failed with error", "does not match the current set of logs"),
        err(), db("a database, '{}'"),
    ),
    row(
        546, "LOG_VERSION_TOO_LOW_FOR_ENGINE_ID", "error", ("the log generation (", "is too low ("),
        num("generation", "generation ({})"), txt("version", "too low ({})"),
    ),
    row(
        547, "LOG_VERSION_TOO_HIGH_FOR_ENGINE_ID", "error",
        ("the log generation (", "is too high ("),
        num("generation", "generation ({})"), txt("version", "too high ({})"),
    ),
    row(
        548, "LOG_VERSION_TOO_HIGH_FOR_PARAM_ID", "error",
        ("log generation's", "higher than the maximum version configured"),
        num("generation", "generation's [{}]"), txt("version", "version {} is higher"),
    ),
    row(
        553, "RSTMAP_FAIL_ID", "error", "failed looking up restore-map entry",
        db("for database {} with"), err(),
    ),
)  # fmt: skip
