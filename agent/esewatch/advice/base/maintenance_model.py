"""The maintenance model of a database, decided before anything is judged (semantics.md 5)."""

import re
from typing import Literal

from esewatch.config import Settings, rule_for
from esewatch.fold.databases.databases import FAMILY_2007
from esewatch.fold.passes.transitions import event_ids
from esewatch.fold.state.state import Database

Model = Literal["window", "garbage_collection", "background", "application"]

_STORE_2007 = ("msexchangeis", "information store", "store")
_REPLICATION = "msexchangerepl"
_TOOLS = ("eseutil", "esentutl")
"""Programs that work on the files of others: they show nothing of whose database it is."""
_WORKER = ("microsoft.exchange.store.worker", "information store - ")
"""Since Exchange 2013 each database has a process, which may call itself by its name."""
_DIRECTORY = re.compile(r"(NTDS|ADAM \[.*\]) ISAM", re.IGNORECASE)
_OLD_EVENTS = frozenset({700, 701, 702, 703, 704})
_SCAN_STARTS = frozenset({717, 719})
_SCAN_2007 = frozenset({721, 722})
_SCAN_CURRENT = frozenset({*range(732, 739), *range(744, 748)})


def maintenance_model(database: Database, settings: Settings) -> Model:
    """The scheduling of maintenance: only `window` is judged by ratio, cadence and length.

    The configuration decides first, a window too unless a current engine scans beside it. A
    directory (domain controller, AD LDS) and DFSR collect garbage; an Exchange store that logs
    online defragmentation or a scan as of 2007 has a window, and so has its passive copy; current
    engines scan in the background.
    """
    rule = rule_for(settings, database.computer, database.database)
    if rule is not None and rule.model is not None:
        return rule.model
    process = database.process.lower()
    seen = event_ids(database.transitions)
    seen |= {ended.completion_event for ended in database.old_passes}
    seen |= database.untimed.events.keys()
    if rule is not None and rule.window is not None:
        return "background" if _scans_beside_window(database, process, seen) else "window"
    if _collects_garbage(database, process):
        return "garbage_collection"
    if process.startswith(_WORKER):
        return "background"
    if database.provider.upper() == "ESE" and _is_of_2007(process, seen):
        return "window"
    if seen & _SCAN_CURRENT or (seen & _SCAN_STARTS and not seen & _SCAN_2007):
        return "background"
    return "application"


def is_worker(process: str) -> bool:
    """True if it is the process that has the databases of Exchange 2013 and later."""
    return process.lower().startswith(_WORKER)


def _scans_beside_window(database: Database, process: str, seen: set[int]) -> bool:
    """True if both models fit: it is `window` only where background scanning is off, and the store
    then logs online defragmentation alone."""
    if seen & _SCAN_CURRENT or (database.generation == "current" and seen & _SCAN_STARTS):
        return True
    return process.startswith(_WORKER) and not seen & _OLD_EVENTS


def _is_of_2007(process: str, seen: set[int]) -> bool:
    """True if it is maintained as Exchange 2007 does: the active copy, or the one of CCR and LCR.
    The replication service replays logs into that copy, and nothing maintains it."""
    if process.startswith(_REPLICATION) and not seen & _SCAN_CURRENT:
        return True
    return process.startswith((*_STORE_2007, _REPLICATION, *_TOOLS)) and bool(
        seen & (_OLD_EVENTS | FAMILY_2007)
    )


def _collects_garbage(database: Database, process: str) -> bool:
    label = database.database.lower()
    return (
        _DIRECTORY.fullmatch(database.provider) is not None
        or database.ese_instance.upper() == "NTDSA"
        or label.endswith(("ntds.dit", "dfsr.db"))
        or process.startswith("dfsr")
    )
