"""Every metric that is exposed, once: type, name, labels and HELP text.

The collectors take names, types and help texts from here, `scripts/metrics_page.py` writes
`docs/reference/metrics.md` from it, and a test holds both against the golden exposition.
To add a metric: one row here, and the line that measures it.
"""

from collections.abc import Iterable
from typing import get_args

from esewatch.advice.base.finding import DETAILS, FINDINGS
from esewatch.advice.checkdb import CHECK_FINDINGS
from esewatch.advice.judgement import TEXTS
from esewatch.advice.window.window import ACTIONS, REASONS
from esewatch.expose.metrics.metric_row import MetricRow, rows
from esewatch.fold.databases import integrity
from esewatch.fold.databases.databases import HUNG_IO, SLOW_IO, ZEROING_KINDS
from esewatch.fold.databases.page_errors import ERRORS
from esewatch.fold.instances.backups import BACKUP_EVENTS, COMPARED_SECONDS, LATEST, BackupKind
from esewatch.fold.instances.engine_errors import ENGINE_ERRORS, OF_LOGS
from esewatch.fold.instances.instances import ATTACHED, MOUNTED
from esewatch.fold.passes import completions, passes
from esewatch.fold.passes.stops import DETACH
from esewatch.fold.state.damage import DAMAGE, EXPOSED_KINDS
from esewatch.fold.state.state import BAD_KINDS, ENGINE_ERROR_KINDS, PAGE_ERROR_KINDS, STOP_EVENTS
from esewatch.model import SetKind


def names(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def events_text(*tables: Iterable[int]) -> str:
    """`events 701, 703`, each once."""
    ids = sorted({event for table in tables for event in table})
    return f"event{'s' if len(ids) > 1 else ''} {names(ids)}"


DATABASES = rows("""
gauge ese_database_info D ese_instance database_name path role model tier generation page_size
  A known database and its properties, always 1. From all events of the database and the
  configuration.
gauge ese_database_copies_info D copies_of
  What a database is a copy of, always 1; absent where it has no copies, its role is unknown or it
  is not watched. From its name and path, its role, and the configured copies.
gauge ese_database_size_bytes D
  Size of the database file. From page scans, the database header and event 1646.
gauge ese_database_free_bytes D
  White space inside the database file. From the applications' events 1221 and 1646, logged after
  online defragmentation.
gauge ese_database_first_seen_timestamp_seconds D
  Time of the oldest record seen of this database. From all events of the database.
gauge ese_window_open D
  1 while its maintenance window is open, else 0; absent without a window. From the configuration.
counter ese_events_total computer provider event_id
  Events that an ESE provider logged. From every ESE event, also of databases that are not watched.
""")

STARTS = f"{events_text(passes.OPENS)}, and {events_text(passes.RESUMES)} when no pass is open"
COMPLETIONS = events_text(passes.COMPLETES)
WALL_CLOCK = events_text(completions.WALL_CLOCK)
SCANS = {event: tasks for event, tasks in passes.COMPLETES.items() if "defrag" not in tasks}
SUMMARIES = f"the summaries of {events_text(SCANS)}"
WORK_CLOCK = events_text(passes.COMPLETES.keys() - completions.WALL_CLOCK)
STOPS = events_text(STOP_EVENTS, (DETACH,))
WHOLE_PASS = events_text(SCANS.keys() - completions.WALL_CLOCK)
PASSES = rows(f"""
counter ese_passes_started_total D task
  Passes that began. From {STARTS}.
counter ese_passes_completed_total D task
  Passes that ran to their end. From {COMPLETIONS}.
counter ese_passes_interrupted_total D task
  Times a pass was stopped before its end, to go on later. From {events_text(passes.INTERRUPTS)},
  and {STOPS} while a pass is open.
counter ese_passes_failed_total D task
  Times a pass ended with an error. From {events_text(passes.FAILS)}.
gauge ese_pass_last_failure_timestamp_seconds D task
  Time of the latest error that ended a pass, until it is acknowledged. From
  {events_text(passes.FAILS)}.
gauge ese_pass_last_late_timestamp_seconds D task
  Time at which the engine last reported a pass as late or aborted. From
  {events_text(passes.TOLD_LATE)}.
gauge ese_pass_running D task
  1 while a pass is running, 0 otherwise and when it stopped reporting. From the start, interruption
  and completion events of the task.
gauge ese_pass_last_start_timestamp_seconds D task
  Start of the latest pass. From {STARTS}.
gauge ese_pass_last_completion_timestamp_seconds D task
  End of the latest completed pass. From {COMPLETIONS}.
gauge ese_pass_last_work_seconds D task
  Run time of the latest completed pass, without its interruptions. From {WORK_CLOCK}.
gauge ese_pass_last_wall_seconds D task
  Time from start to end of the latest completed pass, interruptions included. From {WALL_CLOCK}.
gauge ese_pass_last_invocations D task
  Runs that the latest completed pass took. From {WORK_CLOCK}.
gauge ese_pass_last_bad_checksums D task
  Pages with a bad checksum that the latest completed pass reported. From {WHOLE_PASS} (of the whole
  pass) and {WALL_CLOCK} (of the last run).
counter ese_pass_pages_seen_total D task
  Pages that completed passes read. From {SUMMARIES}.
counter ese_pass_bad_checksums_total D task
  Bad checksums that completed passes reported. From {SUMMARIES}.
""")

DEFRAG = rows("""
counter ese_defrag_reported_pages_freed_total D
  Pages that completed online defragmentation passes reported as freed. From events 701, 703.
counter ese_index_defrag_pages_visited_total D
  Pages that index defragmentation visited (not pages read from disk). From event 728.
counter ese_index_defrag_pages_freed_total D
  Pages that index defragmentation freed. From event 728.
counter ese_defrag_pages_read_total I
  Pages that online defragmentation read from disk, integrated. From the counter Online Defrag Pages
  Read/sec.
counter ese_defrag_pages_freed_total I
  Pages that online defragmentation freed, integrated. From the counter Online Defrag Pages
  Freed/sec.
counter ese_defrag_log_bytes_total I
  Log volume that online defragmentation produced, integrated. From the counter Online Defrag Log
  Bytes/sec.
""")

SCAN = rows(f"""
counter ese_maintenance_pages_read_total I
  Pages that the database scan read. From the counters Online Maintenance (DB Scan) Pages Read and
  Database Maintenance Pages Read, or their /sec form integrated.
counter ese_maintenance_pages_zeroed_total I
  Pages that the database scan zeroed. From the counters Online Maintenance (DB Scan) Pages Zeroed
  and Database Maintenance Pages Zeroed, or their /sec form integrated.
counter ese_maintenance_bad_checksums_total I
  Pages with a bad checksum that the database scan met, as Windows counts them. From the counter
  Database Maintenance Pages Bad Checksums, which not every version has.
counter ese_unsampled_seconds_total I
  Time between two samples of a /sec counter that was too long to integrate. From the sample times
  of the counter log.
counter ese_zeroing_pages_total D kind
  Pages, records and chunks that zeroing handled; kind: {names(ZEROING_KINDS.values())}. From the
  summaries of events 707, 722.
""")

PAGE_EVENTS = events_text(integrity.PAGE_EVENTS, integrity.LOGICAL_EVENTS)
DAMAGE_EVENTS = (
    f"{events_text(DAMAGE)}; cleared by an acknowledgement, a restore or a new file at"
    " its path (325), an index also by its rebuild"
)
COPY_CHECKS = "page_scan sources with `check: recovery` or `deep`"
LATCHED = (
    "the latched set of bad pages: set by page events, page errors of other events, page scans and"
    f" pass summaries, cleared by {events_text(integrity.REPAIR_EVENTS)}, a later good read, a"
    " later clean scan (no_data and lost_flush by none), a new file at its path (325), a restore,"
    " or an acknowledgement"
)
HEADER = "the database header, as a page scan reads it and eseutil /mh shows it"
SCANNED = "the page scan, over all copies that represent the database"
INTEGRITY = rows(f"""
counter ese_page_scan_pages_total D
  Pages that page scans read. From {SCANNED}.
counter ese_page_scan_bytes_total D
  Bytes that page scans read. From {SCANNED}.
counter ese_page_scan_bad_pages_total D
  Bad pages that page scans found, counted each time, corrected and unreadable ones too. From
  {SCANNED}.
counter ese_page_error_events_total D kind
  Events about a damaged page; kind: {names(PAGE_ERROR_KINDS)}. From {PAGE_EVENTS}.
gauge ese_page_error_last_timestamp_seconds D kind
  Time of the latest event about a damaged page, kinds as in ese_page_error_events_total. From
  {PAGE_EVENTS}.
gauge ese_known_bad_pages D kind
  Pages known to be bad now; kind: {names(BAD_KINDS)}. From {LATCHED}.
gauge ese_known_bad_pages_found_in_history D kind
  The part of ese_known_bad_pages that the first reading found already older than 7 days. From the
  same latched set.
gauge ese_known_bad_page_last_number D
  Number of the bad page that was met last; absent where none is known or none has a number. From
  the same latched set.
gauge ese_known_damage D kind
  Unresolved reports of damage without a bad checksum, of kinds that were ever reported; kind:
  {names(EXPOSED_KINDS)}. From {DAMAGE_EVENTS}.
gauge ese_header_bad_checksums D
  Bad checksums that the database header has counted. From {HEADER}.
gauge ese_header_corrected D
  Pages that the engine corrected, as the database header has counted. From {HEADER}.
gauge ese_header_correction_failed D
  Pages that the engine could not correct, as the database header has counted. From {HEADER}.
gauge ese_last_full_verification_timestamp_seconds D by
  Time at which every page was last verified as good; absent means never. From complete scans
  without a bad page ({events_text(SCANS)}), page scans, streaming backups (events 210, 213, 220,
  221), eseutil /k logs.
gauge ese_copy_restorable D
  1: the newest copy that was checked would mount, 0: it would not; absent: unknown. From
  {COPY_CHECKS}.
gauge ese_copy_restorable_timestamp_seconds D
  Time of the content of the newest copy that was checked. From {COPY_CHECKS}.
gauge ese_last_restorable_timestamp_seconds D
  Time of the content of the newest copy that would mount; absent means never. From {COPY_CHECKS}.
""")

INPUT_OUTPUT = rows(f"""
counter ese_slow_io_reports_total D operation
  Abnormally slow requests, the suppressed ones included. From {events_text(SLOW_IO)} (1 +
  suppressed).
gauge ese_slow_io_last_seconds D operation
  Duration of the latest abnormally slow request. From {events_text(SLOW_IO)}.
gauge ese_slow_io_last_timestamp_seconds D operation
  Time of the latest report of an abnormally slow request. From {events_text(SLOW_IO)}.
counter ese_hung_io_reports_total D operation
  Requests that had not completed when they were reported. From {events_text(HUNG_IO)}.
gauge ese_hung_io_last_timestamp_seconds D operation
  Time of the latest report of a request that had not completed. From {events_text(HUNG_IO)}.
""")

KINDS_OF_ERRORS = "; ".join(
    f"{kind} {names(sorted(ENGINE_ERRORS[kind]))}" for kind in ENGINE_ERROR_KINDS
)
IO_ERRORS = names(str(error) for error, kind in ERRORS.items() if kind == "io")
ENGINE = rows(f"""
counter ese_engine_errors_total I kind
  Errors that the engine logged, of kinds that it ever logged; kind and its events:
  {KINDS_OF_ERRORS}; the errors {IO_ERRORS} of other events are io, too. From these events, except
  those about files of ignored databases.
gauge ese_engine_error_last_timestamp_seconds I kind
  Time of the latest such error, kinds as in ese_engine_errors_total. From the same events.
gauge ese_engine_errors_open I kind
  Unresolved errors, of kinds that were ever logged; resolved when the instance comes up again,
  {names(sorted(OF_LOGS))} also when it attaches a database, memory and corruption_item by an
  acknowledgement only. From the same events, {events_text({*MOUNTED, ATTACHED})} and esewatch ack.
""")

EVENTS = events_text(BACKUP_EVENTS)
BOTH = f"{EVENTS}, and logs of NTBACKUP"
KINDS = names((*get_args(BackupKind), *get_args(SetKind)))
SETS = "logs of NTBACKUP"
COMPARED = f"of at least two that copied databases for {COMPARED_SECONDS / 60:.0f} minutes or more"
JOBS = "logs of NTBACKUP, else streaming backups that ran one after another (events 210 to 221)"
BACKUPS = rows(f"""
counter ese_backup_bytes_total D kind
  Bytes that completed backups copied; kind: {KINDS}. From {BOTH}.
counter ese_backup_seconds_total D kind
  Time that completed backups took, each as a whole with the other databases in it; kinds as in
  ese_backup_bytes_total. From {BOTH}.
gauge ese_backup_running D
  1 while a backup of its instance is running, 0 otherwise and after 24 hours; absent where none was
  ever seen. From {EVENTS}.
gauge ese_backup_last_completion_timestamp_seconds D kind
  End of the latest completed backup, kinds as in ese_backup_bytes_total. From {BOTH}.
counter ese_backup_set_bytes_total I kind
  Bytes of completed backups of a whole instance (storage group), of all its databases together;
  kind: {names(get_args(SetKind))}. From {SETS}.
counter ese_backup_set_seconds_total I kind
  Time that completed backups of a whole instance took. From {SETS}.
gauge ese_backup_set_last_completion_timestamp_seconds I kind
  End of the latest completed backup of a whole instance. From {SETS}.
gauge ese_backup_job_slowdown_ratio computer
  Throughput of the last set of the latest backup job as a share of its first's, {COMPARED}. From
  {JOBS}.
gauge ese_backup_job_last_completion_timestamp_seconds computer
  End of that job. From {JOBS}.
gauge ese_backup_slow_jobs computer
  Number of the last {LATEST} such jobs whose last set ran at less than half the throughput of the
  first. From {JOBS}.
""")

ENDED = "event 8957, in the ERRORLOG and in the event log"
SQLSERVER = rows(f"""
gauge sqlserver_checkdb_last_completion_timestamp_seconds D physical_only
  End of the latest DBCC CHECKDB that ran to its end, with errors or without. From {ENDED}.
gauge sqlserver_checkdb_last_duration_seconds D physical_only
  Time that the latest DBCC CHECKDB took. From {ENDED}.
counter sqlserver_checkdb_errors_total D physical_only
  Errors that DBCC CHECKDB found, repaired ones too. From {ENDED}.
gauge sqlserver_checkdb_last_errors D physical_only
  Errors that the latest DBCC CHECKDB left in the database: found and not repaired; a later full
  check without errors also clears those of a physical one. From {ENDED}.
gauge sqlserver_checkdb_last_abort_timestamp_seconds D physical_only
  Time at which a DBCC CHECKDB was last aborted. From event 5235.
gauge sqlserver_database_device_info D device
  A device that holds files of the database of SQL Server, always 1. From devices of the
  configuration.
gauge sqlserver_database_first_seen_timestamp_seconds D
  Time of the oldest DBCC CHECKDB seen of this database of SQL Server. From events 5235, 8957.
""")

EVIDENCE = "the kept passes, the counters by day and the policy"
HISTORY = "the past passes of the task and the hours it ran at"
QUOTED = names(f"`{verdict}` ({text.words})" for verdict, text in TEXTS.items())
FOUND = names(sorted({*FINDINGS, *DETAILS, *CHECK_FINDINGS}))
ADVICE = rows(f"""
gauge ese_database_verdict D verdict
  1 for the verdict of the database, the others absent; verdict, worst first:
  {QUOTED}. From known bad pages, findings, failed
  tasks and the state of the sources.
gauge ese_window_configured_seconds D
  Length of the maintenance window. From the configuration.
gauge ese_window_recommended_seconds D
  Recommended length of the maintenance window; absent when there is no recommendation. From
  {EVIDENCE}.
gauge ese_window_advice D action
  1 for the advised action on the window, 0 for the others; action: {names(ACTIONS)}. From
  {EVIDENCE}.
gauge ese_window_advice_reason D reason
  1 for the rule that decided, the others absent; reason: {names(REASONS)}. From {EVIDENCE}.
gauge ese_window_advice_confidence_ratio D
  Confidence of the advice, 0 to 1: depth of the evidence times agreement in 7 days, and how sure
  the ratio is. From {EVIDENCE}.
gauge ese_finding D ese_instance finding severity
  1 for each finding of the database, or of the instance where it is of that alone, 0 for 24 hours
  once it is stated to be over, else absent; finding: {FOUND}. From
  known bad pages, verifications, past windows, scans of the same disks, errors and counters of the
  instance, checks of SQL Server, events of other providers.
gauge ese_verification_deadline_seconds D
  Age at which the last verification is overdue, counted in uptime of the instance; absent where
  none is expected. From the policy, else event 735 and the usual time between completed scans.
gauge ese_pass_progress_ratio D task
  Part of the running pass that is done, 0 to 1. From {HISTORY}.
gauge ese_pass_forecast_completion_timestamp_seconds D task confidence
  Expected completion of the running pass, with 50 % (p50) and 90 % (p90) confidence. From
  {HISTORY}.
gauge ese_pass_deadline_timestamp_seconds D task
  Time by which the pass should be completed. From its start or the last completion, and the
  deadline of verification; defragmentation: defrag_complete_within, else the cycle of garbage
  collection.
""")

INSTANCES = rows("""
gauge ese_io_latency_seconds I file operation phase
  Mean latency of the requests to a file in the latest sample. Logs are written while databases are
  attached and read to recover them. From the counters I/O Database Reads and Writes (Attached,
  Recovery) Average Latency and I/O Log Reads and Writes Average Latency.
counter ese_database_io_total I operation phase
  Requests to database files, integrated. From the counters I/O Database Reads and Writes (Attached,
  Recovery) per second.
counter ese_log_io_total I operation
  Requests to transaction logs, integrated. From the counters I/O Log Reads/sec and I/O Log
  Writes/sec.
gauge ese_checkpoint_depth_logs I
  Log files between the checkpoint and the current log. From the counter Log Generation Checkpoint
  Depth.
gauge ese_checkpoint_depth_target_ratio I
  Checkpoint depth as a part of its target. From the counter Log Checkpoint Depth as a % of Target.
counter ese_log_generations_total I
  Log files that were filled. From the counter Log File Current Generation.
gauge ese_version_buckets_allocated I
  Buckets that the version store holds. From the counter Version Buckets Allocated.
counter ese_log_record_stalls_total I
  Log records that had to wait for a full log buffer, integrated. From the counter Log Record
  Stalls/sec.
gauge ese_log_threads_waiting I
  Threads that wait for their log records to be written. From the counter Log Threads Waiting.
gauge ese_copy_queue_logs I
  Log files that wait to be copied to this copy. From the counter CopyQueueLength of MSExchange
  Replication.
gauge ese_replay_queue_logs I
  Log files that wait to be replayed into this copy. From the counter ReplayQueueLength of
  MSExchange Replication.
gauge ese_log_disk_free_bytes I
  Free space of the volume that the transaction logs of the instance are on; absent where the volume
  is not known. From log_path of the configuration with the counter Free Megabytes of LogicalDisk,
  the collector logical_disk of windows_exporter, or the file systems of this machine.
""")

COMPUTERS = rows("""
gauge ese_cache_size_bytes computer process
  Database cache of a process. From the counter Database Cache Size (MB).
gauge ese_computer_last_record_timestamp_seconds computer
  Time of the last record of a computer with a database, of any provider, in the logs that its
  events come by. From all records of these logs.
gauge exchange_rpc_latency_seconds computer
  Mean latency of the latest RPC requests to the store. From the counter RPC Averaged Latency of
  MSExchangeIS, RPC Average Latency of MSExchangeIS Store (_Total) from Exchange 2013 on.
gauge ese_host_processor_ratio computer
  Part of all processor time that was in use. From the counter % Processor Time of Processor
  (_Total).
""")

DISKS = "the disks of this machine and the physical_disk collector of windows_exporter"
DEVICES = rows(f"""
counter ese_device_read_seconds_total V
  Time of reads, summed over all requests. From {DISKS}.
counter ese_device_write_seconds_total V
  Time of writes, summed over all requests. From {DISKS}.
counter ese_device_read_bytes_total V
  Bytes read. From {DISKS}.
counter ese_device_write_bytes_total V
  Bytes written. From {DISKS}.
counter ese_device_reads_total V
  Reads. From {DISKS}.
counter ese_device_writes_total V
  Writes. From {DISKS}.
gauge ese_database_device_info D device
  The device that holds a database, always 1; absent when it is not known. From the configuration,
  else the volumes of its computer.
gauge ese_database_direct_attached D
  1 where the database is on disks of the server itself, else absent. From storage of the
  configuration.
""")

POLLS = "the polls of this source"
SOURCES = rows(f"""
gauge esewatch_source_up S
  1 while the source can be read. From the latest poll.
gauge esewatch_source_caught_up S
  1 when the source has been read to its end. From the latest poll.
counter esewatch_source_records_total S
  Records that were accepted. From {POLLS}.
counter esewatch_source_unreadable_total S
  Pieces of input that could not be read. From {POLLS}.
counter esewatch_source_missed_records_total S
  Records that were lost before they could be read. From gaps in the record ids of complete
  channels.
gauge esewatch_source_last_record_timestamp_seconds S
  Time of the latest record. From {POLLS}.
gauge esewatch_source_backlog_bytes S
  Input that is not read yet. From the latest poll.
gauge esewatch_source_partitions S
  Partitions of the topics; of a source `kafka` only. From the brokers.
gauge esewatch_source_partitions_owned S
  Partitions that this process owns; of a source `kafka` only. From the consumer group.
counter esewatch_source_duplicates_total S
  Records that were seen before and not counted again. From record ids.
counter esewatch_source_implausible_times_total S
  Records with a time more than a day ahead, or not after 1970-01-01; it is not used. From record
  times against the agent's clock.
counter esewatch_source_set_aside_total S
  Records that could not be processed because of a defect of esewatch; the log names them. From the
  records of this source.
gauge esewatch_source_unrebuilt_from_timestamp_seconds S
  Start of the time that could not be rebuilt after the journal was damaged; absent: unknown. From
  the oldest record that the damaged journal knew.
gauge esewatch_source_unrebuilt_until_timestamp_seconds S
  End of the time that could not be rebuilt after the journal was damaged; absent: all was rebuilt.
  From the oldest record that was still there.
gauge esewatch_source_computers S
  Computers seen in the records of the source so far. From the records of this source.
gauge esewatch_host_up computer
  1 while all sources of the computer can be read. From the minimum of esewatch_source_up over its
  sources.
gauge esewatch_host_caught_up computer
  1 when all sources of the computer have caught up. From the minimum of esewatch_source_caught_up
  over its sources.
gauge esewatch_perf_object_present computer name
  1 when the input exposes the counter, 0 when it is hidden or not installed. From the counter names
  of the input.
""")

PROCESS = "/proc of this process"
AGENT = rows(f"""
gauge esewatch_build_info version python_version kernel
  The running esewatch, always 1. From the program itself.
gauge esewatch_web_info external_url
  Where people reach this agent, always 1; links of alerts lead there. From --web.external-url, else
  the address at which it listens, with --web.route-prefix.
gauge esewatch_snapshot_timestamp_seconds
  Time at which the figures were made. From the agent's clock.
counter esewatch_databases_dropped_total
  Databases, instances, devices, computers, channels and event ids that were left out because of
  max_databases, and databases whose path has more than 1,024 characters. From records of new ones
  beyond the limits.
histogram esewatch_journal_commit_duration_seconds
  Duration of journal commits. From a clock around each commit.
counter esewatch_journal_commit_failures_total
  Commits that failed; nothing more is read until one succeeds. From the journal.
gauge esewatch_journal_set_aside_timestamp_seconds
  Time at which a damaged journal was last set aside; absent when there is none beside the journal.
  From the files set aside.
counter esewatch_internal_errors_total part
  Times a part of esewatch failed unexpectedly; it is tried again at growing intervals. From the
  daemon.
gauge esewatch_config_last_reload_successful
  1 when the latest attempt to load the configuration succeeded. From the reload by SIGHUP or
  /-/reload, at first the start.
gauge esewatch_config_last_reload_success_timestamp_seconds
  When the configuration was loaded. From the reload by SIGHUP or /-/reload, at first the start.
gauge esewatch_web_config_last_reload_successful
  1 when the web configuration is valid as its files are now; absent without one. From the check of
  its files at each connection and request.
gauge esewatch_web_config_last_reload_success_timestamp_seconds
  When the web configuration was loaded; absent without one. From the check of its files at each
  connection and request.
counter process_cpu_seconds_total
  User and system time of the process. From {PROCESS}.
gauge process_max_fds
  Most file descriptors that may be open. From {PROCESS}.
gauge process_open_fds
  File descriptors that are open. From {PROCESS}.
gauge process_resident_memory_bytes
  Resident memory of the process. From {PROCESS}.
gauge process_start_time_seconds
  Start of the process, Unix time. From {PROCESS}.
gauge process_virtual_memory_bytes
  Virtual memory of the process. From {PROCESS}.
""")

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
    "Sources": SOURCES,
    "The agent itself": AGENT,
}
CATALOGUE: dict[str, MetricRow] = {row.name: row for rows in SECTIONS.values() for row in rows}
