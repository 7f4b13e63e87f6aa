"""The hearing of a log: its last record, and the pauses before it (semantics.md 5a).

Of the records only stretches are kept, within which none is more than 16 hours behind the one
before: three times a shorter pause is less than the 48 hours that any log may be silent for.
"""

from bisect import bisect_right
from collections.abc import Iterable

from esewatch.fold.channels import hours_heard
from esewatch.fold.state.rollups import FURTHEST
from esewatch.fold.state.state import Channel

Stretch = tuple[float, float]
"""First and last record, epoch seconds."""

PAUSE_SECONDS = 16 * 3600.0
LOOKED_AT_SECONDS = 28 * 86400.0
"""The pauses of so many seconds before the last record count."""
MAX_STRETCHES = 64
"""There are no more in this time: 28 days have room for 42 pauses."""


def note(channel: Channel, time: float) -> None:
    """Note a record of any provider; a damaged time is ignored."""
    if not abs(time) < FURTHEST:
        return
    known = channel.stretches
    if known and known[-1][0] <= time <= known[-1][1] + PAUSE_SECONDS:  # as most records are
        if time > known[-1][1]:
            known[-1] = known[-1][0], time
        return
    at = bisect_right(known, time, key=lambda each: each[0])
    first = last = time
    if at < len(known) and known[at][0] - time <= PAUSE_SECONDS:
        last = known.pop(at)[1]
    if at and time - known[at - 1][1] <= PAUSE_SECONDS:
        at -= 1
        before = known.pop(at)
        first, last = before[0], max(last, before[1])
    known.insert(at, (first, last))
    del known[:-MAX_STRETCHES]


def note_companion(channel: Channel, time: float) -> None:
    """Note a record of another provider that is folded: one with a number was noted with it."""
    note(channel, time)
    channel.others = max(channel.others, time)


def note_other(channel: Channel, time: float) -> None:
    """Note a record of another provider, which comes without a number."""
    note_companion(channel, time)
    hours_heard.note(channel.hours, time)
    hours_heard.note_last(channel.heard, time)


def joined(channels: Iterable[Channel]) -> list[Stretch]:
    """The stretches of several logs together."""
    found: list[Stretch] = []
    for first, last in sorted(each for channel in channels for each in channel.stretches):
        if found and first - found[-1][1] <= PAUSE_SECONDS:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found
