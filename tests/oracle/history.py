"""What happened, and what can be said of it: the words that oracle and product share.

A `History` is what servers logged, in the files that it lies in. An `Answer` is what anybody who
read all of it must say of one database. Times are epoch seconds, UTC.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

DAY = 86400.0
HOUR = 3600.0


class Logged(NamedTuple):
    """One event record, as the event log keeps it."""

    time: float
    computer: str
    """As logged: short, full, any case."""
    channel: str
    provider: str
    event_id: int
    record_id: int | None
    strings: tuple[str, ...]
    """The positional insertion strings, `%1` first."""
    level: Literal["critical", "error", "warning", "information"] = "information"
    file: int = 0
    """The input that holds it; exports of one log overlap."""


class Scanned(NamedTuple):
    """A page scan of a snapshot of the database, reported by our own reader."""

    time: float
    """Of the snapshot."""
    read: float
    """When it was read."""
    computer: str
    database: str
    complete: bool
    pages: int
    bad: tuple[tuple[int, Literal["uncorrectable", "corrected", "wrong_page", "no_data"]], ...] = ()
    good: tuple[int, ...] = ()
    """Known bad pages that were read again and are good."""


class Acknowledged(NamedTuple):
    """A person took bad pages as resolved; all pages and all damage where none is named."""

    time: float
    computer: str
    """The label."""
    database: str
    """The label."""
    pages: tuple[int, ...] = ()
    unread: frozenset[int] = frozenset()
    """The inputs that were read only afterwards: what they hold was not shown."""


class History(NamedTuple):
    """All that was recorded, and the moment it is judged at."""

    records: tuple[Logged | Scanned | Acknowledged, ...]
    now: float
    configuration: Mapping[str, object] = {}
    """As in the configuration file: databases, windows, computers, providers, policy."""
    complete_channels: bool = False
    """The channels were read whole (EVTX): record numbers that are missing are a gap."""


class Totals(NamedTuple):
    """Counts of one task since the beginning (`ese_passes_*_total`)."""

    started: int = 0
    completed: int = 0
    interrupted: int = 0
    failed: int = 0


class Answer(NamedTuple):
    """What must be said of one database of one computer."""

    known_bad: frozenset[tuple[int, str]] = frozenset()
    """(page, kind); page -1 where a summary counted bad pages that nothing named."""
    damage: frozenset[str] = frozenset()
    """Kinds of `ese_known_damage`."""
    verified: Mapping[str, float] = {}
    """By verifier: when every page was last proven good."""
    totals: Mapping[str, Totals] = {}
    """By task (defrag, checksum, zeroing), those with any count."""
    role: str = ""
    model: str = ""
    tier: str = ""
    findings: frozenset[str] = frozenset()
    action: str = ""
    verdict: str = ""


Answers = Mapping[tuple[str, str], Answer]
"""(computer label, database label) -> what must be said; those of the tier ignored are absent."""
