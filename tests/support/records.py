"""Short ways to write records in tests."""

from collections.abc import Iterable
from typing import Any

from esewatch.config import Settings
from esewatch.fold.folder import Folder
from esewatch.fold.passes.passes import TaskView, views_in
from esewatch.fold.state.state import Database, State
from esewatch.model import Batch, Event, Record, SetBackedUp

EPOCH = 1_182_000_000.0
"""2007-06-16T13:20:00Z, in the days of the founding articles."""
HOUR = 3600.0
GB = 10**9
DAY = 86400.0
DATABASE = "e:\\MDB06\\priv06.edb"
LABEL = DATABASE.lower()


def event(event_id: int, time: float, record_id: int | None = None, **changes: Any) -> Event:
    """An event of `priv06.edb` on EX01, `time` seconds after EPOCH."""
    given: dict[str, Any] = {
        "computer": "EX01.corp.example",
        "channel": "Application",
        "provider": "ESE",
        "process": "MSExchangeIS",
        "ese_instance": "SG06",
        "database": DATABASE,
        "fields": {},
    }
    return Event(event_id=event_id, time=EPOCH + time, record_id=record_id, **{**given, **changes})


def checkdb(time: float, errors: int = 0, *, full: bool = True, **changes: Any) -> Event:
    """A DBCC CHECKDB of `Sales` on SQL01 that ended `time` seconds after EPOCH."""
    given: dict[str, Any] = {
        "event_id": 8957,
        "computer": "SQL01",
        "provider": "MSSQLSERVER",
        "database": "Sales",
        "companion": True,
        "fields": {
            "command": "CHECKDB",
            "physical_only": int(not full),
            "errors": errors,
            "repaired": 0,
            "seconds": 600,
        },
    }
    return Event(time=EPOCH + time, **{**given, **changes})


def backed_up(
    group: str = "SG06", start: float = 0, hours: float = 1, gigabytes: float = 36, **changes: Any
) -> SetBackedUp:
    """A set of EX01 that began `start` seconds after EPOCH; 36 GB in an hour is 10 MB/s."""
    given: dict[str, Any] = {
        "computer": "EX01",
        "ese_instance": group,
        "kind": "ntbackup",
        "started": EPOCH + start,
        "time": EPOCH + start + hours * HOUR,
        "seconds": hours * HOUR,
        "bytes": int(gigabytes * GB),
        "job": "job",
    }
    return SetBackedUp(**{**given, **changes})


def folder_of(
    records: Iterable[Record],
    *,
    settings: Settings | None = None,
    opened: float = EPOCH,
    caught_up: bool = True,
) -> Folder:
    """A folder that has taken `records` in from one source named `logs`."""
    folder = Folder(State(), settings or Settings())
    folder.open_source("logs", opened)
    folder.fold("logs", Batch(records=list(records), caught_up=caught_up))
    return folder


def the_database(folder: Folder) -> Database:
    """The only database of the state."""
    (entry,) = folder.state.databases.values()
    return entry


def views(folder: Folder) -> dict[str, TaskView]:
    """Passes of the only database, with the stops of its instance."""
    return views_in(folder.state, the_database(folder))
