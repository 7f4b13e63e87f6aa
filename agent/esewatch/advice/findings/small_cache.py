"""A database cache that is smaller than its mailboxes should have (published-facts P1 and P3).

Published for Exchange 2007: 2 to 5 MB for each mailbox by its use, and 2 GB of memory beside the
cache. With 900 MB for 4,000 users a measured server had 1.0 requests a second and user, with about
20 GB 0.54. Nothing is said where the engine may have a reason: after a start it fills its cache
as pages are read, and it caches no more than its databases have.
"""

from collections import defaultdict
from collections.abc import Mapping

from esewatch.advice.base.finding import Finding, cache_small
from esewatch.advice.history.history import History
from esewatch.config import Settings, policy_for, rule_for
from esewatch.fold.readings import current
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import SEPARATOR, START, State

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
