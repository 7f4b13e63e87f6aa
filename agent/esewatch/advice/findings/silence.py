"""Computers that are not heard any more (semantics.md 5a).

What is not heard is not healthy: nothing is known of a computer whose last record is long ago.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Literal, NamedTuple

from esewatch.advice.base.finding import Finding, not_heard
from esewatch.config import Settings
from esewatch.fold.channels import hearing
from esewatch.fold.channels.hearing import LOOKED_AT_SECONDS, Stretch, joined
from esewatch.fold.identity.identity import computer_label, tier
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.passes.stops import DETACH
from esewatch.fold.state.state import START, STOP_EVENTS, Channel, Database, Host, Instance, State

DAY = 86400.0
LEAST, MOST = 2 * DAY, 14 * DAY
PAUSES = 3
"""A computer is silent after so many times the longest pause between its records."""
KNOWN_PAUSES = 5
STARTING = 3600.0
"""Behind the first record of a computer that comes up, its instances start within so long."""


class Hearing(NamedTuple):
    """The hearing of a computer with a watched database. Times are epoch seconds."""

    last: float
    silent_after: float
    clock: float
    """The time that silence is measured against."""
    severity: Literal["warning", "info"]
    is_live: bool
    """Its log is read on the computer itself."""
    stopped: bool
    """The last that it said is that it stops."""

    @property
    def is_silent(self) -> bool:
        return not self.is_live and self.clock - self.last > self.silent_after

    @property
    def silent_from(self) -> float:
        return self.last + self.silent_after

    @property
    def finding(self) -> Finding:
        return not_heard(self.last, self.silent_after, self.severity, stopped=self.stopped)


InstanceKey = tuple[str, str]
Log = tuple[str, str]
"""Computer and channel."""


def hearings(state: State, settings: Settings, now: float) -> dict[Log, Hearing]:
    """By log, those that an event of a watched database came by.

    Silence is measured against `now`, or the clock of inputs that were read at once. A computer
    whose source is not read to its end is not judged.
    """
    logs: dict[str, dict[str, set[InstanceKey]]] = defaultdict(lambda: defaultdict(set))
    for entry in state.databases.values():
        if tier(entry, settings) == "watched":
            logs[entry.computer][entry.channel].add(instance_key(entry))
    unread = [each for each in state.sources.values() if not (each.up and each.caught_up)]
    behind = {computer for each in unread for computer in each.computers}
    of_windows = {each.name for each in settings.sources if each.type == "windows_log"}
    live = {
        computer
        for name, each in state.sources.items()
        if name in of_windows and each.up and each.caught_up
        for computer in each.computers
    }
    retired = {computer_label(name, settings) for name in settings.retired}
    instances: dict[str, list[Instance]] = defaultdict(list)
    for instance in state.instances.values():
        instances[instance.computer].append(instance)
    found = {}
    for computer in sorted(logs.keys() - behind - retired):
        # What no event names is heard by the logs of its computer, where it has any.
        for name in sorted(filter(None, logs[computer])) or [""]:
            keys = dict.fromkeys([(computer, name), (computer, "")])
            channels = [state.channels[key] for key in keys if key in state.channels]
            clock = state.clocks.get(computer, now)
            host = state.hosts.get(computer)
            # The records of an instance without a number are noted with it.
            served = [state.instances[key] for key in logs[computer][name] & state.instances.keys()]
            hours = [each.hours for each in channels] + [each.hours for each in served]
            after = settings.policy.silent_after
            heard = _hearing(host, instances[computer], channels, hours, after, unnamed=not name)
            if heard is not None:
                found[computer, name] = heard._replace(clock=clock, is_live=computer in live)
    return found


def last_record(state: State, computer: str, logs: Iterable[str]) -> float | None:
    """The last record in these logs of a computer; None where none is known."""
    channels = (state.channels.get((computer, name)) for name in logs)
    return max(
        (each.stretches[-1][1] for each in channels if each and each.stretches), default=None
    )


def last_records(state: State) -> dict[str, float]:
    """By computer with a database, the last record in the logs that its events come by."""
    found: dict[str, float] = {}
    for entry in state.databases.values():
        last = last_record(state, entry.computer, {entry.channel, ""})
        if last is not None:
            found[entry.computer] = max(last, found.get(entry.computer, last))
    return found


def _hearing(
    host: Host | None,
    instances: list[Instance],
    channels: list[Channel],
    hours: list[bytearray],
    after: float | None,
    *,
    unnamed: bool,
) -> Hearing | None:
    """Of a computer with these instances, by these of its logs, that have a record in `hours`.
    `after`: the configured patience; `unnamed`: no event names a database of it. Its clock is not
    set yet."""
    stretches = joined(channels)
    if not stretches:  # no event names a database, or none of a possible time is known
        last = host.last_heard if host is not None and unnamed else 0.0
        return Hearing(last, MOST, 0.0, "info", False, False) if last > 0 else None
    last = stretches[-1][1]
    since = last - LOOKED_AT_SECONDS
    told = any(each.others >= since for each in channels)
    pauses = max((hearing.count_hours(each, since) for each in hours), default=1) - 1
    known = told and pauses >= KNOWN_PAUSES
    starts, stops = _starts_and_stops(instances)
    power = host.power if host is not None else None
    if after is None:
        ups = sorted([*starts, *([power.up] if power and power.up else [])])
        after = _after(ups, stretches, since) if known else MOST
    if power is not None and power.off > power.up and last <= power.off + STARTING:
        after = max(after, power.off + MOST - last)
    stopped = bool(stops) and max(stops) > max(starts, default=0.0)
    if power is not None:
        stopped = stopped or power.stopped > max(power.up, *starts, 0.0)
    return Hearing(last, after, 0.0, "warning" if known else "info", False, stopped)


def _after(ups: list[float], stretches: list[Stretch], since: float) -> float:
    pauses = [
        after[0] - max(before[1], since)
        for before, after in pairwise(stretches)
        if after[0] > since and not any(before[1] < up <= after[0] + STARTING for up in ups)
    ]
    return min(max([LEAST, *(PAUSES * each for each in pauses)]), MOST)


def _starts_and_stops(instances: list[Instance]) -> tuple[list[float], list[float]]:
    """Those of the instances that serve a watched database, as far as their stops say something:
    the last of each."""
    starts: list[float] = []
    stops: list[float] = []
    running = False
    for each in instances:
        of_stops = [time for time, _, event_id in each.life if event_id in STOP_EVENTS]
        begun = [time for time, _, event_id in each.life if event_id == START]
        up = [time for time, _, event_id in each.life if event_id not in {*STOP_EVENTS, DETACH}]
        if begun or of_stops:
            starts += begun
            last = max(up, default=0.0)
            running = running or not of_stops or of_stops[-1] < last
            stops += of_stops[-1:]
    return starts, [] if running else stops


class Silences(NamedTuple):
    logs: dict[Log, Hearing]
    computers: dict[str, Hearing]
    """Those of which all logs are silent, by the last one."""

    def of(self, entry: Database) -> Hearing | None:
        """That of the log that its events come by, else of its computer."""
        return self.logs.get((entry.computer, entry.channel)) or self.computers.get(entry.computer)

    def held(self, entry: Database, now: float) -> float:
        """The moment at which it is judged what is missing: what nobody heard may have come."""
        silent = self.of(entry)
        return now if silent is None else min(now, silent.silent_from)


def silences(hearings: Mapping[Log, Hearing]) -> Silences:
    logs = {key: each for key, each in hearings.items() if each.is_silent}
    heard = {computer for computer, _ in hearings.keys() - logs.keys()}
    last = sorted(logs, key=lambda key: logs[key].last)
    return Silences(logs, {key[0]: logs[key] for key in last if key[0] not in heard})
