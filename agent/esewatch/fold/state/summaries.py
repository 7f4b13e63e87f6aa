"""Figures of pass summaries that are no part of a pass: of a database's life, and blank pages.

Each is that of the newest event that had it, by time and then by record id.
"""

import msgspec

from esewatch.model import Event

LIFETIME = frozenset({701, 703})
"""Events with the figures of online defragmentation since the database was created."""
UNINITIALIZED = {721: ("checksum",), 722: ("checksum", "zeroing")}
"""Event -> tasks whose pass it ends, which saw so many pages that were never used."""
EVENTS = LIFETIME | UNINITIALIZED.keys()
COMPLETIONS, LIFETIME_DAYS, UNINITIALIZED_PAGES = (
    "completions", "lifetime_days", "uninitialized_pages",
)  # fmt: skip
MOST_DAYS = 36_525
"""No database is older than a century."""


class ReportedFigure(msgspec.Struct, array_like=True, frozen=True):
    value: int
    time: float
    record_id: int


def keep(kept: dict[str, ReportedFigure], event: Event, time: float) -> None:
    """Keep the figures of a summary; `time` is 0 for an event without one."""
    if event.event_id in LIFETIME:
        _keep(kept, COMPLETIONS, COMPLETIONS, event, time)
        days = event.fields.get(LIFETIME_DAYS)
        if isinstance(days, int) and days <= MOST_DAYS:
            _keep(kept, LIFETIME_DAYS, LIFETIME_DAYS, event, time)
    for task in UNINITIALIZED.get(event.event_id, ()):
        _keep(kept, uninitialized(task), UNINITIALIZED_PAGES, event, time)


def uninitialized(task: str) -> str:
    """The key of the figure of `task`."""
    return f"{UNINITIALIZED_PAGES} {task}"


def _keep(kept: dict[str, ReportedFigure], key: str, field: str, event: Event, time: float) -> None:
    value, known = event.fields.get(field), kept.get(key)
    if not isinstance(value, int) or value < 0:
        return
    told = ReportedFigure(value, time, event.record_id or 0)
    if known is None or (told.time, told.record_id) >= (known.time, known.record_id):
        kept[key] = told
