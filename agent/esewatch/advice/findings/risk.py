"""Levels of an instance beyond a limit, writes at risk, a cache that is too small (semantics.md 7).

Published of the cache for Exchange 2007 (published-facts P1 and P3): 2 to 5 MB for each mailbox by
its use, and 2 GB of memory beside it. With 900 MB for 4,000 users a measured server had 1.0
requests a second and user, with about 20 GB 0.54. Nothing is said where the engine may have a
reason: after a start it fills its cache as pages are read, and it caches no more than its databases
have.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from esewatch.advice.base.finding import RISKS, Finding, cache_small, writes_at_risk
from esewatch.advice.history.history import History
from esewatch.config import Settings, policy_for, rule_for
from esewatch.fold.channels import hearing
from esewatch.fold.databases.databases import still_hung
from esewatch.fold.identity.identity import tier
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.instances.engine_errors import Dealt, open_errors
from esewatch.fold.readings import GAP_MEDIANS, current
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.rollups import DAY_SECONDS, HOUR_SECONDS
from esewatch.fold.state.state import SEPARATOR, START, Database, Instance, Level, State

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


QUIET = DAY_SECONDS
"""Seconds without another request that hung."""


def at_risk(
    instance: Instance | None,
    acknowledged: Dealt,
    most_buckets: int | None,
    now: float,
    database: Database | None = None,
) -> Finding | None:
    """The finding of a `database` of `instance` as of `now` (epoch seconds), None without one.

    An error counts while it is open, as its alert does; `acknowledged` has the times up to which a
    person acknowledged those of the instance. `most_buckets`: see `used_buckets`.
    """
    hung = hung_requests(database, instance, now) if database is not None else []
    if instance is None:
        return writes_at_risk({}, None, hung, hung[0]) if hung else None
    still = open_errors(instance, acknowledged)
    errors = {kind: instance.error_times[kind][-1] for kind in RISKS if still.get(kind)}
    buckets = used_buckets(instance, most_buckets, now)
    begun = [instance.error_times[kind][-still[kind]] for kind in errors]
    first = min((*begun, *hung[:1]), default=None)
    return writes_at_risk(errors, buckets, hung, first) if errors or buckets or hung else None


def hung_requests(database: Database, instance: Instance | None, now: float) -> list[float]:
    """Times of its requests that have not completed, none after a quiet day in which the instance
    was at work: the end of a request is logged only where it was slow again, or failed."""
    hung = still_hung(database, instance)
    if hung and instance is not None and now > hung[-1] + QUIET:
        later = hearing.first_after(instance.hours, hung[-1] + HOUR_SECONDS)
        if later <= now + HOUR_SECONDS:
            return []
    return hung


CACHE = "ese_cache_size_bytes"
STORES = ("information store", "microsoft.exchange.store.worker")
"""Beginnings of the names of processes that have the cache of a mailbox server, in lower case."""
WARM = 86400.0
"""Seconds from a start until the size of the cache says something."""


def small_caches(
    state: State, settings: Settings, known: Mapping[DatabaseKey, History], now: float
) -> dict[DatabaseKey, Finding]:
    """The finding of each active database with configured `mailboxes`, as of `now`. All stores of a
    computer together, and all such databases: their cache is a common one."""
    wanted: dict[str, dict[DatabaseKey, tuple[int, int]]] = defaultdict(dict)
    for key, each in known.items():
        if (of := _wanted(state, settings, each, now)) is not None:
            wanted[each.computer][key] = of
    found: dict[DatabaseKey, Finding] = {}
    for computer, databases in wanted.items():
        mailboxes, size = (sum(part) for part in zip(*databases.values(), strict=True))
        there = _cache(state, computer, now)
        if there is not None and there < size:
            found.update(dict.fromkeys(databases, cache_small(there, mailboxes, size)))
    return found


def _wanted(state: State, settings: Settings, of: History, now: float) -> tuple[int, int] | None:
    """Mailboxes of a database and the bytes of cache that they should have, if it is judged."""
    rule = rule_for(settings, of.computer, of.database)
    if of.tier != "watched" or of.role == "passive" or rule is None or not rule.mailboxes:
        return None
    size = rule.mailboxes * policy_for(settings, of.database, of.computer).cache_per_mailbox
    if of.size_bytes is None or of.size_bytes < size or not _is_warm(state, of, now):
        return None
    return rule.mailboxes, size


def _is_warm(state: State, of: History, now: float) -> bool:
    """True if its instance is up for a day; where no start is in its log, if the log is as long."""
    instance = state.instances.get((of.computer, of.ese_instance.lower()))
    host = state.hosts.get(of.computer)
    heard = host.first_heard if host is not None else 0.0
    began = max(instance.times_of({START}), default=heard) if instance is not None else heard
    return 0.0 < began <= now - WARM


def _cache(state: State, computer: str, now: float) -> float | None:
    """Bytes of the caches of all stores of a computer; None where one has no fresh sample."""
    host = state.hosts.get(computer)
    sizes = [
        current(level, now)
        for name, level in (host.levels.items() if host is not None else ())
        if name.startswith(CACHE + SEPARATOR)
        and name.removeprefix(CACHE + SEPARATOR).lower().startswith(STORES)
    ]
    there = [size for size in sizes if size is not None]
    return sum(there) if there and len(there) == len(sizes) else None
