"""The counter table: names of two generations and of a German Windows, kinds, metrics."""

import pytest

from esewatch.ese.counters import (
    COUNTERS,
    instance_name,
    kind_of,
    lookup,
    object_kind,
    present,
)
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


def test_only_the_object_of_instances_feeds_a_metric() -> None:
    process = lookup("MSExchange Database", "Online Defrag Pages Read/sec")
    assert process is not None
    assert (process.kind, process.metric) == ("rate", "")
    assert lookup("Process", "Online Defrag Pages Read/sec") is None
    assert lookup(INSTANCES, "% Processor Time") is None


def test_no_two_counters_share_a_name() -> None:
    names = [
        name.lower()
        for counter in COUNTERS
        for name in {counter.name, counter.former, counter.german}
        if name
    ]
    assert len(names) == len(set(names))


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
    ("name", "kind"),
    [
        ("Database", "process"),
        ("MSExchange  Database ==>  Instances", "instances"),
        ("Database ==> Databases", "databases"),
        ("database ==> tableclasses", "table_classes"),
        ("Datenbank ==> Instanzen", "instances"),
        ("MSExchangeIS", None),
    ],
)
def test_objects_are_known_by_name(name: str, kind: str | None) -> None:
    assert object_kind(name) == kind


@pytest.mark.parametrize(
    ("instance", "parts"),
    [
        ("Information Store/SG06", ("Information Store", "SG06")),
        ("lsass/NTDSA", ("lsass", "NTDSA")),
        ("svchost/a/b", ("svchost", "a/b")),
        ("Information Store", ("Information Store", "")),
        ("_Total", ("_Total", "")),
        ("Information Store/_total", ("Information Store", "")),
        ("", ("", "")),
    ],
)
def test_the_instance_is_what_stands_behind_the_first_slash(
    instance: str, parts: tuple[str, str]
) -> None:
    assert instance_name(instance) == parts


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


def german_names() -> list[str]:
    lines = sample("perf/perflib-german-ese-counter-names.txt").read_text("utf-8").splitlines()
    return [line.split(" ", 1)[1] for line in lines if line[:1].isdigit()][1:]


def test_every_german_name_of_a_real_system_is_known_in_any_code_page() -> None:
    known = [lookup("Datenbank ==> Instanzen", name) for name in german_names()]
    assert None not in known
    assert len({counter.name for counter in known if counter}) == len(known)
    garbled = [
        lookup("Datenbank ==> Instanzen", name.encode().decode("cp1252")) for name in german_names()
    ]
    assert garbled == known


def test_names_in_a_real_windows_7_log_are_known() -> None:
    names = sample("perf/pal-samplelog-counter-names.txt").read_text("utf-8").splitlines()
    defrag = [name for name in names if name.startswith("Online Defrag")]
    assert len(defrag) >= 3
    assert [name for name in defrag if lookup("Database ==> Instances", name) is None] == []
