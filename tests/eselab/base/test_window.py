"""When the maintenance window is open."""

from eselab.base.plan import WindowPlan, opening

NIGHTLY = WindowPlan(period=86400.0, offset=3600.0, length=14400.0)


def test_the_opening_that_the_time_lies_in_is_found() -> None:
    assert opening(NIGHTLY, 10 * 86400 + 3600, scan=False)[::2] == (867600, 882000)
    assert opening(NIGHTLY, 10 * 86400 + 3600 + 14399, scan=False).begin == 867600


def test_outside_of_it_the_next_one_is_found() -> None:
    assert opening(NIGHTLY, 10 * 86400, scan=False).begin == 867600
    assert opening(NIGHTLY, 10 * 86400 + 3600 + 14400, scan=False).begin == 867600 + 86400


def test_the_scan_has_the_second_half_where_it_is_on() -> None:
    assert opening(NIGHTLY, 867600, scan=True).middle == 867600 + 7200
    assert opening(NIGHTLY, 867600, scan=False).middle == 882000


def test_a_window_may_lie_over_midnight() -> None:
    late = WindowPlan(period=86400.0, offset=82800.0, length=7200.0)
    assert opening(late, 86400 + 1800, scan=False).begin == 82800
