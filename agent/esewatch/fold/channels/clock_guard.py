"""Guard against impossible times: a record from the future must not affect what comes after it,
nor one of no time (0 in a file: 1601 or 1970) be taken for the oldest.

A time up to a day ahead of the agent's clock is accepted: clocks differ, and a local time may be
taken for UTC. No record is rejected while the agent's own clock is obviously wrong.
"""

import math

import msgspec

from esewatch.fold.state.state import SourceState
from esewatch.model import CopyChecked, Coverage, Event, PagesScanned, Record

AHEAD_SECONDS = 86400.0
"""A record may be this much later than the agent's clock."""
NEVER_SET = 365 * 86400.0
"""The end of 1970: what a clock says that was never set is not after it."""
EARLIEST_NOW = 1_767_225_600.0
"""2026-01-01: this program did not run before."""


def latest(now: float) -> float:
    """Return the latest time that is accepted at `now`, 0 where the agent's clock is not known."""
    return now + AHEAD_SECONDS if now >= EARLIEST_NOW else math.inf


def admitted(source: SourceState, record: Record, until: float, now: float) -> Record | None:
    """Return the record as far as its time is possible, not after `until` at `now`; count others.

    An event later than that, or not after 1970, becomes one of unknown time; a checked copy
    no longer proves any page good, but its bad pages stay bad; of a range that ends later the
    numbers were read all the same; any other record is dropped.
    """
    time = record.last_time if isinstance(record, Coverage) else record.time
    first = NEVER_SET if isinstance(record, Event) else 0.0
    if time is None or first < time <= until:
        return record
    source.implausible += 1
    if isinstance(record, Event):
        return msgspec.structs.replace(record, time=None)
    if isinstance(record, CopyChecked):
        return msgspec.structs.replace(record, time=now, complete=False)
    if isinstance(record, PagesScanned):
        return msgspec.structs.replace(record, time=now, read=now, good=())
    if isinstance(record, Coverage) and first < record.first_time <= until:
        return msgspec.structs.replace(record, last_time=record.first_time)
    return None


def note(source: SourceState, time: float) -> None:
    if time > source.last_record:
        source.last_record = time
    if time < source.oldest or not source.oldest:
        source.oldest = time
