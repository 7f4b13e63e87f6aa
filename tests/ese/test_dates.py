"""Dates in texts: what is certain becomes a date or a time, what is not does not."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.dates import ORDERS, DateOrder, iso_time, parse_short_date

DAY = date(2007, 6, 16)


@pytest.mark.parametrize(
    "text", ["2007-06-24", "20070624", "2007-06-24T00:00Z", "2007-06-24 00:00:00.000+00:00"]
)
def test_an_iso_time_is_read(text: str) -> None:
    assert iso_time(text).replace(tzinfo=UTC) == datetime(2007, 6, 24, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["2007-06-16 24:00:00", "2007-06-16T24:00Z", "20070616T240000", "2007-W24-6T24:00",
     "2007W246T24", "2007-06-31", "noon", ""],
)  # fmt: skip
def test_the_hour_24_and_what_is_no_date_are_no_iso_time(text: str) -> None:
    with pytest.raises(ValueError):
        iso_time(text)


@pytest.mark.parametrize(
    "text",
    ["6/16/2007", "16.06.2007", "16/06/2007", "2007-06-16", "2007/6/16", "2007. 06. 16.",
     "16-06-2007", "16-Jun-2007", "6/16/2007 1:02:03 AM",
     "\u200e6\u200e/\u200e16\u200e/\u200e2007"],
)  # fmt: skip
def test_a_date_that_only_one_order_allows_is_read(text: str) -> None:
    assert parse_short_date(text) == DAY


@pytest.mark.parametrize(
    "text",
    ["6/7/2007", "16/06/07", "07/06/16", "-", "", "today", "16/06/2550", "31/31/2007",
     "1428/06/16", "6/16", "6/16/20071", "99999999999", "6" * 100],
)  # fmt: skip
def test_an_uncertain_date_is_none(text: str) -> None:
    assert parse_short_date(text) is None


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("6/7/2007", "mdy", date(2007, 6, 7)),
        ("6/7/2007", "dmy", date(2007, 7, 6)),
        ("6.7.07", "dmy", date(2007, 7, 6)),
        ("07-6-7", "ymd", date(2007, 6, 7)),
        ("16/06/2007", "mdy", DAY),
        ("2007-06-16", "dmy", DAY),
        ("31/31/2007", "dmy", None),
    ],
)
def test_a_configured_order_decides_where_it_fits(
    text: str, order: DateOrder, expected: date | None
) -> None:
    assert parse_short_date(text, order) == expected


def test_the_same_day_and_month_are_certain_in_any_order() -> None:
    assert parse_short_date("6/6/2007") == date(2007, 6, 6)


@given(st.dates(date(1990, 1, 1), date(2100, 12, 31)), st.sampled_from(ORDERS))
def test_a_printed_date_is_read_in_its_order(day: date, order: DateOrder) -> None:
    shown = {"mdy": "%m/%d/%Y", "dmy": "%d.%m.%Y", "ymd": "%Y-%m-%d"}[order]
    assert parse_short_date(day.strftime(shown), order) == day


@given(st.text(max_size=80), st.sampled_from([None, *ORDERS]))
def test_any_text_gives_a_date_or_none(text: str, order: DateOrder | None) -> None:
    found = parse_short_date(text, order)
    assert found is None or 1990 <= found.year <= 2100
