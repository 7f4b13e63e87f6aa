"""Every record once, in its order, with its names resolved (semantics, sections 1 and 2)."""

from typing import NamedTuple

from tests.oracle.facts import DATABASE_AT, PROVIDERS, TOOLS
from tests.oracle.history import HOUR, History, Logged
from tests.oracle.identity import Computers, database_label, instance_key, is_snapshot

TOLERANCE = 2 * HOUR
"""How far times of one life of a log may run against their numbers: a clock that was set back."""
FAR = 1024
"""So far apart are numbers of one time only where the log was cleared between."""


class Event(NamedTuple):
    """One record of the engine."""

    when: float
    """Its time, never before that of a record with a lower number in the same life of the log."""
    number: int
    place: int
    """Its place in the history, where nothing else orders."""
    time: float
    """As logged."""
    computer: str
    channel: str
    provider: str
    id: int
    level: str
    process: str
    instance: str
    database: str
    strings: tuple[str, ...]

    @property
    def order(self) -> tuple[float, int, int]:
        """What sorts the events of one database."""
        return (self.when, self.number, self.place)

    @property
    def current(self) -> bool:
        """A current engine logged it: `%2` is `pid,S,ctx`, not a bare pid."""
        return "," in (self.strings[1] if len(self.strings) > 1 else "")

    @property
    def letter(self) -> str:
        """The state of its instance in `%2`; empty where an old engine logged it."""
        parts = (self.strings[1] if len(self.strings) > 1 else "").split(",")
        return parts[1] if len(parts) > 1 else ""

    @property
    def tool(self) -> bool:
        """A program that works on files of others logged it."""
        return self.process in TOOLS

    @property
    def in_snapshot(self) -> bool:
        """The file that it names is in a snapshot."""
        return self.id in DATABASE_AT and is_snapshot(self.at(DATABASE_AT[self.id]))

    def at(self, position: int) -> str:
        """`%n`; empty where the engine did not give it."""
        return self.strings[position - 1] if len(self.strings) >= position else ""


class Gap(NamedTuple):
    """Records that are missing from a channel that was read whole."""

    computer: str
    channel: str
    begin: float
    end: float


class Chronicle(NamedTuple):
    """What was logged."""

    events: list[Event]
    """Of ESE providers, in order."""
    times: dict[str, list[float]]
    """By computer: when anything was logged that bears a number: how far its logs were read."""
    gaps: list[Gap]

    def numbered(self, computer: str) -> bool:
        """Whether records of the computer bear numbers."""
        return any(event.number for event in self.events if event.computer == computer)


def single(history: History, computers: Computers) -> list[tuple[int, str, Logged]]:
    """The records without duplicates, each with its place and its computer's label.

    "a record is a duplicate only where its number *and* its time fit one (a number seen with
    another time is another record)". "Without a record id only the source's position deduplicates."
    """
    kept: list[tuple[int, str, Logged]] = []
    met: set[tuple[str, str, int, float]] = set()
    for place, record in enumerate(history.records):
        if not isinstance(record, Logged):
            continue
        label = computers.label(record.computer)
        if record.record_id is not None:
            key = (label, record.channel.lower(), record.record_id, record.time)
            if key in met:
                continue
            met.add(key)
        kept.append((place, label, record))
    return kept


def lives(numbered: list[tuple[float, int, int]]) -> list[list[tuple[float, int, int]]]:
    """The records (time, number, place) of one channel, apart by life of the log.

    "numbers and times rise together within an epoch (times of one log jitter by minutes and a clock
    may be set back: tolerated) ... one that fits no known epoch opens a new one".
    """
    found: list[list[tuple[float, int, int]]] = []
    for record in sorted(numbered):
        time, number, _ = record
        for life in reversed(found):
            fits = all(
                other != number
                and (other < number or (before >= time - TOLERANCE and other - number <= FAR))
                for before, other, _ in life
            )
            if fits:
                life.append(record)
                break
        else:
            found.append([record])
    return found


def chronicle(history: History) -> Chronicle:
    """All that ESE providers logged, each record once, in order.

    "sorted by (time, record id), within an epoch by record id where a clock was set back".
    """
    computers = Computers(history)
    records = single(history, computers)
    channels: dict[tuple[str, str], list[tuple[float, int, int]]] = {}
    when: dict[int, float] = {}
    for place, label, record in records:
        when[place] = record.time
        if record.record_id is not None:
            channel = channels.setdefault((label, record.channel.lower()), [])
            channel.append((record.time, record.record_id, place))
    gaps: list[Gap] = []
    for (label, name), numbered in channels.items():
        for life in lives(numbered):
            life.sort(key=lambda each: each[1])
            latest = life[0][0]
            last = life[0][1]
            for time, number, place in life:
                if history.complete_channels and number > last + 1:
                    gaps.append(Gap(label, name, latest, max(latest, time)))
                latest, last = max(latest, time), number
                when[place] = latest
    times: dict[str, list[float]] = {}
    events: list[Event] = []
    extra = history.configuration.get("providers") or ()
    assert isinstance(extra, list | tuple)
    own = {str(each).lower() for each in extra}
    for place, label, record in records:
        if record.record_id is not None:
            times.setdefault(label, []).append(when[place])
        if not PROVIDERS.match(record.provider) and record.provider.lower() not in own:
            continue
        position = DATABASE_AT.get(record.event_id, 0)
        path = record.strings[position - 1] if 0 < position <= len(record.strings) else ""
        events.append(
            Event(
                when[place],
                record.record_id or 0,
                place,
                record.time,
                label,
                record.channel.lower(),
                record.provider,
                record.event_id,
                record.level,
                record.strings[0].lower() if record.strings else "",
                instance_key(record.strings),
                database_label(path),
                record.strings,
            )
        )
    events.sort(key=lambda each: each.order)
    for each in times.values():
        each.sort()
    return Chronicle(events, times, gaps)
