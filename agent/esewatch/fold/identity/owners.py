"""Owner of a database: the process and the instance that serve it.

A process is an attribute of an event, and not of the database: a program that works on its
file once, as eseutil does, does not own the database and does not change its owner.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import inf
from typing import NamedTuple

from esewatch.fold.state.state import Database, Instance
from esewatch.model import Event

TOOLS = frozenset(
    {
        *("eseutil", "esentutl", "isinteg", "ntdsutil"),
        *("ntbackup", "wbadmin", "wbengine", "vssvc", "beremote", "dpmra"),
        *("msmpeng", "mcshield", "rtvscan", "savservice"),
    }
)
"""Programs that work on files of other processes, in lower case: repair, backup, antivirus."""
STORES = ("msexchangeis", "msexchangerepl", "information store", "microsoft.exchange.store")
"""Prefixes of the names of the Exchange processes that have mailbox databases."""
EXCHANGE = (*STORES, "edgetransport")
"""Prefixes of the names of the Exchange processes that have databases."""
SERVERS = (*EXCHANGE, "ntds", "lsass", "certsrv", "dfsr")
"""Prefixes of the names of processes that have databases of their own."""

MAX_INSTANCES = 16

_MAINTENANCE = range(700, 758)
_NONE, _OPENS, _SERVES = range(3)


@lru_cache(maxsize=4096)
def is_tool(process: str) -> bool:
    """True if it is a program that works on the databases of others; with `.exe` or without."""
    return process.strip().lower().removesuffix(".exe") in TOOLS


def instance_name(ese_instance: str, process: str) -> str:
    """Name of an instance: one that has none is known by its process."""
    return ese_instance or process.strip()


def instance_label(database: Database) -> str:
    """Name of the instance of a database, empty while no event has named it. That of the process
    which met a bad page in a snapshot of it is none."""
    return database.ese_instance or (database.process.strip() if database.provider else "")


def instance_key(database: Database) -> tuple[str, str]:
    return database.computer, instance_label(database).lower()


def process_key(database: Database) -> tuple[str, str]:
    """Key in the state of what its process logs for all of its instances."""
    return database.computer, database.process.strip().lower()


def note_process(instance: Instance, process: str) -> None:
    """Keep the process that logged an error of the instance: of several the one that works on no
    database of others, in any order of the events."""
    known = filter(None, (instance.process, process))
    instance.process = min(known, key=lambda each: (is_tool(each), each.lower()), default="")


def is_server(instance: Instance) -> bool:
    return instance.process.lower().startswith(SERVERS)


def name(entry: Database, event: Event, time: float) -> bool:
    """Take path, provider, process and instance from the event, if its process has the database;
    False for a program that works on databases of others.

    A process that maintains the database outranks one that only opens it; within a rank the
    youngest event decides.
    """
    claim = _claim(event.process, maintains=event.event_id in _MAINTENANCE)
    if claim == _NONE:
        entry.path = entry.path or event.database
        return False
    if claim < entry.claim:
        if event.ese_instance == entry.ese_instance:
            _note(entry, event, anew=False)
        return True
    anew, older = claim > entry.claim, time < entry.named
    if anew or older or event.ese_instance != entry.ese_instance or not entry.instances:
        _note(entry, event, anew=anew)
    if older and not anew:
        return True
    process = event.process
    another = process not in ("", entry.process) and process.lower() != entry.process.lower()
    entry.claim, entry.named = claim, time
    entry.path = event.database
    entry.channel = event.channel.lower() or entry.channel
    entry.provider = event.provider or entry.provider
    entry.process = process or entry.process
    entry.ese_instance = event.ese_instance or ("" if another else entry.ese_instance)
    return True


def _note(entry: Database, event: Event, *, anew: bool) -> None:
    """Keep that an instance named it; `anew`: those that did before had less of a claim."""
    known, present = entry.instances, entry.ese_instance.lower()
    if anew:
        for other in known.keys() - {event.ese_instance.lower()}:
            del known[other]
    if present and (present in known or not anew):
        # Nothing is known of when it began in a journal of an earlier version.
        first, last = known.get(present, (0.0, 0.0))
        known[present] = (first, max(last, entry.named))
    time, name = event.time, event.ese_instance.lower()
    if time is None or not name:
        return
    first, last = known.get(name, (time, time))
    known[name] = (min(first, time), max(last, time))
    if len(known) > MAX_INSTANCES:
        del known[min(known, key=lambda each: known[each][1])]


@lru_cache(maxsize=4096)
def _claim(process: str, *, maintains: bool) -> int:
    if is_tool(process):
        return _NONE
    return _SERVES if maintains or process.lower().startswith(SERVERS) else _OPENS


def named_times(entry: Database) -> tuple[float, float]:
    """First and last time at which its instance named it; a tool, a snapshot or a reading of the
    file is none."""
    known = entry.instances.get(entry.ese_instance.lower())
    first, last = known or (entry.first_seen or inf, 0.0)
    return first, max(entry.named, last) or entry.last_seen


class Stay(NamedTuple):
    """The database was in the instance of that key from `since` until another one named it.

    A storage group gets another name, or a database moves: the stops and restores of the instance
    before are still those of the database, and what the new one had before is not.
    """

    key: tuple[str, str]
    since: float
    until: float


def stays(entry: Database) -> Iterator[Stay]:
    """Each of its instances; the first one had it from the beginning."""
    known, present = dict(entry.instances), instance_label(entry).lower()
    if not present:
        return
    if len(known) < 2 or present not in known:
        yield Stay(instance_key(entry), -inf, inf)
        return
    known[present] = (known[present][0], max(known[present][1], entry.named))
    oldest = min(first for first, _ in known.values())
    for name, (first, last) in known.items():
        later = [each for times in known.values() for each in times if each > last]
        since = first if first > oldest else -inf
        yield Stay((entry.computer, name), since, min(later, default=inf))


def has_been_in(entry: Database, computer: str, name: str) -> bool:
    key = (computer, name.lower())
    return entry.computer == computer and (
        key == instance_key(entry) or any(stay.key == key for stay in stays(entry))
    )
