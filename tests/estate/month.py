"""The calendar of an estate: a month of virtual time, in UTC."""

from tests.oracle.history import DAY, HOUR
from tests.rules.quality.backfill import BLOCK_SECONDS

DAYS = 30
START = 661.0 * BLOCK_SECONDS
"""2026-02-07, the begin of a block of Prometheus."""
END = START + DAYS * DAY


def at(day: float, hour: float = 0.0) -> float:
    """Epoch seconds of an hour of a day of the month, both counted from 0."""
    return START + day * DAY + hour * HOUR
