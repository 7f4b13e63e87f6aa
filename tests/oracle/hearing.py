"""When something was heard last of each database, and from when on that is silence (section 5a)."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tests.oracle.chronicle import Channel, Chronicle
from tests.oracle.facts import seconds
from tests.oracle.history import DAY, HOUR
from tests.oracle.identity import Computers, is_nameless_snapshot
from tests.oracle.subject import Subject

LEAST = 48 * HOUR
MOST = 14 * DAY
MEASURED = 28 * DAY
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
        for channel in channels_of(subject)
    }
    for subject in subjects.values():
        own = {(subject.computer, channel) for channel in channels_of(subject)}
        if not own or not own <= judged or computers.is_retired(subject.computer):
            continue
        heard = [told.channels[each] for each in own if each in told.channels]
        if not heard:
            continue
        subject.heard = max(each.times[-1] for each in heard)
        found = [silence(each, policy) for each in heard]
        # "A proper shutdown is not silence for 14 days".
        off = told.shutdowns.get(subject.computer)
        subject.silent_from = max([begin for begin, _ in found])
        if off is not None:
            subject.silent_from = max(subject.silent_from, off + MOST)
        subject.quiet_by_rule = all(quiet for _, quiet in found)


def silence(channel: Channel, policy: Mapping[str, Any]) -> tuple[float, bool]:
    """From when on a channel is silent, and whether that is an info.

    "nothing was read for `silent_after`: configured, else the larger of 48 h and three times the
    longest gap between its records of the 28 days before its last one (gaps across a shutdown or a
    power loss left out), at most 14 days". "Where only ESE events come, or under five gaps are
    known: 14 days, and the finding is info."
    """
    last = channel.times[-1]
    configured = seconds(policy.get("silent_after", ""))
    if configured is not None:
        return last + configured, False
    times = [time for time in channel.times if time >= last - MEASURED]
    gaps = [
        after - before
        for before, after in pairwise(times)
        if before // HOUR != after // HOUR
        and not any(before < start <= after + BOOT for start in channel.starts)
    ]
    alone = not any(time >= last - MEASURED for time in channel.others)
    if alone or len(gaps) < 5:
        return last + MOST, True
    return last + min(MOST, max(LEAST, 3 * max(gaps))), False
