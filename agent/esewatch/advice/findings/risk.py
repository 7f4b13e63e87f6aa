"""Write risk: the instance reports that writes are refused or soon will be (semantics.md 7)."""

from esewatch.advice.base.finding import RISKS, Finding, writes_at_risk
from esewatch.advice.findings.levels import used_buckets
from esewatch.fold.channels import hearing
from esewatch.fold.databases.databases import still_hung
from esewatch.fold.instances.engine_errors import Dealt, open_errors
from esewatch.fold.state.rollups import DAY_SECONDS, HOUR_SECONDS
from esewatch.fold.state.state import Database, Instance

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
