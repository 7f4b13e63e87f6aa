"""The rows about esewatch itself: its policy, its sources, its process."""

from esewatch.expose.metrics.rows.metric_row import D, MetricRow, S, counter, gauge

CONFIGURATION = "the configuration, else the built-in default"
POLLS = "the polls of this source"

_SHARED = {
    "ratio_high": "Pages read per page freed above which the window may shrink",
    "ratio_low": "Pages read per page freed below which the window may grow",
    "min_pages_read": "Pages that defragmentation must have read before its ratio is judged",
    "backup_within_seconds": "Age above which the last backup does not count",
    "restorable_within_seconds": "Age above which the last copy that would mount does not count",
}

_NEVER = {"backup_within_seconds", "restorable_within_seconds"}
"""Limits that may be switched off."""

POLICY = (
    *(
        gauge(
            f"esewatch_policy_default_{name}",
            (),
            f"{what}, for databases without a value of their own"
            f"{'; absent where there is none' if name in _NEVER else ''}.",
            CONFIGURATION,
        )
        for name, what in _SHARED.items()
    ),
    *(
        gauge(
            f"esewatch_policy_{name}",
            D,
            f"{what}; absent where the value for all applies"
            f"{', +Inf where this database has none' if name in _NEVER else ''}.",
            "the configuration",
        )
        for name, what in _SHARED.items()
    ),
    gauge(
        "esewatch_policy_checkdb_within_seconds",
        D,
        "Age above which a database of SQL Server is overdue for a full DBCC CHECKDB.",
        CONFIGURATION,
    ),
    gauge(
        "esewatch_policy_source_silent_seconds",
        S,
        "Time without a record after which a source of logs or counters is silent.",
        CONFIGURATION,
    ),
    gauge(
        "esewatch_policy_cache_bytes",
        D,
        "Database cache that its mailboxes should have; absent where their number is not set.",
        "mailboxes and cache_per_mailbox of the configuration",
    ),
    gauge(
        "esewatch_policy_version_buckets",
        D,
        "Maximum number of version buckets that the engine is configured for; absent unless set.",
        CONFIGURATION,
    ),
    gauge(
        "esewatch_policy_direct_attached",
        D,
        "1 where the database is on disks of the server itself, else absent.",
        "storage of the configuration",
    ),
)

SOURCES = (
    gauge("esewatch_source_up", S, "1 while the source can be read.", "the latest poll"),
    gauge(
        "esewatch_source_caught_up",
        S,
        "1 when the source has been read to its end.",
        "the latest poll",
    ),
    counter("esewatch_source_records_total", S, "Records that were accepted.", POLLS),
    counter(
        "esewatch_source_unreadable_total",
        S,
        "Pieces of input that could not be read.",
        POLLS,
    ),
    counter(
        "esewatch_source_missed_records_total",
        S,
        "Records that were lost before they could be read.",
        "gaps in the record ids of complete channels",
    ),
    gauge(
        "esewatch_source_last_record_timestamp_seconds",
        S,
        "Time of the latest record.",
        POLLS,
    ),
    gauge(
        "esewatch_source_backlog_bytes",
        S,
        "Input that is not read yet.",
        "the latest poll",
    ),
    gauge(
        "esewatch_source_partitions",
        S,
        "Partitions of the topics; of a source `kafka` only.",
        "the brokers",
    ),
    gauge(
        "esewatch_source_partitions_owned",
        S,
        "Partitions that this process owns; of a source `kafka` only.",
        "the consumer group",
    ),
    counter(
        "esewatch_source_duplicates_total",
        S,
        "Records that were seen before and not counted again.",
        "record ids",
    ),
    counter(
        "esewatch_source_implausible_times_total",
        S,
        "Records with a time more than a day ahead, or not after 1970-01-01; it is not used.",
        "record times against the agent's clock",
    ),
    counter(
        "esewatch_source_set_aside_total",
        S,
        "Records that could not be processed because of a defect of esewatch; the log names them.",
        "the records of this source",
    ),
    gauge(
        "esewatch_source_unrebuilt_from_timestamp_seconds",
        S,
        "Start of the time that could not be rebuilt after the journal was damaged; absent:"
        " unknown.",
        "the oldest record that the damaged journal knew",
    ),
    gauge(
        "esewatch_source_unrebuilt_until_timestamp_seconds",
        S,
        "End of the time that could not be rebuilt after the journal was damaged; absent: all"
        " was rebuilt.",
        "the oldest record that was still there",
    ),
    gauge(
        "esewatch_source_computers",
        S,
        "Computers seen in the records of the source so far.",
        "the records of this source",
    ),
    gauge(
        "esewatch_host_up",
        ("computer",),
        "1 while all sources of the computer can be read.",
        "the minimum of esewatch_source_up over its sources",
    ),
    gauge(
        "esewatch_host_caught_up",
        ("computer",),
        "1 when all sources of the computer have caught up.",
        "the minimum of esewatch_source_caught_up over its sources",
    ),
    gauge(
        "esewatch_perf_object_present",
        ("computer", "name"),
        "1 when the input exposes the counter, 0 when it is hidden or not installed.",
        "the counter names of the input",
    ),
)

PROCESS = "/proc of this process"
AGENT = (
    gauge(
        "esewatch_build_info",
        ("version", "python_version", "kernel"),
        "The running esewatch, always 1.",
        "the program itself",
    ),
    counter(
        "esewatch_databases_dropped_total",
        (),
        "Databases, instances, devices, computers, channels and event ids that were left out"
        " because of max_databases, and databases whose path has more than 1,024 characters.",
        "records of new ones beyond the limits",
    ),
    MetricRow(
        "esewatch_journal_commit_duration_seconds",
        "histogram",
        (),
        "Duration of journal commits.",
        "a clock around each commit",
        "seconds",
    ),
    counter(
        "esewatch_journal_commit_failures_total",
        (),
        "Commits that failed; nothing more is read until one succeeds.",
        "the journal",
    ),
    gauge(
        "esewatch_journal_set_aside_timestamp_seconds",
        (),
        "Time at which a damaged journal was last set aside; absent when there is none beside"
        " the journal.",
        "the files set aside",
    ),
    counter(
        "esewatch_internal_errors_total",
        ("part",),
        "Times a part of esewatch failed unexpectedly; it is tried again at growing intervals.",
        "the daemon",
    ),
    gauge(
        "esewatch_config_last_reload_successful",
        (),
        "1 when the latest attempt to load the configuration succeeded.",
        "the reload by SIGHUP or /-/reload, at first the start",
    ),
    gauge(
        "esewatch_config_last_reload_success_timestamp_seconds",
        (),
        "When the configuration was loaded.",
        "the reload by SIGHUP or /-/reload, at first the start",
    ),
    gauge(
        "esewatch_web_config_last_reload_successful",
        (),
        "1 when the web configuration is valid as its files are now; absent without one.",
        "the check of its files at each connection and request",
    ),
    gauge(
        "esewatch_web_config_last_reload_success_timestamp_seconds",
        (),
        "When the web configuration was loaded; absent without one.",
        "the check of its files at each connection and request",
    ),
    counter("process_cpu_seconds_total", (), "User and system time of the process.", PROCESS),
    gauge("process_max_fds", (), "Most file descriptors that may be open.", PROCESS),
    gauge("process_open_fds", (), "File descriptors that are open.", PROCESS),
    gauge("process_resident_memory_bytes", (), "Resident memory of the process.", PROCESS),
    gauge("process_start_time_seconds", (), "Start of the process, Unix time.", PROCESS),
    gauge("process_virtual_memory_bytes", (), "Virtual memory of the process.", PROCESS),
)
