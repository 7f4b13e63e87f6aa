"""Every metric that is exposed, once: name, type, unit, labels, help, origin.

The collectors take names, types and help texts from here, `scripts/metrics_page.py` writes
`docs/metrics.md` from it, and a test holds both against the golden exposition.
To add a metric: one row here, and the line that measures it.
"""

from collections.abc import Iterable

from esewatch.expose.metrics.rows.advice_rows import ADVICE
from esewatch.expose.metrics.rows.agent_rows import AGENT, POLICY, SOURCES
from esewatch.expose.metrics.rows.backup_rows import BACKUPS
from esewatch.expose.metrics.rows.counter_rows import COMPUTERS, DEVICES, INSTANCES
from esewatch.expose.metrics.rows.metric_row import D, I, MetricRow, counter, gauge
from esewatch.expose.metrics.rows.pass_rows import LIFETIMES, PASSES, SCANS, events_text
from esewatch.expose.metrics.rows.sqlserver_rows import SQLSERVER
from esewatch.fold.databases import integrity
from esewatch.fold.databases.databases import HUNG_IO, SLOW_IO, ZEROING_KINDS
from esewatch.fold.instances.engine_errors import ENGINE_ERRORS
from esewatch.fold.instances.instances import MOUNTED
from esewatch.fold.state.damage import DAMAGE, EXPOSED_KINDS
from esewatch.fold.state.state import BAD_KINDS, ENGINE_ERROR_KINDS, PAGE_ERROR_KINDS

KIND = (*D, "kind")
INSTANCE_KIND = (*I, "kind")
OPERATION = (*D, "operation")


def _list(values: Iterable[str]) -> str:
    return ", ".join(values)


PAGE_EVENTS = events_text(integrity.PAGE_EVENTS, integrity.LOGICAL_EVENTS)
DAMAGE_EVENTS = (
    f"{events_text(DAMAGE)}; cleared by an acknowledgement or a restore,"
    " an index also by its rebuild"
)
VERDICTS = "page_scan sources with `check: recovery` or `deep`"
LATCHED = (
    "the latched set of bad pages: set by page events, page scans and pass summaries, cleared by"
    f" {events_text(integrity.REPAIR_EVENTS)}, a later good read, a later clean scan, or an"
    " acknowledgement"
)

DATABASES = (
    gauge(
        "ese_database_info",
        (
            *D,
            "ese_instance",
            "database_name",
            "path",
            "role",
            "model",
            "tier",
            "generation",
            "page_size",
        ),
        "A known database and its properties, always 1.",
        "all events of the database and the configuration",
    ),
    gauge(
        "ese_database_copies_info",
        (*D, "copies_of"),
        "What a database is a copy of, always 1; absent where it has no copies or its role is"
        " unknown.",
        "its name and path, its role, and the configured copies",
    ),
    gauge(
        "ese_database_size_bytes",
        D,
        "Size of the database file.",
        "page scans, the database header and event 1646",
    ),
    gauge(
        "ese_database_free_bytes",
        D,
        "White space inside the database file.",
        "the applications' events 1221 and 1646, logged after online defragmentation",
    ),
    gauge(
        "ese_database_first_seen_timestamp_seconds",
        D,
        "Time of the oldest record seen of this database.",
        "all events of the database",
    ),
    gauge(
        "ese_window_open",
        D,
        "1 while its maintenance window is open, else 0; absent without a window.",
        "the configuration",
    ),
    counter(
        "ese_events_total",
        ("computer", "provider", "event_id"),
        "Events that an ESE provider logged.",
        "every ESE event, also of databases that are not watched",
    ),
)

DEFRAG = (
    counter(
        "ese_defrag_reported_pages_freed_total",
        D,
        "Pages that completed online defragmentation passes reported as freed.",
        "events 701, 703",
    ),
    *LIFETIMES,
    counter(
        "ese_index_defrag_pages_visited_total",
        D,
        "Pages that index defragmentation visited (not pages read from disk).",
        "event 728",
    ),
    counter(
        "ese_index_defrag_pages_freed_total",
        D,
        "Pages that index defragmentation freed.",
        "event 728",
    ),
    counter(
        "ese_defrag_pages_read_total",
        I,
        "Pages that online defragmentation read from disk, integrated.",
        "the counter Online Defrag Pages Read/sec",
    ),
    counter(
        "ese_defrag_pages_freed_total",
        I,
        "Pages that online defragmentation freed, integrated.",
        "the counter Online Defrag Pages Freed/sec",
    ),
    counter(
        "ese_defrag_log_bytes_total",
        I,
        "Log volume that online defragmentation produced, integrated.",
        "the counter Online Defrag Log Bytes/sec",
    ),
)

SCAN = (
    counter(
        "ese_maintenance_pages_read_total",
        I,
        "Pages that the database scan read.",
        "the counters Online Maintenance (DB Scan) Pages Read and Database Maintenance Pages Read,"
        " or their /sec form integrated",
    ),
    counter(
        "ese_maintenance_pages_zeroed_total",
        I,
        "Pages that the database scan zeroed.",
        "the counters Online Maintenance (DB Scan) Pages Zeroed and Database Maintenance Pages"
        " Zeroed, or their /sec form integrated",
    ),
    counter(
        "ese_unsampled_seconds_total",
        I,
        "Time between two samples of a /sec counter that was too long to integrate.",
        "the sample times of the counter log",
    ),
    counter(
        "ese_zeroing_pages_total",
        KIND,
        f"Pages, records and chunks that zeroing handled; kind: {_list(ZEROING_KINDS.values())}.",
        "the summaries of events 707, 722",
    ),
)

HEADER = "the database header, as a page scan reads it and eseutil /mh shows it"
SCANNED = "the page scan, over all copies that represent the database"

INTEGRITY = (
    counter("ese_page_scan_pages_total", D, "Pages that page scans read.", SCANNED),
    counter("ese_page_scan_bytes_total", D, "Bytes that page scans read.", SCANNED),
    counter(
        "ese_page_scan_bad_pages_total",
        D,
        "Bad pages that page scans found, counted each time, corrected and unreadable ones too.",
        SCANNED,
    ),
    counter(
        "ese_page_error_events_total",
        KIND,
        f"Events about a damaged page; kind: {_list(PAGE_ERROR_KINDS)}.",
        PAGE_EVENTS,
    ),
    gauge(
        "ese_page_error_last_timestamp_seconds",
        KIND,
        "Time of the latest event about a damaged page, kinds as in ese_page_error_events_total.",
        PAGE_EVENTS,
    ),
    gauge(
        "ese_known_bad_pages",
        KIND,
        f"Pages known to be bad now; kind: {_list(BAD_KINDS)}.",
        LATCHED,
    ),
    gauge(
        "ese_known_bad_pages_found_in_history",
        KIND,
        "The part of ese_known_bad_pages that the first reading found already older than 7 days.",
        "the same latched set",
    ),
    gauge(
        "ese_known_damage",
        KIND,
        "Unresolved reports of damage without a bad checksum, of kinds that were ever reported;"
        f" kind: {_list(EXPOSED_KINDS)}.",
        DAMAGE_EVENTS,
    ),
    gauge(
        "ese_known_damage_not_fatal",
        D,
        "The part of ese_known_damage of kind logical that the engine calls not fatal.",
        "event 447",
    ),
    gauge(
        "ese_header_bad_checksums",
        D,
        "Bad checksums that the database header has counted.",
        HEADER,
    ),
    gauge(
        "ese_header_corrected",
        D,
        "Pages that the engine corrected, as the database header has counted.",
        HEADER,
    ),
    gauge(
        "ese_header_correction_failed",
        D,
        "Pages that the engine could not correct, as the database header has counted.",
        HEADER,
    ),
    gauge(
        "ese_page_patched_last_timestamp_seconds",
        D,
        "Time at which the engine last repaired a page from another copy, until an `ack`.",
        events_text(integrity.REPAIR_EVENTS),
    ),
    gauge(
        "ese_last_full_verification_timestamp_seconds",
        (*D, "by"),
        "Time at which every page was last verified as good; absent means never.",
        f"complete scans without a bad page ({events_text(SCANS)}), page scans, streaming backups"
        " (events 210, 213, 220, 221), eseutil /k logs",
    ),
    gauge(
        "ese_copy_restorable",
        D,
        "1: the newest copy that was checked would mount, 0: it would not; absent: unknown.",
        VERDICTS,
    ),
    gauge(
        "ese_copy_restorable_timestamp_seconds",
        D,
        "Time of the content of the newest copy that was checked.",
        VERDICTS,
    ),
    gauge(
        "ese_last_restorable_timestamp_seconds",
        D,
        "Time of the content of the newest copy that would mount; absent means never.",
        VERDICTS,
    ),
)

INPUT_OUTPUT = (
    counter(
        "ese_slow_io_reports_total",
        OPERATION,
        "Abnormally slow requests, the suppressed ones included.",
        f"{events_text(SLOW_IO)} (1 + suppressed)",
    ),
    gauge(
        "ese_slow_io_last_seconds",
        OPERATION,
        "Duration of the latest abnormally slow request.",
        events_text(SLOW_IO),
    ),
    gauge(
        "ese_slow_io_last_timestamp_seconds",
        OPERATION,
        "Time of the latest report of an abnormally slow request.",
        events_text(SLOW_IO),
    ),
    counter(
        "ese_hung_io_reports_total",
        OPERATION,
        "Requests that had not completed when they were reported.",
        events_text(HUNG_IO),
    ),
    gauge(
        "ese_hung_io_last_timestamp_seconds",
        OPERATION,
        "Time of the latest report of a request that had not completed.",
        events_text(HUNG_IO),
    ),
)

KINDS_OF_ERRORS = "; ".join(
    f"{kind} {', '.join(map(str, sorted(ENGINE_ERRORS[kind])))}" for kind in ENGINE_ERROR_KINDS
)
ENGINE = (
    counter(
        "ese_engine_errors_total",
        INSTANCE_KIND,
        "Errors that the engine logged, of kinds that it ever logged; kind and its events:"
        f" {KINDS_OF_ERRORS}.",
        "these events, except those about files of ignored databases",
    ),
    gauge(
        "ese_engine_error_last_timestamp_seconds",
        INSTANCE_KIND,
        "Time of the latest such error, kinds as in ese_engine_errors_total.",
        "the same events",
    ),
    gauge(
        "ese_engine_errors_open",
        INSTANCE_KIND,
        "Unresolved errors, of kinds that were ever logged; resolved when the instance comes up"
        " again, memory and corruption_item by an acknowledgement only. What is older than 7 days"
        " when a log is first read is history.",
        f"the same events, {events_text(MOUNTED)} and esewatch ack",
    ),
)

SECTIONS: dict[str, tuple[MetricRow, ...]] = {
    "Databases and events": DATABASES,
    "Passes": PASSES,
    "Defragmentation": DEFRAG,
    "Scan and zeroing": SCAN,
    "Integrity": INTEGRITY,
    "Slow input and output": INPUT_OUTPUT,
    "Errors of the engine": ENGINE,
    "Backups": BACKUPS,
    "SQL Server": SQLSERVER,
    "Advice": ADVICE,
    "Instances": INSTANCES,
    "Computers": COMPUTERS,
    "Devices": DEVICES,
    "Policy": POLICY,
    "Sources": SOURCES,
    "The agent itself": AGENT,
}
"""Heading in docs/metrics.md -> its metrics."""

CATALOGUE: dict[str, MetricRow] = {row.name: row for rows in SECTIONS.values() for row in rows}
"""Name -> metric."""
