"""The counter log is a perfmon log of Exchange 2007, and its rates add up to what was counted."""

import csv
from itertools import pairwise
from pathlib import Path

import pytest

from esewatch.model import Reading
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from tests.eselab.logging_engine import START, Logs

INSTANCES = "MSExchange Database ==> Instances"


def readings(folder: Path) -> list[Reading]:
    source = perfmon_csv_source("counters", [str(folder / "counters.csv")])
    batches = list(source.poll(final=True))
    source.close()
    assert [batch.unreadable for batch in batches if batch.unreadable] == []
    records = [record for batch in batches for record in batch.records]
    return [record for record in records if isinstance(record, Reading)]


def values(folder: Path, counter: str, instance: str = "Information Store/db1") -> list[float]:
    found = readings(folder)
    return [r.value for r in found if r.counter == counter and r.instance == instance]


def rows(folder: Path) -> list[list[str]]:
    with (folder / "counters.csv").open(newline="") as file:
        return list(csv.reader(file))


def test_every_counter_of_the_instances_is_one_of_exchange_2007(tmp_path: Path) -> None:
    logs = Logs(tmp_path, instances=1)
    logs.sample()
    logs.close()
    header, row = rows(tmp_path)
    text = (tmp_path / "counters.csv").read_bytes()

    assert header[0] == "(PDH-CSV 4.0) (Coordinated Universal Time)(0)"
    assert (
        header[1]
        == rf"\\LAB.example\{INSTANCES}(Information Store/db1)\Online Defrag Pages Read/sec"
    )
    assert header[-1] == r"\\LAB.example\MSExchange Database(Information Store)\Database Cache Size"
    assert row[0] == "06/16/2007 13:20:00.250"
    assert len(header) == len(row) == 19
    assert text.count(b'"') == 2 * (len(header) + len(row))
    # Latencies have no value without requests.
    assert len(readings(tmp_path)) == 18 - 4


def test_the_counters_feed_the_metrics_of_the_agent(tmp_path: Path) -> None:
    logs = Logs(tmp_path, instances=1)
    logs.sample()
    logs.close()
    metrics = {reading.feed.metric for reading in readings(tmp_path) if reading.feed}

    assert metrics == {
        "ese_defrag_pages_read_total",
        "ese_defrag_pages_freed_total",
        "ese_defrag_log_bytes_total",
        "ese_maintenance_pages_read_total",
        "ese_database_io_total",
        "ese_log_io_total",
        "ese_checkpoint_depth_logs",
        "ese_log_generations_total",
        "ese_cache_size_bytes",
    }


def test_rates_times_the_time_between_rows_are_what_was_counted(tmp_path: Path) -> None:
    logs = Logs(tmp_path, instances=1)
    logs.sample()
    for step in (15.000_4, 14.999_9, 601.3):
        logs.clock.time += step
        logs.counters["db1"].defrag_pages_read += 1001
        logs.sample()
    logs.close()
    found = [r for r in readings(tmp_path) if r.counter == "Online Defrag Pages Read/sec"]
    grown = [reading.value * (reading.time - before.time) for before, reading in pairwise(found)]

    assert found[0].value == 0
    assert grown == pytest.approx([1001] * 3, rel=1e-6)


def test_a_latency_is_the_mean_of_the_requests_since_the_last_row(tmp_path: Path) -> None:
    logs = Logs(tmp_path, instances=1)
    writes = logs.meters["db1"].log_writes
    writes.requests, writes.seconds = 10, 5.0
    logs.sample()
    for requests, seconds in ((4, 0.02), (0, 0.0), (1, 0.003)):
        logs.clock.time += 15
        writes.requests += requests
        writes.seconds += seconds
        logs.sample()
    logs.close()

    assert values(tmp_path, "I/O Log Writes Average Latency") == pytest.approx([5, 3])
    assert [row[14] for row in rows(tmp_path)[1:]] == [" ", "5.000000", " ", "3.000000"]


def test_the_running_total_begins_anew_with_the_process(tmp_path: Path) -> None:
    for time in (START, START + 60):
        logs = Logs(tmp_path, time=time, instances=1)
        logs.sample()
        logs.clock.time += 15
        logs.counters["db1"].scan_pages_read += 40
        logs.sample()
        logs.close()

    counter = "Online Maintenance (DB Scan) Pages Read"
    assert values(tmp_path, counter) == [0, 40, 0, 40]
    assert values(tmp_path, counter + "/sec") == pytest.approx([0, 40 / 15, 0, 40 / 15])


def test_levels_are_those_of_the_moment_and_the_cache_is_the_process_s(tmp_path: Path) -> None:
    logs = Logs(tmp_path, instances=2)
    logs.depth, logs.generation = 4, 99
    logs.sample()
    logs.close()

    assert values(tmp_path, "Log Generation Checkpoint Depth", "Information Store/db2") == [4]
    assert values(tmp_path, "Log File Current Generation") == [99]
    assert values(tmp_path, "Database Cache Size", "Information Store") == [2 * 819_200]
    assert values(tmp_path, "Database Cache Size (MB)", "Information Store") == [1.5625]


def test_a_restart_adds_rows_without_a_header_and_other_columns_with_one(tmp_path: Path) -> None:
    for start, instances in ((0, 1), (60, 1), (120, 2), (180, 2)):
        logs = Logs(tmp_path, time=START + start, instances=instances)
        logs.sample()
        logs.close()

    starts = [row[0].startswith("(PDH") for row in rows(tmp_path)]
    assert starts == [True, False, False, True, False, False]
    assert values(tmp_path, "Log File Current Generation", "Information Store/db2") == [10, 10]


def test_rows_are_never_of_one_time_nor_go_back(tmp_path: Path) -> None:
    for time in (START, START - 3600):
        logs = Logs(tmp_path, time=time, instances=1)
        logs.sample()
        logs.sample()
        logs.close()

    assert logs.rows.last_time == START + 0.003
    times = [row[0] for row in rows(tmp_path)[1:]]
    assert times == [f"06/16/2007 13:20:00.25{digit}" for digit in range(4)]


def test_a_row_in_which_nothing_happened_has_the_cells_of_one_before(tmp_path: Path) -> None:
    logs = Logs(tmp_path, instances=1)
    logs.counters["db1"].scan_pages_read = 7
    logs.sample()
    logs.counters["db1"].scan_pages_read = 10
    for _ in range(3):
        logs.clock.time += 15
        logs.sample()
    logs.close()

    assert values(tmp_path, "Online Maintenance (DB Scan) Pages Read") == [0, 3, 3, 3]
    assert values(tmp_path, "Online Maintenance (DB Scan) Pages Read/sec") == [0, 0.2, 0, 0]


def test_a_torn_last_row_is_cut_off(tmp_path: Path) -> None:
    logs = Logs(tmp_path, instances=1)
    logs.sample()
    logs.clock.time += 15
    logs.sample()
    logs.close()
    path = tmp_path / "counters.csv"
    path.write_bytes(path.read_bytes()[:-5])
    logs = Logs(tmp_path, time=START + 30, instances=1)
    logs.sample()
    logs.close()

    assert [row[0][-6:] for row in rows(tmp_path)[1:]] == ["00.250", "30.250"]


def test_the_requests_of_a_passive_copy_are_those_of_a_recovery_too(tmp_path: Path) -> None:
    logs = Logs(tmp_path, instances=1)
    logs.recovers = True
    logs.sample()
    for meter in logs.meters.values():
        meter.database_reads.requests, meter.database_reads.seconds = 30, 0.6
        meter.database_writes.requests, meter.database_writes.seconds = 60, 0.3
    logs.clock.time += 15
    logs.sample()
    logs.close()

    for counter, expected in {
        "I/O Database Reads (Recovery)/sec": [0, 2],
        "I/O Database Reads/sec": [0, 2],
        "I/O Database Writes (Recovery)/sec": [0, 4],
        "I/O Database Reads (Recovery) Average Latency": [20],
        "I/O Database Writes (Recovery) Average Latency": [5],
    }.items():
        assert values(tmp_path, counter) == expected
    totals = logs.truth.state.instances["db1"].totals
    assert totals['ese_database_io_total{operation="write",phase="recovery"}'] == 60
    assert 'ese_database_io_total{operation="write",phase="all"}' not in totals
