"""The rows that performance counters and disks feed beyond defragmentation and scan."""

from esewatch.expose.metrics.rows.metric_row import D, I, V, counter, gauge

COMPUTER = ("computer",)
IO = (*I, "operation", "phase")

INSTANCES = (
    gauge(
        "ese_io_latency_seconds",
        (*I, "file", "operation", "phase"),
        "Mean latency of the requests to a file in the latest sample. Logs are written while"
        " databases are attached and read to recover them.",
        "the counters I/O Database Reads and Writes (Attached, Recovery) Average Latency and"
        " I/O Log Reads and Writes Average Latency",
    ),
    counter(
        "ese_database_io_total",
        IO,
        "Requests to database files, integrated.",
        "the counters I/O Database Reads and Writes (Attached, Recovery) per second",
    ),
    counter(
        "ese_log_io_total",
        (*I, "operation"),
        "Requests to transaction logs, integrated.",
        "the counters I/O Log Reads/sec and I/O Log Writes/sec",
    ),
    gauge(
        "ese_checkpoint_depth_logs",
        I,
        "Log files between the checkpoint and the current log.",
        "the counter Log Generation Checkpoint Depth",
    ),
    gauge(
        "ese_checkpoint_depth_target_ratio",
        I,
        "Checkpoint depth as a part of its target.",
        "the counter Log Checkpoint Depth as a % of Target",
    ),
    counter(
        "ese_log_generations_total",
        I,
        "Log files that were filled.",
        "the counter Log File Current Generation",
    ),
    gauge(
        "ese_version_buckets_allocated",
        I,
        "Buckets that the version store holds.",
        "the counter Version Buckets Allocated",
    ),
    counter(
        "ese_log_record_stalls_total",
        I,
        "Log records that had to wait for a full log buffer, integrated.",
        "the counter Log Record Stalls/sec",
    ),
    gauge(
        "ese_log_threads_waiting",
        I,
        "Threads that wait for their log records to be written.",
        "the counter Log Threads Waiting",
    ),
    gauge(
        "ese_copy_queue_logs",
        I,
        "Log files that wait to be copied to this copy.",
        "the counter CopyQueueLength of MSExchange Replication",
    ),
    gauge(
        "ese_replay_queue_logs",
        I,
        "Log files that wait to be replayed into this copy.",
        "the counter ReplayQueueLength of MSExchange Replication",
    ),
    gauge(
        "ese_log_disk_free_bytes",
        I,
        "Free space of the volume that the transaction logs of the instance are on; absent where"
        " the volume is not known.",
        "log_path of the configuration with the counter Free Megabytes of LogicalDisk, the"
        " collector logical_disk of windows_exporter, or the file systems of this machine",
    ),
)

COMPUTERS = (
    gauge(
        "ese_cache_size_bytes",
        (*COMPUTER, "process"),
        "Database cache of a process.",
        "the counter Database Cache Size (MB)",
    ),
    gauge(
        "exchange_rpc_latency_seconds",
        COMPUTER,
        "Mean latency of the latest RPC requests to the store.",
        "the counter RPC Averaged Latency of MSExchangeIS, RPC Average Latency of MSExchangeIS"
        " Store (_Total) from Exchange 2013 on",
    ),
    gauge(
        "ese_host_processor_ratio",
        COMPUTER,
        "Part of all processor time that was in use.",
        "the counter % Processor Time of Processor (_Total)",
    ),
)

_DISKS = "the disks of this machine and the physical_disk collector of windows_exporter"

DEVICES = (
    counter("ese_device_read_seconds_total", V, "Time of reads, summed over all requests.", _DISKS),
    counter(
        "ese_device_write_seconds_total", V, "Time of writes, summed over all requests.", _DISKS
    ),
    counter("ese_device_read_bytes_total", V, "Bytes read.", _DISKS),
    counter("ese_device_write_bytes_total", V, "Bytes written.", _DISKS),
    counter("ese_device_reads_total", V, "Reads.", _DISKS),
    counter("ese_device_writes_total", V, "Writes.", _DISKS),
    gauge(
        "ese_database_device_info",
        (*D, "device"),
        "The device that holds a database, always 1; absent when it is not known.",
        "the configuration, else the volumes of its computer",
    ),
)
