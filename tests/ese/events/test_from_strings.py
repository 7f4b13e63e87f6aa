"""Events from positional strings, with the figures of the published examples."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.catalogue.event_row import Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.dates import DateOrder
from esewatch.ese.providers import is_ese_provider
from esewatch.model import Event, FieldValue
from tests.support.decoding import event_from_strings
from tests.support.samples import sample

PRIV06 = "e:\\MDB06\\priv06.edb"
PRIV3 = "J:\\sg3\\priv3.edb"


def ese(
    event_id: int,
    *params: str,
    prefix: tuple[str, ...] = ("MSExchangeIS", "3392", "SG06: "),
    order: DateOrder | None = None,
) -> Event:
    """The event of provider ESE with these parameters from %4 on."""
    event = event_from_strings(
        provider="ESE", event_id=event_id, strings=(*prefix, *params), date_order=order
    )
    assert event is not None
    return event  # fmt: skip


def test_the_published_703_has_exactly_its_figures() -> None:
    event = ese(703, PRIV06, "42794", "6/16/2007", "124919", "7", "4", "14", "73")
    assert (event.process, event.ese_instance, event.database) == ("MSExchangeIS", "SG06", PRIV06)
    assert (event.task, event.stage, event.level) == ("defrag", "completed", "information")
    assert event.fields == {
        "pages_freed": 42794, "pass_started": "6/16/2007", "pass_started_date": "2007-06-16",
        "seconds": 124919, "invocations": 7, "days": 4, "completions": 14, "lifetime_days": 73,
    }  # fmt: skip


def test_the_published_721_has_exactly_its_figures() -> None:
    event = ese(721, PRIV3, "6/19/2007", "208", "2", "1", "5850768", "0", "72682")
    assert (event.database, event.task, event.stage) == (PRIV3, "checksum", "completed")
    assert event.fields == {
        "pass_started": "6/19/2007", "pass_started_date": "2007-06-19", "seconds": 208,
        "invocations": 2, "days": 1, "pages_seen": 5850768, "bad_checksums": 0,
        "uninitialized_pages": 72682,
    }  # fmt: skip


def test_the_published_722_has_exactly_its_figures() -> None:
    event = ese(722, PRIV3, "6/20/2007", "369", "1", "1", "5850768", "0", "72681", "4379723",
                "33759", "1210764", "57214", "0")  # fmt: skip
    assert (event.database, event.task, event.stage) == (PRIV3, "zeroing", "completed")
    assert event.fields == {
        "pass_started": "6/20/2007", "pass_started_date": "2007-06-20", "seconds": 369,
        "invocations": 1, "days": 1, "pages_seen": 5850768, "bad_checksums": 0,
        "uninitialized_pages": 72681, "pages_unchanged": 4379723, "unused_pages_zeroed": 33759,
        "used_pages_seen": 1210764, "deleted_records_zeroed": 57214,
        "unreferenced_chunks_zeroed": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "extra", "ours"),
    [
        ("ESE", (), True), ("esent", (), True), ("NTDS ISAM", (), True), ("Ese Backup", (), True),
        (" ESENT ", (), True), ("MSExchangeIS", (), False), ("", (), False),
        ("MyEseApp", ("MYESEAPP",), True), ("Other", ("MYESEAPP",), False),
        ("ESE97", (), False), ("ADAM [instance1] ISAM", (), True),
        ("adam [Shop 2] isam", (), True), ("ADAM [instance1] General", (), False),
        ("ADAM ISAM", (), False), ("ADAM [] ISAM", (), False), ("ADAM [a] ISAM x", (), False),
    ],
)  # fmt: skip
def test_providers_are_compared_without_case(name: str, extra: tuple[str, ...], ours: bool) -> None:
    assert is_ese_provider(name, extra) is ours


def test_an_event_of_another_provider_is_not_ours() -> None:
    assert event_from_strings(provider="MSExchangeIS", event_id=703, strings=("a", "1", "")) is None


def test_a_provider_of_the_operator_is_ours() -> None:
    event = event_from_strings(
        provider="MyApp", event_id=700, strings=("a", "1", "", "x.edb"), extra_providers=["MYAPP"]
    )
    assert event is not None and event.database == "x.edb"


@pytest.mark.parametrize(
    ("second", "state", "version"),
    [("3392", "", ""), ("5960,D,50", "D", ""), ("5960,R,50,15.01.2507.012", "R", "15.01.2507.012")],
)
def test_the_process_string_gives_state_and_version(second: str, state: str, version: str) -> None:
    event = ese(700, PRIV06, prefix=("Information Store", second, "DB01: "))
    assert (event.process, event.instance_state, event.engine_version, event.ese_instance) == (
        "Information Store", state, version, "DB01",
    )  # fmt: skip


def test_an_empty_instance_is_unknown() -> None:
    event = ese(327, "2", PRIV06, "0", "[1] 0.000.", "0 0", prefix=("NTDS", "3392", ""))
    assert (event.ese_instance, event.database) == ("", PRIV06)
    assert event.fields == {"database_number": 2, "seconds": 0}


def test_a_dropped_empty_instance_does_not_shift_the_parameters() -> None:
    event = ese(700, PRIV06, prefix=("NTDS", "3392"))
    assert (event.process, event.ese_instance, event.database) == ("NTDS", "", PRIV06)


def test_a_missing_trailing_parameter_is_absent() -> None:
    assert ese(701, PRIV06).fields == {}
    assert ese(701, PRIV06, "5").fields == {"pages_freed": 5}
    assert ese(103, "0").fields == {"instance_number": 0}


def test_further_parameters_are_ignored() -> None:
    assert ese(704, PRIV06, "a", "b", "c").fields == {}


def test_a_parameter_that_does_not_parse_is_absent() -> None:
    event = ese(701, PRIV06, "many", "6/16/2007", "12", "x", "4", "14")
    assert event.fields["seconds"] == 12
    assert "pages_freed" not in event.fields and "invocations" not in event.fields


def test_a_configured_date_order_decides() -> None:
    assert ese(702, PRIV06, "6/7/2007", "3").fields == {"pass_started": "6/7/2007", "days": 3}
    fields = ese(702, PRIV06, "6/7/2007", "3", order="dmy").fields
    assert fields["pass_started_date"] == "2007-07-06"


@pytest.mark.parametrize(
    ("event_id", "params"),
    [(531, ("17", PRIV06)), (752, ("17", PRIV06, "3")), (905, ("17 (0x11)", PRIV06)),
     (911, ("17", "19", PRIV06)), (447, ("-327", "5", "9", PRIV06)), (448, ("T", PRIV06)),
     (467, ("I", "T", PRIV06, "d")), (217, ("-1022", PRIV06)), (218, ("-1022", PRIV06)),
     (216, ("c:\\old.edb", PRIV06))],
)  # fmt: skip
def test_the_database_is_found_wherever_it_stands(event_id: int, params: tuple[str, ...]) -> None:
    assert ese(event_id, *params).database == PRIV06


PAGE = ("126976 (0x000000000001f000)", "4096 (0x00001000)")


@pytest.mark.parametrize(
    ("event_id", "params", "fields"),
    [
        (398, ("-1206 (0xfffffb4a)", "77", "30 (0x1E)"), {"error": -1206, "bit": 77}),
        (399, ("77", "30 (0x1E)"), {"bit": 77}),
        (474, ("-1018 (0xfffffc06)", "[00ff]", "[00fe]", "30 (0x1E)"),
         {"error": -1018, "expected": "[00ff]", "actual": "[00fe]"}),
        (475, ("-1118 (0xfffffba2)", "30 (0x1E)", "31 (0x1F)"),
         {"error": -1118, "expected": 30, "actual": 31}),
        (476, ("-1019 (0xfffffc05)", "30 (0x1E)"), {"error": -1019}),
        (530, ("-1119 (0xfffffba1)", "30 (0x1E)", "1", "2", "3", "c"),
         {"error": -1119, "page_flush_state": "1", "flush_map_page": 2, "map_flush_state": "3",
          "context": "c"}),
    ],
)  # fmt: skip
def test_a_page_error_names_its_page(
    event_id: int, params: tuple[str, ...], fields: dict[str, FieldValue]
) -> None:
    event = ese(event_id, PRIV06, *PAGE, *params)
    assert event.database == PRIV06
    assert event.fields == {
        "file": PRIV06, "offset": 126976, "bytes": 4096, "page_number": 30, **fields,
    }  # fmt: skip


def test_a_474_without_page_number_has_it_from_the_offset() -> None:
    event = ese(474, PRIV06, *PAGE, "-1018 (0xfffffc06)", "1 (0x1)", "2 (0x2)")
    assert event.fields["page_number"] == 30


def test_a_727_has_its_page() -> None:
    event = ese(727, PRIV06, "126976 (0x000000000001f000)", "30 (0x1E)")
    assert event.fields == {"file": PRIV06, "offset": 126976, "page_number": 30}


def test_an_error_of_a_log_has_a_file_and_no_database() -> None:
    event = ese(509, "E:\\E00.log", *PAGE, "36", "4", "600")
    assert event.database == ""
    assert event.fields == {
        "operation": "read", "file": "E:\\E00.log", "offset": 126976, "bytes": 4096,
        "seconds": 36, "suppressed": 4, "since_seconds": 600,
    }  # fmt: skip


def test_an_io_error_has_its_seconds_as_a_fraction() -> None:
    event = ese(481, PRIV06, *PAGE, "-1022 (0xfffffc02)", "23 (0x00000017)", "Data error.", "0.015")
    assert event.fields["seconds"] == 0.015
    assert (event.fields["error"], event.fields["system_error"]) == (-1022, 23)
    assert event.database == PRIV06


def test_the_runtime_stats_are_those_of_the_last_run() -> None:
    event = ese(737, PRIV06, "6/16/2007 1:00:00 AM", "99", "1000", "250, 1", "70", "8", "60", "9")
    assert event.fields == {
        "pass_started": "6/16/2007 1:00:00 AM", "pass_started_date": "2007-06-16", "seconds": 99,
        "pages_seen": 1000, "run_pages": 250, "run_bad_checksums": 1, "record_page_free_bytes": 70,
        "record_pages": 8, "lv_page_free_bytes": 60, "lv_pages": 9,
    }  # fmt: skip


def test_a_scan_that_never_ran_has_no_stats() -> None:
    assert ese(745, PRIV06, "12 (0xC)", "-", "-, -").fields == {"stopped_page": 12}


def test_partial_scans_are_marked() -> None:
    assert ese(746, PRIV06, "-").fields == {"partial": 1}
    fields = ese(747, PRIV06, "12", " / 1000 = 1.20", "5 (0x5)", "17 (0x11)").fields
    assert fields == {
        "partial": 1, "pages_skipped": 12, "owned_pages": 1000, "skipped_percent": 1.2,
        "previous_stop_page": 5, "resume_page": 17,
    }  # fmt: skip


def test_a_repair_of_several_pages_names_the_first_and_the_last() -> None:
    assert ese(905, "17 (0x11)", PRIV06).fields == {"page_number": 17}
    fields = ese(911, "17 (0x11)", "19 (0x13)", PRIV06).fields
    assert fields == {"page_number": 17, "last_page_number": 19}


def test_a_shrink_has_its_time_in_seconds() -> None:
    assert ese(748, PRIV06, "2", "5").fields == {"seconds": 125}


def test_a_backup_file_has_its_size() -> None:
    event = ese(220, PRIV06, "2 Mb")
    assert (event.database, event.task) == (PRIV06, "backup")
    assert event.fields == {"file": PRIV06, "bytes": 2097152}


def test_a_replayed_log_has_its_seconds() -> None:
    event = ese(301, "E:\\E0000001.log", "\n[1] 0.801288 -0.3 (2) CM.", "Insert   ", "19357")
    assert event.fields == {
        "log_file": "E:\\E0000001.log", "seconds": 0.801288, "record_type": "Insert",
        "records": 19357,
    }  # fmt: skip


def test_an_unknown_id_keeps_its_strings_and_has_no_fields() -> None:
    event = ese(31999, "a", "b")
    assert event.strings == ("MSExchangeIS", "3392", "SG06: ", "a", "b")
    assert (event.process, event.ese_instance, event.fields) == ("MSExchangeIS", "SG06", {})
    assert event.level is None and event.task is None


@pytest.mark.parametrize("strings", [(), ("x",), ("x", "y"), ("x", "y", "z"), ("", "", "z", "1")])
def test_strings_of_another_shape_give_nothing_but_themselves(strings: tuple[str, ...]) -> None:
    event = event_from_strings(provider="ESENT", event_id=701, strings=strings)
    assert event is not None
    assert (event.process, event.ese_instance, event.database, event.fields) == ("", "", "", {})
    assert event.strings == strings


def test_a_page_error_in_one_string_still_names_its_page() -> None:
    text = f'a (1) b: "{PRIV06}" {PAGE[0]} {PAGE[1]} -1018 (0xfffffc06)'
    event = event_from_strings(provider="ESE", event_id=474, strings=(text,))
    assert event is not None and event.database == PRIV06
    assert event.fields == {
        "file": PRIV06, "offset": 126976, "bytes": 4096, "error": -1018, "page_number": 30,
    }  # fmt: skip


def test_what_the_input_says_is_kept() -> None:
    event = event_from_strings(
        provider="esent", event_id=700, strings=("a", "1", "", "x"), time=12.5, computer="EX01",
        channel="Application", record_id=7, level="warning",
    )  # fmt: skip
    assert event is not None
    assert (event.provider, event.time, event.computer, event.channel, event.record_id) == (
        "esent", 12.5, "EX01", "Application", 7,
    )  # fmt: skip
    assert event.level == "warning"


def test_the_real_records_decode() -> None:
    lines = sample("evtx/parser-json-examples.jsonl").read_text(encoding="utf-8").splitlines()
    seen: dict[int, Event] = {}
    for line in lines:
        record = json.loads(line)["data"]["Event"]
        system, number = record["System"], record["System"]["EventID"]
        event = event_from_strings(
            provider=system["Provider"]["#attributes"]["Name"],
            event_id=number["#text"] if isinstance(number, dict) else number,
            strings=record["EventData"]["Data"]["#text"],
        )
        assert event is not None and event.process and event.event_id in CATALOGUE
        seen[event.event_id] = event
    assert len(seen) == 20
    assert seen[701].database.endswith("dfsr.db") and seen[701].ese_instance.endswith("dfsr.db")
    assert seen[701].fields == {
        "pages_freed": 0, "pass_started": "5/29/2023", "pass_started_date": "2023-05-29",
        "seconds": 0, "invocations": 1, "days": 1, "completions": 1,
    }  # fmt: skip
    assert seen[326].instance_state == "D" and seen[326].ese_instance == "Windows"
    assert seen[220].fields["bytes"] == 2097152


@given(
    st.sampled_from([*CATALOGUE, 0, 99999]),
    st.lists(st.text(max_size=40) | st.integers().map(str), max_size=20),
    st.booleans(),
)
def test_no_strings_break_an_event(event_id: int, params: list[str], prefixed: bool) -> None:
    strings = ["a", "1,D,2", "", *params] if prefixed else params
    event = event_from_strings(provider="ESE", event_id=event_id, strings=strings)
    assert event is not None and event.strings == tuple(strings)
    assert all(isinstance(value, (int, float, str)) for value in event.fields.values())


@given(st.data(), st.sampled_from([row for row in CATALOGUE.values() if row.params]))
def test_integers_of_every_event_are_read_back(data: st.DataObject, row: Any) -> None:
    params, expected = [], dict(row.constants)
    for param in row.params:
        if param.kind is Kind.INT:
            expected[param.name] = data.draw(st.integers(0, 2**62))
            params.append(
                data.draw(st.sampled_from(["{0}", "{0} (0x{0:x})"])).format(expected[param.name])
            )
        else:
            params.append("")
    event = ese(row.event_id, *params)
    derived = event.fields.keys() - expected.keys()
    assert derived <= {"page_number"}
    assert {name: event.fields[name] for name in expected} == expected  # fmt: skip
