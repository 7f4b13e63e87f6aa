"""Which metric of windows_exporter shows which counter."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from esewatch.ese.counters.counter_names import english
from esewatch.model import Feed
from esewatch.sources.counters.exporter_map import FORMATTED, PREFIX, Shown, metric_name, read_map

SNIPPET = Path(__file__).resolve().parents[3] / "docs" / "windows_exporter.yml"
INSTANCES = "MSExchange Database ==> Instances"
IN_METRICS = "msexchange_database_____instances"


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (
            (PREFIX, "Processor Information", "% Processor Time"),
            "windows_performancecounter_processor_information_percent_processor_time",
        ),
        (
            (PREFIX, "Memory", "Cache Faults/sec"),
            "windows_performancecounter_memory_cache_faults_sec",
        ),
        (
            (PREFIX, INSTANCES, "I/O Database Reads (Attached)/sec"),
            f"windows_performancecounter_{IN_METRICS}_i_o_database_reads_attached_sec",
        ),
    ],
)
def test_a_metric_is_named_as_the_exporter_does(parts: tuple[str, ...], name: str) -> None:
    assert metric_name(*parts) == name


def test_a_rate_of_perfmon_is_a_running_count_that_wraps() -> None:
    shown = read_map({})[f"{PREFIX}_{IN_METRICS}_online_defrag_pages_read_sec"]

    assert shown == Shown(INSTANCES, "Online Defrag Pages Read/sec", "total", counts=True)
    assert shown.feed({"instance": "Information Store/SG06"}) == Feed(
        metric="ese_defrag_pages_read_total", name="SG06"
    )


def test_counters_of_a_process_and_of_the_total_are_nobody_s() -> None:
    shown = read_map({})[f"{PREFIX}_{IN_METRICS}_online_defrag_pages_read_sec"]

    assert [shown.feed({"instance": name}) for name in ("_Total", "Store", "Store/_Total", "")] == [
        None
    ] * 4
    assert shown.feed({}) is None


def test_a_mean_is_read_only_from_its_formatted_metric() -> None:
    shown = read_map({})
    name = f"{IN_METRICS}_i_o_database_reads_attached_average_latency"

    assert f"{PREFIX}_{name}" not in shown
    latency = shown[f"{FORMATTED}_{name}"]
    assert latency.kind == "level"
    feed = latency.feed({"instance": "Store/SG06"})
    assert feed == Feed(
        metric="ese_io_latency_seconds",
        name="SG06",
        labels=("database", "read", "attached"),
        scale=0.001,
    )


def test_a_rate_is_never_read_from_a_formatted_metric() -> None:
    formatted = [shown for name, shown in read_map({}).items() if name.startswith(FORMATTED)]

    assert {shown.kind for shown in formatted} == {"level"}


def test_megabytes_come_out_as_bytes_and_belong_to_the_process() -> None:
    shown = read_map({})[f"{PREFIX}_msexchange_database_database_cache_size_mb"]

    assert shown.feed({"instance": "edgetransport"}) == Feed(
        metric="ese_cache_size_bytes", owner="computer", labels=("edgetransport",), scale=2.0**20
    )


def test_no_two_counters_of_one_object_feed_one_series() -> None:
    fed: dict[Any, set[str]] = {}
    for shown in read_map({}).values():
        feed = shown.feed({"instance": "p/i"})
        if feed is not None:
            fed.setdefault((shown.object, feed), set()).add(english(shown.counter))

    assert fed
    assert [names for names in fed.values() if len(names) > 1] == []


@pytest.mark.parametrize(
    ("metric", "fed", "wraps"),
    [
        ("windows_physical_disk_read_seconds_total", "ese_device_read_seconds_total", False),
        ("windows_physical_disk_write_seconds_total", "ese_device_write_seconds_total", False),
        ("windows_physical_disk_read_bytes_total", "ese_device_read_bytes_total", False),
        ("windows_physical_disk_write_bytes_total", "ese_device_write_bytes_total", False),
        ("windows_physical_disk_reads_total", "ese_device_reads_total", True),
        ("windows_physical_disk_writes_total", "ese_device_writes_total", True),
    ],
)
def test_physical_disks_are_devices(metric: str, fed: str, wraps: bool) -> None:
    shown = read_map({})[metric]

    assert shown.feed({"disk": "1"}) == Feed(metric=fed, owner="device", name="1", wraps=wraps)
    assert shown.feed({"disk": "1 C: D:"}) == shown.feed({"disk": "1"})
    assert shown.feed({"disk": "_Total"}) is None
    assert shown.feed({}) is None


def test_of_logical_disks_the_free_space_is_read_and_latencies_of_32_bits_never() -> None:
    names = read_map({})

    assert [name for name in names if "logical_disk" in name] == ["windows_logical_disk_free_bytes"]
    assert not [name for name in names if "latency_seconds" in name]


def test_an_entry_of_the_configuration_adds_a_metric_without_regard_to_case() -> None:
    shown = read_map(
        {"my_reads": r"\msexchange database ==> instances\online defrag pages read/sec"}
    )

    feed = shown["my_reads"].feed({"instance": "Store/SG06"})
    assert feed is not None
    assert feed.metric == "ese_defrag_pages_read_total"
    assert shown["my_reads"].kind == "total"


def test_an_entry_takes_the_place_of_another_counter_of_its_series() -> None:
    shipped = f"{PREFIX}_{IN_METRICS}_database_maintenance_pages_read"
    entry = {"mine": rf"{INSTANCES}\Database Maintenance Pages Read/sec"}

    assert shipped in read_map({})
    assert shipped not in read_map(entry)


def test_an_entry_may_name_a_disk_counter() -> None:
    shown = read_map({"my_reads": r"PhysicalDisk\disk reads/sec"})["my_reads"]

    assert shown.feed({"instance": "0 C:"}) == Feed(
        metric="ese_device_reads_total", owner="device", name="0"
    )


def test_every_counter_of_the_shipped_exporter_configuration_is_read() -> None:
    config = yaml.safe_load(SNIPPET.read_text(encoding="utf-8"))
    objects = yaml.safe_load(config["collector"]["performancecounter"]["objects"])
    known = read_map({})
    unread, untyped = [], []
    for entry in objects:
        for counter in entry["counters"]:
            metric = counter.get("metric") or metric_name(PREFIX, entry["object"], counter["name"])
            shown = known.get(metric)
            if shown is None or (shown.object, shown.counter) != (entry["object"], counter["name"]):
                unread.append(metric)
            elif shown.counts and counter["type"] != "counter":
                untyped.append(metric)
            assert metric.startswith(FORMATTED) == (entry.get("type") == "formatted")

    assert len(objects) == len({entry["name"] for entry in objects}) == 23
    assert (unread, untyped) == ([], [])


def test_the_free_space_of_a_volume_is_in_bytes_there() -> None:
    shown = read_map({})["windows_logical_disk_free_bytes"]

    assert shown.kind == "level"
    assert shown.instance({"volume": "L:"}) == "L:"
    for volume, label in (("L:", "l:"), ("C:\\Mounts\\SG06", "c:\\mounts\\sg06")):
        assert shown.feed({"volume": volume}) == Feed(
            metric="ese_volume_free_bytes", owner="computer", labels=(label,)
        )
    assert shown.feed({"volume": "HarddiskVolume1"}) is None
    assert shown.feed({}) is None


def test_free_megabytes_under_another_name_are_megabytes() -> None:
    shown = read_map({"my_free": "LogicalDisk\\Free Megabytes"})["my_free"]

    assert shown.feed({"instance": "L:"}) == Feed(
        metric="ese_volume_free_bytes", owner="computer", labels=("l:",), scale=2.0**20
    )
