"""Catalogue: page corruption, corrections, lost writes, repairs (section 1.6 of the facts).

Ids 398-399, 439, 447-448, 456, 466-467, 470, 472-480, 497, 500-504, 515-516, 529-531, 534,
537-545, 549-550, 552, 554-557, 559-560, 565-566, 568-570, 635-640, 727, 904-905, 907, 911.
"""

from esewatch.ese.catalogue.event_row import (
    SKIP,
    EventRow,
    Kind,
    Param,
    as_kind,
    db,
    err,
    file,
    num,
    row,
    txt,
)

_OFFSET = num("offset", "at offset {}")
_BYTES = num("bytes", "for {} bytes")
_PAGE = num("page_number", "(database page {})", "on database page {} ")
_READ = "database page read from the file"
_PLACE: tuple[Param, ...] = (file(), _OFFSET, _BYTES)
# Words of Exchange 2003 and 2007: expected ... actual. Current: stored ... computed.
_STORED = txt("expected", "stored checksum was {} and", "expected checksum was {} and")
_COMPUTED = txt("actual", "computed checksum was {}. ", "actual checksum was {}. ")
_NUMBER = num("page_number", ": page {} ", "page {} ")
_LOST: tuple[Param, ...] = (
    *_PLACE,
    err("error {}"),
    _PAGE,
    txt("page_flush_state", " was {} while the flush state"),
    num("flush_map_page", "flush map page {} was"),
    txt("map_flush_state"),
    txt("context", "context: {}. "),
)
_DBTIME: tuple[Param, ...] = (db("database {}: page"), _NUMBER)

PAGES: tuple[EventRow, ...] = (
    row(
        398, "DATABASE_PAGE_CHECK_FAILED_ID", "error",
        (_READ, "was corrupted and was corrected but page verification failed"),
        *_PLACE, err(), num("bit", "bit {} was corrupted"), _PAGE, page_error=True,
    ),
    row(
        399, "DATABASE_PAGE_CHECKSUM_CORRECTED_ID", "warning",
        (_READ, "was corrupted and has been corrected"),
        *_PLACE, num("bit", "bit {} was corrupted"), _PAGE, page_error=True,
    ),
    row(
        474, "DATABASE_PAGE_CHECKSUM_MISMATCH_ID", "error",
        (_READ, "bytes failed verification due to a page checksum mismatch"),
        *_PLACE, err(), _STORED, _COMPUTED, _PAGE, page_error=True,
    ),
    row(
        475, "DATABASE_PAGE_NUMBER_MISMATCH_ID", "error",
        (_READ, "due to a page number mismatch"), *_PLACE, err(),
        as_kind("expected", Kind.EXPECTED_PAGE, "expected page number was {} and"),
        num("actual", "stored page number was {}", "actual page number was {}"), page_error=True,
    ),
    row(
        476, "DATABASE_PAGE_DATA_MISSING_ID", "error", (_READ, "contains no page data"),
        *_PLACE, err(), _PAGE, page_error=True,
    ),
    row(
        477, "LOG_RANGE_CHECKSUM_MISMATCH_ID", "error", "due to a range checksum mismatch",
        *_PLACE, err(), _STORED, _COMPUTED,
    ),
    row(
        529, "LOG_CHECKSUM_REC_CORRUPTION_ID", "error", "corrupted checksum log record",
        *_PLACE, err(),
    ),
    row(
        478, "SLV_PAGE_CHECKSUM_MISMATCH_ID", "error",
        ("streaming page read from the file", "due to a page checksum mismatch"),
        txt("file", "file '{}'"), _OFFSET, _BYTES, err(), _STORED, _COMPUTED, raised=False,
    ),
    row(
        479, "PATCH_PAGE_CHECKSUM_MISMATCH_ID", "error",
        ("patch page read from the file", "due to a page checksum mismatch"),
        txt("file", "file '{}'"), _OFFSET, _BYTES, err(), _STORED, _COMPUTED, raised=False,
    ),
    row(
        480, "PATCH_PAGE_NUMBER_MISMATCH_ID", "error",
        ("patch page read from the file", "due to a page number mismatch"),
        txt("file", "file '{}'"), _OFFSET, _BYTES, err(),
        num("expected", "expected page number was {} and"),
        num("actual", "actual page number was {}"), raised=False,
    ),
    row(
        530, "DATABASE_PAGE_LOST_FLUSH_ID", "error",
        (_READ, "lost flush detection timestamp mismatch"), *_LOST, page_error=True,
    ),
    row(
        544, "DATABASE_PAGE_PERSISTED_LOST_FLUSH_ID", "error",
        (_READ, "persisted lost flush detection timestamp mismatch"), *_LOST, page_error=True,
    ),
    row(
        727, "SCAN_PAGE_CHECKSUM_MISMATCH_ID", "error",
        (_READ, ") failed verification due to a page checksum mismatch"), file(), _OFFSET, _PAGE,
        page_error=True, raised=False,
    ),
    row(
        531, "SUSPECTED_BAD_BLOCK_OVERWRITE_ID", "warning",
        "attempted a clean write operation on page", num("page_number", "on page {} of"),
        db("of database {}. "),
    ),
    row(
        534, "PATCH_REQUEST_ISSUE_FAILED", "error", ("patch request for file", "failed"),
        db("file '{}'"), num("page_number", 'page number "{}"'), err(),
    ),
    row(
        904, "CORRUPTING_PAGE_ID", "warning", "a test api has been used to corrupt page",
        num("page_number", "corrupt page {} of"), db(), raised=False,
    ),
    row(
        905, "PAGE_PATCHED_ID", "warning", "repaired corruption on page",
        num("page_number", "on page {} of"), db(),
    ),
    row(
        907, "TRANSIENT_IN_MEMORY_CORRUPTION_DETECTED_ID", "error",
        "transient memory corruption was detected",
    ),
    row(
        911, "PAGE_PATCHED_PASSIVE_ID", "warning", "repaired corruption on pages",
        num("page_number", "on pages {} -"), num("last_page_number", "- {} of database"), db(),
    ),
)  # fmt: skip

STRUCTURE: tuple[EventRow, ...] = (
    row(
        439, "SHADOW_PAGE_WRITE_FAIL_ID", "error", "unable to write a shadowed header",
        file("file {}. error"), err(),
    ),
    row(
        447, "BAD_PAGE_LINKS_ID", "error", "bad page link", err("(error {})"),
        num("object_id", "objectid: {},"), num("root_page", "pgnoroot: {})"),
        db("of database {} ("), num("from_page"), num("to_page"), num("found_page"), SKIP,
        num("fatal", "fatal: {}"),
    ),
    row(
        448, "CORRUPT_LONG_VALUE_ID", "error", "data inconsistency detected in table",
        txt("table", "in table {} of database"), db("of database {} ("), num("page_number"),
        txt("long_value"),
    ),
    row(
        456, "PRIMARY_PAGE_READ_FAIL_ID", "warning",
        ("primary header page of file", "was damaged"), file("file {} was damaged"),
        num("bytes", "page ({} bytes)"),
    ),
    row(
        466, "LOG_USING_SHADOW_SECTOR_ID", "warning", "patched using its shadow sector",
        txt("log_file", "in logfile {} was patched"),
    ),
    row(
        467, "INDEX_CORRUPTED_ID", "error", (": index ", " of table ", " is corrupted ("),
        txt("index", ": index {} of table"), txt("table", "of table {} is corrupted"),
        db("database {}: index"), txt("detail", "is corrupted ({})"),
    ),
    row(
        470, "DB_PARTIALLY_ATTACHED_ID", "error", "is partially attached",
        db("database {} is partially"), txt("attach_stage", "stage: {}. "), err("error: {}."),
    ),
    row(
        472, "SHADOW_PAGE_READ_FAIL_ID", "warning",
        ("shadow header page of file", "was damaged"), file("file {} was damaged"),
        num("bytes", "page ({} bytes)"),
    ),
    row(
        473, "DB_PARTIALLY_DETACHED_ID", "error", "was partially detached",
        db("database {} was partially"), err(),
    ),
    row(
        497, "DATABASE_HEADER_ERROR_ID", "error", "the file is not a database file",
        file("headers of {}, the file"),
    ),
    row(500, "REPAIR_BAD_PAGE_ID", "warning", "lost one page of bad data"),
    row(501, "REPAIR_PAGE_LINK_ID", "warning", "repaired one page link", raised=False),
    row(502, "REPAIR_BAD_COLUMN_ID", "warning", "lost one or more bad columns of data"),
    row(503, "REPAIR_BAD_RECORD_ID", "warning", "lost one bad data record"),
    row(
        504, "REPAIR_BAD_TABLE", "warning", "lost one table called",
        txt("table", "table called {}. "),
    ),
    row(
        515, "FLUSH_DEPENDENCY_CORRUPTED_ID", "error", "flush-order dependency mismatch",
        *_DBTIME, num("other_page", "before page {},"), err(),
    ),
    row(
        516, "DBTIME_MISMATCH_ID", "error", "due to a timestamp mismatch at log position",
        *_DBTIME, SKIP, SKIP, err(), SKIP, txt("log_position", "at log position {} ("),
        SKIP, SKIP, num("pages_affected", "pages affected: {}"),
    ),
    row(
        537, "BAD_PAGE_EMPTY_SEEK_ID", "error", "request for a node on an empty page",
        err("(error {})"), num("object_id", "objectid: {},"), num("root_page", "pgnoroot: {})"),
        num("page_number", "pgno: {},"), db("of database {}. "),
    ),
    row(
        538, "DBTIME_CHECK_MISMATCH_ACTIVE_DB_BEHIND_ID", "error",
        ("due to a timestamp mismatch", "the active node lost a flush"), *_DBTIME, SKIP, SKIP,
        err("flush (error {})"), SKIP, txt("log_position", "at log position {}. "), SKIP,
        num("object_id", "objectid: {})"),
    ),
    row(
        539, "DBTIME_CHECK_MISMATCH_PASSIVE_DB_BEHIND_ID", "error",
        ("due to a timestamp mismatch", "the passive node lost a flush"), *_DBTIME, SKIP, SKIP,
        err("flush (error {})"), SKIP, txt("log_position", "at log position {}. "), SKIP,
        num("object_id", "objectid: {})"),
    ),
    row(
        540, "DB_DIVERGENCE_ID", "error", "failed to match logged scan check", *_DBTIME,
        SKIP, SKIP, SKIP, txt("log_position", "at log position {}.", "at log position {} /"),
        SKIP, num("object_id", "objectid: {})"),
    ),
    row(
        541, "DB_DIVERGENCE_UNINIT_PAGE_PASSIVE_DB_ID", "error",
        ("appears to be uninitialized", "on the current node"), *_DBTIME, SKIP, SKIP,
        txt("log_position", "at log position {} on"),
    ),
    row(
        542, "DATABASE_PAGE_LOGICALLY_CORRUPT_ID", "error", "has a logical corruption of type",
        *_DBTIME, num("object_id", "objectid: {})"), txt("corruption", "of type '{}'"),
        txt("detail", "details: {}"),
    ),
    row(
        545, "DB_DIVERGENCE_UNINIT_PAGE_ACTIVE_DB_ID", "error",
        ("appears to be uninitialized", "on the remote node"), *_DBTIME, SKIP, SKIP,
        err("flush (error {})"), SKIP, txt("log_position", "at log position {} on"), SKIP,
        num("object_id", "objectid: {})"),
    ),
    row(
        549, "BAD_LINE_COUNT_ID", "error", "too few lines", db("database {} has a page"),
        num("page_number", "(pgno {})"), num("object_id", "objectid: {},"),
        num("root_page", "pgnoroot: {})"),
    ),
    row(
        550, "COMPRESSED_LVCHUNK_CHECKSUM_MISMATCH_ID", "error",
        "compressed lv chunk failed verification", db("database {}: a compressed"),
        num("root_page", "pgnofdp = {}."),
    ),
    row(
        552, "LOG_CORRUPT_ID", "error", ("log file at", "is corrupt with reason"),
        file("at '{}'"), txt("reason", "reason '{}'"), SKIP, SKIP, SKIP, SKIP,
        err("error-code {}."),
    ),
    row(
        554, "LOG_SEGMENT_CHECKSUM_CORRECTED_ID", "warning",
        ("log segment read from the file", "has been corrected"), file(),
        num("segment", "segment number {})"), _OFFSET, num("bit", "bit {} was corrupted"),
    ),
    row(
        555, "RECOVERY_DATABASE_PAGE_DATA_MISSING_ID", "error",
        "not containing any data at log position", *_DBTIME,
        txt("log_position", "at log position {} ("), SKIP, err(), SKIP,
        num("pages_affected", "pages affected: {}"),
    ),
    row(
        556, "DECOMPRESSION_FAILED_ID", "error", "failed to decompress", db("database {}: data"),
        num("line", "in line {} on"), num("page_number", "on pgno {} in"),
        num("object_id", "objectid: {},"), num("root_page", "pgnoroot: {})"),
    ),
    row(
        557, "DB_DIVERGENCE_BEYOND_EOF_PAGE_PASSIVE_DB_ID", "error",
        "shown to be beyond the end of file", *_DBTIME, SKIP, SKIP,
        txt("log_position", "at log position {}, while"),
    ),
    row(
        559, "DBTIME_CHECK_ACTIVE_CORRUPTED_ID", "error",
        ("timestamp inconsistency has been detected while scanning page", "too advanced"),
        db("database {}: a timestamp"), num("page_number", "scanning page {} "),
        txt("log_position", "at log position {}. "), SKIP, SKIP, SKIP,
        num("object_id", "objectid: {})"),
    ),
    row(
        560, "DBTIME_CHECK_PASSIVE_CORRUPTED_ID", "error",
        ("timestamp inconsistency has been detected while verifying page", "too advanced"),
        db("database {}: a timestamp"), num("page_number", "verifying page {} "), SKIP, SKIP,
        err("error code: {}"), SKIP, txt("log_position", "at log position {}. "), SKIP,
        num("object_id", "objectid: {})"),
    ),
    row(
        565, "RECOVERY_DATABASE_BAD_REVERTED_PAGE_ID", "error",
        "being reverted to a new page using revert snapshot", *_DBTIME,
        txt("log_position", "at log position {} expected"), SKIP, err(), SKIP,
        num("pages_affected", "pages affected: {}"),
    ),
    row(
        566, "DECRYPTION_FAILED_ID", "error", "failed to decrypt", db("database {}: data"),
        num("line", "in line {} on"), num("page_number", "on pgno {} in"),
        num("object_id", "objectid: {},"), num("root_page", "pgnoroot: {})"),
    ),
    row(
        568, "ACTIVE_BAD_OPERATION_REVERTED_FDP_TO_DELETE_ID", "error",
        ("an illegal operation is being performed on root page", "reverted by rbs"),
        num("root_page", "on root page {} of"), txt("table", "of table ({})"),
        num("object_id", "with objid {} on"), db("on database {} which"),
    ),
    row(
        569, "DBSCAN_REDELETE_REVERTED_TABLE_UNEXPECTED", "error",
        "unexpectedly marked for delete by revert", num("root_page", "root page {} with"),
        num("object_id", "with objid {} which"),
    ),
    row(
        570, "DB_PAGE_FDP_DELETE_DIVERGENCE_ID", "error", "page fdp delete flag mismatch",
        *_DBTIME, num("object_id", "objectid: {})"), txt("log_position", "at log position {}. "),
    ),
    row(
        635, "FLUSHMAP_FILE_ATTACH_FAILED_ID", "error", "failed to attach flush map file",
        file(), err(),
    ),
    row(
        636, "FLUSHMAP_FILE_DELETED_ID", "warning", ("flush map file", "will be deleted"),
        file(), txt("reason", "reason: {}."),
    ),
    row(637, "FLUSHMAP_FILE_CREATED_ID", "information", "new flush map file", file()),
    row(
        638, "FLUSHMAP_DATAPAGE_ERROR_VALIDATE_ID", "warning",
        ("validating page", "on flush map file"), err("error {} validating"),
        num("flush_map_page", "validating page {} on"), file(),
    ),
    row(
        639, "FLUSHMAP_DBTIME_MISMATCH_ID", "error", "inconsistent timestamp detected on page",
        num("flush_map_page", "on page {} of"), file(), SKIP,
        num("page_number", "database page {} has"),
    ),
    row(
        640, "FLUSHMAP_HEADER_ERROR_VALIDATE_ID", "warning",
        "validating header page on flush map file", err("error {} validating"), file(),
    ),
)  # fmt: skip
