"""Catalogue: online defragmentation, and the space of a database (leaks, trim, shrink).

Ids 602-603, 628-629, 563-564, 700-716, 728, 739-743 and 748-757.
"""

from esewatch.ese.catalogue.event_row import (
    SKIP,
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

STARTED = date(
    "pass_started",
    "pass started on {} and ran",
    "pass started on {} and has",
    "pass started on {}. ",
    "pass started on {}.",
)
SECONDS = num("seconds", "total of {} seconds")
SO_FAR = num("days", "running for {} day")

# The numbers came with Exchange 2007 SP1; its 703 has the defragmentation's age in days as %11.
_OLD_DONE: tuple[Param, ...] = (
    db("database '{}'", "pass on database {}"),
    num("pages_freed", "freeing {} pages"),
    STARTED,
    SECONDS,
    num("invocations", "requiring {} invocation"),
    num("days", "invocations over {} day", "invocation over {} day"),
    num("completions", "fully defragmented {} time"),
    num("lifetime_days", "times over {} day", "time over {} day"),
)
_SPACE: tuple[Param, ...] = (
    num("size_bytes_before", "initial file size: {} bytes"),
    num("size_pages_before"),
    num("size_bytes", "final file size: {} bytes"),
    num("size_pages"),
    num("owned_bytes_before", "initial owned space: {} bytes"),
    num("owned_pages_before"),
    num("owned_bytes", "final owned space: {} bytes"),
    num("owned_pages"),
    num("moved_bytes", "data moved: {} bytes"),
    num("moved_pages"),
    err("error code: {}", "return code: {}"),
    txt("stop_reason", "stop reason: {}"),
)
_SPAN: tuple[Param, ...] = (
    as_kind("seconds", Kind.MINUTES, "total time: {} minute"),
    as_kind("seconds", Kind.ADD_SECONDS, "and {} second"),
)

DEFRAGMENTATION: tuple[EventRow, ...] = (
    row(602, "MANY_LOST_COMPACTION_ID", "warning", "background clean-up skipped pages", db()),
    row(
        603, "SPACE_LOST_ON_FREE_ID", "warning", "lost unused pages", db(),
        num("first_page", "unused pages {}-"), num("last_page"), num("object_id", "objectid {})"),
    ),
    row(
        628, "BT_MOVE_SKIPPED_MANY_NODES_ID", "warning", "non-visible nodes", db(), txt("name"),
        txt("table"), num("nodes_skipped", "skip over {} non-visible"),
        num("pages_skipped", "nodes in {} pages"), num("object_id"), num("root_page"),
        SKIP, SKIP, SKIP, SKIP, SKIP, SKIP, num("milliseconds", "took {} milliseconds"),
        num("wait_milliseconds", "waiting {} milliseconds"),
        num("pages_faulted", "faulting in {} pages"),
    ),
    row(
        629, "BT_MOVE_SKIPPED_MANY_NODES_AGAIN_ID", "warning",
        ("non-visible nodes", "last reported", "other incidents"), db(), txt("name"), txt("table"),
        num("nodes_skipped", "skip over {} non-visible"),
        num("pages_skipped", "nodes in {} pages"), num("object_id"), num("root_page"),
        SKIP, SKIP, SKIP, SKIP, SKIP, num("hours_since", "reported {} hours"),
        num("suppressed", "ago, {} other incidents", "{} other incidents"), SKIP, SKIP, SKIP,
        num("milliseconds", "took {} milliseconds"),
    ),
    row(
        700, "OLD_BEGIN_FULL_PASS_ID", "information",
        "online defragmentation is beginning a",
        db("database '{}'", "pass on database {}"), task="defrag", stage="started",
    ),
    row(
        701, "OLD_COMPLETE_FULL_PASS_ID", "information",
        "online defragmentation has completed a full pass",
        *_OLD_DONE, task="defrag", stage="completed",
    ),
    row(
        702, "OLD_RESUME_PASS_ID", "information", "online defragmentation is resuming its pass",
        db(), STARTED, SO_FAR, task="defrag", stage="resumed",
    ),
    row(
        703, "OLD_COMPLETE_RESUMED_PASS_ID", "information",
        "online defragmentation has completed the resumed pass",
        *_OLD_DONE, task="defrag", stage="completed",
    ),
    row(
        704, "OLD_INTERRUPTED_PASS_ID", "information",
        ("online defragmentation of database", "was interrupted and terminated"),
        db(), task="defrag", stage="interrupted",
    ),
    row(
        705, "OLD_ERROR_ID", "warning",
        ("online defragmentation of database", "terminated prematurely"),
        db(), err(), task="defrag", stage="failed",
    ),
    row(
        708, "OLDSLV_BEGIN_FULL_PASS_ID", "information",
        "online defragmentation is beginning a full pass on streaming file",
        txt("file", "file '{}'"), raised=False,
    ),
    row(
        709, "OLDSLV_COMPLETE_FULL_PASS_ID", "information",
        "online defragmentation has completed a full pass on streaming file",
        txt("file", "file '{}'"), raised=False,
    ),
    row(
        710, "OLDSLV_SHRANK_DATABASE_ID", "information",
        ("online defragmentation of streaming file", "has shrunk"),
        txt("file", "file '{}'"), num("bytes", "file by {} bytes"), raised=False,
    ),
    row(
        711, "OLDSLV_ERROR_ID", "warning",
        ("online defragmentation of streaming file", "terminated prematurely"),
        txt("file", "file '{}'"), err(), raised=False,
    ),
    row(
        712, "DATABASE_SLV_ZEROING_STARTED_ID", "information",
        ("online zeroing of streaming file", "started"), txt("file", "file '{}'"), raised=False,
    ),
    row(
        713, "DATABASE_SLV_ZEROING_STOPPED_ID", "information",
        ("online zeroing of streaming file", "finished after"), txt("file", "file '{}'"),
        num("seconds", "after {} seconds"), err("err {}"), count("pages_seen", "pages"),
        count("unused_pages_zeroed", "unused pages zeroed"), raised=False,
    ),
    row(
        714, "OLDSLV_STOP_ID", "information",
        ("online defragmentation has successfully been stopped", "streaming file"),
        txt("file", "file '{}'"), raised=False,
    ),
    row(
        715, "OLD_CLEAN_BUFFER_LOW_PAUSE_ID", "warning",
        "online defragmentation has been paused one or more times",
        txt("databases", "databases: '{}'"), raised=False,
    ),
    row(
        716, "OLD_CLEAN_BUFFER_NORMAL_RESUME_ID", "information",
        "online defragmentation has resumed one or more times",
        txt("databases", "databases: '{}'"), raised=False,
    ),
    row(
        728, "OLD2_COMPLETE_PASS_ID", "information",
        "online defragmentation has defragmented index", db(), txt("table", "table '{}'"),
        txt("index", "index '{}'"), STARTED, count("pages_visited", "pages visited"),
        count("pages_freed", "pages freed"), count("partial_merges", "partial merges"),
        count("pages_moved", "pages moved"), task="index_defrag", stage="completed",
    ),
    row(
        752, "OLD2_TABLE_STATUS", "information",
        "outstanding tasks in the online defragmentation table",
        num("outstanding_tasks", "are {} outstanding"), db("for database {}. "),
        num("tasks_not_started", "{} of those outstanding"),
    ),
)  # fmt: skip

SPACE: tuple[EventRow, ...] = (
    row(
        563, "DATABASE_LEAKED_ROOT_SPACE_ID", "error",
        ("space to the database root", "will be leaked"), db(), err(),
        num("object_id", "objectid {})"), num("pages_leaked", "total of {} page"),
    ),
    row(
        564, "DATABASE_LEAKED_NON_ROOT_SPACE_ID", "warning",
        ("while releasing space to objectid", "will be leaked"), db(), err(),
        num("object_id", "space to objectid {}."), num("pages_leaked", "total of {} page"),
    ),
    row(
        739, "NTFS_FILE_ATTRIBUTE_MAX_SIZE_EXCEEDED", "error", "ntfs file attributes size",
        db(), num("bytes", "is {} bytes"), num("threshold_bytes", "threshold of {} bytes"),
    ),
    row(
        740, "DB_TRIM_TASK_STARTED", "information",
        "periodic database file trimming operation started", task="trim", stage="started",
    ),
    row(
        741, "DB_TRIM_TASK_SUCCEEDED", "information",
        ("periodic database file trimming operation", "finished successfully"),
        num("pages_trimmed", "file by {} pages"), task="trim", stage="completed",
    ),
    row(
        742, "DB_TRIM_TASK_NO_TRIM", "information",
        ("periodic database file trimming operation", "not enough internal free space"),
        task="trim", stage="completed", constants={"pages_trimmed": 0},
    ),
    row(
        743, "DB_TRIM_TASK_FAILED", "error",
        ("periodic database file trimming operation", "was not able to trim"),
        err("result {}"), task="trim", stage="failed",
    ),
    row(
        748, "DB_SHRINK_SUCCEEDED_ID", "information",
        ("database file shrinkage operation", "completed successfully"), db(), *_SPAN, *_SPACE,
        task="shrink", stage="completed",
    ),
    row(
        749, "DB_SHRINK_FAILED_ID", "error", ("database file shrinkage operation", "failed on"),
        db(), *_SPAN, *_SPACE, task="shrink", stage="failed",
    ),
    row(
        750, "DB_LEAK_RECLAIMER_SUCCEEDED_ID", "information",
        ("space leakage reclaimer", "completed successfully"), db(),
        txt("stop_reason", "stop reason: {}"), *_SPAN, err("return code: {}"), SKIP, SKIP, SKIP,
        SKIP, num("pages_reclaimed", "pages reclaimed: {} page"),
    ),
    row(
        751, "DB_LEAK_RECLAIMER_FAILED_ID", "error", ("space leakage reclaimer", "failed on"),
        db(), txt("stop_reason", "stop reason: {}"), *_SPAN, err("return code: {}"), SKIP, SKIP,
        SKIP, SKIP, num("pages_reclaimed", "pages reclaimed: {} page"),
    ),
    row(
        753, "DBSCAN_REDELETE_REVERTED_TABLE_SUCCESS", "information",
        ("db scan", "marked for delete by revert"), num("root_page"), num("object_id"),
    ),
    row(
        754, "DBSCAN_REDELETE_REVERTED_TABLE_FAILURE", "error",
        ("db scan", "marked for delete by revert", "error"), num("root_page"),
        num("object_id"), err(),
    ),
    row(
        755, "DB_EXTENSION_OVERSIZED_DB_ID", "warning",
        "extended beyond its configured maximum size", db(),
    ),
    row(
        756, "ROOT_SPACE_LEAK_ESTIMATION_SUCCEEDED_ID", "information", "root space leak estimation",
        db(), num("pages_leaked"), num("bytes"),
    ),
    row(
        757, "ROOT_SPACE_LEAK_ESTIMATION_FAILED_ID", "error",
        ("root space leak estimation", "failed"), db(), err(),
    ),
)  # fmt: skip
