"""Errors of the engine by instance, for those that have a database to speak of.

Of an instance with a watched or an observed database the kinds that it logged are told: of the
others none ever was. Of one with ignored databases alone, or with none that is known, nothing is.
"""

from esewatch.config import Settings
from esewatch.expose.samples import Samples
from esewatch.fold.engine_errors import open_errors
from esewatch.fold.identity import tier
from esewatch.fold.owners import instance_key
from esewatch.fold.state import State
from esewatch.names import printable


def add_engine_errors(out: Samples, state: State, settings: Settings) -> None:
    """Add the errors of the instances of the state's databases."""
    acknowledged: dict[tuple[str, str], float] = {}
    for _, database in sorted(state.databases.items()):
        if tier(database, settings) != "ignored":
            key = instance_key(database)
            acknowledged[key] = max(acknowledged.get(key, 0.0), database.acknowledged)
    for key, time in sorted(acknowledged.items()):
        instance = state.instances.get(key)
        if instance is None:
            continue
        still = open_errors(instance, time)
        for kind, (count, last) in sorted(instance.errors.items()):
            labels = {
                "computer": printable(instance.computer),
                "ese_instance": printable(instance.ese_instance),
                "kind": kind,
            }
            out.add("ese_engine_errors_total", labels, count)
            out.add("ese_engine_error_last_timestamp_seconds", labels, last)
            out.add("ese_engine_errors_open", labels, still.get(kind))
