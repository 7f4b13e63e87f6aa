"""The entities of the state, each made at its first record, as far as there is room."""

from collections.abc import Sized

from esewatch.config import Settings
from esewatch.fold.identity import dropped_names, identity
from esewatch.fold.identity.computers import Computers
from esewatch.fold.identity.owners import is_tool
from esewatch.fold.state.state import Channel, Database, Device, Instance, Power, SourceState, State

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
        self.computers = Computers(state, settings)
        self._aside: dict[tuple[str, str], Channel] = {}
        """Logs of computers without an event of ESE, the last 1,000 that were heard."""
        self._aside_power: dict[str, Power] = {}
        self._failovers_told = True  # more is known: their databases are worked out again

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
            if (power := self._aside_power.pop(label, None)) is not None:
                self.state.hosts[label].power = power
            for _, log in [each for each in self._aside if each[0] == label]:
                self._channel(label, log)
            self._touch("host", label)
            self._failovers_told = True
        return label

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

    def _log(self, label: str, name: str) -> Channel | None:
        """That of a computer without an event is kept aside."""
        if label in self.state.hosts:
            return self._channel(label, name)
        key = label, name.lower()
        channel = self._aside.pop(key, None) or Channel(computer=label, channel=key[1])
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
            dropped_names.drop_long(self.state, computer, path)
            self._touch("dropped", "")
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

    def _fits(self, known: Sized, computer: str, label: str) -> bool:
        fits = dropped_names.fits(self.state, self.settings, known, computer, label)
        if not fits:
            self._touch("dropped", "")
        return fits

    def _device(self, computer: str, name: str) -> Device | None:
        key = (computer, name)
        device = self.state.devices.get(key)
        if device is None and self._has_room(self.state.devices, computer, name):
            device = self.state.devices[key] = Device(computer=computer, device=name)
        return device

    def _has_room(self, known: Sized, computer: str, name: str) -> bool:
        has_room = dropped_names.has_room(self.state, self.settings, known, computer, name)
        if not has_room:
            self._touch("dropped", "")
        return has_room
