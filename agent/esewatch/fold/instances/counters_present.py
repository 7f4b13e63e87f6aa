"""Groups of counters that a computer exposes: what its inputs said, and what is sampled.

An input says it where it begins. An older log, or one of a few counters, does not have what
another input samples: that is not hidden.
"""

from collections.abc import Mapping

from esewatch.ese.counters.counter_feeds import sampled_groups
from esewatch.fold.state.rollups import DAY_SECONDS
from esewatch.fold.state.state import Instance, State


def counters_present(state: State) -> dict[str, Mapping[str, bool]]:
    """By computer, group -> present. Sampled is what has samples of the last day that has any."""
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
