"""Kept results of DBCC CHECKDB: databases of SQL Server, which are not ESE databases.

A check of one kind (`physical_only` or full) is reported by 8957 when it ended and by 5235 when it
was aborted. It may be read twice, from the ERRORLOG and from the event log.
"""

import msgspec

from esewatch.config import Settings, rule_for
from esewatch.ese.programs.checkdb import ABORTED, COMPLETED
from esewatch.model import Event

EVENTS = frozenset({COMPLETED, ABORTED})
MAX_RESULTS = 256
SAME_SECONDS = 2.0
"""Two equal results this close in time are one, read twice."""
MAX_NAME = 300
_LARGEST = 2**32

Result = tuple[float, int, bool, float, float, float]
"""Time, event id, physical only, errors, repaired, seconds (-1: not reported)."""


class Checks(msgspec.Struct):
    """The checks of one kind. `None`: there was none, or it did not say."""

    errors: float = 0.0
    completed: float | None = None
    """Time of the latest that ran to its end; the next two are of that one."""
    seconds: float | None = None
    left: float = 0.0
    """Errors that it found and did not repair."""
    aborted: float | None = None
    """Time of the latest that was aborted."""


class SqlDatabase(msgspec.Struct, kw_only=True):
    """One database of one instance of SQL Server, of which a check was seen."""

    computer: str
    database: str
    """The label: see `label`."""
    first_seen: float = 0.0
    last_seen: float = 0.0
    full: Checks = msgspec.field(default_factory=Checks)
    physical: Checks = msgspec.field(default_factory=Checks)
    results: list[Result] = []
    """The latest 256, sorted: what is among them, or older than all of 256, was seen before."""


def label(event: Event) -> str | None:
    r"""The database of a check, lower case, `instance\database` for a named instance.

    None when the event is no check of a whole database: another command, an estimate only,
    no name, or no result.
    """
    fields = event.fields
    needed = "errors" if event.event_id == COMPLETED else "physical_only"
    if fields.get("command") != "CHECKDB" or "estimate_only" in fields or needed not in fields:
        return None
    _, named, instance = event.provider.partition("$")
    name = f"{instance.strip()}\\{event.database}" if named else event.database
    return name.lower() if event.database and len(name) <= MAX_NAME else None


def fold_check(entry: SqlDatabase, event: Event, time: float) -> bool:
    """Fold a result; False when it was seen before."""
    physical = event.fields.get("physical_only") == 1
    errors, repaired = _number(event, "errors", 0.0), _number(event, "repaired", 0.0)
    seconds = _number(event, "seconds", -1.0)
    new: Result = (time, event.event_id, physical, errors, repaired, seconds)
    results = entry.results
    if any(abs(old[0] - time) <= SAME_SECONDS and old[1:] == new[1:] for old in results):
        return False
    if len(results) == MAX_RESULTS and time < results[0][0]:
        return False
    results.append(new)
    results.sort()
    del results[:-MAX_RESULTS]
    entry.first_seen = min(time, entry.first_seen or time)
    entry.last_seen = max(time, entry.last_seen)
    checks = entry.physical if physical else entry.full
    if event.event_id == ABORTED:
        checks.aborted = max(time, checks.aborted or time)
        return True
    checks.errors += errors
    if checks.completed is None or time >= checks.completed:
        checks.completed = time
        checks.seconds = seconds if seconds >= 0 else None
        checks.left = max(0.0, errors - repaired)
    return True


def errors_left(entry: SqlDatabase, checks: Checks) -> float | None:
    """Errors that the latest check of a kind left in the database; None without one. A later full
    check that left none clears those of a physical one."""
    full = entry.full
    if checks.completed is None:
        return None
    if full.completed is not None and not full.left and full.completed >= checks.completed:
        return 0.0
    return checks.left


def has_errors(entry: SqlDatabase) -> bool:
    return any(errors_left(entry, checks) for checks in (entry.full, entry.physical))


def expired(entry: SqlDatabase, settings: Settings, now: float) -> bool:
    """True if no check of it was seen within the retention; a configured one stays."""
    if now - entry.last_seen <= settings.retention:
        return False
    return rule_for(settings, entry.computer, entry.database) is None


def _number(event: Event, field: str, otherwise: float) -> float:
    value = event.fields.get(field)
    known = isinstance(value, int) and 0 <= value < _LARGEST
    return float(value) if known and isinstance(value, int) else otherwise
