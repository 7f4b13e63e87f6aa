"""Write risk: the instance reports that writes are refused or soon will be (semantics.md 7)."""

from collections.abc import Mapping

from esewatch.advice.base.finding import Finding, writes_at_risk
from esewatch.fold.readings import current
from esewatch.fold.state.state import EngineErrorKind, Instance

RISKS: Mapping[EngineErrorKind, str] = {
    "log_sequence": "the log sequence is halted",
    "disk_full": "the log disk is full",
    "log_disk_low": "the log disk is nearly full",
    "version_store": "the version store is full",
    "database_full": "a database has its maximum size",
    "database_nearly_full": "a database is over its configured size",
}
"""Errors of the engine that stop writes or announce that, with their text."""
RECENT = 3600.0
"""Seconds for which such an error counts, as its alert does."""
BUCKETS = "ese_version_buckets_allocated"
MOST_BUCKETS_USED = 0.7


def at_risk(instance: Instance | None, most_buckets: int | None, now: float) -> Finding | None:
    """The finding of a database of `instance` as of `now` (epoch seconds), None without one.

    `most_buckets` is the configured maximum of version buckets, None where it is not known.
    """
    if instance is None:
        return None
    errors = [
        (says, told[1])
        for kind, says in RISKS.items()
        if (told := instance.errors.get(kind)) is not None and now - told[1] < RECENT
    ]
    level = instance.levels.get(BUCKETS)
    held = current(level, now) if level is not None else None
    buckets = None
    if held is not None and most_buckets and held > MOST_BUCKETS_USED * most_buckets:
        buckets = held, most_buckets
    return writes_at_risk(errors, buckets) if errors or buckets else None
