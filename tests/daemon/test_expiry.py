import pytest

from esewatch.daemon.loop import EVERY_SECONDS, TRUST_SECONDS, Expiry

YEAR = 365 * 86400.0


def test_silent_databases_are_dropped_once_an_hour() -> None:
    expiry = Expiry(1000.0, 0.0)
    assert not expiry.due(EVERY_SECONDS - 1)
    assert expiry.due(EVERY_SECONDS)
    assert not expiry.due(EVERY_SECONDS + 1)


@pytest.mark.parametrize("jump", [YEAR, -YEAR, 2 * 3600.0, -2 * 3600.0])
def test_after_a_jump_nothing_is_dropped_for_a_day(jump: float) -> None:
    expiry = Expiry(1000.0, 0.0)
    assert expiry.jumped(1060.0, 60.0) == 0
    assert expiry.jumped(1120.0 + jump, 120.0) == jump
    assert expiry.jumped(1180.0 + jump, 180.0) == 0
    assert not expiry.due(120 + TRUST_SECONDS - 1)
    assert expiry.due(120 + TRUST_SECONDS)


def test_a_clock_that_is_put_right_little_by_little_has_not_jumped() -> None:
    expiry = Expiry(0.0, 0.0)
    assert all(expiry.jumped(61.0 * minute, 60.0 * minute) == 0 for minute in range(10_000))
