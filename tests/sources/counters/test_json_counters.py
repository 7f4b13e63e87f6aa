"""Counters as lines of JSON: our own form and Telegraf's, recognised by content."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from esewatch.cli import main
from esewatch.ese.counters.counter_feeds import feed_of
from esewatch.model import Reading
from esewatch.sources.counters.json_counters import JsonCounters, is_counters

INSTANCES = "MSExchange Database ==> Instances"
SG06 = "Information Store/SG06"
OWN = {
    "time": "2007-06-16T01:00:15.500Z",
    "computer": "EX01",
    "object": INSTANCES,
    "instance": SG06,
    "counter": "Online Defrag Pages Read/sec",
    "value": 812.4,
    "kind": "rate",
    "metric": "ese_defrag_pages_read_total",
}
AT = 1181955615.0


def telegraf(
    given: Mapping[str, object] = MappingProxyType({}),
    *,
    object_name: str = INSTANCES,
    at: object = int(AT),
    **more: object,
) -> bytes:
    """A metric of win_perf_counters as outputs.kafka writes it with `data_format = "json"`."""
    tags = {"host": "COLLECTOR", "instance": SG06, "objectname": object_name, "source": "EX01"}
    metric = {"fields": {**given, **more}, "name": "ese", "tags": tags, "timestamp": at}
    return json.dumps(metric).encode() + b"\n"


def own(**changed: object) -> bytes:
    line = {key: value for key, value in {**OWN, **changed}.items() if value is not None}
    return json.dumps(line).encode() + b"\n"


def read(data: bytes, computer: str = "") -> tuple[list[Reading], list[str]]:
    fed = JsonCounters(computer).feed(data, final=True)
    assert fed.consumed == len(data)
    assert all(isinstance(each, Reading) for each in fed.records)
    return [each for each in fed.records if isinstance(each, Reading)], [
        reason for _, reason in fed.unreadable
    ]


def series(readings: list[Reading]) -> list[tuple[Any, ...]]:
    """What the fold takes of each."""
    return [
        (each.computer, each.time, each.kind, each.value, each.feed.metric, each.feed.name)
        for each in readings
        if each.feed
    ]


def test_an_own_line_is_the_reading_that_was_printed() -> None:
    readings, complaints = read(own())

    assert series(readings) == [
        ("EX01", AT + 0.5, "rate", 812.4, "ese_defrag_pages_read_total", "SG06")
    ]
    assert complaints == []


def test_what_counters_prints_of_a_log_is_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    column = f"\\\\EX01\\{INSTANCES}({SG06})\\"
    log = tmp_path / "perf.csv"
    log.write_text(
        f'"(PDH-CSV 4.0) (Coordinated Universal Time)(0)","{column}Online Defrag Pages Read/sec",'
        f'"{column}Log File Current Generation","\\\\EX01\\Memory\\Available Bytes"\r\n'
        '"06/16/2007 01:00:00.000","812.5","4711","9"\r\n'
        '"06/16/2007 01:00:15.000","5.25","4713","9"\r\n'
    )

    assert main(["counters", str(log), "--format", "json"]) == 0
    readings, complaints = read(capsys.readouterr().out.encode())

    assert series(readings) == [
        ("EX01", AT - 15, "rate", 812.5, "ese_defrag_pages_read_total", "SG06"),
        ("EX01", AT - 15, "total", 4711.0, "ese_log_generations_total", "SG06"),
        ("EX01", AT, "rate", 5.25, "ese_defrag_pages_read_total", "SG06"),
        ("EX01", AT, "total", 4713.0, "ese_log_generations_total", "SG06"),
    ]
    assert complaints == []


def test_a_stored_count_of_an_own_line_is_taken_and_its_value_may_be_missing() -> None:
    readings, complaints = read(own(kind="total", raw=4294967296123, value=None))

    assert [each.raw for each in readings] == [4294967296123]
    assert complaints == []


def test_a_raw_rate_of_telegraf_is_the_running_count_behind_it() -> None:
    readings, complaints = read(
        telegraf({"Online_Defrag_Pages_Read_persec_Raw": 4200, "I/O_Log_Writes_persec_Raw": 7})
    )

    assert series(readings) == [
        ("EX01", AT, "total", 4200.0, "ese_defrag_pages_read_total", "SG06"),
        ("EX01", AT, "total", 7.0, "ese_log_io_total", "SG06"),
    ]
    assert complaints == []


def test_levels_of_telegraf_are_read_formatted_and_a_plain_one_raw_too() -> None:
    formatted, _ = read(telegraf({"I/O_Database_Reads_(Attached)_Average_Latency": 7.25}))
    raw, _ = read(telegraf(Log_Generation_Checkpoint_Depth_Raw=20))

    assert series(formatted) == [
        ("EX01", AT, "level", 7.25, "ese_io_latency_seconds", "SG06"),
    ]
    assert series(raw) == [("EX01", AT, "level", 20.0, "ese_checkpoint_depth_logs", "SG06")]


def test_a_raw_mean_is_a_sum_without_its_base_and_no_value() -> None:
    readings, complaints = read(
        telegraf({"I/O_Database_Reads_(Attached)_Average_Latency_Raw": 123456789})
    )

    assert readings == []
    assert complaints == []


def test_a_formatted_rate_of_telegraf_is_refused_with_the_setting_that_gives_the_count() -> None:
    readings, complaints = read(
        telegraf(Online_Defrag_Pages_Read_persec=812.4, Log_Generation_Checkpoint_Depth=20)
    )

    assert [each.counter for each in readings] == ["Log Generation Checkpoint Depth"]
    assert len(complaints) == 1
    assert "Online_Defrag_Pages_Read_persec" in complaints[0]
    assert "UseRawValues" in complaints[0]


def test_processor_time_of_the_computer_is_read_from_telegraf() -> None:
    line = telegraf(object_name="Processor", Percent_Processor_Time=12.5)
    readings, _ = read(line.replace(SG06.encode(), b"_Total"))

    assert [(each.computer, each.feed.metric) for each in readings if each.feed] == [
        ("EX01", "ese_host_processor_ratio")
    ]


@pytest.mark.parametrize("digits", [3, 6, 9])
def test_a_time_of_telegraf_in_smaller_units_is_the_same_moment(digits: int) -> None:
    readings, _ = read(
        telegraf(at=int(AT) * 10**digits, Online_Defrag_Pages_Read_persec_Raw=1),
    )

    assert [each.time for each in readings] == [AT]


def test_without_a_source_the_host_is_the_computer_and_without_both_the_configured_one() -> None:
    line = telegraf(Online_Defrag_Pages_Read_persec_Raw=1)
    of_host = line.replace(b', "source": "EX01"', b"")
    of_nobody = of_host.replace(b'"host": "COLLECTOR", ', b"")

    assert [each.computer for each in read(of_host)[0]] == ["COLLECTOR"]
    assert [each.computer for each in read(of_nobody, "ex07")[0]] == ["ex07"]
    assert [each.computer for each in read(own(computer=None), "ex07")[0]] == ["ex07"]
    for line in (of_nobody, own(computer=None)):
        readings, complaints = read(line)
        assert readings == []
        assert complaints == ["names no computer"]


def test_the_counters_that_the_page_gives_telegraf_all_feed_a_metric() -> None:
    page = (Path(__file__).parents[3] / "docs" / "shippers.md").read_text()
    [recipe] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    plugin = tomllib.loads(recipe)["inputs"]["win_perf_counters"][0]
    asked = [
        (each["ObjectName"], name, each.get("UseRawValues", False))
        for each in plugin["object"]
        for name in each["Counters"]
    ]

    assert len(asked) > 10
    for object_name, name, raw in asked:
        # As Telegraf does it: `/sec`, blanks and percent signs.
        field = name.replace("/sec", "_persec").replace(" ", "_").replace("%", "Percent")
        line = telegraf({field + "_Raw" * raw: 5}, object_name=object_name)
        readings, complaints = read(line)
        assert [each.counter for each in readings] == [name]
        assert complaints == []


def test_free_space_of_a_volume_is_read_from_telegraf_as_from_a_counter_log() -> None:
    line = telegraf({"Free_Megabytes": 120}, object_name="LogicalDisk").replace(
        SG06.encode(), b"L:"
    )

    (found,), complaints = read(line)

    assert complaints == []
    assert (found.counter, found.value, found.kind) == ("Free Megabytes", 120.0, "level")
    assert found.feed == feed_of("LogicalDisk", "L:", "Free Megabytes")


def test_counters_that_feed_nothing_are_passed_over_and_unknown_ones_told() -> None:
    other = telegraf(object_name="Memory", Available_Bytes=9)
    unknown = telegraf(Colour_Raw=9)
    total = telegraf(Online_Defrag_Pages_Read_persec_Raw=1).replace(SG06.encode(), b"_Total")

    assert read(other + unknown + total + own(object="Memory", counter="Available Bytes")) == (
        [],
        [f"1 counter of {INSTANCES} is not known, such as Colour"],
    )


@pytest.mark.parametrize(
    "line",
    [
        own()[:180] + b"\n",
        own(time="yesterday"),
        own(time="2007-06-16T01:00:15"),
        own(value="many"),
        own(value=None),
        own(kind="speed"),
        own(raw=1.5),
        own(raw=10**400),
        own().replace(b"812.4", b"1e999"),
        telegraf(Online_Defrag_Pages_Read_persec_Raw=1)[:-40] + b"\n",
        telegraf(Online_Defrag_Pages_Read_persec_Raw="many"),
        telegraf(Online_Defrag_Pages_Read_persec_Raw=-1),
        telegraf(at="2007-06-16", Online_Defrag_Pages_Read_persec_Raw=1),
        telegraf(Online_Defrag_Pages_Read_persec_Raw=10**400),
        telegraf(at=10**400, Online_Defrag_Pages_Read_persec_Raw=1),
        telegraf(at=0, Online_Defrag_Pages_Read_persec_Raw=1),
        telegraf(at=-5, Online_Defrag_Pages_Read_persec_Raw=1),
    ],
)
def test_a_damaged_line_is_one_complaint_and_the_next_is_read(line: bytes) -> None:
    assert is_counters(line)

    readings, complaints = read(line + own())

    assert len(readings) == 1
    assert len(complaints) == 1


def test_counters_are_recognised_by_content_and_events_are_not_taken_for_them() -> None:
    examples = Path(__file__).parents[1] / "logs" / "formats" / "examples"
    events = [path.read_bytes() for path in sorted(examples.glob("*.json*"))]
    security = b'{"winlog":{"event_id":4663,"event_data":{"ObjectName":"C:","fields":"x"}}}'
    quoted = json.dumps({"provider": "ESE", "event_id": 1, "message": own().decode()}).encode()

    assert is_counters(own())
    assert is_counters(json.dumps(OWN, separators=(",", ":")).encode())
    assert is_counters(telegraf(a=1))
    assert is_counters(telegraf(a=1).replace(b" ", b""))
    assert len(events) >= 8
    assert not any(map(is_counters, [*events, security, quoted, b"", b"counter"]))


def test_a_counter_of_another_kind_than_its_own_feeds_nothing() -> None:
    line = json.dumps({**OWN, "counter": "Log Threads Waiting", "kind": "total"}).encode() + b"\n"
    fed = JsonCounters().feed(line, final=True)

    assert (fed.records, fed.unreadable) == ([], [])


def test_german_names_of_telegraf_are_read_and_unknown_ones_are_told_once() -> None:
    named = "MSExchange-Datenbank  ==> Instanzen"
    fields = {"Wartende_Protokollthreads": 4, "E/A:_Protokollschreiboperationen/Sek_Raw": 9}
    line = telegraf(fields, object_name=named, Zähler_eins=1, Zähler_zwei=1)
    readings, complaints = read(line + line)

    assert series(readings) == 2 * [
        ("EX01", AT, "level", 4.0, "ese_log_threads_waiting", "SG06"),
        ("EX01", AT, "total", 9.0, "ese_log_io_total", "SG06"),
    ]
    assert complaints == [f"2 counters of {named} are not known, such as Zähler eins"]


def test_a_total_stands_for_an_instance_without_samples_of_its_own() -> None:
    read_of = [own(instance=f"Information Store - DB01/{name}") for name in ("_Total", "DB01")]
    assert [each.instance for each in read(read_of[0])[0]] == ["Information Store - DB01/_Total"]
    assert [each.instance for each in read(b"".join(read_of))[0]] == [
        "Information Store - DB01/DB01"
    ]
