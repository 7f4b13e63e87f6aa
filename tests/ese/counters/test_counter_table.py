"""The counter table: names of two generations and of a German Windows, kinds, metrics."""

import pytest

from esewatch.ese.counters.counter_feeds import (
    feed_of,
    is_read,
    kind_of,
    lookup,
    paths,
    present,
)
from esewatch.ese.counters.counter_table import COUNTERS
from esewatch.model import Feed
from tests.support.samples import sample

INSTANCES = "MSExchange Database ==> Instances"

FED = {
    "Online Defrag Pages Read/sec": ("rate", "ese_defrag_pages_read_total"),
    "Online Defrag Pages Freed/sec": ("rate", "ese_defrag_pages_freed_total"),
    "Online Defrag Log Bytes/sec": ("rate", "ese_defrag_log_bytes_total"),
    "Database Maintenance Pages Read": ("total", "ese_maintenance_pages_read_total"),
    "Database Maintenance Pages Read/sec": ("rate", "ese_maintenance_pages_read_total"),
    "Database Maintenance Pages Zeroed": ("total", "ese_maintenance_pages_zeroed_total"),
    "Database Maintenance Pages Zeroed/sec": ("rate", "ese_maintenance_pages_zeroed_total"),
}


@pytest.mark.parametrize("name", FED)
@pytest.mark.parametrize("object_name", [INSTANCES, "Database ==> Instances"])
def test_the_counters_of_maintenance_feed_their_metrics(object_name: str, name: str) -> None:
    counter = lookup(object_name.upper(), name.lower())
    assert counter is not None
    assert (counter.kind, counter.metric) == FED[name]


@pytest.mark.parametrize(
    "part", ["Pages Read", "Pages Read/sec", "Pages Zeroed", "Pages Zeroed/sec"]
)
def test_names_of_exchange_2007_are_the_same_counters(part: str) -> None:
    former = lookup(INSTANCES, f"Online Maintenance (DB Scan) {part}")
    assert former is not None
    assert former is lookup(INSTANCES, f"Database Maintenance {part}")


def test_only_the_object_of_instances_feeds_a_metric_of_maintenance() -> None:
    process = lookup("MSExchange Database", "Online Defrag Pages Read/sec")
    assert process is not None
    assert process.kind == "rate"
    read = "Online Defrag Pages Read/sec"
    assert feed_of("MSExchange Database", "Information Store", read) is None
    assert feed_of("MSExchange Database ==> Databases", "Information Store/SG06", read) is None
    assert lookup("Process", read) is None
    assert lookup(INSTANCES, "% Processor Time") is None


MILLISECONDS = {
    "I/O Database Reads (Attached) Average Latency": ("database", "read", "attached"),
    "I/O Database Reads (Recovery) Average Latency": ("database", "read", "recovery"),
    "I/O Database Writes (Attached) Average Latency": ("database", "write", "attached"),
    "I/O Database Writes (Recovery) Average Latency": ("database", "write", "recovery"),
    "I/O Database Reads Average Latency": ("database", "read", "all"),
    "I/O Database Writes Average Latency": ("database", "write", "all"),
    "I/O Log Reads Average Latency": ("log", "read", "recovery"),
    "I/O Log Writes Average Latency": ("log", "write", "attached"),
}


@pytest.mark.parametrize("name", MILLISECONDS)
def test_latency_is_by_file_operation_and_phase_in_seconds(name: str) -> None:
    assert feed_of(INSTANCES, "Information Store/SG06", name) == Feed(
        metric="ese_io_latency_seconds", name="SG06", labels=MILLISECONDS[name], scale=0.001
    )


@pytest.mark.parametrize(
    ("name", "kind", "metric", "scale"),
    [
        ("Log Generation Checkpoint Depth", "level", "ese_checkpoint_depth_logs", 1),
        (
            "Log Checkpoint Depth as a % of Target",
            "level",
            "ese_checkpoint_depth_target_ratio",
            0.01,
        ),
        ("Log File Current Generation", "total", "ese_log_generations_total", 1),
        ("Version buckets allocated", "level", "ese_version_buckets_allocated", 1),
        ("Log Record Stalls/sec", "rate", "ese_log_record_stalls_total", 1),
        ("Log Threads Waiting", "level", "ese_log_threads_waiting", 1),
    ],
)
def test_the_counters_of_logs_and_version_store_feed_their_metrics(
    name: str, kind: str, metric: str, scale: float
) -> None:
    assert kind_of(INSTANCES, name) == kind
    absolute = name == "Log File Current Generation"
    assert feed_of(INSTANCES, "Information Store/SG06", name) == Feed(
        metric=metric, name="SG06", scale=scale, absolute=absolute
    )


def test_requests_are_counted_by_operation_and_phase() -> None:
    found = feed_of(INSTANCES, "store/DB1", "I/O Database Writes (Recovery)/sec")
    assert found == Feed(metric="ese_database_io_total", name="DB1", labels=("write", "recovery"))


def test_the_cache_belongs_to_the_process() -> None:
    size = "Database Cache Size (MB)"
    assert feed_of("MSExchange Database", "Information Store", size) == Feed(
        metric="ese_cache_size_bytes", owner="computer", labels=("Information Store",), scale=2**20
    )
    assert feed_of("MSExchange Database", "_Total", size) is None
    assert feed_of(INSTANCES, "Information Store/SG06", size) is None


@pytest.mark.parametrize(
    ("path", "feed"),
    [
        (
            ("MSExchangeIS", "", "RPC Averaged Latency"),
            Feed(metric="exchange_rpc_latency_seconds", owner="computer", scale=0.001),
        ),
        (
            ("MSExchangeIS Store", "_Total", "RPC Average Latency"),
            Feed(metric="exchange_rpc_latency_seconds", owner="computer", scale=0.001),
        ),
        (("MSExchangeIS Store", "mdb01", "RPC Average Latency"), None),
        (
            ("MSExchange Replication", "SG06", "CopyQueueLength"),
            Feed(metric="ese_copy_queue_logs", name="SG06"),
        ),
        (
            ("MSExchange Replication", "SG06", "ReplayQueueLength"),
            Feed(metric="ese_replay_queue_logs", name="SG06"),
        ),
        (("MSExchange Replication", "_total", "CopyQueueLength"), None),
        (
            ("Processor", "_Total", "% Processor Time"),
            Feed(metric="ese_host_processor_ratio", owner="computer", scale=0.01),
        ),
        (("Processor", "0", "% Processor Time"), None),
        (("Process", "_Total", "% Processor Time"), None),
        (
            ("LogicalDisk", "L:", "Free Megabytes"),
            Feed(metric="ese_volume_free_bytes", owner="computer", labels=("l:",), scale=2.0**20),
        ),
        (("LogicalDisk", "_Total", "Free Megabytes"), None),
        (("LogicalDisk", "HarddiskVolume1", "Free Megabytes"), None),
        (("LogicalDisk", "L:", "% Free Space"), None),
    ],
)
def test_neighbours_of_the_engine_feed_their_metrics(
    path: tuple[str, str, str], feed: Feed | None
) -> None:
    assert feed_of(*path) == feed


def test_no_two_counters_share_a_name() -> None:
    assert len({counter.name.lower() for counter in COUNTERS}) == len(COUNTERS)


def test_every_rate_of_the_table_is_one_by_its_name_too() -> None:
    for counter in COUNTERS:
        assert (counter.kind == "rate") == counter.name.endswith("/sec")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Pages Output/sec", "rate"),
        ("# of Exceps Thrown / sec", "rate"),
        ("Gelesene Bytes/Sek.", "rate"),
        ("Lectures disque/s", "rate"),
        ("Avg. Disk sec/Read", "level"),
        ("% Processor Time", "level"),
    ],
)
def test_the_kind_of_other_counters_follows_from_the_name(name: str, kind: str) -> None:
    assert kind_of("Other", name) == kind


def test_what_a_rate_of_running_pages_is_not_decided_by_its_ending() -> None:
    assert kind_of(INSTANCES, "Database Maintenance Pages Read") == "total"
    assert kind_of("Other", "Database Maintenance Pages Read") == "level"


@pytest.mark.parametrize(
    ("instance", "name"),
    [
        ("Information Store/SG06", "SG06"),
        ("lsass/NTDSA", "NTDSA"),
        ("svchost/a/b", "a/b"),
        ("Information Store", None),
        ("_Total", None),
        ("Information Store/_total", None),
        ("Information Store - DB01/_Total", "DB01"),
        ("Information Store - /_Total", None),
        ("edgetransport/_Total", None),
        ("Information Store - DB01", None),
        ("svchost/_Total#1", None),
        ("", None),
    ],
)
def test_the_instance_is_what_stands_behind_the_first_slash(
    instance: str, name: str | None
) -> None:
    feed = feed_of(INSTANCES, instance, "Online Defrag Pages Read/sec")
    assert (feed.name if feed else None) == name


def test_counters_are_seen_only_where_the_object_of_instances_is() -> None:
    assert present([("MSExchange Database", "Online Defrag Pages Read/sec")]) == {}
    assert present([(INSTANCES, "I/O Database Reads/sec")]) == {
        "Online Defrag": False,
        "Database Maintenance": False,
    }


def test_a_group_is_present_when_all_it_needs_is_there() -> None:
    read = (INSTANCES, "Online Defrag Pages Read/sec")
    freed = (INSTANCES, "online defrag pages freed/sec")
    scan = (INSTANCES, "Online Maintenance (DB Scan) Pages Read")
    assert present([read])["Online Defrag"] is False
    assert present([read, freed]) == {"Online Defrag": True, "Database Maintenance": False}
    assert present([read, freed, scan]) == {"Online Defrag": True, "Database Maintenance": True}


def test_names_in_a_real_windows_7_log_are_known() -> None:
    names = sample("perf/pal-samplelog-counter-names.txt").read_text("utf-8").splitlines()
    defrag = [name for name in names if name.startswith("Online Defrag")]
    assert len(defrag) >= 3
    assert [name for name in defrag if lookup("Database ==> Instances", name) is None] == []


def test_the_paths_are_those_of_all_counters_that_feed_a_metric() -> None:
    fed = set()
    for path in paths():
        name, _, counter = path[1:].rpartition("\\")
        name, _, instance = name.partition("(")
        any_instance = "L:" if name == "LogicalDisk" else "store/SG06"
        found = feed_of(name, instance.rstrip(")").replace("*", any_instance), counter)
        assert found is not None, path
        fed.add(found.metric)
    assert fed >= {counter.metric for counter in COUNTERS if counter.metric}
    assert len(set(paths())) == len(paths())


@pytest.mark.parametrize(
    "path",
    [
        rf"{INSTANCES}\Database Maintenance Pages Read/sec",
        r"\msexchange database\Database Cache Size (MB)",
        r"PhysicalDisk\disk reads/sec",
        r"LogicalDisk \ Free Megabytes",
        r"Processor\% Processor Time",
    ],
)
def test_a_counter_that_feeds_a_metric_for_some_instance_is_read(path: str) -> None:
    assert is_read(path)


@pytest.mark.parametrize(
    "path",
    ["nothing", r"Memory\Available Bytes", r"PhysicalDisk\Avg. Disk sec/Read", "Processor\\", "\\"],
)
def test_a_counter_that_feeds_nothing_is_not_read(path: str) -> None:
    assert not is_read(path)
