from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esefiles.pages.header_fields import parse_log_time
from tests.support.edb import log_time


def test_a_time_of_a_real_header_is_local() -> None:
    # 06/19/2018 19:18:41.596, as eseutil prints it of bytes like these.
    raw = bytes([41, 18, 19, 19, 6, 118, (596 & 0x7F) << 1, 596 >> 7 << 1])
    assert parse_log_time(raw) == datetime(2018, 6, 19, 19, 18, 41, 596000)


def test_the_bit_that_says_utc_makes_it_aware() -> None:
    raw = bytes([38, 32, 19, 10, 3, 122, 1 | (532 & 0x7F) << 1, 532 >> 7 << 1])
    assert parse_log_time(raw) == datetime(2022, 3, 10, 19, 32, 38, 532000, tzinfo=UTC)


def test_the_old_bit_of_a_shadow_copy_is_no_part_of_the_time() -> None:
    raw = bytes([1, 2, 3, 4, 5, 107, 0, 1])
    assert parse_log_time(raw) == datetime(2007, 5, 4, 3, 2, 1)


@pytest.mark.parametrize(
    "raw",
    [
        bytes(8),
        bytes([61, 0, 0, 1, 1, 107, 0, 0]),
        bytes([0, 0, 24, 1, 1, 107, 0, 0]),
        bytes([0, 0, 0, 0, 1, 107, 0, 0]),
        bytes([0, 0, 0, 30, 2, 107, 0, 0]),
        bytes([0, 0, 0, 1, 13, 107, 0, 0]),
        bytes([0, 0, 0, 1, 1, 107, 0xFE, 0x0E]),
        b"\xff" * 8,
    ],
)
def test_what_is_not_set_or_damaged_is_none(raw: bytes) -> None:
    assert parse_log_time(raw) is None


@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2155, 12, 31)))
def test_every_time_that_can_be_written_is_read_back(when: datetime) -> None:
    shown = when.replace(microsecond=when.microsecond // 1000 * 1000)
    assert parse_log_time(log_time(when)) == shown
    aware = shown.replace(tzinfo=UTC)
    assert parse_log_time(log_time(aware)) == aware


@given(st.binary(min_size=8, max_size=8))
def test_no_bytes_raise(raw: bytes) -> None:
    found = parse_log_time(raw)
    assert found is None or (found.tzinfo is UTC) == bool(raw[6] & 1)
