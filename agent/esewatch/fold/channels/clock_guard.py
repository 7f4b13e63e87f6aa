"""Guard against impossible times: a record from the future must not decide what comes after it.

A time ahead of the agent's clock is believed up to a day: clocks differ, and a local time may
be taken for UTC. The agent judges nobody while its own clock is obviously wrong.
"""

import math

import msgspec

from esewatch.fold.state.state import SourceState
from esewatch.model import CopyChecked, Coverage, Event, PagesScanned, Record

AHEAD_SECONDS = 86400.0
"""A record may be so much later than the agent's clock."""
EARLIEST_NOW = 1_767_225_600.0
"""2026-01-01: this program did not run before."""


def latest(now: float) -> float:
    """The latest time that is believed at `now`, 0 where the agent's clock is not known."""
    return now + AHEAD_SECONDS if now >= EARLIEST_NOW else math.inf


def admitted(source: SourceState, record: Record, until: float, now: float) -> Record | None:
    """The record as far as its time can be, which is `until` at `now`; others are counted.

    An event later than that is one of unknown time, a checked copy proves no page good any
    more but its bad pages stay bad, any other record is left out.
    """
    time = record.last_time if isinstance(record, Coverage) else record.time
    if time is None or time <= until:
        return record
    source.implausible += 1
    if isinstance(record, Event):
        return msgspec.structs.replace(record, time=None)
    if isinstance(record, CopyChecked):
        return msgspec.structs.replace(record, time=now, complete=False)
    if isinstance(record, PagesScanned):
        return msgspec.structs.replace(record, time=now, read=now, good=())
    return None


def note(source: SourceState, time: float) -> None:
    """A record of this time was taken in."""
    source.last_record = max(source.last_record, time)
    if time < source.oldest or not source.oldest:
        source.oldest = time
