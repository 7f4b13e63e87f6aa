"""Error codes that ESE puts into its events (section 5 of the facts): name and meaning."""

ERRORS: dict[int, tuple[str, str]] = {
    -327: ("BadPageLink", "broken pointer between neighbouring pages"),
    -338: ("BadParentPageLink", "broken pointer from a parent page"),
    -344: ("DbTimeCorrupted", "a page is newer than the clock of its database"),
    -348: ("DatabaseLeakInSpace", "pages that nothing reaches"),
    -351: ("BadEmptyPage", "a page is empty that should not be"),
    -357: ("PageTagCorrupted", "damaged structure of a page"),
    -358: ("NodeCorrupted", "damaged structure of a record"),
    -501: ("LogFileCorrupt", "damaged log file"),
    -510: ("LogWriteFail", "the log could not be written"),
    -515: ("InvalidLogSequence", "log files do not follow each other"),
    -528: ("MissingLogFile", "a log file is missing"),
    -529: ("LogDiskFull", "the log disk is full"),
    -530: ("BadLogSignature", "the log belongs to another set"),
    -531: ("BadDbSignature", "the database belongs to another set of logs"),
    -543: ("RequiredLogFilesMissing", "recovery lacks log files"),
    -550: ("DatabaseDirtyShutdown", "the database needs recovery"),
    -551: ("ConsistentTimeMismatch", "database and logs are of different times"),
    -566: ("DbTimeTooOld", "a write to the page was lost"),
    -567: ("DbTimeTooNew", "the page is newer than the log says"),
    -582: ("CommittedLogFilesMissing", "committed log files are missing"),
    -586: ("CommittedLogFileCorrupt", "a committed log file is damaged"),
    -596: ("PageInitializedMismatch", "copies of the database differ"),
    -614: ("CheckpointDepthTooDeep", "too many logs behind the checkpoint"),
    -1011: ("OutOfMemory", "out of memory"),
    -1012: ("OutOfDatabaseSpace", "the database cannot grow"),
    -1018: ("ReadVerifyFailure", "wrong checksum of a page"),
    -1019: ("PageNotInitialized", "a page holds no data where data should be"),
    -1020: ("OutOfFileHandles", "out of file handles"),
    -1021: ("DiskReadVerificationFailure", "the disk reported a checksum error"),
    -1022: ("DiskIO", "disk I/O error"),
    -1032: ("FileAccessDenied", "the file is locked or not permitted"),
    -1065: ("VersionStoreEntryTooBig", "too large for the version store"),
    -1069: ("VersionStoreOutOfMemory", "the version store is full"),
    -1090: ("InstanceUnavailable", "the instance met a fatal error"),
    -1092: ("InstanceUnavailableDueToFatalLogDiskFull", "the instance met a full log disk"),
    -1116: ("DirtyShutdown", "stopped dirty on request"),
    -1118: ("ReadPgnoVerifyFailure", "another page lies where this one should"),
    -1119: ("ReadLostFlushVerifyFailure", "an earlier write of the page was lost"),
    -1121: ("FileSystemCorruption", "damaged file system"),
    -1123: ("RecoveryVerifyFailure", "recovery met a damaged page"),
    -1206: ("DatabaseCorrupted", "damaged database"),
    -1213: ("PageSizeMismatch", "another page size than configured"),
    -1216: ("AttachedDatabaseMismatch", "a database of the logs is missing"),
    -1224: ("DatabaseCorruptedNoRepair", "damaged database, not repairable here"),
    -1228: ("DatabaseFailedIncrementalReseed", "an incremental reseed failed"),
    -1414: ("SecondaryIndexCorrupted", "damaged index"),
    -1526: ("LVCorrupted", "damaged long value"),
    -1605: ("KeyDuplicate", "duplicate key"),
    -1808: ("DiskFull", "the disk is full"),
    -1811: ("FileNotFound", "file not found"),
    -1812: ("FileInvalidType", "a file of another type"),
    -2004: ("DatabaseAlreadyRunningMaintenance", "maintenance runs already"),
    -4001: ("FileIOBeyondEOF", "read past the end of the file"),
    2000: ("DefragAlreadyRunning", "online defragmentation runs already"),
    2001: ("DefragNotRunning", "online defragmentation does not run"),
}
"""Code -> (name, meaning in a few words)."""


def describe_error(code: int) -> str:
    """The code with its name and meaning, `-1018 ReadVerifyFailure (wrong checksum of a page)`."""
    if code not in ERRORS:
        return str(code)
    name, meaning = ERRORS[code]
    return f"{code} {name} ({meaning})"
