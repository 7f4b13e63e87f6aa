"""Values as people write them."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.config.units import parse_clock, show_clock


@given(st.times())
def test_a_time_of_day_is_shown_as_it_may_be_written(time: datetime.time) -> None:
    assert time.replace(second=0, microsecond=0) == parse_clock(show_clock(time))


@pytest.mark.parametrize("text", ["24:00", "1:60", "1", "01:00:00", "noon", "-1:00", "٠١:٠٠"])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[\s\S]*$"):
        parse_clock(text)
