"""Catalogue: tables, indexes and languages, formats, misuse of the engine, failure items.

Ids 601, 604, 609-614, 617, 619-622, 625, 643, 653-657, 902-903. An index that is out of
date with the language rules of Windows (613 the primary, 614 a secondary one, 643 any of a
database) is logged at every attach. 611 says that one index is deleted and built again, 612 that
all indexes of the database are in date; no event reports the building of one index.

Failure items, which an instance reports to the copies of its database, are 3000 plus the number of
the failure tag. The engine logs them as errors, by its own provider and in its own log, and only
where its host asks for them (Exchange does). `%3` and `%4` are both the display name of the
instance; `%5` is its name, which Exchange makes the GUID of the database; `%6` is a constant GUID
of the place in the engine that raised it. No path names the database. Tags without words in the
table (14, 71) come without a message.
"""

from esewatch.ese.catalogue.event_row import db, err, num, row, txt

_INDEX = (
    db("database '{}': the"), txt("index", "index '{}' of table"), txt("table", "of table '{}'"),
    txt("locale", "for locale '{}'"), txt("index_sort_id"), txt("index_sort_version"),
    txt("sort_id"), txt("sort_version"),
)  # fmt: skip
_LIST_DATABASE = db("database: {}")

INDEXES = (
    row(609, "START_INDEX_CLEANUP_KNOWN_VERSION_ID", "information",
        ("initiating index cleanup of database", "version upgrade from"), db()),
    row(610, "START_INDEX_CLEANUP_UNKNOWN_VERSION_ID", "information",
        ("initiating index cleanup of database", "version upgrade to"), db()),
    row(611, "DO_SECONDARY_INDEX_CLEANUP_ID", "information",
        ("the secondary index", "of table", "will be rebuilt"), *_INDEX),
    row(612, "STOP_INDEX_CLEANUP_ID", "information", "completed index cleanup on database", db()),
    row(613, "PRIMARY_INDEX_OUT_OF_DATE_ERROR_ID", "warning",
        ("the primary index", "out of date with sorting"), *_INDEX),
    row(614, "SECONDARY_INDEX_OUT_OF_DATE_ERROR_ID", "warning",
        ("the secondary index", "out of date with sorting", "not rebuilt"), *_INDEX),
    row(643, "DATABASE_HAS_OUT_OF_DATE_INDEX", "warning", "out of date nls sort version",
        db("on the database '{}'"), txt("locale", "for locale '{}'"), txt("index_sort_id"),
        txt("index_sort_version"), txt("sort_id"), txt("sort_version")),
)  # fmt: skip

DEFINITIONS = (
    row(601, "FUNCTION_NOT_FOUND_ERROR_ID", "error", "could not find the entrypoint",
        txt("function", "entrypoint {} in"), txt("file", "in the file {}.")),
    row(604, "LANGUAGE_NOT_SUPPORTED_ID", "error", ("locale id", "could not be validated"),
        txt("locale", "locale id {} ("), txt("language"), txt("language_english"),
        err("system error {}", name="system_error"), txt("system_text", ": '{}'. the"),
        err("fail with error {}")),
    row(617, "CONVERT_INCOMPLETE_ERROR_ID", "error", "conversion did not complete successfully",
        db()),
    row(619, "ATTACH_TO_BACKUP_SET_DATABASE_ERROR_ID", "error",
        ("attempted to attach", "restored from a backup set"), db()),
    row(620, "RECORD_FORMAT_CONVERSION_FAILED_ID", "error", "unable to convert record format",
        num("object_id"), num("page_number"), num("line")),
    row(621, "OUT_OF_OBJID", "error", ": out of b-tree ids", db()),
    row(622, "ALMOST_OUT_OF_OBJID", "warning", ": available b-tree ids", db()),
    row(625, "INVALID_LCMAPFLAGS_ID", "error", "does not support the lcmapstring() flags",
        txt("flags", "flags {}.")),
    row(653, "EXTENT_PAGE_COUNT_CACHE_OPERATION_FAILED_ID", "error",
        "an operation in the extent page count cache", _LIST_DATABASE, txt("operation"),
        txt("note"), err("err: {}"), num("object_id", "objidfdp: {}"),
        num("root_page", "pgnofdp: {}")),
    row(654, "EXTENT_PAGE_COUNT_CACHE_PREPARE_FAILED_ID", "error",
        "preparing a row in the extent page count cache", _LIST_DATABASE,
        num("object_id", "objid: {}"), num("root_page", "pgnofdp: {}"), err("err: {}")),
    row(655, "EXTENT_PAGE_COUNT_CACHE_EXTENSIVE_VALIDATION_FAILED_ID", "error",
        "extra validation of the extent page count cache table failed", _LIST_DATABASE,
        num("object_id", "objid: {}"), num("root_page", "pgnofdp: {}")),
    row(656, "BEGIN_TRANSACTION_FOR_EXTENT_PAGE_COUNT_CACHE_PREPARE_FAILED_ID", "error",
        "beginning a transaction to prepare a row in the extent", _LIST_DATABASE,
        num("object_id", "objid: {}"), num("root_page", "pgnofdp: {}"), err("err: {}")),
    row(657, "AUTO_INCREMENT_FAILED_TO_INITIALIZE_PERSISTED_VALUE_ID", "warning",
        "persisted auto-increment value", _LIST_DATABASE, num("object_id", "objid: {}"),
        num("root_page", "pgnofdp: {}"), err("error: {}")),
    row(902, "SESSION_SHARING_VIOLATION_ID", "error", "illegally using the same database session",
        txt("session", "sessionid: {}"), txt("session_context", "session-context: {}")),
    row(903, "SESSION_WRITE_CONFLICT_ID", "error", "illegally trying to update the same record",
        txt("session", "sessionid: {}"), txt("thread"), _LIST_DATABASE, txt("table", "table: {}")),
)  # fmt: skip


_ITEM = (
    txt("display_name", "of database '{}' (", "database '{}'"), txt("instance_name", "' ('{}')"),
    txt("place", "diagnostic information: {} "), txt("detail"),
)  # fmt: skip

FAILURE_ITEMS = tuple(
    row(event_id, symbol, "error", phrase, *_ITEM)
    for event_id, symbol, phrase in (
        (3001, "CONFIGURATION_FAILURE_TAG_ID", "configuration error is preventing proper"),
        (3002, "REPAIRABLE_FAILURE_TAG_ID", "read verification or i/o error is preventing"),
        (3003, "SPACE_FAILURE_TAG_ID", "lack of free space for the database or log files"),
        (3004, "IOHARD_FAILURE_TAG_ID", "an i/o error is preventing proper operation"),
        (3005, "SOURCECORRUPTION_FAILURE_TAG_ID", "passive copy has detected a corruption"),
        (3006, "CORRUPTION_FAILURE_TAG_ID", "corruption has been detected in database"),
        (3007, "HARD_FAILURE_TAG_ID", "an operating error is preventing proper"),
        (3008, "UNRECOVERABLE_FAILURE_TAG_ID", "a serious error is preventing proper"),
        (3009, "REMOUNT_FAILURE_TAG_ID", "may be corrected by remounting the database"),
        (3010, "RESEED_FAILURE_TAG_ID", "passive copy has detected an error"),
        (3011, "PERFORMANCE_FAILURE_TAG_ID", "performance problem is affecting proper"),
        (3012, "MOVELOAD_FAILURE_TAG_ID", "unusually large amount of normal load"),
        (3013, "MEMORY_FAILURE_TAG_ID", "experiencing memory allocation failures"),
        (3014, "CATALOGRESEED_FAILURE_TAG_ID", ()),
        (3071, "RBSROLLREQUIRED_FAILURE_TAG_ID", ()),
    )
)
