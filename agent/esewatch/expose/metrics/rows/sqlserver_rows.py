"""The rows about SQL Server: the results of its own database checks."""

from esewatch.expose.metrics.rows.metric_row import D, counter, gauge

ENDED = "event 8957, in the ERRORLOG and in the event log"
CHECK = (*D, "physical_only")

SQLSERVER = (
    gauge(
        "sqlserver_checkdb_last_completion_timestamp_seconds",
        CHECK,
        "End of the latest DBCC CHECKDB that ran to its end, with errors or without.",
        ENDED,
    ),
    gauge(
        "sqlserver_checkdb_last_duration_seconds",
        CHECK,
        "Time that the latest DBCC CHECKDB took.",
        ENDED,
    ),
    counter(
        "sqlserver_checkdb_errors_total",
        CHECK,
        "Errors that DBCC CHECKDB found, repaired ones too.",
        ENDED,
    ),
    gauge(
        "sqlserver_checkdb_last_errors",
        CHECK,
        "Errors that the latest DBCC CHECKDB left in the database: found and not repaired; a later"
        " full check without errors also clears those of a physical one.",
        ENDED,
    ),
    gauge(
        "sqlserver_checkdb_last_abort_timestamp_seconds",
        CHECK,
        "Time at which a DBCC CHECKDB was last aborted.",
        "event 5235",
    ),
    gauge(
        "sqlserver_database_device_info",
        (*D, "device"),
        "A device that holds files of the database of SQL Server, always 1.",
        "devices of the configuration",
    ),
    gauge(
        "sqlserver_database_first_seen_timestamp_seconds",
        D,
        "Time of the oldest DBCC CHECKDB seen of this database of SQL Server.",
        "events 5235, 8957",
    ),
)
