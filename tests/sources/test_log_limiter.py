import logging

import pytest

from esewatch.sources.log_limiter import LINES, PER_SECONDS, LogLimiter


def test_a_storm_writes_so_many_lines_a_minute_and_tells_the_rest(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [0.0]
    lines = LogLimiter(logging.getLogger("storm"), lambda: now[0])
    for number in range(1000):
        lines.warning("a", f"line {number}")
    lines.warning("b", "another")
    now[0] = PER_SECONDS
    lines.warning("a", "later")
    said = [record.message for record in caplog.records]
    assert said[:LINES] == [f"a: line {number}" for number in range(LINES)]
    assert said[LINES:] == [
        "a: further lines are left out for a minute, and counted",
        "b: another",
        f"a: {1000 - LINES} more of these lines were left out",
        "a: later",
    ]


def test_an_error_that_a_warning_of_this_minute_has_told_is_not_told_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [0.0]
    lines = LogLimiter(logging.getLogger("twice"), lambda: now[0])
    lines.warning("a", "unreadable: x: Permission denied")
    lines.error("a", "x: Permission denied")
    lines.error("b", "x: Permission denied")
    lines.error("a", "y: Permission denied")
    now[0] = PER_SECONDS
    lines.error("a", "x: Permission denied")
    assert [record.message for record in caplog.records] == [
        "a: unreadable: x: Permission denied",
        "b: x: Permission denied",
        "a: y: Permission denied",
        "a: x: Permission denied",
    ]
