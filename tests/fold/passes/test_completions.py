"""The earliest time at which a completed scan can have begun."""

import pytest

from esewatch.fold.passes.completions import completed
from esewatch.fold.state.database_state import Pass, Transition

DAY, HOUR = 86400.0, 3600.0
END = 30 * DAY + 3 * HOUR


@pytest.mark.parametrize(
    ("fields", "earliest"),
    [
        # Midnight of a day comes up to 14 hours before that of UTC.
        ({"pass_started_day": 27 * DAY, "days": 1.0}, 27 * DAY - 14 * HOUR),
        ({"days": 3.0}, END - 4 * DAY),
        ({}, None),
    ],
)
def test_a_scan_whose_start_was_not_seen_is_bounded_by_what_its_end_says(
    fields: dict[str, int | float], earliest: float | None
) -> None:
    ended = Transition(END, 1, 721, fields, history=False)
    unseen = Pass(task="checksum", started=None, ended=None, outcome="open")
    assert completed("checksum", unseen, ended, [], 0.0).earliest == earliest
