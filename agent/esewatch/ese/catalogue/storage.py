"""Catalogue: I/O errors, slow and hung I/O, disk space, version store (1.7 and 1.9 of the facts).

Ids 413-418, 424, 428-429, 441-445, 451, 468, 481-493, 505-510, 512-513, 521-522, 532-533, 551,
623-624, 630-632, 906, 912, 4000-4005. `suppressed` of 509 and 510 counts further slow requests
to the same file since the last message: slow requests in all are the sum of 1 + `suppressed`.
"""

from esewatch.ese.catalogue.event_row import SKIP, Kind, as_kind, db, err, file, num, row, txt

_READ = {"operation": "read"}
_WRITE = {"operation": "write"}
_PLACE = (
    file(), num("offset", "at offset {}"), num("bytes", "for {} bytes"),
)  # fmt: skip
_WILL_FAIL = err("fail with error {}")
_SYSTEM = err("system error {}", name="system_error")
_SYSTEM_TEXT = txt("system_text", "): '{}'")
_AFTER = as_kind("seconds", Kind.DECIMAL, "after {} seconds")
_SLOW = num("seconds", "long time ({} seconds)")
_AGAIN = (
    num("suppressed", "in addition, {} other"),
    num("since_seconds", "was posted {} seconds"),
)
_HUNG = num("seconds", "has not completed for {} second")
_ERRORS = (_WILL_FAIL, _SYSTEM, _SYSTEM_TEXT)
_LOG_ERROR = (txt("log_file", "logfile {}. error"), err("error {}."))
_READ_FILE = "request to read from the file"
_WRITE_FILE = "request to write to the file"
_LONG = "took an abnormally long time"
_AGAIN_WORDS = "other i/o requests to this file"

IO = (
    row(481, "OSFILE_READ_ERROR_ID", "error", ("attempt to read from the file", "failed after"),
        *_PLACE, *_ERRORS, _AFTER, constants=_READ),
    row(482, "OSFILE_WRITE_ERROR_ID", "error", ("attempt to write to the file", "failed after"),
        *_PLACE, *_ERRORS, _AFTER, constants=_WRITE),
    row(483, "OSFS_CREATE_FOLDER_ERROR_ID", "error", "attempt to create the folder",
        txt("folder", "folder '{}'"), *_ERRORS),
    row(484, "OSFS_REMOVE_FOLDER_ERROR_ID", "error", "attempt to remove the folder",
        txt("folder", "folder '{}'"), *_ERRORS),
    row(485, "OSFS_DELETE_FILE_ERROR_ID", "error", "attempt to delete the file",
        txt("file", "file '{}'"), *_ERRORS),
    row(486, "OSFS_MOVE_FILE_ERROR_ID", "error", "attempt to move the file",
        txt("file", "file '{}'"), txt("to_file", " to '{}'"), *_ERRORS),
    row(487, "OSFS_COPY_FILE_ERROR_ID", "error", "attempt to copy the file",
        txt("file", "file '{}'"), txt("to_file", " to '{}'"), *_ERRORS),
    row(488, "OSFS_CREATE_FILE_ERROR_ID", "error", "attempt to create the file",
        txt("file", "file '{}'"), *_ERRORS),
    row(489, "OSFS_OPEN_FILE_RO_ERROR_ID", "error",
        ("attempt to open the file", "for read only access failed"), file(), *_ERRORS),
    row(490, "OSFS_OPEN_FILE_RW_ERROR_ID", "error",
        ("attempt to open the file", "for read / write access failed"), file(), *_ERRORS),
    row(491, "OSFS_SECTOR_SIZE_ERROR_ID", "error",
        ("minimum i/o block size for the volume", "failed with system error"),
        txt("volume", "volume '{}'"), txt("file", "containing '{}'"), *_ERRORS),
    row(493, "TRANSIENT_READ_ERROR_DETECTED_ID", "error", "before finally succeeding", *_PLACE,
        num("failures", "failed {} times"),
        as_kind("seconds", Kind.DECIMAL, "interval of {} seconds"), constants=_READ),
    row(505, "OSFS_OPEN_COMPRESSED_FILE_RW_ERROR_ID", "error",
        "attempt to open the compressed file", file(), _WILL_FAIL),
    row(506, "OSFS_DISK_SPACE_ERROR_ID", "error", "free/total space for the volume",
        txt("volume", "volume '{}'"), txt("file", "containing '{}'"), *_ERRORS),
    row(507, "OSFILE_READ_TOO_LONG_ID", "warning", (_READ_FILE, _LONG), *_PLACE, _SLOW,
        constants=_READ),
    row(508, "OSFILE_WRITE_TOO_LONG_ID", "warning", (_WRITE_FILE, _LONG), *_PLACE, _SLOW,
        constants=_WRITE),
    row(509, "OSFILE_READ_TOO_LONG_AGAIN_ID", "warning", (_READ_FILE, _LONG, _AGAIN_WORDS), *_PLACE,
        _SLOW, *_AGAIN, constants=_READ),
    row(510, "OSFILE_WRITE_TOO_LONG_AGAIN_ID", "warning", (_WRITE_FILE, _LONG, _AGAIN_WORDS),
        *_PLACE, _SLOW, *_AGAIN, constants=_WRITE),
    row(512, "TASK_INFO_STATS_TOO_LONG_ID", "warning",
        ("the system has serviced a", "task but it took an abnormally long time"),
        txt("task", "serviced a {} task"), num("dispatch_seconds", "time ({} seconds"),
        num("seconds", "dispatched, {} seconds")),
    row(513, "TASK_INFO_STATS_TOO_LONG_AGAIN_ID", "warning",
        ("the system has serviced a", "task but it took an abnormally long time", "in addition"),
        txt("task", "serviced a {} task"), num("dispatch_seconds", "time ({} seconds"),
        num("seconds", "dispatched, {} seconds"), *_AGAIN),
    row(522, "OSFS_OPEN_DEVICE_ERROR_ID", "error", "attempt to open the device with name",
        txt("device", "name '{}'"), txt("file", "containing '{}'"), *_ERRORS),
    row(532, "IOMGR_HUNG_READ_IO_DETECTED_ID", "warning", (_READ_FILE, "has not completed for"),
        *_PLACE, _HUNG, constants=_READ),
    row(533, "IOMGR_HUNG_WRITE_IO_DETECTED_ID", "warning", (_WRITE_FILE, "has not completed for"),
        *_PLACE, _HUNG, constants=_WRITE),
    row(551, "OSFILE_FLUSH_ERROR_ID", "error", "attempt to flush to the file/disk buffers",
        file("buffers of '{}'"), _AFTER, _SYSTEM, _SYSTEM_TEXT, _WILL_FAIL,
        constants={"operation": "flush"}),
)  # fmt: skip

LOG_WRITES = (
    *(
        row(
            event_id, f"LOG_FLUSH_WRITE_{section}_ERROR_ID", "error",
            f"unable to write to section {section} while flushing", *_LOG_ERROR,
        )
        for event_id, section in ((414, 0), (415, 1), (416, 2), (417, 3), (451, 4), (468, 5))
    ),
    row(418, "LOG_FLUSH_OPEN_NEW_FILE_ERROR_ID", "error", "while opening a newly-created logfile",
        txt("log_file", "newly-created logfile {}."), err("error {} occurred")),
    row(521, "LOG_FILE_SIGNAL_ERROR_ID", "error", "unable to schedule a log write",
        txt("log_file", "on log file {}. error"), err("error {}.")),
)  # fmt: skip
"""Writes to the log that failed; 443 goes before those of a section and has the first error."""

BLOCK_CACHE = (
    row(4000, "BLOCK_CACHE_CACHING_FILE_ID_MISMATCH_ID", "error",
        "the caching file with the requested physical ids could not be found"),
    row(4001, "BLOCK_CACHE_CACHING_FILE_OPEN_FAILURE_ID", "warning",
        ("the caching file at", "could not be opened via"), txt("file", "file at '{}' could"),
        txt("function"), err("due to error {}")),
    row(4002, "BLOCK_CACHE_FILE_ID_MISMATCH_ID", "error", "has a different file id than expected",
        txt("file", "the file '{}' has")),
    row(4003, "BLOCK_CACHE_CACHED_FILE_ID_MISMATCH_ID", "error",
        "the cached file with the requested physical ids"),
    row(4004, "BLOCK_CACHE_CACHING_UNEXPECTED_FAILURE_ID", "warning",
        ("the caching file at", "could not perform a caching operation"),
        txt("file", "file at '{}' could"), txt("function"), err("unexpected error {}")),
    row(4005, "BLOCK_CACHE_CACHING_FILE_NOT_ENABLED_ID", "error",
        "the caching file with the requested physical ids was not enabled"),
)  # fmt: skip

SPACE = (
    row(413, "NEW_LOG_ERROR_ID", "error", "unable to create a new logfile", err()),
    row(424, "DISK_FULL_ERROR_ID", "error", "the database disk is full",
        txt("file", "do not move {}."), raised=False),
    row(428, "LOW_LOG_DISK_SPACE", "error", "low free disk space on the log disk"),
    row(429, "LOG_DISK_FULL", "error", "log disk is full", txt("log_file", "do not move {}.")),
    row(441, "DB_FILE_SYS_ERROR_ID", "error", ("file system error", "io on database"),
        db("database {}. "), err(), raised=False),
    row(442, "DB_IO_SIZE_ERROR_ID", "error", "io size mismatch on database",
        db("database {}, io size"), num("expected_bytes", "io size {} expected"),
        num("bytes", "size is {}."), raised=False),
    row(443, "LOG_FILE_SYS_ERROR_ID", "error", ("file system error", "or flush on logfile"),
        file("logfile {}."), err()),
    row(444, "LOG_IO_SIZE_ERROR_ID", "error", "io size mismatch on logfile",
        file("logfile {}, io size"), num("expected_bytes", "io size {} expected"),
        num("bytes", "size is {}."), raised=False),
    row(445, "SPACE_MAX_DB_SIZE_REACHED_ID", "warning",
        ("database ", "has reached its maximum size"),
        db("database '{}' has reached", "the database {} has reached")),
    row(492, "LOG_DOWN_ID", "error", ("logfile sequence in", "has been halted"),
        txt("log_folder", "sequence in '{}'")),
    row(631, "DB_SECTOR_SIZE_MISMATCH", "warning", ("database file at", "has a sector size of"),
        db("file at {} has a sector"), num("sector_bytes", "sector size of {} which"),
        num("page_bytes", "page size of {}.")),
    row(632, "LOG_SECTOR_SIZE_MISMATCH", "warning", ("log file at", "has a sector size of"),
        txt("log_file", "file at {} has a sector"), num("sector_bytes", "sector size of {} which")),
    row(906, "RESIDENT_CACHE_HAS_FALLEN_TOO_FAR_ID", "warning",
        "buffer cache has been written out to the system paging file",
        num("percent_before", "previous cache residency state: {}%"), SKIP, SKIP,
        num("seconds_ago", "({} seconds ago)"),
        num("percent", "current cache residency state: {}%"), SKIP, SKIP,
        num("percent_of_target", "target: {}%"), num("cache_megabytes", "({} mbs)"),
        num("memory_megabytes", "ram size: {} mbs")),
    row(912, "RESIDENT_CACHE_IS_RESTORED_ID", "information",
        "buffer cache has been restored from the system paging file",
        num("percent_before", "previous cache residency state: {}%"), SKIP, SKIP,
        num("seconds_ago", "({} seconds ago)"),
        num("percent", "current cache residency state: {}%")),
)  # fmt: skip

VERSION_STORE = (
    row(623, "VERSION_STORE_REACHED_MAXIMUM_ID", "error",
        ("version store for this instance", "has reached its maximum size"),
        num("instance_number", "instance ({})"), num("maximum_megabytes", "size of {}mb"),
        txt("session", "sessionid: {}"), txt("session_context", "session-context: {}")),
    row(624, "VERSION_STORE_OUT_OF_MEMORY_ID", "error",
        ("version store for this instance", "out-of-memory"),
        num("instance_number", "instance ({})"),
        num("megabytes", "current version store size for this instance: {}mb"),
        num("maximum_megabytes", "maximum version store size for this instance: {}mb"), SKIP,
        txt("session", "sessionid: {}"), txt("session_context", "session-context: {}")),
    row(630, "VERSION_STORE_REACHED_MAXIMUM_TRX_SIZE", "error",
        ("version store for this instance", "exceeds the maximum transaction size"),
        num("instance_number", "instance ({})"),
        num("megabytes", "current version store size for this instance: {}mb"),
        num("transaction_megabytes", "maximum transaction size for this instance: {}mb"),
        num("maximum_megabytes", "maximum version store size for this instance: {}mb"),
        txt("session", "sessionid: {}"), txt("session_context", "session-context: {}")),
)  # fmt: skip
