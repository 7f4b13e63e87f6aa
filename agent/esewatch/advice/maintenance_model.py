"""The maintenance model of a database, decided before anything is judged (semantics.md 5)."""

from typing import Literal

from esewatch.config import Settings, rule_for
from esewatch.fold.state import Database
from esewatch.fold.transitions import event_ids

Model = Literal["window", "garbage_collection", "background", "application"]

_STORE_2007 = ("msexchangeis", "information store")
_WORKER = "microsoft.exchange.store.worker"
_OLD_EVENTS = frozenset({700, 701, 702, 703, 704})
_SCAN_STARTS = frozenset({717, 719})
_SCAN_2007 = frozenset({721, 722})
_SCAN_CURRENT = frozenset({*range(732, 739), *range(744, 748)})


def maintenance_model(database: Database, settings: Settings) -> Model:
    """How maintenance is scheduled: only `window` is judged by ratio, cadence and length.

    The configuration decides first. A domain controller and DFSR collect garbage
    every 12 hours whatever else is configured; an Exchange store that logs online
    defragmentation has a window; current engines scan in the background.
    """
    rule = rule_for(settings, database.computer, database.database)
    if rule is not None and rule.model is not None:
        return rule.model
    process = database.process.lower()
    if rule is not None and rule.window is not None:
        return "window"
    if _collects_garbage(database, process):
        return "garbage_collection"
    seen = event_ids(database.transitions) | database.untimed.events.keys()
    if process.startswith(_WORKER):
        return "background"
    if (
        database.provider.upper() == "ESE"
        and process.startswith(_STORE_2007)
        and (seen & _OLD_EVENTS or database.old_passes)
    ):
        return "window"
    if seen & _SCAN_CURRENT or (seen & _SCAN_STARTS and not seen & _SCAN_2007):
        return "background"
    return "application"


def _collects_garbage(database: Database, process: str) -> bool:
    label = database.database.lower()
    return (
        database.provider.upper() == "NTDS ISAM"
        or database.ese_instance.upper() == "NTDSA"
        or process.startswith("dfsr")
        or label.endswith("dfsr.db")
    )
