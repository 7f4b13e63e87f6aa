"""Records of whole objects: documented structures, one object a record."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from eselab.logs.binary.binary_log import FREQUENCY, WHOLE_OBJECT, Entry, filetime
from esewatch.model import CountersSeen
from esewatch.sources.counters.blg.perfmon_blg import perfmon_blg_source
from tests.support.blg import NOON, name_table, read_log, whole_object, write_log

NAMES = name_table(
    {
        500: "MSExchange Database ==> Instances",
        502: "Online Defrag Pages Read/sec",
        504: "I/O Database Reads Average Latency",
        506: "Log Generation Checkpoint Depth",
        508: "% Processor Time",
        510: "System Up Time",
    }
)
COUNTER, RAWCOUNT, BULK = (502, 0x10410400, 4), (506, 0x00010000, 4), (502, 0x10410500, 8)
LATENCY, BASE = (504, 0x40020500, 8), (0, 0x40030402, 4)
INSTANCES = "MSExchange Database ==> Instances"
ESE = Entry("EX01", INSTANCES, "*", "*", 0x10, WHOLE_OBJECT, 0)


def log(path: Path, *records: bytes, entry: Entry = ESE, step: float = 10) -> Path:
    samples = [(NOON + step * number, [record]) for number, record in enumerate(records)]
    return write_log(path / "a.blg", [entry], samples, names=NAMES)


def at(seconds: float, definitions: Sequence[tuple[int, int, int]], instances: object) -> bytes:
    now = filetime(NOON + seconds)
    return whole_object(
        now, definitions, instances, clock=(int(seconds * 1000), 1000), utc=now,  # type: ignore[arg-type]
        object_clock=(int(seconds * 10), 10),
    )  # fmt: skip


def test_counters_of_instances_are_cooked_with_the_clock_of_their_type(tmp_path: Path) -> None:
    definitions = [COUNTER, LATENCY, BASE, RAWCOUNT]
    rows = [
        at(0, definitions, [("Information Store/SG06", (100, 50, 10, 7))]),
        at(10, definitions, [("Information Store/SG06", (300, 110, 40, 8))]),
    ]
    readings, unreadable = read_log(log(tmp_path, *rows))

    assert unreadable == []
    assert [(each.counter, each.value, each.raw) for each in readings[-3:]] == [
        ("Online Defrag Pages Read/sec", 20.0, 300),
        ("I/O Database Reads Average Latency", 2.0, 110),
        ("Log Generation Checkpoint Depth", 8.0, 8),
    ]
    assert [each.time for each in readings] == [NOON, NOON, NOON + 10, NOON + 10, NOON + 10]


def test_timers_count_100_ns_of_utc_and_the_time_since_a_start_the_clock_of_the_object(
    tmp_path: Path,
) -> None:
    definitions = [(508, 0x20510500, 8), (510, 0x30240500, 8)]
    rows = [at(n, definitions, (n * FREQUENCY // 2, 0)) for n in (0, 10)]
    readings, _ = read_log(log(tmp_path, *rows))

    assert [(each.counter, each.value) for each in readings] == [
        ("System Up Time", 0.0), ("% Processor Time", 50.0), ("System Up Time", 10.0),
    ]  # fmt: skip


def test_a_counter_of_32_bits_has_no_sign_and_wraps_near_its_end_only(tmp_path: Path) -> None:
    values = (2**32 - 50, 50, 20)
    rows = [at(10 * n, [COUNTER], [("x/y", (value,))]) for n, value in enumerate(values)]
    readings, _ = read_log(log(tmp_path, *rows))

    assert [(each.raw, str(each.value)) for each in readings] == [
        (2**32 - 50, "nan"), (50, "10.0"), (20, "nan"),
    ]  # fmt: skip
    assert readings[0].feed is not None
    assert readings[0].feed.wraps


def test_a_counter_of_64_bits_never_wraps(tmp_path: Path) -> None:
    rows = [at(10 * n, [BULK], [("x/y", (value,))]) for n, value in enumerate((2**40, 7))]
    readings, _ = read_log(log(tmp_path, *rows))

    assert [str(each.value) for each in readings] == ["nan", "nan"]
    assert readings[0].feed is not None
    assert not readings[0].feed.wraps


def test_instances_come_and_go_and_definitions_may_change(tmp_path: Path) -> None:
    rows = [
        at(0, [RAWCOUNT], [("x/a", (1,)), ("x/a", (2,))]),
        at(10, [RAWCOUNT], [("x/b", (3,))]),
        at(20, [COUNTER, RAWCOUNT], [("x/b", (0, 4))]),
    ]
    readings, _ = read_log(log(tmp_path, *rows))

    shown = [(each.instance, each.raw) for each in readings if "Depth" in each.counter]
    assert shown == [("x/a", 1), ("x/a#1", 2), ("x/b", 3), ("x/b", 4)]


def test_a_counter_without_a_name_in_the_log_is_told(tmp_path: Path) -> None:
    rows = [at(0, [RAWCOUNT, (999, 0x00010000, 4)], [("x/a", (1, 2))])]
    readings, unreadable = read_log(log(tmp_path, *rows))

    assert [each.raw for each in readings] == [1]
    assert [fault.reason for fault in unreadable] == [
        "counters of whole objects without a name in the log: 1"
    ]


def test_which_counters_are_exposed_is_told_of_the_object_and_not_of_the_name_table(
    tmp_path: Path,
) -> None:
    path = log(tmp_path, at(0, [COUNTER], [("x/y", (1,))]))
    source = perfmon_blg_source("counters", [str(path)], ese_only=True)
    seen = [
        record
        for batch in source.poll(final=True)
        for record in batch.records
        if isinstance(record, CountersSeen)
    ]
    source.close()

    assert [(each.computer, each.present) for each in seen] == [
        ("EX01", {"Online Defrag": False, "Database Maintenance": False})
    ]


@pytest.mark.parametrize("length", [8, 90, 120, 178])
def test_a_record_that_is_cut_short_costs_only_itself(tmp_path: Path, length: int) -> None:
    whole = at(10, [RAWCOUNT], [("x/a", (5,))])
    cut = whole[:length].ljust(len(whole), b"\xff")
    readings, unreadable = read_log(log(tmp_path, whole, cut, whole))

    assert [each.time - NOON for each in readings] == [0, 20]
    assert [fault.reason.split(":")[0] for fault in unreadable] == ["record 1 of the sample"]


def test_an_instance_behind_those_that_are_alike_is_seen(tmp_path: Path) -> None:
    alike = [("x/a", (1,)), ("x/b", (2,))]
    rows = [at(10 * n, [RAWCOUNT], alike) for n in range(4)]
    rows.append(at(40, [RAWCOUNT], [*alike, ("x/c", (3,))]))
    rows.append(at(50, [RAWCOUNT], alike[:1]))
    readings, unreadable = read_log(log(tmp_path, *rows))

    assert unreadable == []
    assert [each.raw for each in readings] == [1, 2] * 4 + [1, 2, 3] + [1]


def test_a_total_stands_for_no_instance_of_the_same_object(tmp_path: Path) -> None:
    names = [f"Information Store - {each}" for each in ("DB01/_Total", "DB01/DB01", "DB02/_Total")]
    readings, _ = read_log(log(tmp_path, at(0, [RAWCOUNT], [(name, (7,)) for name in names])))

    assert [(each.instance, each.feed.name) for each in readings if each.feed] == [
        (names[1], "DB01"), (names[2], "DB02"),
    ]  # fmt: skip
