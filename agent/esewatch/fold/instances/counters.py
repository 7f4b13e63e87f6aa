"""Facts from counters: groups that a computer exposes, volumes of transaction logs and their space.

No input says where the logs of an instance are: the configuration does (`log_path`). Of the
volumes of a computer only those are kept that a configured path may lie on, so the configuration
bounds their number.
"""

from collections.abc import Mapping

from esewatch.config import Settings, glob_matches, rule_for
from esewatch.ese.counters.counter_feeds import sampled_groups
from esewatch.ese.volumes import FREE_BYTES, is_below, volume_of
from esewatch.fold.identity.identity import tier
from esewatch.fold.identity.owners import instance_key, instance_label
from esewatch.fold.readings import current
from esewatch.fold.state.rollups import DAY_SECONDS
from esewatch.fold.state.state import SEPARATOR, Host, Instance, Level, State
from esewatch.model import Feed


def is_kept(feed: Feed, computer: str, settings: Settings) -> bool:
    """True if the level is no free space, or that of a volume that may hold logs."""
    if feed.metric != FREE_BYTES:
        return True
    return any(
        rule.log_path is not None
        and (rule.computer is None or glob_matches(rule.computer, computer))
        and is_below(rule.log_path, feed.labels[0])
        for rule in settings.databases
    )


def log_disks(state: State, settings: Settings, now: float) -> dict[tuple[str, str], float]:
    """Free bytes of the volume of an instance's logs, by (computer, instance as logged). An
    instance has one folder of logs: where its databases name several volumes, nothing is said."""
    if all(rule.log_path is None for rule in settings.databases):
        return {}
    paths: dict[tuple[str, str], set[str]] = {}
    names: dict[tuple[str, str], str] = {}
    for _, database in sorted(state.databases.items()):
        rule = rule_for(settings, database.computer, database.database)
        if rule is None or rule.log_path is None or tier(database, settings) == "ignored":
            continue
        key = instance_key(database)
        instance = state.instances.get(key)
        names[key] = instance.ese_instance if instance is not None else instance_label(database)
        paths.setdefault(key, set()).add(rule.log_path)
    levels = {name: volume_levels(host) for name, host in state.hosts.items()}
    free = {
        (computer, names[computer, key]): _free(named, levels.get(computer, {}), now)
        for (computer, key), named in paths.items()
    }
    return {key: found for key, found in free.items() if found is not None}


def volume_levels(host: Host) -> dict[str, Level]:
    """The kept levels of the volumes of a computer, in bytes, by label."""
    return {
        key.partition(SEPARATOR)[2]: level
        for key, level in host.levels.items()
        if key.startswith(FREE_BYTES + SEPARATOR)
    }


def _free(paths: set[str], levels: Mapping[str, Level], now: float) -> float | None:
    volumes = {volume_of(path, levels) for path in paths}
    volume = volumes.pop()
    if volume is None or volumes:
        return None
    free = current(levels[volume], now)
    return free if free is not None and free >= 0 else None


def counters_present(state: State) -> dict[str, Mapping[str, bool]]:
    """By computer, group -> present, as an input says where it begins. An older log may lack what
    another input samples: what has samples of the last day that has any is present."""
    doubted = {
        name for name, host in state.hosts.items() if not all(host.counters_present.values())
    }
    instances: dict[str, list[Instance]] = {name: [] for name in doubted}
    for (computer, _), instance in state.instances.items():
        if computer in doubted:
            instances[computer].append(instance)
    return {
        name: _with_sampled(host.counters_present, instances[name])
        if name in doubted
        else host.counters_present
        for name, host in state.hosts.items()
    }


def _with_sampled(told: Mapping[str, bool], instances: list[Instance]) -> dict[str, bool]:
    columns = [each for instance in instances for each in instance.counters.items()]
    newest = max((column.last_time for _, column in columns), default=0.0)
    sampled = sampled_groups(
        name for name, column in columns if column.last_time > newest - DAY_SECONDS
    )
    return {group: there or group in sampled for group, there in told.items()}
