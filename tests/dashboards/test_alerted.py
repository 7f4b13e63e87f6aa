"""Limits that are drawn are those of the alerts."""

import pytest

from dashboards.alerted import drawn, limit_of
from tests.rules.expressions import alerts


def test_a_limit_is_the_number_that_the_alert_compares_with() -> None:
    reads = 'operation="read",phase!="recovery"'
    assert limit_of("EseLatencyHigh", "warning", reads) == 0.02
    assert limit_of("EseLatencyHigh", "critical", reads) == 0.1


def test_a_limit_that_is_a_multiple_of_another_series_is_the_factor() -> None:
    assert limit_of("ese_instance:ese_io_latency_seconds:avg1h_slow") == 10


@pytest.mark.parametrize("alert", ["EseScansCollide", "EseLatencyHigh", "EseNothing"])
def test_an_alert_without_one_limit_is_refused(alert: str) -> None:
    assert alert == "EseNothing" or alert in {rule["alert"] for rule in alerts()}
    with pytest.raises(ValueError, match=alert):
        limit_of(alert)


def test_a_line_is_there_only_beside_what_it_is_held_against() -> None:
    assert drawn(1 / 3, "some", "limit").expression == "vector(0.333333) and on () (some)"
