"""Errors of the engine by instance, for those that have a database to speak of.

An instance with a watched database is born with all kinds at 0; one whose databases are all
observed shows what happened; one with ignored databases alone, or none that is known, nothing.
How many are open is told of kinds that it logged: of the others none ever was.
"""

from esewatch.config import Settings
from esewatch.expose.samples import Samples
from esewatch.fold.engine_errors import open_errors
from esewatch.fold.identity import tier
from esewatch.fold.owners import instance_key, instance_label
from esewatch.fold.state import ENGINE_ERROR_KINDS, State
from esewatch.names import printable


def add_engine_errors(out: Samples, state: State, settings: Settings) -> None:
    """Add the errors of the instances of the state's databases."""
    watched: dict[tuple[str, str], bool] = {}
    names: dict[tuple[str, str], str] = {}
    acknowledged: dict[tuple[str, str], float] = {}
    for _, database in sorted(state.databases.items()):
        its_tier = tier(database, settings)
        if its_tier != "ignored":
            key = instance_key(database)
            watched[key] = watched.get(key, False) or its_tier == "watched"
            names[key] = instance_label(database)
            acknowledged[key] = max(acknowledged.get(key, 0.0), database.acknowledged)
    for key, zero_born in sorted(watched.items()):
        instance = state.instances.get(key)
        errors = instance.errors if instance is not None else {}
        still = open_errors(instance, acknowledged[key]) if instance is not None else {}
        name = instance.ese_instance if instance is not None else names[key]
        for kind in ENGINE_ERROR_KINDS:
            if not zero_born and kind not in errors:
                continue
            labels = {
                "computer": printable(key[0]),
                "ese_instance": printable(name),
                "kind": kind,
            }
            count, last = errors.get(kind, (0, None))
            out.add("ese_engine_errors_total", labels, count)
            out.add("ese_engine_error_last_timestamp_seconds", labels, last)
            out.add("ese_engine_errors_open", labels, still.get(kind))
