"""Each event has the parameters that the agent's catalogue of the real ones expects."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eselab.base.trouble import SlowRequest, Trouble
from eselab.logs.reports import (
    DefragSummary,
    Reports,
    ScanSummary,
    ZeroingSummary,
    days,
    short_date,
)
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.model import Event
from tests.eselab.logging_engine import START, Logs, path_of
from tests.eselab.logs.test_event_log import read

DAY = 86400.0
DEFRAG = DefragSummary(
    pages_freed=42794,
    started=START - 3.9 * DAY,
    ended=START,
    seconds=124_919.8,
    invocations=7,
    completions=14,
    first_started=START - 73.2 * DAY,
)
SCAN = ScanSummary(
    started=START - 100,
    ended=START,
    seconds=208.2,
    invocations=2,
    pages_seen=5850768,
    bad_checksums=1,
    uninitialized=72682,
)


def bad(kind: str, **changes: Any) -> Trouble:
    given = {"number": 430, "kind": kind, "offset": 431 * 8192, "bytes": 8192, **changes}
    return msgspec.convert(given, Trouble)


def slow(operation: str, **changes: Any) -> SlowRequest:
    given = {"file": "/d/db1.edb", "operation": operation, "offset": 8192, "bytes": 4096}
    return msgspec.convert({**given, "seconds": 17.9, **changes}, SlowRequest)


def reported(folder: Path, report: Callable[[Reports], None]) -> tuple[Event, int]:
    """The event as the agent reads it, and its category."""
    logs = Logs(folder, instances=1)
    report(logs.reports["db1"])
    logs.close()
    (event,) = read(folder)
    line = msgspec.json.decode((folder / "events.jsonl").read_bytes())
    return event, line["Event"]["System"]["Task"]


PLACE = {"offset": 431 * 8192, "bytes": 8192, "page_number": 430}
FIELDS: list[tuple[int, int, Callable[[Reports], None], dict[str, Any]]] = [
    (105, 1, lambda r: r.instance_started(3.9), {"instance_number": 0, "seconds": 3}),
    (103, 1, lambda r: r.instance_stopped(), {"instance_number": 0}),
    (300, 3, lambda r: r.recovery_begun(), {}),
    (301, 3, lambda r: r.log_replayed("a/E0000000005.log"), {"log_file": "a/E0000000005.log"}),
    (302, 3, lambda r: r.recovery_done(), {}),
    (325, 1, lambda r: r.database_created(2.0), {"database_number": 1, "seconds": 2}),
    (326, 1, lambda r: r.database_attached(2.0), {"database_number": 1, "seconds": 2}),
    (327, 1, lambda r: r.database_detached(2.0), {"database_number": 1, "seconds": 2}),
    (700, 10, lambda r: r.defrag_begun(), {}),
    (
        702,
        10,
        lambda r: r.defrag_resumed(START - 2.5 * DAY),
        {"pass_started": "6/14/2007", "days": 2},
    ),
    (
        703,
        10,
        lambda r: r.defrag_completed(DEFRAG, resumed=True),
        {
            "pages_freed": 42794,
            "pass_started": "6/12/2007",
            "seconds": 124919,
            "invocations": 7,
            "days": 3,
            "completions": 14,
            "lifetime_days": 73,
        },
    ),
    (704, 10, lambda r: r.defrag_interrupted(), {}),
    (705, 10, lambda r: r.defrag_failed(-1018), {"error": -1018}),
    (717, 10, lambda r: r.scan_begun(), {}),
    (719, 10, lambda r: r.scan_resumed(START - 5), {"pass_started": "6/16/2007", "days": 1}),
    (
        721,
        10,
        lambda r: r.scan_completed(SCAN),
        {
            "pass_started": "6/16/2007",
            "seconds": 208,
            "invocations": 2,
            "days": 1,
            "pages_seen": 5850768,
            "bad_checksums": 1,
            "uninitialized_pages": 72682,
        },
    ),
    (723, 10, lambda r: r.scan_failed(-1022, 9.9), {"error": -1022, "seconds": 9}),
    (725, 10, lambda r: r.scan_interrupted(), {}),
    (718, 10, lambda r: r.zeroing_begun(), {}),
    (720, 10, lambda r: r.zeroing_resumed(START - 5), {"pass_started": "6/16/2007", "days": 1}),
    (
        722,
        10,
        lambda r: r.zeroing_completed(
            ZeroingSummary(scan=SCAN, unchanged=4379723, unused=33759, used=1210764, deleted=57214)
        ),
        {
            "pass_started": "6/16/2007",
            "seconds": 208,
            "invocations": 2,
            "days": 1,
            "pages_seen": 5850768,
            "bad_checksums": 1,
            "uninitialized_pages": 72682,
            "pages_unchanged": 4379723,
            "unused_pages_zeroed": 33759,
            "used_pages_seen": 1210764,
            "deleted_records_zeroed": 57214,
            "unreferenced_chunks_zeroed": 0,
        },
    ),
    (724, 10, lambda r: r.zeroing_failed(-1022, 9.9), {"error": -1022, "seconds": 9}),
    (726, 10, lambda r: r.zeroing_interrupted(), {}),
    (399, 2, lambda r: r.page_error(bad("corrected", bit=77)), {**PLACE, "bit": 77}),
    (
        398,
        2,
        lambda r: r.page_error(bad("correction_failed", bit=77)),
        {**PLACE, "bit": 77, "error": -1018},
    ),
    (
        474,
        2,
        lambda r: r.page_error(bad("checksum", stored=(0xAB,), computed=(1, 2, 3, 4))),
        {
            **PLACE,
            "error": -1018,
            "expected": "[00000000000000ab]",
            "actual": "[0000000000000001:0000000000000002:0000000000000003:0000000000000004]",
        },
    ),
    (
        475,
        2,
        lambda r: r.page_error(bad("wrong_page", written_as=17)),
        {**PLACE, "error": -1118, "expected": 430, "actual": 17},
    ),
    (476, 2, lambda r: r.page_error(bad("no_data")), {**PLACE, "error": -1019}),
    (
        530,
        2,
        lambda r: r.page_error(bad("lost_flush", flush_type=1, expected_type=2)),
        {**PLACE, "error": -1119, "page_flush_state": "1", "map_flush_state": "2"},
    ),
    (507, 7, lambda r: r.slow_request(slow("read")), {"operation": "read", "seconds": 17}),
    (508, 7, lambda r: r.slow_request(slow("write")), {"operation": "write", "seconds": 17}),
    (
        509,
        7,
        lambda r: r.slow_request(slow("read", others=4, since=61.9)),
        {"operation": "read", "seconds": 17, "suppressed": 4},
    ),
    (
        510,
        7,
        lambda r: r.slow_request(slow("write", others=0, since=61.9)),
        {"operation": "write", "seconds": 17, "suppressed": 0},
    ),
]


@pytest.mark.parametrize(
    ("event_id", "category", "report", "fields"), FIELDS, ids=[str(row[0]) for row in FIELDS]
)
def test_the_agent_reads_every_parameter(
    tmp_path: Path,
    event_id: int,
    category: int,
    report: Callable[[Reports], None],
    fields: dict[str, Any],
) -> None:
    event, task = reported(tmp_path, report)

    assert (event.event_id, task) == (event_id, category)
    assert event.level == CATALOGUE[event_id].level
    assert {name: event.fields.get(name) for name in fields} == fields


def test_701_is_the_same_as_703_of_a_pass_that_was_never_resumed(tmp_path: Path) -> None:
    event, _ = reported(tmp_path, lambda reports: reports.defrag_completed(DEFRAG, resumed=False))

    assert event.event_id == 701
    assert event.fields["pages_freed"] == 42794


def test_102_names_the_instance_and_the_version(tmp_path: Path) -> None:
    event, category = reported(tmp_path, Reports.instance_starting)

    assert (event.event_id, category) == (102, 1)
    assert len(event.strings) == 8
    assert event.fields["instance_number"] == 0


def test_numbers_are_printed_as_the_engine_prints_them(tmp_path: Path) -> None:
    trouble = bad("checksum", stored=(1,), computed=(2,))
    event, _ = reported(tmp_path, lambda reports: reports.page_error(trouble))

    assert event.strings[3:] == (
        path_of(tmp_path, "db1"),
        "3530752 (0x000000000035e000)",
        "8192 (0x00002000)",
        "-1018 (0xfffffc06)",
        "[0000000000000001]",
        "[0000000000000002]",
        "430 (0x1AE)",
    )


def test_days_are_whole_elapsed_ones_and_at_least_one() -> None:
    ended = (0, 0.5, 1.99, 2.0, 40.5)
    assert [days(0.0, end * DAY) for end in ended] == ["1", "1", "1", "2", "40"]


def test_a_short_date_is_that_of_utc() -> None:
    assert short_date(1_182_038_399.0) == "6/16/2007"
    assert short_date(1_182_038_400.0) == "6/17/2007"
