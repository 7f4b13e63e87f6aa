"""The answers that are known of real logs, and records in every form."""

import csv
import gzip
import math
from pathlib import Path

import pytest

from eselab.logs.binary.binary_log import FREQUENCY, SINGLE, Entry, filetime, single, wildcard
from esewatch.expose.formatting import iso_time
from esewatch.sources.counters.blg.perfmon_blg import perfmon_blg_source
from tests.support.blg import NOON, READ, counted, read_log, write_log
from tests.support.samples import sample


def path_of(reading: object) -> str:
    instance = f"({reading.instance})" if reading.instance else ""  # type: ignore[attr-defined]
    return f"\\\\{reading.computer}\\{reading.object}{instance}\\{reading.counter}"  # type: ignore[attr-defined]


def test_every_cell_that_windows_wrote_of_these_samples_is_read_as_it_is() -> None:
    readings, unreadable = read_log(sample("blg/powershell-CounterSamples.blg"))
    with sample("blg/powershell-CounterSamples.csv").open(newline="") as file:
        header, *rows = list(csv.reader(file))
    times = sorted({reading.time for reading in readings})
    values = {(path_of(each), each.time): each.value for each in readings}

    assert unreadable == []
    assert [iso_time(times[0]), iso_time(times[-1]), len(times)] == [
        "2016-11-26T21:46:30.874Z", "2016-11-26T21:47:42.983Z", 25,
    ]  # fmt: skip
    shown = [[values.get((name, time), math.nan) for name in header[1:]] for time in times]
    expected = [[float(cell) if cell.strip() else math.nan for cell in row[1:]] for row in rows]
    assert str(shown) == str(expected)
    assert sum(math.isfinite(value) for row in shown for value in row) == 242


def test_exactly_the_five_samples_with_a_bad_status_are_told() -> None:
    readings, unreadable = read_log(sample("blg/powershell-BadCounterSamples.blg"))
    first = [each for each in readings if each.computer == "s14185201"]

    assert [fault.place for fault in unreadable] == [
        "offset 178952", "offset 180280", "offset 271512", "offset 371576", "offset 372904",
    ]  # fmt: skip
    assert {fault.reason.split("(")[1] for fault in unreadable} == {
        "status 0x800007D0, the computer did not answer)"
    }
    assert sum(int(fault.reason.split()[4]) for fault in unreadable) == 52
    assert len({each.computer for each in readings}) == 26
    assert iso_time(first[0].time) == "2007-07-02T17:30:12.765Z"
    assert (first[0].value, first[-1].raw) == (3.2128069664852488, 277911015625)


def test_a_log_of_whole_objects_is_read_with_the_names_of_its_table() -> None:
    readings, unreadable = read_log(sample("blg/pal-SampleLog.blg"))

    def of(name: str, instance: str, counter: str) -> list[float]:
        wanted = (name, instance, counter)
        return [
            round(each.value, 4)
            for each in readings
            if (each.object, each.instance, each.counter) == wanted
        ]

    assert unreadable == []
    assert of("Processor", "_Total", "% Processor Time") == [
        82.1481, 86.8979, 48.3065, 56.5105, 60.3386, 31.0417, 29.8699, 19.7136, 32.5522, 24.6355,
    ]  # fmt: skip
    uptime = of("System", "", "System Up Time")
    assert (len(uptime), uptime[0], uptime[-1]) == (11, 2002.1606, 2602.0998)
    assert of("LogicalDisk", "C:", "% Free Space")[0] == 75.188
    assert len({each.instance for each in readings if each.object == "Process"}) == 57
    assert iso_time(readings[0].time) == "2007-08-14T19:40:38.659Z"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_counter_is_a_running_total_with_the_rate_that_windows_shows(
    tmp_path: Path, pack: type[bytes]
) -> None:
    path = write_log(
        tmp_path / "made", [READ], [(NOON + 15 * n, [counted(NOON + 15 * n, 100 + 30 * n)])
                                    for n in range(3)],
    )  # fmt: skip
    (tmp_path / "a.blg").write_bytes(pack(path.read_bytes()))
    readings, unreadable = read_log(tmp_path / "a.blg")

    assert unreadable == []
    assert [(each.time - NOON, each.raw, each.kind) for each in readings] == [
        (0, 100, "total"), (15, 130, "total"), (30, 160, "total"),
    ]  # fmt: skip
    assert [str(each.value) for each in readings] == ["nan", "2.0", "2.0"]
    assert {each.feed.metric for each in readings if each.feed} == {"ese_defrag_pages_read_total"}


def test_where_a_total_and_its_rate_are_logged_the_total_feeds_the_series(tmp_path: Path) -> None:
    name = "Database Maintenance Pages Read"
    entries = [
        READ._replace(counter=name, type=0x00010000),
        READ._replace(counter=f"{name}/sec"),
    ]
    samples = [
        (NOON + at, [counted(NOON + at, 10 * at), counted(NOON + at, 10 * at)]) for at in (0, 15)
    ]
    readings, _ = read_log(write_log(tmp_path / "a.blg", entries, samples))

    assert [(each.counter, each.kind, each.value) for each in readings] == [
        (name, "total", 0.0), (name, "total", 150.0), (f"{name}/sec", "rate", 10.0),
    ]  # fmt: skip


def test_instances_come_and_go_and_equal_names_are_numbered(tmp_path: Path) -> None:
    entry = Entry("EX01", "Process", "*", "Handle Count", 0x00010000)
    rows = [
        [("svchost", 1, 0), ("svchost", 2, 0)],
        [("svchost", 3, 0), ("lsass", 4, 0), ("svchost", 5, 0)],
        [],
    ]
    samples = [(NOON + n, [wildcard(filetime(NOON + n), row)]) for n, row in enumerate(rows)]
    readings, unreadable = read_log(write_log(tmp_path / "a.blg", [entry], samples))

    assert unreadable == []
    assert [(each.instance, each.value) for each in readings] == [
        ("svchost", 1), ("svchost#1", 2), ("svchost", 3), ("lsass", 4), ("svchost#1", 5),
    ]  # fmt: skip


def test_parents_indices_and_machines_are_in_the_names(tmp_path: Path) -> None:
    entries = [
        READ._replace(parent="Information Store", instance="SG06"),
        READ._replace(machine="", instance="lsass/NTDSA", nth=2),
    ]
    samples = [(NOON, [counted(NOON, 1), counted(NOON, 1)])]
    readings, _ = read_log(write_log(tmp_path / "a.blg", entries, samples), computer="dc01")

    assert [(each.computer, each.instance) for each in readings] == [
        ("EX01", "Information Store/SG06"), ("dc01", "lsass/NTDSA#2"),
    ]  # fmt: skip


def test_a_value_whose_object_is_not_there_is_told_once(tmp_path: Path) -> None:
    samples = [(NOON + n, [counted(NOON + n, 0, 0xC0000BB8)]) for n in range(3)]
    readings, unreadable = read_log(write_log(tmp_path / "a.blg", [READ], samples))

    assert readings == []
    assert [fault.reason for fault in unreadable] == [
        "values that are not there (status 0xC0000BB8, no such object)"
    ]


def test_types_and_records_that_are_not_known_are_told_and_cost_nothing_else(
    tmp_path: Path,
) -> None:
    entries = [READ._replace(type=0x00000B00, counter="Text"), READ, READ._replace(kind=7)]
    foreign = b"BL\3\6\x18\0\0\0" + bytes(16)
    samples = [(NOON, [counted(NOON, 1), counted(NOON, 5), foreign])]
    readings, unreadable = read_log(write_log(tmp_path / "a.blg", entries, samples))

    assert [each.raw for each in readings] == [5]
    assert sorted(fault.reason for fault in unreadable) == [
        "1 counter of MSExchange Database ==> Instances is not known, such as Text",
        "counters of type 0x00000b00 are not read, such as MSExchange Database ==> Instances\\Text",
        "records of kind 6 are not read",
    ]


@pytest.mark.parametrize("west", [-330, 0, 480])
def test_the_zone_of_the_log_makes_utc_of_local_times(tmp_path: Path, west: int) -> None:
    samples = [(NOON - west * 60, [counted(0, 1)])]
    readings, _ = read_log(write_log(tmp_path / "a.blg", [READ], samples, west=west))

    assert readings[0].time == NOON


def test_a_clock_in_utc_beside_the_sample_tells_more_than_the_zone(tmp_path: Path) -> None:
    busy = Entry("EX01", "Processor", "_Total", "% Processor Time", 0x21510500, SINGLE)
    off = 200 * FREQUENCY  # another machine's clock is not that of the log
    samples = [(NOON - 4 * 3600, [single(0, 1, filetime(NOON) + off)])]
    readings, _ = read_log(
        write_log(tmp_path / "a.blg", [busy, READ], [(t, [*r, counted(0, 1)]) for t, r in samples],
                  west=300),
    )  # fmt: skip

    assert [each.time for each in readings] == [NOON]


@pytest.mark.parametrize(
    ("west", "hours", "told"), [(-60, 2, False), (-120, 2, False), (480, -8, True)]
)
def test_a_configured_zone_decides_where_it_has_the_offset_of_the_log(
    tmp_path: Path, west: int, hours: int, told: bool
) -> None:
    samples = [(NOON + hours * 3600, [counted(0, 1)])]
    path = write_log(tmp_path / "a.blg", [READ], samples, west=west)
    source = perfmon_blg_source("a", [str(path)], timezone="Europe/Berlin")
    batches = list(source.poll(final=True))
    source.close()
    remarks = {remark for batch in batches for _, remark in batch.remarks}

    assert read_log(path, timezone="Europe/Berlin")[0][0].time == NOON
    assert ["contradicts" in remark for remark in remarks] == [True] * told


def test_a_total_stands_for_its_instance_until_that_is_in_the_log(tmp_path: Path) -> None:
    names = [f"Information Store - DB01/{each}" for each in ("_Total", "DB01")]
    object_name = "MSExchange-Datenbank ==> Instanzen"
    entry = Entry("EX01", object_name, "*", "Wartende Protokollthreads", 0x00010000)
    samples = [
        (NOON + n, [wildcard(filetime(NOON + n), [(name, 4, 0) for name in names[: n + 1]])])
        for n in range(2)
    ]
    readings, unreadable = read_log(write_log(tmp_path / "a.blg", [entry], samples))

    assert unreadable == []
    assert [(each.instance, each.feed.name) for each in readings if each.feed] == [
        (names[0], "DB01"), (names[1], "DB01"),
    ]  # fmt: skip
