"""Entries of the ledger: the meaning of a log line, given by the code that counted it."""

from typing import Literal

import msgspec

DamageKind = Literal["checksum", "corrected", "wrong_page", "no_data", "lost_flush"]


class Told(msgspec.Struct, kw_only=True, omit_defaults=True, tag="event"):
    """One line of the event log: the offset of its end in the file, and its meaning."""

    event_id: int
    instance: str
    end: int = 0
    time: float = 0.0
    database: str = ""
    """Path, empty where the event names none."""
    seconds: int = 0
    invocations: int = 0
    pages_visited: int = 0
    pages_freed: int = 0
    pages_seen: int = 0
    bad_checksums: int = 0
    run_pages: int = 0
    """Those that the last run of a scan of a current engine advanced."""
    begun: float = 0.0
    """Of a scan as of 2007: when it began, of which the log has the date."""
    free_bytes: int | None = None
    """On the pages that a scan of a current engine saw."""
    zeroed: tuple[int, ...] = ()
    page: int = 0
    kind: DamageKind | None = None
    """Of a page error."""
    operation: str = ""
    """Of a slow request: read or write."""
    others: int = 0


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """The work of one instance since its sample before, and the position of its log.

    `grew` is by series: `metric` or `metric{labels}`; those of 0 are of the first sample of a
    process. `opened` is what its opening did before that: running totals have it, and no rate
    shows it.
    """

    grew: dict[str, int] = {}
    opened: dict[str, int] = {}
    depth: int = 0
    """Log generations that a recovery would read."""
    generation: int = 0
    """The one that is being written."""


class Counted(msgspec.Struct, kw_only=True, omit_defaults=True, tag="row"):
    """One row of the counter log: the offset of its end in the file, and its meaning."""

    end: int
    process: str
    cache_bytes: int
    instances: dict[str, Measured] = {}
    """Those of which anything changed."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, tag="fault"):
    """A fault that was made on request. `time` in epoch seconds."""

    time: float
    database: str
    page_number: int | None
    kind: str
