"""Every record once, in its order, with its names resolved (semantics, sections 1 and 2)."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tests.oracle.facts import (
    DATABASE_AT,
    IO_FAILED,
    KIND_OF_ERROR,
    NOT_AT_WORK,
    PROVIDERS,
    TOOLS,
    error_of,
)
from tests.oracle.history import DAY, HOUR, History, Logged
from tests.oracle.identity import Computers, database_label, instance_key, is_snapshot

TOLERANCE = 2 * HOUR
"""How far times of one life of a log may run against their numbers: a clock that was set back."""
COMPANIONS = frozenset(
    {"exchangestoredb", "msexchangerepl", "microsoft-exchange-highavailability"}
    | {"msexchangeis", "user32", "eventlog"}
)
"""Programs of which single records are read (section 4)."""
OFF = frozenset({"shutdown", "power off"})
"""Words of 1074 for a computer that does not start again."""
STARTS = frozenset({102, 6005, 6008})
FAR = 1024
"""So far apart are numbers of one time only where the log was cleared between."""


Numbered = tuple[float, int, int]
"""Time, number and place of a record."""
Life = list[Numbered]


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
    def replays(self) -> bool:
        """Its instance replays logs, by the letter of `%2`."""
        return self.letter in ("R", "U")

    @property
    def serious(self) -> bool:
        """Of the level of an error."""
        return self.level in ("error", "critical")

    @property
    def error(self) -> int | None:
        """The error that it tells as the reason of its end."""
        return error_of(self.id, self.strings)

    @property
    def page_error(self) -> str:
        """The kind of bad page that this error is: "An error that is a page error is a page error".

        Empty where it is none; "a file that is no database makes no page".
        """
        kind = KIND_OF_ERROR.get(self.error or 0, "")
        return "" if self.of_another_file else kind

    @property
    def io_error(self) -> bool:
        """An error that is an I/O error: "-1021, -1022, -1121 are I/O errors"."""
        return self.error in IO_FAILED

    @property
    def of_another_file(self) -> bool:
        """It names a file, and that is no database."""
        return self.id in DATABASE_AT and not self.database and bool(self.at(DATABASE_AT[self.id]))

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


class Channel(NamedTuple):
    """What was heard of one channel of a computer."""

    times: list[float]
    """When anything was logged, of any provider."""
    starts: list[float]
    """When an instance or the computer started: a shutdown or a power loss came before."""
    others: list[float]
    """Of these, those of other programs than the engine."""
    shown: list[tuple[float, str]]
    """Each time, and what shows it (`shown_by`)."""


class Heard(NamedTuple):
    """A record of a log."""

    time: float
    is_engine: bool
    is_start: bool
    """An instance or the computer started: that of a tool is none."""
    shown_by: str


class Chronicle(NamedTuple):
    """What was logged."""

    events: list[Event]
    """Of ESE providers, in order."""
    times: dict[str, list[float]]
    """By computer: when anything was logged that bears a number, or that another program logged
    that is no companion: how far its logs were read."""
    gaps: list[Gap]
    channels: dict[tuple[str, str], Channel]
    """By computer and channel."""
    shutdowns: dict[str, float]
    """By computer that was shut down and did not start since: when."""
    begins: dict[str, float]
    """By computer: the time of its first record with a number."""
    ends: dict[str, float]
    """By computer: how far its log was read, as a record with a number or of another program tells
    that is no companion."""


def single(history: History, computers: Computers) -> list[tuple[int, str, Logged]]:
    """The records without duplicates, each with its place and its computer's label.

    "a record is a duplicate only where its number *and* its time fit one (a number seen with
    another time is another record)". "Without a record id the source's position deduplicates within
    a file, and across inputs equal (computer, provider, id, parameters, second, after its time
    zone) are one record, as multisets: the largest count of one input, never the sum, numbered or
    not".
    """
    met: set[tuple[object, ...]] = set()
    equal: dict[tuple[object, ...], list[tuple[int, str, Logged]]] = {}
    for place, record in enumerate(history.records):
        if not isinstance(record, Logged):
            continue
        label = computers.label(record.computer)
        number = (label, record.channel.lower(), record.record_id, record.time, record.file)
        if record.record_id is not None and number in met:
            continue
        met.add(number)
        same = (label, record.provider.lower(), record.event_id, record.strings, record.time // 1)
        equal.setdefault(same, []).append((place, label, record))
    return sorted(each for group in equal.values() for each in largest(group))


def largest(equal: list[tuple[int, str, Logged]]) -> list[tuple[int, str, Logged]]:
    """Of records that are equal but for their numbers: as many as one input has at most."""
    numbered: dict[tuple[object, ...], tuple[int, str, Logged]] = {}
    files: dict[int, list[tuple[int, str, Logged]]] = {}
    for each in equal:
        _, label, record = each
        files.setdefault(record.file, []).append(each)
        if record.record_id is not None:
            key = (label, record.channel.lower(), record.record_id, record.time)
            numbered.setdefault(key, each)
    most = max(files.values(), key=len)
    bare = [each for each in most if each[2].record_id is None]
    kept = [*numbered.values()]
    return [*kept, *bare[: max(0, len(most) - len(kept))]]


def lives(numbered: list[Numbered]) -> list[Life]:
    """The records (time, number, place) of one channel, apart by life of the log.

    "numbers and times rise together within an epoch (times of one log jitter by minutes and a clock
    may be set back: tolerated) ... one that fits no known epoch opens a new one".
    """
    found: list[Life] = []
    for record in sorted(numbered):
        time, number, _ = record
        # One that is missing among the numbers of a life is of no later one, whatever its time is.
        around = [
            any(other < number for _, other, _ in life)
            and any(other > number for _, other, _ in life)
            for life in found
        ]
        for life, is_around in reversed([*zip(found, around, strict=True)]):
            elsewhere = any(around) and not is_around
            fits = all(
                other != number
                and (other < number or before >= time - TOLERANCE)
                and (
                    abs(other - number) <= FAR
                    or (other < number and before < time and not elsewhere)
                )
                for before, other, _ in life
            )
            if fits:
                life.append(record)
                break
        else:
            found.append([record])
    return found


def lost(
    before: tuple[float, int],
    after: tuple[float, int],
    lives: Sequence[Life],
    read: Collection[int],
) -> Iterable[tuple[float, float]]:
    """From when to when records are missing between two (time, number) of a life of a log.

    Where the clock was wrong for a while, those between are of a life of their own. What is missing
    beside them may be of any time up to theirs.
    """
    between = [
        (time, number)
        for life in lives
        if all(before[1] < number < after[1] for _, number, _ in life)
        for time, number, _ in life
    ]
    beside = sorted([before, *between, after], key=lambda each: each[1])
    times = {number: time for time, number in beside}
    for (begin, low), (end, high) in pairwise(beside):
        if high - low > FAR and any(
            abs(number - high) == 1 and time < begin for life in lives for time, number, _ in life
        ):
            # The record beside it in number is of an earlier life of the log, and so is it: its
            # clock was ahead.
            continue
        if any(number not in read for number in range(low + 1, high)):
            # "Numbers and times rise together": it was before the next number, too.
            end = min(end, times.get(high + 1, end))
            yield min(begin, end), max(begin, end)


def shut_down(records: list[tuple[int, str, Logged]], now: float) -> dict[str, float]:
    """Computers that were properly shut down.

    "1074 whose `%5` says shutdown or power off (a table of languages; any other word is a restart)
    and no 6005 behind it".
    """
    found: dict[str, float] = {}
    for _, label, record in sorted(records, key=lambda each: each[2].time):
        if record.time > now + DAY:
            break
        if record.event_id == 6005:
            found.pop(label, None)
        elif record.event_id == 1074 and {*record.strings[4:5]} & OFF:
            found[label] = record.time
    return found


def is_companion(record: Logged) -> bool:
    """Whether it is one of those records; a restart is none."""
    is_restart = record.event_id == 1074 and not {*record.strings[4:5]} & OFF
    return record.provider.lower() in COMPANIONS and not is_restart


def shown_by(record: Logged, tells: bool) -> str:
    """What shows that the log was heard then: the log by its numbers and by other programs ("");
    else the instance, where the record shows that it is at work; else "none"."""
    if tells:
        return ""
    process = record.strings[0].lower() if record.strings else ""
    if record.event_id in NOT_AT_WORK or process in TOOLS:
        return "none"
    return instance_key(record.strings)


def heard_of(
    history: History, computers: Computers, records: Iterable[tuple[int, str, Logged]]
) -> Iterator[tuple[int, str, Logged, bool]]:
    """The records, and whether an ESE provider logged each; those of other programs from each of
    the logs that have them: all of these are read."""
    extra = history.configuration.get("providers") or ()
    assert isinstance(extra, list | tuple)
    own = {str(each).lower() for each in extra}
    labels = {place: label for place, label, _ in records}
    for place, record in enumerate(history.records):
        if isinstance(record, Logged):
            is_engine = bool(PROVIDERS.match(record.provider)) or record.provider.lower() in own
            if place in labels or not (is_engine or record.record_id is not None):
                label = labels.get(place) or computers.label(record.computer)
                yield place, label, record, is_engine


def placed(
    records: Iterable[tuple[int, str, Logged]], history: History
) -> tuple[dict[int, float], list[Gap]]:
    """When each record was written by the numbers of its log, by its place; and what is missing.

    "sorted by (time, record id), within an epoch by record id where a clock was set back".
    """
    channels: dict[tuple[str, str], list[Numbered]] = {}
    when: dict[int, float] = {}
    for place, label, record in records:
        when[place] = record.time
        if record.record_id is not None:
            channel = channels.setdefault((label, record.channel.lower()), [])
            channel.append((record.time, record.record_id, place))
    gaps: list[Gap] = []
    for (label, name), numbered in channels.items():
        read_numbers = {number for _, number, _ in numbered}
        # "A record over a day later than it was read" tells no time.
        timed = [each for each in numbered if each[0] <= history.now + DAY]
        found = lives(timed)
        for life in found:
            life.sort(key=lambda each: each[1])
            latest, last, _ = life[0]
            for time, number, place in life:
                if history.complete_channels:
                    parts = lost((latest, last), (max(latest, time), number), found, read_numbers)
                    gaps += [Gap(label, name, *part) for part in parts]
                latest, last = max(latest, time), number
                when[place] = latest
    return when, gaps


def chronicle(history: History) -> Chronicle:
    """All that ESE providers logged, each record once, in order."""
    computers = Computers(history)
    records = single(history, computers)
    when, gaps = placed(records, history)
    times: dict[str, list[float]] = {}
    events: list[Event] = []
    heard: dict[tuple[str, str], list[Heard]] = {}
    ends: dict[str, float] = {}
    begins: dict[str, float] = {}
    for place, label, record, is_engine in heard_of(history, computers, records):
        is_read = is_engine or is_companion(record)
        tells = record.record_id is not None or not is_read
        if tells:
            times.setdefault(label, []).append(when.get(place, record.time))
        if record.time <= history.now + DAY:
            if record.record_id is not None:
                begins[label] = min(when[place], begins.get(label, when[place]))
            # "A record over a day later than it was read is never the last".
            where = heard.setdefault((label, record.channel.lower()), [])
            process = record.strings[0].lower() if record.strings else ""
            begins_it = record.event_id in STARTS and process not in TOOLS
            where.append(Heard(record.time, is_engine, begins_it, shown_by(record, tells)))
            if tells:
                ends[label] = max(record.time, ends.get(label, 0.0))
        if not is_engine:
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
    read_of = {
        key: Channel(
            sorted(each.time for each in found),
            sorted(each.time for each in found if each.is_start),
            sorted(each.time for each in found if not each.is_engine),
            [(each.time, each.shown_by) for each in found],
        )
        for key, found in heard.items()
    }
    return Chronicle(events, times, gaps, read_of, shut_down(records, history.now), begins, ends)
