"""Numbers, sizes, dates, paths and the process string, and the plan of a row."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.catalogue.event_row import Kind
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.dates import ORDERS, DateOrder
from esewatch.ese.strings import (
    WRITERS,
    Fields,
    Process,
    add_page_number,
    is_database_path,
    parse_count,
    parse_error,
    parse_instance,
    parse_int,
    parse_path,
    parse_process,
)
from tests.support.decoding import event_from_strings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("123", 123), (" 123 ", 123), ("123 (0x7b)", 123), ("123 (0x7B)", 123), ("-5", -5),
        ("+5", 5), ("5,850,768", 5850768), ("5.850.768", 5850768), ("5 850 768", 5850768),
        ("5\u00a0850\u00a0768", 5850768), ("5\u202f850\u202f768", 5850768),
        ("5'850'768", 5850768), ("58,50,768", 5850768), ("0x7b", 123),
        ("3846455296 (0x00000000e5444000)", 3846455296), ("-1018 (0xfffffc06)", -1018),
        ("9223372036854775807", 2**63 - 1),
    ],
)  # fmt: skip
def test_a_number_is_read_in_the_forms_of_the_engine_and_the_locales(
    text: str, expected: int
) -> None:
    assert parse_int(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "-", "-, -", "abc", "1,2", "1,23", "5,850.768", "9223372036854775808", "9" * 5000,
     "0x" + "f" * 16, "12 pages", "1.5e3"],
)  # fmt: skip
def test_what_is_no_number_gives_none(text: str) -> None:
    assert parse_int(text) is None


def test_a_count_that_wrapped_in_32_bits_is_unwrapped() -> None:
    assert parse_count("-1") == 2**32 - 1
    assert parse_count(str(-(2**31))) == 2**31
    assert parse_count(str(-(2**31) - 1)) is None


@pytest.mark.parametrize("text", ["-1018", "-1018 (0xfffffc06)", "0xfffffc06", "4294966278"])
def test_an_error_is_signed_in_any_form(text: str) -> None:
    assert parse_error(text) == -1018


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3392", Process(3392, "", "")),
        ("5960,D,50", Process(5960, "D", "")),
        ("5960,D,50,15.01.2507.012", Process(5960, "D", "15.01.2507.012")),
        ("5960,-,50", Process(5960, "-", "")),
        ("", None), ("D,50", None), ("12x", None), ("1" * 200, None),
    ],
)  # fmt: skip
def test_the_three_forms_of_the_process_string_are_read(
    text: str, expected: Process | None
) -> None:
    assert parse_process(text) == expected


def test_an_instance_loses_only_its_own_colon() -> None:
    assert parse_instance("SG06: ") == "SG06"
    assert parse_instance("\\\\.\\C:\\dfsr.db: ") == "\\\\.\\C:\\dfsr.db"
    assert parse_instance("") == ""


@pytest.mark.parametrize("path", [r"E:\E00.log", r"E:\E00.CHK", r"e:\x.jfm", "/a/b.jrs", ""])
def test_logs_checkpoints_and_flush_maps_are_no_databases(path: str) -> None:
    assert not is_database_path(path)


@pytest.mark.parametrize("path", [r"E:\priv1.edb", r"C:\ntds.dit", "logdb", r"C:\x.log.edb"])
def test_any_other_file_of_the_engine_is_a_database(path: str) -> None:
    assert is_database_path(path)


def test_a_path_longer_than_windows_allows_is_none() -> None:
    assert parse_path("a" * 32_768) == ""


def test_a_page_number_follows_from_offset_and_page_size() -> None:
    fields: Fields = {"offset": 3846455296, "bytes": 8192}
    add_page_number(fields)
    assert fields["page_number"] == 469537


@pytest.mark.parametrize(
    ("offset", "size"), [(8192, 8192), (0, 4096), (8193, 4096), (65536, 65536)]
)
def test_headers_and_odd_places_have_no_page_number(offset: int, size: int) -> None:
    fields: Fields = {"offset": offset, "bytes": size}
    add_page_number(fields)
    assert "page_number" not in fields


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Kind.STATS, "12, 3", {"x": 12, "run_bad_checksums": 3}),
        (Kind.STATS, "-, -", {}),
        (Kind.SIZE, "2 Mb", {"x": 2097152}),
        (Kind.SIZE, "1.5 GB", {"x": 1610612736}),
        (Kind.SIZE, "4096", {"x": 4096}),
        (Kind.SIZE, "8388608 Tb", {}),
        (Kind.STATS, "9223372036854775808, 3", {"run_bad_checksums": 3}),
        (Kind.OWNED, " / 9223372036854775808 = 1.25", {"skipped_percent": 1.25}),
        (Kind.MINUTES, "9223372036854775807", {}),
        (Kind.DECIMAL, "0.015", {"x": 0.015}),
        (Kind.DECIMAL, "12", {"x": 12}),
        (Kind.TIMING, "\n[1] 0.801288 -0.379509 (265) CM", {"x": 0.801288}),
        (Kind.OWNED, " / 1000 = 1.25", {"x": 1000, "skipped_percent": 1.25}),
        (Kind.DATE, "-", {}),
        (Kind.DATE, "6/16/2007", {"x": "6/16/2007", "x_date": "2007-06-16"}),
        (Kind.DATE, "6/7/2007", {"x": "6/7/2007"}),
        (Kind.MINUTES, "2", {"x": 120}),
        (Kind.ADD_SECONDS, "2", {}),
        (Kind.EXPECTED_PAGE, "17 (0x11)", {"x": 17, "page_number": 17}),
    ],
)
def test_each_kind_becomes_its_fields(kind: Kind, text: str, expected: Fields) -> None:
    fields: Fields = {}
    WRITERS[kind](fields, "x", text, None)
    assert fields == expected


@given(st.integers(0, 2**63 - 1), st.sampled_from(["{0}", "{0} (0x{0:x})", "{0} (0x{0:016X})"]))
def test_a_printed_number_is_read_back(value: int, form: str) -> None:
    assert parse_int(form.format(value)) == value


@given(st.integers(0, 2**60), st.sampled_from([",", ".", "'", "’", " ", "\u00a0", "\u202f"]))
def test_a_grouped_number_is_read_back(value: int, separator: str) -> None:
    assert parse_int(f"{value:,}".replace(",", separator)) == value


@given(st.sampled_from(list(WRITERS)), st.text(max_size=200))
def test_no_string_breaks_a_kind(kind: Kind, text: str) -> None:
    fields: Fields = {}
    WRITERS[kind](fields, "x", text, "dmy")
    assert all(isinstance(value, (int, float, str)) for value in fields.values())


ODD = (
    "", " ", "0", "7", " 42 ", "-1", "-1018", "4294966278", "2147483648", "9" * 9, "9" * 10,
    "9" * 18, "9" * 19, "9" * 20, "1,234", "1.234.567", "1 234", "12 (0x0c)", "0xfffffc06",
    "-1018 (0xfffffc06)", "8192 (0x00002000)", "12, 0", "-, 5", "2 Mb", "1,5 GB", "0.250", "3,5",
    "[1] 0.25", " / 40 = 12.5", "6/16/2007", "16.06.2007", "2007-06-16 01:00:00", "٣", "5x", "\n",
    "e:\\a.edb", "e:\\E0000012.log", "7\n8",
)  # fmt: skip
COUNT = 20_000


def step_by_step(event_id: int, params: list[str], order: DateOrder | None) -> Fields:
    """The fields of the row, each written by the writer of its kind, missing ones left out."""
    row = CATALOGUE[event_id]
    fields: Fields = dict(row.constants)
    for param, text in zip(row.params, params, strict=False):
        if param.kind in WRITERS:
            WRITERS[param.kind](fields, param.name, text, order)
    if row.page_error:
        add_page_number(fields)
    return fields


def test_made_up_strings_of_every_row_give_the_same_fields_in_the_same_order() -> None:
    rng = random.Random(703)
    different = []
    for event_id in rng.choices(list(CATALOGUE), k=COUNT):
        row = CATALOGUE[event_id]
        params = rng.choices(ODD, k=rng.randint(0, len(row.params) + 1))
        order = rng.choice((None, *ORDERS))
        expected = step_by_step(event_id, params, order)
        strings = ("MSExchangeIS", "3392", "SG06: ", *params)
        event = event_from_strings(
            provider="ESE", event_id=event_id, strings=strings, date_order=order
        )
        found = event.fields if event else {}
        if list(found.items()) != list(expected.items()):
            different.append((event_id, params, found, expected))

    assert different == []
