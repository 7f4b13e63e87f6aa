"""When something was heard last of each database, and from when on that is silence (section 5a)."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tests.oracle.chronicle import Chronicle
from tests.oracle.facts import seconds
from tests.oracle.history import DAY, HOUR
from tests.oracle.identity import Computers, is_nameless_snapshot
from tests.oracle.subject import Subject

LEAST = 48 * HOUR
MOST = 14 * DAY
MEASURED = 28 * DAY
NONE = ""
"""The channel of a database that no event names: a page scan read it."""
BOOT = 600.0
"""Within so long after its first record a computer that was off has started its services."""

Subjects = Mapping[tuple[str, str], Subject]


def channels_of(subject: Subject) -> set[str]:
    """The channels that its own events come by; those of tools, where it has no others."""
    own = {event.channel for event in subject.owned if not event.in_snapshot}
    return own or {event.channel for event in subject.named if not event.in_snapshot}


def listen(
    subjects: Subjects, told: Chronicle, policy: Mapping[str, Any], computers: Computers
) -> None:
    """Note of each database when it was heard last, and from when on that is silence.

    "Silence is judged per computer and channel that a watched database's events came by ...; per
    database it is that of the channel its own events come by". "`retired: true` ends it."
    """
    judged = {
        (subject.computer, channel)
        for subject in subjects.values()
        if subject.tier == "watched" and not is_nameless_snapshot(subject.label)
        for channel in channels_of(subject) or {NONE}
    }
    begins = {each: begin for each in judged if (begin := silence(told, each, policy)) is not None}
    for subject in subjects.values():
        own = {(subject.computer, channel) for channel in channels_of(subject)}
        if not own or not own <= judged:
            # "a computer is silent when all of them are".
            own = {each for each in judged if each[0] == subject.computer}
        found = [begins[each] for each in own if each in begins]
        if not found or computers.is_retired(subject.computer):
            continue
        # "A proper shutdown is not silence for 14 days".
        off = told.shutdowns.get(subject.computer)
        subject.silent_from = max(found)
        if off is not None:
            subject.silent_from = max(subject.silent_from, off + MOST)


def silence(told: Chronicle, log: tuple[str, str], policy: Mapping[str, Any]) -> float | None:
    """From when on a channel of a computer is silent; None where nothing was logged.

    "nothing was read for `silent_after`: configured, else the larger of 48 h and three times the
    longest gap between its records of the 28 days before its last one (gaps across a shutdown or a
    power loss left out), at most 14 days". "Where only ESE events come, or under five gaps are
    known: 14 days". What no event names is heard by those of its computer.
    """
    if log[1] == NONE:
        engine = [event.time for event in told.events if event.computer == log[0]]
        return max(engine) + MOST if engine else None
    if log not in told.channels:
        return None
    channel = told.channels[log]
    last = channel.times[-1]
    configured = seconds(policy.get("silent_after", ""))
    if configured is not None:
        return last + configured
    starts = [start for key, of in told.channels.items() if key[0] == log[0] for start in of.starts]
    times = [time for time in channel.times if time >= last - MEASURED]
    gaps = [
        after - before
        for before, after in pairwise(times)
        if before // HOUR != after // HOUR
        and not any(before < start <= after + BOOT for start in starts)
    ]
    alone = not any(time >= last - MEASURED for time in channel.others)
    if alone or len({time // HOUR for time in times}) <= 5:
        return last + MOST
    return last + min(MOST, max(LEAST, 3 * max(gaps, default=0.0)))
