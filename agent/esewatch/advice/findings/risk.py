"""Write risk: the instance reports that writes are refused or soon will be (semantics.md 7)."""

from esewatch.advice.base.finding import RISKS, Finding, writes_at_risk
from esewatch.fold.instances.engine_errors import open_errors
from esewatch.fold.readings import current
from esewatch.fold.state.state import Instance

BUCKETS = "ese_version_buckets_allocated"
MOST_BUCKETS_USED = 0.7


def at_risk(
    instance: Instance | None, acknowledged: float, most_buckets: int | None, now: float
) -> Finding | None:
    """The finding of a database of `instance` as of `now` (epoch seconds), None without one.

    An error counts while it is open, as its alert does; `acknowledged` is the time up to which a
    person acknowledged those of the instance. `most_buckets` is the configured maximum of version
    buckets, None where it is not known.
    """
    if instance is None:
        return None
    still = open_errors(instance, acknowledged)
    errors = {kind: instance.error_times[kind][-1] for kind in RISKS if still.get(kind)}
    level = instance.levels.get(BUCKETS)
    held = current(level, now) if level is not None else None
    buckets = None
    if held is not None and most_buckets and held > MOST_BUCKETS_USED * most_buckets:
        buckets = held, most_buckets
    return writes_at_risk(errors, buckets) if errors or buckets else None
