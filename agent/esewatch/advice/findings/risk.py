"""Write risk: the instance reports that writes are refused or soon will be (semantics.md 7)."""

from esewatch.advice.base.finding import RISKS, Finding, writes_at_risk
from esewatch.fold.readings import current
from esewatch.fold.state.state import Instance

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
    errors = {
        kind: told[1]
        for kind in RISKS
        if (told := instance.errors.get(kind)) is not None and now - told[1] < RECENT
    }
    level = instance.levels.get(BUCKETS)
    held = current(level, now) if level is not None else None
    buckets = None
    if held is not None and most_buckets and held > MOST_BUCKETS_USED * most_buckets:
        buckets = held, most_buckets
    return writes_at_risk(errors, buckets) if errors or buckets else None
