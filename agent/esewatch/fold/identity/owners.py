"""Owner of a database: the process and the instance that serve it.

A process is an attribute of an event, and not of the database: a program that works on its
file once, as eseutil does, does not own the database and does not change its owner.
"""

from functools import lru_cache

from esewatch.fold.state.state import Database, Instance, State
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
"""The limit of instances that are known to have had a database."""

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
    """Name of the instance of a database, empty while no event has named it."""
    return database.ese_instance or database.process.strip()


def instance_key(database: Database) -> tuple[str, str]:
    """Key of its instance in the state."""
    return database.computer, instance_label(database).lower()


def process_key(database: Database) -> tuple[str, str]:
    """Key in the state of what its process logs for all of its instances."""
    return database.computer, database.process.strip().lower()


def note_process(instance: Instance, process: str) -> None:
    """Keep the process that logged an error of the instance: of several the one that works on no
    database of others, in any order of the events.
    """
    known = filter(None, (instance.process, process))
    instance.process = min(known, key=lambda each: (is_tool(each), each.lower()), default="")


def is_server(instance: Instance) -> bool:
    """True if the process that logged errors of it has databases whose maintenance is watched."""
    return instance.process.lower().startswith(SERVERS)


def instances_on(state: State, computer: str) -> list[Instance]:
    """All that are known of the computer."""
    return [instance for (host, _), instance in state.instances.items() if host == computer]


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
        known.clear()
    elif present:
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
    """Certainty with which the process of an event serves its database."""
    if is_tool(process):
        return _NONE
    return _SERVES if maintains or process.lower().startswith(SERVERS) else _OPENS
