"""Identity of computers by name: two full names with one short name are two (semantics.md 1)."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple, TypeVar

from esewatch.config import Settings
from esewatch.fold.identity import dropped_names, identity
from esewatch.fold.state.checkdb_results import SqlDatabase
from esewatch.fold.state.state import Channel, Database, Device, Host, Instance, SourceState, State

MAX_ALIASES = 8
MAX_SPELLINGS = 4
"""Spellings of a computer's name that are remembered, on average."""

Owned = TypeVar("Owned", Channel, Instance, Device, Database, SqlDatabase)
Item = TypeVar("Item", str, tuple[str, str])


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
        self.event_ids = dropped_names.EventIds(state)
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
        most = dropped_names.computers(self._settings)
        count = len(self._state.hosts)
        self._full = count >= most or (self._full and count >= dropped_names.CROWDED * most)
        if not self._full or dropped_names.expects(self._settings, logged):
            return True
        dropped_names.drop(self._state, label, "")
        return False

    def tells_of(self, source: SourceState, channel: tuple[str, str]) -> None:
        """Note that the source read a range of the channel whole."""
        known = self._channels_of.get(source.name)
        if known is None or len(known) != len(source.channels):
            known = self._channels_of[source.name] = set(source.channels)
        if channel not in known:
            known.add(channel)
            source.channels.append(channel)

    def drop_passing(self, now: float) -> Iterator[tuple[str, str, str]]:
        """Drop, at the limit, computers with only a few old records; returns the changes."""
        state = self._state
        if len(state.hosts) < dropped_names.CROWDED * dropped_names.computers(self._settings):
            return
        tables = (state.instances, state.devices, state.databases, state.sql_databases)
        owners = {computer for table in tables for computer, _ in table}
        gone = [
            label
            for label, host in state.hosts.items()
            if label not in owners and dropped_names.is_passing(host, now)
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
        self.event_ids = dropped_names.EventIds(state)

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
        if len(self._labels) >= MAX_SPELLINGS * dropped_names.computers(self._settings):
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
    """Relabel computers, all at once: `names` maps the old labels to the new ones."""

    def renamed(label: str) -> str:
        return names.get(label, label)

    hosts = list(state.hosts.values())
    state.hosts.clear()
    for host in hosts:
        host.computer = renamed(host.computer)
        state.hosts[host.computer] = host
    state.recent = {renamed(label): days for label, days in state.recent.items()}
    _rename_in(state.channels, renamed)
    _rename_in(state.instances, renamed)
    _rename_in(state.devices, renamed)
    _rename_in(state.databases, renamed)
    _rename_in(state.sql_databases, renamed)
    for source in state.sources.values():
        source.computers = _once(map(renamed, source.computers))
        source.channels = _once((renamed(label), name) for label, name in source.channels)
    dropped = {tuple(key.split("|", 1)): count for key, count in state.dropped.items()}
    state.dropped = {"|".join((renamed(key[0]), *key[1:])): n for key, n in dropped.items()}


def _rename_in(table: dict[tuple[str, str], Owned], renamed: Callable[[str], str]) -> None:
    entries = list(table.items())
    table.clear()
    for (_, name), entry in entries:
        entry.computer = renamed(entry.computer)
        table[entry.computer, name] = entry


def _once(items: Iterable[Item]) -> list[Item]:
    return list(dict.fromkeys(items))


def _keeper(host: Host, settings: Settings) -> str:
    """The full name of the computer with this label, empty while only short ones were met."""
    seen = [host.full_name] if host.full_name else host.aliases_seen
    full = (identity.full_name(name, settings) for name in seen)
    return next((name for name in full if "." in name), "")
