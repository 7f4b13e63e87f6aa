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
BOOT = HOUR
"""Within so long after its first record a computer that was off has started its services."""

Subjects = Mapping[tuple[str, str], Subject]


def channels_of(subject: Subject) -> set[str]:
    """The channels that its own events come by, not those of tools."""
    return {event.channel for event in subject.owned if not event.in_snapshot}


def listen(
    subjects: Subjects, told: Chronicle, policy: Mapping[str, Any], computers: Computers
) -> None:
    """Note of each database when it was heard last, and from when on that is silence.

    "Silence is judged per computer and channel that a watched database's events came by ...; per
    database it is that of the channel its own events come by". "`retired: true` ends it."
    """
    judged: dict[tuple[str, str], set[str]] = {}
    for subject in subjects.values():
        if subject.tier == "watched" and not is_nameless_snapshot(subject.label):
            for channel in channels_of(subject) or {NONE}:
                judged.setdefault((subject.computer, channel), set()).update(subject.instances)
    begins = {
        each: begin
        for each, served in judged.items()
        if (begin := silence(told, each, policy, served)) is not None
    }
    for log in begins.keys() & told.channels.keys():
        # "A proper shutdown is not silence for 14 days", where nothing was logged since.
        off = told.shutdowns.get(log[0])
        if off is not None and told.channels[log].times[-1] <= off + BOOT:
            begins[log] = max(begins[log], off + MOST)
    for log in [each for each in judged if each[1] == NONE]:
        # It is heard by the logs of its computer, where it has any.
        if any(each[0] == log[0] and each[1] != NONE for each in judged):
            del judged[log]
            begins.pop(log, None)
    for subject in subjects.values():
        own = {(subject.computer, channel) for channel in channels_of(subject)}
        if not own or not own <= judged.keys() or not own & begins.keys():
            # "a computer is silent when all of them are": that of a log without a possible time.
            own = {each for each in judged if each[0] == subject.computer}
        found = [begins[each] for each in own if each in begins]
        if not found or computers.is_retired(subject.computer):
            continue
        subject.silent_from = max(found)


def silence(
    told: Chronicle, log: tuple[str, str], policy: Mapping[str, Any], served: set[str]
) -> float | None:
    """From when on a channel of a computer is silent; None where nothing was logged.

    "nothing was read for `silent_after`: configured, else the larger of 48 h and three times the
    longest gap between its records of the 28 days before its last one (gaps across a shutdown or a
    power loss left out), at most 14 days". "Where only ESE events come, or under five gaps are
    known: 14 days". What no event names is heard by those of its computer. `served` are the
    instances that write to it: where records have no numbers, theirs count.
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
    since = last - MEASURED
    times = [time for time in channel.times if time >= since]
    earlier = [time for time in channel.times if time < since][-1:]
    gaps = [
        after - max(before, since)
        for before, after in pairwise([*earlier, *times])
        if before // HOUR != after // HOUR
        and not any(before < start <= after + BOOT for start in starts)
    ]
    alone = not any(time >= last - MEASURED for time in channel.others)
    hours: dict[str, set[float]] = {}
    for time, shown_by in channel.shown:
        if time >= last - MEASURED and shown_by in {"", *served}:
            hours.setdefault(shown_by, set()).add(time // HOUR)
    if alone or max(map(len, hours.values()), default=0) <= 5:
        return last + MOST
    return last + min(MOST, max(LEAST, 3 * max(gaps, default=0.0)))
