"""Catalogue: life cycle, attach, recovery, failures of the engine (section 1.8 of the facts).

Also a few life-cycle ids that real logs are full of (100-101, 408-412, 916).
"""

from esewatch.ese.catalogue.event_row import (
    SKIP,
    EventRow,
    Kind,
    Param,
    as_kind,
    db,
    err,
    num,
    row,
    txt,
)

_NUMBER = num("instance_number", "instance ({})")
_VERSION: tuple[Param, ...] = (
    as_kind("version_major", Kind.VERSION, "engine ({}.#.#.#)"),
    as_kind("version_minor", Kind.VERSION, "engine (#.{}.#.#)"),
    as_kind("version_build", Kind.VERSION, "engine (#.#.{}.#)"),
    as_kind("version_revision", Kind.VERSION, "engine (#.#.#.{})"),
)
_DONE: tuple[Param, ...] = (num("seconds", "(time={} second"),)
_LOG = txt("log_file", "logfile {}. error")
_LOG_ERROR = err("error {}.")
_LOST: tuple[Param, ...] = (txt("first_log"), txt("last_log"))
_DATABASE_DONE: tuple[Param, ...] = (
    num("database_number", "database ({},"),
    db("database (#, {}). (time", "database (#, {}). "),
    *_DONE,
)

LIFE_CYCLE: tuple[EventRow, ...] = (
    row(100, "START_ID", "information", ("the database engine", " started"), raised=False),
    row(101, "STOP_ID", "information", "the database engine stopped.", raised=False),
    row(
        102, "START_INSTANCE_ID", "information", ("the database engine (", " a new instance ("),
        _NUMBER, *_VERSION,
    ),
    row(
        103, "STOP_INSTANCE_ID", "information", "stopped the instance (", _NUMBER, SKIP,
        num("dirty", "dirty shutdown: {}"),
    ),
    row(
        104, "STOP_INSTANCE_ID_WITH_ERROR", "error", ("stopped the instance (", "with error"),
        _NUMBER, err("with error ({})", "with error {}"),
    ),
    row(
        105, "START_INSTANCE_DONE_ID", "information", "engine started a new instance", _NUMBER,
        *_DONE,
    ),
    row(
        216, "DB_LOCATION_CHANGE_DETECTED", "information",
        "a database location change was detected", txt("from_path", "from '{}'"),
        db("to '{}'"),
    ),
    row(
        325, "CREATE_DATABASE_DONE_ID", "information", "engine created a new database",
        *_DATABASE_DONE,
    ),
    row(
        326, "ATTACH_DATABASE_DONE_ID", "information", "engine attached a database",
        *_DATABASE_DONE,
    ),
    row(
        327, "DETACH_DATABASE_DONE_ID", "information", "engine detached a database",
        *_DATABASE_DONE,
    ),
    row(
        328, "RECOVERY_DB_ATTACH_ID", "information", "fired callback for attach of database",
        db("of database {} during"), txt("log_position", "at log position {}. "),
        err("returned {}."),
    ),
    row(
        329, "RECOVERY_DB_DETACH_ID", "information", "fired callback for detach of database",
        db("of database {} during"), txt("log_position", "at log position {}. "),
        err("returned {}."),
    ),
    row(
        330, "ATTACH_DATABASE_VERSION_UPGRADE_SKIPPED_ID", "information",
        "format version is being held back", db(), txt("parameter"), txt("version"),
    ),
    row(
        331, "ATTACH_DATABASE_VERSION_UPGRADED_ID", "information", "version was upgraded from",
        db(), txt("from_version"), txt("version"),
    ),
    row(
        332, "ATTACH_DATABASE_VERSION_TOO_HIGH_FOR_ENGINE_ID", "error",
        "higher than the maximum version understood", db(), txt("version"),
    ),
    row(
        333, "ATTACH_DATABASE_VERSION_TOO_HIGH_FOR_PARAM_ID", "error",
        ("higher than the maximum version configured", "the database"), db(), txt("version"),
    ),
    row(
        334, "DATABASE_INCREMENTAL_RESEED_PATCH_COMPLETE_ID", "information",
        "completed incremental reseed page patching", db(),
        num("pages_patched", "operations for {} pages"), txt("page_range", "patching: {}"),
        num("seconds"),
    ),
    row(
        426, "FILE_NOT_FOUND_ERROR_ID", "error", "could not find the file or folder called",
        txt("file", "folder called {}."),
    ),
    row(
        536, "CREATING_TEMP_DB_FAILED_ID", "error", "to create temporary database",
        txt("temporary_path", "database {} failed"), err(),
    ),
    row(
        908, "ENFORCE_FAIL", "error", "due to non-recoverable failure",
        txt("failure", "failure: {}. tag"),
    ),
    row(
        909, "ENFORCE_DB_FAIL", "error", ("due to non-recoverable failure", "on database"),
        txt("failure", "failure: {} in operation"), SKIP, db(),
    ),
    row(
        916, "STAGED_BETA_FEATURE_IN_USE_ID", "information",
        ("the beta feature", "beta site mode settings"), txt("feature", "feature {} is enabled"),
    ),
)  # fmt: skip

RECOVERY: tuple[EventRow, ...] = (
    row(
        300, "START_REDO_ID", "information", "is initiating recovery steps",
        task="replay", stage="started",
    ),
    row(
        301, "STATUS_REDO_ID", "information",
        ("the database engine", "finished replaying logfile"),
        txt("log_file", "replaying logfile {}. processing", "replaying logfile {}."),
        as_kind("seconds", Kind.TIMING, "stats: {}"), txt("record_type", "of type '{}'"),
        num("records", "frequently ({} times"), task="replay", stage="completed",
    ),
    row(
        302, "STOP_REDO_ID", "information", "successfully completed recovery steps",
        task="replay", stage="completed",
    ),
    row(
        304, "STOP_REDO_WITHOUT_UNDO_ID", "information", "successfully completed replay steps",
        task="replay", stage="completed",
    ),
    row(
        335, "REDO_DEFERRED_ATTACH_REASON_ID", "information",
        ("replay of a", "was deferred due to"), txt("operation", "replay of a {} for database"),
        db(), txt("log_position", "at log position {} was"), txt("reason", "due to {}. "),
    ),
    row(408, "LOG_WRITE_ERROR_ID", "error", "unable to write to logfile", _LOG, _LOG_ERROR),
    row(
        409, "LOG_HEADER_WRITE_ERROR_ID", "error", "unable to write to the header of logfile",
        _LOG, _LOG_ERROR,
    ),
    row(
        410, "LOG_READ_ERROR_ID", "error", "unable to read logfile", _LOG, _LOG_ERROR,
        raised=False,
    ),
    row(
        411, "LOG_BAD_VERSION_ERROR_ID", "error", "the log version stamp of logfile",
        txt("log_file", "of logfile {} does not"),
    ),
    row(
        412, "LOG_HEADER_READ_ERROR_ID", "error", "unable to read the header of logfile",
        _LOG, _LOG_ERROR,
    ),
    row(
        419, "RECOVERY_DATABASE_READ_PAGE_ERROR_ID", "error", ("unable to read page", "database"),
        db("of database {}. "), num("page_number", "read page {} of"), err("error code: {}"),
    ),
    row(
        420, "RESTORE_DATABASE_READ_HEADER_WARNING_ID", "warning",
        "unable to read the header of database", db("of database {}. error"), _LOG_ERROR,
    ),
    row(
        421, "RESTORE_DATABASE_PARTIALLY_ERROR_ID", "warning",
        ("was not recovered", "the recovered database was created"),
        db("the database {} created"),
    ),
    row(
        440, "LOG_FILE_CORRUPTED_ID", "error", ("the log file", "is damaged, invalid"),
        txt("log_file", "log file {} is damaged"), err("(error {})"),
    ),
    row(
        446, "REDO_END_ABRUPTLY_ERROR_ID", "error", "recovery stopped abruptly",
        txt("log_file", "redoing logfile {} ("),
    ),
    row(
        450, "CURRENT_LOG_FILE_MISSING_ERROR_ID", "error",
        "a gap in the logfile sequence was detected", txt("log_file", "logfile {} is missing"),
    ),
    row(
        452, "REDO_MISSING_LOW_LOG_ERROR_ID", "error",
        ("requires logfiles", "locate logfiles starting at"), db("database {} requires"), *_LOST,
        txt("available_log", "starting at {}."),
    ),
    row(
        453, "REDO_MISSING_HIGH_LOG_ERROR_ID", "error",
        ("requires logfiles", "locate logfiles up to"), db("database {} requires"), *_LOST,
        txt("available_log", "up to {} ("),
    ),
    row(
        454, "RESTORE_DATABASE_FAIL_ID", "error",
        "database recovery/restore failed with unexpected error", err(),
    ),
    row(
        455, "LOG_OPEN_FILE_ERROR_ID", "error", "occurred while opening logfile",
        txt("log_file", "opening logfile {}."), err("error {} occurred"),
    ),
    row(
        465, "LOG_CORRUPTION_DURING_SOFT_RECOVERY_ID", "error",
        "corruption was detected during soft recovery in logfile",
        txt("log_file", "in logfile {}. "), txt("log_position", "at position {}. "),
    ),
    row(
        471, "UNDO_FAILED_ID", "error", "unable to rollback operation", SKIP,
        db("on database {}. error"), err("error: {}."),
    ),
    row(
        494, "ATTACHED_DB_MISMATCH_END_OF_RECOVERY_ID", "error",
        ("recovery failed with error", "no longer present"), err(), db("a database, '{}'"),
    ),
    row(
        495, "ATTACHED_DB_MISMATCH_DURING_RECOVERY_ID", "error",
        ("database recovery on", "failed with error"), err(), db("recovery on '{}'"),
    ),
    row(
        498, "DELETE_LOG_FILE_TOO_NEW_ID", "warning",
        ("gap in log sequence numbers", "logfiles"), num("generation", "has generation {}. "),
        txt("first_log"), txt("last_log"),
    ),
    row(
        499, "DELETE_LAST_LOG_FILE_TOO_OLD_ID", "warning",
        ("gap in log sequence numbers", "(generation"), num("generation", "has generation {}. "),
        txt("log_file"),
    ),
    row(
        514, "ALMOST_OUT_OF_LOG_SEQUENCE_ID", "warning", "almost been completely consumed",
        num("generation", "generation is {} which"),
        num("maximum_generation", "generation of {},"), num("generations_left", "are {} log"),
    ),
    row(
        518, "LOG_FILE_MISSING_ID", "error", ("the log file", "is missing (error"),
        txt("log_file", "log file {} is missing"), err("(error {})"),
    ),
    row(
        519, "LOG_RANGE_MISSING_ID", "error", ("the range of log files", "is missing (error"),
        txt("first_log", "log files {} to"), txt("last_log", " to {} is missing"),
        err("(error {})"),
    ),
    row(
        523, "REDO_MISSING_COMMITTED_LOGS_BUT_HAS_LOSSY_RECOVERY_OPTION_ID", "error",
        ("requires log files", "recover all committed data"), db("database {} requires"),
        *_LOST, txt("available_log", "up to log file: {},"),
        num("missing_generation", "locate log generation {}."),
    ),
    row(
        524, "REDO_MISSING_COMMITTED_LOGS_LOST_BUT_CONSISTENT_ID", "warning",
        ("has lost", "committed log files"), db("database {} has lost"),
        num("logs_lost", "has lost {} committed"), *_LOST,
    ),
    row(
        525, "LOG_FILE_CORRUPTED_BUT_HAS_LOSSY_RECOVERY_OPTION_ID", "error",
        ("the log file", "is damaged, invalid", "can still be recovered manually"),
        txt("log_file", "log file {} is damaged"), err("(error {})"),
    ),
    row(
        526, "REDO_CORRUPT_COMMITTED_LOG_REMOVED_ID", "warning",
        "has removed the portion of log corrupted", num("generation"),
        txt("log_file", "log file {} ("),
    ),
    row(
        527, "REDO_MORE_COMMITTED_LOGS_REMOVED_ID", "warning",
        ("has removed", "committed log files"), num("logs_lost", "removed {} committed"), *_LOST,
    ),
    row(
        528, "REDO_COMMITTED_LOGS_OUTOFORDERMISSING_BUT_HAS_LOSSY_RECOVERY_OPTION_ID", "error",
        "before detecting an out of sequence log", txt("available_log", "log file {} ("),
    ),
    row(
        543, "LOG_LAST_SEGMENT_CHECKSUM_MISMATCH_ID", "error",
        "accumulated segment checksum mismatch", txt("log_file", "in logfile {}, expected"),
        txt("expected", "expected: {}, actual"), txt("actual", "actual: {}."),
    ),
    row(
        558, "GAP_LOG_FILE_GEN_ID", "error", "gap in sequence number following logfile",
        num("generation", "generation {}. "), num("maximum_generation", "present is {}."),
    ),
    row(
        567, "REDO_REQUIRED_LOG_CORRUPT", "error", ("the log file", "in required range is damaged"),
        txt("log_file", "log file {} in required"), err("(error {})"),
    ),
    row(
        633, "RECOVERY_WAIT_READ_ONLY", "information", "recovery had to pause (",
        num("milliseconds", "({} ms)"),
    ),
    row(
        634, "RECOVERY_LONG_WAIT_READ_ONLY", "warning", "recovery had to pause for a long time",
        num("milliseconds", "({} ms)"),
    ),
    row(
        644, "LOG_CHECKPOINT_GETTING_DEEP_ID", "warning", "causing the checkpoint depth",
        num("logs", "(of {} logs)"), txt("context", "context info: {}"),
        txt("transaction_started", "start times: {}"),
    ),
    row(
        645, "TRAILER_PAGE_MISSING_OR_CORRUPT_ID", "error",
        "use trailer page to patch header", db(),
    ),
)  # fmt: skip
