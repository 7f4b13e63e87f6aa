"""A database-month: the records of its logs, its settings, and which alert it is to raise."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from esewatch.config import Settings
from esewatch.model import Record
from tests.rules.quality.backfill import BLOCK_SECONDS

DAY = 86400.0
HOUR = 3600.0
MINUTE = 60.0
DAYS = 30
START = 442.0 * BLOCK_SECONDS
"""2007-07-08, the begin of a block: a month lies in one."""
END = START + DAYS * DAY

Course = list[tuple[float, float]]
"""(epoch seconds, value from then on); not a number where the series ends."""


@dataclass(frozen=True)
class Expected:
    """The alert that a fault is to raise."""

    alert: str
    severity: str
    fault: float
    """When the fault was there, epoch seconds."""
    within: float
    """Seconds after it in which the alert must fire."""


@dataclass
class Month:
    """The month of a database, or of several on one computer. `computer` is unlike all others."""

    computer: str
    kind: str
    records: list[Record]
    settings: Settings = field(default_factory=Settings)
    fault: str = ""
    """In words; empty for a healthy one."""
    expected: Expected | None = None
    own: Mapping[str, Course] = field(default_factory=dict)
    """Metrics of the agent itself that are not those of a healthy one.

    By their names; by names with labels where a healthy agent of tests/rules has none.
    """

    @property
    def instance(self) -> str:
        """Address of the agent that watches it: each has one of its own."""
        return f"{self.computer}:19703"


def at(day: float, hour: float = 0.0) -> float:
    """Epoch seconds of an hour of a day of the month, both counted from 0."""
    return START + day * DAY + hour * HOUR
