"""Levels of an instance that stay below a limit where all is well (semantics.md 7)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from esewatch.config import Settings, policy_for
from esewatch.fold.identity.identity import tier
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.readings import GAP_MEDIANS
from esewatch.fold.state.state import Database, Instance, Level

LevelName = Literal["checkpoint_deep", "copy_behind", "version_buckets_high"]

BUCKETS = "ese_version_buckets_allocated"
MOST_BUCKETS_USED = 0.7
CARRIED_SECONDS = 12 * 60.0
"""A level counts for so long after its sample: longer than a restart of the agent takes, shorter
than the hold of its alert, so that one sample alone never fires. What is sampled more rarely counts
for three intervals, as it is shown."""


class Limit(NamedTuple):
    """The finding of a level beyond a value."""

    finding: LevelName
    metric: str
    most: float


LIMITS = (
    Limit("checkpoint_deep", "ese_checkpoint_depth_logs", 500),
    Limit("checkpoint_deep", "ese_checkpoint_depth_target_ratio", 4),
    Limit("copy_behind", "ese_copy_queue_logs", 10),
    Limit("copy_behind", "ese_replay_queue_logs", 100),
)
LEVELS = frozenset({BUCKETS, *(limit.metric for limit in LIMITS)})


def high_levels(instance: Instance, most_buckets: int | None, now: float) -> Iterator[LevelName]:
    """The findings of its levels as of `now` (epoch seconds). `most_buckets`: see
    `used_buckets`."""
    for finding, metric, most in LIMITS:
        if (held := _held(instance, metric, now)) is not None and held > most:
            yield finding
    if used_buckets(instance, most_buckets, now) is not None:
        yield "version_buckets_high"


def used_buckets(
    instance: Instance, most_buckets: int | None, now: float
) -> tuple[float, int] | None:
    """Version buckets that it holds and the most that it may have, where they are nearly used up.
    `most_buckets` is the configured maximum, None where it is not known."""
    held = _held(instance, BUCKETS, now)
    if held is None or not most_buckets or held <= MOST_BUCKETS_USED * most_buckets:
        return None
    return held, most_buckets


def _held(instance: Instance, metric: str, now: float) -> float | None:
    level = instance.levels.get(metric)
    return None if level is None or now > _carried_until(level) else level.value


def _carried_until(level: Level) -> float:
    return level.time + max(CARRIED_SECONDS, GAP_MEDIANS * level.interval)


def level_ends(instance: Instance) -> Iterator[float]:
    """Times (epoch seconds) after which its levels count no more, unless they are read again."""
    return (_carried_until(each) for name, each in instance.levels.items() if name in LEVELS)


def most_buckets(
    databases: Iterable[Database], settings: Settings
) -> Mapping[tuple[str, str], int]:
    """The maximum of version buckets of each instance, where it is configured: the smallest that
    the policy of a watched database has."""
    found: dict[tuple[str, str], int] = {}
    for entry in databases:
        most = policy_for(settings, entry.database, entry.computer).version_buckets
        if most is not None and tier(entry, settings) == "watched":
            key = instance_key(entry)
            found[key] = min(most, found.get(key, most))
    return found
