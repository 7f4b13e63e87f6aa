"""Until when a value holds: as its comparisons with the present tell."""

import math
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from esewatch.advice.base.finding import span
from esewatch.advice.base.validity import MARGIN, held, holds

NOW = 1_000_000.0
MOVING = 60.0


def until(compute: Callable[[float], object]) -> float:
    """Seconds for which the value holds."""
    value, end = held(compute, NOW, MOVING)
    assert value == compute(NOW)
    return end - NOW


@pytest.mark.parametrize(
    ("compute", "seconds"),
    [
        (lambda now: 1.0, math.inf),
        (lambda now: now > NOW + 5, 5),
        (lambda now: now <= NOW + 5, 5),
        (lambda now: now - (NOW - 10) < 25.0, 15),
        (lambda now: (now - NOW + 4.0) * 2 > 10.0, 1),
        (lambda now: (NOW + 9 - now) / 3 < 1.0, 6),
        (lambda now: now > NOW - 5, math.inf),
        (lambda now: math.inf > now, math.inf),
        (lambda now: max(0.0, now - NOW - 7), 7),
        (lambda now: (now - NOW + 10.0) // 60.0, 50),
        (lambda now: math.ceil((now - NOW + 10.0) / 60.0), 50),
        (lambda now: round((now - NOW + 10.0) / 60.0), 20),
        (lambda now: f"{(now - NOW + 1000.0) / 100.0:.1f}", 5),
        (lambda now: span(now - NOW + 200_000), 3040),
        (lambda now: now - (now - 3.0), math.inf),
        (lambda now: now == NOW + 3, 3),
        (lambda now: abs(now - NOW - 3) < 0, 3),
        (lambda now: sorted([NOW + 8, now])[0] > 0, 8),
        (lambda now: {now: 1}.get(now), math.inf),
    ],
)
def test_a_value_holds_until_a_comparison_comes_out_otherwise(
    compute: Callable[[float], object], seconds: float
) -> None:
    assert until(compute) == pytest.approx(seconds, abs=2 * MARGIN)


@pytest.mark.parametrize(
    "compute",
    [
        lambda now: now,
        lambda now: (1, {"a": [now + 1.0]}),
        lambda now: 1 / now,
        lambda now: now * now,
        lambda now: now % 60,
        float,
        lambda now: f"{now:.3g}",
        lambda now: datetime.fromtimestamp(now, UTC),
    ],
)
def test_what_moves_with_time_holds_for_a_while(compute: Callable[[float], object]) -> None:
    assert until(compute) == MOVING


def test_a_value_holds_from_when_it_was_made_and_no_earlier() -> None:
    assert holds(NOW, NOW, NOW)
    assert holds(NOW, NOW + 1, NOW + 0.5)
    assert not holds(NOW, NOW + 1, NOW + 1)
    assert not holds(NOW, NOW + 1, NOW - 1)
