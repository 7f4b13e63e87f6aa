"""Durations and sizes as people write and read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esefiles.base.units import parse_duration, parse_size, show_duration, show_size, size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("14d", 1209600),
        ("4h", 14400),
        ("30m", 1800),
        ("90s", 90),
        ("1h30m", 5400),
        ("1d1h1m1s", 90061),
        ("36h", 129600),
        ("0s", 0),
    ],
)
def test_a_duration_is_a_sum_of_units(text: str, seconds: float) -> None:
    assert seconds == parse_duration(text)


@pytest.mark.parametrize(
    "text", ["", "4", "h", "4 h", "4H", "1.5h", "-4h", "1m1h", "1h1h", "4w", "٤h", "4h\n", "9" * 30]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[\s\S]*$"):
        parse_duration(text)


@given(st.integers(0, 10**9))
def test_a_duration_is_shown_as_it_may_be_written(seconds: int) -> None:
    assert seconds == parse_duration(show_duration(seconds))


@pytest.mark.parametrize(
    ("seconds", "text"), [(1209600, "14d"), (9900, "2h45m"), (90, "1m30s"), (0, "0s")]
)
def test_a_duration_is_shown_short(seconds: float, text: str) -> None:
    assert text == show_duration(seconds)


@pytest.mark.parametrize(
    ("text", "size"), [("320K", 327680), ("64m", 1 << 26), ("1G", 1 << 30), ("4097", 4097)]
)
def test_a_size_is_a_number_with_or_without_a_power_of_1024(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "K", "1.5M", "-1", "1MB", "1 M", "٤K", "9" * 16, "1T"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[\s\S]*$"):
        parse_size(text)


@given(st.integers(1, 10**15 - 1))
def test_a_size_is_shown_as_it_may_be_written(size: int) -> None:
    assert parse_size(show_size(size)) == size


def test_a_size_for_people_has_a_unit() -> None:
    assert (size(512), size(47_929_491_456), size(5e15)) == ("512 bytes", "44.6 GiB", "4,547.5 TiB")
    assert size(None) == "–"
