"""Databases by device on a real Prometheus: shared, unknown and several devices, two agents."""

import json
import urllib.error
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from dashboards.build import render
from dashboards.by_device import (
    AT_ONCE,
    AT_WORK,
    SCANNED_AT_ONCE,
    by_device,
    copies,
    of_instances,
)
from dashboards.parts import COMPUTER
from dashboards.storage import STORAGE
from tests.dashboards.boards import Json, Span, interpolated, panels, queries
from tests.e2e.harness import Prometheus, get, serving
from tests.rules.quality.backfill import load, record

pytestmark = pytest.mark.e2e

BOARD: Json = json.loads(render(STORAGE))
JUST_RENAMED = 2 + 4 / 60
"""An hour at which both names are there."""
PLACED_ON = "database:ese_database_device_info:placed"
BEGIN = 1_800_000_000 // 86400 * 86400
HOUR = 3600
LENGTH = 6 * HOUR
STEP = 120
SHARING = Span(BEGIN + 2 * HOUR, BEGIN + 3 * HOUR, 300.0, 300.0)


class Lies(NamedTuple):
    """A database of the data, where it lies and when it is scanned (hours)."""

    computer: str
    database: str
    ese_instance: str
    role: str
    devices: Sequence[str]
    scanned: tuple[float, float]
    agents: Sequence[str] = ("one:9860", "two:9860")


DATABASES = (
    Lies("ex01", "e:\\db1.edb", "SG1", "active", ["disk0"], (1, 3)),
    Lies("ex01", "e:\\db2.edb", "SG2", "active", ["disk0"], (2, 4)),
    Lies("ex01", "f:\\db3.edb", "SG1", "active", ["disk1"], (1, 4)),
    Lies("ex02", "e:\\db1.edb", "SG1", "passive", [], (1, 4), ("one:9860",)),
    Lies("ex02", "g:\\db4.edb", "SG4", "active", ["disk0", "disk2"], (1, 4), ("one:9860",)),
)
RENAMED = BEGIN + 2 * HOUR
"""From then on the second database has another name; the series of the old one just ends."""


def series() -> Iterator[tuple[str, Mapping[str, str], Mapping[int, float]]]:
    """(metric, labels, value by time)."""
    times = range(BEGIN, BEGIN + LENGTH + 1, STEP)
    for lies in DATABASES:
        begin, end = (BEGIN + hour * HOUR for hour in lies.scanned)
        scan = {time: float(begin <= time < end) for time in times}
        defrag = {time: float(time < BEGIN + HOUR) for time in times}
        for agent in lies.agents:
            of_agent = {"job": "esewatch", "instance": agent, "computer": lies.computer}
            own = {**of_agent, "database": lies.database}
            info = {
                **own,
                "ese_instance": lies.ese_instance,
                "role": lies.role,
                "tier": "watched",
                "database_name": lies.database[3:6],
            }
            if lies.database == "e:\\db2.edb":
                yield "ese_database_info", info, {t: 1.0 for t in times if t <= RENAMED}
                renamed = {t: 1.0 for t in times if t > RENAMED}
                yield "ese_database_info", {**info, "database_name": "new"}, renamed
            else:
                yield "ese_database_info", info, dict.fromkeys(times, 1.0)
            for device in lies.devices:
                on = {**own, "device": device}
                yield "ese_database_device_info", on, dict.fromkeys(times, 1.0)
            yield "ese_pass_running", {**own, "task": "checksum"}, scan
            yield "ese_pass_running", {**own, "task": "zeroing"}, dict.fromkeys(times, 0.0)
            yield "ese_pass_running", {**own, "task": "defrag"}, defrag
            yield "ese_backup_running", own, scan
            corrected = {**own, "kind": "corrected"}
            yield "ese_known_bad_pages", corrected, dict.fromkeys(times, 2.0)
            yield "ese_database_direct_attached", own, dict.fromkeys(times, 1.0)
            ended = {**own, "kind": "full"}
            yield "ese_backup_last_completion_timestamp_seconds", ended, dict.fromkeys(times, BEGIN)
    for agent, computer, instance in (
        ("one:9860", "ex01", "SG1"),
        ("two:9860", "ex01", "SG2"),
        ("one:9860", "ex02", "SG1"),
    ):
        own = {"job": "esewatch", "instance": agent, "computer": computer, "ese_instance": instance}
        yield "ese_replay_queue_logs", own, dict.fromkeys(times, 7.0)
    of_copy = {"job": "esewatch", "instance": "one:9860", "computer": "ex02"}
    of_copy |= {"ese_instance": "SG1", "operation": "read"}
    both = {**of_copy, "file": "database", "phase": "all"}
    yield "ese_io_latency_seconds", both, dict.fromkeys(times, 0.03)
    logs = {**of_copy, "file": "log", "phase": "recovery"}
    median = "ese_instance:ese_io_latency_seconds:median15m"
    yield median, logs, dict.fromkeys(times, 0.004)
    for process, size in (("Information Store", 3e9), ("lsass", 9e9)):
        own = {"job": "esewatch", "instance": "one:9860", "computer": "ex01", "process": process}
        yield "ese_cache_size_bytes", own, dict.fromkeys(times, size)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A server of the data."""
    folder: Path = tmp_path_factory.mktemp("placed")
    by_metric: dict[str, list[str]] = {}
    for metric, labels, values in series():
        text = ",".join(f"{name}={json.dumps(value)}" for name, value in labels.items())
        lines = by_metric.setdefault(metric, [f"# TYPE {metric} gauge"])
        lines += [f"{metric}{{{text}}} {value} {time}" for time, value in values.items()]
    text = "\n".join(line for lines in by_metric.values() for line in lines)
    (folder / "samples.txt").write_text(f"{text}\n# EOF\n")
    load(folder / "samples.txt", folder / "data")
    record(folder, folder / "data", BEGIN, BEGIN + LENGTH, {PLACED_ON})
    with serving(folder, folder / "data") as server:
        yield server


def answer(prometheus: Prometheus, kind: str, expression: str, **parameters: float) -> list[Json]:
    """What the server answers, `kind` being query or query_range; fails on a wrong expression."""
    query = urllib.parse.urlencode({"query": expression, **parameters})
    try:
        found = json.loads(get(f"{prometheus.url}/api/v1/{kind}?{query}"))
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{expression}: {error.read().decode()}") from error
    result: list[Json] = found["data"]["result"]
    return result


def asked(
    prometheus: Prometheus, expression: str, hour: float, **chosen: str
) -> list[tuple[dict[str, str], float]]:
    """The answer at an hour of the data with these variables chosen."""
    values = {name: [value] for name, value in chosen.items()}
    text = interpolated(expression, BOARD, SHARING, values)
    found = answer(prometheus, "query", text, time=BEGIN + hour * HOUR)
    return [(row["metric"], float(row["value"][1])) for row in found]


def at_work(
    prometheus: Prometheus, hour: float, **chosen: str
) -> dict[tuple[str, str, str], float]:
    """(computer, database, device) -> state, as the first agent has it."""
    return {
        (labels["computer"], labels["database"], labels["device"]): value
        for labels, value in asked(prometheus, AT_WORK, hour, **chosen)
        if labels["instance"] == "one:9860"
    }


def at_once(prometheus: Prometheus, hour: float, **chosen: str) -> dict[tuple[str, str], float]:
    """(computer, device) -> whether several databases are scanned, as the first agent has it."""
    return {
        (labels["computer"], labels["device"]): value
        for labels, value in asked(prometheus, AT_ONCE, hour, **chosen)
        if labels["instance"] == "one:9860"
    }


def test_a_scan_that_meets_another_on_its_device_is_told_from_one_alone(
    prometheus: Prometheus,
) -> None:
    rest = {
        ("ex01", "f:\\db3.edb", "disk1"): 2,
        ("ex02", "e:\\db1.edb", "unknown"): 2,
        ("ex02", "g:\\db4.edb", "disk0"): 2,
        ("ex02", "g:\\db4.edb", "disk2"): 2,
    }
    first, second = ("ex01", "e:\\db1.edb", "disk0"), ("ex01", "e:\\db2.edb", "disk0")

    assert at_work(prometheus, 1.5) == {first: 2, second: 0, **rest}
    assert at_work(prometheus, 2.5) == {first: 2, second: 2, **rest}
    assert at_work(prometheus, 3.5) == {first: 0, second: 2, **rest}
    assert set(at_work(prometheus, 0.5).values()) == {1}
    assert set(at_work(prometheus, 5).values()) == {0}
    rest_at_once = {("ex01", "disk1"): 0, ("ex02", "disk0"): 0, ("ex02", "disk2"): 0}
    for hour, several in ((0.5, 0), (1.5, 0), (2.5, 1), (3.5, 0)):
        assert at_once(prometheus, hour) == {("ex01", "disk0"): several, **rest_at_once}


def test_a_scan_meets_one_that_is_not_selected(prometheus: Prometheus) -> None:
    found = at_once(prometheus, 2.5, computer="ex01", database="e:\\db2.edb")

    assert found["ex01", "disk0"] == 1


def test_a_database_of_no_known_device_is_shown_only_where_all_devices_are(
    prometheus: Prometheus,
) -> None:
    found = at_work(prometheus, 2.5, device="disk0")

    assert {device for _, _, device in found} == {"disk0"}
    assert len(found) == 3


def test_scans_at_once_are_counted_once_however_many_agents_tell(prometheus: Prometheus) -> None:
    for hour, count in ((1.5, 0.0), (2.5, 2.0), (3.5, 0.0)):
        assert asked(prometheus, copies(SCANNED_AT_ONCE), hour) == [({}, count)]


def test_an_instance_is_chosen_by_any_of_its_databases(prometheus: Prometheus) -> None:
    expression = of_instances(f"ese_replay_queue_logs{{{COMPUTER}}}")

    assert len(asked(prometheus, expression, 1)) == 3
    for database in ("e:\\db1.edb", "f:\\db3.edb"):
        ((labels, value),) = asked(prometheus, expression, 1, computer="ex01", database=database)
        assert (labels["ese_instance"], value) == ("SG1", 7.0)
    assert len(asked(prometheus, expression, 1, device="disk1")) == 1


def test_rows_are_in_the_order_of_computers_and_devices(prometheus: Prometheus) -> None:
    text = interpolated(by_device(AT_WORK), BOARD, SHARING, {"instance": ["one:9860"]})
    times = {"start": SHARING.begin, "end": SHARING.end, "step": SHARING.step}
    rows = answer(prometheus, "query_range", text, **times)
    found = [(row["metric"]["computer"], row["metric"]["device"]) for row in rows]

    assert found == sorted(found)
    assert found[-1] == ("ex02", "unknown")


def test_corrected_pages_are_added_up_by_device(prometheus: Prometheus) -> None:
    (panel,) = [panel for panel in panels(BOARD) if panel["title"] == "Corrected pages"]
    found = asked(prometheus, panel["targets"][0]["expr"], 1, instance="one:9860")

    assert {(labels["computer"], labels["device"]): value for labels, value in found} == {
        ("ex01", "disk0"): 4,
        ("ex01", "disk1"): 2,
        ("ex02", "disk0"): 2,
        ("ex02", "disk2"): 2,
        ("ex02", "unknown"): 2,
    }


def test_what_a_passive_copy_does_not_tell_apart_is_recovery(prometheus: Prometheus) -> None:
    (panel,) = [panel for panel in panels(BOARD) if panel["title"] == "Latency of recovery"]
    found = asked(prometheus, panel["targets"][0]["expr"], 1)

    assert {labels["file"]: value for labels, value in found} == {"database": 0.03, "log": 0.004}


CHOICES: list[dict[str, str]] = [
    {},
    {"computer": "ex01", "database": "e:\\db2.edb"},
    {"device": "disk0"},
    {"computer": "nowhere"},
]


@pytest.mark.parametrize("chosen", CHOICES, ids=[" ".join(each) or "all" for each in CHOICES])
def test_no_query_fails_and_none_shows_what_is_not_chosen(
    prometheus: Prometheus, chosen: dict[str, str]
) -> None:
    of_board = [each for each in queries() if each.board["uid"] == STORAGE.uid]
    assert of_board

    for query in of_board:
        for hour in (1.5, JUST_RENAMED):
            found = asked(prometheus, query.target["expr"], hour, **chosen)
            for name, value in chosen.items():
                shown = {labels[name] for labels, _ in found if name in labels}
                assert shown <= {value}, query.name
            if chosen.get("computer") == "nowhere":
                assert found == [], query.name
