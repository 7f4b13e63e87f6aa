"""The entities of the state, each made at its first record, as far as there is room.

Names come from the data: those beyond the limits are counted and remembered as dropped. Computers
are known by name: two full names with one short name are two (semantics.md 1).
"""

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from esewatch.config import Settings
from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.fold.identity import identity
from esewatch.fold.identity.identity import MAX_PATH
from esewatch.fold.identity.owners import is_tool
from esewatch.fold.state.state import (
    Channel,
    Database,
    Device,
    Host,
    Instance,
    Power,
    SourceState,
    State,
)
from esewatch.model import Coverage, Event, Reading, Record

AnyRecord = TypeVar("AnyRecord", bound=Record)

MAX_DROPPED = 1000
OWNERS_A_DATABASE = 4
"""The limit of instances, devices, processes, computers and channels for each of
`max_databases`."""
EVENTS_A_DATABASE = 20
"""The limit of separate pairs of computer and event id for each of `max_databases`."""
MAX_EVENT_IDS = 500
"""The limit of separate unknown ids of one provider on one computer."""
MAX_PROVIDERS = 32
OTHER_EVENT, OTHER_PROVIDER = -1, "other"
"""The name under which events beyond these limits are counted: the sum stays complete."""
CROWDED = 0.9
"""Once the limit of computers is reached, none is added until they are below this share of it."""
PASSING_SECONDS, PASSED_SECONDS = 3600.0, 86400.0
"""At the limit, a computer without a database is dropped if its events span an hour at most and
ended more than a day ago."""
MAX_NAME = 255
"""A longer name is cut; a digest behind it keeps it distinct."""
MAX_LABEL = 1024
"""The same limit for a field that may be a path."""
_NAMES: Mapping[type, tuple[str, ...]] = {
    Event: ("computer", "channel", "provider", "process", "ese_instance"),
    Reading: ("computer", "object", "counter", "instance"),
    Coverage: ("computer", "channel"),
}
"""The names that records have; others have a computer only."""
_GET = {kind: attrgetter(*names) for kind, names in _NAMES.items()}


def drop(state: State, computer: str, name: str) -> None:
    known = state.dropped
    key = f"{computer}|{name}"
    if key not in known:
        state.databases_dropped += 1
    if key in known or len(known) < MAX_DROPPED:
        known[key] = known.get(key, 0) + 1


def long_paths(state: State) -> list[tuple[str, str]]:
    """(computer, beginning of the path) of the databases that were dropped as such, sorted."""
    pairs = (key.partition("|") for key in sorted(state.dropped))
    return [(computer, name) for computer, _, name in pairs if len(name) > MAX_PATH]


def most_owners(settings: Settings) -> int:
    return OWNERS_A_DATABASE * settings.max_databases


class EventIds:
    """The provider and id under which an event is counted, so that their number stays bounded."""

    def __init__(self, state: State) -> None:
        self._counted = sum(
            len(ids) for host in state.hosts.values() for ids in host.events.values()
        )

    def count(self, state: State, settings: Settings, host: Host, event: Event) -> bool:
        """Count the event; False where it was counted under the rest."""
        ids = host.events.get(event.provider)
        if ids is not None and event.event_id in ids:
            ids[event.event_id] += 1
            return True
        crowded = self._counted >= EVENTS_A_DATABASE * settings.max_databases
        provider, event_id = event.provider, event.event_id
        if ids is None and (crowded or len(host.events) >= MAX_PROVIDERS):
            provider = OTHER_PROVIDER
        known = host.events.setdefault(provider, {})
        if event_id not in CATALOGUE and (crowded or len(known) >= MAX_EVENT_IDS):
            event_id = OTHER_EVENT
        self._counted += event_id not in known
        known[event_id] = known.get(event_id, 0) + 1
        fits = (provider, event_id) == (event.provider, event.event_id)
        if not fits:
            drop(state, host.computer, f"{event.provider} {event.event_id}")
        return fits


def shortened(record: AnyRecord) -> AnyRecord:
    """The record with no name longer than any real one."""
    get = _GET.get(type(record))
    told = get(record) if get is not None else (record.computer,)
    if sum(map(len, told)) > MAX_NAME:
        names = _NAMES.get(type(record), ("computer",))
        record = msgspec.structs.replace(
            record, **dict(zip(names, map(shortened_name, told), strict=True))
        )
    feed = record.feed if isinstance(record, Reading) else None
    if feed is not None and len(feed.name) + sum(map(len, feed.labels)) > MAX_NAME:
        labels = tuple(shortened_name(label, MAX_LABEL) for label in feed.labels)
        feed = msgspec.structs.replace(feed, name=shortened_name(feed.name), labels=labels)
        record = msgspec.structs.replace(record, feed=feed)
    return record


def shortened_name(name: str, most: int = MAX_NAME) -> str:
    """`name`, cut where it is longer than `most`."""
    if len(name) <= most:
        return name
    digest = zlib.crc32(name.encode("utf-8", "surrogatepass"))
    return f"{name[: most - 9]}~{digest:08x}"


MAX_ALIASES = 8
MAX_SPELLINGS = 4
"""Spellings of a computer's name that are remembered, on average."""


def label_of(name: str, hosts: Mapping[str, Host], settings: Settings) -> str:
    """Label of the computer that `name` means among the known ones. The full name that a short
    label was first met with keeps it; another one is a label itself."""
    full = identity.full_name(name, settings)
    label = identity.computer_label(name, settings)
    host = hosts.get(label)
    if label == full or host is None or _keeper(host, settings) in {"", full}:
        return label
    return full


class Namesakes(NamedTuple):
    """Computers with the same short name: the first one met is labelled with it."""

    short: str
    keeper: str
    others: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return (
            f"{self.keeper} and {', '.join(self.others)} have one short name and are "
            f"{len(self.others) + 1} computers: the first is called {self.short}, the others by "
            "their full names"
        )


def namesakes(hosts: Mapping[str, Host], settings: Settings) -> list[Namesakes]:
    if settings.computer_label == "fqdn":
        return []
    others = sorted(
        (short, label)
        for label, host in hosts.items()
        if (short := label.partition(".")[0]) in hosts and short != label and host.full_name
    )
    return [
        Namesakes(short, keeper, tuple(label for _, label in group))
        for short, group in groupby(others, key=lambda item: item[0])
        if (keeper := _keeper(hosts[short], settings))
    ]


class Computers:
    def __init__(self, state: State, settings: Settings) -> None:
        self._state = state
        self._settings = settings
        self._labels: dict[str, str] = {}
        self._of_source: dict[str, set[str]] = {}
        self._channels_of: dict[str, set[tuple[str, str]]] = {}
        self.event_ids = EventIds(state)
        self._full = False
        self._oldest: dict[str, float] = {}
        self._news: set[str] = set()
        """Short names for which another computer was met, not logged yet."""

    def reconfigure(self, settings: Settings) -> None:
        self._settings = settings
        self._labels.clear()

    def label(self, source: SourceState, logged: str, time: float | None) -> str | None:
        """Label of a known computer of the source, None where it must be met first."""
        label = self._labels.get(logged)
        if label is None or label not in self._state.hosts or label not in self._told_by(source):
            return None
        if time is not None:
            self.note(label, time)
        return label

    def note(self, label: str, time: float) -> None:
        if time < self._oldest.get(label, math.inf):
            self._oldest[label] = time

    def _told_by(self, source: SourceState) -> set[str]:
        """The computers of the source, as a set: a list would be searched for each record."""
        known = self._of_source.get(source.name)
        if known is None or len(known) != len(source.computers):
            known = self._of_source[source.name] = set(source.computers)
        return known

    def _fits(self, label: str, logged: str) -> bool:
        """True if there is room for one more computer. Once there was none, there is none again
        until enough is free: a flood of names must not take each place that becomes free."""
        most = most_owners(self._settings)
        count = len(self._state.hosts)
        self._full = count >= most or (self._full and count >= CROWDED * most)
        aliased = {each.lower() for each in self._settings.aliases.values()}
        if not self._full or identity.full_name(logged, self._settings) in aliased:
            return True
        drop(self._state, label, "")
        return False

    def tells_of(self, source: SourceState, channel: tuple[str, str]) -> None:
        known = self._channels_of.get(source.name)
        if known is None or len(known) != len(source.channels):
            known = self._channels_of[source.name] = set(source.channels)
        if channel not in known:
            known.add(channel)
            source.channels.append(channel)

    def drop_passing(self, now: float) -> Iterator[tuple[str, str, str]]:
        """Drop, at the limit, computers with only a few old records; returns the changes."""
        state = self._state
        if len(state.hosts) < CROWDED * most_owners(self._settings):
            return
        tables = (state.instances, state.devices, state.databases, state.sql_databases)
        owners = {computer for table in tables for computer, _ in table}
        gone = [
            label
            for label, host in state.hosts.items()
            if label not in owners
            and host.last_heard - host.first_heard <= PASSING_SECONDS
            and now - host.last_heard > PASSED_SECONDS
        ]
        if not (lost := set(gone)):
            return
        for label in gone:
            del state.hosts[label]
            yield ("host", label, "")
            for day in state.recent.pop(label, ()):
                yield ("recent", label, str(day))
        for key in [key for key in state.channels if key[0] in lost]:
            del state.channels[key]
            yield ("channel", *key)
        for source in state.sources.values():
            source.computers = [each for each in source.computers if each not in lost]
            source.channels = [each for each in source.channels if each[0] not in lost]
            yield ("source", source.name, "")
        self._of_source.clear()
        self._channels_of.clear()
        self._labels.clear()
        self.event_ids = EventIds(state)

    def meet(self, source: SourceState, logged: str, time: float | None) -> str | None:
        hosts = self._state.hosts
        label = label_of(logged, hosts, self._settings)
        host = hosts.get(label)
        new = host is None
        if new and not self._fits(label, logged):
            return None
        told_by = self._told_by(source)
        if label not in told_by:
            source.computers.append(label)
            told_by.add(label)
        if host is None:
            host = hosts[label] = Host(computer=label)
        full = identity.full_name(logged, self._settings)
        if "." in full and not _keeper(host, self._settings):
            host.full_name = full
        if logged not in host.aliases_seen and len(host.aliases_seen) < MAX_ALIASES:
            host.aliases_seen.append(logged)
        if len(self._labels) >= MAX_SPELLINGS * most_owners(self._settings):
            self._labels.clear()
        self._labels[logged] = label
        if new and label != identity.computer_label(logged, self._settings):
            self._news.add(identity.computer_label(logged, self._settings))
        return self.label(source, logged, time) or label

    def tell(self, say: Callable[[str], object]) -> None:
        if self._news:
            for each in namesakes(self._state.hosts, self._settings):
                if each.short in self._news:
                    say(each.sentence)
            self._news.clear()

    def settle(self) -> None:
        """Give each short label to the computer with the oldest record. For inputs that were read
        together: the order of reading decides nothing."""
        hosts, oldest = self._state.hosts, self._oldest
        names: dict[str, str] = {}
        for short, host in hosts.items():
            keeper = _keeper(host, self._settings)
            others = [each for each in hosts if keeper and each.startswith(short + ".")]
            first = min(
                [short, *others],
                key=lambda each: (
                    oldest.get(each, math.inf),
                    _keeper(hosts[each], self._settings),
                ),
            )
            if first != short:
                names |= {first: short, short: keeper}
        if names:
            rename(self._state, names)
            self._labels.clear()
            self._of_source.clear()
            self._channels_of.clear()
            self._oldest = {names.get(each, each): time for each, time in oldest.items()}


def rename(state: State, names: Mapping[str, str]) -> None:

    def renamed(label: str) -> str:
        return names.get(label, label)

    hosts = list(state.hosts.values())
    state.hosts.clear()
    for host in hosts:
        host.computer = renamed(host.computer)
        state.hosts[host.computer] = host
    state.recent = {renamed(label): days for label, days in state.recent.items()}
    tables: Sequence[dict[tuple[str, str], Any]] = (
        state.channels,
        state.instances,
        state.devices,
        state.databases,
        state.sql_databases,
    )
    for table in tables:
        entries = list(table.items())
        table.clear()
        for (_, name), entry in entries:
            entry.computer = renamed(entry.computer)
            table[entry.computer, name] = entry
    for source in state.sources.values():
        source.computers = list(dict.fromkeys(map(renamed, source.computers)))
        source.channels = list(dict.fromkeys((renamed(of), name) for of, name in source.channels))
    dropped = {tuple(key.split("|", 1)): count for key, count in state.dropped.items()}
    state.dropped = {"|".join((renamed(key[0]), *key[1:])): n for key, n in dropped.items()}


def _keeper(host: Host, settings: Settings) -> str:
    """The full name of the computer with this label, empty while only short ones were met."""
    seen = [host.full_name] if host.full_name else host.aliases_seen
    full = (identity.full_name(name, settings) for name in seen)
    return next((name for name in full if "." in name), "")


Entity = tuple[str, str, str]
"""(table, first key, second key or empty): one row of the journal."""


MAX_ASIDE = 1000


class NoRoomError(Exception): ...


class Entities:
    """A state, and which of its entities have changed."""

    def __init__(self, state: State, settings: Settings) -> None:
        self.state = state
        self.settings = settings
        self.changed: set[Entity] = set()
        """Those that the journal does not have as they are."""
        self._unshown: set[Entity] = set()
        """Those that it has, and that no view has taken up yet."""
        self.computers = Computers(state, settings)
        self._aside: dict[tuple[str, str], Channel] = {}
        """Logs of computers without an event of ESE, the last 1,000 that were heard. By full names:
        whose the short one is to be is not known yet."""
        self._aside_power: dict[str, Power] = {}
        self._failovers_told = True  # more is known: their databases are worked out again

    def stored(self) -> None:
        """Note that the journal has what has changed."""
        self._unshown |= self.changed
        self.changed.clear()

    def news(self) -> set[Entity]:
        """Entities that have changed since the last call; those that are not stored come again."""
        found = self._unshown | self.changed
        self._unshown = set()
        return found

    def _touch(self, table: str, first: str, second: str = "") -> None:
        self.changed.add((table, first, second))

    def _computer(self, source: SourceState, logged: str, time: float | None = None) -> str:
        """Return its label. Raises NoRoomError where it is one too many."""
        label = self.computers.label(source, logged, time)
        if label is None:
            label = self.computers.meet(source, logged, time)
            if label is None:
                self._touch("dropped", "")
                raise NoRoomError
            full = identity.full_name(logged, self.settings)
            for name in [each for each in self._aside_power if self._is_one(each, full)]:
                self.state.hosts[label].power = self._aside_power.pop(name)
            for name, log in [each for each in self._aside if self._is_one(each[0], full)]:
                channel = self._aside[label, log] = self._aside.pop((name, log))
                channel.computer = label
                self._channel(label, log)
            self._touch("host", label)
            self._failovers_told = True
        return label

    def _is_one(self, one: str, other: str) -> bool:
        """True if two names without aliases mean one computer, as a short one and a full one that
        begins with it do."""
        if one.partition(".")[0] != other.partition(".")[0]:  # as of most
            return False
        labels = {identity.computer_label(each, self.settings) for each in (one, other)}
        return one == other or (len(labels) == 1 and ("." in one) != ("." in other))

    def _known_or_full(self, logged: str) -> str:
        """The label of a known computer, else its full name."""
        label = label_of(logged, self.state.hosts, self.settings)
        return label if label in self.state.hosts else identity.full_name(logged, self.settings)

    def _channel(self, computer: str, name: str) -> Channel | None:
        key = (computer, name.lower())
        channel = self.state.channels.get(key)
        if channel is None:
            if not self._has_room(self.state.channels, computer, name):
                return None
            channel = self._aside.pop(key, None) or Channel(computer=computer, channel=key[1])
            self.state.channels[key] = channel
        self._touch("channel", *key)
        return channel

    def _log(self, computer: str, name: str) -> Channel | None:
        """That of a computer without an event is kept aside."""
        if computer in self.state.hosts:
            return self._channel(computer, name)
        key = computer, name.lower()
        channel = self._aside.pop(key, None) or Channel(computer=computer, channel=key[1])
        self._aside[key] = channel
        if len(self._aside) > MAX_ASIDE:
            del self._aside[next(iter(self._aside))]
        return channel

    def _instance(self, computer: str, name: str, *, named_by_event: bool) -> Instance | None:
        key = (computer, name.lower())
        instance = self.state.instances.get(key)
        if instance is None:
            if not self._has_room(self.state.instances, computer, name):
                return None
            instance = self.state.instances[key] = Instance(computer=computer, ese_instance=name)
            self._touch("instance", *key)
        if named_by_event and not instance.named_by_event:
            instance.ese_instance, instance.named_by_event = name, True
            self._touch("instance", *key)
        return instance

    def _database(self, computer: str, path: str, process: str, *, bad: bool) -> Database | None:
        if len(path) > identity.MAX_PATH:
            self._drop(computer, shortened_name(path, identity.MAX_PATH + 1))
            return None
        label = identity.label_kept(path, bad=bad)
        if label is None:
            return None
        if not bad and identity.is_ignored(computer, label, self.settings):
            return None
        key = (computer, label)
        owner = "" if is_tool(process) else process
        entry = self.state.databases.get(key)
        if entry is not None:
            entry.process = entry.process or owner
            return entry
        entry = Database(computer=computer, database=label, process=owner)
        if identity.tier(entry, self.settings) == "ignored" and not bad:
            return None
        if not self._fits(self.state.databases, computer, label):
            return None
        self.state.databases[key] = entry
        self._failovers_told = True
        return entry

    def _drop(self, computer: str, name: str) -> None:
        drop(self.state, computer, name)
        self._touch("dropped", "")

    def _fits(self, known: Sized, computer: str, label: str) -> bool:
        """True if one more database fits in; a configured one always does."""
        settings = self.settings
        fits = len(known) < settings.max_databases or identity.is_configured(
            computer, label, settings
        )
        if not fits:
            self._drop(computer, label)
        return fits

    def _device(self, computer: str, name: str) -> Device | None:
        key = (computer, name)
        device = self.state.devices.get(key)
        if device is None and self._has_room(self.state.devices, computer, name):
            device = self.state.devices[key] = Device(computer=computer, device=name)
        return device

    def _has_room(self, known: Sized, computer: str, name: str) -> bool:
        has_room = len(known) < most_owners(self.settings)
        if not has_room:
            self._drop(computer, name)
        return has_room
